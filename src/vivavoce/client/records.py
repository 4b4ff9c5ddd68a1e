"""What the server answers, as values. What a newer server adds is left out; what an older one does
not know is None."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Self, get_type_hints

from vivavoce.wire.events import CATALOGUE, VoiceEvent

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """Read by the names of its fields."""

    @classmethod
    def of(cls, answer: Json) -> Self:
        hints = _hints(cls)
        return cls(**{name: _value(hints[name], answer.get(name)) for name in hints})


@dataclass(frozen=True, slots=True, kw_only=True)
class Message(_Answer):
    """`role`: user, assistant, system or function. `content` of an answer is what was heard of it;
    `metadata` has what was meant."""

    id: str
    role: str
    content: str
    input_modality: str
    created_at: datetime
    metadata: Json | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What came of something that was written; `reply` is None where it was not there in time."""

    message: Message
    reply: Message | None
    session_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation(_Answer):
    id: str
    title: str | None
    context_type: str
    created_at: datetime
    last_message_at: datetime | None
    ended_at: datetime | None
    extracted_intent: str | None
    preview: str | None
    message_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit(_Answer):
    """A message that was found, with «…» around the words."""

    message_id: str
    conversation_id: str
    role: str
    created_at: datetime
    snippet: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Session(_Answer):
    """A voice session. `status`: active, completed, cancelled or error."""

    id: str
    conversation_id: str
    status: str
    created_at: datetime
    updated_at: datetime
    duration_ms: int
    turn_count: int
    title: str | None
    provider: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A session, for whoever carries its sound: `key` opens one call, at `/sdp` or `/audio`, within
    a minute. A stream from `last_event_id` on misses nothing of it."""

    session_id: str
    conversation_id: str
    key: str
    last_event_id: int
    prior: tuple[Message, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question(_Answer):
    id: str
    text: str
    choices: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task(_Answer):
    """`status`: running, waiting (see `question`), completed, failed or cancelled."""

    id: str
    title: str
    description: str
    agent: str
    status: str
    phase: str | None
    progress: str | None
    percentage: int | None
    question: Question | None
    result: str | None
    error: str | None
    suggestions: list[str]
    files_changed: list[str]
    created_at: datetime
    updated_at: datetime
    finished_at: datetime | None
    session_id: str | None
    conversation_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval(_Answer):
    """What waits for a yes. `status`: pending, granted, denied or expired."""

    id: str
    tool_name: str
    question: str
    arguments: Json
    status: str
    requested_at: datetime
    expires_at: datetime
    asked_by: str | None
    because: str | None
    task_id: str | None
    session_id: str | None


@dataclass(frozen=True, slots=True)
class Event:
    """One event of `GET /events`. Durable ones have a `position`; a stream goes on after it."""

    name: str
    data: Json
    position: int | None

    @property
    def session_id(self) -> str | None:
        return self.data.get("session_id")

    def typed(self) -> VoiceEvent | None:
        """With every field by name, as `vivavoce.wire.events` has it; None for a name that this
        version does not know."""
        kind = CATALOGUE.get(self.name)
        if kind is None:
            return None
        hints = _hints(kind)
        names = {one.name for one in fields(kind)} & self.data.keys()
        return kind(**{name: _value(hints[name], self.data[name]) for name in names})


_KNOWN: dict[type, dict[str, Any]] = {}


def _hints(kind: type) -> dict[str, Any]:
    """Of its fields; what is the class's own is none of them."""
    if kind not in _KNOWN:
        hints = get_type_hints(kind)
        _KNOWN[kind] = {one.name: hints[one.name] for one in fields(kind)}
    return _KNOWN[kind]


def _value(hint: Any, value: Any) -> Any:
    if value is None:
        return None
    kinds = getattr(hint, "__args__", ()) if not isinstance(hint, type) else (hint,)
    if datetime in kinds and isinstance(value, str):
        return datetime.fromisoformat(value)
    for kind in kinds:
        if isinstance(kind, type) and issubclass(kind, _Answer) and isinstance(value, Mapping):
            return kind.of(value)
    return value
