"""How a scripted provider may misbehave: data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HttpError:
    """The next `times` requests whose path contains `path` get this status."""

    status: int
    times: int = 1
    retry_after: float | None = None
    path: str = ""
    code: str | None = None
    message: str = "The server had an error."


@dataclass(frozen=True, slots=True)
class RefuseAttach:
    """The next `times` sidebands are refused: too early, or the call is gone."""

    times: int = 1
    status: int = 404


@dataclass(frozen=True, slots=True)
class NoLocation:
    """The next `times` calls are answered without a `Location`."""

    times: int = 1


@dataclass(frozen=True, slots=True)
class Drop:
    """The sidebands are gone without a word: no close frame."""


@dataclass(frozen=True, slots=True)
class Close:
    """The sidebands are closed with this code."""

    code: int = 1000
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Delay:
    """The next `events` come `seconds` late each, on the provider's clock."""

    seconds: float
    events: int = 1


@dataclass(frozen=True, slots=True)
class Reorder:
    """The next `events` are held back and then sent last first."""

    events: int


@dataclass(frozen=True, slots=True)
class BadJson:
    """A text frame that breaks off."""


@dataclass(frozen=True, slots=True)
class Garbage:
    """A binary frame that means nothing."""


ProviderFault = HttpError | RefuseAttach | NoLocation
CallFault = Drop | Close | Delay | Reorder | BadJson | Garbage
