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
    OURS = "our own server's sidebands"


class Order(Value):
    """One of those below."""


class Send(Order):
    """A server event without its `event_id`; `to` may be one client."""

    event: dict[str, Any]
    to: Audience | int = Audience.ALL


class Configure(Order):
    """The ears and the codecs follow."""

    configuration: Configuration


class Transcribe(Order):
    """Write down the buffered audio between two times; it becomes the item's."""

    item_id: str
    start_ms: int
    end_ms: int


class TranscribeClip(Order):
    """Write down audio that came inside an item, in the session's input format."""

    item_id: str
    audio: bytes


class ForgetAudio(Order):
    """Nothing in the buffer before this time is needed any more."""

    before_ms: int


class RestartEars(Order):
    """Whatever was being listened to is off; listen afresh."""


class Listen(Order):
    """The user speaks: write down what is certain of it already, from this time on."""

    item_id: str
    start_ms: int


class Guess(Order):
    """A pause, perhaps the end: get ready for it, and let nobody notice."""

    item_id: str
    start_ms: int
    end_ms: int
    pause_ms: int = 0
    """Where the silence began, by which the ears know it."""


class DropGuess(Order):
    """It was not the end; what was prepared never happened."""


class StopListening(Order):
    """The user has finished, or never meant it."""


class Warm(Order):
    """What the brain will be asked next begins differently now."""


class Answer(Order):
    """Put it to the brain, or say `words` without asking; with a `voice` it is spoken."""

    response_id: str
    ask: Ask | None
    voice: str | None
    speed: float
    words: str = ""


class Interject(Order):
    """Say this before the answer that is being made."""

    response_id: str
    words: str


class StopAnswer(Order):
    response_id: str


class Play(Order):
    """More sound for the listener; `place` says which part of which item it is."""

    response_id: str
    item_id: str
    place: dict[str, Any]
    form: str
    pcm: bytes


class LastSound(Order):
    """The item has all its sound: what a resampler still holds back goes out."""

    place: dict[str, Any]


class FinishPlaying(Order):
    response_id: str


class ClearPlaying(Order):
    """What was not sent yet never will be."""


class Duck(Order):
    quiet: bool


class StartTimer(Order):
    """Again with the same name: the earlier one is off."""

    name: str
    seconds: float


class StopTimer(Order):
    name: str


class EndCall(Order):
    reason: str
