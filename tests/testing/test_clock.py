"""`ManualClock`: time that a test moves by hand."""

from __future__ import annotations

import asyncio

import pytest

from vivavoce.runtime.clock import SystemClock
from vivavoce.runtime.ports import Clock
from vivavoce.testing import ManualClock


async def test_both_clocks_fill_the_port() -> None:
    clocks: list[Clock] = [ManualClock(), SystemClock()]
    for clock in clocks:
        before = clock.monotonic()
        await clock.sleep(0)
        assert clock.monotonic() >= before
        assert clock.now().tzinfo is not None


async def test_sleepers_wake_in_the_order_of_their_deadlines() -> None:
    clock, woken = ManualClock(), list[str]()

    async def sleep(name: str, seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append(f"{name}@{clock.monotonic():g}")

    async with asyncio.TaskGroup() as tasks:
        for name, seconds in [("late", 3.0), ("early", 1.0), ("also late", 3.0), ("never", 9.0)]:
            last = tasks.create_task(sleep(name, seconds))
        await clock.waiting(4)
        await clock.advance(5)
        assert woken == ["early@1", "late@3", "also late@3"]
        assert clock.sleepers == 1
        last.cancel()
    assert clock.sleepers == 0


async def test_who_sleeps_again_within_the_advance_wakes_again() -> None:
    clock, ticks = ManualClock(), list[float]()

    async def tick() -> None:
        for _ in range(3):
            await clock.sleep(2)
            ticks.append(clock.monotonic())

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(tick())
        await clock.waiting()
        await clock.advance(6)
    assert ticks == [2, 4, 6]
    assert (clock.now() - ManualClock().now()).total_seconds() == 6


async def test_an_automatic_clock_never_waits_and_remembers() -> None:
    clock = ManualClock(auto=True)
    await clock.sleep(5)
    await clock.sleep(2)
    assert clock.slept == [5, 2]
    assert clock.monotonic() == 7


async def test_waiting_says_who_is_missing() -> None:
    with pytest.raises(AssertionError, match="expected 1 to sleep on the clock, 0 do"):
        await ManualClock().waiting(timeout=0.01)


async def test_a_leap_wakes_once_whoever_sleeps_again_and_again() -> None:
    clock, ticks = ManualClock(), list[float]()

    async def tick() -> None:
        while True:
            await clock.sleep(1)
            ticks.append(clock.monotonic())

    async with asyncio.TaskGroup() as tasks:
        ticking = tasks.create_task(tick())
        await clock.waiting()
        await clock.leap(86_400)
        assert ticks == [86_400]
        await clock.advance(1)
        assert ticks == [86_400, 86_401]
        ticking.cancel()
