"""How a scripted provider may misbehave: data."""

from __future__ import annotations

from vivavoce.wire.values import Value


class HttpError(Value):
    """The next `times` requests whose path contains `path` get this status."""

    status: int
    times: int = 1
    retry_after: float | None = None
    path: str = ""
    code: str | None = None
    message: str = "The server had an error."


class RefuseAttach(Value):
    """The next `times` sidebands are refused: too early, or the call is gone."""

    times: int = 1
    status: int = 404


class NoLocation(Value):
    """The next `times` calls are answered without a `Location`."""

    times: int = 1


class Drop(Value):
    """The sidebands are gone without a word: no close frame."""


class Close(Value):
    """The sidebands are closed with this code."""

    code: int = 1000
    reason: str = ""


class Delay(Value):
    """The next `events` come `seconds` late each, on the provider's clock."""

    seconds: float
    events: int = 1


class Reorder(Value):
    """The next `events` are held back and then sent last first."""

    events: int


class BadJson(Value):
    """A text frame that breaks off."""


class Garbage(Value):
    """A binary frame that means nothing."""


ProviderFault = HttpError | RefuseAttach | NoLocation
CallFault = Drop | Close | Delay | Reorder | BadJson | Garbage
