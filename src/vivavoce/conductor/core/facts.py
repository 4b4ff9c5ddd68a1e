"""What happens to a client: at the line, in the app, in its tools."""

from __future__ import annotations

from vivavoce.wire.values import Value


class Begin(Value):
    """The app wants a connection, also once more after the last was given up."""


class Opened(Value):
    """The line is up."""


class Refused(Value):
    """It did not come up. `status` is of HTTP, where it was told."""

    reason: str
    status: int | None = None


class Received(Value):
    message: str | bytes


class Broke(Value):
    """The line is down, after so many seconds."""

    code: int
    reason: str
    lasted: float


class Rang(Value):
    """The wait is over."""


class Said(Value):
    text: str


class SaidSoFar(Value):
    text: str


class Barged(Value):
    """The user speaks over the assistant."""

    position_ms: int | None
    position_characters: int | None


class Ended(Value):
    """A tool, or speech."""

    call_id: str
    result: str | None
    error: str | None


class Answered(Value):
    """By the app's stub; None where it failed, with `error`."""

    text: str | None
    error: str = ""


class Leave(Value):
    """The app is done."""


Fact = (
    Begin
    | Opened
    | Refused
    | Received
    | Broke
    | Rang
    | Said
    | SaidSoFar
    | Barged
    | Ended
    | Answered
    | Leave
)
