"""Who is asking, and where we may listen without asking.

Three modes. `off`: the user is whoever the `X-User-ID` header says, which is
only sound where nobody else can connect, so only on loopback. `token`: a bearer
token for everything. `jwt`: each user brings a JWT (`jwt.py`), and what shows
everyone's doings is the operators', who have tokens (`tokens.py`). Each has a
role; which paths are not for all of them stands here, and what of the tools is
in `runtime.sessions.profile`. Paths that carry a key of their own are named here;
redeeming an ephemeral key is the business of `/sdp`. In every mode a browser on a
page of somebody else's may have a token of its own (`browsers.py`).
"""

from __future__ import annotations

import hmac
import ipaddress
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.types import Scope

from vivavoce.errors import (
    Forbidden,
    InvalidRequest,
    SessionNotFound,
    TokenExpired,
    Unauthorized,
    VivavoceError,
)
from vivavoce.server.gate import MIN_TOKEN_LENGTH
from vivavoce.server.gate.browsers import TOKEN as BROWSER_TOKEN
from vivavoce.server.gate.browsers import BrowserKeys
from vivavoce.server.gate.jwt import OPERATOR, OWN_USERS, USER_ID, JwtVerifier
from vivavoce.server.gate.tickets import ConductorTokens, Grant, StreamTokens
from vivavoce.server.gate.tokens import AccessTokens, Logins
from vivavoce.wire.records.talk import DEFAULT_USER
from vivavoce.wire.records.work import ROLES, Role

AuthMode = Literal["off", "token", "jwt"]

OPEN_PATHS = frozenset({"/health", "/ready"})  # for probes; they tell nothing of anyone
LOGIN = "/api/v1/login"  # where users log in: who has to know it has not
AUTHORITY = "/authority.crt"  # of our own certificate; a phone has to have it before it comes in
PAGE_FILES = "/assets/"  # the page itself; it asks its user for the token
# The ephemeral key in the request is the authentication.
KEYED_PATHS = re.compile(
    r"/sdp|/audio|/api/v1/voice/session/[^/]+/sdp|/api/v1/keys/exchange|/api/v1/push/actions"
)
MAKE_KEYS = "/api/v1/keys"
# EventSource has no headers: `?token=` serves as well.
STREAM_PATHS = re.compile(r"/events|/api/v1/voice/session/(?P<session>[^/]+)/events(/token)?")
OPERATOR_PATHS = frozenset({"/status", "/metrics"})  # what everyone does, and how the machine is
DEVELOPER_PATHS = frozenset({"/config"})  # the policy, and paths of the machine
# A call that no model asked for; which role may is the operator's choice.
EXECUTE, WEBHOOK = "/execute/", "/webhook/tool-call"
# What the API is: the same for all, as in the project's own documents, and nothing of anyone.
API_PATHS = frozenset({"/docs", "/redoc", "/openapi.json"})
CONDUCTOR = "/conductor"  # a browser's WebSocket has no headers: `?token=` serves as well
API_FILES = "/static-offline-docs/"
_KNOWN_TO_ALL = frozenset({AUTHORITY, LOGIN})
BROWSERS = "a browser's"  # of all the tokens that browsers get for a key
AUTH_TOKEN = "VIVAVOCE_AUTH_TOKEN"  # noqa: S105 # the name of the one that is a setting
FOREIGN_ORIGIN = "foreign_origin"
"""In the scope's state: of the page that asks, where that is an allowed one of somebody else's."""
_SUBPROTOCOL = "openai-insecure-api-key."


class UnsafeBind(InvalidRequest):
    """Asked to listen where others can connect, without asking who they are."""


@dataclass(frozen=True, slots=True)
class Identity:
    """`user_id` is None where the path needs none; `grant` is what a stream token opens; `by` is
    the name of the server's token that was shown, if it was one."""

    user_id: str | None
    grant: Grant | None = None
    role: Role = "user"
    by: str | None = None
    browser: bool = False
    """By a token that the user's browser got for a key: the least of all."""


class Authenticator:
    """Turns a request into an identity, or refuses it."""

    def __init__(
        self,
        mode: AuthMode = "off",
        *,
        token: str | None = None,
        tokens: AccessTokens | None = None,
        jwt: JwtVerifier | None = None,
        streams: StreamTokens | None = None,
        runtimes: ConductorTokens | None = None,
        logins: Logins | None = None,
        execute: Role = "developer",
        own_key: str | None = None,
        browsers: BrowserKeys | None = None,
        key_makers: frozenset[str] = frozenset(),
        open_paths: frozenset[str] = OPEN_PATHS,
        page_paths: frozenset[str] = frozenset({"/"}),
    ) -> None:
        """`execute` is the least role that may call tools itself; `own_key` is what our own
        sideband shows at the engine, and never has to wait. `key_makers` are the names of
        tokens that may make keys for users' browsers, where users have JWTs."""
        if mode == "token" and len(token or "") < MIN_TOKEN_LENGTH:
            raise ValueError(
                f"Token authentication needs a token of at least {MIN_TOKEN_LENGTH} characters; "
                "`openssl rand -hex 32` makes a good one"
            )
        if (mode == "jwt") != (jwt is not None):
            raise ValueError("Authentication by JWT needs somebody who checks them")
        self.mode = mode
        self._token = (token or "").encode()
        self._own_key = (own_key or "").encode()
        self._tokens, self._jwt, self._logins = tokens, jwt, logins
        self._streams, self._runtimes, self._execute = streams, runtimes, execute
        self._browsers, self._key_makers = browsers, key_makers
        self._open_paths = open_paths | page_paths

    async def identify(self, scope: Scope) -> Identity:
        """Raises `Unauthorized`, `TokenExpired`, `Forbidden` for a role that is not enough,
        `RateLimited` for who failed too often, or `InvalidRequest` for a bad user id."""
        path = route_path(scope)
        if (stream := self._by_stream_token(path, scope)) is not None:
            return stream
        if (runtime := self._by_runtime_token(path, scope)) is not None:
            return runtime
        if _is_engine(path):
            await self._watch_engine(scope)
            return Identity(None)
        open_to_all = (
            path in self._open_paths or path.startswith(PAGE_FILES) or path in _KNOWN_TO_ALL
        )
        if open_to_all or KEYED_PATHS.fullmatch(path):
            return Identity(None)
        if path in API_PATHS or path.startswith(API_FILES):
            return Identity(None)
        headers = Headers(scope=scope)
        given = bearer(headers)
        if given is not None and given.startswith(BROWSER_TOKEN) and self._browsers is not None:
            identity = self._by_browser_token(given, scope, self._browsers)
            self._check_path(path, identity)
            return identity
        if self.mode == "off":
            return Identity(_named_user(headers.get("x-user-id")), role="operator")
        if given is None:
            raise Unauthorized("Send the token as `Authorization: Bearer …`")
        identity = await self._who(given, scope)
        self._check_path(path, identity)
        return identity

    def asks_again(self, scope: Scope) -> Callable[[], Awaitable[Identity]] | None:
        """Whether the key of a connection that stays open would still open it. None where there is
        nothing to ask: without authentication, and for a token that is only for getting in."""
        query = parse_qs(scope["query_string"].decode("latin-1"))
        if self.mode == "off" or "token" in query:
            return None
        # As it came: where an application is mounted, the scope's path becomes another on its way.
        return partial(self.identify, {**scope})

    def address(self, scope: Scope) -> str:
        """Of whoever asks, for the audit: past the proxies that we know."""
        if self._logins is not None:
            return self._logins.address(scope)
        client = scope.get("client")
        return str(client[0]) if client else ""

    async def _who(self, given: str, scope: Scope) -> Identity:
        if self._logins is not None:
            self._logins.check(scope)
        try:
            if (holder := await self._holder(given)) is not None:
                return holder
            if self._jwt is None:
                raise Unauthorized("The token is not valid")
            claimed = await self._jwt.who(given)
            return Identity(claimed.user_id, role=claimed.role)
        except TokenExpired:
            raise  # it was good once: no guess
        except Unauthorized as fault:
            if self._logins is not None:
                self._logins.failed(scope, fault.message)
            raise

    async def _holder(self, given: str) -> Identity | None:
        """Whoever has a token of this server. With JWTs that is no user."""
        user = DEFAULT_USER if self._jwt is None else OPERATOR
        if self._is_token(given):
            return Identity(user, role="operator", by=AUTH_TOKEN)
        token = await self._tokens.find(given) if self._tokens is not None else None
        return None if token is None else Identity(user, role=token.role, by=token.name)

    def _check_path(self, path: str, identity: Identity) -> None:
        least = self._least(path)
        if ROLES.index(identity.role) < ROLES.index(least):
            raise Forbidden(
                f"{path[:64]} is for the role '{least}', and you have '{identity.role}': "
                f"{self._how(least)}",
                role=identity.role,
                needed=least,
            )
        if path == MAKE_KEYS and identity.browser:
            raise Forbidden("A browser's token makes no keys: the page's own server does")
        of_nobody = path in OPERATOR_PATHS | DEVELOPER_PATHS
        if self._jwt is None or identity.by is None or identity.browser or of_nobody:
            return
        if path == MAKE_KEYS:
            if identity.by not in self._key_makers:
                raise Forbidden(
                    f"The token '{identity.by}' may not make keys for users' browsers; "
                    "VIVAVOCE_KEY_MAKERS can name it"
                )
        else:
            raise Unauthorized(f"{path[:64]} is a user's: it takes a JWT, and no operator's token")

    def _least(self, path: str) -> Role:
        if path in OPERATOR_PATHS:
            return "operator"
        if path.startswith(EXECUTE) or path == WEBHOOK:
            return self._execute
        return "developer" if path in DEVELOPER_PATHS else "user"

    def _how(self, role: Role) -> str:
        made = f"`vivavoce token create NAME --role {role}` makes a token for it"
        if self._jwt is None:
            return f"{made}."
        claim = f"the issuer of your JWT can put it into the claim '{self._jwt.role_claim}'"
        if role == "operator":
            return f"{claim}, or it takes an operator's token, such as VIVAVOCE_AUTH_TOKEN."
        return f"{claim}."

    async def _watch_engine(self, scope: Scope) -> None:
        """The engine checks its keys itself; here guesses at a token are counted."""
        given = _engine_key(Headers(scope=scope))
        if self.mode == "off" or given is None or given.startswith("ek_"):
            return
        if self._own_key and hmac.compare_digest(given.encode("latin-1"), self._own_key):
            return
        if self._logins is not None:
            self._logins.check(scope)
        if await self._holder(given) is None and self._logins is not None:
            self._logins.failed(scope, "No operator's token")

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

    def _by_runtime_token(self, path: str, scope: Scope) -> Identity | None:
        """Likewise, for the one session that it names."""
        if path != CONDUCTOR or self._runtimes is None:
            return None
        query = parse_qs(scope["query_string"].decode("latin-1"))
        if not (values := query.get("token")):
            return None
        grant, role = self._runtimes.verify(values[0])
        named = query.get("sessionId", [""])[0].lower()
        if grant.session_id != named:
            raise Forbidden("This token is for another session")
        return Identity(grant.user_id, role=role)

    @staticmethod
    def _by_browser_token(given: str, scope: Scope, browsers: BrowserKeys) -> Identity:
        user_id = browsers.verify(given, origin=scope.get("state", {}).get(FOREIGN_ORIGIN))
        return Identity(user_id, role="user", by=BROWSERS, browser=True)

    def _is_token(self, given: str) -> bool:
        return bool(self._token) and hmac.compare_digest(given.encode("latin-1"), self._token)


async def key_ended(
    asks_again: Callable[[], Awaitable[Identity]] | None, user_id: str | None, role: Role
) -> VivavoceError | None:
    """Why what a connection was opened with would not open it now; None while it would, and where
    nobody can say."""
    if asks_again is None:
        return None
    try:
        who = await asks_again()
    except (Unauthorized, Forbidden) as fault:
        return fault
    except VivavoceError:
        return None
    same = (who.user_id, who.role) == (user_id, role)
    return None if same else Forbidden("The key is for somebody else now, or for another role.")


def current_user(conn: HTTPConnection) -> str:
    """The user whom the gate let in."""
    user_id = getattr(conn.state, "user_id", None)
    if not isinstance(user_id, str):
        raise Unauthorized("Authentication is needed")
    return user_id


def current_role(conn: HTTPConnection) -> Role:
    """The role of the user whom the gate let in."""
    role: Role = getattr(conn.state, "role", "user")
    return role


def rank(conn: HTTPConnection) -> Role:
    """What counts among those who are one user. Several tokens are, each with a role; whoever has
    a JWT is a person, and may end and delete what is theirs."""
    return current_role(conn) if getattr(conn.state, "token_name", None) else "operator"


def whole_user(conn: HTTPConnection) -> str:
    """The user, for what is about all that is theirs. Raises `Forbidden` for a token of a lesser
    role, which is one of several that are this user."""
    least: Role = "operator"
    if rank(conn) != least:
        raise Forbidden(
            "This is about all that is kept of the user whom all tokens of this server share: it "
            f"takes the role '{least}', and you have '{current_role(conn)}'.",
            role=current_role(conn),
            needed=least,
        )
    return current_user(conn)


def named_token(conn: HTTPConnection) -> str | None:
    """The name of the token that was shown, of those that can be revoked."""
    name: str | None = getattr(conn.state, "token_name", None)
    return None if name in (AUTH_TOKEN, BROWSERS) else name


async def token_grant(conn: HTTPConnection) -> Grant | None:
    """What the request's stream token opens, if that is who asks."""
    grant = getattr(conn.state, "token_grant", None)
    return grant if isinstance(grant, Grant) else None


async def token_session(conn: HTTPConnection) -> str | None:
    """The only session that the request's stream token opens, if any."""
    grant = await token_grant(conn)
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


def named_user(value: str) -> str:
    """A user id as a page's backend may give it, which has names of its own. Raises
    `InvalidRequest`."""
    if not USER_ID.fullmatch(value):
        raise InvalidRequest("A user id takes letters, digits and ._@:+-, at most 128")
    if value in OWN_USERS:
        raise InvalidRequest(
            f"'{value}' is a user of this server's own; call yours otherwise, such as 'u:{value}'.",
            field="user_id",
        )
    return value


def _is_engine(path: str) -> bool:
    """The Realtime API's clients bring keys of its own, and it checks them itself."""
    return path == "/v1" or path.startswith("/v1/")


def _engine_key(headers: Headers) -> str | None:
    """As its clients send it: as a bearer, as Azure's, or among a browser's subprotocols."""
    if (given := bearer(headers) or headers.get("api-key")) is not None:
        return given
    offered = (name.strip() for name in headers.get("sec-websocket-protocol", "").split(","))
    keys = [name.removeprefix(_SUBPROTOCOL) for name in offered if name.startswith(_SUBPROTOCOL)]
    return keys[0] if keys else None


def _named_user(value: str | None) -> str:
    # Refused rather than mended: two names must never become one user.
    if value is None:
        return DEFAULT_USER
    if not USER_ID.fullmatch(value):
        raise InvalidRequest(
            "X-User-ID takes letters, digits and ._@:+-, at most 128", parameter="X-User-ID"
        )
    return value
