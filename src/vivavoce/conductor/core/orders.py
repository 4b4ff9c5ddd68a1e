"""What is to be done, in this order."""

from __future__ import annotations

from vivavoce.conductor.core.calls import Entry
from vivavoce.conductor.core.seen import Seen
from vivavoce.wire.values import Value


class Dial(Value):
    """Bring up a line."""


class Transmit(Value):
    text: str


class HangUp(Value):
    code: int


class Wait(Value):
    seconds: float


class Run(Value):
    call_id: str
    name: str
    arguments: str


class Speak(Value):
    call_id: str
    text: str


class Hush(Value):
    """Stop this speech."""

    call_id: str


class Withdraw(Value):
    """Take this question to the user away."""

    call_id: str


class Ask(Value):
    """The app's stub."""

    text: str


class Keep(Value):
    """Before what comes next, so that it is known after a restart."""

    entry: Entry


class Tell(Value):
    """The app."""

    seen: Seen


Order = Dial | Transmit | HangUp | Wait | Run | Speak | Hush | Withdraw | Ask | Keep | Tell
