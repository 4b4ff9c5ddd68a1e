"""How soon a talk goes on: after a lost call, on a return, before a cap, when its server has died.

    python -m bench.continuity [--quick] [reconnect restore remote rollover cold takeover]

Servers are processes of their own, with the settings that users have. Each figure is the 95th
percentile, beside the aim of the issue it is from and, where somebody else has a way to do the
same, beside that, in the same minutes.

`reconnect`   a client that has lost its call and its stream asks for another call: until the
              first event of that call reaches it, and until the call is configured. The peer is
              the openai package alone: a key, a call, its sideband, a configuration.
`restore`     three hundred turns, at a provider elsewhere: until the new call knows the past and
              listens. The peer is the openai package again, which puts in what our server put in.
`remote`      the same at our own engine, with a brain elsewhere: until the call listens, and from
              then until the first words of an answer to what is written at once. The peer is a
              new talk, of which nothing has to be sent.
`rollover`    our own engine, before its cap: from when the session leaves the old call until the
              new one listens. The peer hangs up first and then connects anew.
`cold`        the same as `restore` with the local brain, which has to read what it is told: until
              the call listens, and from then until the first words of an answer to what is
              written at once. First talks that this brain never saw, then each of them again.
              The peer is a new talk, in which nothing has to be read.
`takeover`    servers on one PostgreSQL; the one that has the sessions is killed: until another
              one listens in on their calls.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import contextlib
import os
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import orjson
import uvloop
from openai import AsyncOpenAI
from tests.brain.chat_server import ChatServer, open_to_all, stream
from tests.brain.chat_server import event as chunk
from tests.journeys.stage import Watcher
from tests.offers import OFFER
from websockets.asyncio.client import ClientConnection, connect

from bench import report as report_line
from bench import size
from bench.engine.server import Server, serving
from bench.store import _postgres as postgres
from vivavoce.testing.provider import ScriptedProvider
from vivavoce.testing.realtime.call import ScriptedCall

Report = Callable[[str, float, float, str], None]

RECONNECTS = size(40, quick=2)
RESTORES = size(30, quick=2)
TURNS = size(300, quick=20)
ROLLOVERS = size(20, quick=1)
CAP = 8.0
"""Seconds; a quarter of them is left for going over."""
LONG = 30
"""Turns of a talk that the local brain reads."""
ABOUT = size(
    ("green", "blue", "early", "small", "northern", "white", "fast", "last", "royal", "grey"),
    quick=("green",),
)
QUESTION = "Why is the sky blue, in a few words?"
"""One that only the model can answer."""
WORDS = ("response.output_audio_transcript.delta", "response.output_text.delta")
KILLS, SESSIONS = size(10, quick=1), size(4, quick=2)
AIMS = {
    "reconnect": 250.0,
    "remote": 1000.0,
    "kept": 1000.0,
    "cold": 5000.0,
    "rollover": 300.0,
    "takeover": 15_000.0,
}
"""Milliseconds."""
_PATIENCE = 60.0
SILENCE = bytes(4800)


def p95(values: Iterable[float]) -> float:
    """Of few values, the worst."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))] * 1000


# --- A server, and a client of it -----------------------------------------------------------


@asynccontextmanager
async def started(folder: Path, **settings: str) -> AsyncIterator[Server]:
    """Beside us: the provider that it needs may be ours."""
    folder.mkdir(exist_ok=True)
    limits = {"VIVAVOCE_SESSIONS_PER_10_MINUTES": "0", "VIVAVOCE_USER_MESSAGES_PER_MINUTE": "0"}
    way = serving({**limits, **settings}, folder)
    server = await asyncio.to_thread(way.__enter__)
    try:
        yield server
    finally:
        await asyncio.to_thread(way.__exit__, None, None, None)


def beside(provider: ScriptedProvider) -> dict[str, str]:
    return {
        "VIVAVOCE_PROVIDER_URL": provider.base_url,
        "VIVAVOCE_API_KEY": provider.key or "",
        "VIVAVOCE_MODEL": "gpt-realtime",
    }


class Client:
    """What a page does, without a page."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.http = httpx.AsyncClient(base_url=server.origin, timeout=_PATIENCE, trust_env=False)

    async def ask(self, method: str, path: str, **more: Any) -> Any:
        answer = await self.http.request(method, path, **more)
        assert answer.status_code < 300, answer.text
        return answer.json()

    async def place(self, key: str) -> None:
        headers = {"content-type": "application/sdp", "authorization": f"Bearer {key}"}
        answer = await self.http.post("/sdp", content=OFFER, headers=headers)
        assert answer.status_code == 200, answer.text

    @asynccontextmanager
    async def sound(self, key: str) -> AsyncIterator[ClientConnection]:
        """A call of our own engine, by WebSocket."""
        headers = {"authorization": f"Bearer {key}"}
        opened = await self.ask("POST", "/audio", headers=headers)
        address = self.server.origin.replace("http", "ws", 1) + opened["url"]
        async with connect(address, subprotocols=opened["protocols"], max_size=None) as line:
            yield line

    @asynccontextmanager
    async def watching(self, session_id: str, after: int = 0) -> AsyncIterator[Watcher]:
        watcher = Watcher()
        headers = {"x-session-id": session_id, "last-event-id": str(after)}
        way = self.http.stream("GET", "/events", headers=headers, timeout=None)
        async with way as response, asyncio.TaskGroup() as group:
            reading = group.create_task(watcher.read(response))
            yield watcher
            reading.cancel()


def state(watcher: Watcher, wanted: str) -> Callable[[], bool]:
    return lambda: any(one["state"] == wanted for one in watcher.all("session.status"))


async def told(watcher: Watcher, kind: str, count: int) -> dict[str, Any]:
    await watcher.until(lambda: len(watcher.all(kind)) >= count, _PATIENCE)
    return watcher.all(kind)[count - 1]


@asynccontextmanager
async def client_of(server: Server) -> AsyncIterator[Client]:
    client = Client(server)
    async with client.http:
        yield client


# --- Reconnecting ---------------------------------------------------------------------------


async def reconnect(report: Report) -> None:
    first: list[float] = []
    ready: list[float] = []
    peer: list[float] = []
    async with _beside_scripted() as (provider, client):
        session = await client.ask("POST", "/session", json={})
        session_id = session["session_id"]
        await client.place(session["client_secret"]["value"])
        call = await provider.next_call()
        await call.expect("session.update")
        theirs = AsyncOpenAI(base_url=provider.base_url, api_key=provider.key or "")
        for number in range(RECONNECTS):
            await call.user_says(f"Question {number}")
            await call.assistant_says(f"Answer {number}")
            seen = await _quiet(client, session_id)
            began = time.perf_counter()
            async with client.watching(session_id, seen) as watcher:
                params = {"session_id": session_id}
                again = await client.ask("GET", "/session/reconnect", params=params)
                await client.place(again["ephemeral_key"])
                await watcher.until(lambda: bool(watcher.all("connection.status")))
                first.append(time.perf_counter() - began)
                await watcher.until(lambda: _reconnected(watcher))
                ready.append(time.perf_counter() - began)
            call = await provider.next_call()
            peer.append(await _plain(theirs, provider, ()))
    aim = AIMS["reconnect"]
    report("reconnect to the first event, p95, beside the aim", p95(first), aim, "ms")
    report("reconnect to a configured call, p95, beside the aim", p95(ready), aim, "ms")
    name = "reconnect to a configured call, p95, beside the openai package"
    report(name, p95(ready), p95(peer), "ms")


async def _quiet(client: Client, session_id: str) -> int:
    """Once nothing is under way any more: the last event that a page has seen by then."""
    async with asyncio.timeout(_PATIENCE):
        while True:
            now = await client.ask("GET", "/session", params={"session_id": session_id})
            if now["state"] == "ready":
                return int(now["last_event_id"])
            await asyncio.sleep(0.02)


def _reconnected(watcher: Watcher) -> bool:
    """Ready again after the new call began, not before."""
    states = [one["state"] for one in watcher.all("session.status")]
    return "initializing" in states and "ready" in states[states.index("initializing") :]


@asynccontextmanager
async def _beside_scripted() -> AsyncIterator[tuple[ScriptedProvider, Client]]:
    with tempfile.TemporaryDirectory() as name:
        async with (
            ScriptedProvider() as provider,
            started(Path(name) / "data", **beside(provider)) as server,
            client_of(server) as client,
        ):
            yield provider, client


async def _plain(
    theirs: AsyncOpenAI, provider: ScriptedProvider, history: Sequence[dict[str, Any]]
) -> float:
    """Until a call is configured and knows the past, by the SDK's own means."""
    began = time.perf_counter()
    secret = await theirs.realtime.client_secrets.create(session={"type": "realtime"})
    with_secret = theirs.with_options(api_key=secret.value)
    placed = await with_secret.realtime.calls.create(sdp=OFFER)
    call_id = placed.response.headers["location"].rsplit("/", 1)[-1]
    async with theirs.realtime.connect(call_id=call_id) as line:
        await line.session.update(session={"type": "realtime", "instructions": "Be brief."})
        for item in history:
            await line.conversation.item.create(item=item)  # type: ignore[arg-type]
        left = 1 + len(history)
        async for event in line:
            left -= event.type in ("session.updated", "conversation.item.added")
            if not left:
                break
        took = time.perf_counter() - began
    await provider.next_call()
    return took


# --- Coming back ----------------------------------------------------------------------------


async def restore(report: Report) -> None:
    ours: list[float] = []
    peer: list[float] = []
    async with _beside_scripted() as (provider, client):
        session_id = await _told(client, TURNS, "green")
        theirs = AsyncOpenAI(base_url=provider.base_url, api_key=provider.key or "")
        for _ in range(RESTORES):
            began = time.perf_counter()
            resumed = await client.ask("POST", f"/sessions/{session_id}/resume")
            real = resumed["realtime"]
            async with client.watching(real["session_id"]) as watcher:
                await client.place(real["client_secret"]["value"])
                await watcher.until(state(watcher, "ready"))
                ours.append(time.perf_counter() - began)
            call = await provider.next_call()
            given = [one["item"] for one in call.received if one["type"].endswith("item.create")]
            history = [{k: v for k, v in item.items() if k != "id"} for item in given]
            await call.hang_up()
            peer.append(await _plain(theirs, provider, history))
    name = f"restore of {TURNS} turns ({len(history)} items told) to ready, p95"
    report(f"{name}, beside the aim", p95(ours), AIMS["remote"], "ms")
    report(f"{name}, beside the openai package", p95(ours), p95(peer), "ms")


async def remote(report: Report) -> None:
    found: dict[str, list[tuple[float, float]]] = {"new": [], "restored": []}
    reply = stream(chunk(content="It scatters "), chunk(content="the light."))
    async with open_to_all(ChatServer([reply])) as brain:
        with tempfile.TemporaryDirectory() as name:
            settings = {"VIVAVOCE_BRAIN": brain.url, "VIVAVOCE_BRAIN_MODEL": "m"}
            async with (
                started(Path(name) / "data", **settings) as server,
                client_of(server) as client,
            ):
                await _answered(client, None)
                session_id = await _told(client, TURNS, "green")
                for _ in range(RESTORES):
                    found["new"].append(await _answered(client, None))
                    found["restored"].append(await _answered(client, session_id))
    ready, words = (p95(column) for column in zip(*found["restored"], strict=True))
    name = f"restore of {TURNS} turns, a brain elsewhere"
    report(f"{name}: to ready, p95, beside the aim", ready, AIMS["remote"], "ms")
    new = p95(words for _, words in found["new"])
    report(f"{name}: to an answer's words, beside a new talk's", words, new, "ms")


async def _told(client: Client, turns: int, about: str) -> str:
    """A session that is over, in which so much was said."""
    session = await client.ask("POST", "/session", json={})
    path = f"/sessions/{session['session_id']}"
    entries = [
        {
            "id": f"said-{about}-{number}",
            "entry_type": "assistant" if number % 2 else "user",
            "text": _line(number, about),
        }
        for number in range(turns)
    ]
    for at in range(0, turns, 50):
        await client.ask("POST", f"{path}/transcript", json={"entries": entries[at : at + 50]})
    await client.ask("POST", f"{path}/end")
    return str(session["session_id"])


def _line(number: int, about: str) -> str:
    if number % 2:
        return f"The {about} ferry number {number} leaves from the old harbour, next to the mill."
    return f"And when does the {about} ferry number {number} leave on a day like this one?"


# --- Before a cap ---------------------------------------------------------------------------


async def rollover(report: Report) -> None:
    ours: list[float] = []
    peer: list[float] = []
    with tempfile.TemporaryDirectory() as name:
        settings = {"VIVAVOCE_BRAIN": "scripted", "VIVAVOCE_SESSION_CAP_SECONDS": str(CAP)}
        async with (
            started(Path(name) / "data", **settings) as server,
            client_of(server) as client,
        ):
            session = await client.ask("POST", "/session", json={})
            session_id = session["session_id"]
            key = session["client_secret"]["value"]
            async with client.watching(session_id) as watcher, AsyncExitStack() as lines:
                old = await lines.enter_async_context(client.sound(key))
                for number in range(1, ROLLOVERS + 1):
                    await told(watcher, "call.wanted", number)
                    params = {"session_id": session_id}
                    again = await client.ask("GET", "/session/reconnect", params=params)
                    new = await lines.enter_async_context(client.sound(again["ephemeral_key"]))
                    listens = await _listening(old, new)
                    left = (await told(watcher, "call.moved", number))["timestamp"]
                    ours.append((listens - datetime.fromisoformat(left)).total_seconds())
                    old = new
            peer += [await _broken(server) for _ in range(ROLLOVERS)]
    name = "rollover, nobody listens, p95"
    report(f"{name}, beside the aim", p95(ours), AIMS["rollover"], "ms")
    report(f"{name}, beside hanging up and connecting anew", p95(ours), p95(peer), "ms")


async def _listening(old: ClientConnection, new: ClientConnection) -> datetime:
    """When the new call listens, with a microphone that feeds both."""
    async with asyncio.TaskGroup() as group:
        feeding = group.create_task(_feed(old, new))
        cleared = False
        async with asyncio.timeout(_PATIENCE):
            async for frame in new:
                kind = orjson.loads(frame)["type"]
                cleared = cleared or kind == "input_audio_buffer.cleared"
                if cleared and kind == "session.updated":
                    break
        feeding.cancel()
    return datetime.now(UTC)


async def _feed(*lines: ClientConnection) -> None:
    event = {"type": "input_audio_buffer.append", "audio": base64.b64encode(SILENCE).decode()}
    frame = orjson.dumps(event).decode()
    while True:
        for line in lines:
            with contextlib.suppress(Exception):  # the old one is hung up
                await line.send(frame)
        await asyncio.sleep(0.1)


async def _broken(server: Server) -> float:
    """By the openai package: one call is closed, then another is opened and configured."""
    theirs = AsyncOpenAI(base_url=f"{server.origin}/v1", api_key="k")
    async with theirs.realtime.connect(model="vivavoce") as line:
        await line.recv()
        began = time.perf_counter()
        await line.close()
    async with theirs.realtime.connect(model="vivavoce") as line:
        await line.session.update(session={"type": "realtime", "instructions": "Be brief."})
        async for event in line:
            if event.type == "session.updated":
                break
        return time.perf_counter() - began


# --- With a brain that has to read ------------------------------------------------------------


async def cold(report: Report) -> None:
    found: dict[str, list[tuple[float, float]]] = {"new": [], "cold": [], "kept": []}
    with tempfile.TemporaryDirectory() as name:
        settings = {"VIVAVOCE_BRAIN": size("qwen-1.5b", quick="scripted")}
        async with (
            started(Path(name) / "data", **settings) as server,
            client_of(server) as client,
        ):
            await _answered(client, None)  # what every talk begins with is read once
            for about in ABOUT:
                found["new"].append(await _answered(client, None))
                session_id = await _told(client, LONG, about)
                for kind in ("cold", "kept"):
                    found[kind].append(await _answered(client, session_id))
    new = p95(words for _, words in found["new"])
    for kind in ("cold", "kept"):
        name = f"restore of {LONG} turns, local brain, {kind}"
        ready, words = (p95(column) for column in zip(*found[kind], strict=True))
        report(f"{name}: to ready, p95, beside the aim", ready, AIMS[kind], "ms")
        report(f"{name}: to an answer's words, beside a new talk's", words, new, "ms")


async def _answered(client: Client, session_id: str | None) -> tuple[float, float]:
    """Seconds until it listens, and from then until the first words of an answer to something that
    was written as soon as it did."""
    began = time.perf_counter()
    if session_id is None:
        opened = await client.ask("POST", "/session", json={})
    else:
        opened = (await client.ask("POST", f"/sessions/{session_id}/resume"))["realtime"]
    own, key = opened["session_id"], opened["client_secret"]["value"]
    async with client.watching(own) as watcher, client.sound(key) as line:
        await watcher.until(state(watcher, "ready"), _PATIENCE)
        ready = time.perf_counter()
        found = await client.ask("GET", f"/sessions/{own}")
        path = f"/api/v1/conversations/{found['session']['conversation_id']}/messages"
        await client.ask("POST", path, json={"content": QUESTION, "wait_seconds": 0})
        async with asyncio.timeout(4 * _PATIENCE):
            async for frame in line:
                if orjson.loads(frame)["type"] in WORDS:
                    break
        words = time.perf_counter()
    await client.ask("POST", f"/sessions/{own}/end")
    return ready - began, words - ready


# --- A server that dies -----------------------------------------------------------------------


async def takeover(report: Report) -> None:
    found: list[float] = []
    with postgres() as url, tempfile.TemporaryDirectory() as name:
        async with ScriptedProvider() as provider, AsyncExitStack() as every:
            settings = {**beside(provider), "VIVAVOCE_DATABASE_URL": url}

            async def another(number: int) -> Server:
                own = {"VIVAVOCE_INSTANCE": f"server-{number}"}
                way = started(Path(name) / str(number), **settings, **own)
                return await every.enter_async_context(way)

            has, next_one = await another(0), await another(1)
            calls = [await _begun(has, provider) for _ in range(SESSIONS)]
            for number in range(KILLS):
                for call in calls:
                    await call.user_says(f"Question {number}")
                    await call.assistant_says(f"Answer {number}")
                await asyncio.sleep(0.2 * (number % 10))  # at any moment of a lease
                began = time.perf_counter()
                has.process.kill()
                found += await asyncio.gather(*(_attached(call, began) for call in calls))
                has, next_one = next_one, await another(number + 2)
            assert not [call for call in calls if call.over], "a call was dropped"
    name = "takeover of a dead server's session, p95, beside the aim"
    report(name, p95(found), AIMS["takeover"], "ms")


async def _begun(server: Server, provider: ScriptedProvider) -> ScriptedCall:
    async with client_of(server) as client:
        session = await client.ask("POST", "/session", json={})
        await client.place(session["client_secret"]["value"])
    call = await provider.next_call()
    await call.expect("session.update")
    return call


async def _attached(call: ScriptedCall, began: float) -> float:
    await call.detached()
    await call.attached(timeout=_PATIENCE)
    return time.perf_counter() - began


# --- All of it ----------------------------------------------------------------------------------

PARTS: dict[str, Callable[[Report], Coroutine[Any, Any, None]]] = {
    "reconnect": reconnect,
    "restore": restore,
    "remote": remote,
    "rollover": rollover,
    "cold": cold,
    "takeover": takeover,
}


def run(report: Report, parts: Sequence[str] = tuple(PARTS)) -> None:
    for part in parts:
        # All of it is waiting for a processor or for a disk: a busy machine is another machine.
        print(f"   {part}: load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", flush=True)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(PARTS[part](report))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.continuity")
    parser.add_argument("parts", nargs="*", metavar="part", help=", ".join(PARTS))
    run(report_line, parser.parse_args().parts or tuple(PARTS))
