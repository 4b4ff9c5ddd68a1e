"""Server events, both ways: the engine and the scripted provider send them (`frame`), our session
reads them (`decode`) as facts.

A frame that is not what the protocol says is `Malformed`, never a crash.
Deltas come by the dozen a second: they are read by hand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from sys import intern
from typing import Any, Literal

import orjson
from pydantic import TypeAdapter

from vivavoce.wire.realtime import facts
from vivavoce.wire.realtime.refusal import Refused

Json = dict[str, Any]
Frame = dict[str, Any]

BYTES_PER_MS = 24_000 * 2 / 1000  # PCM16 mono at 24 kHz

EventType = Literal[
    "error",
    "session.created",
    "session.updated",
    "rate_limits.updated",
    "input_audio_buffer.speech_started",
    "input_audio_buffer.speech_stopped",
    "input_audio_buffer.timeout_triggered",
    "input_audio_buffer.committed",
    "input_audio_buffer.cleared",
    "conversation.item.input_audio_transcription.delta",
    "conversation.item.input_audio_transcription.completed",
    "conversation.item.input_audio_transcription.failed",
    "conversation.item.added",
    "conversation.item.done",
    "conversation.item.retrieved",
    "conversation.item.deleted",
    "conversation.item.truncated",
    "response.created",
    "response.done",
    "response.output_item.added",
    "response.output_item.done",
    "response.content_part.added",
    "response.content_part.done",
    "response.output_text.delta",
    "response.output_text.done",
    "response.output_audio.delta",
    "response.output_audio.done",
    "response.output_audio_transcript.delta",
    "response.output_audio_transcript.done",
    "response.function_call_arguments.delta",
    "response.function_call_arguments.done",
    "output_audio_buffer.started",
    "output_audio_buffer.stopped",
    "output_audio_buffer.cleared",
]
"""Their fields are in `events.py`."""
OwnEventType = Literal["vivavoce.heard", "vivavoce.peer", "vivavoce.items"]
"""What our own engine tells our own server's sidebands, and nobody else: the protocol says
neither how far an answer was heard nor how the client is connected."""

# --- Sending ------------------------------------------------------------------------------


def frame(
    kind: EventType | OwnEventType, place: Mapping[str, Any] | None = None, **fields: Any
) -> Frame:
    """`place` says which part of which item it is about. `event_id` is added where it leaves."""
    return {"type": kind, **(place or {}), **fields}


def error(fault: Refused, event_id: str | None = None) -> Frame:
    """`event_id`: that of the client's event."""
    return frame("error", error=fault.error(event_id))


def transcript_failed(item_id: str, message: str) -> Frame:
    kind, code = "transcription_error", "audio_unintelligible"
    return frame(
        "conversation.item.input_audio_transcription.failed",
        item_id=item_id,
        content_index=0,
        error={"type": kind, "code": code, "message": message, "param": None},
    )


# --- Reading ------------------------------------------------------------------------------


class Malformed(ValueError):
    """The frame is not valid; the session lives on."""


_HEARD = "conversation.item.input_audio_transcription"
_FACTS: dict[str, tuple[type[facts.ProviderEvent], Json]] = {
    "error": (facts.Fault, {}),
    "session.created": (facts.Configured, {"created": True}),
    "session.updated": (facts.Configured, {"created": False}),
    "rate_limits.updated": (facts.RateLimits, {}),
    "input_audio_buffer.speech_started": (facts.UserSpeechStarted, {}),
    "input_audio_buffer.speech_stopped": (facts.UserSpeechStopped, {}),
    "input_audio_buffer.committed": (facts.InputCommitted, {}),
    f"{_HEARD}.completed": (facts.UserTranscript, {}),
    f"{_HEARD}.failed": (facts.UserTranscriptFailed, {}),
    "conversation.item.added": (facts.ItemAdded, {}),
    "conversation.item.retrieved": (facts.ItemRetrieved, {}),
    "conversation.item.deleted": (facts.ItemDeleted, {}),
    "conversation.item.truncated": (facts.ItemTruncated, {}),
    "response.created": (facts.ResponseCreated, {}),
    "response.done": (facts.ResponseDone, {}),
    "response.output_item.added": (facts.OutputItemAdded, {}),
    "response.output_text.done": (facts.AssistantTranscript, {"spoken": False}),
    "response.output_audio_transcript.done": (facts.AssistantTranscript, {"spoken": True}),
    "response.function_call_arguments.done": (facts.CallRequested, {}),
    "output_audio_buffer.started": (facts.PlaybackStarted, {}),
    "output_audio_buffer.stopped": (facts.PlaybackStopped, {}),
    "output_audio_buffer.cleared": (facts.PlaybackStopped, {"cleared": True}),
    "vivavoce.heard": (facts.Heard, {}),
    "vivavoce.peer": (facts.Peer, {}),
    "vivavoce.items": (facts.Listed, {}),
}
"""What is read as which fact, and what its type alone says of it."""


@cache
def _reader(kind: str) -> Callable[[Any], facts.ProviderEvent]:
    adapter: TypeAdapter[facts.ProviderEvent] = TypeAdapter(_FACTS[kind][0])
    return adapter.validate_python


def _said(raw: Json) -> facts.AssistantDelta:
    return facts.AssistantDelta(_id(raw, "response_id"), _id(raw, "item_id"), _delta(raw))


def _heard(raw: Json) -> facts.UserTranscriptDelta:
    return facts.UserTranscriptDelta(_id(raw, "item_id"), _delta(raw))


def _sound(raw: Json) -> facts.AudioReceived:
    # Base64 carries three bytes in four characters; the sound itself is not for us.
    return facts.AudioReceived(_id(raw, "item_id"), len(_delta(raw)) * 0.75 / BYTES_PER_MS)


def _id(raw: Json, key: str) -> str:
    value = raw[key]
    if not isinstance(value, str) or not 0 < len(value) <= facts.MAX_NAME:
        raise Malformed(f"{key} is not an id")
    return intern(value)


def _delta(raw: Json) -> str:
    value = raw.get("delta")
    return value if isinstance(value, str) else ""


_DELTAS: dict[str, Callable[[Json], facts.ProviderEvent]] = {
    f"{_HEARD}.delta": _heard,
    "response.output_text.delta": _said,
    "response.output_audio_transcript.delta": _said,
    "response.output_audio.delta": _sound,
}
KNOWN_TYPES = frozenset(_FACTS) | frozenset(_DELTAS)


def decode(frame: bytes | str) -> facts.ProviderEvent:
    """One frame, one fact. Raises `Malformed`."""
    try:
        raw = orjson.loads(frame)
        kind = raw["type"]
        if (read := _DELTAS.get(kind)) is not None:
            return read(raw)
        if kind not in _FACTS:
            return facts.Unhandled(str(kind))
        return _reader(kind)({**raw, **_FACTS[kind][1]})
    except (ValueError, KeyError, TypeError, AttributeError) as fault:
        # Everything a hostile or broken frame can do to the code above.
        raise Malformed(f"not a Realtime event: {type(fault).__name__}") from fault


# --- Usage ----------------------------------------------------------------------------------

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
