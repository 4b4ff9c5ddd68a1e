"""A clock that a test moves by hand, so that waiting takes no time.

Fills `runtime.ports.Clock`. Real time passes only in `waiting`, for code that
is still on its way to its sleep.
"""

from __future__ import annotations

import asyncio
import heapq
from datetime import UTC, datetime, timedelta

EPOCH = datetime(2026, 1, 31, 14, 30, 22, tzinfo=UTC)
_SETTLE = 25
"""Rounds of the loop after each wake-up: enough for a chain of awaits to reach its next sleep."""


class ManualClock:
    """Time stands still until `advance`; sleepers wake in the order of their deadlines.

    With `auto`, nobody has to move it: each sleep takes itself to its own
    deadline and returns. `slept` lists what was asked for, in order.
    """

    def __init__(self, start: datetime = EPOCH, *, auto: bool = False) -> None:
        self._start = start
        self._elapsed = 0.0
        self._auto = auto
        self._order = 0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._arrival = asyncio.Event()
        self.slept: list[float] = []

    def now(self) -> datetime:
        return self._start + timedelta(seconds=self._elapsed)

    def monotonic(self) -> float:
        return self._elapsed

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        if self._auto:
            await self.advance(max(0.0, seconds))
        elif seconds <= 0:
            await asyncio.sleep(0)
        else:
            future = asyncio.get_running_loop().create_future()
            self._order += 1  # equal deadlines wake first come, first served
            heapq.heappush(self._sleepers, (self._elapsed + seconds, self._order, future))
            self._arrival.set()
            await future

    async def advance(self, seconds: float) -> None:
        """Let time pass. Whoever wakes and sleeps again within it wakes again."""
        target = self._elapsed + seconds
        await self._settle()
        while self._sleepers and self._sleepers[0][0] <= target:
            deadline, _, future = heapq.heappop(self._sleepers)
            if future.done():  # the sleeper was cancelled
                continue
            self._elapsed = max(self._elapsed, deadline)
            future.set_result(None)
            await self._settle()
        self._elapsed = max(self._elapsed, target)
        await self._settle()

    @property
    def sleepers(self) -> int:
        """How many wait for this clock now."""
        return sum(not future.done() for _, _, future in self._sleepers)

    async def waiting(self, count: int = 1, *, timeout: float = 5.0) -> None:
        """Return once at least `count` sleep; fail after `timeout` seconds of real time."""
        try:
            async with asyncio.timeout(timeout):
                while self.sleepers < count:
                    self._arrival.clear()
                    await self._arrival.wait()
        except TimeoutError:
            message = f"expected {count} to sleep on the clock, {self.sleepers} do"
            raise AssertionError(message) from None

    async def _settle(self) -> None:
        for _ in range(_SETTLE):
            await asyncio.sleep(0)
