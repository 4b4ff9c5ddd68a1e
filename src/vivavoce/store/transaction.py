"""What happens inside one transaction of the writer. Knows no threads and no futures.

Writers queue up at one row, also those of other processes: what is counted here
(`limits`) is counted of everything that was written before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple, cast

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError
from sqlalchemy.types import TypeEngine

from vivavoce.errors import Conflict, Fenced, InternalError, Unavailable, VivavoceError
from vivavoce.store.changes import HELD, How, Plan, fields_of, settling, writes_for
from vivavoce.store.database import drive
from vivavoce.store.limits import check, hold
from vivavoce.store.retention import drop_own
from vivavoce.store.rows import AUDIT, EVENTS, Fields
from vivavoce.store.schema import (
    SAID,
    audit,
    audit_head,
    conversations,
    events,
    instances,
    log_head,
    milestones,
    push_subscriptions,
    reminders,
    tasks,
    voice_sessions,
)
from vivavoce.wire.records.plans import Milestone
from vivavoce.wire.records.reach import PushSubscription
from vivavoce.wire.records.talk import Entry, LogEvent, VoiceSession
from vivavoce.wire.records.work import Approval, AuditLine, Task

CHANNEL = "vivavoce_log"
OWNED = (VoiceSession, Task, Approval)
"""Kinds of records that an instance looks after."""
Kind = tuple[type, How]
_AUDITED: Kind = (AuditLine, How.CHAIN)

# Locks the one row until the commit, so positions become visible in their order.
ADVANCE_LOG = (
    sa.update(log_head)
    .values(position=log_head.c.position + sa.bindparam("count"))
    .returning(log_head.c.position)
)
APPEND_EVENTS = sa.insert(events)
APPEND_AUDIT = sa.insert(audit)
LAST_AUDITED = sa.select(audit_head.c.position, audit_head.c.seal)
LINKED = sa.update(audit_head).values(position=sa.bindparam("last"), seal=sa.bindparam("mark"))
NOTIFY = sa.text("SELECT pg_notify(:channel, :sender)")

NAME_VOICE_SESSION = (
    sa.update(conversations)
    .where(conversations.c.id == sa.bindparam("of"))
    .values(voice_session_id=sa.bindparam("session_id"))
)

_MINE = (conversations.c.id == sa.bindparam("of"), conversations.c.user_id == sa.bindparam("owner"))

_goal, _task = (sa.bindparam(name, type_=conversations.c.id.type) for name in ("goal", "task"))
LINK = (
    sa.update(conversations)
    .where(*_MINE)
    .values(
        linked_goal_id=sa.func.coalesce(_goal, conversations.c.linked_goal_id),
        linked_task_id=sa.func.coalesce(_task, conversations.c.linked_task_id),
    )
)

_last_active = conversations.c.last_activity_at  # NULL where a client made it past us
TOUCH = (
    sa.update(conversations)
    .where(*_MINE, sa.or_(_last_active.is_(None), _last_active < sa.bindparam("at")))
    .values(last_activity_at=sa.bindparam("at", type_=conversations.c.created_at.type))
)

_talked = sa.select(
    sa.cast(sa.func.sum(voice_sessions.c.duration_ms), sa.BigInteger) // 1000
).where(voice_sessions.c.conversation_id == conversations.c.id)
# The time of its sessions, not the days between them.
DURATION = sa.update(conversations).where(*_MINE).values(duration_seconds=_talked.scalar_subquery())

_seen_at, _look_at, _noted = (
    sa.bindparam(name, type_=tasks.c.look_at.type) for name in ("seen_at", "next_at", "upto")
)
LOOKED = (
    sa.update(tasks)
    .where(
        tasks.c.id == sa.bindparam("of", type_=tasks.c.id.type),
        tasks.c.user_id == sa.bindparam("owner"),
        tasks.c.look_at == _seen_at,
    )
    .values(look_at=_look_at, noted_until=_noted)
)
CLAIM = (
    sa.update(reminders)
    .where(
        reminders.c.id.in_(sa.bindparam("ids", expanding=True, type_=reminders.c.id.type)),
        reminders.c.status == "waiting",
        sa.or_(
            reminders.c.claimed_by.is_(None),
            reminders.c.claimed_by == sa.bindparam("mine"),
            reminders.c.claimed_until <= sa.bindparam("at", type_=reminders.c.created_at.type),
        ),
    )
    .values(
        claimed_by=sa.bindparam("by"),
        claimed_until=sa.bindparam("until", type_=reminders.c.created_at.type),
    )
)

DROP_MILESTONE = sa.delete(milestones).where(milestones.c.id == sa.bindparam("dropped"))

DROP_PUSH = sa.delete(push_subscriptions).where(
    push_subscriptions.c.id == sa.bindparam("dropped", type_=push_subscriptions.c.id.type),
    push_subscriptions.c.user_id == sa.bindparam("owner"),
)


def queue_up(connection: sa.Connection, count: int = 0) -> int:
    """First of all in a transaction, even with nothing to announce: writers that queue up at one
    row in the same order cannot deadlock on the others. The last position of `count` new ones."""
    (last,) = ready(connection, ADVANCE_LOG).run(connection, {"count": count}).fetchone()
    return cast("int", last)


class Held(NamedTuple):
    """One life of one instance."""

    name: str
    epoch: int


EPOCH = sa.select(instances.c.epoch).where(instances.c.name == sa.bindparam("name"))


def fence(connection: sa.Connection, held: Held) -> None:
    """Refuses what comes from a life that somebody else has declared over. After `queue_up`, and as
    a statement of its own, so that it sees what was committed while we waited there."""
    found = ready(connection, EPOCH).run(connection, {"name": held.name}).fetchone()
    if found is None or found[0] != held.epoch:
        raise Fenced("Another server has taken over what this one looked after.", owner=held.name)


class Performer:
    """Writes the plans of a batch; `sender` names us to those who listen."""

    def __init__(self, dialect: str, sender: str) -> None:
        self._writes = writes_for(dialect)
        self._prepared: dict[Kind | None, Ready] = {}
        self._notify = dialect == "postgresql"
        self._sender = sender

    def perform(
        self, connection: sa.Connection, plans: Sequence[Plan], life: Held | None = None
    ) -> list[list[LogEvent]]:
        """All plans in one transaction; the announced events of each, with positions. `life` is
        whose writes these are, once that is known."""
        count = sum(len(plan.events) for plan in plans)
        head = queue_up(connection, count)
        if life is not None:
            fence(connection, life)
        self._write(connection, plans, life)
        for held in {held for plan in plans for held in plan.within}:
            # Afterwards: others in this batch may have taken the last of it.
            check(connection, held)
        placed = _place(plans, head - count)
        rows = [EVENTS.row(event) for events in placed for event in events]
        if rows:
            self._insert(connection, None, rows)
            if self._notify:
                message = {"channel": CHANNEL, "sender": self._sender}
                connection.execute(NOTIFY, message)
        return placed

    def _write(self, connection: sa.Connection, plans: Sequence[Plan], life: Held | None) -> None:
        """Runs of the same write go as one executemany; the order within a table stays."""
        writes = [write for plan in plans for write in plan.writes]
        writes.sort(key=attrgetter("rank"))
        limits = {name: held for plan in plans for name, held in plan.limits.items()}
        for (kind, how), run in groupby(writes, key=itemgetter(0, 1)):
            rows = [write.row for write in run]
            if life is not None and kind in OWNED and how in (How.NEW, How.WHOLE):
                stamp = dict(zip(HELD, life, strict=True))
                rows = [{**row, **stamp} for row in rows]
            match how:
                case How.NEW:
                    for row in rows:
                        hold(connection, row, limits.get(row["id"]))
                        self._new_session(connection, row)
                case How.LOOKED:
                    for row in rows:
                        if connection.execute(LOOKED, row).rowcount != 1:
                            raise Conflict("It was written or looked at by somebody else.")
                case How.FIELDS:
                    for row in rows:
                        name = connection.dialect.name
                        connection.execute(fields_of(name, kind, row["row"], row["only"]))
                case How.LINK:
                    connection.execute(LINK, rows)
                case How.DROP if kind is Milestone:
                    connection.execute(DROP_MILESTONE, rows)
                case How.DROP if kind is PushSubscription:
                    connection.execute(DROP_PUSH, rows)
                case How.DROP:
                    for row in rows:
                        drop_own(connection, row)
                case How.SETTLE:
                    for row in rows:
                        if connection.execute(settling(row)).rowcount == 0:
                            told = "This was answered already, or nobody waits for it any more."
                            raise Conflict(told)
                case How.CHAIN:
                    lines, last = _chained(connection, [row["line"] for row in rows])
                    self._insert(connection, (kind, how), lines)
                    ready(connection, LINKED).run(connection, last)
                case How.WHOLE | How.IF_ABSENT:
                    self._insert(connection, (kind, how), rows)
                    if kind is VoiceSession and (ended := _ended(rows)):
                        connection.execute(DURATION, ended)
                    if kind is Entry:
                        for spoken in _newest(rows):
                            ready(connection, TOUCH).run(connection, spoken)

    def _insert(self, connection: sa.Connection, kind: Kind | None, rows: list[Fields]) -> None:
        """Rows of one kind all have the same columns; None is the log."""
        if kind not in self._prepared:
            own = APPEND_EVENTS if kind is None else APPEND_AUDIT
            statement = own if kind in (None, _AUDITED) else self._writes[kind]
            self._prepared[kind] = of_rows(statement, list(rows[0]), connection.dialect)
        self._prepared[kind].run_all(connection, rows)

    def _new_session(self, connection: sa.Connection, row: Fields) -> None:
        if connection.execute(self._writes[VoiceSession, How.NEW], row).first() is None:
            raise Conflict("This session id is taken.", session_id=row["id"])
        names: dict[str, Any] = {"of": row["conversation_id"], "session_id": row["id"]}
        connection.execute(NAME_VOICE_SESSION, names)


def _chained(
    connection: sa.Connection, lines: Sequence[AuditLine]
) -> tuple[list[Fields], dict[str, Any]]:
    """As rows of the audit's chain, and its new end: nobody else is at it, since all queue up at
    one row. It goes on from the last line that was written, whether that is still there or not."""
    position, seal = ready(connection, LAST_AUDITED).run(connection).fetchone()
    placed: list[Fields] = []
    for line in lines:
        line = line.sealed(position + 1, seal)
        position, seal = line.position, line.seal
        placed.append(AUDIT.row(line))
    return placed, {"last": position, "mark": seal}


def _ended(rows: Sequence[Fields]) -> list[Mapping[str, Any]]:
    """The conversations of which a session is over."""
    over = {(r["conversation_id"], r["user_id"]) for r in rows if r["ended_at"] is not None}
    return [{"of": of, "owner": owner} for of, owner in sorted(over)]


def _newest(rows: Sequence[Fields]) -> list[Mapping[str, Any]]:
    """When something was last said in each conversation."""
    newest: dict[tuple[str, str], datetime] = {}
    for row in rows:
        if row["role"] in SAID:
            key = (row["conversation_id"], row["user_id"])
            newest[key] = max(newest.get(key, row["created_at"]), row["created_at"])
    return [{"of": of, "owner": owner, "at": at} for (of, owner), at in newest.items()]


def _place(plans: Sequence[Plan], before: int) -> list[list[LogEvent]]:
    """The events of each plan with the positions after `before`."""
    placed: list[list[LogEvent]] = []
    for plan in plans:
        placed.append(
            [replace(event, position=before + i) for i, event in enumerate(plan.events, 1)]
        )
        before += len(plan.events)
    return placed


# --- Statements made ready ----------------------------------------------------------


class Ready:
    """A statement whose words and types were worked out once: SQLAlchemy does that anew each time,
    and it costs more than most statements."""

    def __init__(
        self, words: str, values: Sequence[tuple[str, TypeEngine[Any]]], dialect: sa.Dialect
    ) -> None:
        """`values`: what stands in its places, in order, each with its type."""
        self.sql, self._in_order = words, dialect.positional
        self._names = [name for name, _ in values]
        self._process = [kind.dialect_impl(dialect).bind_processor(dialect) for _, kind in values]

    def run(self, connection: sa.Connection, given: Mapping[str, Any] | None = None) -> Any:
        return drive(connection, self.sql, self._bind(given or {}))

    def run_all(self, connection: sa.Connection, rows: Sequence[Mapping[str, Any]]) -> None:
        drive(connection, self.sql, [self._bind(row) for row in rows], many=True)

    def _bind(self, row: Mapping[str, Any]) -> tuple[Any, ...] | dict[str, Any]:
        values = [
            row[name] if process is None else process(row[name])
            for name, process in zip(self._names, self._process, strict=True)
        ]
        return tuple(values) if self._in_order else dict(zip(self._names, values, strict=True))


def of_rows(statement: sa.Insert, names: Sequence[str], dialect: sa.Dialect) -> Ready:
    """One INSERT with the columns `names`, whatever its ON CONFLICT says."""
    table = cast("sa.Table", statement.table)
    # The order in which the compiled statement names them: that of the table.
    columns = [column for column in table.columns if column.name in names]
    words = str(statement.compile(dialect=dialect, column_keys=list(names)))
    return Ready(words, [(column.name, column.type) for column in columns], dialect)


_READY: dict[tuple[sa.Executable, str], Ready] = {}


def ready(connection: sa.Connection, statement: sa.Select[Any] | sa.Update) -> Ready:
    """One of ours above."""
    dialect = connection.dialect
    if (known := _READY.get((statement, dialect.name))) is None:
        compiled = statement.compile(dialect=dialect)
        names = compiled.positiontup if dialect.positional else compiled.binds
        values = [(name, compiled.binds[name].type) for name in names or ()]
        known = _READY[statement, dialect.name] = Ready(str(compiled), values, dialect)
    return known


# --- What went wrong ----------------------------------------------------------------


def broken(error: BaseException) -> bool:
    """Did the connection die under us? The next one is new."""
    return isinstance(error, DBAPIError) and error.connection_invalidated


def lost(error: BaseException) -> bool:
    """Is there no way to the database now? Then it says nothing about what was written."""
    if not isinstance(error, DBAPIError):
        return False
    # A server that answered gives a state; a refused or broken connection has none,
    # and neither has SQLite's locked file or full disk.
    silent = isinstance(error, OperationalError) and not getattr(error.orig, "sqlstate", None)
    return broken(error) or silent


def explain(error: BaseException) -> VivavoceError:
    """What a submitter is told; the inside stays in `__cause__`."""
    if isinstance(error, VivavoceError):
        return error
    told: VivavoceError
    if lost(error):
        told = Unavailable("The store cannot be reached.")
    elif isinstance(error, IntegrityError):
        told = InternalError("The store refused a record that belongs to nothing it knows.")
    else:
        told = InternalError("The store could not do this.")
    told.__cause__ = error
    return told
