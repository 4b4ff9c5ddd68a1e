"""A talk of three hours, in a few minutes: the server's clock is moved, all else is real.

It goes over to another call before each cap, and to another provider when the first one dies. What
was decided in its first minute is known to the end, and the server holds no more than it did.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest

from tests.journeys.stage import Watcher
from tests.offers import OFFER
from vivavoce.testing import ScriptedCall, ScriptedProvider
from vivavoce.testing.realtime.faults import Drop, HttpError, RefuseAttach

T = TypeVar("T")

DECISION = "Let's use PostgreSQL with two replicas."
A_TURN = 10.0
"""Seconds from one question to the next."""
SAMPLES = 24


@dataclass
class Held:
    """What the server's process holds at a moment."""

    memory: int
    tasks: int
    objects: int
    kinds: dict[str, int] = field(default_factory=dict)


class Hours:
    """The server's process, and its time."""

    def __init__(self, process: asyncio.subprocess.Process, url: str) -> None:
        self._process = process
        self.url = url
        self.passed = 0.0

    async def pass_by(self, seconds: float) -> None:
        self.passed += seconds
        await self._tell(f"{seconds}")

    async def held(self) -> Held:
        return Held(**await self._tell("held"))

    async def _tell(self, line: str) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{line}\n".encode())
        told = await self._process.stdout.readline()
        assert told, "the server has ended"
        answer: dict[str, Any] = json.loads(told)
        return answer

    async def until(self, done: Callable[[], bool], most: float = 60.0) -> None:
        """Time passes until it is so."""
        end = self.passed + most
        while not done():
            assert self.passed < end, "it did not come"
            await self.pass_by(0.5)
            await asyncio.sleep(0.01)

    async def meanwhile(self, what: Awaitable[T]) -> T:
        """Time passes until it is done: who is asked may wait, and ask again."""
        async with asyncio.TaskGroup() as group:
            doing = group.create_task(_awaited(what))
            while not doing.done():
                await asyncio.wait([doing], timeout=0.05)
                if not doing.done():
                    await self.pass_by(0.5)
        return doing.result()


async def _awaited(what: Awaitable[T]) -> T:
    return await what


@asynccontextmanager
async def hours(folder: Path, **settings: Any) -> AsyncIterator[Hours]:
    given = {"port": 0, "data_dir": str(folder), "workspace": str(folder), **settings}
    with (folder / "server.log").open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.journeys.hours",
            json.dumps(given),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=log,
        )
    try:
        assert process.stdout is not None
        port = await process.stdout.readline()
        assert port, (folder / "server.log").read_text()
        yield Hours(process, f"http://127.0.0.1:{int(port)}")
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


class Talk:
    """A client that does what `docs/events.md` says, and those who talk on its calls."""

    def __init__(self, http: httpx.AsyncClient, time: Hours, session: dict[str, Any]) -> None:
        self._http, self._time = http, time
        self.session_id, self._key = session["session_id"], session["client_secret"]["value"]
        self.watcher = Watcher()
        self.turns = 0
        self.call: ScriptedCall

    async def place(self, provider: ScriptedProvider) -> ScriptedCall:
        headers = {"content-type": "application/sdp", "authorization": f"Bearer {self._key}"}
        answer = await self._time.meanwhile(self._http.post("/sdp", content=OFFER, headers=headers))
        assert answer.status_code == 200, answer.text
        call = await provider.next_call()
        await self._time.meanwhile(call.attached())
        await call.expect("session.update")
        return call

    async def again(self, provider: ScriptedProvider) -> ScriptedCall:
        params = {"session_id": self.session_id}
        answer = await self._time.meanwhile(self._http.get("/session/reconnect", params=params))
        assert answer.status_code == 200, answer.text
        assert answer.json()["session_id"] == self.session_id
        self._key = answer.json()["ephemeral_key"]
        return await self.place(provider)

    async def turn(self) -> None:
        said = len(self.watcher.all("assistant.done"))
        self.turns += 1
        if self.turns == 3:
            await self.call.user_says(DECISION)
        else:
            await self.call.user_says(f"Tell me about chapter {self.turns} of that book.")
        if self.turns % 20 == 0:
            await self.call.calls_tool("current_time", {"time_zone": "UTC"})
            output = {"item": {"type": "function_call_output"}}
            await self.call.expect("conversation.item.create", output)
            await self.call.expect("response.create")
        words = f"Chapter {self.turns} is about a house by the sea, " + "and who lived there. " * 5
        await self.call.assistant_says(words)
        await self.watcher.until(lambda: len(self.watcher.all("assistant.done")) > said)

    async def roll_over(self, provider: ScriptedProvider) -> None:
        moved = len(self.watcher.all("call.moved"))
        old, self.call = self.call, await self.again(provider)
        await self._time.until(lambda: len(self.watcher.all("call.moved")) > moved)
        await old.ended()
        assert DECISION.rstrip(".") in known(self.call)

    async def fail_over(self, provider: ScriptedProvider, backup: ScriptedProvider) -> None:
        provider.inject(RefuseAttach(times=1000, status=500))
        provider.inject(HttpError(500, times=1000, path="/realtime"))
        await self.call.inject(Drop())
        wanted = len(self.watcher.all("call.wanted"))
        await self._time.until(lambda: len(self.watcher.all("call.wanted")) > wanted)
        self.call = await self.again(backup)
        await self._time.meanwhile(self.call.expect("response.create"))
        await self.call.assistant_says("127.0.0.1 does not answer, so I go on with backup.")


def known(call: ScriptedCall) -> str:
    """The words that the model has at this provider."""
    items = call.conversation.ledger.items.values()
    parts = [part for item in items for part in item.get("content") or ()]
    return "\n".join(part.get("text") or part.get("transcript") or "" for part in parts)


@pytest.mark.parametrize(
    ("minutes", "cap", "fails_at", "rollovers", "warm"),
    [(10, 360.0, 8, 1, 6), pytest.param(180, 2700.0, 150, 3, 30, marks=pytest.mark.full)],
)
@pytest.mark.timeout(1800)
async def test_a_long_talk_knows_its_first_decision_and_holds_no_more_than_before(
    minutes: int, cap: float, fails_at: int, rollovers: int, warm: int, tmp_path: Path
) -> None:
    held: list[tuple[float, Held]] = []
    async with ScriptedProvider() as provider, ScriptedProvider() as backup:
        others = {"backup": {"url": backup.base_url, "key": backup.key, "model": "m"}}
        given: dict[str, Any] = {
            "provider_url": provider.base_url,
            "api_key": provider.key,
            "model": "gpt-realtime",
            "other_providers": others,
            "fallbacks": ["backup"],
            "session_cap_seconds": cap,
            "context_tokens": 8_000,
        }
        async with (
            hours(tmp_path, **given) as time,
            httpx.AsyncClient(base_url=time.url, timeout=30) as http,
            asyncio.TaskGroup() as group,
        ):
            opened = (await http.post("/session", json={})).json()
            talk = Talk(http, time, opened)
            watching = group.create_task(_watch(http, talk))
            talk.call = await talk.place(provider)
            while time.passed < minutes * 60:
                await talk.turn()
                wanted = [one for one in talk.watcher.all("call.wanted") if one["beside"]]
                if len(wanted) > len(talk.watcher.all("call.moved")):
                    await talk.roll_over(provider)
                if talk.call.id in provider.calls and time.passed > fails_at * 60:
                    await talk.fail_over(provider, backup)
                    assert DECISION.rstrip(".") in known(talk.call)
                await time.pass_by(A_TURN)
                if time.passed >= (len(held) + 1) * minutes * 60 / SAMPLES:
                    held.append((time.passed / 60, await time.held()))
            assert len(talk.watcher.all("call.moved")) == rollovers
            assert talk.call.id in backup.calls
            assert DECISION.rstrip(".") in known(talk.call)
            assert talk.watcher.all("error") == []
            watching.cancel()
        _flat([one for at, one in held if at > warm])


def _flat(held: list[Held]) -> None:
    """What it holds once it is warm it holds at the end: a tenth is what an allocator keeps after
    each move, and half of what the talk weighs."""
    first, last = held[0], held[-1]
    for one in held:
        print(f"{one.memory / 2**20:.1f} MiB, {one.tasks} tasks, {one.objects} objects")
    more = {kind: n - first.kinds.get(kind, 0) for kind, n in last.kinds.items()}
    grown = {kind: n for kind, n in more.items() if n > 0}
    assert last.tasks <= first.tasks + 3
    assert last.objects <= 1.03 * first.objects, grown
    assert last.memory <= 1.1 * first.memory, f"{last.memory - first.memory} bytes more: {grown}"


async def _watch(http: httpx.AsyncClient, talk: Talk) -> None:
    headers = {"x-session-id": talk.session_id, "last-event-id": "0"}
    async with http.stream("GET", "/events", headers=headers, timeout=None) as response:
        await talk.watcher.read(response)
