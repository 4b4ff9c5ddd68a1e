"""Changes as the writes of a transaction: `plan`, and what each write does.

A record is written as often as it changes: each write is an upsert. What may change in a
row, and by whom, stands here. The databases differ only in who makes the INSERT: both
speak ON CONFLICT.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, NamedTuple, assert_never

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

from vivavoce.store import schema as db
from vivavoce.store.rows import KIND_KEY, Fields, named, row_of
from vivavoce.wire.records import plans as people
from vivavoce.wire.records import reach, talk, work
from vivavoce.wire.records.plans import SessionLimits
from vivavoce.wire.records.talk import Change, LogEvent


class How(Enum):
    """A record is upserted as a `WHOLE`, or something else is done with it."""

    WHOLE = auto()
    NEW = auto()
    IF_ABSENT = auto()
    FIELDS = auto()
    DROP = auto()
    LINK = auto()
    CHAIN = auto()
    SETTLE = auto()
    LOOKED = auto()


class Write(NamedTuple):
    kind: type
    """Of the record."""
    how: How
    row: Fields

    @property
    def rank(self) -> int:
        """The order of foreign keys, one table after another; writes of one table keep theirs."""
        if self.how is How.CHAIN:
            return len(_RANK) + 2
        if self.kind is talk.Conversation and self.how is not How.WHOLE:
            # A goal is of a conversation that links to it: first both, then the link.
            return len(_RANK) + (self.how is How.DROP)
        return _RANK[self.kind]


# --- The plan -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Plan:
    """The writes of one submission, in their order, and what it announces."""

    writes: tuple[Write, ...]
    events: tuple[LogEvent, ...]
    limits: Mapping[str, SessionLimits] = field(default_factory=dict)
    """What the new sessions, by their ids, are held to."""
    within: tuple[talk.Within, ...] = ()
    """What their users may have when it is written."""


def plan(changes: Sequence[Change]) -> Plan:
    """Made where the caller is, so that what cannot be stored fails there and alone."""
    writes: list[Write] = []
    announced: list[LogEvent] = []
    limits: dict[str, SessionLimits] = {}
    within: list[talk.Within] = []

    def write(record: object, how: How = How.WHOLE) -> None:
        writes.append(Write(type(record), how, row_of(record)))

    for change in changes:
        match change:
            case talk.PutConversation(conversation):
                row = row_of(conversation)
                goal, task = row.pop("linked_goal_id"), row.pop("linked_task_id")
                writes.append(Write(talk.Conversation, How.WHOLE, row))
                if goal or task:  # None as a link leaves what is there
                    ends = {"of": row["id"], "owner": row["user_id"], "goal": goal, "task": task}
                    writes.append(Write(talk.Conversation, How.LINK, ends))
            case talk.PutSession(session, _, only) if only:
                part = {"row": row_of(session), "only": only}
                writes.append(Write(talk.VoiceSession, How.FIELDS, part))
            case talk.PutSession(session, new, _, held_to):
                write(session, How.NEW if new else How.WHOLE)
                if new and held_to is not None:
                    limits[session.id] = held_to
            case talk.PutEntry(entry, replace):
                write(entry, How.WHOLE if replace else How.IF_ABSENT)
            case talk.Put(record, only) if only:
                part = {"row": row_of(record), "only": only}
                writes.append(Write(type(record), How.FIELDS, part))
            case talk.Put(record):
                write(record)
            case talk.Settle(record):
                write(record, How.SETTLE)
            case talk.Looked():
                looked: Fields = {"of": named(change.todo_id), "owner": change.user_id}
                looked |= {"seen_at": change.seen_at, "next_at": change.look_at}
                looked |= {"upto": change.noted_until}
                writes.append(Write(people.Todo, How.LOOKED, looked))
            case talk.DropMilestone(milestone_id):
                writes.append(Write(people.Milestone, How.DROP, {"dropped": milestone_id}))
            case talk.DropPush(subscription_id, user_id):
                ended = {"dropped": named(subscription_id), "owner": user_id}
                writes.append(Write(reach.PushSubscription, How.DROP, ended))
            case talk.DropConversation(conversation_id, user_id):
                dropped = {"id": named(conversation_id), "user_id": user_id}
                writes.append(Write(talk.Conversation, How.DROP, dropped))
            case talk.Announce(event):
                announced.append(event)
            case talk.Within():
                within.append(change)
            case talk.Audited(line):
                writes.append(Write(work.AuditLine, How.CHAIN, {"line": line}))
            case _:
                assert_never(change)
    return Plan(tuple(writes), tuple(announced), limits, tuple(within))


# --- What each write does -----------------------------------------------------------

Only = Callable[[Any], sa.ColumnElement[bool]]
"""A condition more, given the row that comes."""


@dataclass(frozen=True, slots=True)
class Upsert:
    """`same` columns must be equal, or nothing is written: the owner, above all."""

    table: sa.Table
    mutable: tuple[str, ...]
    same: tuple[str, ...] = ("user_id",)
    only: tuple[Only, ...] = ()
    key: tuple[str, ...] = ("id",)


def _all_but(table: sa.Table, *fixed: str) -> tuple[str, ...]:
    return tuple(c.name for c in table.columns if c.name not in ("id", "created_at", *fixed))


# The conditions are written out, not bound: a parameter a row would be the dearest part of
# the write.


def _not_over(new: Any) -> sa.ColumnElement[bool]:
    """How a task ended does not change: of a cancel and a result, the first one counts."""
    table = db.delegated_tasks
    goes_on = sa.literal_column(f"{table.name}.status NOT IN {db.OVER}", sa.Boolean)
    return sa.or_(goes_on, table.c.status == new.status)


def _pending(table: sa.Table) -> Only:
    """Neither settled nor answered: a yes that comes after the no is none."""
    return lambda new: table.c.status == sa.literal_column("'pending'")


def _waiting(new: Any) -> sa.ColumnElement[bool]:
    """What was told stays told."""
    return db.reminders.c.status == sa.literal_column("'waiting'")


def _tried(new: Any) -> sa.ColumnElement[bool]:
    """What was sent or dropped stays so, and nothing is begun anew: two servers may both have
    noted it, and one of them tried."""
    pending = sa.literal_column("push_messages.status = 'pending'", sa.Boolean)
    further = sa.or_(
        new.status != sa.literal_column("'pending'"), new.attempts > db.push_messages.c.attempts
    )
    return sa.and_(pending, further)


def _pending_or_revoked(new: Any) -> sa.ColumnElement[bool]:
    """The first answer counts, and how far it goes can be taken back once."""
    table = db.approvals
    taken_back = sa.and_(
        table.c.status == new.status, table.c.revoked_at.is_(None), new.revoked_at.is_not(None)
    )
    return sa.or_(table.c.status == sa.literal_column("'pending'"), taken_back)


def _forward(new: Any) -> sa.ColumnElement[bool]:
    """A later revision; or the same one on its way from pending over accepted to retracted.

    A late answer to what was retracted since, or a pending one written twice, changes nothing.
    """
    undecided = sa.literal_column("intents.status IN ('pending', 'failed')", sa.Boolean)
    undone = sa.literal_column(
        "intents.status = 'accepted' AND excluded.status = 'retracted'", sa.Boolean
    )
    return sa.or_(
        new.revision > db.intents.c.revision,
        sa.and_(
            new.revision == db.intents.c.revision,
            new.status != db.intents.c.status,
            sa.or_(undecided, undone),
        ),
    )


TIMES = (
    *("trigger_type", "scheduled_at", "recurrence_rule"),
    *("recurs_from", "moved_from", "time_zone"),
)
"""What makes a to-do due."""
_PLACED = ("user_id", "conversation_id")
_BEGUN = ("voice_session_id", "call_id", "description", "role")
_KEPT = ("title", "summary", "gist", "extracted_intent", "intent_payload")
_END = ("status", "ended_at", "end_reason", "duration_ms")
HELD = ("owner", "epoch")
"""Whose a row is. Stamped when it comes to be, and moved by a claim (`leases`), never by what
somebody writes of it."""

# In the order of foreign keys.
UPSERTS: dict[type, Upsert] = {
    talk.Conversation: Upsert(
        db.conversations, ("context_type", *_KEPT, "metadata", "updated_at", "ended_at")
    ),
    talk.VoiceSession: Upsert(
        db.voice_sessions, _all_but(db.voice_sessions, *_PLACED, "role", *HELD), same=_PLACED
    ),
    talk.Entry: Upsert(db.messages, ("content", "metadata"), same=(*_PLACED, "role")),
    talk.ToolCall: Upsert(
        db.tool_calls,
        ("status", "output", "error", "truncated", "progress", "finished_at", "duration_ms"),
        key=("user_id", "id"),
    ),
    talk.Snapshot: Upsert(db.snapshots, ("saved_at", "data"), key=("session_id",)),
    talk.Recording: Upsert(db.recordings, ("saved_at", "data"), key=("session_id", "number")),
    work.Task: Upsert(
        db.delegated_tasks,
        _all_but(db.delegated_tasks, *_PLACED, *_BEGUN, *HELD),
        only=(_not_over,),
    ),
    work.Approval: Upsert(
        db.approvals,
        ("status", "resolved_at", "resolved_by", "words", "reach", "revoked_at"),
        only=(_pending_or_revoked,),
    ),
    people.Person: Upsert(db.users, _all_but(db.users), same=("id",)),
    # Where a plan began stays so: its conversation may have gone since.
    people.Goal: Upsert(db.goals, _all_but(db.goals, *_PLACED)),
    people.Milestone: Upsert(
        db.milestones, _all_but(db.milestones, "user_id", "goal_id"), same=("user_id", "goal_id")
    ),
    people.Todo: Upsert(db.tasks, _all_but(db.tasks, *_PLACED)),
    people.Reminder: Upsert(
        db.reminders, ("status", "told_at"), same=("user_id", "task_id"), only=(_waiting,)
    ),
    people.Intent: Upsert(
        db.intents,
        (
            *("payload", "status", "evidence", "revision", "goal_id", "task_id"),
            *("error", "previous", "updated_at"),
        ),
        same=_PLACED,
        only=(_forward,),
    ),
    people.Delivery: Upsert(
        db.outbox,
        ("status", "attempts", "last_error", "answer", "due_at", "updated_at"),
        same=("user_id", "intent_id"),
        only=(_pending(db.outbox),),
    ),
    people.AccessToken: Upsert(
        db.access_tokens,
        ("digest", "role", "created_at", "expires_at", "revoked_at"),
        same=("name",),
        key=("name",),
    ),
    # Made once: nobody writes to one that is there.
    reach.OneTimeKey: Upsert(db.one_time_keys, ("expires_at",), key=("digest",)),
    reach.PushSubscription: Upsert(
        db.push_subscriptions,
        ("endpoint", "p256dh", "auth", "device", "role", "token", "updated_at"),
    ),
    reach.PushMessage: Upsert(
        db.push_messages,
        ("status", "attempts", "due_at", "last_error", "data", "updated_at"),
        same=("user_id", "subscription_id"),
        only=(_tried,),
    ),
}
_RANK = {kind: rank for rank, kind in enumerate(UPSERTS)}


def writes_for(dialect: str) -> dict[tuple[type, How], sa.Insert]:
    """The writes in the words of one database."""
    make = inserter(dialect)

    def upsert(given: Upsert) -> sa.Insert:
        """Update only what may change, and only in the row of the same owner."""
        statement = make(given.table)
        new = statement.excluded
        kept = [given.table.c[name] == new[name] for name in given.same]
        kept += [only(new) for only in given.only]
        if given.table is db.messages:  # a call does not become a result
            kept.append(_kind(db.messages.c, dialect).is_not_distinct_from(_kind(new, dialect)))
        values = {name: _value(given.table, new, name) for name in given.mutable}
        result: sa.Insert = statement.on_conflict_do_update(
            index_elements=given.key, set_=values, where=sa.and_(*kept)
        )
        return result

    absent = make(db.messages).on_conflict_do_nothing(index_elements=["id"])
    new = make(db.voice_sessions).on_conflict_do_nothing().returning(db.voice_sessions.c.id)
    return {(kind, How.WHOLE): upsert(given) for kind, given in UPSERTS.items()} | {
        (talk.VoiceSession, How.NEW): new,
        (talk.Entry, How.IF_ABSENT): absent,
    }


def inserter(dialect: str) -> Any:
    if dialect == "postgresql":
        from sqlalchemy.dialects import postgresql  # slow to import, and seldom needed

        return postgresql.insert
    return sqlite.insert


def _value(table: sa.Table, new: Any, name: str) -> Any:
    if table is db.conversations and name in _KEPT:
        # Whoever writes without knowing a title does not take it away.
        return sa.func.coalesce(new[name], table.c[name])
    if table is db.voice_sessions and name in _END:
        # How it ended does not change: whoever still writes then does not know it yet.
        goes_on = table.c.status == sa.literal_column("'active'")
        return sa.case((goes_on, new[name]), else_=table.c[name])
    if table is db.tasks and name == "noted_until":
        # At the same times as before, nothing is due anew.
        same = (table.c[time].is_not_distinct_from(new[time]) for time in TIMES)
        return sa.case((sa.and_(*same), table.c[name]), else_=new[name])
    if table is db.delegated_tasks and name == "asked_at":  # its words are known since
        return sa.func.coalesce(new[name], table.c[name])
    if name == "told_at":  # once, and by the first who did
        return sa.func.coalesce(table.c[name], new[name])
    return new[name]


def _kind(columns: Any, dialect: str) -> Any:
    if dialect == "postgresql":
        return columns.metadata.op("->>")(sa.literal_column(f"'{KIND_KEY}'"))
    return sa.func.json_extract(columns.metadata, sa.literal_column(f"'$.{KIND_KEY}'"))


def settling(row: Fields) -> sa.Update:
    """The answer to an approval, where nobody gave one before."""
    given = UPSERTS[work.Approval]
    values = {name: row[name] for name in given.mutable}
    mine = (db.approvals.c.id == row["id"], db.approvals.c.user_id == row["user_id"])
    waits = db.approvals.c.status == "pending"
    return sa.update(db.approvals).where(*mine, waits).values(values)


def fields_of(dialect: str, kind: type, row: Fields, only: Iterable[str]) -> sa.Insert | sa.Update:
    """What two processes change at once, each a field, is both changed; and what was done
    meanwhile by voice to the rest of a plan stays."""
    table = UPSERTS[kind].table
    names = [name for name in (*only, "updated_at") if name in table.c]
    if kind is people.Todo:
        names += ["look_at", *(["noted_until"] if {*only} & {*TIMES} else [])]
    if kind is people.Person:
        statement = inserter(dialect)(table).values(row)
        values = {name: statement.excluded[name] for name in names}
        result: sa.Insert = statement.on_conflict_do_update(index_elements=["id"], set_=values)
        return result
    mine = (table.c.id == row["id"], table.c.user_id == row["user_id"])
    return sa.update(table).where(*mine).values({name: row[name] for name in names})
