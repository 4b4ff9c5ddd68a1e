"""Several servers on one PostgreSQL, each a process of its own, beside a provider that is none of
them: what one leaves, however it goes, another takes up, and nothing is lost, doubled or told
twice."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.contract.postgres import drop_database, new_database
from tests.journeys.process import Server
from tests.journeys.stage import Watcher
from tests.offers import OFFER
from vivavoce.testing.provider import ScriptedProvider
from vivavoce.testing.realtime.call import ScriptedCall

TAKEN = 15.0
"""Seconds in which whatever a dead server looked after has to be looked after again."""


@pytest.fixture
def database() -> Iterator[str]:
    url = new_database()
    yield url
    drop_database(url)


class Fleet:
    """The servers, by name."""

    def __init__(self, provider: ScriptedProvider, folder: Path, database: str) -> None:
        self.provider, self._folder, self._database = provider, folder, database
        self.servers: dict[str, Server] = {}

    def make(self, name: str, **settings: str) -> Server:
        folder = self._folder / f"{name}-{len(self.servers)}"
        folder.mkdir()
        settings.setdefault("VIVAVOCE_INSTANCE", name)
        settings.setdefault("VIVAVOCE_DATABASE_URL", self._database)
        return Server(self.provider, folder, **settings)

    async def start(self, *names: str, **settings: str) -> list[Server]:
        made = []
        for name in names:
            server = self.servers[name] = self.make(name, **settings)
            await server.start()
            made.append(server)
        return made

    async def stop(self) -> None:
        for server in self.servers.values():
            if server.running:
                await server.stop(signal.SIGKILL)


@asynccontextmanager
async def fleet(folder: Path, database: str) -> AsyncIterator[Fleet]:
    async with ScriptedProvider() as provider:
        servers = Fleet(provider, folder, database)
        try:
            yield servers
        finally:
            await servers.stop()


def client(server: Server) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=server.url, timeout=30)


async def begin(server: Server, provider: ScriptedProvider) -> tuple[str, ScriptedCall]:
    """A session with its call."""
    async with client(server) as http:
        session = (await http.post("/session")).json()
        headers = {
            "content-type": "application/sdp",
            "authorization": f"Bearer {session['client_secret']['value']}",
        }
        answer = await http.post("/sdp", content=OFFER, headers=headers)
        assert answer.status_code == 200, answer.text
    call = await provider.next_call()
    await call.attached()
    await call.expect("session.update")
    return session["session_id"], call


@asynccontextmanager
async def watching(server: Server, session_id: str, after: int = 0) -> AsyncIterator[Watcher]:
    """The session's events as this server tells them, from a position on."""
    watcher, headers = Watcher(), {"x-session-id": session_id, "last-event-id": str(after)}
    async with client(server) as http, asyncio.TaskGroup() as group:
        async with http.stream("GET", "/events", headers=headers, timeout=None) as response:
            assert response.status_code == 200, await response.aread()
            reading = group.create_task(watcher.read(response))
            yield watcher
            reading.cancel()


async def transcript(server: Server, session_id: str) -> list[str]:
    async with client(server) as http:
        detail = (await http.get(f"/sessions/{session_id}")).json()
    return [entry["text"] for entry in detail["transcript"]]


async def exchange(call: ScriptedCall, watcher: Watcher, number: int) -> None:
    """Something is said, and something answered, and both are told."""
    before = len(watcher.all("assistant.done"))
    await call.user_says(f"Question {number}")
    await call.assistant_says(f"Answer {number}")
    await watcher.until(lambda: len(watcher.all("assistant.done")) > before, TAKEN)


async def test_a_killed_servers_session_goes_on_at_another(tmp_path: Path, database: str) -> None:
    async with fleet(tmp_path, database) as servers:
        one, two = await servers.start("one", "two")
        session_id, call = await begin(one, servers.provider)
        async with watching(two, session_id) as watcher:
            await exchange(call, watcher, 1)
            await one.stop(signal.SIGKILL)
            killed = time.monotonic()
            moved = await _within(watcher, "session.moved", TAKEN)
            await call.attached(timeout=TAKEN)
            assert time.monotonic() - killed < TAKEN
            assert (moved["reason"], moved["left_by"], moved["owner"]) == ("lost", "one", "two")
            await exchange(call, watcher, 2)
            positions = [position for _, _, position in watcher.seen if position]
        assert positions == sorted(set(positions)), "an event is told twice"
        said = ["Question 1", "Answer 1", "Question 2", "Answer 2"]
        assert await transcript(two, session_id) == said
        assert not call.over
        async with client(two) as http:  # it is its own now, and ends there
            ended = await http.post(f"/sessions/{session_id}/end")
            assert ended.status_code == 200, ended.text
        await call.ended()


async def test_a_drained_server_hands_its_calls_over_and_none_is_dropped(
    tmp_path: Path, database: str
) -> None:
    async with fleet(tmp_path, database) as servers:
        one, two = await servers.start("one", "two")
        session_id, call = await begin(one, servers.provider)
        async with watching(two, session_id) as watcher:
            await exchange(call, watcher, 1)
            await call.user_starts()  # nobody is handed over in the middle of a word
            async with asyncio.TaskGroup() as group:
                ending = group.create_task(one.stop(signal.SIGTERM))
                async with client(one) as http:
                    ready = await _status(http, "/ready", 503)
                    assert "shutting down" in ready["message"]
                    assert (await http.post("/session")).status_code == 503
                assert not ending.done()
                await call.user_stops("Question 2")
                await call.assistant_says("Answer 2")
                moved = await _within(watcher, "session.moved", TAKEN)
                assert await ending == 0
            assert (moved["reason"], moved["owner"]) == ("drained", "two")
            await call.attached(timeout=TAKEN)
            await exchange(call, watcher, 3)
            assert watcher.all("session.ended") == []
        said = [f"{who} {number}" for number in (1, 2, 3) for who in ("Question", "Answer")]
        assert await transcript(two, session_id) == said
        assert not call.over


async def test_the_last_server_ends_its_calls_in_order(tmp_path: Path, database: str) -> None:
    async with fleet(tmp_path, database) as servers:
        (one,) = await servers.start("one")
        _, call = await begin(one, servers.provider)
        assert await one.stop(signal.SIGTERM) == 0
        await call.ended()


async def test_the_same_name_twice_is_refused(tmp_path: Path, database: str) -> None:
    async with fleet(tmp_path, database) as servers:
        await servers.start("one")
        twin = servers.make("one")
        with pytest.raises(AssertionError, match="named one and runs"):
            await twin.start()


async def test_a_killed_server_has_its_name_and_its_sessions_again(
    tmp_path: Path, database: str
) -> None:
    async with fleet(tmp_path, database) as servers:
        (one,) = await servers.start("one")
        session_id, call = await begin(one, servers.provider)
        await one.stop(signal.SIGKILL)
        await one.start()
        await call.attached()
        async with watching(one, session_id) as watcher:
            await exchange(call, watcher, 1)
            assert watcher.all("session.moved") == []


async def _within(watcher: Watcher, kind: str, seconds: float) -> dict[str, Any]:
    await watcher.until(lambda: bool(watcher.all(kind)), seconds)
    return watcher.all(kind)[0]


async def _status(http: httpx.AsyncClient, path: str, status: int) -> dict[str, Any]:
    async with asyncio.timeout(10):
        while (answer := await http.get(path)).status_code != status:
            await asyncio.sleep(0.02)
    body: dict[str, Any] = answer.json()
    return body
