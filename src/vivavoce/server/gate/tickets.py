"""The keys we hand to browsers: for one SDP exchange, and for an event stream.

Neither is ever the provider's. An ephemeral key (`ek_…`) opens `/sdp` once,
for one session, within a minute; only its hash is kept. A stream token
(`st_…`) is signed, says whose events it opens, until when, and since when it
was renewed from one to the next, and is kept nowhere: EventSource cannot send
headers, so it travels in the URL and must be worth little. Processes with the
same secret take each other's, also after a restart.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import orjson

from vivavoce.errors import TokenExpired, Unauthorized
from vivavoce.runtime.ports import Clock
from vivavoce.wire.records.work import ROLES, Role

MAX_TICKET_SECONDS = 60.0  # seed 003: "Ephemeral tokens expire in 60 seconds"
STREAM_SECONDS = 600.0
HOME = 8  # characters
RENEWED_SECONDS = 24 * 3600.0  # then whoever renews must say again who they are
_SALT = b"vivavoce stream tokens 2"  # one purpose, one key
_CONDUCTOR = b"vivavoce conductor tokens 1"
_REMEMBER_SECONDS = 600.0  # so that a late client hears "expired" and not "unknown"


@dataclass(frozen=True, slots=True)
class Grant:
    """What a key opens."""

    session_id: str
    user_id: str
    since: datetime | None = field(default=None, compare=False)
    """When its user last said who they are; of stream tokens."""


@dataclass(frozen=True, slots=True)
class Issued:
    """A key on its way to the client; the only place where its value is."""

    value: str
    expires_at: datetime
    grant: Grant


class Tickets:
    """Ephemeral keys: single use, bound to their session, bounded in number."""

    def __init__(
        self,
        clock: Clock,
        *,
        seconds: float = MAX_TICKET_SECONDS,
        limit: int = 10_000,
        home: str = "",
    ) -> None:
        """`home` is the name of the server: its keys end in a mark by which others know them."""
        self._clock, self._home = clock, home_of(home)
        self._seconds = min(seconds, MAX_TICKET_SECONDS)
        self._limit = limit
        self._open: OrderedDict[bytes, tuple[Grant, float]] = OrderedDict()

    def issue(self, *, session_id: str, user_id: str) -> Issued:
        self._sweep()
        value = f"ek_{secrets.token_urlsafe(32)}-{self._home}"
        grant = Grant(session_id, user_id)
        self._open[_digest(value)] = (grant, self._clock.monotonic() + self._seconds)
        return Issued(value, self._clock.now() + timedelta(seconds=self._seconds), grant)

    def redeem(self, value: str | None, *, session_id: str | None = None) -> Grant:
        """Opens once. Raises `TokenExpired` when it lapsed, else `Unauthorized`.

        Where the door names a session, a key of another one opens nothing and is not spent.
        """
        return self.redeem_digest(digest_of(value or ""), session_id=session_id)

    def redeem_digest(self, digest: str, *, session_id: str | None = None) -> Grant:
        """As `redeem`, for who was not shown the key itself."""
        key = bytes.fromhex(digest)
        found = self._open.get(key)
        if found is None or session_id not in (None, found[0].session_id):
            raise Unauthorized("The ephemeral key is not valid, or was used already")
        del self._open[key]
        grant, deadline = found
        if self._clock.monotonic() >= deadline:
            raise TokenExpired("The ephemeral key has expired; create a new session")
        return grant

    def elsewhere(self, value: str) -> str | None:
        """The mark of the server that it is from, where that may be another."""
        head, _, home = value.rpartition("-")
        other = head.startswith("ek_") and len(home) == HOME and home != self._home
        return home if other and _digest(value) not in self._open else None

    def revoke(self, session_id: str) -> None:
        """A session that has ended opens no more."""
        for key in [k for k, (grant, _) in self._open.items() if grant.session_id == session_id]:
            del self._open[key]

    def _sweep(self) -> None:
        # Issued in order and all for the same time, so the oldest are in front.
        forgotten = self._clock.monotonic() - _REMEMBER_SECONDS
        while self._open:
            key, (_, deadline) = next(iter(self._open.items()))
            if deadline > forgotten and len(self._open) < self._limit:
                return
            del self._open[key]


class StreamTokens:
    """Signed tokens for `/events?token=`. Without a secret they end with the process."""

    def __init__(
        self,
        clock: Clock,
        *,
        seconds: float = STREAM_SECONDS,
        secret: str | None = None,
        previous: str | None = None,
        salt: bytes = _SALT,
    ) -> None:
        """What was signed with the `previous` secret is still taken."""
        self._clock = clock
        self._seconds = seconds
        self._keys = [secrets.token_bytes(32) if secret is None else derived(secret, salt)]
        self._keys += [] if previous is None else [derived(previous, salt)]

    def issue(self, *, session_id: str, user_id: str, since: datetime | None = None) -> Issued:
        """`since` is that of the token which it takes the place of."""
        now = self._clock.now()
        grant = Grant(session_id, user_id, since or now)
        expires_at = now + timedelta(seconds=self._seconds)
        times = [expires_at.timestamp(), (since or now).timestamp()]
        body = orjson.dumps([session_id, user_id, *times])
        return Issued(
            f"st_{unpadded(body)}.{unpadded(signed(self._keys[0], body))}", expires_at, grant
        )

    def verify(self, value: str) -> Grant:
        """Raises `TokenExpired` when it lapsed, `Unauthorized` when it is not ours."""
        body, signature = _parts(value)
        if not any(hmac.compare_digest(signature, signed(key, body)) for key in self._keys):
            raise Unauthorized("The stream token is not valid")
        session_id, user_id, expires, since = orjson.loads(body)
        if self._clock.now() >= datetime.fromtimestamp(expires, UTC):
            raise TokenExpired("The stream token has expired; ask for the session again")
        return Grant(session_id, user_id, datetime.fromtimestamp(since, UTC))

    def renew(self, grant: Grant, *, ended_at: datetime | None) -> Issued:
        """A fresh one for whoever holds a valid one and nothing else. Raises `TokenExpired` once
        the session is over for as long as a token lasts, or it has gone on for too long."""
        since, now = grant.since or datetime.min.replace(tzinfo=UTC), self._clock.now()
        over = ended_at is not None and now - ended_at >= timedelta(seconds=self._seconds)
        if over or now - since >= timedelta(seconds=RENEWED_SECONDS):
            raise TokenExpired("The stream token lasts no longer; authenticate by header")
        return self.issue(session_id=grant.session_id, user_id=grant.user_id, since=since)


class ConductorTokens:
    """Signed tokens for `/conductor?token=`: of one user and role, for one session, and for so
    long that a runtime can connect with it."""

    def __init__(self, clock: Clock, *, secret: str | None = None, previous: str | None = None):
        self._signer = StreamTokens(
            clock, seconds=MAX_TICKET_SECONDS, secret=secret, previous=previous, salt=_CONDUCTOR
        )

    def issue(self, *, session_id: str, user_id: str, role: Role) -> Issued:
        return self._signer.issue(session_id=f"{role} {session_id}", user_id=user_id)

    def verify(self, value: str) -> tuple[Grant, Role]:
        """Raises `TokenExpired` when it lapsed, `Unauthorized` when it is not ours."""
        grant = self._signer.verify(value)
        role, _, session_id = grant.session_id.partition(" ")
        found: Role = next(one for one in ROLES if one == role)
        return Grant(session_id, grant.user_id), found


def signed(key: bytes, body: bytes) -> bytes:
    return hmac.digest(key, body, "sha256")


def derived(secret: str, salt: bytes) -> bytes:
    """Slow on purpose: who holds a token must not be able to guess the secret behind its key."""
    return hashlib.scrypt(secret.encode(), salt=salt, n=2**13, r=8, p=1, dklen=32)


def _digest(value: str) -> bytes:
    return hashlib.sha256(value.encode()).digest()


def digest_of(value: str) -> str:
    """By which a key is known without being shown."""
    return _digest(value).hex()


def home_of(name: str) -> str:
    """The mark of a server's keys."""
    return hashlib.sha256(name.encode()).hexdigest()[:HOME]


def unpadded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _parts(value: str) -> tuple[bytes, bytes]:
    if not value.startswith("st_"):
        raise Unauthorized("`token` takes a stream token, `st_…`, and no other key")
    return parts(value, "st_")


def parts(value: str, beginning: str) -> tuple[bytes, bytes]:
    """What a token says, and its signature. Raises `Unauthorized`."""
    body, _, signature = value.removeprefix(beginning).partition(".")
    try:
        return _padded(body), _padded(signature)
    except (binascii.Error, ValueError):
        raise Unauthorized("The token is not valid") from None


def _padded(text: str) -> bytes:
    # Strict: characters outside the alphabet would be skipped, and one token have many forms.
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
