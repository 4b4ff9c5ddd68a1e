"""Trying again: the waits grow to a limit, and what is not worth it is raised."""

from __future__ import annotations

import pytest

from vivavoce.retrying import Backoff, doubling, retried


def test_the_pauses_between_starts_grow_to_a_limit_and_a_good_life_is_rewarded() -> None:
    backoff = Backoff()
    pauses = [backoff.after(1.0) for _ in range(8)]
    assert pauses == [0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10.0, 10.0]
    assert [backoff.after(61.0), backoff.after(1.0)] == [0.2, 0.4]


def test_a_great_many_failures_are_no_overflow() -> None:
    assert doubling(10_000, 2.0, 900.0) == 900.0


async def test_it_is_tried_until_it_works_and_each_failure_says_how_long_to_wait() -> None:
    slept, faults = list[float](), [ValueError("one"), ValueError("two")]

    async def attempt() -> str:
        if faults:
            raise faults.pop(0)
        return "done"

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    assert await retried(attempt, lambda fault, number: 10.0 * number, sleep=sleep) == "done"
    assert slept == [10.0, 20.0]


async def test_what_is_not_worth_another_try_is_raised_without_the_failures_before() -> None:
    async def attempt() -> None:
        raise ValueError("no")

    async def sleep(seconds: float) -> None: ...

    with pytest.raises(ValueError, match="no") as raised:
        await retried(attempt, lambda _, number: 0.0 if number < 3 else None, sleep=sleep)
    assert raised.value.__context__ is None
