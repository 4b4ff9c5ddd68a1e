"""The sliding window: exact, keyed, bounded."""

from __future__ import annotations

import pytest

from vivavoce.errors import RateLimited
from vivavoce.runtime.limits import Pace, Window
from vivavoce.testing.fakes import ManualClock


def refused(window: Window, key: str = "ada") -> int | None:
    try:
        window.check(key)
    except RateLimited as error:
        return error.retry_after_ms
    return None


async def test_what_is_over_the_limit_is_told_when_to_come_back() -> None:
    clock = ManualClock()
    window = Window(2, 10, clock=clock, what="sessions")
    assert refused(window) is None
    await clock.advance(4)
    assert refused(window) is None
    assert refused(window) == 6000
    with pytest.raises(RateLimited, match="Too many sessions: at most 2 in 10 seconds"):
        window.check("ada")
    await clock.advance(6)
    assert refused(window) is None
    assert refused(window) == 4000


async def test_no_interval_of_the_length_of_the_window_has_more_than_the_limit() -> None:
    clock = ManualClock()
    window = Window(5, 10, clock=clock)
    allowed = []
    for _ in range(200):
        if refused(window) is None:
            allowed.append(clock.monotonic())
        await clock.advance(0.7)
    assert len(allowed) > 50
    assert all(later - earlier >= 10 for earlier, later in zip(allowed, allowed[5:], strict=False))


async def test_what_was_refused_does_not_count() -> None:
    clock = ManualClock()
    window = Window(1, 10, clock=clock)
    window.check("ada")
    await clock.advance(5)
    assert [refused(window) for _ in range(3)] == [5_000] * 3
    await clock.advance(5)
    assert refused(window) is None


def test_keys_do_not_know_of_each_other() -> None:
    window = Window(1, 10, clock=ManualClock())
    window.check("ada")
    assert refused(window, "eve") is None


def test_a_limit_of_nothing_allows_everything() -> None:
    window = Window(0, 10, clock=ManualClock())
    assert [refused(window) for _ in range(100)] == [None] * 100
    assert len(window) == 0


async def test_memory_is_bounded_and_lapsed_keys_go_first() -> None:
    clock = ManualClock()
    window = Window(1, 10, clock=clock, max_keys=3)
    for key in ("old", "older"):
        window.check(key)
    await clock.advance(11)
    for key in ("a", "b"):
        window.check(key)
    assert len(window) == 2
    assert [refused(window, key) for key in ("a", "b")] == [10_000] * 2
    for number in range(100):
        window.check(f"user {number}")
    assert len(window) == 3


async def test_a_wait_is_never_rounded_to_nothing() -> None:
    clock = ManualClock()
    window = Window(1, 1, clock=clock)
    window.check("ada")
    await clock.advance(0.99999)
    assert refused(window) == 1


async def test_who_takes_more_than_the_pace_waits_as_long_as_it_was_more() -> None:
    clock = ManualClock()
    pace = Pace(10.0, 20.0, clock=clock, max_keys=2)
    assert [pace.take("ada", 10) for _ in range(4)] == [0, 0, 1, 2]
    assert pace.take("eve", 20) == 0
    await clock.advance(4)
    assert [pace.take("ada", 20), pace.take("ada", 1)] == [0, pytest.approx(0.1)]
    assert [pace.take(key, 1) for key in ("one", "two", "three")] == [0, 0, 0]
    assert len(pace) == 2
