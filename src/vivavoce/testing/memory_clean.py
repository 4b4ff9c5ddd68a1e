"""A change as a database would give it back: mended, copied, or refused."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import UTC, datetime
from enum import Enum
from typing import Any, TypeVar, assert_never

from vivavoce.errors import InternalError, InvalidRequest
from vivavoce.store.clean import canonical_uuid, clean_json, clean_text
from vivavoce.wire.records import (
    Announce,
    Change,
    Conversation,
    Entry,
    LogEvent,
    PutApproval,
    PutConversation,
    PutEntry,
    PutSession,
    PutSnapshot,
    PutTask,
    PutToolCall,
    Snapshot,
    ToolCall,
    VoiceSession,
)
from vivavoce.wire.work import Approval, Question, Task

ODD = "The store could not do this."

R = TypeVar(
    "R", Conversation, VoiceSession, Entry, ToolCall, Snapshot, Task, Question, Approval, LogEvent
)


def clean(change: Change) -> Change:
    match change:
        case PutConversation(record):
            return PutConversation(_clean_record(record))
        case PutSession(record, new):
            return PutSession(_clean_record(record), new)
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
        case Announce(event):
            return Announce(_clean_record(event))
        case _:
            assert_never(change)


def _clean_record(record: R) -> R:
    return replace(record, **{f.name: _value(record, f.name) for f in fields(record)})


def _value(record: object, name: str) -> Any:
    value = getattr(record, name)
    named = name == "conversation_id" and not isinstance(record, LogEvent)
    if named or (name == "id" and isinstance(record, Conversation | Entry)):
        if value is not None and canonical_uuid(value) is None:
            raise InvalidRequest("Conversations and entries are named by UUIDs.")
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


def _json(value: dict[str, Any] | list[Any]) -> Any:
    try:
        return clean_json(value)
    except TypeError as error:
        raise InternalError(ODD) from error
