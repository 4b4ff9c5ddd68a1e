"""How near an utterance is to lines whose meaning is known, by a small embedding model.

All-MiniLM: a text becomes 384 numbers, and texts that mean the same point the same way. The lines
are embedded once and kept in a file; an utterance takes a few milliseconds, in a thread. Without
the model's files nothing is near to anything, and who asks does without.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

_BATCH = 16
_LONGEST = 128
"""Tokens of a text."""
_MOST_KEPT = 8
_WEIGHTS = (0.30, 0.20, 0.15, 0.10, 0.10, 0.08, 0.07)
"""Of the nearest lines, the next, and so on: one alone may be near for what it is about, and not
for what it asks."""

Vectors = npt.NDArray[np.float32]


class Likeness:
    def __init__(self, folder: Path, cache: Path) -> None:
        """`folder` has the model, `cache` is where embedded lines are kept."""
        self._folder, self._cache = folder, cache
        self._lock = threading.Lock()
        self._loaded: tuple[Any, Any] | None = None
        self._lines: dict[str, Vectors] = {}

    @property
    def there(self) -> bool:
        return (self._folder / "model.onnx").is_file()

    async def near(
        self, said: Sequence[str], lines: Mapping[str, Sequence[str]]
    ) -> dict[str, float]:
        """By meaning: how near its nearest lines are to the nearest of what was said, from -1 to
        1. Nothing without the model."""
        if not self.there or not lines or not said:
            return {}
        return await asyncio.to_thread(self._near, said, lines)

    async def prepare(self, lines: Mapping[str, Sequence[str]]) -> None:
        if self.there and lines:
            await asyncio.to_thread(self._known, lines)

    def _near(self, said: Sequence[str], lines: Mapping[str, Sequence[str]]) -> dict[str, float]:
        known = self._known(lines)
        with self._lock:
            those = self._embedded(said)
        near: dict[str, float] = {}
        begin = 0
        for meaning, texts in lines.items():
            like = np.sort(those @ known[begin : begin + len(texts)].T)[:, ::-1][:, : len(_WEIGHTS)]
            begin += len(texts)
            if texts:
                weights = _WEIGHTS[: like.shape[1]]
                near[meaning] = float(np.average(like, axis=1, weights=weights).max())
        return near

    def _known(self, lines: Mapping[str, Sequence[str]]) -> Vectors:
        texts = [text for each in lines.values() for text in each]
        key = hashlib.sha256("\n".join(texts).encode()).hexdigest()[:20]
        with self._lock:
            if (found := self._lines.get(key)) is not None:
                return found
            file = self._cache / f"likeness-{key}.npy"
            made: Vectors | None = None
            with contextlib.suppress(OSError, ValueError, EOFError):
                made = np.load(file, allow_pickle=False)
            if made is None or made.shape[0] != len(texts):
                made = self._embedded(texts)
                with contextlib.suppress(OSError):
                    np.save(file, made, allow_pickle=False)
            if len(self._lines) >= _MOST_KEPT:
                self._lines.pop(next(iter(self._lines)))
            self._lines[key] = made
            return made

    def _embedded(self, texts: Sequence[str]) -> Vectors:
        session, tokenizer = self._model()
        made: list[Vectors] = []
        for begin in range(0, len(texts), _BATCH):
            encoded = tokenizer.encode_batch(
                [text.lower() for text in texts[begin : begin + _BATCH]]
            )
            ids = np.array([one.ids for one in encoded], dtype=np.int64)
            mask = np.array([one.attention_mask for one in encoded], dtype=np.int64)
            given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
            (hidden,) = session.run(["last_hidden_state"], given)
            weight = mask[..., None].astype(np.float32)
            mean = (hidden * weight).sum(1) / weight.sum(1)
            made.append((mean / np.linalg.norm(mean, axis=1, keepdims=True)).astype(np.float32))
        return np.concatenate(made)

    def _model(self) -> tuple[Any, Any]:
        if self._loaded is None:
            import onnxruntime as ort
            from tokenizers import Tokenizer

            options = ort.SessionOptions()
            options.intra_op_num_threads = options.inter_op_num_threads = 1
            session = ort.InferenceSession(
                str(self._folder / "model.onnx"), options, providers=["CPUExecutionProvider"]
            )
            tokenizer = Tokenizer.from_file(str(self._folder / "tokenizer.json"))
            tokenizer.enable_truncation(_LONGEST)
            tokenizer.enable_padding()
            self._loaded = session, tokenizer
        return self._loaded
