"""Small work on finished speech: cut the silence off, make it PCM16. Pure."""

from __future__ import annotations

import numpy as np

from vivavoce.engine.ports import MOUTH_RATE, Samples

_STEP = MOUTH_RATE // 200
_KEEP_STEPS = 6
_FLOOR = 0.004
"""Below -48 dB nobody hears anything; the softest "f" and "s" of the voices are above."""


def trim(speech: Samples) -> Samples:
    """Without the silence at both ends, but for 30 ms of it; nothing if it is all silence."""
    steps = -(-len(speech) // _STEP)
    padded = np.pad(speech, (0, steps * _STEP - len(speech)))
    level = np.sqrt(np.square(padded.reshape(steps, _STEP)).mean(axis=1))
    loud = np.flatnonzero(level > _FLOOR)
    if not len(loud):
        return speech[:0]
    first, last = int(loud[0]) - _KEEP_STEPS, int(loud[-1]) + 1 + _KEEP_STEPS
    return speech[max(0, first) * _STEP : last * _STEP]


def pcm16(speech: Samples) -> bytes:
    pcm: bytes = np.clip(np.rint(speech * 32767.0), -32768, 32767).astype("<i2").tobytes()
    return pcm
