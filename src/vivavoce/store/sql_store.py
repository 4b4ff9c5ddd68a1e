"""`SqlStore`: fills the runtime's `Store` port. Reads go to a few threads, writes to one.

Puts the parts together, and reads the log. The other reads are in `reads.py`, the two
ways to the database in `reader.py` and `writer.py`.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from sqlalchemy import (
    Connection,
    Engine,
    Row,
    Select,
    bindparam,
    delete,
    func,
    select,
    tuple_,
    update,
)
from sqlalchemy.exc import DBAPIError

from vivavoce.errors import Unavailable
from vivavoce.runtime.ports import Asked, Claimed, InstanceSeen, LogBounds, Retention
from vivavoce.store import leases
from vivavoce.store.changes import plan
from vivavoce.store.checkpoints import Checkpoints
from vivavoce.store.database import Database, parse, tidy
from vivavoce.store.migrate import prepare
from vivavoce.store.reader import CommitListener, Reader, within
from vivavoce.store.reads import PlanReads, TalkReads, WorkReads
from vivavoce.store.retention import forgetting, owned, steps
from vivavoce.store.rows import APPROVALS, EVENTS, KEYS, PUSH_MESSAGES, SESSIONS, TASKS, Rows
from vivavoce.store.schema import events, log_head, one_time_keys, push_messages, reminders
from vivavoce.store.search import INDEX
from vivavoce.store.transaction import CLAIM, Held, Performer, explain
from vivavoce.store.writer import Writer
from vivavoce.wire.records.reach import OneTimeKey, PushMessage
from vivavoce.wire.records.talk import Change, LogEvent

log = logging.getLogger(__name__)
R = TypeVar("R")

READERS = 4
PAGE = 500  # rows of an export at a time
POLL_SECONDS = 5.0  # how late a lost notification may be noticed

LOG_BOUNDS = select(
    log_head.c.position.label("latest"),
    select(func.min(events.c.position)).scalar_subquery().label("oldest"),
)
# Along the index of the session, from its end: as many rows as it takes, never the log.
LAST_EVENTS = (
    select(events)
    .where(
        events.c.voice_session_id.in_(bindparam("session_ids", expanding=True)),
        # As no index has it: by the user's, all that he ever did would be read.
        func.coalesce(events.c.user_id, "") == bindparam("user_id"),
        events.c.type.in_(bindparam("kinds", expanding=True)),
    )
    .order_by(events.c.position.desc())
    .limit(bindparam("limit"))
)

CLAIMED = select(reminders.c.id).where(
    reminders.c.id.in_(bindparam("ids", expanding=True, type_=reminders.c.id.type)),
    reminders.c.claimed_by == bindparam("by"),
    reminders.c.status == "waiting",
)

_at = bindparam("at", type_=push_messages.c.due_at.type)
_due = (push_messages.c.status == "pending", push_messages.c.due_at <= _at)
_turn = (
    func.row_number()
    .over(partition_by=push_messages.c.user_id, order_by=push_messages.c.due_at)
    .label("turn")
)
_in_turn = (
    select(push_messages.c.id, push_messages.c.due_at, _turn)
    .where(*_due, push_messages.c.user_id.not_in(bindparam("but", expanding=True)))
    .subquery()
)
CLAIM_PUSHES = (
    update(push_messages)
    .where(
        push_messages.c.id.in_(
            select(_in_turn.c.id)
            .where(_in_turn.c.turn <= bindparam("of_user"))
            .order_by(_in_turn.c.turn, _in_turn.c.due_at)
            .limit(bindparam("limit"))
        ),
        *_due,  # again: somebody else may have taken it while we waited for the row
    )
    .values(due_at=bindparam("until", type_=push_messages.c.due_at.type))
    .returning(*push_messages.c)
)
_of_key = (one_time_keys.c.digest == bindparam("of"), one_time_keys.c.purpose == bindparam("for"))
KEY = select(one_time_keys).where(*_of_key)
TAKE_KEY = delete(one_time_keys).where(*_of_key).returning(*one_time_keys.c)


def events_after(
    after: int, *, limit: int, user_id: str | None, session_id: str | None, upto: int | None
) -> Select[Any]:
    """The log after a position, narrowed by what is asked for."""
    query = select(events).where(events.c.position > within(after))
    of = ((events.c.user_id, user_id), (events.c.voice_session_id, session_id))
    query = query.where(*(column == value for column, value in of if value is not None))
    if upto is not None:
        query = query.where(events.c.position <= within(upto))
    return query.order_by(events.c.position).limit(within(limit))


def open_store(url: str) -> SqlStore:
    """A store for sqlite:////path/to.db or postgresql://…; `await store.open()` connects."""
    return SqlStore(parse(url))


@dataclass(frozen=True, slots=True)
class Connections:
    """What there is while the store is open."""

    reader: Reader
    writer: Writer
    engines: tuple[Engine, ...]
    checkpoints: Checkpoints | None = None


class SqlStore(TalkReads, WorkReads, PlanReads):
    """Everything is awaited, nothing blocks the loop."""

    _held: Held | None = None

    def __init__(self, database: Database, *, poll: float = POLL_SECONDS) -> None:
        self._database = database
        self._dialect = database.dialect
        self._poll = poll
        self._name = uuid.uuid4().hex  # tells our own notifications from the others'
        self._connections: Connections | None = None
        self._listeners: list[CommitListener] = []

    async def open(self) -> None:
        """Create or migrate the database, then be ready."""
        if self._connections is not None:
            return
        try:
            await asyncio.to_thread(prepare, self._database)
        except (DBAPIError, OSError) as error:
            raise cannot_open(self._database, error) from error
        reading, writing = self._database.readers(READERS), self._database.writer()
        performer = Performer(self._database.dialect, self._name)
        reader, writer = Reader(reading, READERS), Writer(writing, performer)
        checkpoints = None if self._database.postgres else Checkpoints(self._database)
        if checkpoints is not None:
            writer.wrote = checkpoints.wrote
        self._connections = Connections(reader, writer, (reading, writing), checkpoints)

    async def close(self) -> None:
        """What was submitted is written first."""
        if self._connections is None:
            return
        held = self._connections
        await held.writer.close()
        self._connections = self._held = None
        await held.reader.close()
        for listener in self._listeners:
            listener.stop()
            await asyncio.to_thread(listener.join)
        self._listeners.clear()
        if held.checkpoints is not None:
            await asyncio.to_thread(held.checkpoints.close)
        for engine in held.engines:
            await asyncio.to_thread(engine.dispose)

    async def commit(self, changes: Sequence[Change]) -> list[LogEvent]:
        submitted = plan(changes)
        return await self._open().writer.commit(submitted)

    # --- Leases -------------------------------------------------------------------------

    async def join(self, name: str, lease: float | None) -> int:
        wanted = None if lease is None else timedelta(seconds=lease)
        epoch = await self._open().writer.run(leases.join(name, wanted))
        if epoch:
            self._held = self._open().writer.held = Held(name, epoch)
        return epoch

    async def renew(self, lease: float) -> bool:
        step = leases.renew(self._life, timedelta(seconds=lease))
        return bool(await self._open().writer.run(step))

    async def leave(self) -> None:
        if self._held is not None:
            await self._open().writer.run(leases.leave(self._held))

    async def release(self, session_id: str) -> bool:
        return bool(await self._open().writer.run(leases.release(self._life, session_id)))

    async def own_task(self, task_id: str) -> None:
        if self._held is not None:
            await self._open().writer.run(leases.own_task(self._held, task_id))

    async def claim(self, limit: int = 10) -> Claimed:
        if self._held is None:
            return Claimed(
                sessions=await self._lying(SESSIONS),
                tasks=await self._lying(TASKS),
                approvals=await self._lying(APPROVALS),
            )
        now = datetime.now(UTC)
        if not await self._read.all(_plain, leases.looks(self._dialect), now=now):
            return Claimed()
        return await self._open().writer.run(leases.claim(self._held, limit))

    async def instances(self) -> list[InstanceSeen]:
        return await self._read.all(leases.seen, leases.EVERY)

    async def is_held(self, owner: str | None, epoch: int | None) -> bool:
        if owner is None or epoch is None or self._held == (owner, epoch):
            return False
        given = {"name": owner, "epoch": epoch}
        found = await self._read.all(_plain, leases.IS_THERE, **given)
        return bool(found) and found[0]["lease_until"] is not None

    async def ask(self, asked: Asked) -> None:
        await self._open().writer.run(leases.ask(asked))

    async def asked(self) -> list[Asked]:
        if self._held is None:
            return []
        given = self._held._asdict()
        return await self._read.all(leases.read_ask, leases.WAITING_FOR_US, **given)

    async def answer(self, ask_id: str, answer: str, plain: str = "") -> None:
        await self._open().writer.run(leases.answer(self._life, ask_id, answer, plain))

    async def take_answer(self, ask_id: str) -> Asked | None:
        found = await self._read.one(leases.read_ask, leases.ANSWERED, id=ask_id)
        if found is not None:
            await self.drop_ask(ask_id)
        return found

    async def drop_ask(self, ask_id: str) -> None:
        await self._open().writer.run(leases.drop_ask(ask_id))

    async def _lying(self, of: Rows[R]) -> tuple[R, ...]:
        return tuple(await self._read.all(of.record, leases.lying(of.table)))

    @property
    def _life(self) -> Held:
        if self._held is None:
            raise Unavailable("This server has not joined.")
        return self._held

    # --- The log ------------------------------------------------------------------------

    async def events(
        self,
        *,
        after: int,
        limit: int,
        user_id: str | None = None,
        session_id: str | None = None,
        upto: int | None = None,
    ) -> list[LogEvent]:
        query = events_after(after, limit=limit, user_id=user_id, session_id=session_id, upto=upto)
        return await self._read.all(EVENTS.record, query)

    async def last_events(
        self, kinds: Sequence[str], *, session_ids: Sequence[str], user_id: str, limit: int
    ) -> list[LogEvent]:
        of = {"session_ids": list(session_ids), "user_id": user_id}
        given = {"kinds": list(kinds), "limit": within(limit), **of}
        return (await self._read.all(EVENTS.record, LAST_EVENTS, **given))[::-1]

    async def log_bounds(self) -> LogBounds:
        return await self._read.row(_to_bounds, LOG_BOUNDS)

    async def sweep(self, retention: Retention, now: datetime) -> int:
        """A slice at a time, so that live writes get through between."""
        gone = 0
        for step in steps(retention, now):
            while (rows := await self._open().writer.run(step)) > 0:
                gone += rows
        return gone

    async def claim_reminders(
        self, ids: Sequence[str], *, by: str, now: datetime, until: datetime
    ) -> list[str]:
        given = {"ids": list(ids), "mine": by, "by": by, "at": now, "until": until}
        if not ids:
            return []
        await self._open().writer.run(lambda connection: connection.execute(CLAIM, given).rowcount)
        return await self._read.all(_id, CLAIMED, ids=list(ids), by=by)

    async def claim_pushes(
        self,
        *,
        now: datetime,
        until: datetime,
        limit: int,
        of_user: int,
        but: Collection[str] = (),
    ) -> list[PushMessage]:
        def claim(connection: Connection) -> list[PushMessage]:
            given = {"at": now, "until": until, "limit": within(limit)}
            given |= {"of_user": of_user, "but": list(but)}
            return [PUSH_MESSAGES.record(row) for row in connection.execute(CLAIM_PUSHES, given)]

        return await self._open().writer.run(claim)

    async def take_key(self, digest: str, purpose: str) -> OneTimeKey | None:
        given = {"of": digest, "for": purpose}

        def take(connection: Connection) -> OneTimeKey | None:
            found = connection.execute(TAKE_KEY, given).first()
            return None if found is None else KEYS.record(found)

        # A guess is read and no more: nobody makes writers wait without a key.
        if await self._read.one(KEYS.record, KEY, **given) is None:
            return None
        return await self._open().writer.run(take)

    async def forget(self, user_id: str, *, counts: bool = False) -> dict[str, int]:
        """A slice at a time, again until a whole pass finds nothing: somebody may still have
        written. Then it goes from the files."""
        gone: dict[str, int] = {}
        found = True
        while found:
            found = False
            for name, step in forgetting(user_id, counts=counts):
                while (rows := await self._open().writer.run(step)) > 0:
                    found = True
                    gone[name] = gone.get(name, 0) + rows
        gone.pop("", None)
        await self._tidy()
        return gone

    async def _tidy(self) -> None:
        names = [table.name for table, _ in owned()]
        try:
            whole = await asyncio.to_thread(tidy, self._database, tables=names, index=INDEX)
        except DBAPIError as error:
            raise explain(error) from error
        if not whole:
            log.warning("What was deleted is still in the write-ahead log until it is next emptied")

    async def rows_of(self, user_id: str) -> AsyncIterator[tuple[str, dict[str, Any]]]:
        for table, owner in owned():
            key = tuple_(*table.primary_key)
            query = select(table).where(owner == user_id).order_by(*table.primary_key).limit(PAGE)
            page = await self._read.all(_plain, query)
            while page:
                for row in page:
                    yield table.name, row
                last = tuple(page[-1][column.name] for column in table.primary_key)
                more = len(page) == PAGE
                page = await self._read.all(_plain, query.where(key > last)) if more else []

    async def foreign_commits(self) -> AsyncIterator[None]:
        """Also wakes when the listening (re)starts: something may have been missed."""
        woken = asyncio.Event()
        listener = self._listen(woken) if self._database.postgres else None
        try:
            while True:
                await woken.wait()
                woken.clear()
                yield
        finally:
            if listener is not None:
                listener.stop()

    def _listen(self, woken: asyncio.Event) -> CommitListener:
        loop = asyncio.get_running_loop()

        def wake() -> None:
            with suppress(RuntimeError):  # the loop is gone, and with it who waited
                loop.call_soon_threadsafe(woken.set)

        self._open()
        self._listeners = [each for each in self._listeners if each.is_alive()]
        listener = CommitListener(self._database.listener(), self._name, wake, self._poll)
        self._listeners.append(listener)
        listener.start()
        return listener

    @property
    def _read(self) -> Reader:
        return self._open().reader

    def _open(self) -> Connections:
        if self._connections is None:
            raise Unavailable("The store is closed.")
        return self._connections


def _id(row: Row[Any]) -> str:
    return str(row.id)


def _plain(row: Row[Any]) -> dict[str, Any]:
    return {str(name): value for name, value in row._mapping.items()}


def _to_bounds(row: Row[Any]) -> LogBounds:
    return LogBounds(row.latest + 1 if row.oldest is None else row.oldest, row.latest)


def cannot_open(database: Database, error: DBAPIError | OSError) -> Unavailable:
    """For whoever starts us: where it should be, and in few words why it is not."""
    return Unavailable(f"the database cannot be opened: {_place(database)}: {_cause(error)}")


def _place(database: Database) -> str:
    if not database.postgres:
        return str(database.url.database)
    # A password may stand among the options as well: only those that say where.
    options = {key: value for key, value in database.url.query.items() if key in ("host", "port")}
    return database.url.set(drivername="postgresql", query=options).render_as_string()


def _cause(error: DBAPIError | OSError) -> str:
    match error:
        case FileExistsError() | NotADirectoryError():
            return f"{error.filename} is no folder"
        case OSError():
            return error.strerror or type(error).__name__
        case _:
            lines = str(error.orig).strip().splitlines()  # libpq goes on with advice
            return lines[0][:200] if lines else type(error.orig).__name__
