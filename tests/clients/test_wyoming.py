"""The published `wyoming` package at the other end of a server as a user starts it, with real ears
and a real mouth: what is spoken is transcribed back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import numpy as np
import pytest
import soxr
from wyoming.asr import Transcribe, Transcript
from wyoming.audio import AudioChunk, AudioFormat, AudioStart, AudioStop
from wyoming.client import AsyncTcpClient
from wyoming.event import Event
from wyoming.info import Describe, Info
from wyoming.tts import Synthesize, SynthesizeVoice

from tests.clients.serving import Served, serve
from tests.clients.voice import Voice
from tests.journeys.process import free_port
from tests.journeys.satellites import Room, connecting, listening
from tests.speech import word_errors
from vivavoce.server.wyoming.sound import Form, Outbound

SECONDS = 0.05


@pytest.fixture(scope="module")
def port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, port: int) -> Iterator[Served]:
    folder: Path = tmp_path_factory.mktemp("wyoming")
    with serve(folder, VIVAVOCE_WYOMING="true", VIVAVOCE_WYOMING_PORT=str(port)) as one:
        yield one


@pytest.fixture(scope="module")
def voice() -> Voice:
    return Voice()


@asynccontextmanager
async def client(port: int) -> AsyncIterator[AsyncTcpClient]:
    async with AsyncTcpClient("127.0.0.1", port, connect_timeout=5, read_timeout=60) as one:
        yield one


async def until(one: AsyncTcpClient, kind: str) -> tuple[Event, list[Event]]:
    seen = []
    while (event := await one.read_event()) is not None and event.type != kind:
        assert event.type != "error", event.data
        seen.append(event)
    assert event is not None, [one.type for one in seen]
    return event, seen


def formed(pcm: bytes, form: Form) -> bytes:
    """PCM16 at 24 kHz, with a little silence around it, as a microphone of that kind has it."""
    around = bytes(24_000)
    return Outbound(form).feed(around + pcm + around, last=True)


def at_24k(sound: bytes, form: AudioFormat) -> bytes:
    samples = np.frombuffer(sound, "<i2").reshape(-1, form.channels).mean(axis=1)
    return bytes(soxr.resample(samples, form.rate, 24_000).astype("<i2").tobytes())


@pytest.mark.parametrize(
    "form", [Form(16_000, 2, 1), Form(44_100, 4, 2), Form(48_000, 3, 2)], ids=str
)
async def test_what_a_microphone_of_any_kind_hears_is_written_down(
    served: Served, port: int, voice: Voice, form: Form
) -> None:
    said = "Turn on the light in the kitchen, please."
    sound = formed(await voice.say(said), form)
    async with client(port) as one:
        await one.write_event(Transcribe(language="en").event())
        await one.write_event(AudioStart(form.rate, form.width, form.channels).event())
        piece = form.rate // 20 * form.width * form.channels
        for start in range(0, len(sound), piece):
            audio = sound[start : start + piece]
            await one.write_event(AudioChunk(form.rate, form.width, form.channels, audio).event())
            await asyncio.sleep(SECONDS)
        await one.write_event(AudioStop().event())
        transcript, before = await until(one, "transcript")
        text = Transcript.from_event(transcript).text
        assert word_errors(said, text) <= 0.1, text
        assert [event.type for event in before].count("transcript-chunk") > 1


@pytest.mark.parametrize("name", ["marin", "bm_george"])
async def test_what_is_spoken_is_understood(
    served: Served, port: int, voice: Voice, name: str
) -> None:
    said = "The kettle boils in two minutes. Shall I turn it off?"
    async with client(port) as one:
        await one.write_event(Describe().event())
        told = Info.from_event((await until(one, "info"))[0])
        assert name in [known.name for known in told.tts[0].voices]
        await one.write_event(Synthesize(said, voice=SynthesizeVoice(name=name)).event())
        start, _ = await until(one, "audio-start")
        _, chunks = await until(one, "audio-stop")
        sound = b"".join(event.payload or b"" for event in chunks)
        assert start.data["rate"] == 24_000
        heard = await voice.hear(sound)
        assert word_errors(said, heard) <= 0.2, heard


@pytest.mark.parametrize("called_on", [False, True], ids=["connects", "is called on"])
async def test_a_satellite_asks_and_hears_the_answer(
    tmp_path: Path, voice: Voice, called_on: bool
) -> None:
    question = await voice.say("What is seven times six?")
    speaker = AudioFormat(48_000, 2, 2)
    port = free_port()
    async with listening(lambda reader, writer: Room(reader, writer, snd=speaker)) as there:
        serving = serve(
            tmp_path / "served",
            VIVAVOCE_WYOMING="true",
            VIVAVOCE_WYOMING_PORT=str(port),
            VIVAVOCE_WYOMING_SATELLITES=f"tcp://127.0.0.1:{there.port}" if called_on else "",
        )
        served = await asyncio.to_thread(serving.__enter__)
        try:
            async with httpx.AsyncClient(base_url=served.origin, trust_env=False) as http:
                if called_on:
                    await asks(await there.room(), question, voice, http)
                else:
                    async with connecting(f"tcp://127.0.0.1:{port}", snd=speaker) as room:
                        await asks(room, question, voice, http)
                (session,) = (await http.get("/sessions")).json()["sessions"]
                shown = (await http.get(f"/sessions/{session['id']}")).json()
                said = [one["text"] for one in shown["transcript"] if one.get("text")]
                assert "seven times six" in said[0].lower()
                assert "42" in said[-1]
        finally:
            await asyncio.to_thread(serving.__exit__, None, None, None)


async def asks(room: Room, question: bytes, voice: Voice, http: httpx.AsyncClient) -> None:
    await room.wake()
    await room.hear(formed(question, Form(16_000)))
    await room.quiet()
    transcript = (await room.until("transcript")).data["text"]
    assert word_errors("What is seven times six?", transcript) <= 0.2, transcript
    await room.until("audio-stop", seconds=40)
    while "speaking" in str((await http.get("/status")).json()["wyoming"]["satellites"]):
        await asyncio.sleep(0.05)  # who leaves before that has not heard all
    heard = await voice.hear(at_24k(bytes(room.sound), room.snd))
    assert "42" in heard or "forty" in heard.lower(), heard
