"""How near an utterance is to lines whose meaning is known, by a small embedding model.

All-MiniLM: a text becomes 384 numbers, and texts that mean the same point the same way. The lines
are embedded once and kept in a file; an utterance takes a few milliseconds, in a thread. Without
the model's files nothing is near to anything, and who asks does without.

Which line is nearest says much about what an utterance is about, and less about what is asked of
it. Where there are lines enough, what tells the meanings apart is learned from them (`sort`): a
weight for each of those numbers and for each word and pair of words, by meaning. That takes some
seconds, once for the same lines.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import re
import threading
import zipfile
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
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
        self._lock, self._learning = threading.Lock(), threading.Lock()
        self._loaded: tuple[Any, Any] | None = None
        self._lines: dict[str, Vectors] = {}
        self._sorting: tuple[str, _Learned] | None = None

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

    async def sort(self, said: str, lines: Mapping[str, Sequence[str]]) -> dict[str, float]:
        """By meaning: how likely it is that this is meant, as a log-probability, by what tells
        these lines apart. Nothing without the model."""
        if not self.there or not lines:
            return {}
        return await asyncio.to_thread(self._sort, said, lines)

    def _sort(self, said: str, lines: Mapping[str, Sequence[str]]) -> dict[str, float]:
        vectors = self._known(lines)
        learned = self._learned(lines, vectors)
        with self._lock:
            (vector,) = self._embedded([said])
        given = np.hstack([vector, _SHARE * learned.words(said)])
        made = given @ learned.weights * _STEEP + learned.usual
        made = made - np.log(np.exp(made - made.max()).sum()) - made.max()
        return {meaning: float(one) for meaning, one in zip(lines, made, strict=True)}

    def _learned(self, lines: Mapping[str, Sequence[str]], vectors: Vectors) -> _Learned:
        key = _key(lines)
        with self._learning:
            if self._sorting is not None and self._sorting[0] == key:
                return self._sorting[1]
            made = _Learned(lines, vectors, self._cache / f"sorting-{key}.npz")
            self._sorting = key, made
            return made

    async def nearness(self, said: str, texts: Sequence[str]) -> list[float]:
        """How near each of these texts is to what was said, from -1 to 1. Nothing of them is kept;
        nothing without the model."""
        if not self.there or not texts:
            return []
        return await asyncio.to_thread(self._nearness, said, texts)

    def _nearness(self, said: str, texts: Sequence[str]) -> list[float]:
        with self._lock:
            made = self._embedded([said, *texts])
        return [float(one) for one in made[1:] @ made[0]]

    async def prepare(self, lines: Mapping[str, Sequence[str]]) -> None:
        if self.there and lines:
            await asyncio.to_thread(self._prepare, lines)

    def _prepare(self, lines: Mapping[str, Sequence[str]]) -> None:
        self._learned(lines, self._known(lines))

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
        key = _key(lines)
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
            session, tokenizer = opened(self._folder)
            tokenizer.enable_truncation(_LONGEST)
            tokenizer.enable_padding()
            self._loaded = session, tokenizer
        return self._loaded


def opened(folder: Path) -> tuple[Any, Any]:
    """A model that takes one thread, and what cuts words into its pieces."""
    import onnxruntime as ort
    from tokenizers import Tokenizer

    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = ort.InferenceSession(
        str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"]
    )
    return session, Tokenizer.from_file(str(folder / "tokenizer.json"))


_WORD = re.compile(r"[a-z']+|\d+")
_SHARE = 1.0
"""What words count beside what the model makes of them."""
_STEEP, _ROUNDS, _PACE, _HELD, _SMALL = 10.0, 150, 0.2, 0.9, 1e-3


class _Learned:
    """What tells the lines of one meaning from those of another: a linear classifier."""

    def __init__(self, lines: Mapping[str, Sequence[str]], vectors: Vectors, file: Path) -> None:
        texts = [text for each in lines.values() for text in each]
        often = Counter(gram for text in texts for gram in _grams(text))
        kept = sorted(gram for gram, count in often.items() if count > 1)
        self._places = {gram: at for at, gram in enumerate(kept)}
        self._rare = np.log(len(texts) / np.array([often[gram] for gram in kept] or [1]))
        shape = vectors.shape[1] + len(kept), len(lines)
        with (
            contextlib.suppress(OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile),
            np.load(file, allow_pickle=False) as known,
        ):
            if known["weights"].shape == shape:
                self.weights, self.usual = known["weights"], known["usual"]
                return
        given = np.hstack([vectors, _SHARE * np.array([self.words(text) for text in texts])])
        self.weights, self.usual = _fitted(given, [len(each) for each in lines.values()])
        with contextlib.suppress(OSError):
            np.savez(file, weights=self.weights, usual=self.usual)

    def words(self, text: str) -> Vectors:
        """Its words and pairs of words that more than one line has, the rarer the more."""
        made = np.zeros(len(self._places), dtype=np.float32)
        for gram in _grams(text):
            if (at := self._places.get(gram)) is not None:
                made[at] = self._rare[at]
        length = float(np.linalg.norm(made))
        return made / length if length else made


def _grams(text: str) -> set[str]:
    words = ["0" if one.isdigit() else one for one in _WORD.findall(text.lower())]
    pairs = {f"{one} {two}" for one, two in pairwise(words)}
    return {*words, *pairs, "^ " + " ".join(words[:1]), "^ " + " ".join(words[:2])}


def _fitted(given: Vectors, counts: Sequence[int]) -> tuple[Vectors, Vectors]:
    """Logistic regression, by plain descent with momentum: every line pulls towards its meaning;
    those of a meaning with few lines pull harder."""
    meant = np.repeat(np.eye(len(counts), dtype=np.float32), counts, axis=0)
    pull = 1 / np.sqrt(np.repeat(np.array(counts, dtype=np.float32), counts))
    pull /= pull.mean() * len(given)
    weights = np.zeros((given.shape[1], len(counts)), dtype=np.float32)
    usual = np.zeros(len(counts), dtype=np.float32)
    speed, drift = np.zeros_like(weights), np.zeros_like(usual)
    for _ in range(_ROUNDS):
        guess = given @ weights * _STEEP + usual
        guess = np.exp(guess - guess.max(axis=1, keepdims=True))
        wrong = (guess / guess.sum(axis=1, keepdims=True) - meant) * pull[:, None]
        speed = _HELD * speed + given.T @ wrong * _STEEP + _SMALL * weights
        drift = _HELD * drift + wrong.sum(axis=0)
        weights, usual = weights - _PACE * speed, usual - _PACE * drift
    return weights.astype(np.float32), usual.astype(np.float32)


def _key(lines: Mapping[str, Sequence[str]]) -> str:
    texts = [text for each in lines.values() for text in each]
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:20]
