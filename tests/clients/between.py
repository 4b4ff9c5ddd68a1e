"""A loopback proxy between a client and the server: it notes what goes by, and can cut it off.

Owns what was taken down, in order: connections opened and closed, frames both ways,
HTTP requests with their answers. It changes nothing on the way. What a client's
frames mean, and how they are kept in files, is for `frames.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, MutableMapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import httpx
import orjson
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.server.serving import serving

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

CUT, SAID = "/cut", "/said"
"""`POST` to the first, and every WebSocket that is open is lost, without a close frame; to the
second, that somebody speaks for so many milliseconds where the sound does not come by here."""
_OURS = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-length",
        "host",
        "sec-websocket-extensions",
        "sec-websocket-key",
        "sec-websocket-protocol",
        "sec-websocket-version",
        "transfer-encoding",
        "upgrade",
    }
)
"""Headers that belong to one stretch of the way."""


@dataclass(frozen=True, slots=True)
class Opened:
    connection: int
    path: str
    query: str
    headers: dict[str, str]
    protocols: tuple[str, ...]
    refused: int | None = None
    """The HTTP status, where the server would not have it."""


@dataclass(frozen=True, slots=True)
class Sent:
    connection: int
    frame: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Got:
    connection: int
    event: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Closed:
    """By the client, by the server, or by the network: then it was cut."""

    connection: int
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


@dataclass(frozen=True, slots=True)
class Said:
    """Somebody began to speak, on a call by WebRTC."""

    ms: int


Taken = Opened | Sent | Got | Closed | Asked | Said


@dataclass
class Between:
    """An ASGI application; `url` is the base URL to give to the client."""

    origin: str
    url: str = ""
    taken: list[Taken] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))
    _open: dict[int, Callable[[], None]] = field(default_factory=dict)

    @property
    def controls(self) -> dict[str, str]:
        """Where a scene tells the proxy something."""
        origin = self.url.removesuffix("/v1")
        return {"cut": origin + CUT, "said": origin + SAID}

    def events(self) -> list[dict[str, Any]]:
        """All that the server sent."""
        return [one.event for one in self.taken if isinstance(one, Got)]

    def sent(self, kind: str | None = None) -> list[dict[str, Any]]:
        """All frames that the client sent, or those of one type."""
        frames = [one.frame for one in self.taken if isinstance(one, Sent)]
        return [frame for frame in frames if kind in (None, frame["type"])]

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await self._connect(scope, receive, send)
        elif scope["path"] == CUT:
            while self._open:
                _, abort = self._open.popitem()
                abort()
            await _answer(send, 204, {}, b"")
        elif scope["path"] == SAID:
            self.taken.append(Said(int(scope["query_string"])))
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

    async def _connect(self, scope: Message, receive: Receive, send: Send) -> None:
        await receive()  # websocket.connect
        number, query = next(self._numbers), scope["query_string"].decode()
        headers, protocols = _headers(scope), tuple(scope["subprotocols"])
        try:
            server = await connect(
                f"{self.origin.replace('http', 'ws', 1)}{scope['path']}?{query}",
                additional_headers=headers,
                subprotocols=list(protocols) or None,
                user_agent_header=None,
                max_size=None,
                proxy=None,
            )
        except InvalidStatus as refusal:
            status = refusal.response.status_code
            self.taken.append(Opened(number, scope["path"], query, headers, protocols, status))
            await _refuse(send, status, bytes(refusal.response.body or b""))
            return
        self.taken.append(Opened(number, scope["path"], query, headers, protocols))
        await send({"type": "websocket.accept", "subprotocol": server.subprotocol})
        # Uvicorn's own transport: to lose it is what a broken network looks like.
        self._open[number] = receive.__self__.transport.abort  # type: ignore[attr-defined]
        async with server, asyncio.TaskGroup() as group:
            up = group.create_task(self._up(number, receive, server))
            group.create_task(self._down(number, server, send, up))

    async def _up(self, number: int, receive: Receive, server: ClientConnection) -> None:
        while (message := await receive())["type"] != "websocket.disconnect":
            text = message.get("text") or message["bytes"].decode()
            self.taken.append(Sent(number, orjson.loads(text)))
            with suppress(ConnectionClosed):
                await server.send(text)
        # What was cut is no longer among the open ones.
        by = "client" if self._open.pop(number, None) else "network"
        self.taken.append(Closed(number, by))
        await server.close()

    async def _down(
        self, number: int, server: ClientConnection, send: Send, up: asyncio.Task[None]
    ) -> None:
        async for text in server:
            if number in self._open:
                self.taken.append(Got(number, orjson.loads(text)))
                await send({"type": "websocket.send", "text": str(text)})
        if self._open.pop(number, None):
            self.taken.append(Closed(number, "server"))
            up.cancel()
            await send({"type": "websocket.close", "code": server.close_code or 1000})


def _headers(scope: Message) -> dict[str, str]:
    given = {name.decode(): value.decode() for name, value in scope["headers"]}
    return {name: value for name, value in given.items() if name not in _OURS}


async def _answer(send: Send, status: int, headers: dict[str, str], body: bytes) -> None:
    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})


async def _refuse(send: Send, status: int, body: bytes) -> None:
    kind = [(b"content-type", b"application/json")]
    await send({"type": "websocket.http.response.start", "status": status, "headers": kind})
    await send({"type": "websocket.http.response.body", "body": body})


@asynccontextmanager
async def between(origin: str) -> AsyncIterator[Between]:
    proxy = Between(origin)
    async with serving(proxy) as served:
        proxy.url = f"http://127.0.0.1:{served.port}/v1"
        yield proxy
