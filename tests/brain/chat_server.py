"""A server of chat completions on loopback that answers what it is told to, odd things included."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar


@dataclass(frozen=True)
class Reply:
    """`lines` are sent one after the other, and the connection ends, or hangs."""

    status: int = 200
    lines: tuple[str, ...] = ()
    kind: str = "text/event-stream"
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False
    """Break off in place of an end."""
    hangs: bool = False
    """Say nothing more until the other side goes."""
    until: asyncio.Event | None = None
    """Say nothing before, but for the `first` lines."""
    first: int = 0


def event(**delta: Any) -> str:
    """One chunk with a piece of the message."""
    reason = delta.pop("finish_reason", None)
    return data({"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})


def call(index: int | None = 0, **entry: Any) -> str:
    """One chunk with a piece of a call: `id`, `name`, `arguments`."""
    function = {key: entry[key] for key in ("name", "arguments") if key in entry}
    made = {"function": function} | ({"id": entry["id"]} if "id" in entry else {})
    return event(tool_calls=[made if index is None else made | {"index": index}])


def data(chunk: Any) -> str:
    return f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n"


DONE = "data: [DONE]\n\n"


def stream(*lines: str, reason: str = "stop", **more: Any) -> Reply:
    """A proper one, to its end."""
    return Reply(lines=(*lines, event(finish_reason=reason), DONE), **more)


def refusal(status: int, message: str, **more: Any) -> Reply:
    headers = more.pop("headers", {})
    text = json.dumps({"error": {"message": message, **more}})
    return Reply(status, (text,), "application/json", headers)


@dataclass
class ChatServer:
    """Answers with `replies` in order, the last again and again. `asked` is what it was asked."""

    replies: list[Reply]
    asked: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    connections: int = 0
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when somebody hung up in the middle."""
    port: int = 0
    open: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def reply(self, asked: dict[str, Any]) -> Reply:
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]

    async def meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open += 1
        try:
            while await self._answer(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            self.gone.set()
        finally:
            writer.close()
            self.open -= 1

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        request, *rest = head.split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in rest if line)
        sent = await reader.readexactly(int(headers.get("content-length", 0)))
        self.paths.append(request.split()[1])
        self.asked.append(json.loads(sent) if sent else {})
        self.keys.append(headers.get("authorization"))
        reply = self.reply(self.asked[-1])
        if reply.until is not None and not reply.first:
            await reply.until.wait()
        told = {"Content-Type": reply.kind, "Transfer-Encoding": "chunked", **reply.headers}
        lines = "".join(f"{name}: {value}\r\n" for name, value in told.items())
        writer.write(f"HTTP/1.1 {reply.status} X\r\n{lines}\r\n".encode())
        for number, line in enumerate(reply.lines):
            if reply.until is not None and number == reply.first:
                await reply.until.wait()
            piece = line.encode()
            writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            await writer.drain()
        if reply.hangs:
            await reader.read()  # nothing comes but the end
            self.gone.set()
            return False
        if reply.cut:
            return False
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True


Chat = TypeVar("Chat", bound=ChatServer)


@asynccontextmanager
async def serving(*replies: Reply | Iterable[str]) -> AsyncIterator[ChatServer]:
    made = [reply if isinstance(reply, Reply) else stream(*reply) for reply in replies]
    async with open_to_all(ChatServer(made)) as chat:
        yield chat


@asynccontextmanager
async def open_to_all(chat: Chat) -> AsyncIterator[Chat]:
    server = await asyncio.start_server(chat.meet, "127.0.0.1", 0)
    chat.port = server.sockets[0].getsockname()[1]
    try:
        yield chat
    finally:
        server.close()
        async with asyncio.timeout(5):
            while chat.open:  # the other side hangs up first
                await asyncio.sleep(0.001)
