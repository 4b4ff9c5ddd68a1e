"""PCM16 mono at 24 kHz as files, the way a fake microphone and the scenes want them."""

from __future__ import annotations

import wave
from pathlib import Path

import numpy as np
import numpy.typing as npt

RATE = 24_000


def write(path: Path, pcm: bytes) -> Path:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(pcm)
    return path


def read(path: Path) -> bytes:
    with wave.open(str(path), "rb") as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (1, 2, RATE)
        return file.readframes(file.getnframes())


def silence(seconds: float) -> bytes:
    return bytes(2 * int(seconds * RATE))


def microphone(path: Path, pcm: bytes, *, first: float = 4) -> Path:
    """For Chromium, which plays it from the moment the page asks and then over and over.

    The silence in front, of so many seconds, is for connecting; where that took
    longer, only the next round is whole. The silence behind is longer than any answer,
    even on a busy machine.
    """
    return write(path, silence(first) + pcm + silence(60))


def tone(seconds: float, hertz: float = 440.0) -> bytes:
    """Swells four times a second, so that no noise suppression takes it for a hum."""
    at = np.arange(int(seconds * RATE)) / RATE
    swell = 0.5 + 0.5 * np.sin(2 * np.pi * 4 * at)
    sound: npt.NDArray[np.float64] = 12_000 * swell * np.sin(2 * np.pi * hertz * at)
    return sound.astype("<i2").tobytes()


def pitch(pcm: bytes) -> float:
    """The strongest frequency."""
    samples = np.frombuffer(pcm, dtype="<i2").astype(np.float64)
    spectrum = np.abs(np.fft.rfft(samples))
    return float(np.fft.rfftfreq(len(samples), 1 / RATE)[int(spectrum.argmax())])
