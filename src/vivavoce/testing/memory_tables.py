"""The tables of `MemoryStore` and what a change does to them: the schema's rules in Python."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import MutableMapping
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from enum import Enum
from typing import Any, TypeVar, assert_never

from vivavoce.errors import Conflict, InternalError, InvalidRequest
from vivavoce.store.clean import canonical_uuid, clean_json, clean_text
from vivavoce.wire.records import (
    Announce,
    Change,
    Conversation,
    Entry,
    LogEvent,
    PutConversation,
    PutEntry,
    PutSession,
    PutSnapshot,
    PutToolCall,
    Snapshot,
    ToolCall,
    VoiceSession,
)

ORPHAN = "The store refused a record that belongs to nothing it knows."
ODD = "The store could not do this."

R = TypeVar("R", Conversation, VoiceSession, Entry, ToolCall, Snapshot, LogEvent)


@dataclass(slots=True)
class Tables:
    conversations: MutableMapping[str, Conversation] = field(default_factory=dict)
    sessions: MutableMapping[str, VoiceSession] = field(default_factory=dict)
    entries: MutableMapping[str, Entry] = field(default_factory=dict)
    calls: MutableMapping[tuple[str, str], ToolCall] = field(default_factory=dict)
    snapshots: MutableMapping[str, Snapshot] = field(default_factory=dict)

    def draft(self) -> Tables:
        """Writes go on top, reads see through."""
        return Tables(*(ChainMap({}, each) for each in self._each()))

    def keep(self, draft: Tables) -> None:
        for table, written in zip(self._each(), draft._each(), strict=True):
            assert isinstance(written, ChainMap)
            table.update(written.maps[0])

    def _each(self) -> tuple[Any, ...]:
        return self.conversations, self.sessions, self.entries, self.calls, self.snapshots


# --- Writing --------------------------------------------------------------------

# As foreign keys need it; within a table the order of the caller stays.
_RANK: dict[type, int] = {
    PutConversation: 0,
    PutSession: 1,
    PutEntry: 2,
    PutToolCall: 3,
    PutSnapshot: 4,
    Announce: 5,
}


def order(change: Change) -> int:
    return _RANK[type(change)]


def apply(tables: Tables, change: Change) -> None:
    match change:
        case PutConversation(new):
            old = tables.conversations.get(new.id)
            if old is None:
                tables.conversations[new.id] = new
            elif old.user_id == new.user_id:
                tables.conversations[new.id] = replace(
                    new,
                    created_at=old.created_at,
                    title=new.title if new.title is not None else old.title,
                    summary=new.summary if new.summary is not None else old.summary,
                )
        case PutSession(session, fresh):
            _put_session(tables, session, fresh=fresh)
        case PutEntry(entry, overwrite):
            there = tables.entries.get(entry.id)
            if there is None:
                _belongs(tables, entry.conversation_id, entry.user_id)
                tables.entries[entry.id] = entry
            elif overwrite and _place(there) == _place(entry) and there.kind is entry.kind:
                tables.entries[entry.id] = replace(there, text=entry.text, data=entry.data)
        case PutToolCall(call):
            _put_call(tables, call)
        case PutSnapshot(snapshot):
            _put_snapshot(tables, snapshot)
        case Announce():
            pass
        case _:
            assert_never(change)


def _put_session(tables: Tables, session: VoiceSession, *, fresh: bool) -> None:
    there = tables.sessions.get(session.id)
    if there is not None and fresh:
        raise Conflict("This session id is taken.", session_id=session.id)
    if there is None:
        _belongs(tables, session.conversation_id, session.user_id)
        tables.sessions[session.id] = session
    elif _place(there) == _place(session):
        tables.sessions[session.id] = replace(session, created_at=there.created_at)


def _put_call(tables: Tables, call: ToolCall) -> None:
    key = (call.user_id, call.id)
    there = tables.calls.get(key)
    if there is None:
        if call.conversation_id is not None:
            _belongs(tables, call.conversation_id, call.user_id)
        tables.calls[key] = call
        return
    tables.calls[key] = replace(
        there,
        status=call.status,
        output=call.output,
        error=call.error,
        truncated=call.truncated,
        progress=call.progress,
        finished_at=call.finished_at,
        duration_ms=call.duration_ms,
    )


def _put_snapshot(tables: Tables, snapshot: Snapshot) -> None:
    there = tables.snapshots.get(snapshot.session_id)
    owner = there or tables.sessions.get(snapshot.session_id)
    if owner is not None and owner.user_id == snapshot.user_id:
        tables.snapshots[snapshot.session_id] = snapshot
    elif there is None:
        raise InternalError(ORPHAN)


def _belongs(tables: Tables, conversation_id: str, user_id: str) -> None:
    conversation = tables.conversations.get(conversation_id)
    if conversation is None or conversation.user_id != user_id:
        raise InternalError(ORPHAN)


def _place(record: Entry | VoiceSession) -> tuple[str, str]:
    return record.conversation_id, record.user_id


def clean(change: Change) -> Change:
    """A copy as a database would give it back."""
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
        case datetime() if value.tzinfo is None:
            raise InternalError(ODD)
        case datetime():
            return value.astimezone(UTC)
        case _:
            return value


def _json(value: dict[str, Any]) -> Any:
    try:
        return clean_json(value)
    except TypeError as error:
        raise InternalError(ODD) from error
