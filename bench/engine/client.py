"""A client with a microphone and a loudspeaker, by WebSocket or by WebRTC, in real time.

Sound leaves in pieces of 20 ms, each when its last sample would have been
captured, and goes on as silence between the questions. What comes back is
kept as frames of 20 ms with the time at which the listener hears them: by
WebSocket a player without any reserve, which runs dry when a delta is late;
by WebRTC the arrival of the packet, before any jitter buffer (a browser's
adds 20 to 40 ms of its own).
"""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import orjson
import soxr
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from bench.engine.questions import RATE, Pcm, Question

PIECE = 0.02
LOUD = 600
"""Of 32,768: what counts as sound in what we get."""
_SEAM = 0.03

Json = dict[str, Any]


class Microphone:
    """What the user says, on the clock of a sound card."""

    def __init__(self, rate: int) -> None:
        self.rate = rate
        self._size = int(rate * PIECE)
        self._clip: Pcm = np.zeros(0, np.int16)
        self._at = self._sent = 0
        self._began = 0.0
        self._question: Question | None = None
        self.ended = 0.0
        """When the speech of the last question ended."""

    @property
    def speaking(self) -> bool:
        return self._question is not None or self._at < len(self._clip)

    def say(self, question: Question) -> None:
        self._question = question

    async def next(self) -> Pcm:
        self._began = self._began or time.monotonic()
        begins = self._began + self._sent / self.rate
        await asyncio.sleep(begins + PIECE - time.monotonic())
        if (question := self._question) is not None:
            self._question, self._at = None, 0
            self._clip = _at_rate(question.pcm, self.rate)
            self.ended = begins + question.ends
        piece = np.zeros(self._size, np.int16)
        part = self._clip[self._at : self._at + self._size]
        piece[: len(part)] = part
        self._at += self._size
        self._sent += self._size
        return piece


def _at_rate(pcm: Pcm, rate: int) -> Pcm:
    return pcm if rate == RATE else np.asarray(soxr.resample(pcm, RATE, rate), np.int16)


@dataclass(frozen=True, slots=True)
class Frame:
    """Up to 20 ms of sound: when it is heard, and its loudest sample."""

    at: float
    peak: int


@dataclass(frozen=True, slots=True)
class Gap:
    """The player ran dry in the middle of an item."""

    ms: float
    between: bool
    """At the end of a clause, where a pause is only longer, rather than inside a word."""


@dataclass
class Player:
    """A loudspeaker without a reserve: sound plays when it is here and what was before is over."""

    frames: list[Frame] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    free_at: float = 0.0
    _item: str = ""
    _quiet: bool = True

    def feed(self, item: str, pcm: Pcm, now: float) -> None:
        if not len(pcm):
            return
        late = now - self.free_at
        if item == self._item and late > 0.001:
            between = self._quiet or _peak(pcm[: int(RATE * _SEAM)]) < LOUD
            self.gaps.append(Gap(late * 1000, between))
        at = max(now, self.free_at)
        size = int(RATE * PIECE)
        for start in range(0, len(pcm), size):
            self.frames.append(Frame(at + start / RATE, _peak(pcm[start : start + size])))
        self.free_at = at + len(pcm) / RATE
        self._item, self._quiet = item, _peak(pcm[-int(RATE * _SEAM) :]) < LOUD


def _peak(pcm: Pcm) -> int:
    return int(np.abs(pcm.astype(np.int32)).max()) if len(pcm) else 0


class Line(Protocol):
    """One session, whichever way."""

    mic: Microphone
    events: list[tuple[float, Json]]
    changed: asyncio.Event
    closed: str | None
    """Why the line is down."""

    @property
    def frames(self) -> list[Frame]: ...

    @property
    def gaps(self) -> list[Gap]: ...

    def send(self, event: Json) -> None: ...

    def heard(self, response_id: str) -> bool:
        """Has the listener heard all of a response that is done?"""
        ...

    def clear(self) -> None:
        """A new turn: what was before is forgotten."""
        ...


class SocketLine:
    def __init__(self, socket: ClientConnection) -> None:
        self.mic = Microphone(RATE)
        self.events: list[tuple[float, Json]] = []
        self.changed = asyncio.Event()
        self.closed: str | None = None
        self.player = Player()
        self._socket = socket
        self._out: asyncio.Queue[Json] = asyncio.Queue(256)

    @property
    def frames(self) -> list[Frame]:
        return self.player.frames

    @property
    def gaps(self) -> list[Gap]:
        return self.player.gaps

    def send(self, event: Json) -> None:
        self._out.put_nowait(event)

    def heard(self, response_id: str) -> bool:
        return time.monotonic() >= self.player.free_at

    def clear(self) -> None:
        self.events.clear()
        self.player = Player()

    async def speak(self) -> None:
        while self.closed is None:
            pcm = (await self.mic.next()).astype("<i2").tobytes()
            audio = base64.b64encode(pcm).decode()
            await self._write({"type": "input_audio_buffer.append", "audio": audio})

    async def write(self) -> None:
        while self.closed is None:
            await self._write(await self._out.get())

    async def _write(self, event: Json) -> None:
        try:
            await self._socket.send(orjson.dumps(event).decode())
        except ConnectionClosed as gone:
            self._close(gone)

    async def listen(self) -> None:
        try:
            while True:
                raw = await self._socket.recv()
                now = time.monotonic()
                event = orjson.loads(raw)
                if event["type"] == "response.output_audio.delta":
                    sound = base64.b64decode(event.pop("delta"))
                    self.player.feed(event["item_id"], np.frombuffer(sound, "<i2"), now)
                self.events.append((now, event))
                self.changed.set()
        except ConnectionClosed as gone:
            self._close(gone)

    def _close(self, gone: ConnectionClosed) -> None:
        end = gone.rcvd
        self.closed = f"closed with {end.code} {end.reason}" if end else "lost"
        self.changed.set()


@asynccontextmanager
async def by_socket(
    address: str, headers: Mapping[str, str] | None = None, subprotocols: list[str] | None = None
) -> AsyncIterator[SocketLine]:
    """Raises `websockets.exceptions.InvalidStatus` where it is refused."""
    async with connect(
        address,
        additional_headers=headers,
        subprotocols=subprotocols,  # type: ignore[arg-type] # plain strings are what it is given
        compression=None,
        max_size=None,
        close_timeout=1.0,
        proxy=None,
    ) as socket:
        line = SocketLine(socket)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(part()) for part in (line.listen, line.write, line.speak)]
            try:
                yield line
            finally:
                for task in tasks:
                    task.cancel()
