"""The timers of a session: each fires once, when it is due, unless it was put off or stopped."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from vivavoce.runtime.sessions.timers import Timers
from vivavoce.testing import ManualClock


class _Scene:
    def __init__(self, group: asyncio.TaskGroup) -> None:
        self.clock, self.group = ManualClock(), group
        self.fired: list[tuple[str, float]] = []
        self.timers = Timers(self.clock, self._note)

    async def _note(self, name: str) -> None:
        self.fired.append((name, self.clock.monotonic()))
        if name == "again":
            self.start("again", 10)

    def start(self, name: str, seconds: float) -> None:
        self.timers.start(name, seconds, self.group)


class _Over(Exception):
    pass


@asynccontextmanager
async def _scene() -> AsyncIterator[_Scene]:
    try:
        async with asyncio.TaskGroup() as group:
            yield _Scene(group)
            raise _Over
    except* _Over:
        pass


async def test_timers_fire_in_the_order_in_which_they_are_due_whatever_was_set_first() -> None:
    async with _scene() as scene:
        scene.start("late", 30)
        scene.start("soon", 10)
        scene.start("between", 20)
        await scene.clock.advance(60)
        assert scene.fired == [("soon", 10), ("between", 20), ("late", 30)]


async def test_a_timer_that_is_put_off_fires_once_at_its_new_time() -> None:
    async with _scene() as scene:
        scene.start("idle", 10)
        for _ in range(5):
            await scene.clock.advance(9)
            scene.start("idle", 10)
        assert scene.fired == []
        await scene.clock.advance(60)
        assert scene.fired == [("idle", 55)]


async def test_a_timer_that_is_stopped_does_not_fire_and_the_others_do() -> None:
    async with _scene() as scene:
        scene.start("one", 10)
        scene.start("two", 20)
        scene.timers.stop("one")
        scene.timers.stop("never started")
        await scene.clock.advance(60)
        assert scene.fired == [("two", 20)]
        scene.start("three", 5)  # there was none any more
        await scene.clock.advance(5)
        assert scene.fired[1:] == [("three", 65)]


async def test_what_fires_may_be_set_again_by_what_it_told() -> None:
    async with _scene() as scene:
        scene.start("again", 10)
        scene.start("other", 15)
        await scene.clock.advance(30)
        assert scene.fired == [("again", 10), ("other", 15), ("again", 20), ("again", 30)]


async def test_many_timers_are_one_task() -> None:
    async with _scene() as scene:
        before = len(asyncio.all_tasks())
        for number in range(20):
            scene.start(f"timer {number}", 100 - number)
        await scene.clock.advance(1)
        assert len(asyncio.all_tasks()) == before + 1
