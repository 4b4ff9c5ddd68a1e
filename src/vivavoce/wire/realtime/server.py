"""Server events, both ways: the engine and the scripted provider send them (`frame`), our session
reads them (`decode`) as facts.

Field for field as recordings of the real service have them. Who sends one says
what it means to the letter; who reads one takes what a provider may get wrong:
a frame that is not what the protocol says is `Malformed`, never a crash, and a
number that is none is 0. Deltas come by the dozen a second: they are plain
frames, made by `delta` and read by hand.

`event_id` is added where an event leaves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar

import orjson
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from vivavoce.wire.realtime import facts
from vivavoce.wire.realtime.facts import AssistantTranscript, PlaybackStopped, Usage
from vivavoce.wire.realtime.refusal import Refused

Json = dict[str, Any]
Frame = dict[str, Any]

MAX_NAME = 256
MAX_NUMBER = 10**12
MAX_SECONDS = 30 * 86_400.0
BYTES_PER_MS = 24_000 * 2 / 1000  # PCM16 mono at 24 kHz


class Malformed(ValueError):
    """The frame is not valid; the session lives on."""


# --- Fields, as far as a provider can be trusted ----------------------------------------


def _count(raw: Any) -> int:
    """A count or a time in milliseconds: never below zero, never absurd."""
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        return 0
    return int(min(max(raw, 0), MAX_NUMBER))


def _seconds(raw: Any) -> float:
    return min(max(float(raw), 0.0), MAX_SECONDS) if isinstance(raw, int | float) else 0.0


def _text(raw: Any) -> str | None:
    return raw if isinstance(raw, str) else None


def _object(raw: Any) -> Json:
    return raw if isinstance(raw, dict) else {}


def _objects(raw: Any) -> list[Json]:
    return [one for one in raw if isinstance(one, dict)] if isinstance(raw, list) else []


Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME)]
"""Something that is looked up by: a string that is there."""
Count = Annotated[int, BeforeValidator(_count)]
Seconds = Annotated[float, BeforeValidator(_seconds)]
Maybe = Annotated[str | None, BeforeValidator(_text)]
Words = Annotated[str, BeforeValidator(lambda raw: _text(raw) or "")]
Object = Annotated[Json, BeforeValidator(_object)]
Objects = Annotated[list[Json], BeforeValidator(_objects)]


class _Read(BaseModel):
    """What is more than we know of is a newer server's."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)


class ServerEvent(_Read):
    type: ClassVar[str]

    def frame(self) -> Frame:
        return {"type": self.type, **self.__dict__}

    def fact(self) -> facts.ProviderEvent:
        """What our session makes of it."""
        return facts.Unhandled(self.type)


# --- The session --------------------------------------------------------------------------


class Error(ServerEvent):
    type = "error"

    error: Object

    @classmethod
    def of(cls, fault: Refused, event_id: str | None = None) -> Error:
        """`event_id`: that of the client's event."""
        return cls(error=fault.error(event_id))

    def fact(self) -> facts.Fault:
        error = self.error
        code = error.get("code") or error.get("type") or "unknown_error"
        words = str(error.get("message") or "")
        return facts.Fault(str(code), words, _text(error.get("event_id")))


class SessionCreated(ServerEvent):
    type = "session.created"

    session: Object = {}

    def fact(self) -> facts.Configured:
        return facts.Configured(True, self.session)


class SessionUpdated(ServerEvent):
    type = "session.updated"

    session: Object = {}

    def fact(self) -> facts.Configured:
        return facts.Configured(False, self.session)


class _RateLimit(_Read):
    name: Words = ""
    limit: Count = 0
    remaining: Count = 0
    reset_seconds: Seconds = 0.0


class RateLimits(ServerEvent):
    type = "rate_limits.updated"

    rate_limits: Objects = []

    def fact(self) -> facts.RateLimits:
        limits = [_RateLimit.model_validate(one) for one in self.rate_limits]
        return facts.RateLimits(
            tuple(facts.RateLimit(o.name, o.limit, o.remaining, o.reset_seconds) for o in limits)
        )


# --- The user's side ------------------------------------------------------------------------


class SpeechStarted(ServerEvent):
    type = "input_audio_buffer.speech_started"

    audio_start_ms: Count = 0
    item_id: Name

    def fact(self) -> facts.UserSpeechStarted:
        return facts.UserSpeechStarted(self.item_id, self.audio_start_ms)


class SpeechStopped(ServerEvent):
    type = "input_audio_buffer.speech_stopped"

    audio_end_ms: Count = 0
    item_id: Name

    def fact(self) -> facts.UserSpeechStopped:
        return facts.UserSpeechStopped(self.item_id, self.audio_end_ms)


class TimeoutTriggered(ServerEvent):
    type = "input_audio_buffer.timeout_triggered"

    audio_start_ms: Count = 0
    audio_end_ms: Count = 0
    item_id: Name


class InputCommitted(ServerEvent):
    type = "input_audio_buffer.committed"

    previous_item_id: Maybe = None
    item_id: Name

    def fact(self) -> facts.InputCommitted:
        return facts.InputCommitted(self.item_id, self.previous_item_id)


class InputCleared(ServerEvent):
    type = "input_audio_buffer.cleared"


_TRANSCRIPTION = "conversation.item.input_audio_transcription"


class TranscriptCompleted(ServerEvent):
    type = f"{_TRANSCRIPTION}.completed"

    item_id: Name
    content_index: Count = 0
    transcript: Words = ""
    usage: Object = {}

    def fact(self) -> facts.UserTranscript:
        return facts.UserTranscript(self.item_id, self.transcript, _usage(self.usage))


class TranscriptFailed(ServerEvent):
    type = f"{_TRANSCRIPTION}.failed"

    item_id: Name
    content_index: Count = 0
    error: Object = {}

    @classmethod
    def of(cls, item_id: str, message: str) -> TranscriptFailed:
        kind, code = "transcription_error", "audio_unintelligible"
        error = {"type": kind, "code": code, "message": message, "param": None}
        return cls(item_id=item_id, error=error)

    def fact(self) -> facts.UserTranscriptFailed:
        return facts.UserTranscriptFailed(self.item_id, str(self.error.get("message") or ""))


# --- The conversation -------------------------------------------------------------------------


class _Item(_Read):
    id: Name
    type: Words = ""
    role: Maybe = None
    status: Maybe = None
    content: Objects = []
    name: Maybe = None
    call_id: Maybe = None
    arguments: Maybe = None


def _item(raw: Json) -> facts.Item:
    item = _Item.model_validate(raw)
    texts = [_text(part.get("text")) or _text(part.get("transcript")) for part in item.content]
    return facts.Item(
        id=item.id,
        type=item.type or "message",
        role=item.role,
        status=item.status,
        text=" ".join(text for text in texts if text),
        audio=any("audio" in str(part.get("type")) for part in item.content),
        name=item.name,
        call_id=item.call_id,
        arguments=item.arguments,
    )


class ItemAdded(ServerEvent):
    type = "conversation.item.added"

    previous_item_id: Maybe = None
    item: Json

    def fact(self) -> facts.ItemAdded:
        return facts.ItemAdded(_item(self.item), self.previous_item_id)


class ItemDone(ServerEvent):
    type = "conversation.item.done"

    previous_item_id: Maybe = None
    item: Json


class ItemRetrieved(ServerEvent):
    type = "conversation.item.retrieved"

    item: Json

    def fact(self) -> facts.ItemRetrieved:
        return facts.ItemRetrieved(_item(self.item))


class ItemDeleted(ServerEvent):
    type = "conversation.item.deleted"

    item_id: Name

    def fact(self) -> facts.ItemDeleted:
        return facts.ItemDeleted(self.item_id)


class ItemTruncated(ServerEvent):
    type = "conversation.item.truncated"

    item_id: Name
    content_index: Count = 0
    audio_end_ms: Count = 0

    def fact(self) -> facts.ItemTruncated:
        return facts.ItemTruncated(self.item_id, self.audio_end_ms)


# --- A response -------------------------------------------------------------------------------


class _Response(_Read):
    id: Name
    status: Words = ""
    status_details: Object = {}
    output: Objects = []
    usage: Object = {}


class ResponseCreated(ServerEvent):
    type = "response.created"

    response: Json

    def fact(self) -> facts.ResponseCreated:
        return facts.ResponseCreated(_Response.model_validate(self.response).id)


class ResponseDone(ServerEvent):
    type = "response.done"

    response: Json

    def fact(self) -> facts.ResponseDone:
        response = _Response.model_validate(self.response)
        details = response.status_details
        error = _object(details.get("error"))
        return facts.ResponseDone(
            response_id=response.id,
            status=response.status or "completed",
            reason=_text(details.get("reason")),
            error=_text(error.get("code")) or _text(error.get("type")),
            items=tuple(_item(item) for item in response.output if item.get("id")),
            usage=_usage(response.usage),
        )


class OutputItemAdded(ServerEvent):
    type = "response.output_item.added"

    response_id: Name
    output_index: Count = 0
    item: Json

    def fact(self) -> facts.OutputItemAdded:
        return facts.OutputItemAdded(self.response_id, _item(self.item))


class OutputItemDone(ServerEvent):
    type = "response.output_item.done"

    response_id: Name
    output_index: Count = 0
    item: Json


class _Placed(ServerEvent):
    """About one part of one item of one response."""

    response_id: Name
    item_id: Name
    output_index: Count = 0
    content_index: Count = 0


class PartAdded(_Placed):
    type = "response.content_part.added"

    part: Json


class PartDone(_Placed):
    type = "response.content_part.done"

    part: Json


class TextDone(_Placed):
    type = "response.output_text.done"

    text: Words = ""

    def fact(self) -> facts.AssistantTranscript:
        return AssistantTranscript(self.response_id, self.item_id, self.text, spoken=False)


class AudioDone(_Placed):
    type = "response.output_audio.done"


class AudioTranscriptDone(_Placed):
    type = "response.output_audio_transcript.done"

    transcript: Words = ""

    def fact(self) -> facts.AssistantTranscript:
        return AssistantTranscript(self.response_id, self.item_id, self.transcript, spoken=True)


class ArgumentsDone(ServerEvent):
    type = "response.function_call_arguments.done"

    response_id: Name
    item_id: Name
    output_index: Count = 0
    call_id: Name
    name: Words = ""
    arguments: Words = ""

    def fact(self) -> facts.CallRequested:
        arguments = self.arguments or "{}"
        return facts.CallRequested(
            self.response_id, self.item_id, self.call_id, self.name, arguments
        )


class PlaybackStarted(ServerEvent):
    type = "output_audio_buffer.started"

    response_id: Words = ""

    def fact(self) -> facts.PlaybackStarted:
        return facts.PlaybackStarted(self.response_id)


class PlaybackEnded(ServerEvent):
    type = "output_audio_buffer.stopped"

    response_id: Words = ""

    def fact(self) -> facts.PlaybackStopped:
        return PlaybackStopped(self.response_id)


class PlaybackCleared(ServerEvent):
    type = "output_audio_buffer.cleared"

    response_id: Words = ""

    def fact(self) -> facts.PlaybackStopped:
        return PlaybackStopped(self.response_id, cleared=True)


EVENTS: dict[str, type[ServerEvent]] = {
    event.type: event
    for event in (
        *(Error, SessionCreated, SessionUpdated, RateLimits),
        *(SpeechStarted, SpeechStopped, TimeoutTriggered, InputCommitted, InputCleared),
        *(TranscriptCompleted, TranscriptFailed),
        *(ItemAdded, ItemDone, ItemRetrieved, ItemDeleted, ItemTruncated),
        *(ResponseCreated, ResponseDone, OutputItemAdded, OutputItemDone, PartAdded, PartDone),
        *(TextDone, AudioDone, AudioTranscriptDone, ArgumentsDone),
        *(PlaybackStarted, PlaybackEnded, PlaybackCleared),
    )
}

# --- Deltas -------------------------------------------------------------------------------------


def delta(kind: str, place: Mapping[str, Any], text: str) -> Frame:
    """`kind`: `output_text`, `output_audio` …; `place` says which part of which item it is of."""
    return {"type": f"response.{kind}.delta", **place, "delta": text}


def transcript_delta(item_id: str, text: str) -> Frame:
    """Of what the user says."""
    return {
        "type": f"{_TRANSCRIPTION}.delta",
        "item_id": item_id,
        "content_index": 0,
        "delta": text,
    }


def _said(raw: Json) -> facts.AssistantDelta:
    return facts.AssistantDelta(_id(raw, "response_id"), _id(raw, "item_id"), _delta(raw))


def _heard(raw: Json) -> facts.UserTranscriptDelta:
    return facts.UserTranscriptDelta(_id(raw, "item_id"), _delta(raw))


def _sound(raw: Json) -> facts.AudioReceived:
    # Base64 carries three bytes in four characters; the sound itself is not for us.
    return facts.AudioReceived(_id(raw, "item_id"), len(_delta(raw)) * 0.75 / BYTES_PER_MS)


def _id(raw: Json, key: str) -> str:
    value = raw[key]
    if not isinstance(value, str) or not 0 < len(value) <= MAX_NAME:
        raise Malformed(f"{key} is not an id")
    return value


def _delta(raw: Json) -> str:
    value = raw.get("delta")
    return value if isinstance(value, str) else ""


_DELTAS: dict[str, Callable[[Json], facts.ProviderEvent]] = {
    f"{_TRANSCRIPTION}.delta": _heard,
    "response.output_text.delta": _said,
    "response.output_audio_transcript.delta": _said,
    "response.output_audio.delta": _sound,
    "response.function_call_arguments.delta": lambda raw: facts.Unhandled(raw["type"]),
}
SERVER_EVENTS = frozenset(EVENTS) | frozenset(_DELTAS)


def decode(frame: bytes | str) -> facts.ProviderEvent:
    """One frame, one fact. Raises `Malformed`."""
    try:
        raw = orjson.loads(frame)
        kind = raw["type"]
        if (read := _DELTAS.get(kind)) is not None:
            return read(raw)
        event = EVENTS.get(kind)
        return facts.Unhandled(str(kind)) if event is None else event.model_validate(raw).fact()
    except (ValueError, KeyError, TypeError, AttributeError) as fault:
        # Everything a hostile or broken frame can do to the code above.
        raise Malformed(f"not a Realtime event: {type(fault).__name__}") from fault


# --- Usage ----------------------------------------------------------------------------------------

# Sound by OpenAI's rule of thumb, so that figures can be compared.
INPUT_AUDIO_TOKENS_A_SECOND = 10
OUTPUT_AUDIO_TOKENS_A_SECOND = 20


def response_usage(
    *,
    input_tokens: int,
    output_tokens: int,
    cached_tokens: int = 0,
    input_seconds: float = 0.0,
    output_seconds: float = 0.0,
) -> Json:
    """The `usage` of `response.done`; the tokens are the brain's counts of text."""
    text_in, text_out = max(0, input_tokens), max(0, output_tokens)
    # What came from the cache is part of the input, whatever a brain may say.
    cached = min(max(0, cached_tokens), text_in)
    audio_in = _audio_tokens(input_seconds, INPUT_AUDIO_TOKENS_A_SECOND)
    audio_out = _audio_tokens(output_seconds, OUTPUT_AUDIO_TOKENS_A_SECOND)
    return {
        "total_tokens": text_in + audio_in + text_out + audio_out,
        "input_tokens": text_in + audio_in,
        "output_tokens": text_out + audio_out,
        "input_token_details": {
            "text_tokens": text_in,
            "audio_tokens": audio_in,
            "image_tokens": 0,
            "cached_tokens": cached,
            "cached_tokens_details": {"text_tokens": cached, "audio_tokens": 0, "image_tokens": 0},
        },
        "output_token_details": {"text_tokens": text_out, "audio_tokens": audio_out},
    }


def _audio_tokens(seconds: float, rate: int) -> int:
    """Whole tokens; one that was begun counts."""
    # Rounded first: 0.3 s at 10 a second is 3 tokens, not the 4 of floating point.
    return math.ceil(round(max(0.0, seconds) * rate, 6))


def transcription_usage(seconds: float) -> Json:
    """The `usage` of a transcript: whole seconds, as the service bills them."""
    return {"type": "duration", "seconds": math.ceil(round(max(0.0, seconds), 3))}


def _usage(raw: Json) -> Usage:
    given, made = _object(raw.get("input_token_details")), _object(raw.get("output_token_details"))
    cached = _object(given.get("cached_tokens_details"))
    return Usage(
        input=_count(raw.get("input_tokens")),
        output=_count(raw.get("output_tokens")),
        cached=_count(given.get("cached_tokens")),
        input_audio=_count(given.get("audio_tokens")),
        input_image=_count(given.get("image_tokens")),
        cached_audio=_count(cached.get("audio_tokens")),
        cached_image=_count(cached.get("image_tokens")),
        output_audio=_count(made.get("audio_tokens")),
        seconds=_seconds(raw.get("seconds")),
    )
