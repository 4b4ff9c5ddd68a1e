"""Reads in a few threads of their own, decoded there too: the loop only waits.

Knows neither tables nor records; the reads themselves are in `reads.py`,
each beside its statement. `CommitListener` hears when another process has something to read.
"""

from __future__ import annotations

import asyncio
import logging
import selectors
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar, cast

from sqlalchemy import (
    Connection,
    Engine,
    FromClause,
    Row,
    Select,
    Table,
    TextualSelect,
    bindparam,
    select,
    text,
)
from sqlalchemy.exc import SQLAlchemyError, StatementError

from vivavoce.store.columns import NotUuid
from vivavoce.store.database import waiting
from vivavoce.store.schema import log_head
from vivavoce.store.transaction import CHANNEL, explain, lost

if TYPE_CHECKING:
    from psycopg import Connection as Driver

log = logging.getLogger(__name__)

LISTEN = text(f"LISTEN {CHANNEL}")
LOG_POSITION = select(log_head.c.position)


T = TypeVar("T")
Decode = Callable[[Row[Any]], T]
Query = Select[Any] | TextualSelect

LARGEST = 2**63 - 1  # clients choose positions and limits; a database has its own


def within(number: int) -> int:
    return max(0, min(number, LARGEST))


def by(table: Table, *names: str) -> Select[Any]:
    """The rows with these values, which come with the question."""
    return select(table).where(*(table.c[name] == bindparam(name) for name in names))


def newest(table: FromClause) -> tuple[Any, Any]:
    """First, by what never changes."""
    return table.c.created_at.desc(), table.c.id.desc()


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
            last = error
        # The server was restarted; the pool is fresh now, and a read may be repeated.
        for _ in chain((None,), waiting(self._engine)):
            try:
                return self._once(decode, query, params)
            except SQLAlchemyError as error:
                if not lost(error):
                    raise explain(error) from error
                last = error
        raise explain(last) from last

    def _once(self, decode: Decode[T], query: Query, params: dict[str, object]) -> list[T]:
        with self._engine.connect() as connection:
            return [decode(row) for row in connection.execute(query, params)]


class Reads:
    """A part of the store; the store says where to read, and from what."""

    _dialect: str

    @property
    def _read(self) -> Reader:
        raise NotImplementedError


class CommitListener(threading.Thread):
    """LISTEN on PostgreSQL: a thread with a connection of its own, which comes back after a loss.

    It only says "look": what is new is a query of the log. `wake` is called in the thread;
    notifications of `own` are not for us.
    """

    def __init__(self, engine: Engine, own: str, wake: Callable[[], None], poll: float) -> None:
        super().__init__(name="store-listener", daemon=True)
        self._engine = engine
        self._own = own
        self._wake = wake
        self._poll = poll
        self._ended, self._end = socket.socketpair()

    def stop(self) -> None:
        """Returns at once; the thread ends soon after."""
        with suppress(OSError):  # stopped before
            self._end.send(b".")

    def run(self) -> None:
        with selectors.DefaultSelector() as pause:
            pause.register(self._ended, selectors.EVENT_READ)
            while True:
                try:
                    with self._engine.connect() as connection:
                        self._listen(connection)
                except Exception as error:  # the thread's boundary: come back whatever it was
                    fields = {"error": type(error).__name__}
                    log.warning("lost the store's notifications; reconnecting", extra=fields)
                if pause.select(self._poll):
                    break
        self._ended.close()
        self._end.close()

    def _listen(self, connection: Connection) -> None:
        """Until told to stop, or until the connection is lost."""
        connection.execute(LISTEN)
        seen = connection.execute(LOG_POSITION).scalar_one()
        self._wake()  # something may have happened before we listened
        driver = cast("Driver[Any]", connection.connection.dbapi_connection)
        with selectors.DefaultSelector() as ready:
            ready.register(driver.fileno(), selectors.EVENT_READ)
            ready.register(self._ended, selectors.EVENT_READ)
            while True:
                found = [key.fileobj for key, _ in ready.select(self._poll)]
                if self._ended in found:
                    return
                if found:
                    if self._foreign(driver):
                        self._wake()
                    continue
                # Now and then look for ourselves: a proxy may swallow notifications.
                head = connection.execute(LOG_POSITION).scalar_one()
                if head != seen:
                    seen = head
                    self._wake()

    def _foreign(self, driver: Driver[Any]) -> bool:
        """Take in what has arrived. True when any of it comes from another process."""
        driver.pgconn.consume_input()
        foreign = False
        while (notice := driver.pgconn.notifies()) is not None:
            foreign = foreign or notice.extra.decode() != self._own
        return foreign
