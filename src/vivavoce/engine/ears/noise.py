"""Noise suppression: WebRTC's own, as browsers have it, on the user's sound.

An extra: it comes with the `livekit` package, and `available` tells whether
that is there. When to use it is the session's matter.
"""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np

from vivavoce.engine.ports import EAR_RATE, Samples
from vivavoce.errors import ModelUnavailable

_BLOCK = EAR_RATE // 100
"""The suppressor takes 10 ms at a time, no more and no less."""


def available() -> bool:
    try:
        return importlib.util.find_spec("livekit.rtc") is not None
    except ModuleNotFoundError:
        return False


class Suppressor:
    """One stream of sound. Quick enough for the event loop (50 µs for 10 ms).

    As many samples come out as go in, 16 ms later: 10 for the blocks, whatever
    their size outside, and 6 for the suppressor itself. `far` is for a speaker
    across the room: what is left after the noise is brought to a common level.
    Raises `ModelUnavailable`.
    """

    def __init__(self, *, far: bool = False) -> None:
        if not available():
            raise ModelUnavailable("Noise suppression needs the package livekit.")
        # It brings 28 MB of library along, which only those who use it should load.
        from livekit.rtc import AudioFrame, AudioProcessingModule

        self._frame: Any = AudioFrame
        self._module = AudioProcessingModule(
            noise_suppression=True, high_pass_filter=True, auto_gain_control=far
        )
        self._waiting = np.zeros(0, dtype=np.int16)
        self._ready = np.zeros(_BLOCK, dtype=np.int16)

    def feed(self, samples: Samples) -> Samples:
        """The next samples, and in return those of 16 ms ago with less noise."""
        pcm = np.clip(samples * 32768.0, -32768, 32767).astype(np.int16)
        whole = np.concatenate([self._waiting, pcm])
        end = len(whole) // _BLOCK * _BLOCK
        self._waiting = whole[end:]
        done = [self._block(whole[at : at + _BLOCK]) for at in range(0, end, _BLOCK)]
        sound = np.concatenate([self._ready, *done])
        self._ready = sound[len(pcm) :]
        return sound[: len(pcm)].astype(np.float32) / np.float32(32768.0)

    def _block(self, pcm: np.ndarray[Any, np.dtype[np.int16]]) -> Any:
        frame = self._frame(bytearray(pcm.tobytes()), EAR_RATE, 1, _BLOCK)
        self._module.process_stream(frame)
        return np.frombuffer(frame.data, dtype=np.int16)
