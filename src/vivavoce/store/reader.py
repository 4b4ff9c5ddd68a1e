"""Reads in a few threads of their own, decoded there too: the loop only waits.

Knows neither tables nor records. The reads themselves are in `talk.py`, `work.py` and
`plans.py`, each beside its statements.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from sqlalchemy import Engine, Row, Select, TextualSelect
from sqlalchemy.exc import SQLAlchemyError, StatementError

from vivavoce.store.columns import NotUuid
from vivavoce.store.transaction import explain, lost

T = TypeVar("T")
Decode = Callable[[Row[Any]], T]
Query = Select[Any] | TextualSelect

LARGEST = 2**63 - 1  # clients choose positions and limits; a database has its own


def within(number: int) -> int:
    return max(0, min(number, LARGEST))


class Reader:
    """One thread a connection. What waits is bounded by who waits: each caller for its own."""

    def __init__(self, engine: Engine, threads: int) -> None:
        self._engine = engine
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="store-reader")

    async def all(self, decode: Decode[T], query: Query, **params: object) -> list[T]:
        """Nothing, where something is looked for by what cannot be its id."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._fetch, decode, query, params)

    async def one(self, decode: Decode[T], query: Query, **params: object) -> T | None:
        found = await self.all(decode, query, **params)
        return found[0] if found else None

    async def row(self, decode: Decode[T], query: Query, **params: object) -> T:
        """For queries that always have exactly one row."""
        (found,) = await self.all(decode, query, **params)
        return found

    async def close(self) -> None:
        await asyncio.to_thread(self._threads.shutdown)

    def _fetch(self, decode: Decode[T], query: Query, params: dict[str, object]) -> list[T]:
        try:
            return self._once(decode, query, params)
        except SQLAlchemyError as error:
            if isinstance(error, StatementError) and isinstance(error.orig, NotUuid):
                return []
            if not lost(error):
                raise explain(error) from error
        try:  # the server was restarted; the pool is fresh now, and a read may be repeated
            return self._once(decode, query, params)
        except SQLAlchemyError as error:
            raise explain(error) from error

    def _once(self, decode: Decode[T], query: Query, params: dict[str, object]) -> list[T]:
        with self._engine.connect() as connection:
            return [decode(row) for row in connection.execute(query, params)]


class Reads:
    """A part of the store; the store says where to read, and from what."""

    @property
    def _read(self) -> Reader:
        raise NotImplementedError

    @property
    def _dialect(self) -> str:
        raise NotImplementedError
