"""Records to rows and back. Nobody else knows how a record lies in its table.

A field is in the column of its name, and its type and the column's say how it gets there.
Only what differs from that is written out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from datetime import datetime, timedelta
from enum import Enum
from operator import attrgetter
from typing import Any, Generic, TypeVar, get_origin, get_type_hints

from sqlalchemy import Row, Table

from vivavoce.errors import InvalidRequest
from vivavoce.store import schema as db
from vivavoce.store.columns import Id, NotUuid, canonical_uuid, to_json
from vivavoce.wire.records.plans import (
    AccessToken,
    Delivery,
    Goal,
    Intent,
    Milestone,
    Person,
    Reminder,
    Todo,
)
from vivavoce.wire.records.reach import OneTimeKey, PushMessage, PushSubscription
from vivavoce.wire.records.talk import (
    Conversation,
    Entry,
    Kind,
    LogEvent,
    Recording,
    Snapshot,
    ToolCall,
    VoiceSession,
)
from vivavoce.wire.records.work import Approval, AuditEnds, AuditLine, Question, Task

Fields = dict[str, Any]
R = TypeVar("R")

# Where a `function` message keeps whether it was a call or a result.
KIND_KEY = "entry_kind"
# Where a message keeps that its words are ours, for what nobody could make out (seed 004 §5.9).
INAUDIBLE_KEY = "inaudible"
INAUDIBLE = "[inaudible]"


_ROWS: dict[type, Rows[Any]] = {}


class Rows(Generic[R]):
    """One kind of record and its table.

    `fill` puts what is more than the fields into a row, `read` gives the fields that are
    made of more than their column.
    """

    def __init__(
        self,
        kind: type[R],
        table: Table,
        /,
        *,
        fill: Callable[[R, Fields], None] | None = None,
        read: Callable[[Row[Any]], Fields] | None = None,
        **renamed: str,
    ) -> None:
        hints = get_type_hints(kind)
        self.kind, self.table = kind, table
        self._fields = [field.name for field in fields(kind)]  # type: ignore[arg-type]
        self._columns = [renamed.get(name, name) for name in self._fields]
        self._values = attrgetter(*self._fields)
        pairs = list(zip(self._fields, self._columns, strict=True))
        there = [(column, _to_column(hints[name], table, column)) for name, column in pairs]
        back = [(name, _to_field(hints[name])) for name in self._fields]
        self._there = [(column, change) for column, change in there if change is not None]
        self._back = [(name, change) for name, change in back if change is not None]
        self._fill, self._read = fill, read
        _ROWS[kind] = self

    def row(self, record: R) -> Fields:
        row = dict(zip(self._columns, self._values(record), strict=True))
        for column, change in self._there:
            row[column] = change(row[column])
        if self._fill is not None:
            self._fill(record, row)
        return row

    def record(self, row: Row[Any]) -> R:
        read = {} if self._read is None else self._read(row)
        found = row._mapping
        pairs = zip(self._fields, self._columns, strict=True)
        given = {name: found[column] for name, column in pairs}
        for name, change in self._back:
            if name not in read:
                given[name] = change(given[name])
        return self.kind(**given | read)


def _to_column(hint: Any, table: Table, column: str) -> Callable[[Any], Any] | None:
    if column in table.c and isinstance(table.c[column].type, Id):
        return named
    if isinstance(hint, type) and issubclass(hint, Enum):
        return attrgetter("value")  # drivers have ideas of their own about enums
    if hint is bytes:
        return lambda value: value.decode(errors="replace")
    return None


def _to_field(hint: Any) -> Callable[[Any], Any] | None:
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint
    if get_origin(hint) is tuple:
        return tuple
    return str.encode if hint is bytes else None


def named(text: str | None) -> str | None:
    """The one spelling of a UUID."""
    try:
        return None if text is None else canonical_uuid(text)
    except NotUuid:
        told = "Conversations, entries, goals and tasks are named by UUIDs."
        raise InvalidRequest(told) from None


def row_of(record: object) -> Fields:
    """Of any kind of record that is kept."""
    return _ROWS[type(record)].row(record)


# --- What differs -------------------------------------------------------------------


def _active(record: Conversation, row: Fields) -> None:
    row["last_activity_at"] = record.created_at


def _lasted(record: VoiceSession, row: Fields) -> None:
    row["duration_ms"] = record.ended_at and _milliseconds(record.created_at, record.ended_at)


def _milliseconds(start: datetime, end: datetime) -> int:
    return max(0, round((end - start).total_seconds() * 1000))


def _message(record: Entry, row: Fields) -> None:
    """Tool calls and results are `function` messages (seed 004 §8) that know what they were.

    So does speech that nobody could make out; to us it comes back without words.
    """
    if record.spoken and not record.text:
        row["content"], row["metadata"] = INAUDIBLE, {**record.data, INAUDIBLE_KEY: True}
    if record.kind in (Kind.TOOL_CALL, Kind.TOOL_RESULT):
        row["role"], row["metadata"] = "function", {**record.data, KIND_KEY: record.kind.value}


def _said(row: Row[Any]) -> Fields:
    kind, text, data = row.role, row.content, row._mapping["metadata"]
    if kind == "function":
        kind = data.pop(KIND_KEY, Kind.TOOL_RESULT)
    if text == INAUDIBLE and data.pop(INAUDIBLE_KEY, False):
        text = ""
    return {"kind": Kind(kind), "text": text}


def _asking(record: Task, row: Fields) -> None:
    """The question it waits for is in three columns, all NULL where there is none; when it asked
    stays."""
    asked = record.question
    row["question_id"] = asked and asked.id
    row["question"] = asked and asked.text
    row["choices"] = asked and asked.choices
    row["asked_at"] = asked.asked_at if asked else record.asked_at


def _asked(row: Row[Any]) -> Fields:
    if row.question_id is None:
        return {"question": None}
    words, choices = row.question, tuple(row.choices)
    asked = Question(id=row.question_id, text=words, choices=choices, asked_at=row.asked_at)
    return {"question": asked}


def _recorded(row: Row[Any]) -> Fields:
    lines = row.data if isinstance(row.data, list) else [row.data]  # one, as they were at first
    return {"data": "\n".join(map(to_json, lines)).encode()}


ANEW = timedelta(minutes=1)
"""Who says at half a minute past five "at five" may still mean now."""


def _to_look_at(record: Todo, row: Fields) -> None:
    """Written is to be looked at: it may be due at another time. What was due before it was said
    is no reminder."""
    row["look_at"] = record.updated_at
    row["noted_until"] = record.updated_at - ANEW


# --- Every kind ---------------------------------------------------------------------

CONVERSATIONS = Rows(Conversation, db.conversations, fill=_active)
SESSIONS = Rows(VoiceSession, db.voice_sessions, fill=_lasted)
ENTRIES = Rows(
    Entry,
    db.messages,
    fill=_message,
    read=_said,
    kind="role",
    text="content",
    modality="input_modality",
    data="metadata",
    session_id="voice_session_id",
)
CALLS = Rows(ToolCall, db.tool_calls, session_id="voice_session_id")
SNAPSHOTS = Rows(Snapshot, db.snapshots)
RECORDINGS = Rows(Recording, db.recordings, read=_recorded)
EVENTS = Rows(LogEvent, db.events, session_id="voice_session_id", at="created_at")
TASKS = Rows(Task, db.delegated_tasks, fill=_asking, read=_asked, session_id="voice_session_id")
APPROVALS = Rows(Approval, db.approvals, session_id="voice_session_id")
AUDIT = Rows(AuditLine, db.audit)
AUDIT_ENDS = Rows(AuditEnds, db.audit_head)
PEOPLE = Rows(Person, db.users)
GOALS = Rows(Goal, db.goals)
MILESTONES = Rows(Milestone, db.milestones)
TODOS = Rows(Todo, db.tasks, fill=_to_look_at)
REMINDERS = Rows(Reminder, db.reminders)
INTENTS = Rows(Intent, db.intents, session_id="voice_session_id")
DELIVERIES = Rows(Delivery, db.outbox)
TOKENS = Rows(AccessToken, db.access_tokens)
KEYS = Rows(OneTimeKey, db.one_time_keys)
PUSH_SUBSCRIPTIONS = Rows(PushSubscription, db.push_subscriptions)
PUSH_MESSAGES = Rows(PushMessage, db.push_messages)
