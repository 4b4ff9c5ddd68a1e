"""Who is asking, and where we may listen without asking.

Two modes. `off`: the user is whoever the `X-User-ID` header says, which is
only sound where nobody else can connect, so only on loopback. `token`: one
bearer token for everything. Paths that carry a key of their own are named
here; redeeming an ephemeral key is the business of `/sdp`.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
from dataclasses import dataclass
from typing import Literal
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.types import Scope

from vivavoce.errors import InvalidRequest, Unauthorized
from vivavoce.server.tickets import StreamTokens
from vivavoce.wire.records import DEFAULT_USER

AuthMode = Literal["off", "token"]

OPEN_PATHS = frozenset({"/health", "/ready"})  # for probes; they tell nothing of anyone
PAGE_PATH, PAGE_FILES = "/", "/assets/"  # the page itself; it asks its user for the token
KEYED_PATHS = frozenset(
    {"/sdp", "/audio"}
)  # the ephemeral key in the request is the authentication
STREAM_PATHS = frozenset({"/events"})  # EventSource has no headers: `?token=` serves as well
MIN_TOKEN_LENGTH = 16

_USER_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@:+-]{0,127}")


class UnsafeBind(ValueError):
    """Asked to listen where others can connect, without asking who they are."""


@dataclass(frozen=True, slots=True)
class Identity:
    """`user_id` is None where the path needs none; `session_id` where the token is bound."""

    user_id: str | None
    session_id: str | None = None


class Authenticator:
    """Turns a request into an identity, or refuses it."""

    def __init__(
        self,
        mode: AuthMode = "off",
        *,
        token: str | None = None,
        streams: StreamTokens | None = None,
        open_paths: frozenset[str] = OPEN_PATHS,
    ) -> None:
        if mode == "token" and len(token or "") < MIN_TOKEN_LENGTH:
            raise ValueError(
                f"Token authentication needs a token of at least {MIN_TOKEN_LENGTH} characters; "
                "`openssl rand -hex 32` makes a good one"
            )
        self.mode = mode
        self._token = (token or "").encode()
        self._streams = streams
        self._open_paths = open_paths

    async def identify(self, scope: Scope) -> Identity:
        """Raises `Unauthorized`, `TokenExpired`, or `InvalidRequest` for a bad user id."""
        path = route_path(scope)
        if path in STREAM_PATHS and self._streams is not None:
            values = parse_qs(scope["query_string"].decode("latin-1")).get("token")
            if values:
                grant = self._streams.verify(values[0])
                return Identity(grant.user_id, grant.session_id)
        if path in self._open_paths or path in KEYED_PATHS or _is_page(path) or _is_engine(path):
            return Identity(None)
        headers = Headers(scope=scope)
        if self.mode == "off":
            return Identity(_named_user(headers.get("x-user-id")))
        given = bearer(headers)
        if given is None:
            raise Unauthorized("Send the token as `Authorization: Bearer …`")
        if not hmac.compare_digest(given.encode("latin-1"), self._token):
            raise Unauthorized("The token is not valid")
        return Identity(DEFAULT_USER)


def current_user(conn: HTTPConnection) -> str:
    """A FastAPI dependency: the user whom the gate let in."""
    user_id = getattr(conn.state, "user_id", None)
    if not isinstance(user_id, str):
        raise Unauthorized("Authentication is needed")
    return user_id


def token_session(conn: HTTPConnection) -> str | None:
    """A FastAPI dependency: the only session that the request's stream token opens, if any."""
    session_id = getattr(conn.state, "token_session", None)
    return session_id if isinstance(session_id, str) else None


def bearer(headers: Headers) -> str | None:
    """What the `Authorization` header carries, if it is a bearer's."""
    scheme, _, value = headers.get("authorization", "").partition(" ")
    return value.strip() or None if scheme.lower() == "bearer" else None


def route_path(scope: Scope) -> str:
    """The path as the routes know it, without what a proxy put in front."""
    path: str = scope["path"]
    root: str = scope.get("root_path", "")
    return path[len(root) :] if root and path.startswith(root + "/") else path


def is_loopback(host: str) -> bool:
    """Does only this machine reach it? Names are not looked up, but for `localhost`."""
    name = host.strip("[]").rstrip(".").lower()
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def check_bind(host: str, mode: AuthMode) -> None:
    """Refuse to listen beyond this machine without authentication."""
    if mode == "off" and not is_loopback(host):
        raise UnsafeBind(
            f"Refusing to listen on {host or 'every interface'} without authentication: anyone "
            "who reaches it could use your tools and your account. Set VIVAVOCE_AUTH=token and "
            "VIVAVOCE_AUTH_TOKEN, or listen on 127.0.0.1."
        )


def _is_page(path: str) -> bool:
    return path == PAGE_PATH or path.startswith(PAGE_FILES)


def _is_engine(path: str) -> bool:
    """The Realtime API's clients bring keys of its own, and it checks them itself."""
    return path == "/v1" or path.startswith("/v1/")


def _named_user(value: str | None) -> str:
    # Refused rather than mended: two names must never become one user.
    if value is None:
        return DEFAULT_USER
    if not _USER_ID.fullmatch(value):
        raise InvalidRequest(
            "X-User-ID takes letters, digits and ._@:+-, at most 128", parameter="X-User-ID"
        )
    return value
