"""The two ends of the measured calls: ours, bare aiortc, and a plain client."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import time
from collections.abc import Awaitable, Callable
from fractions import Fraction

import av
import numpy as np
import numpy.typing as npt
import soxr
from aiortc import (
    MediaStreamTrack,
    RTCConfiguration,
    RTCPeerConnection,
    RTCSessionDescription,
)
from aiortc.mediastreams import MediaStreamError
from aiortc.rtp import RtpPacket, is_rtcp

from vivavoce.engine.media.options import MediaOptions
from vivavoce.engine.media.peer import WebRtcPeer, answer

Pcm = npt.NDArray[np.int16]
Lose = Callable[[], bool]

_RATE = 48_000
_FRAME = 960
_BASE = Fraction(1, _RATE)


class Speaker(MediaStreamTrack):
    """Something like a voice, 20 ms at a time, in real time."""

    kind = "audio"

    def __init__(self) -> None:
        super().__init__()
        at = np.arange(_RATE) / _RATE
        wave = np.sum([np.sin(2 * np.pi * 120 * k * at) / k for k in range(1, 20)], axis=0)
        self._second: Pcm = (wave * (1 + np.sin(2 * np.pi * 3 * at)) * 4000).astype(np.int16)
        self._sent, self._began = 0, 0.0

    async def recv(self) -> av.AudioFrame:
        if not self._sent:
            self._began = time.monotonic()
        await asyncio.sleep(self._began + self._sent / _RATE - time.monotonic())
        start = self._sent % _RATE
        pcm = self._second[start : start + _FRAME].reshape(1, -1)
        frame = av.AudioFrame.from_ndarray(pcm, format="s16", layout="mono")
        frame.sample_rate, frame.pts, frame.time_base = _RATE, self._sent, _BASE
        self._sent += _FRAME
        return frame


def connection() -> RTCPeerConnection:
    return RTCPeerConnection(RTCConfiguration(iceServers=[]))


class Client:
    """A plain aiortc client; knows when it sent each packet, and when each of ours arrived."""

    def __init__(self, lose: Lose | None = None) -> None:
        self.pc = connection()
        self.pc.addTrack(Speaker())
        self.channel = self.pc.createDataChannel("oai-events")
        self.sent_at: dict[int, float] = {}  # by RTP timestamp
        self.arrivals: list[float] = []
        self._lose = lose

    async def offer(self) -> str:
        await self.pc.setLocalDescription(await self.pc.createOffer())
        return str(self.pc.localDescription.sdp)

    async def accept(self, text: str) -> None:
        await self.pc.setRemoteDescription(RTCSessionDescription(sdp=text, type="answer"))
        self._watch()

    def _watch(self) -> None:
        transport = self.pc.getSenders()[0].transport
        receiver = self.pc.getReceivers()[0]
        send: Callable[[bytes], Awaitable[None]] = transport._send_rtp
        receive = receiver._handle_rtp_packet

        async def sending(data: bytes) -> None:
            if not is_rtcp(data):
                self.sent_at[RtpPacket.parse(data).timestamp] = time.monotonic()
                if self._lose is not None and self._lose():
                    return
            await send(data)

        async def receiving(packet: RtpPacket, arrival_time_ms: int) -> None:
            self.arrivals.append(time.monotonic())
            await receive(packet, arrival_time_ms=arrival_time_ms)

        transport._send_rtp = sending  # type: ignore[method-assign] # to watch or to lose packets where they pass
        receiver._handle_rtp_packet = receiving  # type: ignore[method-assign] # to watch or to lose packets where they pass

    async def drain(self) -> None:
        """What a browser would play; nobody here listens."""
        with contextlib.suppress(MediaStreamError):
            while True:
                await self.pc.getReceivers()[0].track.recv()


# --- Ours ----------------------------------------------------------------------------


class Echo:
    """Fills `PeerEvents`: what is heard is said, and when it was heard is kept."""

    def __init__(self) -> None:
        self.peer: WebRtcPeer | None = None
        self.heard: Callable[[], None] = lambda: None
        self._down = soxr.ResampleStream(_RATE, 24_000, 1, dtype="int16")

    def audio(self, pcm: Pcm, rate: int) -> None:
        self.heard()
        if self.peer is not None:
            self.peer.playout.put("r", "i", self._down.resample_chunk(pcm).tobytes())

    def message(self, text: str) -> None: ...
    def connected(self) -> None: ...
    def channel_open(self) -> None: ...
    def playing(self, response_id: str) -> None: ...
    def played(self, response_id: str) -> None: ...
    def gone(self, reason: str) -> None: ...


async def ours(offer: str, group: asyncio.TaskGroup) -> tuple[str, WebRtcPeer, Echo]:
    echo = Echo()
    peer, text = await answer(offer, echo, MediaOptions(loopback=True))
    echo.peer = peer
    group.create_task(peer.run())
    return text, peer, echo


# --- Bare aiortc ---------------------------------------------------------------------


class Mirror(MediaStreamTrack):
    """aiortc's usual echo: the received track, sent back."""

    kind = "audio"

    def __init__(self, source: MediaStreamTrack, heard: Callable[[av.AudioFrame], None]) -> None:
        super().__init__()
        self._source, self._heard = source, heard

    async def recv(self) -> av.AudioFrame:
        frame = await self._source.recv()
        assert isinstance(frame, av.AudioFrame)
        self._heard(frame)
        return frame


async def bare(
    offer: str, heard: Callable[[av.AudioFrame], None] = lambda frame: None
) -> tuple[str, RTCPeerConnection]:
    pc = connection()
    pc.on("track", lambda track: pc.addTrack(Mirror(track, heard)))
    await pc.setRemoteDescription(RTCSessionDescription(sdp=offer, type="offer"))
    await pc.setLocalDescription(await pc.createAnswer())
    return str(pc.localDescription.sdp), pc


# --- Processes -----------------------------------------------------------------------


async def line() -> str:
    return await asyncio.to_thread(sys.stdin.readline)


async def serve(side: str) -> None:
    """Offers in on one line, answers out on another; then echo until killed."""
    kept: list[object] = []
    async with asyncio.TaskGroup() as group:
        texts = []
        for offer in json.loads(await line()):
            if side == "ours":
                text, *rest = await ours(offer, group)
            else:
                text, *rest = await bare(offer)
            texts.append(text)
            kept.append(rest)
        print(json.dumps(texts), flush=True)
        await line()


async def speak(count: int) -> None:
    """The callers of those calls."""
    clients = [Client() for _ in range(count)]
    print(json.dumps([await client.offer() for client in clients]), flush=True)
    async with asyncio.TaskGroup() as group:
        for client, text in zip(clients, json.loads(await line()), strict=True):
            await client.accept(text)
            group.create_task(client.drain())
        while any(len(client.arrivals) < 25 for client in clients):
            await asyncio.sleep(0.05)
        print("connected", flush=True)
        await line()
