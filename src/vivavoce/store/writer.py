"""The one thread that writes: group commit.

While a transaction is on its way to the disk, submissions gather; the next
transaction takes all of them. One that fails is redone alone, so that it
fails alone. Knows nothing of what a plan contains.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from sqlalchemy import Connection, Engine

from vivavoce.errors import ClientError, OutcomeUnknown, Unavailable
from vivavoce.store.changes import Plan
from vivavoce.store.database import waiting
from vivavoce.store.transaction import Held, Performer, broken, explain, lost, queue_up
from vivavoce.wire.records.talk import LogEvent

log = logging.getLogger(__name__)

WAITING = 2048  # submissions; more wait in their own coroutine
BATCH = 512  # submissions a transaction

R = TypeVar("R")
Job = Callable[[Connection], Any]
"""Work for a transaction of its own, such as a sweep."""


@dataclass(frozen=True, slots=True, eq=False)
class Submission:
    work: Plan | Job
    future: asyncio.Future[Any]


Outcome = tuple[Submission, object]


def _rows(submission: Submission) -> int:
    match submission.work:
        case Plan(writes=writes, events=events):
            return len(writes) + len(events)
        case _:
            return 1


def _level(error: Exception) -> int:
    """A limit that was met is no fault of the store's, and may be met often."""
    return logging.DEBUG if isinstance(error, ClientError) else logging.WARNING


class CommitUnknown(Exception):
    """The connection went away while the commit was on its way."""


class Writer:
    """Started on the loop that it answers to; `close` drains what waits."""

    held: Held | None = None
    """Whose writes these are, once it is known."""

    wrote: Callable[[int], None] = staticmethod(lambda rows: None)
    """Hears how many rows each commit has written, in the thread."""

    def __init__(self, engine: Engine, performer: Performer) -> None:
        self._engine = engine
        self._performer = performer
        self._loop = asyncio.get_running_loop()
        self._queue: queue.SimpleQueue[Submission | None] = queue.SimpleQueue()
        self._room = asyncio.Semaphore(WAITING)
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="store-writer", daemon=True)
        self._thread.start()

    async def commit(self, plan: Plan) -> list[LogEvent]:
        return cast("list[LogEvent]", await self._submit(plan))

    async def run(self, job: Callable[[Connection], R]) -> R:
        return cast("R", await self._submit(job))

    async def close(self) -> None:
        """Refuse what is new, let everyone who waits through, then end the thread."""
        if not self._closed:
            self._closed = True
            for _ in range(WAITING):  # fair: the last place is free when all are done
                await self._room.acquire()
            self._queue.put(None)
        await self._loop.run_in_executor(None, self._thread.join)

    async def _submit(self, work: Plan | Job) -> Any:
        if self._closed:
            raise Unavailable("The store is closed.")
        await self._room.acquire()
        future = self._loop.create_future()
        self._queue.put(Submission(work, future))
        # A caller that gives up does not take its submission back.
        return await future

    # --- In the thread ------------------------------------------------------------

    def _run(self) -> None:
        while (first := self._queue.get()) is not None:
            batch, last = self._gather(first)
            plans = [s for s in batch if isinstance(s.work, Plan)]
            jobs = [s for s in batch if not isinstance(s.work, Plan)]
            outcomes = self._commit(plans) if plans else []
            for job in jobs:
                outcomes += self._commit([job])
            with suppress(RuntimeError):  # the loop is gone, and with it who waited
                self._loop.call_soon_threadsafe(self._resolve, outcomes)
            if last:
                return

    def _gather(self, first: Submission) -> tuple[list[Submission], bool]:
        batch = [first]
        with suppress(queue.Empty):
            while len(batch) < BATCH:
                more = self._queue.get_nowait()
                if more is None:
                    return batch, True
                batch.append(more)
        return batch, False

    def _commit(self, batch: list[Submission]) -> list[Outcome]:
        try:
            return list(zip(batch, self._transact(batch), strict=True))
        except Exception as error:
            # One alone is worth another try only where there was no way to the database.
            away = lost(error) and self._engine.dialect.name == "postgresql"
            hopeless = len(batch) == 1 and not (away or broken(error))
            if hopeless or isinstance(error, CommitUnknown):
                return self._failed(batch, error)
            log.log(
                _level(error), "a batch failed; redoing it one by one", extra={"size": len(batch)}
            )
        return self._one_by_one(batch)

    def _one_by_one(self, batch: list[Submission]) -> list[Outcome]:
        outcomes: list[Outcome] = []
        for at, submission in enumerate(batch):
            try:
                outcomes.append((submission, self._patiently(submission)))
            except Exception as error:
                if lost(error):  # each of the others would wait for a connection in vain
                    return outcomes + self._failed(batch[at:], error)
                outcomes += self._failed([submission], error)
        return outcomes

    def _patiently(self, submission: Submission) -> object:
        """Where the database is away for a moment, that moment is waited for. What reached nobody
        can be sent again; a commit that may have come cannot (`CommitUnknown`)."""
        try:
            return self._transact([submission])[0]
        except Exception as error:
            if not lost(error):
                raise
            last = error
        for _ in waiting(self._engine):
            try:
                return self._transact([submission])[0]
            except Exception as error:
                if not lost(error):
                    raise
                last = error
        raise last

    def _failed(self, batch: list[Submission], error: Exception) -> list[Outcome]:
        extra = {"error": type(error).__name__, "size": len(batch)}
        log.log(_level(error), "a write failed", extra=extra)
        if isinstance(error, CommitUnknown):
            told = OutcomeUnknown("The store went away; it is not known whether this was written.")
            told.__cause__ = error
            return [(submission, told) for submission in batch]
        return [(submission, explain(error)) for submission in batch]

    def _transact(self, batch: list[Submission]) -> list[object]:
        with self._engine.connect() as connection:
            transaction = connection.begin()
            try:
                match batch[0].work:
                    case Plan():
                        plans = [s.work for s in batch if isinstance(s.work, Plan)]
                        results: list[object] = [
                            *self._performer.perform(connection, plans, self.held)
                        ]
                    case job:
                        queue_up(connection)
                        results = [job(connection)]
            except BaseException:
                transaction.rollback()
                raise
            try:
                transaction.commit()
            except Exception as error:
                # Redoing it could announce everything twice.
                if connection.invalidated:
                    raise CommitUnknown from error
                raise
            self.wrote(sum(map(_rows, batch)))
            return results

    # --- On the loop --------------------------------------------------------------

    def _resolve(self, outcomes: list[Outcome]) -> None:
        for submission, outcome in outcomes:
            self._room.release()
            if submission.future.done():
                continue
            if isinstance(outcome, Exception):
                submission.future.set_exception(outcome)
            else:
                submission.future.set_result(outcome)
