"""A runtime as its author would write it from the published schema alone: it speaks JSON over a
WebSocket, and knows nothing of ours."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import jsonschema
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from tests.docs_text import ROOT

SCHEMA = json.loads((ROOT / "docs" / "conductor" / "event.schema.json").read_text())
_CHECK = jsonschema.Draft202012Validator(SCHEMA)
_OURS = {
    rule["if"]["properties"]["name"]["const"]: jsonschema.Draft202012Validator(
        {**rule["then"]["properties"]["arguments"]["contentSchema"], "$defs": SCHEMA["$defs"]}
    )
    for rule in SCHEMA["$defs"]["ToolCall"]["allOf"]
}
"""What the server calls by itself, and what the schema says that it is given."""

Tool = Callable[[dict[str, Any]], Any]


def event(kind: str, body: Mapping[str, Any], event_id: str | None = None) -> dict[str, Any]:
    return {
        "id": event_id or str(uuid.uuid4()),
        "timestamp": datetime.now(UTC).isoformat(),
        "kind": {kind: dict(body)},
    }


class Cut(Exception):
    """The line is gone, as it was to be."""


async def _nothing(what: str) -> None:
    pass


class Runtime:
    """Answers the server's own calls at once, its tools by what it was given; keeps what it saw.

    What it did for a call it knows by the call's id, across connections, as the protocol says."""

    def __init__(self, url: str, session_id: str | None = None, **start: Any) -> None:
        self.session_id = session_id or str(uuid.uuid4())
        self.move(url)
        self.headers: dict[str, str] = {}
        self.start_with = start
        self.tools: dict[str, Tool] = {}
        self.ran: list[tuple[str, str]] = []  # call, tool: each that was really run
        self.done: dict[str, dict[str, Any]] = {}  # call → what was answered
        self.spoken: list[str] = []
        self.seen: list[tuple[str, dict[str, Any]]] = []
        self.holds: set[str] = set()  # tools that are not answered
        self.closed: tuple[int, str] | None = None
        self.changed = asyncio.Event()
        self._at = 0
        self.point: Callable[[str], Awaitable[None]] = _nothing
        """Called with each message, whichever way it goes: before it is dealt with, after it was
        sent."""
        self._socket: ClientConnection | None = None

    def move(self, url: str) -> None:
        """To a server at another address."""
        self.address = f"{url.replace('http', 'ws', 1)}/conductor?sessionId={self.session_id}"

    @asynccontextmanager
    async def connected(self, *, start: bool = True) -> AsyncIterator[Runtime]:
        self.closed = None
        async with connect(
            self.address, additional_headers=self.headers, max_size=None, close_timeout=1
        ) as socket:
            self._socket = socket
            async with asyncio.TaskGroup() as group:
                reader = group.create_task(self._read(socket))
                if start:
                    await self.send("sessionStart", sessionId=self.session_id, **self.start_with)
                try:
                    yield self
                finally:
                    await socket.close()
                    await reader

    async def send(self, kind: str, event_id: str | None = None, /, **body: Any) -> str:
        made = event(kind, body, event_id)
        await self.raw(json.dumps(made))
        await self.point(f"sent {kind}")
        return str(made["id"])

    def cut(self) -> None:
        """As a cable that is pulled."""
        assert self._socket is not None
        self._socket.transport.abort()

    async def raw(self, text: str | bytes) -> None:
        assert self._socket is not None
        await self._socket.send(text)

    async def say(self, text: str, event_id: str | None = None) -> str:
        return await self.send("userAudioTranscriptFinal", event_id, text=text)

    async def result(self, call_id: str, result: Any = None, error: str | None = None) -> None:
        text = None if result is None else json.dumps(result)
        await self.send("toolResult", callId=call_id, result=text, error=error)

    async def _read(self, socket: ClientConnection) -> None:
        try:
            async for text in socket:
                told = json.loads(text)
                _CHECK.validate(told)
                ((kind, body),) = told["kind"].items()
                self.seen.append((kind, body))
                await self.point(f"got {kind} {body.get('name', '')}".strip())
                if kind == "toolCall":
                    await self._called(body)
                self.changed.set()
        except ConnectionClosed:
            pass
        finally:
            self.closed = (socket.close_code or 1006, socket.close_reason or "")
            self.changed.set()

    async def _called(self, call: dict[str, Any]) -> None:
        call_id, name = call["callId"], call["name"]
        if name in _OURS:
            _OURS[name].validate(json.loads(call["arguments"]))
        if name in self.holds:
            return
        if call_id not in self.done:
            self.done[call_id] = await self._run(call_id, name, json.loads(call["arguments"]))
        await self.send("toolResult", callId=call_id, **self.done[call_id])

    async def _run(self, call_id: str, name: str, given: dict[str, Any]) -> dict[str, Any]:
        if name == "tts.speak":
            self.spoken.append(given["text"])
            return {"result": '{"spoken":true}', "error": None}
        if name in _OURS and name not in self.tools:
            return {"result": '{"ok":true}', "error": None}
        self.ran.append((call_id, name))
        try:
            return {"result": json.dumps(self.tools[name](given)), "error": None}
        except Exception as fault:
            return {"result": None, "error": str(fault)}

    async def next(self) -> tuple[str, dict[str, Any]]:
        """What it saw, one after the other."""
        await self.until(lambda: self.unread > 0)
        self._at += 1
        return self.seen[self._at - 1]

    @property
    def unread(self) -> int:
        return len(self.seen) - self._at

    # --- Looking ------------------------------------------------------------------------

    def all(self, kind: str) -> list[dict[str, Any]]:
        return [body for name, body in self.seen if name == kind]

    def calls(self, name: str) -> list[dict[str, Any]]:
        return [body for body in self.all("toolCall") if body["name"] == name]

    @property
    def states(self) -> list[str]:
        return [json.loads(one["arguments"])["state"] for one in self.calls("convo.setState")]

    @property
    def errors(self) -> list[str]:
        return [one["code"] for one in self.all("error")]

    async def until(self, done: Callable[[], bool], seconds: float = 40.0) -> None:
        try:
            async with asyncio.timeout(seconds):
                while not done():
                    if self.closed is not None and self.point is not _nothing:
                        raise Cut
                    self.changed.clear()
                    await self.changed.wait()
        except TimeoutError:
            told = f"closed {self.closed}; saw last {self.seen[-12:]}"
            raise AssertionError(f"never came; {told}") from None

    async def wait_for(self, kind: str, count: int = 1) -> dict[str, Any]:
        await self.until(lambda: len(self.all(kind)) >= count)
        return self.all(kind)[count - 1]

    async def called(self, name: str, count: int = 1) -> dict[str, Any]:
        await self.until(lambda: len(self.calls(name)) >= count)
        return self.calls(name)[count - 1]

    async def at_rest(self, times: int = 1) -> None:
        """An answer was given, and the state is idle again."""
        await self.until(
            lambda: self.states[-1:] == ["idle"] and self.states.count("idle") >= times
        )
