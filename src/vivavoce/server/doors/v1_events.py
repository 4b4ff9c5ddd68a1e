"""The event log in the words of seed 004 §9: `new_message`, `intent_submitted`, `error` and
`session_ended`.

The same log, the same positions, other names: so a stream of these resumes like `/events`.
One event of the log is at most one here, or an id would stand for two. No I/O.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from vivavoce.runtime.journal.streams import Filter
from vivavoce.wire.clean import clean_text
from vivavoce.wire.events import (
    ErrorOccurred,
    Heartbeat,
    IntentRetracted,
    IntentSubmitted,
    SessionEnded,
    StreamReset,
    ToolError,
    TranscriptionCompleted,
)
from vivavoce.wire.records.talk import LogEvent

Json = dict[str, Any]
INAUDIBLE = "[inaudible]"
BEAT = b": heartbeat\n\n"  # a comment: seed 004 has no event for it


def watching(user_id: str, session_id: str) -> Filter:
    """The stream of one session, in these words."""
    return Filter(user_id=user_id, session_id=session_id, types=tuple(_WORDS), tell=tell)


def tell(event: LogEvent) -> bytes:
    """The frame, or nothing."""
    if event.type == Heartbeat.type:
        return BEAT
    words = _WORDS.get(event.type) or _RESETS.get(event.type)
    if words is None:
        return b""
    name, shape = words
    shaped = shape(orjson.loads(event.data))
    if shaped is None:
        return b""
    data = orjson.dumps(shaped)
    place = b"id: %d\n" % event.position if event.position else b""
    return b"event: %b\ndata: %b\n%b\n" % (name, data, place)


def shown(content: str, role: str) -> str:
    """What nobody could make out is told as such (seed 004 §5.9)."""
    return INAUDIBLE if role == "user" and not content.strip() else content


def _message(data: Json) -> Json:
    """An interrupted answer comes again with the same id: the latest is what was heard of it."""
    return {
        "id": data.get("entry_id"),
        "role": data["role"],
        "content": shown(clean_text(data["transcript"]), data["role"]),
        "input_modality": data.get("modality") or "voice",
        "created_at": data.get("created_at") or data["timestamp"],
        "metadata": {"interrupted": True} if data.get("interrupted") else {},
    }


def _intent(data: Json) -> Json:
    named: Json = {name: data[name] for name in ("goal_id", "task_id", "error") if name in data}
    return {
        "intent": data["intent"],
        "payload": data["payload"],
        "status": data["status"],
        "intent_id": data["intent_id"],
        "revision": data.get("revision", 0),
        **named,
    }


def _retracted(data: Json) -> Json:
    return _intent({"payload": {}, "status": "retracted", **data})


def _error(data: Json) -> Json:
    return {"code": data["code"], "message": data["message"]}


def _tool_error(data: Json) -> Json | None:
    """A validation or the orchestrator said no; the model was told too, and asks again. What the
    intent service announced itself, by a code of its own, is told by that."""
    if data.get("announced"):
        return None
    return {"code": data.get("code") or "tool_error", "message": data["error"]}


def _ended(data: Json) -> Json:
    return {"reason": data["reason"], "duration_seconds": round(data["duration_ms"] / 1000)}


def _reset(data: Json) -> Json:
    told = "Some events are gone. Read the messages of the conversation anew."
    return {"code": "stream_reset", "message": told}


_WORDS: dict[str, tuple[bytes, Callable[[Json], Json | None]]] = {
    TranscriptionCompleted.type: (b"new_message", _message),
    IntentSubmitted.type: (b"intent_submitted", _intent),
    IntentRetracted.type: (b"intent_submitted", _retracted),
    ErrorOccurred.type: (b"error", _error),
    ToolError.type: (b"error", _tool_error),
    SessionEnded.type: (b"session_ended", _ended),
}
_RESETS = {StreamReset.type: (b"error", _reset)}
