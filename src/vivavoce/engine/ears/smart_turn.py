"""Has the speaker finished? Smart Turn listens to the melody of the last eight seconds.

Owns the features and the model; when to ask, and what to make of the answer,
is `endpoint`'s matter.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from vivavoce.engine.ears.logmel import log_mel
from vivavoce.engine.ports import EAR_RATE, Samples
from vivavoce.engine.speech.inference import Worker, open_model
from vivavoce.errors import EarsError

_LENGTH = 8 * EAR_RATE


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
