"""Text to speech with Kokoro (English), and what it shares with every mouth that takes its
phonemes: a string of them in, sound and times out.

A model takes so many phonemes at once and no more, so a long text is drawn in portions,
cut where one would breathe. A voice is a table of styles, one for each length of the
phoneme string. The model is not incremental: a clause goes in, its whole sound comes out.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnxruntime as ort

from vivavoce.engine.mouth import graph
from vivavoce.engine.mouth.speaking import Said, SpeakingMouth, heard
from vivavoce.engine.ports import Samples
from vivavoce.engine.speech.inference import open_model
from vivavoce.errors import ModelUnavailable
from vivavoce.runtime.provider.known_models import OPENAI_VOICES

EDGE = 0
"""The token before and after."""
_LONGEST = 510
"""Phonemes the model takes at once, and rows in a voice's table."""
_STYLE = 256
_FRAME = 600
"""Samples: 25 ms."""
_EARLY = 3
"""Frames by which phonemes sound before the durations say so, in all voices alike."""
_FAINTER = 0.8
"""The model evens loudness out over all that it draws: without the silence, speech is fainter by
this power of the share that was drawn (measured; it is within 10 % afterwards)."""


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


class KokoroMouth(PhonemeMouth):
    """A `Mouth` on a folder with model.onnx, vocab.json and voices/*.bin.

    Loading blocks for a second or two; one object serves all sessions. Text
    of more than `longest` phonemes is said in portions. `plain` leaves the
    graph as it is: slower, and the times of words are estimated.
    """

    def __init__(
        self, folder: Path, *, threads: int = 2, longest: int = _LONGEST, plain: bool = False
    ) -> None:
        edit = None if plain else graph.edited(graph.kokoro)
        self._session = open_model(folder / "model.onnx", threads=threads, edit=edit)
        self._timed = any(out.name == graph.DURATIONS for out in self._session.get_outputs())
        vocabulary = read_vocabulary(folder / "vocab.json")
        self._styles = {path.stem: _styles(path) for path in sorted(folder.glob("voices/*.bin"))}
        if not self._styles:
            raise ModelUnavailable(f"There are no voices in {folder.name}.")
        super().__init__(
            folder.name, voice_names(folder), vocabulary=vocabulary, longest=min(longest, _LONGEST)
        )

    def _draw(
        self, ids: Sequence[int], voice: str, speed: float, options: ort.RunOptions
    ) -> tuple[Samples, list[int]]:
        count = len(ids) - 2
        inputs = {
            "input_ids": np.array([ids], dtype=np.int64),
            "style": self._styles[voice][count - 1][np.newaxis],
            "speed": np.array([speed], dtype=np.float32),
        }
        sound, *inside = self._session.run(None, inputs, options)
        sound = sound.reshape(-1)
        if not self._timed:
            speech = sound[heard(sound)]
            return speech, spread(len(speech), count)
        durations, start = inside[0].reshape(-1), int(inside[1][0])
        sound = sound * (max(1.0, durations.sum() * _FRAME / len(sound)) ** _FAINTER)
        place = heard(sound)
        ends = (np.cumsum(durations)[1:-1] - _EARLY - start) * _FRAME - place.start
        speech = sound[place]
        return speech, np.clip(ends, 0, len(speech)).astype(int).tolist()


def voice_names(folder: Path) -> dict[str, str]:
    """The names that its voices answer to, OpenAI's first, and whose they are."""
    own = {path.stem: path.stem for path in sorted(folder.glob("voices/*.bin"))}
    return {name: voice for name, voice in (OPENAI_VOICES | own).items() if voice in own}


def _styles(path: Path) -> npt.NDArray[np.float32]:
    table = np.fromfile(path, dtype="<f4")
    if table.size != _LONGEST * _STYLE:
        raise ModelUnavailable(f"The voice {path.stem} is damaged.")
    return table.reshape(_LONGEST, _STYLE)
