"""Who may do what: the server's own key of this start, users' keys, and client secrets.

A client secret opens one session, once. One that our own server minted is
locked: whoever holds it can talk and listen, and change nothing.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from vivavoce.engine.turn.configuration.all import Configuration

DEFAULT_SECONDS, MIN_SECONDS, MAX_SECONDS = 600, 10, 7200  # OpenAI's
_MOST = 10_000


@dataclass(frozen=True, slots=True)
class Secret:
    """What a client secret opens."""

    session_id: str
    configuration: Configuration
    locked: bool
    call_id: str | None = None
    """A call that waits for this very client."""


@dataclass(frozen=True, slots=True)
class Access:
    """Someone who may come in. `own`: our own voice server; `secret`: only to this session."""

    own: bool = False
    secret: Secret | None = None


class Keys:
    """`known` says whether a bearer's key (None: no key at all) is good here."""

    def __init__(
        self,
        own: str,
        known: Callable[[str | None], bool],
        *,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._own, self._known, self._now = own.encode(), known, now
        self._secrets: OrderedDict[bytes, tuple[Secret, float]] = OrderedDict()

    def issue(self, secret: Secret, seconds: int) -> tuple[str, int]:
        """The value, only told here, and when it lapses (Unix time)."""
        self._sweep()
        value = "ek_" + secrets.token_urlsafe(32)
        until = self._now() + seconds
        self._secrets[_digest(value)] = (secret, until)
        return value, int(until)

    def access(self, key: str | None) -> Access | None:
        """None: not with this key. Asking spends nothing; `spend` does."""
        if key is not None and key.startswith("ek_"):
            found = self._secrets.get(_digest(key))
            if found is None or found[1] < self._now():
                return None
            return Access(secret=found[0])
        if key is not None and hmac.compare_digest(key.encode(), self._own):
            return Access(own=True)
        return Access() if self._known(key) else None

    @contextmanager
    def spend(self, key: str | None) -> Iterator[None]:
        """A client secret opens once; what could not be opened with it leaves it good."""
        digest = _digest(key or "")
        held = self._secrets.pop(digest, None)
        try:
            yield
        except BaseException:
            if held is not None:
                self._secrets[digest] = held
            raise

    def _sweep(self) -> None:
        now = self._now()
        for key in [key for key, (_, until) in self._secrets.items() if until < now]:
            del self._secrets[key]
        while len(self._secrets) >= _MOST:
            self._secrets.popitem(last=False)


def _digest(value: str) -> bytes:
    return hashlib.sha256(value.encode()).digest()
