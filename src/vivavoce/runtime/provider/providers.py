"""The providers of a server, by name, in the order in which they are asked.

Each has an address, a model and a key of its own; nothing of one is ever shown to another. One
that failed rests for a while: whoever comes then is not kept waiting for it again.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, TypeVar

from vivavoce.errors import (
    ProviderError,
    ProviderRateLimited,
    ProviderRefused,
    Unavailable,
    VivavoceError,
    found,
)
from vivavoce.runtime.ports import Clock
from vivavoce.runtime.provider.openai import OpenAIProvider
from vivavoce.session.policy import Setup
from vivavoce.wire.records.talk import VoiceSession
from vivavoce.wire.values import Record

log = logging.getLogger(__name__)

T = TypeVar("T")

REST_SECONDS = 60.0
_QUOTA_STATUS = 429


class Answer(Record):
    """Who answered; `because` is why the one that was asked first did not."""

    provider: OpenAIProvider
    result: Any
    because: str = ""


class Providers:
    """`every` that there is, at least one, the first of them first. Who takes over from it, and in
    which order, is the agent's to say (`fallbacks`), and may be another list tomorrow; a session
    that has one which is not on it any more keeps it."""

    def __init__(
        self,
        every: Sequence[OpenAIProvider],
        clock: Clock,
        *,
        fallbacks: Callable[[], Sequence[str]],
        wake: Callable[[str], Awaitable[None]] | None = None,
    ) -> None:
        self.every = tuple(every)
        self._by_name = {provider.name: provider for provider in reversed(self.every)}
        self._clock = clock
        self._fallbacks, self._wake = fallbacks, wake
        self._resting: dict[str, tuple[float, str]] = {}  # until when, and why

    @property
    def names(self) -> tuple[str, ...]:
        """In the order in which they are asked."""
        first = self.every[0].name
        others = [name for name in self._fallbacks() if name in self._by_name and name != first]
        return (first, *dict.fromkeys(others))

    @property
    def fallbacks(self) -> tuple[OpenAIProvider, ...]:
        return tuple(self._by_name[name] for name in self.names[1:])

    def named(self, name: str) -> OpenAIProvider:
        """Raises `NotFound`."""
        known = self._by_name.get(name) if name in self.names else None
        return found(known, "Provider", name)

    def of(self, session: VoiceSession) -> OpenAIProvider:
        """The one that it has; the first, if that is gone from the settings."""
        return self.at(str(session.metadata.get("provider")))

    def at(self, name: str) -> OpenAIProvider:
        return self._by_name.get(name, self.every[0])

    def after(self, name: str, but: Iterable[str] = ()) -> list[str]:
        """It, and who may take its place, without those that the session is done with."""
        gone = set(but)
        order = [name, *(one for one in self.names if one != name)]
        return [one for one in order if one not in gone] or [name]

    async def first(
        self, names: Sequence[str], ask: Callable[[OpenAIProvider], Awaitable[T]]
    ) -> Answer:
        """What the first that can answers. Raises the fault of the one that was asked first, if
        nobody can."""
        awake = [name for name in names if self._rests(name) is None]
        because, fault = "", None
        for name in [*awake, *(one for one in names if one not in awake)]:
            provider = self.at(name)
            try:
                if self._wake is not None:
                    await self._wake(name)
                result = await ask(provider)
            except (ProviderError, Unavailable) as raised:
                fault = fault or raised
                because = because or why(raised)
                self._failed(name, raised, alone=len(names) == 1)
                continue
            self._resting.pop(name, None)
            if name != names[0]:
                rests = self._rests(names[0])
                because = because or (rests[1] if rests else "")
            return Answer(
                provider=provider, result=result, because=because if name != names[0] else ""
            )
        assert fault is not None
        raise fault

    def _rests(self, name: str) -> tuple[float, str] | None:
        resting = self._resting.get(name)
        return resting if resting and resting[0] > self._clock.monotonic() else None

    def _failed(self, name: str, fault: VivavoceError, *, alone: bool) -> None:
        if not alone and isinstance(fault, ProviderError):  # a full engine is no broken one
            self._resting[name] = (self._clock.monotonic() + REST_SECONDS, why(fault))
        log.warning("A provider did not answer: %s", fault.message, extra={"provider": name})

    def refused(self, name: str, code: str) -> None:
        """It failed in the middle of a session."""
        self._resting[name] = (self._clock.monotonic() + REST_SECONDS, code)


def why(fault: VivavoceError) -> str:
    """In a word, for events and for what is said."""
    code = fault.details.get("code")
    if isinstance(fault, ProviderRateLimited):
        return "rate_limit_exceeded"
    if isinstance(fault, ProviderRefused):
        quota = code == "insufficient_quota" or fault.details.get("status") == _QUOTA_STATUS
        return "insufficient_quota" if quota else "refused"
    if isinstance(fault, ProviderError):
        return "unreachable"
    return "busy"


def at(setup: Setup, provider: OpenAIProvider) -> Setup:
    """The configuration as this provider is given it: with its own model."""
    return setup.merged({"model": provider.model})
