"""What a session wants done: orders for the runtime, in this rhythm:
urgent sends first (they stop speech), then everything durable in one commit,
then the rest in order. So nothing is told before it is stored, and stopping
speech never waits for the store.
"""

from __future__ import annotations

from datetime import datetime

from vivavoce.errors import Level, Recovery
from vivavoce.wire.events import VoiceEvent
from vivavoce.wire.realtime.client import ClientEvent, ListItems
from vivavoce.wire.realtime.facts import Usage
from vivavoce.wire.records.talk import Entry, Status
from vivavoce.wire.records.work import Reach
from vivavoce.wire.values import Value


class Send(Value):
    """A frame for the provider. While the sideband is down it is lost, and the machine
    sends again what matters once it is up."""

    command: ClientEvent | ListItems
    urgent: bool = False
    call_id: str = ""
    """Another call than the one that is on."""


class Record(Value):
    """Store an entry (again, if it changed). A `backfill` never replaces what is there."""

    entry: Entry
    backfill: bool = False


class Tell(Value):
    """An event for those who watch: into the log first, if it is durable."""

    event: VoiceEvent


class Account(Value):
    """Tokens spent, by the session's model or by one `of` another name."""

    usage: Usage
    of: str = ""
    estimated: bool = False
    """Nobody told: the answer ended while we were not there."""


class Failed(Value):
    """Something went wrong: for the log and the figures. `NEXT_PROVIDER` is for whoever has one."""

    code: str
    recovery: Recovery
    level: Level


class RunTool(Value):
    """Exactly once a call. `arguments` are as the model wrote them."""

    call_id: str
    name: str
    arguments: str
    ordinal: float


class CancelCalls(Value):
    """The user said stop: end these calls, each with its one output."""

    call_ids: tuple[str, ...]


class Resolve(Value):
    """The user's own yes or no to what they were asked."""

    approval_id: str
    granted: bool
    words: str
    reach: Reach = "once"


class Told(Value):
    """The user hears this piece of news now."""

    key: str


class Speak(Value):
    """For a client that reads answers out: these words of the item, which begin there in it."""

    item_id: str
    start: int
    text: str


class Confirm(Value):
    """For such a client: the user may say yes or no there by hand, too. Without a question it is
    not wanted any more."""

    approval_id: str
    question: str | None


class Answered(Value):
    """Nothing more comes in answer to what was typed; `reply` is the last that did."""

    item_id: str
    reply: Entry | None


class StartTimer(Value):
    """Replaces a running one of the same name."""

    name: str
    seconds: float


class StopTimer(Value):
    name: str


class Attach(Value):
    """Try once to attach the sideband, after `delay` seconds. `beside`: another one stays."""

    call_id: str
    delay: float = 0.0
    beside: bool = False


class Adopt(Value):
    """This call is the session's from now on, with these items of ours; `since` is when it was
    placed."""

    call_id: str
    seeded: tuple[str, ...]
    since: datetime


class HangUp(Value):
    call_id: str


class Close(Value):
    """The session is over: store that, and let go of everything."""

    status: Status
    reason: str


Effect = (
    Send
    | Record
    | Tell
    | Account
    | Failed
    | RunTool
    | CancelCalls
    | Resolve
    | Told
    | Speak
    | Confirm
    | Answered
    | StartTimer
    | StopTimer
    | Attach
    | Adopt
    | HangUp
    | Close
)
