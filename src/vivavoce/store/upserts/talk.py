"""The writes of a plan. A record is written as often as it changes: each is an upsert.

What may change in a row, and by whom, stands here. The databases differ only in
who makes the INSERT: both speak ON CONFLICT.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Any

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

from vivavoce.store.rows import Fields
from vivavoce.store.schema.plans import users
from vivavoce.store.schema.talk import (
    conversations,
    messages,
    snapshots,
    tool_calls,
    voice_sessions,
)
from vivavoce.store.schema.work import approvals, delegated_tasks
from vivavoce.store.upserts.plans import AGENDA, Only

# Where a `function` message keeps whether it was a call or a result.
KIND_KEY = "entry_kind"
# Where a message keeps that its words are ours, for what nobody could make out.
INAUDIBLE_KEY = "inaudible"


class Write(StrEnum):
    """The writes of a plan; the order is that of foreign keys, one table after another."""

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


RANK = {
    Write.CONVERSATION: 0,
    Write.NEW_SESSION: 1,
    Write.SESSION: 1,
    Write.ENTRY: 2,
    Write.ENTRY_IF_ABSENT: 2,
    Write.TOOL_CALL: 3,
    Write.SNAPSHOT: 4,
    Write.TASK: 5,
    Write.APPROVAL: 6,
    Write.PERSON: 7,
    Write.PERSON_FIELDS: 7,
    Write.GOAL: 8,
    Write.GOAL_FIELDS: 8,
    Write.MILESTONE: 9,
    Write.MILESTONE_FIELDS: 9,
    Write.DROP_MILESTONE: 9,
    Write.TODO: 10,
    Write.TODO_FIELDS: 10,
    Write.INTENT: 11,
    Write.DELIVERY: 12,
    # A goal is of a conversation that links to it: first both, then the link.
    Write.LINK: 13,
    Write.DROP_CONVERSATION: 14,
}

_KEPT = ("title", "summary", "extracted_intent", "intent_payload")
_CONVERSATION = ("context_type", *_KEPT, "metadata", "updated_at", "ended_at")
_SESSION = ("agent", "status", "model", "voice", "call_id", "updated_at", "ended_at", "duration_ms")
_END = ("status", "ended_at", "end_reason", "duration_ms")
_OUTCOME = ("status", "output", "error", "truncated", "progress", "finished_at", "duration_ms")
_USAGE = ("end_reason", "input_tokens", "output_tokens", "cost_micros", "counted", "metadata")

_ASKED = ("question_id", "question", "choices", "asked_at")
_ENDED = ("result", "files_changed", "error", "tried", "suggestions", "finished_at", "told_at")
_TASK = (
    *("title", "agent", "backend", "status", "phase", "progress", "percentage", "updated_at"),
    *_ASKED,
    *_ENDED,
)
_APPROVAL = ("status", "resolved_at", "resolved_by", "words")


def person_fields(dialect: str, only: Iterable[str]) -> Insert:
    """What two processes change at once, each a field, is both changed."""
    statement = (postgresql.insert if dialect == "postgresql" else sqlite.insert)(users)
    values = {name: statement.excluded[name] for name in (*only, "updated_at")}
    return statement.on_conflict_do_update(index_elements=["id"], set_=values)


def fields_of(kind: Write, row: Fields, only: Iterable[str]) -> Update:
    """What was done meanwhile by voice to the rest of a plan stays."""
    table = AGENDA[kind.removesuffix("_fields")].table
    names = [name for name in (*only, "updated_at") if name in table.c]
    mine = (table.c.id == row["id"], table.c.user_id == row["user_id"])
    return update(table).where(*mine).values({name: row[name] for name in names})


def writes_for(dialect: str) -> dict[Write, Insert]:
    """The writes in the words of one database."""
    make: Any = postgresql.insert if dialect == "postgresql" else sqlite.insert

    def upsert(
        table: Table, key: list[str], mutable: Iterable[str], same: Iterable[str], *only: Only
    ) -> Insert:
        """Update only what may change, and only in the row of the same owner."""
        statement = make(table)
        new = statement.excluded
        kept = [table.c[name] == new[name] for name in same] + [each(new) for each in only]
        values = {name: _value(table, new, name) for name in mutable}
        result: Insert = statement.on_conflict_do_update(
            index_elements=key, set_=values, where=and_(*kept)
        )
        return result

    def same_kind(new: Any) -> ColumnElement[bool]:  # a call does not become a result
        found: ColumnElement[bool] = _kind(messages.c, dialect).is_not_distinct_from(
            _kind(new, dialect)
        )
        return found

    owned = ("user_id",)
    placed = ("user_id", "conversation_id")
    return {
        Write.CONVERSATION: upsert(conversations, ["id"], _CONVERSATION, owned),
        Write.NEW_SESSION: make(voice_sessions)
        .on_conflict_do_nothing()
        .returning(voice_sessions.c.id),
        Write.SESSION: upsert(voice_sessions, ["id"], (*_SESSION, *_USAGE), placed),
        Write.ENTRY: upsert(
            messages, ["id"], ("content", "metadata"), (*placed, "role"), same_kind
        ),
        Write.ENTRY_IF_ABSENT: make(messages).on_conflict_do_nothing(index_elements=["id"]),
        Write.TOOL_CALL: upsert(tool_calls, ["user_id", "id"], _OUTCOME, owned),
        Write.SNAPSHOT: upsert(snapshots, ["session_id"], ("saved_at", "data"), owned),
        Write.TASK: upsert(delegated_tasks, ["id"], _TASK, owned, _not_over),
        Write.APPROVAL: upsert(approvals, ["id"], _APPROVAL, owned, _not_settled),
    } | {
        Write(name): upsert(each.table, ["id"], each.mutable, each.same, *each.only)
        for name, each in AGENDA.items()
    }


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


# Written out, not bound: a parameter a row would be the dearest part of the write.


def _not_over(new: Any) -> ColumnElement[bool]:
    """How a task ended does not change: of a cancel and a result, the first one counts."""
    table = delegated_tasks
    over = "('completed', 'failed', 'cancelled')"
    goes_on = literal_column(f"{table.name}.status NOT IN {over}", Boolean)
    return or_(goes_on, table.c.status == new.status)


def _not_settled(new: Any) -> ColumnElement[bool]:
    """A yes that comes after the no is none."""
    return approvals.c.status == literal_column("'pending'")


def _kind(columns: Any, dialect: str) -> Any:
    if dialect == "postgresql":
        return columns.metadata.op("->>")(literal_column(f"'{KIND_KEY}'"))
    return func.json_extract(columns.metadata, literal_column(f"'$.{KIND_KEY}'"))
