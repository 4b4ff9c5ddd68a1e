"""`MemoryStore`: the SQL store on SQLite in memory. It forgets when it is gone.

Everything happens where it is asked for, on the loop and one thing after another: there is
no thread to wait for, so a test that moves its clock by hand knows when something is done.
"""

from __future__ import annotations

import asyncio
import sqlite3
import weakref
from functools import cache
from typing import Any, TypeVar, cast

from sqlalchemy import Engine, StaticPool, make_url

from vivavoce.store.changes import Plan
from vivavoce.store.database import Database, own_transactions
from vivavoce.store.migrate import create
from vivavoce.store.reader import Decode, Query, Reader
from vivavoce.store.sql_store import Connections, SqlStore
from vivavoce.store.transaction import Performer
from vivavoce.store.writer import Job, Submission, Writer

T = TypeVar("T")
_DATABASE = Database(make_url("sqlite://"))


class MemoryStore(SqlStore):
    """Opening and closing keep what is there, as reopening a database does."""

    def __init__(self) -> None:
        super().__init__(_DATABASE)
        self._engine: Engine | None = None

    async def open(self) -> None:
        if self._engine is None:
            self._engine = _copy()
            weakref.finalize(self, self._engine.dispose)
        reader, writer = _Reader(self._engine), _Writer(self._engine)
        self._connections = Connections(reader, writer, engines=())


class _Reader(Reader):
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def all(self, decode: Decode[T], query: Query, **params: object) -> list[T]:
        return self._fetch(decode, query, params)

    async def close(self) -> None:
        pass


class _Writer(Writer):
    def __init__(self, engine: Engine) -> None:
        self._engine, self._performer = engine, _performer()

    async def close(self) -> None:
        pass

    async def _submit(self, work: Plan | Job) -> Any:
        await asyncio.sleep(0)  # a real store never answers within the same step of the loop
        alone = Submission(work, asyncio.get_running_loop().create_future())
        ((_, outcome),) = self._commit([alone])
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


@cache
def _performer() -> Performer:
    return Performer(_DATABASE.dialect, sender="")


@cache
def _blank() -> Engine:
    """The schema with nothing in it, made once: copying it takes a thirtieth of the time."""
    engine = _DATABASE.engine(poolclass=StaticPool, connect_args={"check_same_thread": False})
    own_transactions(engine, foreign_keys=True)
    with engine.begin() as connection:
        create(connection)
    return engine


def _copy() -> Engine:
    """With the dialect of the blank one: what SQLAlchemy compiled for a test serves the next."""
    blank = _blank()

    def connect() -> Any:
        made = sqlite3.connect(":memory:", check_same_thread=False)
        cast("sqlite3.Connection", blank.raw_connection().driver_connection).backup(made)
        return made

    compiled = {"compiled_cache": blank._compiled_cache}
    engine = Engine(StaticPool(connect), blank.dialect, blank.url, execution_options=compiled)
    own_transactions(engine, foreign_keys=True)
    return engine
