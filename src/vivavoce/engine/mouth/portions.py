"""What mouths share that take Kokoro's phonemes: a string of them in, sound and times out.

A model takes so many phonemes at once and no more, so a long text is drawn in portions,
cut where one would breathe. How a portion is drawn is the child's part.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnxruntime as ort

from vivavoce.engine.mouth.speaking import Said, SpeakingMouth
from vivavoce.engine.ports import Samples
from vivavoce.errors import ModelUnavailable

EDGE = 0
"""The token before and after."""


class PhonemeMouth(SpeakingMouth):
    """`vocabulary` has the number of each phoneme; others are left out."""

    def __init__(
        self, name: str, voices: Mapping[str, str], *, vocabulary: dict[str, int], longest: int
    ) -> None:
        self._vocabulary, self._longest = vocabulary, longest
        super().__init__(name, voices)

    def _say(self, words: Sequence[str], voice: str, speed: float, options: ort.RunOptions) -> Said:
        known = ["".join(p for p in word if p in self._vocabulary) for word in words]
        parts: list[Samples] = []
        ends: list[int] = []  # of each phoneme that is no space
        length = 0
        for portion in portions(" ".join(filter(None, known)), self._longest):
            ids = [self._vocabulary[phoneme] for phoneme in portion]
            speech, times = self._draw([EDGE, *ids, EDGE], voice, speed, options)
            ends += [length + time for p, time in zip(portion, times, strict=True) if p != " "]
            parts.append(speech)
            length += len(speech)
        speech = np.concatenate(parts) if parts else np.zeros(0, dtype=np.float32)
        return Said(speech, word_ends(known, ends))

    @abstractmethod
    def _draw(
        self, ids: Sequence[int], voice: str, speed: float, options: ort.RunOptions
    ) -> tuple[Samples, list[int]]:
        """A portion between its edges, trimmed, and the sample at which each of its phonemes has
        been said."""


def word_ends(words: Sequence[str], ends: Sequence[int]) -> list[int]:
    """When each word has been said: with its last sound, and not with the pause after it."""
    found, place, now = [], 0, 0
    for word in words:
        sounds = word.replace(" ", "")
        if last := max((n for n, p in enumerate(sounds, 1) if p.isalpha()), default=0):
            now = ends[place + last - 1]
        found.append(now)
        place += len(sounds)
    return found


def portions(phonemes: str, longest: int) -> list[str]:
    """Phonemes in strings of at most `longest`, cut after the last stop, else the last space."""
    found = []
    while len(phonemes) > longest:
        window = phonemes[:longest]
        stops = (".!?…", ";:,—", " ")
        ends = (max(window.rfind(mark) for mark in marks) + 1 for marks in stops)
        cut = next((end for end in ends if end > longest // 3), longest)
        found.append(phonemes[:cut].strip())
        phonemes = phonemes[cut:].strip()
    return [*found, phonemes] if phonemes else found


def read_vocabulary(path: Path) -> dict[str, int]:
    """The number of each phoneme. Raises `ModelUnavailable`."""
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
        return {str(phoneme): int(number) for phoneme, number in table.get("vocab", table).items()}
    except (OSError, ValueError, TypeError, AttributeError) as fault:
        raise ModelUnavailable(f"The phonemes of {path.parent.name} cannot be read.") from fault


def spread(length: int, phonemes: int) -> list[int]:
    """An estimate, where a model does not tell: all phonemes as long as each other."""
    return [length * (n + 1) // phonemes for n in range(phonemes)]
