"""The WebSockets of a scripted call: what goes out over them, comes in, and goes wrong.

Knows frames and faults, not what they mean.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from vivavoce.runtime.ports import Clock
from vivavoce.testing.realtime.script import (
    BadJson,
    CallFault,
    Close,
    Delay,
    Drop,
    Garbage,
    Reorder,
)
from vivavoce.testing.realtime.session import Json

T = TypeVar("T")

Where = Mapping[str, Any] | Callable[[Json], bool]
"""A part that the frame must contain, or a question about it."""

MAX_FRAMES = 10_000
TIMEOUT = 5.0


@dataclass(eq=False, slots=True)
class Line:
    """One attached WebSocket; `abort` cuts it without a close frame."""

    socket: WebSocket
    abort: Callable[[], None]

    async def send(self, frame: str | bytes) -> None:
        """To a line that is closed already, nothing is sent, as in life."""
        try:
            async with asyncio.timeout(TIMEOUT):
                if isinstance(frame, str):
                    await self.socket.send_text(frame)
                else:
                    await self.socket.send_bytes(frame)
        except (WebSocketDisconnect, RuntimeError):
            return

    async def close(self, code: int, reason: str) -> None:
        if self.socket.application_state is WebSocketState.CONNECTED:
            try:
                await self.socket.close(code, reason)
            except (WebSocketDisconnect, RuntimeError):
                return

    async def next(self) -> Json | None:
        """What the client sent, or None once the line has ended."""
        try:
            frame: Json = json.loads(await self.socket.receive_text())
        except (WebSocketDisconnect, RuntimeError):
            return None
        return frame


class Outbox:
    """Sends every event to every line, in order, unless it was told to misbehave."""

    def __init__(self, clock: Clock) -> None:
        self.lines: list[Line] = []
        self.emitted: deque[Json] = deque(maxlen=MAX_FRAMES)
        self._clock = clock
        self._sending = asyncio.Lock()
        self._late: tuple[float, int] = (0.0, 0)
        self._hold = 0
        self._held: list[Json] = []

    async def broadcast(self, event: Json) -> None:
        async with self._sending:  # two that speak at once must not mix their events
            seconds, count = self._late
            if count:
                self._late = (seconds, count - 1)
                await self._clock.sleep(seconds)
            self._held.append(event)
            if len(self._held) < self._hold:
                return
            ready, self._held, self._hold = self._held[::-1], [], 0
            for one in ready:
                self.emitted.append(one)
                await self._to_all(json.dumps(one))

    async def misbehave(self, fault: CallFault) -> None:
        match fault:
            case Drop():
                for line in self.lines:
                    line.abort()
            case Close(code, reason):
                for line in list(self.lines):
                    await line.close(code, reason)
            case BadJson():
                await self._to_all('{"type": "session.upd')
            case Garbage():
                await self._to_all(b"\x00\xff\xfe\x80garbage")
            case Delay(seconds, events):
                self._late = (seconds, events)
            case Reorder(events):
                self._hold = events

    async def _to_all(self, frame: str | bytes) -> None:
        for line in list(self.lines):
            await line.send(frame)


class Inbox:
    """What came in, and the wait for what has not come yet."""

    def __init__(self, name: str) -> None:
        self.received: deque[Json] = deque(maxlen=MAX_FRAMES)
        self._name = name
        self._unmatched: deque[Json] = deque(maxlen=MAX_FRAMES)
        self._changed = asyncio.Condition()

    async def put(self, frame: Json) -> None:
        self.received.append(frame)
        self._unmatched.append(frame)
        await self.look()

    async def look(self) -> None:
        """Something has changed: whoever waits looks again."""
        async with self._changed:
            self._changed.notify_all()

    async def take(self, kind: str, where: Where | None, timeout: float) -> Json:
        def match() -> Json | None:
            for frame in self._unmatched:
                if frame.get("type") == kind and _fits(frame, where):
                    self._unmatched.remove(frame)
                    return frame
            return None

        wanted = kind if where is None or callable(where) else f"{kind} with {dict(where)}"
        return await self.until(match, timeout, wanted)

    async def until(self, answer: Callable[[], T | None], timeout: float, wanted: str) -> T:
        """The first answer that is not None."""
        try:
            async with asyncio.timeout(timeout), self._changed:
                while (found := answer()) is None:
                    await self._changed.wait()
                return found
        except TimeoutError:
            frames = [f"  {n}. {_short(frame)}" for n, frame in enumerate(self.received, 1)]
            listing = "\n".join(frames[-40:]) or "  nothing"
            message = f"{self._name}: expected {wanted} within {timeout} s; received:\n{listing}"
            raise AssertionError(message) from None


def _fits(frame: Json, where: Where | None) -> bool:
    if where is None:
        return True
    return where(frame) if callable(where) else _contains(frame, where)


def _contains(have: object, want: object) -> bool:
    """Mappings by the keys that are wanted, all else by equality."""
    if isinstance(want, Mapping):
        return isinstance(have, Mapping) and all(
            key in have and _contains(have[key], value) for key, value in want.items()
        )
    return have == want


def _short(frame: Json) -> str:
    text = json.dumps(frame, ensure_ascii=False)
    return text if len(text) <= 200 else text[:199] + "…"
