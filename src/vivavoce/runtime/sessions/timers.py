"""The timers of one session, in one task.

Most are put off by whatever happens and never fire: a task for each would be made anew with every
event, and take more than the session's own state.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable

from vivavoce.runtime.ports import Clock


class Timers:
    def __init__(self, clock: Clock, fired: Callable[[str], Awaitable[None]]) -> None:
        self._clock, self._fired = clock, fired
        self._due: dict[str, float] = {}  # on the monotonic clock
        self._task: asyncio.Task[None] | None = None
        self._wakes = math.inf
        """When the task looks again. It is too early where what was due then was put off."""

    def start(self, name: str, seconds: float, group: asyncio.TaskGroup) -> None:
        """In place of the one of this name, if there is one."""
        self.stop(name)
        due = self._due[name] = self._clock.monotonic() + seconds
        if due < self._wakes:
            if self._task is not None:
                self._task.cancel()
            self._wakes = due
            self._task = group.create_task(self._run())

    def stop(self, name: str) -> None:
        self._due.pop(name, None)

    async def _run(self) -> None:
        while self._due:
            until = self._wakes = min(self._due.values())
            await self._clock.sleep(until - self._clock.monotonic())
            # Nobody ends it while it tells: what is told is no timer any more.
            self._wakes = -math.inf
            now = max(until, self._clock.monotonic())
            for name in sorted(self._due, key=self._due.__getitem__):
                # Another one may have put it off, or stopped it, meanwhile.
                if self._due.get(name, math.inf) <= now:
                    del self._due[name]
                    await self._fired(name)
        self._wakes, self._task = math.inf, None
