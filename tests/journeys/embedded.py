"""A whole server that answers by its own engine, and the two ways a browser talks to it.

Everything is real but the models: ears that know what is said, a mouth that
hums, a detector that takes loud for speech.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import aioice.ice
import av
import httpx
import numpy as np
import numpy.typing as npt
import orjson
import pytest
import soxr
from aiortc import MediaStreamTrack, RTCConfiguration, RTCPeerConnection, RTCSessionDescription
from aiortc.mediastreams import MediaStreamError
from websockets.asyncio.client import connect

from tests.engine import strictly  # noqa: F401
from tests.engine.stage import Line
from tests.engine.strict import strict
from tests.journeys.stage import Stage, _serve
from vivavoce.app.engine import EmbeddedEngine
from vivavoce.app.listen import Listener, bind, bound_to, listener_config
from vivavoce.app.server import assemble, build_app
from vivavoce.app.settings import Settings
from vivavoce.brain.script.brain import ScriptedBrain
from vivavoce.brain.script.script import Script
from vivavoce.engine.shell.work import Parts
from vivavoce.testing.engine import HummingMouth, LoudnessDetector, ScriptedEars, SureJudge
from vivavoce.testing.provider import ScriptedProvider
from vivavoce.wire.brain import Brain


@asynccontextmanager
async def embedded(
    folder: Path,
    *,
    script: Script | None = None,
    brain: Brain | None = None,
    ears: ScriptedEars | None = None,
    mouth: HummingMouth | None = None,
    crowded: Callable[[], str | None] = lambda: None,
    standby: bool = False,
    **more: Any,
) -> AsyncIterator[Stage]:
    """Up, and down again in order. `standby`: another provider serves, named in `more`."""
    values: dict[str, Any] = {
        "port": 0,
        "data_dir": folder,
        "workspace": folder,
        "shutdown_seconds": 2.0,
    }
    values |= {"conductor_trust": True, **more}  # the runtimes here are all our own
    settings = Settings(_env_file=None, **values)  # type: ignore[call-arg]
    parts = Parts(
        ears=ears or ScriptedEars(),
        mouth=mouth or HummingMouth(20),
        brain=brain or ScriptedBrain(script or Script()),
        judge=SureJudge(),
        detector=LoudnessDetector,
        crowded=crowded,
    )
    with bind(settings) as bound:
        settings = settings.model_copy(update={"port": bound.getsockname()[1]})
        inside = EmbeddedEngine(settings, parts=lambda: parts, standby=standby)
        here = assemble(
            settings,
            engine=None if standby else inside,
            standby=inside if standby else None,
        )
        if here.hardware is not None:
            here.hardware.listen_on(bound_to("127.0.0.1", 0, ""))
        listener = Listener(listener_config(build_app(here), settings), here)
        url = f"http://127.0.0.1:{settings.port}"
        async with asyncio.TaskGroup() as group:
            serving = group.create_task(_serve(listener, bound))
            while not listener.started and not serving.done():
                await asyncio.sleep(0.01)
            async with httpx.AsyncClient(base_url=url, timeout=30.0, trust_env=False) as http:
                while not serving.done() and (await http.get("/ready")).status_code != 200:
                    await asyncio.sleep(0.01)  # its models are loaded beside the start
                try:
                    yield Stage(cast("ScriptedProvider", None), here, url, http, group, listener)
                finally:
                    listener.should_exit = True
                    await serving


# --- By WebSocket -----------------------------------------------------------------------------


@asynccontextmanager
async def by_websocket(stage: Stage, key: str) -> AsyncIterator[Line]:
    """The page's way where WebRTC finds none."""
    opened = await stage.post("/audio", headers={"authorization": f"Bearer {key}"})
    address = stage.url.replace("http", "ws", 1) + opened["url"]
    async with connect(
        address, subprotocols=opened["protocols"], max_size=None, close_timeout=0.5
    ) as socket:
        line = Line(socket)
        await line.until("session.created")
        yield line


# --- By WebRTC ---------------------------------------------------------------------------------


class Microphone(MediaStreamTrack):
    """Silent until it is told to be loud for a while, or given something to say."""

    kind = "audio"

    def __init__(self) -> None:
        super().__init__()
        self.loud_until = 0.0
        self._words = np.zeros(0, np.int16)
        self._sent, self._began = 0, 0.0

    def speak(self, seconds: float) -> None:
        self.loud_until = time.monotonic() + seconds

    def say(self, pcm: bytes) -> None:
        """PCM16 at 24 kHz."""
        words = soxr.resample(np.frombuffer(pcm, "<i2"), 24_000, 48_000).astype(np.int16)
        self._words = np.concatenate((self._words, words))

    @property
    def speaking(self) -> bool:
        return bool(self._words.size)

    async def recv(self) -> av.AudioFrame:
        self._began = self._began or time.monotonic()
        await asyncio.sleep(self._began + self._sent / 48_000 - time.monotonic())
        loud = 9000 if time.monotonic() < self.loud_until else 0
        wave = loud * np.sin((np.arange(960) + self._sent) * (2 * np.pi * 300 / 48_000))
        words, self._words = self._words[:960], self._words[960:]
        wave[: words.size] += words
        frame = av.AudioFrame.from_ndarray(
            wave.astype(np.int16).reshape(1, -1), format="s16", layout="mono"
        )
        frame.sample_rate, frame.pts, frame.time_base = 48_000, self._sent, Fraction(1, 48_000)
        self._sent += 960
        return frame


class Browser:
    """Plain aiortc: a microphone, a loudspeaker and a data channel."""

    def __init__(self) -> None:
        self.connection = RTCPeerConnection(RTCConfiguration(iceServers=[]))
        self.microphone = Microphone()
        self.connection.addTrack(self.microphone)
        self.channel = self.connection.createDataChannel("oai-events")
        self.channel.on("message", self._message)
        self.seen: list[dict[str, Any]] = []
        self.changed = asyncio.Event()
        self.loud: list[tuple[float, float]] = []
        """When a frame came, and how loud it was."""
        self._pieces: list[bytes] = []

    def _message(self, text: str) -> None:
        event = orjson.loads(text)
        strict(event)
        self.seen.append(event)
        self.changed.set()

    async def offer(self) -> str:
        await self.connection.setLocalDescription(await self.connection.createOffer())
        return str(self.connection.localDescription.sdp)

    async def accept(self, answer: str) -> None:
        await self.connection.setRemoteDescription(RTCSessionDescription(answer, "answer"))

    async def listen(self) -> None:
        track = self.connection.getReceivers()[0].track
        with contextlib.suppress(MediaStreamError):
            while True:
                frame = cast("av.AudioFrame", await track.recv())
                pcm: npt.NDArray[Any] = frame.to_ndarray().astype(np.float64)
                self.loud.append((time.monotonic(), float(np.sqrt(np.mean(pcm**2)))))
                # 48 kHz, stereo, both alike; a voice has nothing above 12 kHz.
                self._pieces.append(frame.to_ndarray().reshape(-1)[::4].astype("<i2").tobytes())

    @property
    def sound(self) -> bytes:
        """All that came, PCM16 at 24 kHz."""
        return b"".join(self._pieces)

    async def hear(self, seconds: float) -> None:
        """Waits for so much sound that is no silence, in frames of 20 ms."""
        async with asyncio.timeout(30):
            while 0.02 * sum(level > 100 for _, level in self.loud) < seconds:
                await asyncio.sleep(0.01)

    async def until(self, kind: str, seconds: float = 40.0) -> dict[str, Any]:
        try:
            async with asyncio.timeout(seconds):
                while True:
                    for event in self.seen:
                        if event["type"] == kind:
                            return event
                    self.changed.clear()
                    await self.changed.wait()
        except TimeoutError:
            seen = [event["type"] for event in self.seen]
            raise AssertionError(f"{kind} never came; saw {seen}") from None

    def send(self, kind: str, **fields: Any) -> None:
        self.channel.send(orjson.dumps({"type": kind, **fields}).decode())


@asynccontextmanager
async def by_webrtc(
    stage: Stage, key: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Browser]:
    # aioice leaves loopback out; here it is the only way there should be.
    monkeypatch.setattr(aioice.ice, "get_host_addresses", lambda use_ipv4, use_ipv6: ["127.0.0.1"])
    browser = Browser()
    headers = {"content-type": "application/sdp", "authorization": f"Bearer {key}"}
    answer = await stage.http.post("/sdp", content=await browser.offer(), headers=headers)
    assert answer.status_code == 200, answer.text
    await browser.accept(answer.text)
    async with asyncio.TaskGroup() as group:
        listening = group.create_task(browser.listen())
        try:
            await browser.until("session.created")
            yield browser
        finally:
            await browser.connection.close()
            listening.cancel()
