"""What tasks of one session wait on, small: there are many of each for every session.

`asyncio.Event` is made with a deque for those who wait, and `asyncio.Queue` with four: 3 KiB, for
mostly one who waits for mostly one thing.
"""

from __future__ import annotations

import asyncio
from typing import Generic, TypeVar

T = TypeVar("T")


class Flag:
    """As `asyncio.Event`."""

    __slots__ = ("_set", "_waiters")

    def __init__(self) -> None:
        self._set = False
        self._waiters: tuple[asyncio.Future[None], ...] = ()

    def is_set(self) -> bool:
        return self._set

    def set(self) -> None:
        """All who wait go on, also if it is cleared before they do."""
        self._set = True
        waiters, self._waiters = self._waiters, ()
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    def clear(self) -> None:
        self._set = False

    async def wait(self) -> None:
        if self._set:
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters = (*self._waiters, waiter)
        try:
            await waiter
        finally:
            self._waiters = tuple(one for one in self._waiters if one is not waiter)


class Inbox(Generic[T]):
    """Of one reader: in order, and bounded."""

    __slots__ = ("_came", "_items", "_most", "_room")

    def __init__(self, most: int) -> None:
        self._most = most
        self._items: list[T] = []  # rarely more than a few
        self._came, self._room = Flag(), Flag()

    def empty(self) -> bool:
        return not self._items

    async def put(self, item: T) -> None:
        """Waits while it is full."""
        while len(self._items) >= self._most:
            self._room.clear()
            await self._room.wait()
        self.put_nowait(item)

    def put_nowait(self, item: T) -> None:
        """However many there are."""
        self._items.append(item)
        self._came.set()

    async def get(self) -> T:
        while not self._items:
            self._came.clear()
            await self._came.wait()
        return self.get_nowait()

    def get_nowait(self) -> T:
        """Raises `IndexError` where there is nothing."""
        item = self._items.pop(0)
        self._room.set()
        return item
