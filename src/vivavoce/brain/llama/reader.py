"""A reader: a small model, trained for the wishes of one agent, that marks what was wished for.

Where there is one for all the wishes of a talk, the language model need not translate: this takes
some ten milliseconds. It is in the agent's folder (`reader/`: weights, labels, and how words are
cut into pieces); `training/` makes it.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vivavoce.brain.dialogue import marked
from vivavoce.brain.llama.likeness import opened
from vivavoce.wire.values import Value

_CLS, _SEP = 101, 102
_MOST_TOLD, _MOST_THINGS, _MOST_SAID = 48, 120, 160
"""Pieces."""


class Read(Value):
    wishes: tuple[marked.Wish, ...]
    sure: float
    """How likely the wish that is least certain is what it was taken for."""


class Reader:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._loaded: tuple[Any, Any] | None = None
        labels = json.loads((folder / "labels.json").read_text(encoding="utf-8"))
        self._kinds: tuple[str, ...] = _both(labels["kinds"])
        self._slots: tuple[str, ...] = _both(labels["slots"])
        self._wishes = frozenset(labels["kinds"]) - {marked.SET, *marked.PLAIN}

    def knows(self, wishes: Collection[str]) -> bool:
        return bool(wishes) and self._wishes.issuperset(wishes)

    async def read(
        self,
        said: str,
        told: str,
        things: Sequence[str],
        wishes: Mapping[str, Collection[str]],
        without: Collection[str] = (),
    ) -> Read:
        """`told`: what the assistant said last; `things`: what the user has, as they are shown;
        `wishes`: which slots each has; `without`: what nothing can be, just now."""
        return await asyncio.to_thread(self._read, said, told, things, wishes, without)

    def _read(
        self,
        said: str,
        told: str,
        things: Sequence[str],
        wishes: Mapping[str, Collection[str]],
        without: Collection[str],
    ) -> Read:
        with self._lock:
            session, tokenizer = self._model()
            before = [_CLS, *_pieces(tokenizer, told, _MOST_TOLD), _SEP]
            before += [*_pieces(tokenizer, " ; ".join(things), _MOST_THINGS), _SEP]
            text = tokenizer.encode(said, add_special_tokens=False)
            own, places = text.ids[:_MOST_SAID], text.offsets[:_MOST_SAID]
            ids = np.array([[*before, *own, _SEP]], dtype=np.int64)
            types = np.array([[0] * len(before) + [1] * (len(own) + 1)], dtype=np.int64)
            given = {"ids": ids, "types": types, "mask": np.ones_like(ids)}
            made = session.run(["kinds", "slots"], given)
        where = slice(len(before), len(before) + len(own))
        kinds, slots = (_likely(scores[0, where]) for scores in made)
        kinds = _likely(kinds + marked.barred(self._kinds, without))
        among = marked.words(said, places)
        stretches = marked.best(marked.by_word(kinds, self._kinds, among), self._kinds)
        slots = marked.by_word(slots, self._slots, among)
        slots = slots + marked.allowed(stretches, self._slots, wishes, len(among))
        whole = [(places[first][0], places[end - 1][1]) for first, end in among]
        found = marked.wishes(said, whole, stretches, marked.best(slots, self._slots))
        pieces = [marked.Span(among[s.start][0], among[s.end - 1][1], s.label) for s in stretches]
        return Read(tuple(found), marked.sure(kinds, self._kinds, pieces))

    def _model(self) -> tuple[Any, Any]:
        if self._loaded is None:
            session, tokenizer = opened(self._folder)
            tokenizer.no_truncation()
            tokenizer.no_padding()
            self._loaded = session, tokenizer
        return self._loaded


def _both(names: Sequence[str]) -> tuple[str, ...]:
    return ("O", *(f"{part}-{name}" for name in names for part in "BI"))


def _pieces(tokenizer: Any, text: str, most: int) -> list[int]:
    ids: list[int] = tokenizer.encode(text, add_special_tokens=False).ids
    return ids[:most]


def _likely(scores: marked.Scores) -> marked.Scores:
    top = scores.max(axis=-1, keepdims=True)
    made: marked.Scores = scores - top
    made -= np.log(np.exp(made).sum(axis=-1, keepdims=True))
    return made
