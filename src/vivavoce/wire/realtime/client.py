"""Client events, both ways: our session sends them (`payload`), the engine reads them (`parse`).

The table at the end is the whole vocabulary; a field that is not there is
refused. What stands inside (`session`, `item`, `response`) is read by the
models of its own module, by whoever knows what it is for. Each event that we
send has an `event_id`, so that an `error` can be traced to its cause, and items
have ids of our own, so that sending one again after a lost connection can never
make two.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from functools import cache
from typing import Annotated, Any, ClassVar

import orjson
from pydantic import ConfigDict, PlainValidator, TypeAdapter

from vivavoce.wire.realtime.model import Whole
from vivavoce.wire.realtime.refusal import Refused, printable, reading, refused, wrong_type
from vivavoce.wire.values import Value

Payload = dict[str, Any]

MAX_AUDIO = 15 * 1024 * 1024  # OpenAI's limit for one append
MAX_EVENT_ID = 512
_PIECE = 1024 * 1024  # characters of base64, in whole groups of four


def _unread(raw: Any) -> Any:
    """An object that is read elsewhere, and not copied here."""
    if not isinstance(raw, dict):
        raise wrong_type("an object")
    return raw


_Object = Annotated[Mapping[str, Any], PlainValidator(_unread)]


class _Event(Value):
    __pydantic_config__ = ConfigDict(extra="forbid")

    type: ClassVar[str]

    def payload(self) -> Payload:
        """The frame; what is None is left out."""
        given = ((field.name, getattr(self, field.name)) for field in fields(self))
        return {"type": self.type, **{name: value for name, value in given if value is not None}}


class UpdateSession(_Event):
    type = "session.update"

    session: _Object
    event_id: str | None = None

    def payload(self) -> Payload:
        session = {"type": "realtime", **self.session}
        return {"type": self.type, "event_id": self.event_id, "session": session}


class AppendInput(_Event):
    """Sound, in base64."""

    type = "input_audio_buffer.append"

    audio: str
    event_id: str | None = None

    def sound(self) -> Iterator[bytes]:
        """Piece by piece: 15 MiB take a tenth of a second. Raises `Refused`."""
        text = self.audio
        if len(text) > MAX_AUDIO * 4 // 3 + 4:
            raise refused("invalid_value", "audio", "at most 15 MiB of sound are allowed.")
        if "=" in text[:-2]:  # padding; at the end of a piece it would pass
            raise refused("invalid_value", "audio", "it is not valid base64.")
        for at in range(0, len(text), _PIECE):
            try:
                yield base64.b64decode(text[at : at + _PIECE], validate=True)
            except (binascii.Error, ValueError):
                raise refused("invalid_value", "audio", "it is not valid base64.") from None


class CommitInput(_Event):
    type = "input_audio_buffer.commit"

    event_id: str | None = None


class ClearInput(_Event):
    type = "input_audio_buffer.clear"

    event_id: str | None = None


class ClearOutput(_Event):
    """WebRTC only: drop what the peer has not played yet."""

    type = "output_audio_buffer.clear"

    event_id: str | None = None


class CreateItem(_Event):
    """Ours have an `id`, and go to the end of the conversation."""

    type = "conversation.item.create"

    item: _Object
    event_id: str | None = None
    previous_item_id: str | None = None

    @property
    def item_id(self) -> str:
        return str(self.item["id"])


class RetrieveItem(_Event):
    """Ask for an item that we did not see join."""

    type = "conversation.item.retrieve"

    item_id: str
    event_id: str | None = None


class DeleteItem(_Event):
    type = "conversation.item.delete"

    item_id: str
    event_id: str | None = None


class Truncate(_Event):
    """Ours never at 0 ms and never past what was received: either bricks a session at OpenAI."""

    type = "conversation.item.truncate"

    item_id: str
    audio_end_ms: Whole
    event_id: str | None = None
    content_index: Whole = 0


SAY = "vivavoce_say"
"""The metadata by which our own engine knows the words; others follow the instructions."""
_LONGEST = 512


class CreateResponse(_Event):
    type = "response.create"

    event_id: str | None = None
    response: _Object | None = None

    @classmethod
    def of(
        cls, event_id: str, instructions: str | None = None, say: str | None = None
    ) -> CreateResponse:
        """With `say` it is these words: no tool is offered, and nothing else is asked."""
        if say:
            words = say[:_LONGEST]
            response: Payload | None = {
                "instructions": f"Say exactly this to the user, and nothing else: {words}",
                "tools": [],
                "tool_choice": "none",
                "metadata": {SAY: words},
            }
        else:
            response = {"instructions": instructions} if instructions else None
        return cls(event_id, response)

    @property
    def say(self) -> str | None:
        words: str | None = ((self.response or {}).get("metadata") or {}).get(SAY)
        return words

    @property
    def instructions(self) -> str | None:
        return (self.response or {}).get("instructions")


class CancelResponse(_Event):
    type = "response.cancel"

    event_id: str | None = None
    response_id: str | None = None


class ListItems(_Event):
    """Our own engine only, from our own server: the items of the call from this one on (all of
    them, if it is not there), with what was heard of each."""

    type = "vivavoce.items.list"

    since: str | None = None
    event_id: str | None = None


class Played(_Event):
    """Our own engine only, from the peer of our own server's call by WebSocket: so much of an
    item's sound was played by now. No answer, and no fault if the item is gone."""

    type = "vivavoce.played"

    item_id: str
    audio_end_ms: Whole
    event_id: str | None = None


ClientEvent = (
    UpdateSession
    | AppendInput
    | CommitInput
    | ClearInput
    | ClearOutput
    | CreateItem
    | RetrieveItem
    | DeleteItem
    | Truncate
    | CreateResponse
    | CancelResponse
)
CLIENT_EVENTS: dict[str, type[ClientEvent]] = {
    kind.type: kind
    for kind in ClientEvent.__args__  # in the order of the documentation
}
OwnEvent = ListItems | Played
# What a browser may send on a call whose configuration belongs to our server: sound, and to
# be quiet. Everything else would let a page rewrite the prompt or speak for the user.
PEER_EVENTS = frozenset(
    kind.type
    for kind in (AppendInput, CommitInput, ClearInput, ClearOutput, Truncate, CancelResponse)
)


# --- Reading ----------------------------------------------------------------------------


class BadFrame(Exception):
    """What is wrong with a client event, and the event's own id where it could be read."""

    def __init__(self, fault: Refused, event_id: str | None = None) -> None:
        super().__init__(str(fault))
        self.fault, self.event_id = fault, event_id


def parse(raw: str | bytes, *, locked: bool = False, ours: bool = False) -> ClientEvent | OwnEvent:
    """Raises `BadFrame`. `locked`: what a browser on our server's call may send; `ours`: what only
    our server may send too."""
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError:
        raise BadFrame(Refused("The event is not valid JSON.", code="invalid_json")) from None
    if not isinstance(body, dict):
        raise BadFrame(Refused("An event is a JSON object.", code="invalid_json"))
    event_id = body.get("event_id")
    if event_id is not None and (not isinstance(event_id, str) or len(event_id) > MAX_EVENT_ID):
        words = f"a string of at most {MAX_EVENT_ID} characters is wanted."
        raise BadFrame(refused("invalid_value", "event_id", words))
    try:
        own = (ListItems,) if ours else (Played,) if locked else ()
        for one in own:
            if body.get("type") == one.type:
                given = {name: value for name, value in body.items() if name != "type"}
                return reading(_own_reader(one), given)
        return read(body, event_id, locked=locked)
    except Refused as fault:
        raise BadFrame(fault, event_id) from None


def read(body: dict[str, Any], event_id: str | None = None, *, locked: bool = False) -> ClientEvent:
    """Takes the body apart. Raises `Refused`."""
    kind = body.pop("type", None)
    if kind is None:
        raise refused("missing_required_parameter", "type")
    if kind == AppendInput.type and isinstance(audio := body.get("audio"), str):
        # Fifty times a second: no more is looked at than has to be.
        event_id = body.pop("event_id", None)
        if len(body) == 1:
            return AppendInput(audio, event_id)
    if not isinstance(kind, str) or kind not in CLIENT_EVENTS:
        known = ", ".join(CLIENT_EVENTS)
        words = f"'{printable(kind)}'. Supported values are: {known}."
        raise refused("invalid_value", "type", words)
    if locked and kind not in PEER_EVENTS:
        raise Refused(
            f"'{kind}' is not allowed here: this call is configured by its server.",
            code="not_allowed",
            param="type",
        )
    given = {name: value for name, value in body.items() if value is not None}
    return reading(_reader(kind), given)


@cache
def _reader(kind: str) -> Callable[[Any], ClientEvent]:
    adapter: TypeAdapter[ClientEvent] = TypeAdapter(CLIENT_EVENTS[kind])
    return adapter.validate_python


@cache
def _own_reader(kind: type[OwnEvent]) -> Callable[[Any], OwnEvent]:
    adapter: TypeAdapter[OwnEvent] = TypeAdapter(kind)
    return adapter.validate_python


# --- Items that we send ---------------------------------------------------------------------


def message_item(item_id: str, role: str, text: str) -> Payload:
    """A message in the content type that its role asks for."""
    kind = "output_text" if role == "assistant" else "input_text"
    content = [{"type": kind, "text": text}]
    return {"id": item_id, "type": "message", "role": role, "content": content}


def picture_item(item_id: str, url: str) -> Payload:
    """What a tool showed; no other role may carry an image."""
    content = [{"type": "input_image", "image_url": url}]
    return {"id": item_id, "type": "message", "role": "user", "content": content}


def call_item(item_id: str, call_id: str, name: str, arguments: str) -> Payload:
    own = {"call_id": call_id, "name": name, "arguments": arguments}
    return {"id": item_id, "type": "function_call", **own}


def output_item(item_id: str, call_id: str, output: str) -> Payload:
    return {"id": item_id, "type": "function_call_output", "call_id": call_id, "output": output}
