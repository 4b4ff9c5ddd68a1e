"""Voice activity with Silero: how probable is speech in each 32 ms.

Owns the model's memory of one stream of sound. Turns are `endpoint`'s matter.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnxruntime as ort

from vivavoce.engine.ports import EAR_RATE, FRAME, Samples
from vivavoce.engine.speech.inference import open_model

_CONTEXT = 64
_RATE = np.array(EAR_RATE, dtype=np.int64)


class SileroVad:
    """A `Detector`: one for each stream of sound, all on the same session."""

    def __init__(self, session: ort.InferenceSession) -> None:
        self._session = session
        # The model wants the last samples of the frame before in front of each frame.
        self._input = np.zeros((1, _CONTEXT + FRAME), dtype=np.float32)
        self._state = np.zeros((2, 1, 128), dtype=np.float32)

    def feed(self, frame: Samples) -> float:
        if frame.shape != (FRAME,):
            raise ValueError(f"a frame has {FRAME} samples, not {frame.shape}")
        self._input[0, :_CONTEXT] = self._input[0, -_CONTEXT:]
        self._input[0, _CONTEXT:] = frame
        inputs = {"input": self._input, "state": self._state, "sr": _RATE}
        probability, self._state = self._session.run(None, inputs)
        return float(probability[0, 0])

    def reset(self) -> None:
        self._input[:] = 0
        self._state = np.zeros_like(self._state)


def load_silero(path: Path) -> Callable[[], SileroVad]:
    """Load the model once (blocks), and get a maker of detectors."""
    session = open_model(path)
    SileroVad(session).feed(np.zeros(FRAME, dtype=np.float32))  # the first run is the slow one
    return lambda: SileroVad(session)
