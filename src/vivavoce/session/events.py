"""What happens to a session: facts from the provider, from our own side, and wishes of the user.

Facts from the provider are those of `wire.realtime`. The rest is here:
results, timers and lost connections come back into the same inbox as everything else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vivavoce.language.en.gist import Gist
from vivavoce.session.policy import Window
from vivavoce.wire.hints import Briefing
from vivavoce.wire.realtime.facts import ProviderEvent
from vivavoce.wire.records.talk import Entry, Status
from vivavoce.wire.values import Record, Value


class Created(Value):
    """The session exists; nobody is connected yet."""


class CallPlaced(Value):
    """There is a new call at the provider. `history` is told to the model first;
    `greeting` is what it should then say by itself, if anything."""

    call_id: str
    instructions: str | None = None
    history: tuple[Mapping[str, Any], ...] = ()
    history_tokens: int = 0
    gist: Gist = Gist()
    """Of what was said before the history."""
    greeting: str | None = None
    bare: bool = True
    """The greeting tells nothing else: whoever was answered before it needs none."""
    say: str | None = None
    """These very words, in place of a greeting."""
    running: str = ""
    """Said to who comes back after a loss: which work goes on."""
    reason: str = "start"
    briefing: Briefing | None = None
    """What is known of the user now."""
    beside: bool = False
    """The old call goes on until this one is ready and nobody speaks."""
    provider: str = ""
    """Whose call it is."""
    model: str = ""
    because: str = ""
    """Why it is not the provider that was asked first: a code of its fault."""
    window: Window | None = None
    """How much its model reads, where that is another than before."""


class Beside(Value):
    """From the sideband of the call that is to take over; whatever it is."""

    event: Any


class MoveWanted(Value):
    """The user wants another provider to speak: a call of its is to take this one's place."""

    provider: str


class MoveFailed(Value):
    """That provider does not take the session."""

    provider: str


class CallSurvived(Record):
    """After a restart of ours: the call may still be up, so attach to it as after a loss."""

    call_id: str
    orphans: tuple[str, ...] = ()
    """Calls that had started and whose outcome nobody knows."""
    outcomes: tuple[tuple[str, str], ...] = ()
    """Calls that were settled last, with what the model should read: it may not have."""
    typed: tuple[tuple[str, str], ...] = ()
    """Written messages without an answer, our item and its words: the call may not have them."""
    known_items: tuple[tuple[str, float], ...] = ()
    """What the conversation had, with its places."""
    known_calls: tuple[str, ...] = ()
    seeded: tuple[str, ...] = ()
    """Items of ours from the beginning of the call."""
    items: tuple[Mapping[str, Any], ...] = ()
    """What the call has, as far as it can be known: its history, and what was said since."""
    gist: Gist = Gist()
    """Of what was said before."""
    age: float = 0.0
    """Seconds since the call was placed."""
    provider: str = ""
    sounding: tuple[Entry, ...] = ()
    """Answers that were being heard: what is stored of them was heard by then."""
    over: bool = False
    """The call went down with us."""


class Flush(Value):
    """Store what is being said as far as it got: another call may be about to take over.
    Should it come to nothing, this one goes on."""


class SidebandUp(Value):
    """The sideband is attached."""


class SidebandLost(Value):
    """The sideband ended. A clean close means that the browser hung up, unless the provider says
    that it ended the call itself (`expired`)."""

    code: int
    hung_up: bool
    expired: bool = False


class AttachFailed(Value):
    """One try to attach came to nothing."""

    message: str = ""


class BadFrame(Value):
    """The provider sent something that is not the protocol."""


class ToolFinished(Value):
    """`output` is what the model gets to read."""

    call_id: str
    output: str
    pictures: tuple[str, ...] = ()
    """As data URLs, for a model that can look at them."""
    files_changed: tuple[str, ...] = ()


class TaskStarted(Value):
    """A call's work goes on beyond its turn."""

    task_id: str


class TaskFinished(Value):
    """And the user knows what came of it."""

    task_id: str


class News(Value):
    """Something the user should hear once: how a task ended, or what it asks.

    `words` are for the model to tell in its own; `settles` is a task that is over with it.
    """

    key: str
    words: str
    settles: str | None = None
    say: str | None = None
    """These very words are said at once, even while a tool runs."""


class NewsOver(Value):
    """Nobody wants to hear it any more; what is being said of it goes on."""

    key: str


class Update(Value):
    """Something that the model should know, and nobody need say (seed 000 §5.3): at once where it
    changes a file that this talk has read or changed, anything else at the next pause, where the
    latest of a `key` counts."""

    key: str
    words: str
    files: tuple[str, ...] = ()


class ApprovalAsked(Value):
    """`question` is said as it is, and the user's next yes or no answers it."""

    approval_id: str
    question: str


class ApprovalSettled(Value):
    """Answered here, by a click, or too late."""

    approval_id: str


class TimerFired(Value):
    name: str


class TypedText(Value):
    """The user wrote something; `item_id` is one of ours."""

    item_id: str
    text: str
    stored: Entry | None = None
    """What a session before this one stored and did not answer: it is not stored again, and
    wants nothing but its answer."""


class Spoken(Value):
    """A client that reads answers out is done with this piece, or could not do it."""

    item_id: str
    start: int
    failed: bool = False


class Overheard(Value):
    """The user begins to say something, at a client that writes down what they say. `over`: they
    do not, after all: it was a noise, or their hand answered."""

    over: bool = False


class Interrupted(Value):
    """The user spoke while a client read an answer out: what of the piece they had heard, in
    characters or milliseconds, where it knows. `item_id`: of that answer, and of no other."""

    item_id: str = ""
    characters: int | None = None
    ms: int | None = None


class Shown(Value):
    """The client's own call showed what the sideband missed: an entry that it handed in, and that
    is stored. An answer of which it tells was heard to its end."""

    item_id: str
    entry: Entry


class BudgetSpent(Value):
    """What the user may spend in a day is spent: say so, and come to an end."""


class Reconfigure(Value):
    """Merge into the configuration; `fields` are the names the user knows."""

    changes: Mapping[str, Any]
    fields: tuple[str, ...]


class Inform(Value):
    """What is known of the user was changed from elsewhere. It is no sign of life."""

    briefing: Briefing


TAKEN_OVER = "taken_over"
"""Its conversation goes on where its user wanted it."""


class End(Value):
    """`reason`: see `wire.events.SessionEnded`."""

    reason: str = "user_ended"
    status: Status = Status.COMPLETED


OwnEvent = (
    Created
    | CallPlaced
    | CallSurvived
    | Beside
    | MoveWanted
    | MoveFailed
    | Flush
    | SidebandUp
    | SidebandLost
    | AttachFailed
    | BadFrame
    | ToolFinished
    | TaskStarted
    | TaskFinished
    | News
    | NewsOver
    | Update
    | ApprovalAsked
    | ApprovalSettled
    | TimerFired
    | TypedText
    | Spoken
    | Overheard
    | Interrupted
    | Shown
    | BudgetSpent
    | Reconfigure
    | Inform
    | End
)

SessionEvent = ProviderEvent | OwnEvent
