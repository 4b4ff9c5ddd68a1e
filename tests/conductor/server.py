"""A server at the far end of a real socket, of the library `websockets`: what it is sent it keeps,
what it sends a test says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any
from uuid import uuid4

from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response


class Far:
    """`refuses`: with which status of HTTP, while it is set."""

    def __init__(self) -> None:
        self.url = ""
        self.refuses: HTTPStatus | None = None
        self.requests: list[Request] = []
        self.lines: asyncio.Queue[FarLine] = asyncio.Queue()

    async def line(self) -> FarLine:
        async with asyncio.timeout(10):
            return await self.lines.get()

    def process(self, connection: ServerConnection, request: Request) -> Response | None:
        self.requests.append(request)
        return connection.respond(self.refuses, "No.") if self.refuses else None

    async def serve(self, connection: ServerConnection) -> None:
        line = FarLine(connection)
        self.lines.put_nowait(line)
        try:
            async for message in connection:
                line.heard.put_nowait(json.loads(message))
        except ConnectionClosed:
            pass


class FarLine:
    def __init__(self, connection: ServerConnection) -> None:
        self.connection = connection
        self.heard: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async def next(self, kind: str) -> dict[str, Any]:
        """What it was sent; it is of that kind."""
        async with asyncio.timeout(10):
            event = await self.heard.get()
        ((name, body),) = event["kind"].items()
        assert name == kind, event
        return dict(body)

    async def send(self, kind: str, **body: Any) -> None:
        told = {"id": str(uuid4()), "timestamp": "2025-01-15T10:30:00.000Z", "kind": {kind: body}}
        await self.connection.send(json.dumps(told))

    async def call(self, call_id: str, name: str, **given: Any) -> None:
        await self.send("toolCall", callId=call_id, name=name, arguments=json.dumps(given))

    def cut(self) -> None:
        """As a network does it: nobody says goodbye."""
        self.connection.transport.abort()


@asynccontextmanager
async def far() -> AsyncIterator[Far]:
    end = Far()
    async with serve(
        end.serve, "127.0.0.1", 0, process_request=end.process, close_timeout=0.5
    ) as server:
        (socket,) = server.sockets
        end.url = f"ws://127.0.0.1:{socket.getsockname()[1]}/conductor"
        yield end
