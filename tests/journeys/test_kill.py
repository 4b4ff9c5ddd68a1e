"""`kill -9` in the middle of a conversation, again and again.

After each restart nothing that was acknowledged is missing or doubled, and a
watcher that reconnects with its last event id sees every event once.
"""

from __future__ import annotations

import asyncio
import random
import signal
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from tests.journeys.process import Server
from tests.journeys.stage import frames
from tests.offers import OFFER
from vivavoce.testing.provider import ScriptedProvider
from vivavoce.testing.realtime.call import ScriptedCall


class Witness:
    """What was acknowledged to us: entries by HTTP, events by SSE."""

    def __init__(self, url: str, session_id: str) -> None:
        self.url, self.session_id = url, session_id
        self.acknowledged: list[str] = []
        self.positions: list[int] = []
        self.spoken: list[str] = []
        self._stop = asyncio.Event()

    async def write(self) -> None:
        """Sends entries one after another, each until it is acknowledged."""
        number = 0
        async with httpx.AsyncClient(base_url=self.url, timeout=5) as http:
            while not self._stop.is_set():
                entry = {"id": f"note-{number}", "entry_type": "system", "text": f"Note {number}"}
                with suppress(httpx.HTTPError):
                    answer = await http.post(
                        f"/sessions/{self.session_id}/transcript", json={"entries": [entry]}
                    )
                    if answer.status_code == 200:
                        self.acknowledged.append(entry["id"])
                        number += 1
                await asyncio.sleep(0.005)

    async def watch(self) -> None:
        """Reads events for ever, going on from the last one seen."""
        async with httpx.AsyncClient(base_url=self.url, timeout=5) as http:
            while not self._stop.is_set():
                headers = {"x-session-id": self.session_id}
                headers["last-event-id"] = str(self.positions[-1] if self.positions else 0)
                with suppress(httpx.HTTPError):
                    async with http.stream("GET", "/events", headers=headers) as response:
                        await self._read(response)
                await asyncio.sleep(0.01)

    async def _read(self, response: httpx.Response) -> None:
        async for kind, data, position in frames(response):
            assert kind != "stream.reset", "the log forgot something"
            if position is not None:
                self.positions.append(position)
            if kind == "transcription.completed":
                self.spoken.append(data["transcript"])
            if self._stop.is_set():
                return

    def stop(self) -> None:
        self._stop.set()


async def talk(call: ScriptedCall, stop: asyncio.Event) -> None:
    """A user who does not notice that the server comes and goes."""
    number = 0
    while not stop.is_set():
        with suppress(Exception):  # the sideband may vanish under a frame
            await call.attached(timeout=10)
            await call.user_says(f"Question {number}")
            await call.assistant_says(f"Answer {number}")
        number += 1
        await asyncio.sleep(0.02)


@pytest.mark.parametrize("kills", [2, pytest.param(50, marks=pytest.mark.full)])
@pytest.mark.timeout(1800)
async def test_nothing_acknowledged_is_lost_or_doubled_and_no_event_is_missed(
    kills: int, tmp_path: Path
) -> None:
    chance = random.Random(20260131)
    async with ScriptedProvider() as provider:
        server = Server(provider, tmp_path)
        await server.start()
        async with httpx.AsyncClient(base_url=server.url, timeout=30) as http:
            session = (await http.post("/session")).json()
            headers = {
                "content-type": "application/sdp",
                "authorization": f"Bearer {session['client_secret']['value']}",
            }
            assert (await http.post("/sdp", content=OFFER, headers=headers)).status_code == 200
            call = await provider.next_call()
            witness, over = Witness(server.url, session["session_id"]), asyncio.Event()
            async with asyncio.TaskGroup() as group:
                group.create_task(witness.write())
                watching = group.create_task(witness.watch())
                talking = group.create_task(talk(call, over))
                for _ in range(kills):
                    before = len(witness.acknowledged), len(witness.spoken)
                    async with asyncio.timeout(30):  # in the middle of it, not before it
                        while (
                            len(witness.acknowledged) < before[0] + 3
                            or len(witness.spoken) < before[1] + 2
                        ):
                            await asyncio.sleep(0.005)
                    await asyncio.sleep(chance.random() * 0.05)
                    await server.stop(signal.SIGKILL)
                    await server.start()
                over.set()
                await talking
                witness.stop()
                await http.post(f"/sessions/{session['session_id']}/end")
                await asyncio.wait({watching}, timeout=5)
                watching.cancel()
            detail = (await http.get(f"/sessions/{session['session_id']}")).json()
            stored = await _log(http, session["session_id"])
        await server.stop(signal.SIGTERM)

    entries = [entry["id"] for entry in detail["transcript"]]
    assert len(entries) == len(set(entries)), "an entry is doubled"
    assert set(witness.acknowledged) <= set(entries), "an acknowledged entry is missing"
    assert len(witness.acknowledged) >= kills * 3
    texts = [entry["text"] for entry in detail["transcript"] if entry["entry_type"] != "system"]
    assert set(witness.spoken) <= set(texts), "an announced transcript is missing"
    assert witness.positions == [p for p in stored if p <= witness.positions[-1]], "gap or double"


async def _log(http: httpx.AsyncClient, session_id: str) -> list[int]:
    positions: list[int] = []
    while True:
        page = (
            await http.get(
                "/session/pending_updates",
                params={"session_id": session_id, "since": positions[-1] if positions else 0},
            )
        ).json()
        positions += [update["id"] for update in page["queued_updates"]]
        if not page["has_more"]:
            return positions


async def test_ctrl_c_ends_sessions_streams_and_listener_with_clients_connected(
    tmp_path: Path,
) -> None:
    async with ScriptedProvider() as provider:
        server = Server(provider, tmp_path)
        await server.start()
        async with httpx.AsyncClient(base_url=server.url, timeout=30) as http:
            session = (await http.post("/session")).json()
            headers = {
                "content-type": "application/sdp",
                "authorization": f"Bearer {session['client_secret']['value']}",
            }
            await http.post("/sdp", content=OFFER, headers=headers)
            call = await provider.next_call()
            await call.attached()
            seen: list[str] = []
            stream = http.stream("GET", "/events", headers={"x-session-id": session["session_id"]})
            async with stream as response, asyncio.TaskGroup() as group:
                group.create_task(_collect(response, seen))
                assert await server.stop(signal.SIGINT) == 0
            assert "session.ended" in seen, "watchers see the end of the session"
            await call.ended()
        assert "Traceback" not in server.log()


async def _collect(response: httpx.Response, seen: list[str]) -> None:
    with suppress(httpx.RemoteProtocolError):
        async for kind, _, _ in frames(response):
            seen.append(kind)
