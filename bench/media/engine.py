"""The whole engine, with nothing in it that thinks: barge-in over WebRTC, and what it adds.

Barge-in has the real detector and a real voice saying "Wait, stop!"; the
time is from the first loud sample leaving the microphone to the last packet
of the assistant's voice. Overhead is from the sound that ends a turn to the
first sound of the answer, beside a bare WebSocket that echoes frames of the
same size.
"""

from __future__ import annotations

import asyncio
import base64
import statistics
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from fractions import Fraction

import av
import numpy as np
import numpy.typing as npt
import orjson
import uvloop
from aiortc import MediaStreamTrack, RTCConfiguration, RTCPeerConnection, RTCSessionDescription
from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import ServerConnection, serve

from bench import size
from vivavoce.app.settings import load_settings
from vivavoce.engine.api.control import Engine, EngineOptions
from vivavoce.engine.api.keys import Keys
from vivavoce.engine.api.realtime import build_door
from vivavoce.engine.ears.detecting import load_silero
from vivavoce.engine.media.options import MediaOptions
from vivavoce.engine.media.playout import Frame
from vivavoce.engine.mouth.kokoro import KokoroMouth
from vivavoce.engine.ports import Detector
from vivavoce.engine.shell.calls import Call
from vivavoce.engine.shell.work import Parts
from vivavoce.engine.turn.configuration import initial
from vivavoce.engine.turn.state import Policy
from vivavoce.models.store import ModelStore
from vivavoce.testing.engine import VOICES, HummingMouth, LoudnessDetector, ScriptedEars, SureJudge
from vivavoce.wire.brain import Ask, Budget, Finished, Piece, Words

Report = Callable[[str, float, float, str], None]
INTERRUPTIONS = size(40, quick=2)
TURNS = size(200, quick=10)
TARGET_BARGE_IN = 250.0
_LOUD = 600


class Parrot:
    """Fills `Brain`: so many words, at once."""

    name = "parrot"
    budget = Budget()

    def __init__(self, words: int) -> None:
        self._text = "word, " * words

    def count(self, text: str) -> int:
        return len(text) // 4

    async def answer(self, ask: Ask) -> AsyncGenerator[Piece, None]:
        yield Words(self._text)
        yield Finished()

    async def warm(self, ask: Ask) -> None: ...

    def forget(self, live: str) -> None: ...


def parts(words: int, detector: Callable[[], Detector] = LoudnessDetector) -> Parts:
    return Parts(ScriptedEars(), HummingMouth(50), Parrot(words), SureJudge(), detector)


# --- Barge-in -------------------------------------------------------------------------


class Voice(MediaStreamTrack):
    """A microphone: silence, and the recording whenever `speak` is called."""

    kind = "audio"

    def __init__(self, recording: npt.NDArray[np.int16]) -> None:
        super().__init__()
        self._recording, self._at = recording, len(recording)
        self._sent, self._began = 0, 0.0
        self.onset = 0.0

    def speak(self) -> None:
        self._at, self.onset = 0, 0.0

    async def recv(self) -> av.AudioFrame:
        self._began = self._began or time.monotonic()
        await asyncio.sleep(self._began + self._sent / 48_000 - time.monotonic())
        piece = np.zeros(960, np.int16)
        part = self._recording[self._at : self._at + 960]
        piece[: len(part)] = part
        self._at += 960
        if not self.onset and np.abs(piece.astype(np.int32)).max() > _LOUD:
            self.onset = time.monotonic()
        frame = av.AudioFrame.from_ndarray(piece.reshape(1, -1), format="s16", layout="mono")
        frame.sample_rate, frame.pts, frame.time_base = 48_000, self._sent, Fraction(1, 48_000)
        self._sent += 960
        return frame


def barge_in(report: Report) -> None:
    store = ModelStore(load_settings().models_dir)
    asyncio.run(store.pull(["silero-vad", "kokoro"]))
    detector = load_silero(store.path("silero-vad", "silero_vad.onnx"))
    mouth = KokoroMouth(store.folder / "kokoro")
    said = asyncio.run(mouth.speak("Wait, stop!", voice="cedar"))
    mouth.close()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        took = runner.run(_interruptions(np.frombuffer(said.pcm, np.int16).repeat(2), detector))
    for name, share in (("median", 50), ("p95", 95)):
        ours = float(np.percentile(took, share))
        what = f"barge-in, speech to the last packet, {name}, beside the target"
        report(f"engine: {what}", ours, TARGET_BARGE_IN, "ms")


async def _interruptions(
    recording: npt.NDArray[np.int16], detector: Callable[[], Detector]
) -> list[float]:
    policy = Policy("sess_1", "conv_1", frozenset(VOICES), 0, paced=True)
    configuration = initial("vivavoce", voice="marin", voices=VOICES)
    call = Call("rtc_1", policy, configuration, parts(400, detector), locked=False)
    browser = RTCPeerConnection(RTCConfiguration(iceServers=[]))
    voice = Voice(recording)
    browser.addTrack(voice)
    browser.createDataChannel("oai-events")
    await browser.setLocalDescription(await browser.createOffer())
    answer = await call.answer(browser.localDescription.sdp, MediaOptions(loopback=True))
    last_loud = _watch(call)
    took: list[float] = []
    async with asyncio.TaskGroup() as group:
        group.create_task(call.run(3600))
        await browser.setRemoteDescription(RTCSessionDescription(answer, "answer"))
        # The first speech begins a long answer, each next one interrupts it and begins another.
        for number in range(INTERRUPTIONS + 1):
            await asyncio.sleep(0.3)
            voice.speak()
            if number:
                await _quiet(call)
                took.append((last_loud[0] - voice.onset) * 1000)
            await _answering(call)
        call.session.end("enough")
    await browser.close()
    return took


def _watch(call: Call) -> list[float]:
    """When the last packet with the assistant's voice in it left."""
    assert call._media is not None
    reel, last = call._media.playout, [0.0]
    take = reel.next

    def taking() -> Frame:
        frame = take()
        if frame.pcm is not None and np.abs(frame.pcm.astype(np.int32)).max() > _LOUD:
            last[0] = time.monotonic()
        return frame

    reel.next = taking  # type: ignore[method-assign] # to see what leaves, where it leaves
    return last


async def _answering(call: Call) -> None:
    async with asyncio.timeout(20):
        while not any(call.session.machine.state.playing.values()):
            await asyncio.sleep(0.005)


async def _quiet(call: Call) -> None:
    async with asyncio.timeout(20):
        while call.session.machine.state.playing:
            await asyncio.sleep(0.002)
    await asyncio.sleep(0.1)  # whatever may still be on its way


# --- What the engine adds -----------------------------------------------------------------


def overhead(report: Report) -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        ours = runner.run(_turns())
        bare = runner.run(_echoes())
    report(
        "engine: end of speech to first sound, nothing to think, median", *ours[:1], bare[0], "ms"
    )
    report("engine: end of speech to first sound, nothing to think, p95", ours[1], bare[1], "ms")


async def _turns() -> tuple[float, float]:
    async with _served() as address, connect(address, max_size=None) as socket:
        loud = _append(np.sin(np.arange(24 * 100) * 0.2) * 8000)
        quiet = _append(np.zeros(24 * 32))
        took = []
        for _ in range(TURNS):
            for _ in range(4):
                await socket.send(loud)
            began = await _until_sound(socket, quiet)
            took.append((time.perf_counter() - began) * 1000)
        return statistics.median(took), float(np.percentile(took, 95))


async def _until_sound(socket: ClientConnection, quiet: str) -> float:
    """Silence in pieces until the answer sounds; when the piece that ended the turn was sent."""
    sent = time.perf_counter()
    stopped = False
    while True:
        if not stopped:
            sent = time.perf_counter()
            await socket.send(quiet)
        try:
            async with asyncio.timeout(0.03 if not stopped else 5):
                while True:
                    event = orjson.loads(await socket.recv())
                    stopped = stopped or event["type"] == "input_audio_buffer.speech_stopped"
                    if event["type"] == "response.output_audio.delta":
                        return sent
        except TimeoutError:
            continue


@asynccontextmanager
async def _served() -> AsyncIterator[str]:
    import socket as sockets

    import uvicorn
    from starlette.applications import Starlette
    from starlette.routing import Mount

    engine = Engine(EngineOptions(), Keys("own", anyone=True))
    engine.provide(parts(1))
    app = Starlette(routes=[Mount("/v1", build_door(engine))])
    config = uvicorn.Config(app, log_config=None, lifespan="off", ws="websockets-sansio")
    server = uvicorn.Server(config)
    with sockets.create_server(("127.0.0.1", 0)) as bound:
        bound.setsockopt(sockets.IPPROTO_TCP, sockets.TCP_NODELAY, 1)
        async with engine.running(), asyncio.TaskGroup() as group:
            group.create_task(server._serve([bound]))
            while not server.started:
                await asyncio.sleep(0.01)
            yield f"ws://127.0.0.1:{bound.getsockname()[1]}/v1/realtime?model=vivavoce"
            server.should_exit = True


async def _echoes() -> tuple[float, float]:
    async def echo(socket: ServerConnection) -> None:
        async for message in socket:
            await socket.send(message)

    quiet, took = _append(np.zeros(24 * 32)), []
    async with serve(echo, "127.0.0.1", 0) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        async with connect(f"ws://127.0.0.1:{port}") as socket:
            for _ in range(TURNS):
                began = time.perf_counter()
                await socket.send(quiet)
                await socket.recv()
                took.append((time.perf_counter() - began) * 1000)
    return statistics.median(took), float(np.percentile(took, 95))


def _append(wave: npt.NDArray[np.float64]) -> str:
    audio = base64.b64encode(wave.astype("<i2").tobytes()).decode()
    return orjson.dumps({"type": "input_audio_buffer.append", "audio": audio}).decode()
