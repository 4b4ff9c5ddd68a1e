"""One frame of the Realtime protocol, one fact.

A frame that is not what the protocol says is `Malformed`, never a crash.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import orjson

from vivavoce.wire.realtime.facts import (
    AssistantDelta,
    AssistantTranscript,
    AudioReceived,
    CallRequested,
    Configured,
    Fault,
    InputCommitted,
    Item,
    ItemAdded,
    ItemDeleted,
    ItemRetrieved,
    ItemTruncated,
    OutputItemAdded,
    PlaybackStarted,
    PlaybackStopped,
    ProviderEvent,
    RateLimit,
    RateLimits,
    ResponseCreated,
    ResponseDone,
    Unhandled,
    Usage,
    UserSpeechStarted,
    UserSpeechStopped,
    UserTranscript,
    UserTranscriptDelta,
    UserTranscriptFailed,
)

BYTES_PER_MS = 24_000 * 2 / 1000  # PCM16 mono at 24 kHz


class Malformed(ValueError):
    """The frame is not valid; the session lives on."""


Raw = Mapping[str, Any]
MAX_NAME = 256
MAX_NUMBER = 10**12
MAX_SECONDS = 30 * 86_400.0


def _name(raw: Raw, key: str) -> str:
    """Something that is looked up by: a string that is there."""
    value = raw[key]
    if not isinstance(value, str) or not 0 < len(value) <= MAX_NAME:
        raise Malformed(f"{key} is not an id")
    return value


def _maybe(raw: Raw, key: str) -> str | None:
    value = raw.get(key)
    return value if isinstance(value, str) else None


def _words(raw: Raw, key: str) -> str:
    return _maybe(raw, key) or ""


def _number(raw: Raw, key: str) -> int:
    """A count or a time in milliseconds: never below zero, never absurd."""
    value = raw.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return int(min(max(value, 0), MAX_NUMBER))


def _seconds(raw: Raw, key: str) -> float:
    value = raw.get(key)
    return min(max(float(value), 0.0), MAX_SECONDS) if isinstance(value, int | float) else 0.0


def _mapping(raw: Raw, key: str) -> Raw:
    value = raw.get(key)
    return value if isinstance(value, Mapping) else {}


def _item(raw: Raw) -> Item:
    parts = [part for part in raw.get("content") or () if isinstance(part, Mapping)]
    texts = [_words(part, "text") or _words(part, "transcript") for part in parts]
    return Item(
        id=_name(raw, "id"),
        type=_words(raw, "type") or "message",
        role=_maybe(raw, "role"),
        status=_maybe(raw, "status"),
        text=" ".join(text for text in texts if text),
        audio=any("audio" in str(part.get("type")) for part in parts),
        name=_maybe(raw, "name"),
        call_id=_maybe(raw, "call_id"),
        arguments=_maybe(raw, "arguments"),
    )


def _added(raw: Raw) -> ItemAdded:
    return ItemAdded(_item(raw["item"]), _maybe(raw, "previous_item_id"))


def _usage(raw: Raw) -> Usage:
    given, made = _mapping(raw, "input_token_details"), _mapping(raw, "output_token_details")
    cached = _mapping(given, "cached_tokens_details")
    return Usage(
        input=_number(raw, "input_tokens"),
        output=_number(raw, "output_tokens"),
        cached=_number(given, "cached_tokens"),
        input_audio=_number(given, "audio_tokens"),
        input_image=_number(given, "image_tokens"),
        cached_audio=_number(cached, "audio_tokens"),
        cached_image=_number(cached, "image_tokens"),
        output_audio=_number(made, "audio_tokens"),
        seconds=_seconds(raw, "seconds"),
    )


def _response_done(raw: Raw) -> ResponseDone:
    response = raw["response"]
    details = response.get("status_details") or {}
    error = details.get("error") or {}
    return ResponseDone(
        response_id=_name(response, "id"),
        status=_words(response, "status") or "completed",
        reason=_maybe(details, "reason"),
        error=_maybe(error, "code") or _maybe(error, "type"),
        items=tuple(_item(item) for item in response.get("output") or () if item.get("id")),
        usage=_usage(response.get("usage") or {}),
    )


def _rate_limits(raw: Raw) -> RateLimits:
    return RateLimits(
        tuple(
            RateLimit(
                _words(limit, "name"),
                _number(limit, "limit"),
                _number(limit, "remaining"),
                _seconds(limit, "reset_seconds"),
            )
            for limit in raw.get("rate_limits") or ()
        )
    )


def _fault(raw: Raw) -> Fault:
    error = raw.get("error") or {}
    code = error.get("code") or error.get("type") or "unknown_error"
    return Fault(str(code), str(error.get("message") or ""), _maybe(error, "event_id"))


def _text_done(key: str, spoken: bool) -> Callable[[Raw], AssistantTranscript]:
    return lambda raw: AssistantTranscript(
        _name(raw, "response_id"), _name(raw, "item_id"), _words(raw, key), spoken
    )


def _delta(raw: Raw) -> AssistantDelta:
    return AssistantDelta(_name(raw, "response_id"), _name(raw, "item_id"), _words(raw, "delta"))


def _audio(raw: Raw) -> AudioReceived:
    # Base64 carries three bytes in four characters; the sound itself is not for us.
    return AudioReceived(_name(raw, "item_id"), len(_words(raw, "delta")) * 0.75 / BYTES_PER_MS)


_DECODERS: dict[str, Callable[[Raw], ProviderEvent]] = {
    "session.created": lambda raw: Configured(True, _mapping(raw, "session")),
    "session.updated": lambda raw: Configured(False, _mapping(raw, "session")),
    "input_audio_buffer.speech_started": lambda raw: UserSpeechStarted(
        _name(raw, "item_id"), _number(raw, "audio_start_ms")
    ),
    "input_audio_buffer.speech_stopped": lambda raw: UserSpeechStopped(
        _name(raw, "item_id"), _number(raw, "audio_end_ms")
    ),
    "input_audio_buffer.committed": lambda raw: InputCommitted(
        _name(raw, "item_id"), _maybe(raw, "previous_item_id")
    ),
    "conversation.item.added": _added,
    "conversation.item.retrieved": lambda raw: ItemRetrieved(_item(raw["item"])),
    "conversation.item.deleted": lambda raw: ItemDeleted(_name(raw, "item_id")),
    "conversation.item.truncated": lambda raw: ItemTruncated(
        _name(raw, "item_id"), _number(raw, "audio_end_ms")
    ),
    "conversation.item.input_audio_transcription.delta": lambda raw: UserTranscriptDelta(
        _name(raw, "item_id"), _words(raw, "delta")
    ),
    "conversation.item.input_audio_transcription.completed": lambda raw: UserTranscript(
        _name(raw, "item_id"), _words(raw, "transcript"), _usage(_mapping(raw, "usage"))
    ),
    "conversation.item.input_audio_transcription.failed": lambda raw: UserTranscriptFailed(
        _name(raw, "item_id"), str((raw.get("error") or {}).get("message") or "")
    ),
    "response.created": lambda raw: ResponseCreated(_name(raw["response"], "id")),
    "response.output_item.added": lambda raw: OutputItemAdded(
        _name(raw, "response_id"), _item(raw["item"])
    ),
    "response.output_audio_transcript.delta": _delta,
    "response.output_text.delta": _delta,
    "response.output_audio_transcript.done": _text_done("transcript", spoken=True),
    "response.output_text.done": _text_done("text", spoken=False),
    "response.output_audio.delta": _audio,
    "response.function_call_arguments.done": lambda raw: CallRequested(
        _name(raw, "response_id"),
        _name(raw, "item_id"),
        _name(raw, "call_id"),
        _words(raw, "name"),
        _words(raw, "arguments") or "{}",
    ),
    "response.done": _response_done,
    "output_audio_buffer.started": lambda raw: PlaybackStarted(_words(raw, "response_id")),
    "output_audio_buffer.stopped": lambda raw: PlaybackStopped(_words(raw, "response_id")),
    "output_audio_buffer.cleared": lambda raw: PlaybackStopped(
        _words(raw, "response_id"), cleared=True
    ),
    "rate_limits.updated": _rate_limits,
    "error": _fault,
}

KNOWN_TYPES = frozenset(_DECODERS)


def decode(frame: bytes | str) -> ProviderEvent:
    """One frame, one fact. Raises `Malformed`."""
    try:
        raw = orjson.loads(frame)
        kind = raw["type"]
        decoder = _DECODERS.get(kind)
        return decoder(raw) if decoder else Unhandled(str(kind))
    except (ValueError, KeyError, TypeError, AttributeError) as fault:
        # Everything a hostile or broken frame can do to the code above.
        raise Malformed(f"not a Realtime event: {type(fault).__name__}") from fault
