"""Small work on finished speech: cut the silence off, make it PCM16. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from vivavoce.engine.ports import MOUTH_RATE, Samples

_STEP = MOUTH_RATE // 200
_KEEP_STEPS = 6
_FLOOR = 0.004
"""Below -48 dB nobody hears anything; the softest "f" and "s" of the voices are above."""


def heard(speech: Samples) -> slice:
    """Where the speech is, with 30 ms of the silence at both ends; nowhere if all is silence."""
    loud = np.flatnonzero(_loud(speech))
    if not len(loud):
        return slice(0, 0)
    first, last = int(loud[0]) - _KEEP_STEPS, int(loud[-1]) + 1 + _KEEP_STEPS
    return slice(max(0, first) * _STEP, min(last * _STEP, len(speech)))


def settled(speech: Samples, ends: Sequence[int]) -> list[int]:
    """The ends of words, without a pause that was counted to the word before it."""
    loud = _loud(speech)
    found, before = [], 0
    for end in ends:
        step = min(end // _STEP, len(loud))
        while step * _STEP > before and not loud[step - 1]:
            step -= 1
        before = max(before, min(end, step * _STEP))
        found.append(before)
    return found


def _loud(speech: Samples) -> npt.NDArray[np.bool_]:
    """Which of its 5 ms can be heard."""
    steps = -(-len(speech) // _STEP)
    padded = np.pad(speech, (0, steps * _STEP - len(speech)))
    level = np.sqrt(np.square(padded.reshape(steps, _STEP)).mean(axis=1))
    return np.asarray(level > _FLOOR)


def pcm16(speech: Samples) -> bytes:
    pcm: bytes = np.clip(np.rint(speech * 32767.0), -32768, 32767).astype("<i2").tobytes()
    return pcm
