"""A user's backend as it may be: a real HTTP server that answers what it is told to."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

Answer = tuple[int, dict[str, str], bytes] | str
"""Status, headers, body; or "hang", "drop"."""
ACCEPTED: Answer = (200, {}, b'{"status": "accepted", "task_id": "T-1"}')


@dataclass
class Seen:
    path: str
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.raw)
        return found

    @property
    def key(self) -> str:
        return self.headers["idempotency-key"]


@dataclass
class UserBackend:
    """Answers with what is in `answers`, in turn, then with `usual`."""

    answers: list[Answer] = field(default_factory=list)
    usual: Answer = ACCEPTED
    seen: list[Seen] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/intents"

    @property
    def done(self) -> list[str]:
        """What a backend that honours the key would have acted on."""
        return list(dict.fromkeys(seen.key for seen in self.seen))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[UserBackend]:
        """Down before and after; up again on the same port."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            await server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self._answer(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        # Values as they came: signatures are base64.
        values = dict(line.split(": ", 1) for line in head[1:] if ": " in line)
        headers = {name.lower(): value for name, value in values.items()}
        raw = await reader.readexactly(int(headers.get("content-length", "0")))
        self.seen.append(Seen(head[0].split(" ")[1], headers, raw))
        answer = self.answers.pop(0) if self.answers else self.usual
        if answer == "hang":
            await reader.read()  # until the other side has had enough
            return
        if isinstance(answer, str):
            return
        status, more, body = answer
        lines = {"content-length": str(len(body)), "connection": "close"} | more
        told = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        writer.write(f"HTTP/1.1 {status} Answer\r\n{told}\r\n".encode() + body)
        await writer.drain()
