"""Where the page's users log in, as far as everybody may know it.

With `token` the page asks for the token. With `jwt` it leads its users to an OpenID provider by the
authorization code flow with PKCE (RFC 7636), or to Supabase: both without a secret, in the browser,
which hands the code in itself. This server takes no part in it but to say where: it reads the
provider's own description, and checks that it is the provider's. What comes of it is a JWT, which
`jwt.py` checks like any other.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Literal
from urllib.parse import urlsplit

import orjson

from vivavoce.errors import Unavailable
from vivavoce.logs import failure
from vivavoce.runtime.ports import Clock
from vivavoce.server.gate.auth import AuthMode, is_loopback
from vivavoce.server.gate.jwt import Fetch, fetched
from vivavoce.wire.values import Value

log = logging.getLogger(__name__)

DISCOVERY = "/.well-known/openid-configuration"
FRESH_SECONDS, AGAIN_SECONDS = 3600.0, 30.0
_ENDPOINTS = ("authorization_endpoint", "token_endpoint")
_END = "end_session_endpoint"
_LONGEST = 2000  # characters of an endpoint
_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?")

Kind = Literal["oidc", "supabase"]


class Provider(Value):
    """What the operator said of it."""

    kind: Kind
    issuer: str
    client_id: str = ""
    scopes: tuple[str, ...] = ()
    audience: str = ""
    token: Literal["access_token", "id_token"] = "access_token"  # noqa: S105
    key: str = ""
    providers: tuple[str, ...] = ()


class Way(Value):
    """Where to log in, in full: what a page needs, and no secret."""

    kind: Kind
    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    client_id: str = ""
    scope: str = ""
    audience: str | None = None
    token: str = "access_token"  # noqa: S105
    end_session_endpoint: str | None = None
    key: str | None = None
    providers: tuple[str, ...] = ()


class Login:
    """`provider` is None where there is none: with `token`, and without authentication."""

    def __init__(
        self,
        mode: AuthMode,
        provider: Provider | None,
        *,
        clock: Clock,
        fetch: Fetch = fetched,
    ) -> None:
        self.mode, self._provider = mode, provider
        self._clock, self._fetch = clock, fetch
        self._way: Way | None = None
        self._got_at: float | None = None
        self._tried_at: float | None = None
        self._asking = asyncio.Lock()

    async def way(self) -> Way | None:
        """Raises `Unavailable` while the provider's description cannot be had."""
        if self._provider is None:
            return None
        if self._provider.kind == "supabase":
            return _supabase(self._provider)
        async with self._asking:
            now = self._clock.monotonic()
            fresh = self._got_at is not None and now - self._got_at < FRESH_SECONDS
            waits = self._tried_at is not None and now - self._tried_at < AGAIN_SECONDS
            if not fresh and not waits:
                await self._discover(self._provider)
        if self._way is None:
            raise Unavailable(
                "The provider at which users log in cannot be reached, or is not the one that was "
                "named",
                retry_after_ms=int(AGAIN_SECONDS * 1000),
            )
        return self._way

    async def warm(self) -> None:
        """So that the page's policy names them from the beginning."""
        with suppress(Unavailable):
            await self.way()

    def origins(self) -> tuple[str, ...]:
        """Where the page may hand its code in, besides here: as far as that is known yet."""
        if self._provider is None:
            return ()
        urls = [self._provider.issuer]
        if self._way is not None:
            urls.append(self._way.token_endpoint)
        return tuple(dict.fromkeys(map(_origin, urls)))

    async def _discover(self, provider: Provider) -> None:
        """One that is away costs a warning: what it said last stays."""
        self._tried_at = self._clock.monotonic()
        try:
            document = await self._fetch(provider.issuer.rstrip("/") + DISCOVERY)
            self._way = read_description(document, provider)
            self._got_at = self._tried_at
        except Exception as fault:  # whatever a stranger's server does
            log.warning("The provider's description cannot be read", extra=failure(fault))


def read_description(document: bytes, provider: Provider) -> Way:
    """Raises `ValueError` for one of somebody else's, or that leads astray."""
    said: Any = orjson.loads(document)
    if not isinstance(said, Mapping):
        raise ValueError("it is no object")
    # OpenID Connect Discovery §4.3: exactly the one that was asked.
    if str(said.get("issuer", "")).rstrip("/") != provider.issuer.rstrip("/"):
        raise ValueError("it names another issuer")
    methods = said.get("code_challenge_methods_supported")
    if isinstance(methods, list) and "S256" not in methods:
        raise ValueError("the provider knows no PKCE with S256")
    authorization, token = (_endpoint(said.get(name), name) for name in _ENDPOINTS)
    end = said.get(_END)
    return Way(
        kind="oidc",
        issuer=provider.issuer,
        client_id=provider.client_id,
        scope=" ".join(provider.scopes),
        audience=provider.audience or None,
        token=provider.token,
        end_session_endpoint=None if end is None else _endpoint(end, _END),
        authorization_endpoint=authorization,
        token_endpoint=token,
    )


def _supabase(provider: Provider) -> Way:
    """Its addresses are the same for every project, below the issuer of its JWTs."""
    base = provider.issuer.rstrip("/")
    return Way(
        kind="supabase",
        issuer=provider.issuer,
        authorization_endpoint=f"{base}/authorize",
        token_endpoint=f"{base}/token",
        end_session_endpoint=f"{base}/logout",
        key=provider.key,
        providers=provider.providers,
    )


def _endpoint(value: object, name: str) -> str:
    text = value if isinstance(value, str) and len(value) <= _LONGEST else ""
    parts = urlsplit(text)
    host = parts.hostname or ""
    safe = parts.scheme == "https" or (parts.scheme == "http" and _is_near(host))
    # Its origin goes into the page's policy, word by word.
    plain = _AUTHORITY.fullmatch(parts.netloc) is not None and text.isprintable()
    if not host or not safe or not plain:
        raise ValueError(f"{name} is no address that is safe to go to")
    return text


def _is_near(host: str) -> bool:
    return is_loopback(host) or ("." not in host and ":" not in host)


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
