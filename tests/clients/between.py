"""A loopback proxy between a client and the server: it notes what goes by, and can cut the line.

Owns what was taken down, in order: lines opened and closed, frames both ways,
HTTP requests with their answers. It changes nothing on the way. What a client's
frames mean, and how they are kept in files, is for `frames.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import httpx
import orjson
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.server.serving import serving

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

CUT = "/cut"
"""`POST` here, and every line that is open is lost, without a close frame."""
_OURS = frozenset(
    "host connection upgrade content-length transfer-encoding accept-encoding sec-websocket-key "
    "sec-websocket-version sec-websocket-extensions sec-websocket-protocol".split()
)
"""Headers that belong to one stretch of the way."""


@dataclass(frozen=True, slots=True)
class Opened:
    line: int
    path: str
    query: str
    headers: dict[str, str]
    protocols: tuple[str, ...]
    refused: int | None = None
    """The HTTP status, where the server would not have it."""


@dataclass(frozen=True, slots=True)
class Sent:
    line: int
    frame: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Got:
    line: int
    event: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Closed:
    """By the client, by the server, or cut by us."""

    line: int
    by: str


@dataclass(frozen=True, slots=True)
class Asked:
    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes
    status: int
    answer_headers: dict[str, str]
    answer: bytes


Taken = Opened | Sent | Got | Closed | Asked


@dataclass
class Between:
    """An ASGI application; `url` is the base URL to give to the client."""

    origin: str
    url: str = ""
    taken: list[Taken] = field(default_factory=list)
    _lines: int = 0
    _open: dict[int, Callable[[], None]] = field(default_factory=dict)

    @property
    def cut_url(self) -> str:
        return self.url.removesuffix("/v1") + CUT

    def events(self) -> list[dict[str, Any]]:
        """All that the server sent."""
        return [one.event for one in self.taken if isinstance(one, Got)]

    def sent(self, kind: str | None = None) -> list[dict[str, Any]]:
        """All frames that the client sent, or those of one type."""
        frames = [one.frame for one in self.taken if isinstance(one, Sent)]
        return [frame for frame in frames if kind in (None, frame["type"])]

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await self._line(scope, receive, send)
        elif scope["path"] == CUT:
            for cut in list(self._open.values()):
                cut()
            await _answer(send, 204, {}, b"")
        else:
            await self._ask(scope, receive, send)

    # --- HTTP ---------------------------------------------------------------------------

    async def _ask(self, scope: Message, receive: Receive, send: Send) -> None:
        body = b""
        while True:
            part = await receive()
            body += part.get("body", b"")
            if not part.get("more_body"):
                break
        query, headers = scope["query_string"].decode(), _headers(scope)
        async with httpx.AsyncClient(base_url=self.origin, trust_env=False, timeout=60) as http:
            url = scope["path"] + (f"?{query}" if query else "")
            found = await http.request(scope["method"], url, headers=headers, content=body)
        answered = {
            name: value for name, value in found.headers.items() if name not in _OURS | {"date"}
        }
        self.taken.append(
            Asked(
                scope["method"],
                scope["path"],
                query,
                headers,
                body,
                found.status_code,
                answered,
                found.content,
            )
        )
        await _answer(send, found.status_code, answered, found.content)

    # --- WebSocket ----------------------------------------------------------------------

    async def _line(self, scope: Message, receive: Receive, send: Send) -> None:
        await receive()  # websocket.connect
        self._lines += 1
        number, query = self._lines, scope["query_string"].decode()
        headers, protocols = _headers(scope), tuple(scope["subprotocols"])
        address = f"{self.origin.replace('http', 'ws', 1)}{scope['path']}?{query}"
        try:
            socket = await connect(
                address,
                additional_headers=headers,
                subprotocols=list(protocols) or None,
                user_agent_header=None,
                max_size=None,
                proxy=None,
            )
        except InvalidStatus as refusal:
            status = refusal.response.status_code
            self.taken.append(Opened(number, scope["path"], query, headers, protocols, status))
            body = refusal.response.body or b""
            await _refuse(send, status, bytes(body))
            return
        self.taken.append(Opened(number, scope["path"], query, headers, protocols))
        await send({"type": "websocket.accept", "subprotocol": socket.subprotocol})
        # The transport of this line: losing it is what a broken network looks like.
        self._open[number] = receive.__self__.transport.abort  # type: ignore[attr-defined]
        try:
            async with socket, asyncio.TaskGroup() as group:
                up = group.create_task(self._up(number, receive, socket))
                group.create_task(self._down(number, socket, send, up))
        finally:
            del self._open[number]

    async def _up(self, number: int, receive: Receive, socket: ClientConnection) -> None:
        while True:
            message = await receive()
            if message["type"] == "websocket.disconnect":
                lost = message.get("code") == 1006
                self.taken.append(Closed(number, "cut" if lost else "client"))
                await socket.close()
                return
            text = message.get("text") or message["bytes"].decode()
            self.taken.append(Sent(number, orjson.loads(text)))
            with suppress(ConnectionClosed):
                await socket.send(text)

    async def _down(
        self, number: int, socket: ClientConnection, send: Send, up: asyncio.Task[None]
    ) -> None:
        async for text in socket:
            self.taken.append(Got(number, orjson.loads(text)))
            with suppress(Exception):  # it may have gone this very moment; `_up` tells
                await send({"type": "websocket.send", "text": str(text)})
        if not up.done():
            self.taken.append(Closed(number, "server"))
            with suppress(Exception):
                await send({"type": "websocket.close", "code": socket.close_code or 1000})
            up.cancel()


def _headers(scope: Message) -> dict[str, str]:
    given = {name.decode(): value.decode() for name, value in scope["headers"]}
    return {name: value for name, value in given.items() if name not in _OURS}


async def _answer(send: Send, status: int, headers: dict[str, str], body: bytes) -> None:
    lines = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": lines})
    await send({"type": "http.response.body", "body": body})


async def _refuse(send: Send, status: int, body: bytes) -> None:
    kind = [(b"content-type", b"application/json")]
    await send({"type": "websocket.http.response.start", "status": status, "headers": kind})
    await send({"type": "websocket.http.response.body", "body": body})


@asynccontextmanager
async def between(origin: str) -> AsyncIterator[Between]:
    proxy = Between(origin)
    async with serving(proxy) as served:  # type: ignore[arg-type]
        proxy.url = f"http://127.0.0.1:{served.port}/v1"
        yield proxy
