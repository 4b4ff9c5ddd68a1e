"""A real uvicorn on loopback, and a client so plain that it sees every chunk."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from vivavoce.app.listen import BoundedConfig, BoundedSocket, Bounds


@dataclass
class Served:
    port: int
    server: uvicorn.Server
    stopped: asyncio.Event = field(default_factory=asyncio.Event)

    def stop(self) -> None:
        self.server.should_exit = True


@asynccontextmanager
async def serving(
    app: ASGIApp, *, graceful: int = 5, bounds: Bounds | None = None
) -> AsyncIterator[Served]:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    config = BoundedConfig(
        app,
        bounds=bounds or Bounds(),
        log_config=None,
        lifespan="off",
        ws=BoundedSocket,
        timeout_graceful_shutdown=graceful,
    )
    served = Served(listener.getsockname()[1], uvicorn.Server(config))

    async def serve() -> None:
        await served.server.serve(sockets=[listener])
        served.stopped.set()

    with listener:
        async with asyncio.TaskGroup() as group:
            group.create_task(serve())
            try:
                await until(lambda: served.server.started)
                yield served
            finally:
                served.stop()


async def until(
    condition: Callable[[], object], *, seconds: float = 10, pause: float = 0.005
) -> None:
    """Bounded polling, for what announces itself to nobody."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(pause)


@dataclass
class Answer:
    """An HTTP answer whose body may go on."""

    status: int
    headers: dict[str, str]
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def chunk(self, *, seconds: float = 10) -> bytes:
        """One chunk as the server sent it; empty at the end of the answer."""
        async with asyncio.timeout(seconds):
            size = int((await self.reader.readline()).strip() or b"0", 16)
            data = await self.reader.readexactly(size)
            await self.reader.readline()
            return data

    async def rest(self) -> bytes:
        if "content-length" in self.headers:
            return await self.reader.readexactly(int(self.headers["content-length"]))
        out = b""
        while data := await self.chunk():
            out += data
        return out

    async def error(self) -> dict[str, Any]:
        found = json.loads(await self.rest())["error"]
        assert isinstance(found, dict)
        return found

    async def events(self, count: int) -> list[tuple[str, int | None]]:
        """At least `count` events with their ids, whatever chunks they come in."""
        text = ""
        while text.count("event: ") < count:
            text += (await self.chunk()).decode()
        found = []
        for frame in text.split("\n\n"):
            lines = dict(line.split(": ", 1) for line in frame.split("\n") if ": " in line)
            if "event" in lines:
                found.append((lines["event"], int(lines["id"]) if "id" in lines else None))
        return found


@asynccontextmanager
async def request(
    served: Served,
    path: str,
    *headers: str,
    method: str = "GET",
    body: bytes = b"",
    host: str | None = "localhost",
) -> AsyncIterator[Answer]:
    """Exactly the bytes asked for, which HTTP clients would mend."""
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    try:
        lines = [f"{method} {path} HTTP/1.1", *headers]
        if host is not None:
            lines.insert(1, f"Host: {host}")
        writer.write("\r\n".join([*lines, "", ""]).encode("latin-1") + body)
        status = int((await reader.readline()).split()[1])
        found = {}
        while line := (await reader.readline()).strip():
            name, _, value = line.decode("latin-1").partition(":")
            found[name.lower()] = value.strip()
        yield Answer(status, found, reader, writer)
    finally:
        writer.close()
