"""Short ways to open stores and to wait for something, in tests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from vivavoce.store import SqlStore
from vivavoce.store.database import parse


@asynccontextmanager
async def opened(url: str, *, poll: float = 5.0) -> AsyncIterator[SqlStore]:
    store = SqlStore(parse(url), poll=poll)
    await store.open()
    try:
        yield store
    finally:
        await store.close()


async def until(condition: Callable[[], Awaitable[bool]], seconds: float = 30) -> None:
    async with asyncio.timeout(seconds):
        while not await condition():
            await asyncio.sleep(0.01)
