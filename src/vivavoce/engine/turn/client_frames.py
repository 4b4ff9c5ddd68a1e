"""Client events: from bytes to wishes, or to a refusal that names what is wrong.

The table is the whole vocabulary. A field that is not in it is refused:
nothing is accepted and ignored.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from vivavoce.engine.ports import Position
from vivavoce.engine.turn import facts as f
from vivavoce.engine.turn.faults import Refused

MAX_AUDIO = 15 * 1024 * 1024  # OpenAI's limit for one append
MAX_EVENT_ID = 512
_PIECE = 1024 * 1024  # characters of base64, in whole groups of four

_Field = tuple[type, bool]  # what it is, and whether it must be there
_TEXT, _COUNT, _OBJECT = str, int, dict

CLIENT_EVENTS: dict[str, dict[str, _Field]] = {
    "session.update": {"session": (_OBJECT, True)},
    "input_audio_buffer.append": {"audio": (_TEXT, True)},
    "input_audio_buffer.commit": {},
    "input_audio_buffer.clear": {},
    "output_audio_buffer.clear": {},
    "conversation.item.create": {"item": (_OBJECT, True), "previous_item_id": (_TEXT, False)},
    "conversation.item.retrieve": {"item_id": (_TEXT, True)},
    "conversation.item.delete": {"item_id": (_TEXT, True)},
    "conversation.item.truncate": {
        "item_id": (_TEXT, True),
        "content_index": (_COUNT, True),
        "audio_end_ms": (_COUNT, True),
    },
    "response.create": {"response": (_OBJECT, False)},
    "response.cancel": {"response_id": (_TEXT, False)},
}
# What a browser may send on a call whose configuration belongs to our server: sound, and to
# be quiet. Everything else would let a page rewrite the prompt or speak for the user.
PEER_EVENTS = frozenset(
    {
        "input_audio_buffer.append",
        "input_audio_buffer.commit",
        "input_audio_buffer.clear",
        "output_audio_buffer.clear",
        "conversation.item.truncate",
        "response.cancel",
    }
)
_WORDS: dict[type, str] = {str: "a string", int: "an integer", dict: "an object"}


@dataclass(frozen=True, slots=True)
class Frame:
    """A client event whose fields are what the table says."""

    type: str
    event_id: str | None
    body: dict[str, Any]


class BadFrame(Exception):
    """What is wrong with a client event, and the event's own id where it could be read."""

    def __init__(self, fault: Refused, event_id: str | None = None) -> None:
        super().__init__(str(fault))
        self.fault, self.event_id = fault, event_id


def parse(raw: str | bytes, *, locked: bool = False) -> Frame:
    """Raises `BadFrame`. `locked`: only what a browser on our server's call may send."""
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError:
        raise BadFrame(Refused("The event is not valid JSON.", code="invalid_json")) from None
    if not isinstance(body, dict):
        raise BadFrame(Refused("An event is a JSON object.", code="invalid_json"))
    event_id = body.pop("event_id", None)
    if event_id is not None and (not isinstance(event_id, str) or len(event_id) > MAX_EVENT_ID):
        raise BadFrame(_invalid("event_id", "should be a string of at most 512 characters"))
    try:
        return _checked(body, event_id, locked)
    except Refused as fault:
        raise BadFrame(fault, event_id) from None


def _checked(body: dict[str, Any], event_id: str | None, locked: bool) -> Frame:
    kind = body.pop("type", None)
    if kind is None:
        raise Refused(
            "Missing required parameter: 'type'.", code="missing_required_parameter", param="type"
        )
    fields = CLIENT_EVENTS.get(kind) if isinstance(kind, str) else None
    if fields is None:
        known = ", ".join(CLIENT_EVENTS)
        raise Refused(
            f"Invalid value: {str(kind)[:80]!r}. Supported values are: {known}.",
            code="invalid_value",
            param="type",
        )
    if locked and kind not in PEER_EVENTS:
        raise Refused(
            f"'{kind}' is not allowed here: this call is configured by its server.",
            code="not_allowed",
            param="type",
        )
    for name in body:
        if name not in fields:
            raise Refused(
                f"Unknown parameter: '{name[:80]}'.", code="unknown_parameter", param=name[:80]
            )
    for name, (wanted, required) in fields.items():
        _check(body, name, wanted, required)
    return Frame(kind, event_id, body)


def _check(body: dict[str, Any], name: str, wanted: type, required: bool) -> None:
    value = body.get(name)
    if value is None:
        if required:
            raise Refused(
                f"Missing required parameter: '{name}'.",
                code="missing_required_parameter",
                param=name,
            )
    elif not isinstance(value, wanted) or isinstance(value, bool):
        raise _invalid(name, f"should be {_WORDS[wanted]}", code="invalid_type")


def _invalid(name: str, why: str, code: str = "invalid_value") -> Refused:
    return Refused(f"Invalid '{name}': it {why}.", code=code, param=name)


def audio_of(frame: Frame) -> Iterator[bytes]:
    """The sound of an append, piece by piece: 15 MiB take a tenth of a second. Raises `Refused`."""
    text: str = frame.body["audio"]
    if len(text) > MAX_AUDIO * 4 // 3 + 4:
        raise _invalid("audio", "should be at most 15 MiB")
    if "=" in text[:-2]:  # padding; at the end of a piece it would pass
        raise _invalid("audio", "should be base64")
    for at in range(0, len(text), _PIECE):
        try:
            yield base64.b64decode(text[at : at + _PIECE], validate=True)
        except (binascii.Error, ValueError):
            raise _invalid("audio", "should be base64") from None


def wish(frame: Frame, *, buffered_ms: int, end_ms: int, position: Position | None) -> f.Wish:
    """A checked event as the machine takes it; `append` never comes here."""
    body = frame.body
    match frame.type:
        case "session.update":
            return f.UpdateSession(body["session"])
        case "input_audio_buffer.commit":
            return f.CommitInput(buffered_ms, end_ms)
        case "input_audio_buffer.clear":
            return f.ClearInput(end_ms)
        case "output_audio_buffer.clear":
            return f.ClearOutput(position)
        case "conversation.item.create":
            return f.CreateItem(body["item"], body.get("previous_item_id"))
        case "conversation.item.retrieve":
            return f.RetrieveItem(body["item_id"])
        case "conversation.item.delete":
            return f.DeleteItem(body["item_id"])
        case "conversation.item.truncate":
            return f.TruncateItem(body["item_id"], body["content_index"], body["audio_end_ms"])
        case "response.create":
            return f.CreateResponse(body.get("response"))
        case "response.cancel":
            return f.CancelResponse(body.get("response_id"))
        case _:
            raise AssertionError(f"{frame.type} is no wish")
