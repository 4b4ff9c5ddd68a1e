"""The tokens of those who run the server, by their names; and who failed to show one.

A token is made once, shown once, and stored as a hash: it is 256 random bits, so a plain
hash is enough. Those there are, are read again every few seconds: one that is revoked is
refused soon, and nobody waits for the database with each request.
"""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import logging
import secrets
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime

from starlette.datastructures import Headers
from starlette.types import Scope

from vivavoce.errors import RateLimited, TokenExpired
from vivavoce.logs import fields
from vivavoce.runtime.limits import Window
from vivavoce.runtime.ports import Clock
from vivavoce.wire.records.plans import AccessToken
from vivavoce.wire.records.work import Role, at_least

log = logging.getLogger(__name__)

PREFIX = "vvk_"
FRESH_SECONDS = 2.0
FAILURES_PER_MINUTE = 10
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
_NETWORK_BITS = 64  # of an IPv6 address: whoever has one has all of those


def minted(
    name: str, role: Role, now: datetime, expires_at: datetime | None
) -> tuple[str, AccessToken]:
    """The secret, which is only told here, and what is kept of it."""
    value = PREFIX + secrets.token_urlsafe(32)
    return value, AccessToken(
        name=name, digest=_digest(value), role=role, created_at=now, expires_at=expires_at
    )


class AccessTokens:
    """Those that the store has."""

    def __init__(
        self, read: Callable[[], Awaitable[Sequence[AccessToken]]], *, clock: Clock
    ) -> None:
        self._read, self._clock = read, clock
        self._known: Mapping[str, AccessToken] = {}
        self._read_at: float | None = None
        self._reading = asyncio.Lock()

    async def find(self, value: str) -> AccessToken | None:
        """None where there is no such token. Raises `TokenExpired` for one that was good once."""
        if not value.startswith(PREFIX):
            return None
        await self._read_again()
        token = self._known.get(_digest(value))
        if token is not None and not token.works(self._clock.now()):
            again = "`vivavoce token create` makes another"
            raise TokenExpired(f"The token '{token.name}' has expired or is revoked; {again}")
        return token

    async def _read_again(self) -> None:
        async with self._reading:
            now = self._clock.monotonic()
            if self._read_at is None or now - self._read_at >= FRESH_SECONDS:
                self._known = {token.digest: token for token in await self._read()}
                self._read_at = now

    async def stands(self, name: str, role: Role, since: datetime) -> bool:
        """Does the token of this name still open what it opened then? Another may have the name by
        now, or it another role."""
        await self._read_again()
        found = (one for one in self._known.values() if one.name == name)
        token = next(found, None)
        return (
            token is not None
            and token.works(self._clock.now())
            and token.created_at <= since
            and at_least(token.role, role)
        )

    def is_operators(self, value: str) -> bool:
        """By what was read last."""
        token = self._known.get(_digest(value))
        if token is None or token.role != "operator":
            return False
        return token.works(self._clock.now())


class Logins:
    """Whoever fails too often has to wait, whatever they show meanwhile: a guess that is answered
    is a guess that counts. By address, in bounded memory."""

    def __init__(
        self, clock: Clock, *, limit: int = FAILURES_PER_MINUTE, proxies: Iterable[str] = ()
    ) -> None:
        self._failed = Window(limit, 60, clock=clock, what="failed logins from your address")
        self._proxies = [ipaddress.ip_network(given) for given in proxies]

    def address(self, scope: Scope) -> str:
        """Of whoever asks: the last one that no proxy of ours has, as they tell it."""
        client = scope.get("client")
        nearest = str(client[0]) if client else "unknown"
        told = ",".join(Headers(scope=scope).getlist("x-forwarded-for")).split(",")
        for given in [*(each.strip() for each in told if each.strip()), nearest][::-1]:
            found = _parsed(given)
            if found is None:  # not an address, and not to be believed
                break
            nearest = str(found)
            if not any(found in network for network in self._proxies):
                break
        return nearest

    def check(self, scope: Scope) -> None:
        """Raises `RateLimited`."""
        try:
            self._failed.check(_key(self.address(scope)), counts=False)
        except RateLimited as fault:
            seconds = -(-(fault.retry_after_ms or 0) // 1000)
            raise RateLimited(
                f"{fault.message}; wait {seconds} seconds, then send a valid token.",
                **fault.details,
            ) from None

    def failed(self, scope: Scope, reason: str) -> None:
        address = self.address(scope)
        log.warning(
            "A login failed",
            extra=fields(address=address, path=scope.get("path"), reason=reason),
        )
        with suppress(RateLimited):  # several at once; the next one waits
            self._failed.check(_key(address))


def _parsed(given: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """With or without a port, as proxies tell it."""
    text = given.strip('"')
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        found = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    inside = getattr(found, "ipv4_mapped", None)
    return inside or found


def _key(address: str) -> str:
    found = _parsed(address)
    if isinstance(found, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((found, _NETWORK_BITS), strict=False))
    return address


def _digest(value: str) -> str:
    return hashlib.sha256(value.encode()).hexdigest()
