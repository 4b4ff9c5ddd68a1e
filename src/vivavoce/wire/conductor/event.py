"""An event, in its envelope: read from a message, and written as one.

    {"id": "…", "timestamp": "…", "kind": {"userAudioTranscriptFinal": {"text": "Hello"}}}

A message that is none is `Unreadable`, with the code that its sender is told, never a crash.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import orjson
from pydantic import ValidationError

from vivavoce.wire.conductor.codes import ServerCode
from vivavoce.wire.conductor.kinds import KINDS, Error, Id, Kind, Timestamp, Wire
from vivavoce.wire.values import Value

_SHOWN = 80


class Unreadable(Exception):
    """`code` and `message` are for whoever sent it; `event_id` where the event had one, and
    `unknown` where its kind is one that nobody knows."""

    def __init__(
        self, code: ServerCode, message: str, *, event_id: str | None = None, unknown: bool = False
    ) -> None:
        super().__init__(message)
        self.code: ServerCode = code
        self.message, self.event_id, self.unknown = message, event_id, unknown


class _Envelope(Wire):
    id: Id
    timestamp: Timestamp
    kind: Mapping[str, Any]


class Event(Value):
    """`extra`: what its envelope had besides."""

    id: str
    timestamp: str
    kind: Kind
    extra: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "timestamp": self.timestamp,
            "kind": {self.kind.kind: body_of(self.kind)},
            **self.extra,
        }


def body_of(kind: Kind) -> dict[str, Any]:
    """As it came, or as it was made: fields that nobody gave are not there."""
    return kind.model_dump(mode="json", by_alias=True, exclude_unset=True)


def made(kind: Kind, now: datetime | None = None) -> Event:
    """A new one, with an id of its own."""
    at = (now or datetime.now(UTC)).astimezone(UTC)
    stamp = f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03}Z"
    return Event(str(uuid4()), stamp, kind, {})


def fault(code: ServerCode, message: str, event_id: str | None = None) -> Error:
    """What the server says is wrong, and with which event."""
    if event_id is None:
        return Error(code=code, message=message)
    return Error(code=code, message=message, event_id=event_id)


def write(event: Event) -> str:
    return orjson.dumps(event.to_json()).decode()


def read(message: str | bytes) -> Event:
    """Raises `Unreadable`."""
    try:
        value = orjson.loads(message)
    except (orjson.JSONDecodeError, UnicodeEncodeError):
        raise Unreadable("invalid_json", "The message is no JSON text.") from None
    if not isinstance(value, dict):
        raise Unreadable("invalid_event", "An event is a JSON object.")
    event_id = _shown(value.get("id"))
    try:
        envelope = _Envelope.model_validate(value)
    except ValidationError as wrong:
        raise _invalid(wrong, "", event_id) from None
    if len(envelope.kind) != 1:
        told = "'kind' has exactly one field, which names the kind."
        raise Unreadable("invalid_event", told, event_id=event_id)
    ((name, body),) = envelope.kind.items()
    if (model := KINDS.get(name)) is None:
        told = f"There is no kind '{_short(name)}'."
        raise Unreadable("invalid_event", told, event_id=event_id, unknown=True)
    try:
        kind = model.model_validate(body)
    except ValidationError as wrong:
        raise _invalid(wrong, f"kind.{name}", event_id) from None
    return Event(envelope.id, envelope.timestamp, kind, envelope.model_extra or {})


def _invalid(wrong: ValidationError, where: str, event_id: str | None) -> Unreadable:
    first = wrong.errors(include_url=False, include_context=False, include_input=False)[0]
    at = ".".join([*filter(None, [where]), *map(_short, first["loc"])])
    words = first["msg"].removeprefix("Value error, ")
    return Unreadable("invalid_event", f"'{at}': {words}.", event_id=event_id)


def _short(name: object) -> str:
    return str(name)[:_SHOWN].encode(errors="replace").decode()


def _shown(value: object) -> str | None:
    return _short(value) if isinstance(value, str) else None
