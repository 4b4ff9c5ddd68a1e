"""What happens to a Realtime session, as facts: the only way into the turn machine.

Four sources: clients ask, the ears hear, the brain and the mouth answer, and
the media and the clock report. Audio itself never comes in, but for spoken
pieces that pass through untouched on their way to the listener.
"""

from __future__ import annotations

from vivavoce.engine.ports import Position
from vivavoce.wire.brain import Piece
from vivavoce.wire.realtime.client import ClientEvent
from vivavoce.wire.values import Value

# --- Clients ask --------------------------------------------------------------------


class Request(Value):
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


class SpeechSuspected(Value):
    """A first frame sounds like speech; it may turn out to be nothing."""


class SpeechDismissed(Value):
    """It was nothing."""


class SpeechStarted(Value):
    at_ms: int
    position: Position | None = None
    """What the listener had been sent by then, where we pace the sound ourselves."""


class SpeechPaused(Value):
    at_ms: int


class SpeechResumed(Value):
    at_ms: int


class SpeechStopped(Value):
    """The turn is judged to be over."""

    at_ms: int
    position: Position | None = None


class HeardSoFar(Value):
    """The beginning of an item's transcript, as far as it is certain, all of it."""

    item_id: str
    text: str


class HeardAll(Value):
    item_id: str
    text: str
    seconds: float
    position: Position | None = None
    confidence: float = 1.0


class HearingFailed(Value):
    item_id: str
    message: str
    position: Position | None = None


# --- The brain and the mouth answer ---------------------------------------------------


class Thought(Value):
    """A piece of the brain's answer."""

    response_id: str
    piece: Piece


class Spoken(Value):
    """A clause has become sound: PCM16 at the mouth's rate, `ms` long.

    `words` are its pieces with how long each sounds; none: nobody knows, and
    the clause is one piece.
    """

    response_id: str
    text: str
    pcm: bytes
    ms: int
    words: tuple[tuple[str, int], ...] = ()


class AllSpoken(Value):
    """The mouth has nothing more to say for this response."""

    response_id: str


class AnswerFailed(Value):
    response_id: str
    code: str
    message: str


# --- The media and the clock report ----------------------------------------------------


class Playing(Value):
    response_id: str


class Played(Value):
    response_id: str


class TimerFired(Value):
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
