"""`SqlStore`: fills the runtime's `Store` port. Reads go to a few threads, writes to one.

Puts the parts together; what a row is stands in `codec.py`, every statement in
`queries.py`, the two ways to the database in `reader.py` and `writer.py`, the
other reads in `work.py`, `agenda.py` and `history.py`.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from vivavoce.errors import Unavailable
from vivavoce.runtime.ports import LogBounds, Retention
from vivavoce.store.agenda import AgendaReads
from vivavoce.store.clean import canonical_uuid
from vivavoce.store.codec import talk
from vivavoce.store.database import Database, parse
from vivavoce.store.history import HistoryReads
from vivavoce.store.migrate import prepare
from vivavoce.store.queries import talk as queries
from vivavoce.store.reader import Reader, within
from vivavoce.store.retention import steps
from vivavoce.store.transaction import Performer
from vivavoce.store.work import WorkReads
from vivavoce.store.writer import Writer
from vivavoce.wire.records.talk import (
    Change,
    Conversation,
    Entry,
    LogEvent,
    SessionSummary,
    Snapshot,
    Status,
    ToolCall,
    ToolStats,
    VoiceSession,
)

if TYPE_CHECKING:
    from vivavoce.store.listener import CommitListener

READERS = 4
POLL_SECONDS = 5.0  # how late a lost notification may be noticed


def open_store(url: str) -> SqlStore:
    """A store for sqlite:////path/to.db or postgresql://…; `await store.open()` connects."""
    return SqlStore(parse(url))


@dataclass(frozen=True, slots=True)
class Connections:
    """What there is while the store is open."""

    reader: Reader
    writer: Writer
    engines: tuple[Engine, ...]


class SqlStore(WorkReads, AgendaReads, HistoryReads):
    """Everything is awaited, nothing blocks the loop."""

    def __init__(self, database: Database, *, poll: float = POLL_SECONDS) -> None:
        self._database = database
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
        self._connections = Connections(
            Reader(reading, READERS), Writer(writing, performer), (reading, writing)
        )

    async def close(self) -> None:
        """What was submitted is written first."""
        if self._connections is None:
            return
        lines = self._connections
        await lines.writer.close()
        self._connections = None
        await lines.reader.close()
        for listener in self._listeners:
            listener.stop()
            await asyncio.to_thread(listener.join)
        self._listeners.clear()
        for engine in lines.engines:
            await asyncio.to_thread(engine.dispose)

    async def commit(self, changes: Sequence[Change]) -> list[LogEvent]:
        plan = talk.plan(changes)
        return await self._open().writer.commit(plan)

    async def conversation(self, conversation_id: str, *, user_id: str) -> Conversation | None:
        if canonical_uuid(conversation_id) is None:
            return None
        query = queries.CONVERSATION
        return await self._read.one(
            talk.to_conversation, query, id=conversation_id, user_id=user_id
        )

    async def session(self, session_id: str, *, user_id: str | None) -> VoiceSession | None:
        if user_id is None:
            return await self._read.one(talk.to_session, queries.ANY_SESSION, id=session_id)
        query = queries.SESSION
        return await self._read.one(talk.to_session, query, id=session_id, user_id=user_id)

    async def summary(self, session_id: str, *, user_id: str) -> SessionSummary | None:
        query = queries.SUMMARY
        return await self._read.one(talk.to_summary, query, id=session_id, user_id=user_id)

    async def sessions(
        self, *, user_id: str, status: Status | None = None, limit: int = 20
    ) -> list[SessionSummary]:
        given = {"user_id": user_id, "limit": within(limit)}
        if status is None:
            return await self._read.all(talk.to_summary, queries.SESSIONS, **given)
        query = queries.SESSIONS_BY_STATUS
        return await self._read.all(talk.to_summary, query, status=status.value, **given)

    async def active_sessions(self) -> list[VoiceSession]:
        return await self._read.all(talk.to_session, queries.ACTIVE_SESSIONS)

    async def session_totals(self) -> tuple[int, float]:
        return await self._read.row(talk.to_totals, queries.SESSION_TOTALS)

    async def entries(self, conversation_id: str, *, user_id: str) -> list[Entry]:
        if canonical_uuid(conversation_id) is None:
            return []
        return await self._read.all(
            talk.to_entry, queries.ENTRIES, conversation_id=conversation_id, user_id=user_id
        )

    async def tool_call(self, call_id: str, *, user_id: str) -> ToolCall | None:
        return await self._read.one(talk.to_call, queries.TOOL_CALL, id=call_id, user_id=user_id)

    async def open_calls(self, session_id: str) -> list[ToolCall]:
        return await self._read.all(talk.to_call, queries.OPEN_CALLS, session_id=session_id)

    async def tool_stats(self, tool: str) -> ToolStats:
        return await self._read.row(talk.to_stats, queries.TOOL_STATS, tool=tool)

    async def snapshot(self, session_id: str, *, user_id: str) -> Snapshot | None:
        return await self._read.one(
            talk.to_snapshot, queries.SNAPSHOT, session_id=session_id, user_id=user_id
        )

    async def events(
        self,
        *,
        after: int,
        limit: int,
        user_id: str | None = None,
        session_id: str | None = None,
        upto: int | None = None,
    ) -> list[LogEvent]:
        query = queries.events_after(
            user=user_id is not None, session=session_id is not None, upto=upto is not None
        )
        given: dict[str, object] = {"after": within(after), "limit": within(limit)}
        if user_id is not None:
            given["user_id"] = user_id
        if session_id is not None:
            given["session_id"] = session_id
        if upto is not None:
            given["upto"] = within(upto)
        return await self._read.all(talk.to_event, query, **given)

    async def last_events(
        self, kind: str, *, session_id: str, user_id: str, limit: int
    ) -> list[LogEvent]:
        found = await self._read.all(
            talk.to_event,
            queries.LAST_EVENTS,
            kind=kind,
            session_id=session_id,
            user_id=user_id,
            limit=within(limit),
        )
        return found[::-1]

    async def log_bounds(self) -> LogBounds:
        return await self._read.row(talk.to_bounds, queries.LOG_BOUNDS)

    async def sweep(self, retention: Retention, now: datetime) -> int:
        """A slice at a time, so that live writes get through between."""
        gone = 0
        for step in steps(retention, now):
            while (rows := await self._open().writer.run(step)) > 0:
                gone += rows
        return gone

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
        from vivavoce.store.listener import CommitListener  # needs the PostgreSQL driver

        loop = asyncio.get_running_loop()

        def wake() -> None:
            with suppress(RuntimeError):  # the loop is gone, and with it who waited
                loop.call_soon_threadsafe(woken.set)

        self._open()
        self._listeners = [each for each in self._listeners if each.alive]
        listener = CommitListener(self._database.listener(), self._name, wake, self._poll)
        self._listeners.append(listener)
        listener.start()
        return listener

    @property
    def _dialect(self) -> str:
        return self._database.dialect

    @property
    def _read(self) -> Reader:
        return self._open().reader

    def _open(self) -> Connections:
        if self._connections is None:
            raise Unavailable("The store is closed.")
        return self._connections


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
