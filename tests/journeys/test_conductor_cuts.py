"""A runtime's line is cut at every message of a talk, and the server is killed at every message:
the talk ends as if nothing had been, and no tool of the runtime's runs twice."""

from __future__ import annotations

import asyncio
import random
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from tests.contract.postgres import drop_database, new_database
from tests.journeys.embedded import embedded
from tests.journeys.process import Server
from tests.journeys.runtime import Cut, Runtime
from tests.journeys.stage import Stage
from tests.journeys.test_conductor import BATTERY, SCRIPT, battery, confirmed
from vivavoce.app.engine import EmbeddedEngine
from vivavoce.testing.provider import ScriptedProvider

LINES = ["How full is the battery?", "Hello"]
ANSWERS = ["The battery is at 80 percent.", "Hi there!"]
QUESTION = "I want to use battery.level on your device. May I? Yes or no?"
CONFIRM = {"name": "ui.confirm", "inputSchema": {"type": "object"}}
_LOST = (Cut, ConnectionClosed, InvalidHandshake, OSError)
_UNLIMITED: dict[str, Any] = {"user_messages_per_minute": 0, "conductor_connections": 0}


def new(url: str) -> Runtime:
    """Its user says yes by hand, where they are asked."""
    runtime = Runtime(url, tools=[BATTERY, CONFIRM])
    runtime.tools = {"battery.level": battery, "ui.confirm": confirmed}
    return runtime


def answers(runtime: Runtime) -> list[str]:
    """What it spoke, questions apart."""
    return [one for one in runtime.spoken if one != QUESTION]


async def hold(runtime: Runtime, mend: Callable[[], Awaitable[None]]) -> None:
    """The talk, with as many connections as it takes: what has no answer is said again, as the
    same event."""
    for number, line in enumerate(LINES):
        event_id = f"00000000-0000-4000-8000-{hash((runtime.session_id, line)) % 10**12:012}"
        while True:
            try:
                async with runtime.connected():
                    if len(answers(runtime)) <= number:
                        await runtime.say(line, event_id)
                    await runtime.until(lambda: len(answers(runtime)) > number)  # noqa: B023
                    await runtime.at_rest()
                    break
            except* _LOST:
                await mend()


async def unmended() -> None:
    pass


async def counted(url: str) -> list[str]:
    """The points of a talk in which nothing happens."""
    points: list[str] = []
    runtime = new(url)

    async def count(what: str) -> None:
        points.append(what)

    runtime.point = count
    await hold(runtime, unmended)
    return points


async def check(runtime: Runtime, http: httpx.AsyncClient) -> None:
    answer = await http.get(f"/api/v1/conversations/{runtime.session_id}/messages")
    said = [(one["role"], one["content"]) for one in answer.json()["messages"]]
    talk = [one for pair in zip(LINES, ANSWERS, strict=True) for one in pair]
    spoken = [words for role, words in said if role in ("user", "assistant")]
    assert [words for words in spoken if words and words != QUESTION] == talk
    assert [tool for _, tool in runtime.ran if tool != "ui.confirm"] == ["battery.level"]
    assert answers(runtime) == ANSWERS


def cut_at(runtime: Runtime, place: int, break_it: Callable[[], Awaitable[None]]) -> None:
    left = place

    async def point(what: str) -> None:
        nonlocal left
        left -= 1
        if left == -1:
            await break_it()

    runtime.point = point


@pytest.mark.parametrize("trust", [True, False])
async def test_the_line_is_cut_at_every_message(trust: bool, tmp_path: Path) -> None:
    """Without trust the user is asked for a yes in the middle of it."""
    async with embedded(tmp_path, script=SCRIPT, conductor_trust=trust, **_UNLIMITED) as st:
        points = await counted(st.url)
        assert len(points) > 15
        for place, what in enumerate(points):
            runtime = new(st.url)

            async def cut(runtime: Runtime = runtime) -> None:
                runtime.cut()

            cut_at(runtime, place, cut)
            try:
                await hold(runtime, unmended)
                await check(runtime, st.http)
            except BaseException as fault:
                fault.add_note(f"cut at {place}: {what}; saw {runtime.seen[-8:]}")
                raise


@asynccontextmanager
async def in_front_of(st: Stage, folder: Path, **more: str) -> AsyncIterator[Server]:
    """A server of its own process, whose provider is another that stays."""
    provider = ScriptedProvider()
    folder.mkdir(exist_ok=True)
    server = Server(
        provider,
        folder,
        VIVAVOCE_PROVIDER_URL=f"{st.url}/v1",
        VIVAVOCE_API_KEY="any",
        VIVAVOCE_FALLBACKS="none",
        VIVAVOCE_USER_MESSAGES_PER_MINUTE="0",
        # The runtimes here are all our own.
        **{"VIVAVOCE_CONDUCTOR_TRUST": "true", **more},
    )
    await server.start()
    try:
        yield server
    finally:
        if server.running:
            await server.stop(signal.SIGKILL)


@pytest.mark.parametrize("some", [3, pytest.param(0, marks=pytest.mark.full)])
@pytest.mark.parametrize("trust", ["true", "false"])
@pytest.mark.timeout(900)
async def test_the_server_is_killed_at_every_message(trust: str, some: int, tmp_path: Path) -> None:
    chance = random.Random(20261119)
    trusting = {"VIVAVOCE_CONDUCTOR_TRUST": trust}
    async with (
        embedded(tmp_path, script=SCRIPT) as st,
        in_front_of(st, tmp_path / "own", **trusting) as server,
    ):
        points = list(enumerate(await counted(server.url)))
        for place, what in chance.sample(points, some) if some else points:
            runtime = new(server.url)

            async def kill() -> None:
                await server.stop(signal.SIGKILL)

            async def mend() -> None:
                if not server.running:
                    await server.start()

            cut_at(runtime, place, kill)
            try:
                async with asyncio.timeout(60):
                    await hold(runtime, mend)
                await mend()
                async with httpx.AsyncClient(base_url=server.url, trust_env=False) as http:
                    await check(runtime, http)
            except BaseException as fault:
                fault.add_note(f"killed at {place}: {what}; saw {runtime.seen[-8:]}")
                fault.add_note(server.log()[-4000:])
                raise


@pytest.mark.parametrize("killed", [False, True])
@pytest.mark.timeout(180)
async def test_a_runtime_goes_on_at_another_server_with_the_call_that_was_open(
    killed: bool, tmp_path: Path
) -> None:
    database = new_database()
    try:
        async with embedded(tmp_path, script=SCRIPT) as st:
            one = in_front_of(
                st, tmp_path / "one", VIVAVOCE_DATABASE_URL=database, VIVAVOCE_INSTANCE="one"
            )
            two = in_front_of(
                st, tmp_path / "two", VIVAVOCE_DATABASE_URL=database, VIVAVOCE_INSTANCE="two"
            )
            async with one as first, two as second:
                runtime, there = new(first.url), new(second.url)
                runtime.holds = {"battery.level"}
                async with runtime.connected():
                    await runtime.say(LINES[0])
                    (call,) = [await runtime.called("battery.level")]
                    if killed:
                        await first.stop(signal.SIGKILL)
                        await runtime.until(lambda: runtime.closed is not None)
                    there = Runtime(second.url, runtime.session_id, tools=[BATTERY])
                    there.tools = runtime.tools
                    async with there.connected():
                        await there.until(lambda: there.spoken == [ANSWERS[0]], 30)
                        await there.at_rest()
                        await runtime.until(lambda: runtime.closed is not None)
                if not killed:
                    assert runtime.closed is not None
                    assert runtime.closed[0] == 4409
                assert there.ran == [(call["callId"], "battery.level")]
                assert runtime.spoken == []
    finally:
        drop_database(database)


class Loading:
    """The engine of a server that was just started: its models come when they are let."""

    def __init__(self, st: Stage) -> None:
        inside = st.here.engine
        assert isinstance(inside, EmbeddedEngine)
        assert inside._engine is not None
        self._engine = inside._engine
        self._parts, self._engine._parts = self._engine._parts, None
        self._engine.state = "loading"

    def loaded(self) -> None:
        assert self._parts is not None
        self._engine.provide(self._parts)

    def failed(self) -> None:
        self._engine.fail("The models cannot be loaded.")


async def test_what_is_said_while_the_engine_loads_is_answered_once_it_has_loaded(
    tmp_path: Path,
) -> None:
    async with embedded(tmp_path, script=SCRIPT) as st:
        loading, runtime = Loading(st), new(st.url)
        async with runtime.connected():
            said = await runtime.say(LINES[0])
            await runtime.until(lambda: runtime.states == ["thinking"])
            await asyncio.sleep(0.7)  # it was asked for, and is not there yet
        async with runtime.connected():  # the line broke meanwhile
            await runtime.say(LINES[0], said)
            await runtime.until(lambda: runtime.states[1:] == ["thinking"])
            loading.loaded()
            await runtime.until(lambda: runtime.spoken == ANSWERS[:1])
            await runtime.at_rest()
            await runtime.say(LINES[1])
            await runtime.at_rest(2)
        assert runtime.errors == []
        await check(runtime, st.http)


async def test_who_comes_back_before_the_engine_has_loaded_gets_the_answer_that_is_owed(
    tmp_path: Path,
) -> None:
    runtime = new("http://nowhere")
    async with embedded(tmp_path, script=SCRIPT) as st:
        runtime.move(st.url)
        runtime.holds = {"battery.level"}
        async with runtime.connected():
            await runtime.say(LINES[0])
            await runtime.called("battery.level")
    runtime.holds = set()
    async with embedded(tmp_path, script=SCRIPT) as st:
        loading = Loading(st)
        runtime.move(st.url)
        async with runtime.connected():
            await runtime.until(lambda: len(runtime.ran) == 1)
            await asyncio.sleep(5.0)  # longer than a provider that does not answer is asked again
            assert runtime.spoken == []
            assert runtime.states[-1] == "thinking"
        async with runtime.connected():
            loading.loaded()
            await runtime.until(lambda: runtime.spoken == ANSWERS[:1])
            await runtime.at_rest()
            await runtime.say(LINES[1])
            await runtime.at_rest(2)
        assert runtime.errors == []
        await check(runtime, st.http)


async def test_models_that_cannot_be_loaded_are_told_at_once(tmp_path: Path) -> None:
    async with embedded(tmp_path, script=SCRIPT) as st:
        Loading(st).failed()
        runtime = new(st.url)
        async with runtime.connected():
            await runtime.say(LINES[1])
            await runtime.until(lambda: runtime.errors == ["conductor_error"], 5)
            await runtime.until(lambda: runtime.states == ["thinking", "idle"])
        assert runtime.all("error")[0]["message"] == "The models cannot be loaded."
