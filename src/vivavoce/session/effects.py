"""What a session wants done: orders for the runtime, in this rhythm:
urgent sends first (they stop speech), then everything durable in one commit,
then the rest in order. So nothing is told before it is stored, and stopping
speech never waits for the store.
"""

from __future__ import annotations

from dataclasses import dataclass

from vivavoce.wire.events import VoiceEvent
from vivavoce.wire.realtime.client import ClientEvent
from vivavoce.wire.realtime.facts import Usage
from vivavoce.wire.records.talk import Entry, Status


@dataclass(frozen=True, slots=True)
class Send:
    """A frame for the provider. While the sideband is down it is lost, and the machine
    sends again what matters once it is up."""

    command: ClientEvent
    urgent: bool = False


@dataclass(frozen=True, slots=True)
class Record:
    """Store an entry (again, if it changed). A `backfill` never replaces what is there."""

    entry: Entry
    backfill: bool = False


@dataclass(frozen=True, slots=True)
class Tell:
    """An event for those who watch: into the log first, if it is durable."""

    event: VoiceEvent


@dataclass(frozen=True, slots=True)
class Account:
    """Tokens spent, by the session's model or by one `of` another name."""

    usage: Usage
    of: str = ""


@dataclass(frozen=True, slots=True)
class RunTool:
    """Exactly once a call. `arguments` are as the model wrote them."""

    call_id: str
    name: str
    arguments: str
    ordinal: float


@dataclass(frozen=True, slots=True)
class CancelCalls:
    """The user said stop: end these calls, each with its one output."""

    call_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Resolve:
    """The user's own yes or no to what they were asked."""

    approval_id: str
    granted: bool
    words: str


@dataclass(frozen=True, slots=True)
class Told:
    """The user hears this piece of news now."""

    key: str


@dataclass(frozen=True, slots=True)
class Answered:
    """Nothing more comes in answer to what was typed; `reply` is the last that did."""

    item_id: str
    reply: Entry | None


@dataclass(frozen=True, slots=True)
class StartTimer:
    """Replaces a running one of the same name."""

    name: str
    seconds: float


@dataclass(frozen=True, slots=True)
class StopTimer:
    name: str


@dataclass(frozen=True, slots=True)
class Attach:
    """Try once to attach the sideband, after `delay` seconds."""

    call_id: str
    delay: float = 0.0


@dataclass(frozen=True, slots=True)
class HangUp:
    call_id: str


@dataclass(frozen=True, slots=True)
class Close:
    """The session is over: store that, and let go of everything."""

    status: Status
    reason: str


Effect = (
    Send
    | Record
    | Tell
    | Account
    | RunTool
    | CancelCalls
    | Resolve
    | Told
    | Answered
    | StartTimer
    | StopTimer
    | Attach
    | HangUp
    | Close
)
