"""What a Realtime provider tells us (OpenAI's GA protocol), as facts.

Only what the session decides on is kept: audio becomes a length,
configuration stays a mapping, and a type that we do not act on is
`Unhandled`. Pydantic reads them from frames (`server.decode`), and the
annotations say where in the frame each field stands: what a provider may get
wrong is taken (a number that is none is 0), but for the ids that things are
looked up by.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, field
from operator import add
from sys import intern
from typing import Annotated, Any

from pydantic import AfterValidator, AliasChoices, AliasPath, BeforeValidator, Field

from vivavoce.wire.values import Value

MAX_NAME = 256
MAX_NUMBER = 10**12
MAX_SECONDS = 30 * 86_400.0


def _at(*path: str) -> Any:
    return Field(validation_alias=AliasPath(*path))


def _given(*path: str) -> Any:
    return _at("input_token_details", *path)


def _count(raw: Any) -> int:
    """A count or a time in milliseconds: never below zero, never absurd."""
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        return 0
    return int(min(max(raw, 0), MAX_NUMBER))


def _seconds(raw: Any) -> float:
    return min(max(float(raw), 0.0), MAX_SECONDS) if isinstance(raw, int | float) else 0.0


def _text(raw: Any) -> str | None:
    return raw if isinstance(raw, str) else None


def _object(raw: Any) -> dict[str, Any]:
    return raw if isinstance(raw, dict) else {}


def _or(words: str) -> BeforeValidator:
    return BeforeValidator(lambda raw: _text(raw) or words)


# A name comes with many frames and is kept in many places: it is the same object in all of them.
Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME), AfterValidator(intern)]
Count = Annotated[int, BeforeValidator(_count)]
Maybe = Annotated[str | None, BeforeValidator(_text)]
Words = Annotated[str, _or("")]
MaybeName = Annotated[str, _or(""), AfterValidator(intern)]
Object = Annotated[Mapping[str, Any], BeforeValidator(_object)]


def _parts(content: Any) -> list[dict[str, Any]]:
    return [one for one in content if isinstance(one, dict)] if content else []


def _said(content: Any) -> str:
    texts = (_text(part.get("text")) or _text(part.get("transcript")) for part in _parts(content))
    return " ".join(text for text in texts if text)


def _sounds(content: Any) -> bool:
    return any("audio" in str(part.get("type")) for part in _parts(content))


class Item(Value):
    """A conversation item, flattened to what we use."""

    id: Name
    type: Annotated[str, _or("message")] = "message"
    role: Maybe = None
    status: Maybe = None
    text: Annotated[str, BeforeValidator(_said), _at("content")] = ""
    audio: Annotated[bool, BeforeValidator(_sounds), _at("content")] = False
    name: Maybe = None
    call_id: Maybe = None
    arguments: Maybe = None


class Usage(Value):
    """Tokens. `cached` is a part of `input`, not beside it; sound and pictures are parts of what
    they are named after, and the rest is text."""

    input: Annotated[Count, _at("input_tokens")] = 0
    output: Annotated[Count, _at("output_tokens")] = 0
    cached: Annotated[Count, _given("cached_tokens")] = 0
    input_audio: Annotated[Count, _given("audio_tokens")] = 0
    input_image: Annotated[Count, _given("image_tokens")] = 0
    cached_audio: Annotated[Count, _given("cached_tokens_details", "audio_tokens")] = 0
    cached_image: Annotated[Count, _given("cached_tokens_details", "image_tokens")] = 0
    output_audio: Annotated[Count, _at("output_token_details", "audio_tokens")] = 0
    seconds: Annotated[float, BeforeValidator(_seconds)] = 0.0
    """Of sound, where a transcription is billed by them."""

    def __add__(self, other: Usage) -> Usage:
        return Usage(*map(add, astuple(self), astuple(other)))


_Usage = Annotated[Usage, BeforeValidator(_object)]


class Configured(Value):
    """`session.created` and `session.updated`: the configuration in force."""

    created: bool
    session: Object = field(default_factory=dict)


class UserSpeechStarted(Value):
    item_id: Name
    audio_start_ms: Count = 0


class UserSpeechStopped(Value):
    item_id: Name
    audio_end_ms: Count = 0


class InputCommitted(Value):
    item_id: Name
    previous_item_id: Maybe = None


class ItemAdded(Value):
    item: Item
    previous_item_id: Maybe = None


class ItemRetrieved(Value):
    """The answer to our question for an item that joined while the line was down."""

    item: Item


class ItemDeleted(Value):
    item_id: Name


class ItemTruncated(Value):
    item_id: Name
    audio_end_ms: Count = 0


class UserTranscriptDelta(Value):
    item_id: Name
    delta: str


class UserTranscript(Value):
    item_id: Name
    transcript: Words = ""
    usage: _Usage = Usage()


class UserTranscriptFailed(Value):
    item_id: Name
    message: Annotated[Words, _at("error", "message")] = ""


class ResponseCreated(Value):
    response_id: Annotated[Name, _at("response", "id")]


class OutputItemAdded(Value):
    response_id: Name
    item: Item


class AssistantDelta(Value):
    response_id: str
    item_id: Name
    delta: str


class AssistantTranscript(Value):
    """All that was generated for an item; `spoken` when it is the text of audio."""

    response_id: Name
    item_id: Name
    text: Annotated[Words, Field(validation_alias=AliasChoices("transcript", "text"))]
    spoken: bool = True


class AudioReceived(Value):
    """Audio of an item went by on this line; only its length is kept."""

    item_id: Name
    ms: float


class CallRequested(Value):
    response_id: Name
    item_id: Name
    call_id: Name
    name: MaybeName
    arguments: Annotated[str, _or("{}")]


def _code(error: Any) -> str | None:
    return _text(_object(error).get("code")) or _text(_object(error).get("type"))


def _named(raw: Any) -> Any:
    return tuple(item for item in raw or () if item.get("id"))


class ResponseDone(Value):
    response_id: Annotated[Name, _at("response", "id")]
    status: Annotated[str, _or("completed"), _at("response", "status")] = "completed"
    reason: Annotated[Maybe, _at("response", "status_details", "reason")] = None
    error: Annotated[
        str | None, BeforeValidator(_code), _at("response", "status_details", "error")
    ] = None
    items: Annotated[tuple[Item, ...], BeforeValidator(_named), _at("response", "output")] = ()
    usage: Annotated[_Usage, _at("response", "usage")] = Usage()


class PlaybackStarted(Value):
    """WebRTC only: the peer's speaker has begun with this response."""

    response_id: MaybeName


class PlaybackStopped(Value):
    """WebRTC only: all of it was played (`cleared`: cut off instead)."""

    response_id: MaybeName
    cleared: bool = False


class Heard(Value):
    """Our own engine only: so much of an item has been heard, in words and in milliseconds.

    `state` is "playing" while more is to come, "played" at its end, "cut" where it was cut off.
    `estimated`: by the clock, since the client plays it and does not say.
    """

    item_id: Name
    transcript: Words = ""
    audio_end_ms: Count = 0
    state: Annotated[str, _or("playing")] = "playing"
    estimated: bool = False


class Peer(Value):
    """Our own engine only: how the client with the microphone is connected. `state`: connecting,
    connected, lost (it may come back), closed or failed; `reason` says why, where it is over."""

    state: Annotated[str, _or("connecting")] = "connecting"
    data_channel: Annotated[str, _or("connecting")] = "connecting"
    reason: Maybe = None


class ListedItem(Value):
    """`generated` is all that was made of an answer; `heard`, how far it was heard."""

    item: Item
    previous_item_id: Maybe = None
    response_id: MaybeName = ""
    generated: Words = ""
    heard: Heard | None = None


class Spent(Value):
    """What an answer took that is over."""

    response_id: MaybeName = ""
    usage: _Usage = Usage()


class Listed(Value):
    """Our own engine only: the items of the call, in order, and what its last answers took."""

    items: tuple[ListedItem, ...] = ()
    spent: tuple[Spent, ...] = ()


class RateLimit(Value):
    name: Words = ""
    limit: Count = 0
    remaining: Count = 0
    reset_seconds: Annotated[float, BeforeValidator(_seconds)] = 0.0


class RateLimits(Value):
    limits: Annotated[tuple[RateLimit, ...], _at("rate_limits")]


class Fault(Value):
    """An `error` event. `event_id` is that of our own frame which caused it."""

    code: Annotated[
        str, BeforeValidator(lambda raw: _code(raw) or "unknown_error"), _at("error")
    ] = "unknown_error"
    message: Annotated[Words, _at("error", "message")] = ""
    event_id: Annotated[Maybe, _at("error", "event_id")] = None


class Unhandled(Value):
    type: str


ProviderEvent = (
    Configured
    | UserSpeechStarted
    | UserSpeechStopped
    | InputCommitted
    | ItemAdded
    | ItemRetrieved
    | ItemDeleted
    | ItemTruncated
    | UserTranscriptDelta
    | UserTranscript
    | UserTranscriptFailed
    | ResponseCreated
    | OutputItemAdded
    | AssistantDelta
    | AssistantTranscript
    | AudioReceived
    | CallRequested
    | ResponseDone
    | PlaybackStarted
    | PlaybackStopped
    | Heard
    | Peer
    | Listed
    | RateLimits
    | Fault
    | Unhandled
)
