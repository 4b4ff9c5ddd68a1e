"""What the turn machine wants done. The session's shell does it, in order, at once."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from vivavoce.engine.turn.configuration import Configuration
from vivavoce.wire.brain import Ask


class Audience(Enum):
    """Who gets a server event."""

    ALL = "everyone on the call"
    PEER = "whoever has the microphone"
    OBSERVERS = "everyone else: sidebands"


@dataclass(frozen=True, slots=True)
class Send:
    """A server event without its `event_id`; `to` may be one client."""

    event: dict[str, Any]
    to: Audience | int = Audience.ALL


@dataclass(frozen=True, slots=True)
class Configure:
    """The ears and the codecs follow."""

    configuration: Configuration


@dataclass(frozen=True, slots=True)
class Transcribe:
    """Write down the buffered audio between two times; it becomes the item's."""

    item_id: str
    start_ms: int
    end_ms: int


@dataclass(frozen=True, slots=True)
class TranscribeClip:
    """Write down audio that came inside an item, in the session's input format."""

    item_id: str
    audio: bytes


@dataclass(frozen=True, slots=True)
class ForgetAudio:
    """Nothing in the buffer before this time is needed any more."""

    before_ms: int


@dataclass(frozen=True, slots=True)
class RestartEars:
    """Whatever was being listened to is off; listen afresh."""


@dataclass(frozen=True, slots=True)
class Listen:
    """The user speaks: write down what is certain of it already, from this time on."""

    item_id: str
    start_ms: int


@dataclass(frozen=True, slots=True)
class Guess:
    """A pause, perhaps the end: get ready for it, and let nobody notice."""

    item_id: str
    start_ms: int
    end_ms: int


@dataclass(frozen=True, slots=True)
class DropGuess:
    """It was not the end; what was prepared never happened."""


@dataclass(frozen=True, slots=True)
class StopListening:
    """The user has finished, or never meant it."""


@dataclass(frozen=True, slots=True)
class Warm:
    """What the brain will be asked next begins differently now."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Put it to the brain, or say `words` without asking; with a `voice` it is spoken."""

    response_id: str
    ask: Ask | None
    voice: str | None
    speed: float
    words: str = ""


@dataclass(frozen=True, slots=True)
class Interject:
    """Say this before the answer that is being made."""

    response_id: str
    words: str


@dataclass(frozen=True, slots=True)
class StopAnswer:
    response_id: str


@dataclass(frozen=True, slots=True)
class Play:
    """More sound for the listener; `place` says which part of which item it is."""

    response_id: str
    item_id: str
    place: dict[str, Any]
    form: str
    pcm: bytes


@dataclass(frozen=True, slots=True)
class LastSound:
    """The item has all its sound: what a resampler still holds back goes out."""

    place: dict[str, Any]


@dataclass(frozen=True, slots=True)
class FinishPlaying:
    response_id: str


@dataclass(frozen=True, slots=True)
class ClearPlaying:
    """What was not sent yet never will be."""


@dataclass(frozen=True, slots=True)
class Duck:
    quiet: bool


@dataclass(frozen=True, slots=True)
class StartTimer:
    """Again with the same name: the earlier one is off."""

    name: str
    seconds: float


@dataclass(frozen=True, slots=True)
class StopTimer:
    name: str


@dataclass(frozen=True, slots=True)
class EndCall:
    reason: str


Order = (
    Send
    | Configure
    | Transcribe
    | TranscribeClip
    | ForgetAudio
    | RestartEars
    | Listen
    | StopListening
    | Guess
    | DropGuess
    | Warm
    | Answer
    | Interject
    | StopAnswer
    | Play
    | LastSound
    | FinishPlaying
    | ClearPlaying
    | Duck
    | StartTimer
    | StopTimer
    | EndCall
)
