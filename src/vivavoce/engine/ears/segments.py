"""Long speech in pieces that a speech model can take, cut where it is quiet. Pure."""

from __future__ import annotations

import numpy as np

from vivavoce.engine.ports import EAR_RATE, Samples

LONGEST_S = 20.0
"""Moonshine makes things up at the end of longer pieces."""

_STEP = EAR_RATE // 50
_PAUSE_STEPS = 10


def segments(speech: Samples, longest_s: float = LONGEST_S) -> list[Samples]:
    """Pieces of at most `longest_s` whose concatenation is the speech."""
    longest = int(longest_s * EAR_RATE)
    pieces = []
    while len(speech) > longest:
        cut = _quietest(speech, longest // 2, longest)
        pieces.append(speech[:cut])
        speech = speech[cut:]
    return [*pieces, speech] if len(speech) else pieces


def _quietest(speech: Samples, first: int, last: int) -> int:
    """The middle of the quietest fifth of a second between two places."""
    window = speech[first:last]
    steps = len(window) // _STEP
    if steps <= _PAUSE_STEPS:
        return last
    power = np.square(window[: steps * _STEP].reshape(steps, _STEP)).mean(axis=1)
    pause = np.convolve(power, np.ones(_PAUSE_STEPS), mode="valid")
    return first + (int(pause.argmin()) + _PAUSE_STEPS // 2) * _STEP
