"""Records to rows and back. Nobody else knows how a record lies in its table.

`plan` turns changes into the writes of one transaction; it runs where the
caller is, so that what cannot be stored fails there and alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, assert_never

from sqlalchemy import Row

from vivavoce.runtime.ports import LogBounds
from vivavoce.store.clean import INAUDIBLE, told
from vivavoce.store.codec import plans as agenda
from vivavoce.store.codec.work import approval_row, task_row
from vivavoce.store.rows import Columns, Fields, named, named_or_none
from vivavoce.store.upserts.talk import INAUDIBLE_KEY, KIND_KEY, Write
from vivavoce.wire.records.plans import SessionLimits
from vivavoce.wire.records.talk import (
    Announce,
    CallStatus,
    Change,
    Conversation,
    DropConversation,
    DropMilestone,
    Entry,
    Kind,
    LogEvent,
    PutApproval,
    PutConversation,
    PutDelivery,
    PutEntry,
    PutGoal,
    PutIntent,
    PutMilestone,
    PutPerson,
    PutSession,
    PutSnapshot,
    PutTask,
    PutTodo,
    PutToolCall,
    SessionSummary,
    Snapshot,
    Status,
    ToolCall,
    ToolStats,
    VoiceSession,
)


@dataclass(frozen=True, slots=True)
class Plan:
    """The writes of one submission, in their order, and what it announces."""

    writes: tuple[tuple[Write, Fields], ...]
    events: tuple[LogEvent, ...]
    limits: Mapping[str, SessionLimits] = field(default_factory=dict)
    """What the new sessions, by their ids, are held to."""


def plan(changes: Sequence[Change]) -> Plan:
    writes: list[tuple[Write, Fields]] = []
    announced: list[LogEvent] = []
    limits: dict[str, SessionLimits] = {}
    for change in changes:
        match change:
            case PutConversation(conversation):
                writes.append((Write.CONVERSATION, conversation_row(conversation)))
                writes += [(Write.LINK, row) for row in link_rows(conversation)]
            case PutSession(session, new, held_to):
                kind = Write.NEW_SESSION if new else Write.SESSION
                writes.append((kind, session_row(session)))
                if new and held_to is not None:
                    limits[session.id] = held_to
            case PutEntry(entry, replace):
                kind = Write.ENTRY if replace else Write.ENTRY_IF_ABSENT
                writes.append((kind, entry_row(entry)))
            case PutToolCall(call):
                writes.append((Write.TOOL_CALL, call_row(call)))
            case PutSnapshot(snapshot):
                writes.append((Write.SNAPSHOT, snapshot_row(snapshot)))
            case PutTask(task):
                writes.append((Write.TASK, task_row(task)))
            case PutApproval(approval):
                writes.append((Write.APPROVAL, approval_row(approval)))
            case PutPerson(person, ()):
                writes.append((Write.PERSON, agenda.person_row(person)))
            case PutPerson(person, only):
                writes.append(_some(Write.PERSON_FIELDS, agenda.person_row(person), only))
            case PutGoal(goal, only):
                row = agenda.goal_row(goal)
                writes.append(_some(Write.GOAL_FIELDS, row, only) if only else (Write.GOAL, row))
            case PutMilestone(milestone, only):
                row = agenda.milestone_row(milestone)
                kind = Write.MILESTONE
                writes.append(_some(Write.MILESTONE_FIELDS, row, only) if only else (kind, row))
            case DropMilestone(milestone_id):
                writes.append((Write.DROP_MILESTONE, {"dropped": milestone_id}))
            case PutTodo(todo, only):
                row = agenda.todo_row(todo)
                writes.append(_some(Write.TODO_FIELDS, row, only) if only else (Write.TODO, row))
            case PutIntent(intent):
                writes.append((Write.INTENT, agenda.intent_row(intent)))
            case PutDelivery(delivery):
                writes.append((Write.DELIVERY, agenda.delivery_row(delivery)))
            case DropConversation(conversation_id, user_id):
                dropped = {"id": named(conversation_id), "user_id": user_id}
                writes.append((Write.DROP_CONVERSATION, dropped))
            case Announce(event):
                announced.append(event)
            case _:
                assert_never(change)
    return Plan(tuple(writes), tuple(announced), limits)


def _some(kind: Write, row: Fields, only: tuple[str, ...]) -> tuple[Write, Fields]:
    return kind, {"row": row, "only": only}


# --- Columns --------------------------------------------------------------------

_CONVERSATIONS = Columns(Conversation)
_SESSIONS = Columns(VoiceSession)
_ENTRIES = Columns(
    Entry,
    kind="role",
    text="content",
    modality="input_modality",
    data="metadata",
    session_id="voice_session_id",
)
_CALLS = Columns(ToolCall, session_id="voice_session_id")
_SNAPSHOTS = Columns(Snapshot)
_EVENTS = Columns(LogEvent, session_id="voice_session_id", at="created_at")


# --- Records to rows ------------------------------------------------------------


def _milliseconds(start: datetime, end: datetime | None) -> int | None:
    return None if end is None else max(0, round((end - start).total_seconds() * 1000))


def conversation_row(record: Conversation) -> Fields:
    """Without what it links to: `link_rows`."""
    row = _CONVERSATIONS.row(record)
    del row["linked_goal_id"], row["linked_task_id"]
    row["id"] = named(record.id)
    row["last_activity_at"] = record.created_at
    return row


def link_rows(record: Conversation) -> list[Fields]:
    """None or one: None as a link leaves what is there."""
    if record.linked_goal_id is None and record.linked_task_id is None:
        return []
    return [
        {
            "of": named(record.id),
            "owner": record.user_id,
            "goal": named_or_none(record.linked_goal_id),
            "task": named_or_none(record.linked_task_id),
        }
    ]


def session_row(record: VoiceSession) -> Fields:
    row = _SESSIONS.row(record)
    row["conversation_id"] = named(record.conversation_id)
    row["status"] = record.status.value  # drivers have ideas of their own about enums
    row["duration_ms"] = _milliseconds(record.created_at, record.ended_at)
    return row


def entry_row(record: Entry) -> Fields:
    """Tool calls and results are `function` messages (seed 004 §8) that know what they were.

    So does speech that nobody could make out; to us it comes back without words.
    """
    row = _ENTRIES.row(record)
    row["id"], row["conversation_id"] = named(record.id), named(record.conversation_id)
    row["role"] = record.kind.value
    row["content"] = told(record.text, spoken=record.spoken)
    if row["content"] != record.text:
        row["metadata"] = {**record.data, INAUDIBLE_KEY: True}
    if record.kind in (Kind.TOOL_CALL, Kind.TOOL_RESULT):
        row["role"] = "function"
        row["metadata"] = {**record.data, KIND_KEY: record.kind.value}
    return row


def call_row(record: ToolCall) -> Fields:
    row = _CALLS.row(record)
    row["status"] = record.status.value
    row["conversation_id"] = named_or_none(record.conversation_id)
    return row


def snapshot_row(record: Snapshot) -> Fields:
    return _SNAPSHOTS.row(record)


def event_row(record: LogEvent) -> Fields:
    row = _EVENTS.row(record)
    row["data"] = record.data.decode(errors="replace")
    return row


# --- Rows to records ------------------------------------------------------------


def to_conversation(row: Row[Any]) -> Conversation:
    return _CONVERSATIONS.record(row)


def to_session(row: Row[Any]) -> VoiceSession:
    return _SESSIONS.record(row, status=Status(row.status))


def to_summary(row: Row[Any]) -> SessionSummary:
    return SessionSummary(session=to_session(row), turn_count=row.turns, title=row.title)


def to_entry(row: Row[Any]) -> Entry:
    kind: str = row.role
    data = row._mapping["metadata"]
    if kind == "function":
        kind = data.pop(KIND_KEY, Kind.TOOL_RESULT)
    text = row.content
    if text == INAUDIBLE and data.pop(INAUDIBLE_KEY, False):
        text = ""
    return _ENTRIES.record(row, kind=Kind(kind), text=text)


def to_call(row: Row[Any]) -> ToolCall:
    return _CALLS.record(row, status=CallStatus(row.status))


def to_snapshot(row: Row[Any]) -> Snapshot:
    return _SNAPSHOTS.record(row)


def to_event(row: Row[Any]) -> LogEvent:
    return _EVENTS.record(row, data=row.data.encode())


def to_stats(row: Row[Any]) -> ToolStats:
    """A call whose outcome is not known, or not yet, counts as neither success nor failure."""
    settled = row.completed + row.failed
    return ToolStats(
        total_calls=row.total,
        avg_duration_ms=float(row.mean or 0),
        success_rate=row.completed / settled if settled else 0.0,
        last_called=row.last_called,
    )


def to_totals(row: Row[Any]) -> tuple[int, float]:
    return row.sessions, float(row.mean or 0)


def to_bounds(row: Row[Any]) -> LogBounds:
    return LogBounds(row.latest + 1 if row.oldest is None else row.oldest, row.latest)
