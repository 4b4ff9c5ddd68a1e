"""Who may do what: the server's own key of this start, users' keys, and client secrets.

A client secret opens sessions of one configuration until it lapses, as OpenAI's
does; where the operator wants it so, only one. One that our own server minted
always opens only one, and is locked: whoever holds it can talk and listen, and
change nothing.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from vivavoce.engine.turn.configuration import Configuration
from vivavoce.errors import Unauthorized
from vivavoce.wire.values import Value

DEFAULT_SECONDS, MIN_SECONDS, MAX_SECONDS = 600, 10, 7200  # OpenAI's
_MOST = 10_000


class Secret(Value):
    """What a client secret opens."""

    session_id: str | None
    """Of the first session that it opens; those after it have ids of their own."""
    configuration: Configuration
    locked: bool
    call_id: str | None = None
    """A call that waits for this very client."""


class Access(Value):
    """Someone who may come in. `own`: our own voice server; `secret`: only to this session."""

    own: bool = False
    secret: Secret | None = None

    @property
    def ours(self) -> bool:
        """Our own voice server, or a page that it let in."""
        return self.own or (self.secret is not None and self.secret.locked)


class Keys:
    """`token` is the key of clients, as long as there is one, and `others` knows more of them;
    `anyone` is let in without. Users with a JWT of the voice server are not among them: whoever
    has such a key can take a seat on every call, so it is the operators'."""

    def __init__(
        self,
        own: str,
        *,
        token: str = "",
        others: Callable[[str], bool] = lambda key: False,
        anyone: bool = False,
        single_use: bool = False,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._own, self._token, self._anyone = own, token, anyone
        self._others = others
        self._single_use, self._now = single_use, now
        self._secrets: OrderedDict[bytes, tuple[Secret, float]] = OrderedDict()

    def issue(self, secret: Secret, seconds: int) -> tuple[str, int]:
        """The value, only told here, and when it lapses (Unix time)."""
        self._sweep()
        value = "ek_" + secrets.token_urlsafe(32)
        until = self._now() + seconds
        self._secrets[_digest(value)] = (secret, until)
        return value, int(until)

    def access(self, key: str | None) -> Access:
        """Raises `Unauthorized`. Asking spends nothing; `opening` does."""
        if key is not None and key.startswith("ek_"):
            found = self._secrets.get(_digest(key))
            if found is not None and found[1] >= self._now():
                return Access(secret=found[0])
        elif _same(key, self._own):
            return Access(own=True)
        elif self._anyone or _same(key, self._token) or (key and self._others(key)):
            return Access()
        raise Unauthorized("Incorrect API key provided, or a client secret that is spent.")

    def whole(self, key: str | None) -> Access:
        """For what is no session: a client secret is not enough. Raises `Unauthorized`."""
        access = self.access(key)
        if access.secret is not None:
            raise Unauthorized("A client secret opens sessions, and nothing else.")
        return access

    @contextmanager
    def opening(self, key: str | None) -> Iterator[Access]:
        """Inside, a session is opened with this key; what fails leaves a client secret as it was.
        Raises `Unauthorized`."""
        access, digest = self.access(key), _digest(key or "")
        secret = access.secret
        if secret is None:
            yield access
            return
        held = self._secrets.pop(digest)
        if not (self._single_use or secret.locked or secret.call_id):
            self._secrets[digest] = (replace(secret, session_id=None), held[1])
        try:
            yield access
        except BaseException:
            self._secrets[digest] = held
            raise

    def _sweep(self) -> None:
        now = self._now()
        for key in [key for key, (_, until) in self._secrets.items() if until < now]:
            del self._secrets[key]
        while len(self._secrets) >= _MOST:
            self._secrets.popitem(last=False)


def _same(key: str | None, known: str) -> bool:
    """Nothing is no key."""
    return bool(key and known) and hmac.compare_digest((key or "").encode(), known.encode())


def _digest(value: str) -> bytes:
    return hashlib.sha256(value.encode()).digest()
