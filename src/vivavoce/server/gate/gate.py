"""The first security line: one pure ASGI middleware in front of everything.

Owns what holds for every request, HTTP, SSE and WebSocket alike: its id, the
Host it was sent to (a foreign name that resolves to us is DNS rebinding), the
Origin it came from (a page of somebody else's), how large it may be, who asks
(`auth.py`), and the headers of the answer. It knows no route.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vivavoce.errors import (
    Forbidden,
    InvalidRequest,
    PayloadTooLarge,
    RateLimited,
    RequestTimeout,
    Unauthorized,
    VivavoceError,
)
from vivavoce.redaction import redact
from vivavoce.runtime.journal.log import ASKING, Asking
from vivavoce.server.gate.auth import (
    FOREIGN_ORIGIN,
    Authenticator,
    Identity,
    is_loopback,
    route_path,
)
from vivavoce.server.problems import note, problem

MAX_BODY_BYTES = 1024 * 1024
BODY_SECONDS = 30.0  # to wait for a body in all
BODY_RATE = 8_000  # bytes that give a second more
_REST_BYTES, _REST_SECONDS = 16 * 1024 * 1024, 3.0
"""Of a body that is too large, read and thrown away: a connection that is closed while its client
still writes is reset, and the answer with it."""
DIRECT_SEND = "vivavoce.direct_send"
"""In the scope: past every layer, for a stream that has started. A quarter of a delivery's CPU."""

_AT_ONCE, _LONGEST_WAIT = 6, 5.0
"""Requests of one user that do not wait for each other, and seconds that one waits at most."""
_MOST_PACED = 10_000

_REQUEST_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?")
_SHOWN = 200  # characters of what was sent
_CLOSES = {401: 4401, 403: 4403}
"""Of a WebSocket, where no answer can be given."""
_REFUSED = {401: Unauthorized.code, 403: Forbidden.code}
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}

_ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_CSP_BASE = "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
# The page: what is not named here is nothing. No inline script or style, nothing of elsewhere;
# requests to this server, and to where its users log in.
_CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; "
    "img-src 'self' data: blob:; media-src 'self' blob:; worker-src 'self'; "
    "manifest-src 'self'; connect-src {connect}; " + _CSP_BASE
)
_OF_PAGES = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": (
        "microphone=(self), screen-wake-lock=(self), camera=(), display-capture=(), "
        "geolocation=(), payment=(), usb=(), serial=(), midi=()"
    ),
}
# Swagger UI and ReDoc come from this server, and are started with an inline script.
_CSP_DOCS = (
    "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
    f"worker-src 'self' blob:; img-src 'self' data:; {_CSP_BASE}"
)
_DOCS = ("/docs", "/redoc")
_PREFLIGHT = {
    "Access-Control-Allow-Methods": "GET, POST, PATCH, PUT, DELETE",
    "Access-Control-Allow-Headers": (
        "Authorization, Content-Type, Idempotency-Key, Last-Event-ID, X-Request-ID, "
        "X-Session-ID, X-User-ID"
    ),
    "Access-Control-Max-Age": "600",
}
_NEARER = "access-control-request-private-network"
"""A page on the internet asks for a server on this machine or network; Chrome wants a yes."""
_EXPOSED = "Content-Disposition, Location, Retry-After, X-Request-ID"


Refused = Callable[[str, str, str], Awaitable[None]]
"""Notes who was refused: the address, what they wanted, and the user, where that is known."""
LetIn = Callable[[str, Identity], Awaitable[None]]
"""Notes who was let in, by whatever they showed: the address, and who they are."""
Shape = Callable[[VivavoceError], Response]
"""What a refusal looks like: under some paths, as others have it."""


@dataclass(slots=True)
class _Passage:
    """One request on its way through."""

    request_id: str
    path: str
    foreign_origin: str | None = None  # one that is allowed, and so may read the answer
    fault: VivavoceError | None = None  # of its body
    started: bool = False
    status: int = 0


class Pace:
    """How soon one user's requests are begun: a few at once, then one after the other, so that
    those of others are served in between. Nothing of it is remembered once a user is quiet."""

    def __init__(self, per_second: int) -> None:
        self._gap = 1 / per_second if per_second else 0.0
        self._next: dict[str, float] = {}
        """By user: when the next one would be due if each had waited for the one before."""

    async def wait(self, user_id: str) -> None:
        """Raises `RateLimited` where too many wait already."""
        if not self._gap:
            return
        now = asyncio.get_running_loop().time()
        if len(self._next) > _MOST_PACED:
            self._next = {user: due for user, due in self._next.items() if due > now}
        due = max(self._next.get(user_id, now), now)
        delay = due - now - _AT_ONCE * self._gap
        if delay > _LONGEST_WAIT:
            raise RateLimited(
                "Too many requests at once; try again in a moment",
                retry_after_ms=int(_LONGEST_WAIT * 1000),
                what="requests a second",
                limit=round(1 / self._gap),
            )
        self._next[user_id] = due + self._gap
        if delay > 0:
            await asyncio.sleep(delay)


class Gate:
    """Wraps the whole app. Refusals have the shape of every other error."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        auth: Authenticator,
        allowed_hosts: Iterable[str] = (),
        allowed_origins: Iterable[str] = (),
        max_body: int = MAX_BODY_BYTES,
        larger: Mapping[str, int] | None = None,
        shapes: Mapping[str, Shape] | None = None,
        body_seconds: float = BODY_SECONDS,
        audited: Refused | None = None,
        let_in: LetIn | None = None,
        per_second: int = 0,
        connect: Callable[[], Iterable[str]] = tuple,
    ) -> None:
        """`connect`: origins that our own page may ask besides this server."""
        self._connect = connect
        self._app, self._audited, self._let_in = app, audited, let_in
        self._auth = auth
        self._hosts = frozenset(_bare(host) for host in allowed_hosts)
        self._origins = frozenset(origin.rstrip("/").lower() for origin in allowed_origins)
        self._max_body, self._larger = max_body, larger or {}
        self._shapes = shapes or {}
        self._body_seconds = body_seconds
        self._pace = Pace(per_second)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        passage = _Passage(_request_id(headers), route_path(scope))
        asking = ASKING.set(Asking(self._auth.address(scope), passage.request_id))
        try:
            await self._serve(headers, passage, scope, receive, send)
        finally:
            ASKING.reset(asking)

    async def _serve(
        self, headers: Headers, passage: _Passage, scope: Scope, receive: Receive, send: Send
    ) -> None:
        state = scope.setdefault("state", {})
        state["request_id"] = passage.request_id
        try:
            authority = self._check_host(headers)
            passage.foreign_origin = self._check_origin(scope, headers, authority)
            if passage.foreign_origin and _is_preflight(scope, headers):
                await self._answer(_preflight(headers), passage, scope, receive, send)
                return
            state[FOREIGN_ORIGIN] = (passage.foreign_origin or "").lower() or None
            self._check_length(headers, passage.path)
            identity = await self._auth.identify(scope)
            if identity.user_id is not None:
                await self._pace.wait(identity.user_id)
        except VivavoceError as error:
            note(error, scope)
            if self._audited is not None and isinstance(error, Unauthorized | Forbidden):
                wanted = f"{scope.get('method', 'WEBSOCKET')} {passage.path}: {error.code}"
                await self._audited(ASKING.get().address, wanted, "")
            await self._refuse(error, passage, scope, receive, send)
            return
        state["user_id"] = identity.user_id
        state["token_grant"] = identity.grant
        state["role"], state["token_name"] = identity.role, identity.by
        if identity.user_id is not None:
            known = ASKING.get()
            # Set back with the request's own, when it is served.
            ASKING.set(Asking(known.address, known.request_id, identity.role, identity.by or ""))
            if self._let_in is not None and identity.grant is None:
                await self._let_in(known.address, identity)
        state["asks_again"] = self._auth.asks_again(scope)
        if scope["type"] == "websocket":
            await self._app(scope, receive, send)
        else:
            await self._pass(passage, scope, receive, send)

    # --- Checks ---------------------------------------------------------------------

    def _check_host(self, headers: Headers) -> str:
        values = headers.getlist("host")
        if len(values) != 1 or not _HOST.fullmatch(values[0]):
            raise InvalidRequest("Exactly one valid Host header is needed")
        name = _bare(values[0])
        if not (is_loopback(name) or name in self._hosts or "*" in self._hosts):
            raise Forbidden(
                f"This server does not answer to the host name '{name[:_SHOWN]}'; "
                "VIVAVOCE_ALLOWED_HOSTS can name it",
                host=name[:_SHOWN],
            )
        return values[0].lower()

    def _check_origin(self, scope: Scope, headers: Headers, authority: str) -> str | None:
        """The origin when it is a foreign one that is allowed."""
        values = headers.getlist("origin")
        if not values:
            self._check_fetch_site(scope, headers)
            return None
        origin = values[0].lower()
        if len(values) == 1 and origin in self._origins:
            return values[0]
        if len(values) != 1 or not _same_origin(origin, scope["scheme"], authority):
            shown = ", ".join(values)[:_SHOWN]
            raise Forbidden(
                f"Pages of the origin '{shown}' may not call this server; "
                "VIVAVOCE_ALLOWED_ORIGINS can name it",
                origin=shown,
            )
        return None

    def _check_fetch_site(self, scope: Scope, headers: Headers) -> None:
        """Requests without an Origin that a browser says come from somebody else's page.

        Another port of this machine is "same-site". A link that someone
        follows is fine: nothing of the answer reaches the page it was on.
        """
        if headers.get("sec-fetch-site") not in ("cross-site", "same-site"):
            return
        followed = headers.get("sec-fetch-mode") == "navigate" and scope.get("method") == "GET"
        if not followed or headers.get("sec-fetch-dest") in ("iframe", "frame", "embed", "object"):
            raise Forbidden("Requests from other sites are not allowed")

    def _check_length(self, headers: Headers, path: str) -> None:
        length = headers.get("content-length", "0")
        if not length.isdigit():
            raise InvalidRequest("Content-Length is not a number")
        if int(length[:20]) > self._most(path):
            raise self._too_large(path)

    def _most(self, path: str) -> int:
        """Bytes of a body; files have a limit of their own."""
        return max(self._max_body, self._larger.get(path, 0))

    def _too_large(self, path: str) -> PayloadTooLarge:
        return PayloadTooLarge("The request body is too large", max_bytes=self._most(path))

    # --- Passing and refusing ---------------------------------------------------------

    async def _pass(self, passage: _Passage, scope: Scope, receive: Receive, send: Send) -> None:
        received, complete, most = 0, False, self._most(passage.path)
        patience, clock = self._body_seconds, asyncio.get_running_loop().time

        async def counted() -> Message:
            nonlocal received, complete, patience
            if complete:
                return await receive()  # the client leaves, some day
            began = clock()
            try:
                async with asyncio.timeout(patience):
                    message = await receive()
            except TimeoutError:
                passage.fault = RequestTimeout("The request's body did not arrive in time")
                raise passage.fault from None
            size = len(message.get("body", b""))
            # In all, not between two pieces: a byte now and then would hold it for ever.
            patience += size / BODY_RATE - (clock() - began)
            received += size
            complete = not message.get("more_body", False)
            if received > most:
                passage.fault = self._too_large(passage.path)
                raise passage.fault
            return message

        async def decorated(message: Message) -> None:
            if message["type"] == "http.response.start":
                if passage.fault is not None:
                    return
                passage.started, passage.status = True, message["status"]
                self._decorate(message, passage)
            elif not passage.started:
                return
            await send(message)

        scope[DIRECT_SEND] = send
        try:
            await self._app(scope, counted, decorated)
        except Exception:
            if passage.fault is None or passage.started:
                raise
        if passage.status in _REFUSED and self._audited is not None:  # by what is behind the gate
            wanted = f"{scope['method']} {passage.path}: {_REFUSED[passage.status]}"
            user_id = scope["state"].get("user_id") or ""
            await self._audited(ASKING.get().address, wanted, user_id)
        # Whatever the app made of a body that was cut, this is the answer.
        if passage.fault is not None and not passage.started:
            await self._refuse(passage.fault, passage, scope, receive, send)

    async def _refuse(
        self, error: VivavoceError, passage: _Passage, scope: Scope, receive: Receive, send: Send
    ) -> None:
        if scope["type"] == "websocket" and "websocket.http.response" not in scope.get(
            "extensions", {}
        ):
            code = _CLOSES.get(error.status, 1008)
            await send({"type": "websocket.close", "code": code})  # becomes a 403
            return
        own = (shape for under, shape in self._shapes.items() if passage.path.startswith(under))
        response = next(own, lambda fault: problem(fault, passage.request_id))(error)
        if isinstance(error, PayloadTooLarge):
            response.headers["Connection"] = "close"  # or all of the rest would have to be read
            send = _reading_on(receive, send)
        await self._answer(response, passage, scope, receive, send)

    async def _answer(
        self, response: Response, passage: _Passage, scope: Scope, receive: Receive, send: Send
    ) -> None:
        async def decorated(message: Message) -> None:
            if message["type"].endswith(".start"):
                self._decorate(message, passage)
            await send(message)

        await response(scope, receive, decorated)

    def _decorate(self, message: Message, passage: _Passage) -> None:
        headers = MutableHeaders(raw=list(message.get("headers", ())))
        headers["X-Request-ID"] = passage.request_id
        for name, value in _ALWAYS.items():
            headers.setdefault(name, value)
        kind = headers.get("content-type", "")
        if kind.startswith("text/html"):
            connect = " ".join(("'self'", *self._connect()))
            policy = _CSP_DOCS if passage.path in _DOCS else _CSP.format(connect=connect)
            for name, value in {"Content-Security-Policy": policy, **_OF_PAGES}.items():
                headers.setdefault(name, value)
        elif kind.startswith("application/json"):
            headers.setdefault("Cache-Control", "no-store")  # keys and conversations
        if self._origins:
            headers.add_vary_header("Origin")
        if passage.foreign_origin:
            headers["Access-Control-Allow-Origin"] = passage.foreign_origin
            headers["Access-Control-Expose-Headers"] = _EXPOSED
        message["headers"] = headers.raw


def _reading_on(receive: Receive, send: Send) -> Send:
    """The answer goes at once; the connection is not closed before the rest has come."""

    async def sent(message: Message) -> None:
        if message["type"] != "http.response.body":
            await send(message)
            return
        await send({**message, "more_body": True})
        left = _REST_BYTES
        with suppress(TimeoutError):
            async with asyncio.timeout(_REST_SECONDS):
                while left > 0:
                    rest = await receive()
                    left -= len(rest.get("body", b""))
                    if not rest.get("more_body", False):
                        break
        await send({"type": "http.response.body"})

    return sent


def _request_id(headers: Headers) -> str:
    given = headers.get("x-request-id", "")
    # It is logged, and kept in the audit: a secret is no name of a request.
    fine = _REQUEST_ID.fullmatch(given) is not None and redact(given) == given
    return given if fine else f"req_{secrets.token_hex(8)}"


def _bare(host: str) -> str:
    """A host name without its port, brackets and final dot."""
    host = host.strip().lower()
    if host.startswith("["):
        return host[1:].partition("]")[0]
    if host.count(":") == 1:
        host = host.partition(":")[0]
    return host.rstrip(".")


def _same_origin(origin: str, scheme: str, authority: str) -> bool:
    parts = urlsplit(origin)
    port = _DEFAULT_PORTS.get(parts.scheme)
    if port is None or parts.path or parts.query or parts.fragment:
        return False
    if scheme in ("https", "wss") and parts.scheme != "https":
        return False  # a proxy may turn https into http on the way to us, never the reverse
    return parts.netloc.removesuffix(port) == authority.removesuffix(port)


def _preflight(headers: Headers) -> Response:
    nearer = {"Access-Control-Allow-Private-Network": "true"} if _NEARER in headers else {}
    return Response(None, 204, {**_PREFLIGHT, **nearer})


def _is_preflight(scope: Scope, headers: Headers) -> bool:
    return scope.get("method") == "OPTIONS" and "access-control-request-method" in headers
