"""A change as a database would give it back: mended, copied, or refused."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import UTC, datetime
from enum import Enum
from typing import Any, TypeVar, assert_never

from vivavoce.errors import InternalError, InvalidRequest
from vivavoce.store.clean import canonical_uuid, clean_json, clean_text
from vivavoce.wire.records.plans import Delivery, Goal, Intent, Milestone, Person, Todo
from vivavoce.wire.records.talk import (
    Announce,
    Change,
    Conversation,
    DropConversation,
    DropMilestone,
    Entry,
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
    Snapshot,
    ToolCall,
    VoiceSession,
)
from vivavoce.wire.records.work import Approval, Question, Task

ODD = "The store could not do this."

R = TypeVar(
    "R",
    Conversation,
    VoiceSession,
    Entry,
    ToolCall,
    Snapshot,
    Task,
    Question,
    Approval,
    LogEvent,
    Person,
    Goal,
    Milestone,
    Todo,
    Intent,
    Delivery,
    DropConversation,
)


def clean(change: Change) -> Change:
    match change:
        case PutConversation(record):
            return PutConversation(_clean_record(record))
        case PutSession(record, new, limits):
            return PutSession(_clean_record(record), new, limits)
        case PutEntry(record, overwrite):
            return PutEntry(_clean_record(record), overwrite)
        case PutToolCall(record):
            return PutToolCall(_clean_record(record))
        case PutSnapshot(record):
            return PutSnapshot(_clean_record(record))
        case PutTask(record):
            return PutTask(_clean_record(record))
        case PutApproval(record):
            return PutApproval(_clean_record(record))
        case PutPerson(record, only):
            return PutPerson(_clean_record(record), only)
        case PutGoal(record, only):
            return PutGoal(_clean_record(record), only)
        case PutMilestone(record, only):
            return PutMilestone(_clean_record(record), only)
        case DropMilestone(name):
            return DropMilestone(clean_text(name))
        case PutTodo(record, only):
            return PutTodo(_clean_record(record), only)
        case PutIntent(record):
            return PutIntent(_clean_record(record))
        case PutDelivery(record):
            return PutDelivery(_clean_record(record))
        case DropConversation():
            return _clean_record(change)
        case Announce(event):
            return Announce(_clean_record(event))
        case _:
            assert_never(change)


def _clean_record(record: R) -> R:
    return replace(record, **{f.name: _value(record, f.name) for f in fields(record)})


def _value(record: object, name: str) -> Any:
    value = getattr(record, name)
    if _named_by_uuid(record, name):
        if value is not None and canonical_uuid(value) is None:
            raise InvalidRequest("Conversations, entries, goals and tasks are named by UUIDs.")
        return value and canonical_uuid(value)
    match value:
        case Enum() | bool():
            return value
        case str():
            return clean_text(value)
        case bytes():
            return clean_text(value.decode(errors="replace")).encode()
        case dict():
            return _json(value)
        case tuple():
            return tuple(_json(list(value)))
        case Question():
            return _clean_record(value)
        case datetime() if value.tzinfo is None:
            raise InternalError(ODD)
        case datetime():
            return value.astimezone(UTC)
        case _:
            return value


def _named_by_uuid(record: object, name: str) -> bool:
    match name:
        case "id":
            return isinstance(record, Conversation | Entry | Goal | Todo)
        case "conversation_id":
            return not isinstance(record, LogEvent)
        case "goal_id":
            return isinstance(record, Milestone | Todo)
        case _:
            return name in ("linked_goal_id", "linked_task_id")


def _json(value: dict[str, Any] | list[Any]) -> Any:
    try:
        return clean_json(value)
    except TypeError as error:
        raise InternalError(ODD) from error
