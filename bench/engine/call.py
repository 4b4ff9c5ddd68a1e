"""The WebRTC side of `bench.engine.client`: plain aiortc, its packets seen as they arrive."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from fractions import Fraction
from typing import Any

import aioice.ice
import av
import httpx
import numpy as np
import orjson
from aiortc import MediaStreamTrack, RTCConfiguration, RTCPeerConnection, RTCSessionDescription
from aiortc.rtp import RtpPacket

from bench.engine.client import LOUD, PIECE, Frame, Gap, Json, Microphone

_RATE = 48_000
_HOSTS = aioice.ice.get_host_addresses
_OFF_BEAT = 0.02
"""A packet that comes so much later than the beat: more than any jitter buffer's reserve."""


_gathering: list[object] = []


@contextmanager
def _loopback() -> Iterator[None]:
    """aioice leaves loopback out; here it is the only way there should be."""
    _gathering.append(None)
    aioice.ice.get_host_addresses = lambda use_ipv4, use_ipv6: ["127.0.0.1"]
    try:
        yield
    finally:
        _gathering.pop()
        if not _gathering:
            aioice.ice.get_host_addresses = _HOSTS


class Refusal(Exception):
    """The server did not take the call."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(f"{status} {words}")
        self.status = status


class _Track(MediaStreamTrack):
    kind = "audio"

    def __init__(self, mic: Microphone) -> None:
        super().__init__()
        self._mic, self._sent = mic, 0

    async def recv(self) -> av.AudioFrame:
        pcm = await self._mic.next()
        frame = av.AudioFrame.from_ndarray(pcm.reshape(1, -1), format="s16", layout="mono")
        frame.sample_rate, frame.pts, frame.time_base = _RATE, self._sent, Fraction(1, _RATE)
        self._sent += len(pcm)
        return frame


class CallLine:
    def __init__(self) -> None:
        self.mic = Microphone(_RATE)
        self.events: list[tuple[float, Json]] = []
        self.changed = asyncio.Event()
        self.closed: str | None = None
        self._frames: list[Frame] = []
        self._gaps: list[Gap] = []
        self._last: Frame | None = None
        self._decoder = av.CodecContext.create("opus", "r")
        self._played: set[str] = set()
        self.connection = RTCPeerConnection(RTCConfiguration(iceServers=[]))
        self.connection.addTrack(_Track(self.mic))
        self.channel = self.connection.createDataChannel("oai-events")
        self.channel.on("message", self._message)
        self.channel.on("close", self._closed)

    @property
    def frames(self) -> list[Frame]:
        return self._frames

    @property
    def gaps(self) -> list[Gap]:
        return self._gaps

    def send(self, event: Json) -> None:
        self.channel.send(orjson.dumps(event).decode())

    def heard(self, response_id: str) -> bool:
        return response_id in self._played

    def clear(self) -> None:
        self.events.clear()
        self._played.clear()
        self._frames, self._gaps = [], []

    async def open(self, url: str, headers: Mapping[str, str]) -> None:
        """Raises `Refusal`."""
        with _loopback():
            await self.connection.setLocalDescription(await self.connection.createOffer())
        async with httpx.AsyncClient(trust_env=False, timeout=30) as http:
            answer = await http.post(
                url,
                content=str(self.connection.localDescription.sdp),
                headers={**headers, "content-type": "application/sdp"},
            )
        if answer.status_code >= 300:
            raise Refusal(answer.status_code, answer.text[:200])
        description = RTCSessionDescription(answer.text, "answer")
        # Instead of aiortc's own buffer: nothing waits, and nothing is decoded twice.
        receiver: Any = self.connection.getReceivers()[0]
        receiver._handle_rtp_packet = self._packet
        await self.connection.setRemoteDescription(description)

    # --- What comes -----------------------------------------------------------------------

    async def _packet(self, packet: RtpPacket, arrival_time_ms: int) -> None:
        now = time.monotonic()
        if not packet.payload:
            return
        for sound in self._decoder.decode(av.Packet(packet.payload)):
            peak = int(np.abs(_wave(sound)).max())
            frame = Frame(now, peak)
            last, self._last = self._last, frame
            late = now - last.at - PIECE if last is not None else 0.0
            if last is not None and late > _OFF_BEAT and max(last.peak, peak) >= LOUD:
                self._gaps.append(Gap(late * 1000, min(last.peak, peak) < LOUD))
            self._frames.append(frame)

    def _message(self, text: str) -> None:
        event = orjson.loads(text)
        if event["type"] in ("output_audio_buffer.stopped", "output_audio_buffer.cleared"):
            self._played.add(event["response_id"])
        self.events.append((time.monotonic(), event))
        self.changed.set()

    def _closed(self) -> None:
        self.closed = "the data channel was closed"
        self.changed.set()


def _wave(sound: Any) -> Any:
    """As PCM16, however the decoder gives it."""
    wave = sound.to_ndarray()
    return wave.astype(np.float64) * 32768 if wave.dtype.kind == "f" else wave.astype(np.int32)


@asynccontextmanager
async def by_call(url: str, headers: Mapping[str, str]) -> AsyncIterator[CallLine]:
    """Raises `Refusal`."""
    line = CallLine()
    try:
        await line.open(url, headers)
        async with asyncio.timeout(30):
            while line.channel.readyState != "open":
                await asyncio.sleep(0.02)
        yield line
    finally:
        await line.connection.close()
