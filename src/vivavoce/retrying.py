"""Trying again: how long to wait, and for how often. Knows nothing of what is tried."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")


def doubling(failures: int, first: float, longest: float) -> float:
    """Seconds to wait after so many failures in a row: twice as long each time, to a limit."""
    return min(longest, first * 2.0 ** min(failures - 1, 30))


class Backoff:
    """`doubling` for what is kept alive: after a good life the wait is short again."""

    def __init__(
        self, first: float = 0.2, longest: float = 10.0, *, good_life: float = 60.0
    ) -> None:
        self._first, self._longest, self._good_life = first, longest, good_life
        self.failures = 0

    def after(self, lived: float) -> float:
        self.failures = 1 if lived >= self._good_life else self.failures + 1
        return doubling(self.failures, self._first, self._longest)


async def retried(
    attempt: Callable[[], Awaitable[T]],
    wait: Callable[[Exception, int], float | None],
    *,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> T:
    """What it gives in the end. `wait` is told of each failure, with the number of it, and says
    after how many seconds it is worth another attempt; with None the failure is raised."""
    failures = 0
    while True:
        try:
            return await attempt()
        except Exception as fault:
            failures += 1
            pause = wait(fault, failures)
            if pause is None:
                raise
        # Outside the handler: the next failure must not drag this one along as its context.
        await sleep(pause)
