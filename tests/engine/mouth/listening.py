"""What the ears make of the mouth's sound."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import soxr

from vivavoce.engine.ears.moonshine import MoonshineEars
from vivavoce.engine.ports import EAR_RATE, MOUTH_RATE


def levels(pcm: bytes) -> npt.NDArray[np.float64]:
    """How loud each 10 ms is."""
    step = MOUTH_RATE // 100
    samples = np.frombuffer(pcm, dtype="<i2").astype(np.float64) / 32768
    return np.asarray(np.abs(samples[: len(samples) // step * step]).reshape(-1, step).max(axis=1))


def loudness(pcm: bytes) -> float:
    samples = np.frombuffer(pcm, dtype="<i2").astype(np.float64)
    return float(np.sqrt(np.mean(samples * samples)))


def until(pcm: bytes, ms: int) -> bytes:
    return pcm[: ms * MOUTH_RATE // 1000 * 2]


async def heard(ears: MoonshineEars, pcm: bytes) -> str:
    speech = np.frombuffer(pcm, dtype="<i2").astype(np.float32) / 32768
    padded = np.pad(soxr.resample(speech, MOUTH_RATE, EAR_RATE), EAR_RATE // 5)
    return (await ears.transcribe(padded)).text
