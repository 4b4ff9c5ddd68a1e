"""Which entries of a client's copy are new. Pure.

A client may send what the sideband has stored already, and may send it twice.
Entries are the same by id, by call id, or by kind, text and time; each stored
entry is matched at most once, so saying "yes" twice stays twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from vivavoce.wire.clean import clean_json, clean_text
from vivavoce.wire.records.talk import Entry, Kind, entry_id, new_id

SAME_TIME = timedelta(seconds=5)
RETRY_WINDOW = timedelta(seconds=60)


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """An entry as a client tells it (seed 003 §2.4)."""

    kind: Kind
    text: str = ""
    id: str | None = None
    at: datetime | None = None
    tool_name: str | None = None
    tool_call_id: str | None = None
    tool_arguments: dict[str, Any] | None = None
    tool_result: dict[str, Any] | None = None
    audio_duration_ms: int | None = None

    @property
    def words(self) -> str:
        return clean_text(self.text)


def unseen(
    copies: Sequence[Copy],
    stored: Sequence[Entry],
    *,
    conversation_id: str,
    user_id: str,
    session_id: str,
    now: datetime,
) -> list[Entry]:
    """The entries to add, in the order in which they were told."""
    known = {entry.id for entry in stored}
    # A client may name an entry by our id, or by the provider's.
    names = known | {str(entry.data.get("item_id")) for entry in stored}
    free = list(stored)
    added: list[Entry] = []
    for number, copy in enumerate(copies):
        key = _key(copy, conversation_id)
        if key in known or copy.id in names or (key is None and _take_match(copy, free, now)):
            continue
        at = copy.at or now
        entry = Entry(
            id=key or new_id(),
            conversation_id=conversation_id,
            user_id=user_id,
            session_id=session_id,
            kind=copy.kind,
            text=copy.words,
            created_at=at,
            # Told in one breath, they keep their order.
            ordinal=at.timestamp() * 1000 + number / 1000,
            data=_data(copy, now),
        )
        known.add(entry.id)
        added.append(entry)
    return added


def _key(copy: Copy, conversation_id: str) -> str | None:
    if copy.kind in (Kind.TOOL_CALL, Kind.TOOL_RESULT) and copy.tool_call_id:
        # The same as the tool desk gives, so a copy of a call is the call.
        return entry_id(conversation_id, f"{copy.kind}:{copy.tool_call_id}")
    return entry_id(conversation_id, f"client:{copy.id}") if copy.id else None


def _take_match(copy: Copy, free: list[Entry], now: datetime) -> bool:
    """Without an id: kind, text and time. Without a time either: anything the server
    heard itself, or what the same client told a moment ago (a retry)."""
    for entry in free:
        if entry.kind is not copy.kind or entry.text != copy.words:
            continue
        if copy.at is not None:
            same = abs(entry.created_at - copy.at) <= SAME_TIME
        else:
            told = entry.data.get("source") == "client"
            same = not told or now - _received(entry) <= RETRY_WINDOW
        if same:
            free.remove(entry)
            return True
    return False


def _received(entry: Entry) -> datetime:
    value = entry.data.get("received_at")
    return datetime.fromisoformat(value) if isinstance(value, str) else entry.created_at


def _data(copy: Copy, now: datetime) -> dict[str, Any]:
    told = {
        "client_id": copy.id,
        "tool_name": copy.tool_name,
        "tool_call_id": copy.tool_call_id,
        "tool_arguments": copy.tool_arguments,
        "tool_result": copy.tool_result,
        "audio_duration_ms": copy.audio_duration_ms,
    }
    data = {name: clean_json(value) for name, value in told.items() if value is not None}
    return {"source": "client", "received_at": now.isoformat(), **data}
