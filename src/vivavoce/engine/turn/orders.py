"""What the turn machine wants done. The session's shell does it, in order, at once."""

from __future__ import annotations

from enum import Enum
from typing import Any

from vivavoce.engine.turn.configuration import Configuration
from vivavoce.wire.brain import Ask
from vivavoce.wire.values import Value


class Audience(Enum):
    """Who gets a server event."""

    ALL = "everyone on the call"
    PEER = "whoever has the microphone"
    OBSERVERS = "everyone else: sidebands"


class Send(Value):
    """A server event without its `event_id`; `to` may be one client."""

    event: dict[str, Any]
    to: Audience | int = Audience.ALL


class Configure(Value):
    """The ears and the codecs follow."""

    configuration: Configuration


class Transcribe(Value):
    """Write down the buffered audio between two times; it becomes the item's."""

    item_id: str
    start_ms: int
    end_ms: int


class TranscribeClip(Value):
    """Write down audio that came inside an item, in the session's input format."""

    item_id: str
    audio: bytes


class ForgetAudio(Value):
    """Nothing in the buffer before this time is needed any more."""

    before_ms: int


class RestartEars(Value):
    """Whatever was being listened to is off; listen afresh."""


class Listen(Value):
    """The user speaks: write down what is certain of it already, from this time on."""

    item_id: str
    start_ms: int


class Guess(Value):
    """A pause, perhaps the end: get ready for it, and let nobody notice."""

    item_id: str
    start_ms: int
    end_ms: int


class DropGuess(Value):
    """It was not the end; what was prepared never happened."""


class StopListening(Value):
    """The user has finished, or never meant it."""


class Warm(Value):
    """What the brain will be asked next begins differently now."""


class Answer(Value):
    """Put it to the brain, or say `words` without asking; with a `voice` it is spoken."""

    response_id: str
    ask: Ask | None
    voice: str | None
    speed: float
    words: str = ""


class Interject(Value):
    """Say this before the answer that is being made."""

    response_id: str
    words: str


class StopAnswer(Value):
    response_id: str


class Play(Value):
    """More sound for the listener; `place` says which part of which item it is."""

    response_id: str
    item_id: str
    place: dict[str, Any]
    form: str
    pcm: bytes


class LastSound(Value):
    """The item has all its sound: what a resampler still holds back goes out."""

    place: dict[str, Any]


class FinishPlaying(Value):
    response_id: str


class ClearPlaying(Value):
    """What was not sent yet never will be."""


class Duck(Value):
    quiet: bool


class StartTimer(Value):
    """Again with the same name: the earlier one is off."""

    name: str
    seconds: float


class StopTimer(Value):
    name: str


class EndCall(Value):
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
