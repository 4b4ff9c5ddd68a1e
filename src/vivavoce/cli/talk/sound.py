"""What drives a desk: the machine's sound devices with echo cancellation, or files at the speed of
hearing. Devices are PortAudio's (`sounddevice`), the echo canceller is WebRTC's own (`livekit`);
both are loaded only where they are used.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
import wave
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vivavoce.cli.talk.core.playing import RATE, WIDTH
from vivavoce.cli.talk.desk import Desk
from vivavoce.errors import InvalidRequest

_BLOCK = RATE // 100
"""10 ms: what the echo canceller takes, no more and no less."""
_BEAT = 0.02
_LATE = 1.0
_LATENCY = 0.08
"""Seconds that a device may hold: less, and a busy machine stutters."""
_STDERR = 2
_LONGEST = 600
"""Seconds of one file."""


class SoundGone(OSError):
    """A device went away, or gives no sound any more."""


class NoDevices(Exception):
    """There is no microphone or no loudspeaker here, and why."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where the sound comes from and goes, in words for people."""

    microphone: str
    speaker: str
    advice: str = ""


# --- Files ------------------------------------------------------------------------------


def read_wav(path: Path) -> bytes:
    """A WAV file as the line wants it: PCM16, mono, 24 kHz. Raises `InvalidRequest`. Whoever wrote
    it in one go, as speech services do, could not say how long it is: it ends where it ends."""
    try:
        with wave.open(str(path), "rb") as file:
            rate, width, channels = file.getframerate(), file.getsampwidth(), file.getnchannels()
            raw = file.readframes(rate * _LONGEST + 1)
    except FileNotFoundError:
        raise InvalidRequest(f"--say: there is no file {path}") from None
    except (wave.Error, EOFError) as fault:
        raise InvalidRequest(f"--say: {path} is no WAV file that can be read ({fault})") from None
    raw = raw[: len(raw) // (width * channels) * width * channels]
    if len(raw) > rate * _LONGEST * width * channels:
        raise InvalidRequest(f"--say: {path} is longer than {_LONGEST // 60} minutes")
    samples = _samples(raw, width, path).reshape(-1, channels).mean(axis=1)
    if rate != RATE:
        import soxr  # only for files at other rates

        samples = soxr.resample(samples, rate, RATE)
    pcm: bytes = np.clip(np.round(samples), -32768, 32767).astype("<i2").tobytes()
    return pcm


def _samples(raw: bytes, width: int, path: Path) -> Any:
    if width == 2:
        return np.frombuffer(raw, "<i2").astype(np.float64)
    if width == 1:
        return (np.frombuffer(raw, "u1").astype(np.float64) - 128) * 256
    if width == 4:
        return np.frombuffer(raw, "<i4").astype(np.float64) / 65536
    if width == 3:
        wide = np.frombuffer(raw, "u1").reshape(-1, 3).astype(np.int32)
        value = (wide[:, 0] << 8 | wide[:, 1] << 16 | wide[:, 2] << 24).astype(np.float64)
        return value / 65536
    raise InvalidRequest(f"--say: {path} has {8 * width} bits a sample, which nobody reads")


class WavRecorder:
    """All that came out of the loudspeaker, silence included. It is a whole file at any time."""

    def __init__(self, path: Path) -> None:
        self._file: Any = wave.open(str(path), "wb")  # noqa: SIM115 - closed by `close`
        self._file.setnchannels(1)
        self._file.setsampwidth(WIDTH)
        self._file.setframerate(RATE)

    def write(self, pcm: bytes) -> None:
        self._file.writeframes(pcm)

    def close(self) -> None:
        self._file.close()


@contextmanager
def recorded(desk: Desk, path: Path | None) -> Iterator[None]:
    if path is None:
        yield
        return
    recorder = WavRecorder(path)
    desk.recorder = recorder
    try:
        yield
    finally:
        desk.recorder = None
        recorder.close()


@asynccontextmanager
async def by_the_clock(desk: Desk) -> AsyncIterator[None]:
    """For a microphone and a loudspeaker that are files, or none at all."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(_paced(desk))
        try:
            yield
        finally:
            task.cancel()


async def _paced(desk: Desk) -> None:
    samples = int(_BEAT * RATE)
    due = time.monotonic()
    while True:
        due += _BEAT
        now = time.monotonic()
        if now - due > _LATE:
            due = now  # the machine slept: nobody hears what was missed
        await asyncio.sleep(max(0.0, due - now))
        desk.play(samples)
        desk.hear(bytes(samples * WIDTH))


# --- Devices ----------------------------------------------------------------------------


def _sounddevice() -> Any:
    try:
        import sounddevice
    except ModuleNotFoundError:
        raise NoDevices("the package sounddevice is not installed") from None
    except OSError:
        raise NoDevices("the library PortAudio is not installed (libportaudio2)") from None
    return sounddevice


@contextmanager
def quiet_libraries() -> Iterator[None]:
    """The libraries behind PortAudio say what they think on stderr's descriptor, in the middle of
    the screen ("underrun occurred"). What Python writes there still arrives."""
    try:
        kept = os.dup(_STDERR)
    except OSError:  # there is none
        yield
        return
    with open(kept, "w", buffering=1, errors="backslashreplace") as ours:
        before = sys.stderr, sys.__stderr__
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), _STDERR)
        if sys.stderr is sys.__stderr__:
            sys.stderr = ours
        sys.__stderr__ = ours  # type: ignore[misc]
        try:
            yield
        finally:
            sys.stderr, sys.__stderr__ = before  # type: ignore[misc]
            ours.flush()
            os.dup2(kept, _STDERR)


def _named(sd: Any, kind: str) -> str:
    try:
        return str(sd.query_devices(kind=kind)["name"])
    except (sd.PortAudioError, ValueError):
        what = "microphone" if kind == "input" else "loudspeaker"
        raise NoDevices(f"there is no {what} here") from None


def find_devices(*, microphone: bool, speaker: bool) -> Source:
    """What is there, of what is wanted. Raises `NoDevices`."""
    sd = _sounddevice()
    heard = _named(sd, "input") if microphone else ""
    played = _named(sd, "output") if speaker else ""
    alone = microphone and speaker and _canceller() is None
    advice = "There is no echo cancellation here (the package livekit): use headphones."
    return Source(heard, played, advice if alone else "")


def _canceller() -> Callable[[], EchoCanceller] | None:
    try:
        from livekit.rtc import AudioProcessingModule  # noqa: F401
    except ImportError:
        return None
    return EchoCanceller


class EchoCanceller:
    """WebRTC's: takes out of the microphone what the loudspeaker played. 10 ms at a time."""

    def __init__(self) -> None:
        from livekit.rtc import AudioFrame, AudioProcessingModule

        self._frame: Any = AudioFrame
        self._module = AudioProcessingModule(
            echo_cancellation=True, noise_suppression=True, high_pass_filter=True
        )

    def cancelled(self, heard: bytes, played: bytes, delay_ms: int) -> bytes:
        self._module.process_reverse_stream(self._of(played))
        self._module.set_stream_delay_ms(delay_ms)
        frame = self._of(heard)
        self._module.process_stream(frame)
        return bytes(frame.data)

    def _of(self, pcm: bytes) -> Any:
        return self._frame(bytearray(pcm), RATE, 1, len(pcm) // WIDTH)


@asynccontextmanager
async def by_devices(desk: Desk, *, microphone: bool, speaker: bool) -> AsyncIterator[None]:
    """Full duplex. Raises `NoDevices` where they cannot be opened; what breaks later breaks the
    desk."""
    sd = _sounddevice()
    make = _canceller() if microphone and speaker else None
    canceller = make() if make is not None else None
    closing = False

    def block(heard: Any, out: Any, frames: int, *_: Any) -> None:
        """In the audio device's own thread."""
        played = desk.play(frames)
        out[:] = played
        pcm = bytes(heard)
        if canceller is not None and frames == _BLOCK:
            pcm = canceller.cancelled(pcm, played, round(1000 * sum(stream.latency)))
        desk.hear(pcm)

    def heard_only(heard: Any, frames: int, *_: Any) -> None:
        desk.play(frames)  # for the recording
        desk.hear(bytes(heard))

    def played_only(out: Any, frames: int, *_: Any) -> None:
        out[:] = desk.play(frames)
        desk.hear(bytes(frames * WIDTH))

    def finished() -> None:
        if not closing:
            desk.broke(SoundGone("The microphone or the loudspeaker is gone."))

    shape = {
        "samplerate": RATE,
        "blocksize": _BLOCK,
        "channels": 1,
        "dtype": "int16",
        "latency": _LATENCY,
        "finished_callback": finished,
    }
    try:
        if microphone and speaker:
            stream = sd.RawStream(callback=block, **shape)
        elif microphone:
            stream = sd.RawInputStream(callback=heard_only, **shape)
        else:
            stream = sd.RawOutputStream(callback=played_only, **shape)
        stream.start()
    except (sd.PortAudioError, ValueError) as fault:
        raise NoDevices(f"the sound devices cannot be opened ({fault})") from None
    if speaker:
        desk.latency_ms = 1000 * (stream.latency[1] if microphone else stream.latency)
    try:
        yield
    finally:
        closing = True
        await asyncio.to_thread(stream.close)
