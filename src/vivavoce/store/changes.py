"""Changes as the writes of a transaction: `plan`, and what each write does.

A record is written as often as it changes: each write is an upsert. What may change in a
row, and by whom, stands here. The databases differ only in who makes the INSERT: both
speak ON CONFLICT.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, assert_never

from sqlalchemy import (
    Boolean,
    ColumnElement,
    Insert,
    Table,
    Update,
    and_,
    case,
    func,
    literal_column,
    or_,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite

from vivavoce.store.rows import KIND_KEY, Fields, named, row_of
from vivavoce.store.schema import (
    OVER,
    approvals,
    conversations,
    delegated_tasks,
    goals,
    intents,
    messages,
    milestones,
    outbox,
    snapshots,
    tasks,
    tool_calls,
    users,
    voice_sessions,
)
from vivavoce.wire.records.plans import (
    Delivery,
    Goal,
    Intent,
    Milestone,
    Person,
    SessionLimits,
    Todo,
)
from vivavoce.wire.records.talk import (
    Announce,
    Change,
    DropConversation,
    DropMilestone,
    LogEvent,
    Put,
    PutConversation,
    PutEntry,
    PutSession,
    Record,
    Snapshot,
    ToolCall,
)
from vivavoce.wire.records.work import Approval, Task


class Write(StrEnum):
    CONVERSATION = "conversation"
    NEW_SESSION = "new_session"
    SESSION = "session"
    ENTRY = "entry"
    ENTRY_IF_ABSENT = "entry_if_absent"
    TOOL_CALL = "tool_call"
    SNAPSHOT = "snapshot"
    TASK = "task"
    APPROVAL = "approval"
    PERSON = "person"
    PERSON_FIELDS = "person_fields"
    GOAL = "goal"
    GOAL_FIELDS = "goal_fields"
    MILESTONE = "milestone"
    MILESTONE_FIELDS = "milestone_fields"
    DROP_MILESTONE = "drop_milestone"
    TODO = "todo"
    TODO_FIELDS = "todo_fields"
    INTENT = "intent"
    DELIVERY = "delivery"
    LINK = "link"
    DROP_CONVERSATION = "drop_conversation"


# The order of foreign keys, one table after another; writes of one table keep theirs.
_ORDER = (
    (Write.CONVERSATION,),
    (Write.NEW_SESSION, Write.SESSION),
    (Write.ENTRY, Write.ENTRY_IF_ABSENT),
    (Write.TOOL_CALL,),
    (Write.SNAPSHOT,),
    (Write.TASK,),
    (Write.APPROVAL,),
    (Write.PERSON, Write.PERSON_FIELDS),
    (Write.GOAL, Write.GOAL_FIELDS),
    (Write.MILESTONE, Write.MILESTONE_FIELDS, Write.DROP_MILESTONE),
    (Write.TODO, Write.TODO_FIELDS),
    (Write.INTENT,),
    (Write.DELIVERY,),
    # A goal is of a conversation that links to it: first both, then the link.
    (Write.LINK,),
    (Write.DROP_CONVERSATION,),
)
_WRITES: dict[type[Record], Write] = {
    ToolCall: Write.TOOL_CALL,
    Snapshot: Write.SNAPSHOT,
    Task: Write.TASK,
    Approval: Write.APPROVAL,
    Person: Write.PERSON,
    Goal: Write.GOAL,
    Milestone: Write.MILESTONE,
    Todo: Write.TODO,
    Intent: Write.INTENT,
    Delivery: Write.DELIVERY,
}
RANK = {write: rank for rank, writes in enumerate(_ORDER) for write in writes}

# --- The plan -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Plan:
    """The writes of one submission, in their order, and what it announces."""

    writes: tuple[tuple[Write, Fields], ...]
    events: tuple[LogEvent, ...]
    limits: Mapping[str, SessionLimits] = field(default_factory=dict)
    """What the new sessions, by their ids, are held to."""


def plan(changes: Sequence[Change]) -> Plan:
    """Made where the caller is, so that what cannot be stored fails there and alone."""
    writes: list[tuple[Write, Fields]] = []
    announced: list[LogEvent] = []
    limits: dict[str, SessionLimits] = {}
    for change in changes:
        match change:
            case PutConversation(conversation):
                row = row_of(conversation)
                goal, task = row.pop("linked_goal_id"), row.pop("linked_task_id")
                writes.append((Write.CONVERSATION, row))
                if goal or task:  # None as a link leaves what is there
                    ends = {"of": row["id"], "owner": row["user_id"], "goal": goal, "task": task}
                    writes.append((Write.LINK, ends))
            case PutSession(session, new, held_to):
                writes.append((Write.NEW_SESSION if new else Write.SESSION, row_of(session)))
                if new and held_to is not None:
                    limits[session.id] = held_to
            case PutEntry(entry, replace):
                kind = Write.ENTRY if replace else Write.ENTRY_IF_ABSENT
                writes.append((kind, row_of(entry)))
            case Put(record, only):
                row, kind = row_of(record), _WRITES[type(record)]
                some = {"row": row, "only": only}
                writes.append((Write(f"{kind}_fields"), some) if only else (kind, row))
            case DropMilestone(milestone_id):
                writes.append((Write.DROP_MILESTONE, {"dropped": milestone_id}))
            case DropConversation(conversation_id, user_id):
                dropped = {"id": named(conversation_id), "user_id": user_id}
                writes.append((Write.DROP_CONVERSATION, dropped))
            case Announce(event):
                announced.append(event)
            case _:
                assert_never(change)
    return Plan(tuple(writes), tuple(announced), limits)


# --- What each write does -----------------------------------------------------------

Only = Callable[[Any], ColumnElement[bool]]
"""A condition more, given the row that comes."""


@dataclass(frozen=True, slots=True)
class Upsert:
    """`same` columns must be equal, or nothing is written: the owner, above all."""

    table: Table
    mutable: tuple[str, ...]
    same: tuple[str, ...] = ("user_id",)
    only: tuple[Only, ...] = ()
    key: tuple[str, ...] = ("id",)


def _all_but(table: Table, *fixed: str) -> tuple[str, ...]:
    return tuple(c.name for c in table.columns if c.name not in ("id", "created_at", *fixed))


# The conditions are written out, not bound: a parameter a row would be the dearest part of
# the write.


def _not_over(new: Any) -> ColumnElement[bool]:
    """How a task ended does not change: of a cancel and a result, the first one counts."""
    table = delegated_tasks
    goes_on = literal_column(f"{table.name}.status NOT IN {OVER}", Boolean)
    return or_(goes_on, table.c.status == new.status)


def _not_settled(new: Any) -> ColumnElement[bool]:
    """A yes that comes after the no is none."""
    return approvals.c.status == literal_column("'pending'")


def _not_answered(new: Any) -> ColumnElement[bool]:
    return outbox.c.status == literal_column("'pending'")


def _forward(new: Any) -> ColumnElement[bool]:
    """A later revision; or the same one on its way from pending over accepted to retracted.

    A late answer to what was retracted since, or a pending one written twice, changes nothing.
    """
    undecided = literal_column("intents.status IN ('pending', 'failed')", Boolean)
    undone = literal_column(
        "intents.status = 'accepted' AND excluded.status = 'retracted'", Boolean
    )
    return or_(
        new.revision > intents.c.revision,
        and_(
            new.revision == intents.c.revision,
            new.status != intents.c.status,
            or_(undecided, undone),
        ),
    )


_PLACED = ("user_id", "conversation_id")
_KEPT = ("title", "summary", "extracted_intent", "intent_payload")
_END = ("status", "ended_at", "end_reason", "duration_ms")

UPSERTS = {
    Write.CONVERSATION: Upsert(
        conversations, ("context_type", *_KEPT, "metadata", "updated_at", "ended_at")
    ),
    Write.SESSION: Upsert(
        voice_sessions, _all_but(voice_sessions, "user_id", "conversation_id"), same=_PLACED
    ),
    Write.ENTRY: Upsert(messages, ("content", "metadata"), same=(*_PLACED, "role")),
    Write.TOOL_CALL: Upsert(
        tool_calls,
        ("status", "output", "error", "truncated", "progress", "finished_at", "duration_ms"),
        key=("user_id", "id"),
    ),
    Write.SNAPSHOT: Upsert(snapshots, ("saved_at", "data"), key=("session_id",)),
    Write.TASK: Upsert(
        delegated_tasks,
        _all_but(delegated_tasks, *_PLACED, "voice_session_id", "call_id", "description"),
        only=(_not_over,),
    ),
    Write.APPROVAL: Upsert(
        approvals, ("status", "resolved_at", "resolved_by", "words"), only=(_not_settled,)
    ),
    Write.PERSON: Upsert(users, _all_but(users), same=("id",)),
    # Where a plan began stays so: its conversation may have gone since.
    Write.GOAL: Upsert(goals, _all_but(goals, *_PLACED)),
    Write.MILESTONE: Upsert(
        milestones, _all_but(milestones, "user_id", "goal_id"), same=("user_id", "goal_id")
    ),
    Write.TODO: Upsert(tasks, _all_but(tasks, *_PLACED)),
    Write.INTENT: Upsert(
        intents,
        (
            *("payload", "status", "evidence", "revision", "goal_id", "task_id"),
            *("error", "previous", "updated_at"),
        ),
        same=_PLACED,
        only=(_forward,),
    ),
    Write.DELIVERY: Upsert(
        outbox,
        ("status", "attempts", "last_error", "answer", "due_at", "updated_at"),
        same=("user_id", "intent_id"),
        only=(_not_answered,),
    ),
}


def writes_for(dialect: str) -> dict[Write, Insert]:
    """The writes in the words of one database."""
    make = inserter(dialect)

    def upsert(given: Upsert) -> Insert:
        """Update only what may change, and only in the row of the same owner."""
        statement = make(given.table)
        new = statement.excluded
        kept = [given.table.c[name] == new[name] for name in given.same]
        kept += [only(new) for only in given.only]
        if given.table is messages:  # a call does not become a result
            kept.append(_kind(messages.c, dialect).is_not_distinct_from(_kind(new, dialect)))
        values = {name: _value(given.table, new, name) for name in given.mutable}
        result: Insert = statement.on_conflict_do_update(
            index_elements=given.key, set_=values, where=and_(*kept)
        )
        return result

    return {kind: upsert(given) for kind, given in UPSERTS.items()} | {
        Write.NEW_SESSION: make(voice_sessions)
        .on_conflict_do_nothing()
        .returning(voice_sessions.c.id),
        Write.ENTRY_IF_ABSENT: make(messages).on_conflict_do_nothing(index_elements=["id"]),
    }


def inserter(dialect: str) -> Any:
    return postgresql.insert if dialect == "postgresql" else sqlite.insert


def _value(table: Table, new: Any, name: str) -> Any:
    if table is conversations and name in _KEPT:
        # Whoever writes without knowing a title does not take it away.
        return func.coalesce(new[name], table.c[name])
    if table is voice_sessions and name in _END:
        # How it ended does not change: whoever still writes then does not know it yet.
        goes_on = table.c.status == literal_column("'active'")
        return case((goes_on, new[name]), else_=table.c[name])
    if name == "told_at":  # once, and by the first who did
        return func.coalesce(table.c[name], new[name])
    return new[name]


def _kind(columns: Any, dialect: str) -> Any:
    if dialect == "postgresql":
        return columns.metadata.op("->>")(literal_column(f"'{KIND_KEY}'"))
    return func.json_extract(columns.metadata, literal_column(f"'$.{KIND_KEY}'"))


def person_fields(dialect: str, only: Iterable[str]) -> Insert:
    """What two processes change at once, each a field, is both changed."""
    statement = inserter(dialect)(users)
    values = {name: statement.excluded[name] for name in (*only, "updated_at")}
    result: Insert = statement.on_conflict_do_update(index_elements=["id"], set_=values)
    return result


def fields_of(kind: Write, row: Fields, only: Iterable[str]) -> Update:
    """What was done meanwhile by voice to the rest of a plan stays."""
    table = UPSERTS[Write(kind.removesuffix("_fields"))].table
    names = [name for name in (*only, "updated_at") if name in table.c]
    mine = (table.c.id == row["id"], table.c.user_id == row["user_id"])
    return update(table).where(*mine).values({name: row[name] for name in names})
