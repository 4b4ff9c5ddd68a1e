"""Log-mel features as the Whisper family of models was trained on. Pure.

80 bands on Slaney's mel scale, 25 ms windows every 10 ms at 16 kHz, each band
normalised to the same area; power in decades, at most eight below the
loudest, shifted and scaled to about -1 … 1.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from vivavoce.engine.ports import EAR_RATE, Samples

Floats = npt.NDArray[np.float64]

_WINDOW, _HOP, _BANDS = 400, 160, 80
_BEND_HZ, _BEND_MEL = 1000.0, 15.0
"""Slaney's scale is straight up to here and logarithmic above."""
_STEP = np.log(6.4) / 27.0


def log_mel(speech: Samples, *, level: bool = True) -> npt.NDArray[np.float32]:
    """[bands, samples / 160]; to `level` is to bring it to zero mean and unit variance first."""
    if level:
        speech = (speech - speech.mean()) / np.sqrt(speech.var() + 1e-7)
    padded = np.pad(speech, _WINDOW // 2, mode="reflect")
    # Centred windows make one more than there are hops; the models do without the last.
    windows = sliding_window_view(padded, _WINDOW)[::_HOP][: len(speech) // _HOP]
    power = np.square(np.abs(np.fft.rfft(windows * _HANN, axis=1)))
    decades = np.log10(np.maximum(_FILTERS @ power.T, 1e-10))
    floored = np.maximum(decades, decades.max() - 8.0)
    return np.asarray((floored + 4.0) / 4.0, dtype=np.float32)


def _to_hz(mel: Floats) -> Floats:
    straight = mel * (_BEND_HZ / _BEND_MEL)
    return np.where(mel < _BEND_MEL, straight, _BEND_HZ * np.exp((mel - _BEND_MEL) * _STEP))


def _triangles() -> npt.NDArray[np.float32]:
    top = _BEND_MEL + np.log(EAR_RATE / 2 / _BEND_HZ) / _STEP
    corners = _to_hz(np.linspace(0.0, top, _BANDS + 2))
    bins = np.linspace(0.0, EAR_RATE / 2, _WINDOW // 2 + 1)
    left, middle, right = (corners[i : i + _BANDS, np.newaxis] for i in range(3))
    rising = (bins - left) / (middle - left)
    falling = (right - bins) / (right - middle)
    area = 2.0 / (right - left)
    return (np.clip(np.minimum(rising, falling), 0.0, None) * area).astype(np.float32)


_HANN = np.hanning(_WINDOW + 1)[:-1].astype(np.float32)
_FILTERS = _triangles()
