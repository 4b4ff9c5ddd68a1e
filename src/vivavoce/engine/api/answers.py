"""Requests and answers in the shape of OpenAI's API, whatever the endpoint.

The one place where a fault becomes an answer of `/v1`. Knows nothing of what
is asked for.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Any, TypeVar

import orjson
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from vivavoce.engine.api.control import Engine
from vivavoce.errors import ClientError, RateLimited, Unauthorized, VivavoceError
from vivavoce.wire.realtime.refusal import Refused

T = TypeVar("T")

EVENTS = "text/event-stream"
_SUBPROTOCOL_KEY = "openai-insecure-api-key."
_RETRY_MS = 2000
_CODES: dict[type[VivavoceError], str] = {
    Unauthorized: "invalid_api_key",
    RateLimited: "rate_limit_exceeded",
}


# --- Reading requests ---------------------------------------------------------------------


def key_of(conn: HTTPConnection) -> str | None:
    """A bearer's key, Azure's, or the one that browsers put among their subprotocols."""
    scheme, _, value = conn.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and value.strip():
        return value.strip()
    if (azure := conn.headers.get("api-key")) is not None:
        return azure
    for name in conn.headers.get("sec-websocket-protocol", "").split(","):
        if name.strip().startswith(_SUBPROTOCOL_KEY):
            return name.strip().removeprefix(_SUBPROTOCOL_KEY)
    return None


def parsed(raw: bytes) -> dict[str, Any]:
    """A JSON object. Raises `Refused`."""
    try:
        body = orjson.loads(raw or b"{}")
    except orjson.JSONDecodeError:
        raise Refused("The body is not valid JSON.", code="invalid_json") from None
    if not isinstance(body, dict):
        raise Refused("The body should be a JSON object.", code="invalid_json")
    return body


# --- Answers --------------------------------------------------------------------------------


def answer(body: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(orjson.dumps(body), status, headers, media_type="application/json")


def event(body: Any) -> bytes:
    """A server-sent event, of the kind whose name is in the data."""
    return b"data: " + orjson.dumps(body) + b"\n\n"


def refusal(fault: Refused | VivavoceError) -> tuple[int, dict[str, Any], dict[str, str]]:
    """Status, body and headers."""
    if isinstance(fault, Refused):
        return 400, _error(fault.message, fault.type, fault.code, fault.param), {}
    kind = "invalid_request_error" if isinstance(fault, ClientError) else "server_error"
    code = "call_id_not_found" if "call_id" in fault.details else fault.code
    code = next((known for of, known in _CODES.items() if isinstance(fault, of)), code)
    after = fault.retry_after_ms
    headers = {} if after is None else {"Retry-After": str(math.ceil(after / 1000))}
    return fault.status, _error(fault.message, kind, code), headers


def _error(
    message: str, kind: str, code: str | None = None, param: str | None = None
) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "code": code, "param": param}}


def shaped(fault: Refused | VivavoceError) -> Response:
    status, body, headers = refusal(fault)
    return answer(body, status, headers)


async def refused(request: Request, fault: Exception) -> Response:
    assert isinstance(fault, Refused | VivavoceError)
    return shaped(fault)


async def not_there(request: Request, fault: Exception) -> Response:
    assert isinstance(fault, HTTPException)
    words = f"{request.method} {request.url.path[:120]}: {fault.detail.lower()}"
    return answer(_error(words, "invalid_request_error"), fault.status_code, fault.headers)


async def unexpected(request: Request, fault: Exception) -> Response:
    words = "The server had an error while processing your request."
    return answer(_error(words, "server_error", "internal_error"), 500)


class Streamed(Response):
    """An answer that is sent as it is made. What fails before its first piece is refused like
    any other request; what fails later is told in an event, where there are events."""

    def __init__(self, pieces: AsyncGenerator[bytes, None], media_type: str) -> None:
        super().__init__(media_type=media_type, headers={"Cache-Control": "no-store"})
        del self.headers["content-length"]
        self._pieces = pieces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await while_connected(receive, self._send(send))

    async def _send(self, send: Send) -> None:
        async with aclosing(self._pieces) as pieces:
            data = await anext(pieces, b"")
            start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
            await send(start)
            try:
                while data:
                    await send({"type": "http.response.body", "body": data, "more_body": True})
                    data = await anext(pieces, b"")
            except VivavoceError as fault:
                if self.media_type != EVENTS:
                    raise  # the connection is cut: half a file must not look like a whole one
                last = event(refusal(fault)[1])
                await send({"type": "http.response.body", "body": last, "more_body": True})
            await send({"type": "http.response.body", "body": b""})


async def while_connected(receive: Receive, work: Coroutine[Any, Any, T]) -> T | None:
    """What comes of the work; None where the client left meanwhile, and the work with it."""

    async def leave() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        raise _Left

    try:
        async with asyncio.TaskGroup() as group:
            watch = group.create_task(leave())
            result = await work
            watch.cancel()
    except BaseExceptionGroup as faults:
        if isinstance(fault := faults.exceptions[0], _Left):
            return None
        raise fault from None
    return result


class _Left(Exception):
    """The client has."""


async def gathered(pieces: AsyncGenerator[T, None]) -> list[T]:
    async with aclosing(pieces):
        return [piece async for piece in pieces]


class Endpoint:
    """Answers so many requests at a time, lets so many more wait, and takes no others."""

    AT_ONCE, WAITING = 2, 16

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._served = asyncio.Semaphore(self.AT_ONCE)
        self._left = self.AT_ONCE + self.WAITING

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        if not self._left:
            words = "Too many such requests are under way. Please try again in a moment."
            raise RateLimited(words, retry_after_ms=_RETRY_MS)
        self._left -= 1
        try:
            async with self._served:
                yield
        finally:
            self._left += 1
