"""The browser's part in media tests, played by plain aiortc, and what our peer told."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from fractions import Fraction

import av
import numpy as np
import numpy.typing as npt
from aiortc import (
    MediaStreamTrack,
    RTCConfiguration,
    RTCPeerConnection,
    RTCSessionDescription,
)
from aiortc.mediastreams import MediaStreamError
from aiortc.rtp import is_rtcp

from vivavoce.engine.media.options import MediaOptions
from vivavoce.engine.media.peer import WebRtcPeer, answer

Pcm = npt.NDArray[np.int16]
LOCAL = MediaOptions(loopback=True)

Send = Callable[[bytes], Awaitable[None]]
Network = Callable[[Send], Send]
"""Wraps the sending of RTP packets: loses, swaps, doubles."""


def tone(hertz: float, samples: int, rate: int, start: int = 0, loud: int = 9000) -> Pcm:
    at = (np.arange(samples) + start) / rate
    return (loud * np.sin(2 * np.pi * hertz * at)).astype(np.int16)


def pitch(pcm: Pcm, rate: int) -> float:
    """The strongest frequency."""
    spectrum = np.abs(np.fft.rfft(pcm * np.hanning(pcm.size)))
    return float(np.argmax(spectrum) * rate / pcm.size)


def quiet_frames(pcm: Pcm, rate: int) -> int:
    """How many stretches of 10 ms are (nearly) silent."""
    n = rate // 100
    frames = pcm[: pcm.size // n * n].reshape(-1, n).astype(np.float64)
    return int((np.sqrt((frames**2).mean(axis=1)) < 300).sum())


def is_whole(sound: Pcm) -> bool:
    """No holes but the odd one that a busy machine makes."""
    return quiet_frames(sound, 48_000) <= sound.size / 480 * 0.1


async def until(condition: Callable[[], bool], seconds: float = 15.0) -> None:
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.01)


@dataclass
class Heard:
    """Fills `PeerEvents` and remembers."""

    pieces: list[Pcm] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    opened: int = 0
    connects: int = 0
    playing_: list[str] = field(default_factory=list)
    played_: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    rate: int = 0

    def audio(self, pcm: Pcm, rate: int) -> None:
        self.pieces.append(pcm)
        self.rate = rate

    def message(self, text: str) -> None:
        self.messages.append(text)

    def connected(self) -> None:
        self.connects += 1

    def channel_open(self) -> None:
        self.opened += 1

    def playing(self, response_id: str) -> None:
        self.playing_.append(response_id)

    def played(self, response_id: str) -> None:
        self.played_.append(response_id)

    def gone(self, reason: str) -> None:
        self.reasons.append(reason)

    @property
    def sound(self) -> Pcm:
        return np.concatenate(self.pieces) if self.pieces else np.zeros(0, np.int16)

    def seconds(self) -> float:
        return sum(piece.size for piece in self.pieces) / 48_000


class Microphone(MediaStreamTrack):
    """A steady tone, 20 ms at a time."""

    kind = "audio"

    def __init__(self, hertz: float) -> None:
        super().__init__()
        self._hertz, self._sent, self._began = hertz, 0, 0.0

    async def recv(self) -> av.AudioFrame:
        if not self._sent:
            self._began = time.monotonic()
        await asyncio.sleep(self._began + self._sent / 48_000 - time.monotonic())
        pcm = tone(self._hertz, 960, 48_000, self._sent)
        frame = av.AudioFrame.from_ndarray(pcm.reshape(1, -1), format="s16", layout="mono")
        frame.sample_rate, frame.pts, frame.time_base = 48_000, self._sent, Fraction(1, 48_000)
        self._sent += 960
        return frame


class FarEnd:
    """A client that sends a tone, keeps what it hears and opens `oai-events`."""

    def __init__(self, hertz: float = 440.0) -> None:
        self.pc = RTCPeerConnection(RTCConfiguration(iceServers=[]))
        self.pc.addTrack(Microphone(hertz))
        self.channel = self.pc.createDataChannel("oai-events")
        self.messages: list[str] = []
        self.channel.on("message", self.messages.append)
        self.pieces: list[Pcm] = []

    async def offer(self) -> str:
        await self.pc.setLocalDescription(await self.pc.createOffer())
        return str(self.pc.localDescription.sdp)

    async def accept(self, text: str, network: Network | None = None) -> None:
        if network is not None:
            self.through(network)
        await self.pc.setRemoteDescription(RTCSessionDescription(sdp=text, type="answer"))

    def through(self, network: Network) -> None:
        """Put a network between its RTP packets and ours."""
        transport = self.pc.getSenders()[0].transport
        straight: Send = transport._send_rtp
        crooked = network(straight)

        async def send(data: bytes) -> None:
            await (straight if is_rtcp(data) else crooked)(data)

        transport._send_rtp = send  # type: ignore[method-assign]

    async def listen(self) -> None:
        """Keep what arrives, until the track ends."""
        with contextlib.suppress(MediaStreamError):
            while True:
                frame = await self.pc.getReceivers()[0].track.recv()
                assert isinstance(frame, av.AudioFrame)
                both = frame.to_ndarray().astype(np.int16).reshape(-1, 2)
                self.pieces.append(both[:, 0])

    @property
    def sound(self) -> Pcm:
        return np.concatenate(self.pieces) if self.pieces else np.zeros(0, np.int16)


@dataclass
class Call:
    peer: WebRtcPeer
    far: FarEnd
    heard: Heard


@contextlib.asynccontextmanager
async def call(
    options: MediaOptions = LOCAL, *, network: Network | None = None, hertz: float = 440.0
) -> AsyncIterator[Call]:
    """A call that is up, and down again at the end."""
    heard, far = Heard(), FarEnd(hertz)
    peer, text = await answer(await far.offer(), heard, options)
    async with asyncio.TaskGroup() as group:
        group.create_task(peer.run())
        try:
            await far.accept(text, network)
            group.create_task(far.listen())
            await until(lambda: far.channel.readyState == "open" and heard.opened == 1)
            yield Call(peer, far, heard)
        finally:
            await peer.close()
            await far.pc.close()


def lossy(share: float, seed: int = 1) -> Network:
    dice = random.Random(seed)

    def network(send: Send) -> Send:
        async def through(data: bytes) -> None:
            if dice.random() >= share:
                await send(data)

        return through

    return network


def swapping(every: int) -> Network:
    """Of every so many packets, one arrives after its successor, twice."""

    def network(send: Send) -> Send:
        late: list[bytes] = []
        count = 0

        async def through(data: bytes) -> None:
            nonlocal count
            count += 1
            if count % every == 0:
                late.append(data)
                return
            await send(data)
            while late:
                again = late.pop()
                await send(again)
                await send(again)

        return through

    return network
