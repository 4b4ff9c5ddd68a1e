"""What a Realtime provider tells us (OpenAI's GA protocol), as facts.

`decode` turns one frame into one of these. Only what the session decides on
is kept: audio becomes a length, configuration stays a mapping. A frame that
is not what the protocol says is a `Malformed` error, never a crash; a type
that we do not act on is `Unhandled`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

BYTES_PER_MS = 24_000 * 2 / 1000  # PCM16 mono at 24 kHz


class Malformed(ValueError):
    """The frame is not valid; the session lives on."""


@dataclass(frozen=True, slots=True)
class Item:
    """A conversation item, flattened to what we use."""

    id: str
    type: str
    role: str | None = None
    status: str | None = None
    text: str = ""
    audio: bool = False
    name: str | None = None
    call_id: str | None = None
    arguments: str | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """`cached` is a part of `input`, not beside it."""

    input: int = 0
    output: int = 0
    cached: int = 0


@dataclass(frozen=True, slots=True)
class Configured:
    """`session.created` and `session.updated`: the configuration in force."""

    created: bool
    session: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UserSpeechStarted:
    item_id: str
    audio_start_ms: int = 0


@dataclass(frozen=True, slots=True)
class UserSpeechStopped:
    item_id: str
    audio_end_ms: int = 0


@dataclass(frozen=True, slots=True)
class InputCommitted:
    item_id: str
    previous_item_id: str | None = None


@dataclass(frozen=True, slots=True)
class ItemAdded:
    item: Item
    previous_item_id: str | None = None


@dataclass(frozen=True, slots=True)
class ItemDeleted:
    item_id: str


@dataclass(frozen=True, slots=True)
class ItemTruncated:
    item_id: str
    audio_end_ms: int


@dataclass(frozen=True, slots=True)
class UserTranscriptDelta:
    item_id: str
    delta: str


@dataclass(frozen=True, slots=True)
class UserTranscript:
    item_id: str
    transcript: str


@dataclass(frozen=True, slots=True)
class UserTranscriptFailed:
    item_id: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class ResponseCreated:
    response_id: str


@dataclass(frozen=True, slots=True)
class OutputItemAdded:
    response_id: str
    item: Item


@dataclass(frozen=True, slots=True)
class AssistantDelta:
    response_id: str
    item_id: str
    delta: str


@dataclass(frozen=True, slots=True)
class AssistantTranscript:
    """All that was generated for an item; `spoken` when it is the text of audio."""

    response_id: str
    item_id: str
    text: str
    spoken: bool = True


@dataclass(frozen=True, slots=True)
class AudioReceived:
    """Audio of an item went by on this line; only its length is kept."""

    item_id: str
    ms: float


@dataclass(frozen=True, slots=True)
class CallRequested:
    response_id: str
    item_id: str
    call_id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ResponseDone:
    response_id: str
    status: str = "completed"
    reason: str | None = None
    error: str | None = None
    items: tuple[Item, ...] = ()
    usage: Usage = Usage()


@dataclass(frozen=True, slots=True)
class PlaybackStarted:
    """WebRTC only: the peer's speaker has begun with this response."""

    response_id: str


@dataclass(frozen=True, slots=True)
class PlaybackStopped:
    """WebRTC only: all of it was played (`cleared`: cut off instead)."""

    response_id: str
    cleared: bool = False


@dataclass(frozen=True, slots=True)
class RateLimit:
    name: str
    limit: int
    remaining: int
    reset_seconds: float


@dataclass(frozen=True, slots=True)
class RateLimits:
    limits: tuple[RateLimit, ...]


@dataclass(frozen=True, slots=True)
class Fault:
    """An `error` event. `event_id` is that of our own frame which caused it."""

    code: str
    message: str
    event_id: str | None = None


@dataclass(frozen=True, slots=True)
class Unhandled:
    type: str


ProviderEvent = (
    Configured
    | UserSpeechStarted
    | UserSpeechStopped
    | InputCommitted
    | ItemAdded
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
    | RateLimits
    | Fault
    | Unhandled
)

Raw = Mapping[str, Any]


def _item(raw: Raw) -> Item:
    parts = [part for part in raw.get("content") or () if isinstance(part, Mapping)]
    texts = [part.get("text") or part.get("transcript") or "" for part in parts]
    return Item(
        id=raw["id"],
        type=raw.get("type", "message"),
        role=raw.get("role"),
        status=raw.get("status"),
        text=" ".join(text for text in texts if text),
        audio=any("audio" in str(part.get("type")) for part in parts),
        name=raw.get("name"),
        call_id=raw.get("call_id"),
        arguments=raw.get("arguments"),
    )


def _added(raw: Raw) -> ItemAdded:
    return ItemAdded(_item(raw["item"]), raw.get("previous_item_id"))


def _usage(raw: Raw) -> Usage:
    details = raw.get("input_token_details") or {}
    return Usage(
        int(raw.get("input_tokens") or 0),
        int(raw.get("output_tokens") or 0),
        int(details.get("cached_tokens") or 0),
    )


def _response_done(raw: Raw) -> ResponseDone:
    response = raw["response"]
    details = response.get("status_details") or {}
    error = details.get("error") or {}
    return ResponseDone(
        response_id=response["id"],
        status=response.get("status") or "completed",
        reason=details.get("reason"),
        error=error.get("code") or error.get("type"),
        items=tuple(_item(item) for item in response.get("output") or () if item.get("id")),
        usage=_usage(response.get("usage") or {}),
    )


def _rate_limits(raw: Raw) -> RateLimits:
    return RateLimits(
        tuple(
            RateLimit(
                str(limit.get("name") or ""),
                int(limit.get("limit") or 0),
                int(limit.get("remaining") or 0),
                float(limit.get("reset_seconds") or 0.0),
            )
            for limit in raw.get("rate_limits") or ()
        )
    )


def _fault(raw: Raw) -> Fault:
    error = raw.get("error") or {}
    code = error.get("code") or error.get("type") or "unknown_error"
    return Fault(str(code), str(error.get("message") or ""), error.get("event_id"))


def _text_done(key: str, spoken: bool) -> Callable[[Raw], AssistantTranscript]:
    return lambda raw: AssistantTranscript(
        raw["response_id"], raw["item_id"], raw.get(key) or "", spoken
    )


def _delta(raw: Raw) -> AssistantDelta:
    return AssistantDelta(raw["response_id"], raw["item_id"], raw.get("delta") or "")


def _audio(raw: Raw) -> AudioReceived:
    # Base64 carries three bytes in four characters; the sound itself is not for us.
    return AudioReceived(raw["item_id"], len(raw.get("delta") or "") * 0.75 / BYTES_PER_MS)


_DECODERS: dict[str, Callable[[Raw], ProviderEvent]] = {
    "session.created": lambda raw: Configured(True, raw.get("session") or {}),
    "session.updated": lambda raw: Configured(False, raw.get("session") or {}),
    "input_audio_buffer.speech_started": lambda raw: UserSpeechStarted(
        raw["item_id"], int(raw.get("audio_start_ms") or 0)
    ),
    "input_audio_buffer.speech_stopped": lambda raw: UserSpeechStopped(
        raw["item_id"], int(raw.get("audio_end_ms") or 0)
    ),
    "input_audio_buffer.committed": lambda raw: InputCommitted(
        raw["item_id"], raw.get("previous_item_id")
    ),
    "conversation.item.added": _added,
    "conversation.item.deleted": lambda raw: ItemDeleted(raw["item_id"]),
    "conversation.item.truncated": lambda raw: ItemTruncated(
        raw["item_id"], int(raw.get("audio_end_ms") or 0)
    ),
    "conversation.item.input_audio_transcription.delta": lambda raw: UserTranscriptDelta(
        raw["item_id"], raw.get("delta") or ""
    ),
    "conversation.item.input_audio_transcription.completed": lambda raw: UserTranscript(
        raw["item_id"], raw.get("transcript") or ""
    ),
    "conversation.item.input_audio_transcription.failed": lambda raw: UserTranscriptFailed(
        raw["item_id"], str((raw.get("error") or {}).get("message") or "")
    ),
    "response.created": lambda raw: ResponseCreated(raw["response"]["id"]),
    "response.output_item.added": lambda raw: OutputItemAdded(
        raw["response_id"], _item(raw["item"])
    ),
    "response.output_audio_transcript.delta": _delta,
    "response.output_text.delta": _delta,
    "response.output_audio_transcript.done": _text_done("transcript", spoken=True),
    "response.output_text.done": _text_done("text", spoken=False),
    "response.output_audio.delta": _audio,
    "response.function_call_arguments.done": lambda raw: CallRequested(
        raw["response_id"],
        raw["item_id"],
        raw["call_id"],
        raw.get("name") or "",
        raw.get("arguments") or "{}",
    ),
    "response.done": _response_done,
    "output_audio_buffer.started": lambda raw: PlaybackStarted(raw.get("response_id") or ""),
    "output_audio_buffer.stopped": lambda raw: PlaybackStopped(raw.get("response_id") or ""),
    "output_audio_buffer.cleared": lambda raw: PlaybackStopped(
        raw.get("response_id") or "", cleared=True
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
