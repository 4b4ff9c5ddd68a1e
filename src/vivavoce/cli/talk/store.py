"""The one place where the state lies, and waiting for it to become as wanted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from vivavoce.cli.talk.core.state import Fact, State, reduce


class Store:
    """Facts in, the state out; whoever waits is woken by each change, and by `notify`."""

    def __init__(self) -> None:
        self.state = State()
        self.listeners: list[Callable[[State], None]] = []
        self._waiting: set[asyncio.Event] = set()

    def tell(self, fact: Fact) -> None:
        self.state = reduce(self.state, fact)
        for listener in self.listeners:
            listener(self.state)
        self.notify()

    def notify(self) -> None:
        for event in self._waiting:
            event.set()

    async def until(self, wanted: Callable[[], bool], seconds: float | None = None) -> bool:
        """Whether it came to that in time."""
        changed = asyncio.Event()
        self._waiting.add(changed)
        try:
            async with asyncio.timeout(seconds):
                while not wanted():
                    changed.clear()
                    await changed.wait()
        except TimeoutError:
            return wanted()
        finally:
            self._waiting.discard(changed)
        return True

    async def steady(self, wanted: Callable[[State], bool], seconds: float) -> None:
        """Until it has been so for a while."""
        while True:
            await self.until(lambda: wanted(self.state))
            if not await self.until(lambda: not wanted(self.state), seconds):
                return
