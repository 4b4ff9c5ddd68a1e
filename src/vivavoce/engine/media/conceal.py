"""What to play where a packet is missing: the voice goes on at its pitch and fades.

After `FADE` there is silence: a longer guess would be words nobody said.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Pcm = npt.NDArray[np.int16]
_Wave = npt.NDArray[np.float32]

RATE = 48_000
FADE = RATE * 60 // 1000
_HISTORY = RATE * 60 // 1000
_SEAM = RATE * 5 // 1000

_COARSE = 6  # the pitch is looked for at 8 kHz
_LAG_MIN = RATE // 400 // _COARSE
_LAG_MAX = RATE // 60 // _COARSE


class Concealer:
    """Sees every good frame, draws the missing ones, and joins the next good one smoothly."""

    def __init__(self) -> None:
        self._history: _Wave = np.zeros(_HISTORY, np.float32)
        self._cycle: _Wave | None = None
        self._drawn = 0

    def good(self, pcm: Pcm) -> Pcm:
        """The frame as it is, or joined to what was drawn before it."""
        if self._cycle is not None:
            pcm = self._join(pcm)
        self._cycle, self._drawn = None, 0
        recent = pcm[-_HISTORY:]
        self._history = np.concatenate((self._history[recent.size :], recent)).astype(np.float32)
        return pcm

    def missing(self, samples: int) -> Pcm:
        """The next so many samples of a guess."""
        if self._drawn >= FADE:
            return np.zeros(samples, np.int16)
        if self._cycle is None:
            self._cycle = self._history[-_pitch(self._history) :]
        wave = self._draw(samples)
        self._drawn += samples
        return wave.astype(np.int16)

    def _draw(self, samples: int) -> _Wave:
        assert self._cycle is not None
        at = np.arange(self._drawn, self._drawn + samples)
        gain = np.clip(1.0 - at / FADE, 0.0, 1.0).astype(np.float32)
        return self._cycle[at % self._cycle.size] * gain

    def _join(self, pcm: Pcm) -> Pcm:
        seam = min(_SEAM, pcm.size)
        rising = np.linspace(0.0, 1.0, seam, dtype=np.float32)
        joined = pcm.copy()
        joined[:seam] = pcm[:seam] * rising + self._draw(seam) * (1.0 - rising)
        return joined


def _pitch(history: _Wave) -> int:
    """The length of one cycle of the voice: the lag at which it best repeats itself."""
    coarse = history.reshape(-1, _COARSE).mean(axis=1)
    end = coarse[-_LAG_MAX:]
    energy = float(end @ end)
    if energy < 1.0:
        return _LAG_MAX * _COARSE
    search = coarse[-2 * _LAG_MAX : -_LAG_MIN]
    scores = np.correlate(search, end, mode="valid")
    windows = np.lib.stride_tricks.sliding_window_view(search, _LAG_MAX)
    norms = np.sqrt((windows * windows).sum(axis=1)) + 1e-6
    return (_LAG_MAX - int(np.argmax(scores / norms))) * _COARSE
