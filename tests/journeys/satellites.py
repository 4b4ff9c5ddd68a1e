"""A satellite as Home Assistant's are, on the published package: it does what `wyoming-satellite`
does on a wake word, a transcript and an answer. It connects, or is called on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from wyoming.audio import AudioChunk, AudioFormat
from wyoming.client import AsyncTcpClient
from wyoming.event import Event, Eventable, async_read_event, async_write_event
from wyoming.info import Attribution, Info, Satellite, SndProgram
from wyoming.ping import Ping, Pong
from wyoming.pipeline import PipelineStage, RunPipeline

_PIECE_MS = 64
_OURS = Attribution("the tests", "")


@dataclass
class Room:
    """What a satellite hears from its server, and does about it."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    rate: int = 16_000
    width: int = 2
    channels: int = 1
    snd: AudioFormat = field(default_factory=lambda: AudioFormat(22_050, 2, 1))
    seen: list[Event] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    sound: bytearray = field(default_factory=bytearray)
    streaming: bool = False
    always: bool = False
    """Its microphone is on whatever it hears."""
    triggered: bool = False
    """Turns its microphone on when it is asked to."""
    busy_until: float = 0.0
    """When it will have played what came."""

    async def write(self, event: Eventable) -> None:
        await async_write_event(event.event(), self.writer)

    async def live(self) -> None:
        """Until the server hangs up."""
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while (event := await async_read_event(self.reader)) is not None:
                await self._take(event)

    async def _take(self, event: Event) -> None:
        match event.type:
            case "ping":
                await self.write(Pong(Ping.from_event(event).text))
                return
            case "describe":
                await self.write(self._info())
            case "transcript" | "error" | "run-satellite" | "pause-satellite":
                self.streaming = self.always  # else back to the wake word
            case "audio-start":
                self.busy_until = asyncio.get_running_loop().time()
            case "audio-chunk":
                sound = event.payload or b""
                self.sound += sound
                form = self.snd
                self.busy_until += len(sound) / form.width / form.channels / form.rate
            case "audio-stop":
                asyncio.get_running_loop().call_at(self.busy_until, self._played)
        self.seen.append(event)
        self.changed.set()

    def _played(self) -> None:
        """All of it. Who interrupts it has played no more."""
        self.writer.write(b'{"type": "played"}\n')

    def _info(self) -> Info:
        told: dict[str, Any] = {
            "attribution": _OURS,
            "installed": True,
            "description": None,
            "version": None,
        }
        return Info(
            satellite=Satellite(name="kitchen", supports_trigger=self.triggered, **told),
            snd=[SndProgram(name="speaker", snd_format=self.snd, **told)],
        )

    # --- What happens in the room -------------------------------------------------------

    async def wake(self, *, always: bool = False, stage: PipelineStage = PipelineStage.ASR) -> None:
        """Somebody says the wake word."""
        self.streaming, self.always = True, always
        await self.write(RunPipeline(stage, PipelineStage.TTS, restart_on_end=always))

    async def hear(self, pcm: bytes, *, pace: float = 1.0) -> None:
        """Its microphone sends that, as long as it is on, in real time."""
        frame = self.width * self.channels
        piece = self.rate * _PIECE_MS // 1000 * frame
        for start in range(0, len(pcm), piece):
            if not self.streaming:
                return
            audio = pcm[start : start + piece]
            await self.write(AudioChunk(self.rate, self.width, self.channels, audio))
            await asyncio.sleep(_PIECE_MS / 1000 * pace)

    async def quiet(self) -> None:
        """Nobody speaks, until it turns its microphone off."""
        frame = self.width * self.channels
        async with asyncio.timeout(20):
            while self.streaming:
                await self.hear(bytes(self.rate // 10 * frame))

    async def until(self, kind: str, count: int = 1, seconds: float = 20.0) -> Event:
        try:
            async with asyncio.timeout(seconds):
                while len(self.all(kind)) < count:
                    self.changed.clear()
                    await self.changed.wait()
        except TimeoutError:
            raise AssertionError(f"{kind} never came; saw {self.types()}") from None
        return self.all(kind)[count - 1]

    def all(self, kind: str) -> list[Event]:
        return [event for event in self.seen if event.type == kind]

    def types(self) -> list[str]:
        """Without the many."""
        return [event.type for event in self.seen if event.type != "audio-chunk"]


@asynccontextmanager
async def connecting(address: str, **more: Any) -> AsyncIterator[Room]:
    """A satellite that connects to its server."""
    client = AsyncTcpClient(*_place(address))
    await client.connect()
    assert client._reader is not None
    assert client._writer is not None
    room = Room(client._reader, client._writer, **more)
    async with asyncio.TaskGroup() as group:
        living = group.create_task(room.live())
        try:
            yield room
        finally:
            living.cancel()
            await client.disconnect()


@dataclass
class Listening:
    """A satellite that waits for its server, as `wyoming-satellite` does."""

    port: int
    rooms: list[Room] = field(default_factory=list)
    came: asyncio.Event = field(default_factory=asyncio.Event)

    async def room(self) -> Room:
        async with asyncio.timeout(20):
            await self.came.wait()
        return self.rooms[-1]


@asynccontextmanager
async def listening(make: Callable[..., Room] = Room) -> AsyncIterator[Listening]:
    there = Listening(0)

    async def come(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        room = make(reader, writer)
        there.rooms.append(room)
        there.came.set()
        try:
            await room.live()
        finally:
            writer.close()

    server = await asyncio.start_server(come, "127.0.0.1", 0)
    there.port = server.sockets[0].getsockname()[1]
    try:
        yield there
    finally:
        server.close()
        for room in there.rooms:
            room.writer.close()
        await server.wait_closed()


def _place(address: str) -> tuple[str, int]:
    host, _, port = address.removeprefix("tcp://").rpartition(":")
    return host, int(port)
