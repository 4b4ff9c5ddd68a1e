"""Who is asking, and where we may listen without asking.

Three modes. `off`: the user is whoever the `X-User-ID` header says, which is
only sound where nobody else can connect, so only on loopback. `token`: one
bearer token for everything. `jwt`: each user brings a JWT (`auth_jwt.py`), and
what shows everyone's doings is the operator's, who has the token. Paths that
carry a key of their own are named here; redeeming an ephemeral key is the
business of `/sdp`.
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

from vivavoce.errors import Forbidden, InvalidRequest, SessionNotFound, Unauthorized
from vivavoce.server.gate import MIN_TOKEN_LENGTH
from vivavoce.server.gate.jwt import USER_ID, JwtVerifier
from vivavoce.server.gate.tickets import Grant, StreamTokens
from vivavoce.wire.records.talk import DEFAULT_USER

AuthMode = Literal["off", "token", "jwt"]

OPEN_PATHS = frozenset({"/health", "/ready"})  # for probes; they tell nothing of anyone
PAGE_PATH, PAGE_FILES = "/", "/assets/"  # the page itself; it asks its user for the token
# The ephemeral key in the request is the authentication.
KEYED_PATHS = re.compile(r"/sdp|/audio|/api/v1/voice/session/[^/]+/sdp")
# EventSource has no headers: `?token=` serves as well.
STREAM_PATHS = re.compile(r"/events|/api/v1/voice/session/(?P<session>[^/]+)/events(/token)?")
# With JWTs: these show what everyone does, and paths of the machine.
OPERATOR_PATHS = frozenset({"/status", "/metrics"})
API_PATHS = frozenset({"/docs", "/redoc", "/openapi.json"})  # the same for all
OPERATOR = "operator"


class UnsafeBind(InvalidRequest):
    """Asked to listen where others can connect, without asking who they are."""


@dataclass(frozen=True, slots=True)
class Identity:
    """`user_id` is None where the path needs none; `grant` is what a stream token opens."""

    user_id: str | None
    grant: Grant | None = None


class Authenticator:
    """Turns a request into an identity, or refuses it."""

    def __init__(
        self,
        mode: AuthMode = "off",
        *,
        token: str | None = None,
        jwt: JwtVerifier | None = None,
        streams: StreamTokens | None = None,
        open_paths: frozenset[str] = OPEN_PATHS,
    ) -> None:
        if mode == "token" and len(token or "") < MIN_TOKEN_LENGTH:
            raise ValueError(
                f"Token authentication needs a token of at least {MIN_TOKEN_LENGTH} characters; "
                "`openssl rand -hex 32` makes a good one"
            )
        if (mode == "jwt") != (jwt is not None):
            raise ValueError("Authentication by JWT needs somebody who checks them")
        self.mode = mode
        self._token = (token or "").encode()
        self._jwt = jwt
        self._streams = streams
        self._open_paths = open_paths

    async def identify(self, scope: Scope) -> Identity:
        """Raises `Unauthorized`, `TokenExpired`, or `InvalidRequest` for a bad user id."""
        path = route_path(scope)
        if (stream := self._by_stream_token(path, scope)) is not None:
            return stream
        if path in self._open_paths or _has_own_key(path) or _is_page(path):
            return Identity(None)
        headers = Headers(scope=scope)
        if self.mode == "off":
            return Identity(_named_user(headers.get("x-user-id")))
        given = bearer(headers)
        if given is None:
            raise Unauthorized("Send the token as `Authorization: Bearer …`")
        if self._jwt is not None:
            return await self._by_jwt(self._jwt, path, given)
        if not self._is_token(given):
            raise Unauthorized("The token is not valid")
        return Identity(DEFAULT_USER)

    def _by_stream_token(self, path: str, scope: Scope) -> Identity | None:
        """The one key that may be in a URL; a JWT or the server's token there opens nothing."""
        found = STREAM_PATHS.fullmatch(path)
        if found is None or self._streams is None:
            return None
        values = parse_qs(scope["query_string"].decode("latin-1")).get("token")
        if not values:
            return None
        grant = self._streams.verify(values[0])
        if found["session"] not in (None, grant.session_id):
            raise SessionNotFound(f"Session '{found['session'][:64]}' not found.")
        return Identity(grant.user_id, grant)

    async def _by_jwt(self, jwt: JwtVerifier, path: str, given: str) -> Identity:
        if path in OPERATOR_PATHS | API_PATHS and self._is_token(given):
            return Identity(OPERATOR)
        user_id = await jwt.user(given)
        if path in OPERATOR_PATHS:
            raise Forbidden(f"{path} is the operator's: it takes VIVAVOCE_AUTH_TOKEN")
        return Identity(user_id)

    def _is_token(self, given: str) -> bool:
        return bool(self._token) and hmac.compare_digest(given.encode("latin-1"), self._token)


def current_user(conn: HTTPConnection) -> str:
    """A FastAPI dependency: the user whom the gate let in."""
    user_id = getattr(conn.state, "user_id", None)
    if not isinstance(user_id, str):
        raise Unauthorized("Authentication is needed")
    return user_id


def token_grant(conn: HTTPConnection) -> Grant | None:
    """A FastAPI dependency: what the request's stream token opens, if that is who asks."""
    grant = getattr(conn.state, "token_grant", None)
    return grant if isinstance(grant, Grant) else None


def token_session(conn: HTTPConnection) -> str | None:
    """A FastAPI dependency: the only session that the request's stream token opens, if any."""
    grant = token_grant(conn)
    return grant.session_id if grant is not None else None


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
            "VIVAVOCE_AUTH_TOKEN, or VIVAVOCE_AUTH=jwt for users of their own, or listen on "
            "127.0.0.1."
        )


def _is_page(path: str) -> bool:
    return path == PAGE_PATH or path.startswith(PAGE_FILES)


def _has_own_key(path: str) -> bool:
    """The Realtime API's clients bring keys of its own, and it checks them itself."""
    return path == "/v1" or path.startswith("/v1/") or KEYED_PATHS.fullmatch(path) is not None


def _named_user(value: str | None) -> str:
    # Refused rather than mended: two names must never become one user.
    if value is None:
        return DEFAULT_USER
    if not USER_ID.fullmatch(value):
        raise InvalidRequest(
            "X-User-ID takes letters, digits and ._@:+-, at most 128", parameter="X-User-ID"
        )
    return value
