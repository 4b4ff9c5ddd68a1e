"""What happens to a Realtime session, as facts: the only way into the turn machine.

Four sources: clients ask, the ears hear, the brain and the mouth answer, and
the media and the clock report. Audio itself never comes in, but for spoken
pieces that pass through untouched on their way to the listener.
"""

from __future__ import annotations

from vivavoce.wire.brain import Piece
from vivavoce.wire.realtime.client import ClientEvent, OwnEvent
from vivavoce.wire.values import Value


class Fact(Value):
    """One of those below."""


# --- Clients ask --------------------------------------------------------------------


class Request(Fact):
    """A client's event, and how things stood when it came. What is wrong with it is told to the
    one who sent it."""

    event: ClientEvent | OwnEvent
    sender: int
    buffered_ms: int = 0
    """How much sound waits in the buffer."""
    end_ms: int = 0
    """Where the buffer ends."""


# --- The ears hear ------------------------------------------------------------------


class Milestone(Fact):
    """Of speech, at a time of the session's audio."""

    at_ms: int = 0


class SpeechSuspected(Milestone):
    """A first frame sounds like speech; it may turn out to be nothing."""


class SpeechDismissed(Milestone):
    """It was nothing."""


class SpeechStarted(Milestone):
    """Speech for certain: where it began, less the padding in front."""


class SpeechPaused(Milestone):
    """Silence since then; it may be the end."""


class SpeechResumed(Milestone):
    """It was not the end."""


class SpeechStopped(Milestone):
    """The turn is judged to be over, with the silence that ended it."""

    hold_ms: int = 0
    """For so long nothing of the answer should be heard: the user may go on."""
    open_ms: int = 0
    """For so long the turn is taken back if the user goes on."""


class HeardSoFar(Fact):
    """The beginning of an item's transcript, as far as it is certain, all of it."""

    item_id: str
    text: str


class HeardAll(Fact):
    item_id: str
    text: str
    seconds: float
    confidence: float = 1.0


class HearingFailed(Fact):
    item_id: str
    message: str


# --- The brain and the mouth answer ---------------------------------------------------


class Thought(Fact):
    """A piece of the brain's answer."""

    response_id: str
    piece: Piece


class Spoken(Fact):
    """A clause has become sound: PCM16 at the mouth's rate, `ms` long.

    `words` are its pieces with how long each sounds; none: nobody knows, and
    the clause is one piece.
    """

    response_id: str
    text: str
    pcm: bytes
    ms: int
    words: tuple[tuple[str, int], ...] = ()


class AllSpoken(Fact):
    """The mouth has nothing more to say for this response."""

    response_id: str


class AnswerFailed(Fact):
    response_id: str
    code: str
    message: str


# --- The media and the clock report ----------------------------------------------------


class Playing(Fact):
    response_id: str


class Played(Fact):
    response_id: str


class PeerJoined(Fact):
    """Who plays the sound is there only now."""


class PeerLost(Fact):
    """Whoever listened has vanished, and may come back on another call: what is said from now on
    is heard by nobody. They were silent for so many seconds before, though their microphone was
    open: what was played meanwhile, nobody may have heard."""

    silent: float = 0.0


class CallOver(Fact):
    """The last of all."""


class TimerFired(Fact):
    name: str
    end_ms: int = 0
    """Where the input buffer ends, for the idle timeout."""
