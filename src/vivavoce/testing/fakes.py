"""`ManualClock`, which moves by hand, and `MemoryStore`: the SQL store on SQLite in memory.

Both do everything where it is asked for, on the loop and one thing after another:
a test that moves its clock by hand knows when something is done. The store forgets
when it is gone.
"""

from __future__ import annotations

import asyncio
import heapq
import sqlite3
import weakref
from datetime import UTC, datetime, timedelta
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

    async def _tidy(self) -> None:
        """There are no files."""


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

    async def leap(self, seconds: float) -> None:
        """As after a suspended machine wakes: whatever was due meanwhile happens once, now."""
        await self._settle()
        self._elapsed += seconds
        await self.advance(0)

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
