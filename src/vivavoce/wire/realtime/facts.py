"""What a Realtime provider tells us (OpenAI's GA protocol), as facts.

Only what the session decides on is kept: audio becomes a length,
configuration stays a mapping, and a type that we do not act on is
`Unhandled`. `wire.decode` makes them from frames.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass, field
from operator import add
from typing import Any


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
    """Tokens. `cached` is a part of `input`, not beside it; sound and pictures are parts of what
    they are named after, and the rest is text."""

    input: int = 0
    output: int = 0
    cached: int = 0
    input_audio: int = 0
    input_image: int = 0
    cached_audio: int = 0
    cached_image: int = 0
    output_audio: int = 0
    seconds: float = 0.0
    """Of sound, where a transcription is billed by them."""

    def __add__(self, other: Usage) -> Usage:
        return Usage(*map(add, astuple(self), astuple(other)))


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
class ItemRetrieved:
    """The answer to our question for an item that joined while the line was down."""

    item: Item


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
    usage: Usage = Usage()


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
    | RateLimits
    | Fault
    | Unhandled
)
