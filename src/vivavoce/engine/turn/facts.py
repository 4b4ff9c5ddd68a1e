"""What happens to a Realtime session, as facts: the only way into the turn machine.

Four sources: clients ask, the ears hear, the brain and the mouth answer, and
the media and the clock report. Audio itself never comes in, but for spoken
pieces that pass through untouched on their way to the listener.
"""

from __future__ import annotations

from dataclasses import dataclass

from vivavoce.engine.ports import Position
from vivavoce.wire.brain import Piece
from vivavoce.wire.realtime.client import ClientEvent

# --- Clients ask --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Request:
    """A client's event, and how things stood when it came. What is wrong with it is told to the
    one who sent it."""

    event: ClientEvent
    sender: int
    buffered_ms: int = 0
    """How much sound waits in the buffer."""
    end_ms: int = 0
    """Where the buffer ends."""
    position: Position | None = None


# --- The ears hear ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SpeechSuspected:
    """A first frame sounds like speech; it may turn out to be nothing."""


@dataclass(frozen=True, slots=True)
class SpeechDismissed:
    """It was nothing."""


@dataclass(frozen=True, slots=True)
class SpeechStarted:
    at_ms: int
    position: Position | None = None
    """What the listener had been sent by then, where we pace the sound ourselves."""


@dataclass(frozen=True, slots=True)
class SpeechPaused:
    at_ms: int


@dataclass(frozen=True, slots=True)
class SpeechResumed:
    at_ms: int


@dataclass(frozen=True, slots=True)
class SpeechStopped:
    """The turn is judged to be over."""

    at_ms: int
    position: Position | None = None


@dataclass(frozen=True, slots=True)
class HeardSoFar:
    """The beginning of an item's transcript, as far as it is certain, all of it."""

    item_id: str
    text: str


@dataclass(frozen=True, slots=True)
class HeardAll:
    item_id: str
    text: str
    seconds: float
    position: Position | None = None
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class HearingFailed:
    item_id: str
    message: str
    position: Position | None = None


# --- The brain and the mouth answer ---------------------------------------------------


@dataclass(frozen=True, slots=True)
class Thought:
    """A piece of the brain's answer."""

    response_id: str
    piece: Piece


@dataclass(frozen=True, slots=True)
class Spoken:
    """A clause has become sound: PCM16 at the mouth's rate, `ms` long.

    `words` are its pieces with how long each sounds; none: nobody knows, and
    the clause is one piece.
    """

    response_id: str
    text: str
    pcm: bytes
    ms: int
    words: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class AllSpoken:
    """The mouth has nothing more to say for this response."""

    response_id: str


@dataclass(frozen=True, slots=True)
class AnswerFailed:
    response_id: str
    code: str
    message: str


# --- The media and the clock report ----------------------------------------------------


@dataclass(frozen=True, slots=True)
class Playing:
    response_id: str


@dataclass(frozen=True, slots=True)
class Played:
    response_id: str


@dataclass(frozen=True, slots=True)
class TimerFired:
    name: str
    end_ms: int = 0
    """Where the input buffer ends, for the idle timeout."""
    position: Position | None = None


Fact = (
    Request
    | SpeechSuspected
    | SpeechDismissed
    | SpeechStarted
    | SpeechPaused
    | SpeechResumed
    | SpeechStopped
    | HeardSoFar
    | HeardAll
    | HearingFailed
    | Thought
    | Spoken
    | AllSpoken
    | AnswerFailed
    | Playing
    | Played
    | TimerFired
)
