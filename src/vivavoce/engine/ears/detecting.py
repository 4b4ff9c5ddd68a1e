"""Is somebody speaking, and has he finished? Two small models, and what they remember.

Silero tells how probable speech is in each 32 ms. Smart Turn listens to the melody
of the last eight seconds. When to ask, and what to make of the answers, is the
endpoint's matter.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import onnxruntime as ort

from vivavoce.engine.ears.logmel import log_mel
from vivavoce.engine.ports import EAR_RATE, FRAME, Samples
from vivavoce.engine.speech.inference import Worker, open_model
from vivavoce.errors import EarsError

_CONTEXT = 64
_RATE = np.array(EAR_RATE, dtype=np.int64)
_LENGTH = 8 * EAR_RATE
_NOTHING = 0.2
_FORGETS_AFTER = 31
"""Frames of nothing, a second of them: what Silero remembers of a long silence makes it deaf to
the next words, the more so where they are short, or in noise."""


class SileroVad:
    """A `Detector`: one for each stream of sound, all on the same session."""

    def __init__(self, session: ort.InferenceSession) -> None:
        self._session = session
        # The model wants the last samples of the frame before in front of each frame.
        self._input = np.zeros((1, _CONTEXT + FRAME), dtype=np.float32)
        self._state = np.zeros((2, 1, 128), dtype=np.float32)
        self._quiet = 0
        """Frames in a row without speech."""

    def feed(self, frame: Samples) -> float:
        if frame.shape != (FRAME,):
            raise ValueError(f"a frame has {FRAME} samples, not {frame.shape}")
        self._input[0, :_CONTEXT] = self._input[0, -_CONTEXT:]
        self._input[0, _CONTEXT:] = frame
        inputs = {"input": self._input, "state": self._state, "sr": _RATE}
        found, self._state = self._session.run(None, inputs)
        probability = float(found[0, 0])
        self._quiet = self._quiet + 1 if probability < _NOTHING else 0
        if self._quiet >= _FORGETS_AFTER:
            self._forget()
        return probability

    def reset(self) -> None:
        self._input[:] = 0
        self._forget()

    def _forget(self) -> None:
        self._state = np.zeros_like(self._state)
        self._quiet = 0


def load_silero(path: Path) -> Callable[[], SileroVad]:
    """Load the model once (blocks), and get a maker of detectors."""
    session = open_model(path)
    SileroVad(session).feed(np.zeros(FRAME, dtype=np.float32))  # the first run is the slow one
    return lambda: SileroVad(session)


class SmartTurn:
    """A `Judge`. It keeps nothing between questions, so that all sessions may share one."""

    def __init__(self, path: Path, *, threads: int = 1) -> None:
        self._session = open_model(path, threads=threads)
        self._worker = Worker("smart-turn", EarsError)
        self._probability(np.zeros(EAR_RATE, dtype=np.float32))

    async def finished(self, speech: Samples) -> float:
        if not len(speech):
            return 0.0
        return await self._worker.run(partial(self._probability, speech))

    def _probability(self, speech: Samples) -> float:
        last = speech[-_LENGTH:].astype(np.float32, copy=False)
        # Shorter speech stands at the end of the window, after silence.
        features = log_mel(np.pad(last, (_LENGTH - len(last), 0)))
        output = self._session.run(None, {"input_features": features[np.newaxis]})[0]
        return float(output[0, 0])  # named "logits" in the file, but past the sigmoid already

    def close(self) -> None:
        self._worker.close()
