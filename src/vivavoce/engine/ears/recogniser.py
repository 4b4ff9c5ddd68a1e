"""What all ears on a local model share: segments, hints, turns on the model's thread.

A long speech is heard segment by segment. A segment that is finished is
remembered, so that someone who talks for a minute is not heard from the
beginning again for every partial transcript.
"""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Unpack

import numpy as np
import onnxruntime as ort

from vivavoce.engine.ears.decoding import Decoding, Marks
from vivavoce.engine.ears.keywords import Trees, vocabulary
from vivavoce.engine.ears.segments import segments
from vivavoce.engine.ports import EAR_RATE, Manner, Samples, Transcript
from vivavoce.engine.speech.inference import Worker, open_model
from vivavoce.errors import EarsError
from vivavoce.wire.values import Value

_SHORTEST = EAR_RATE // 4
"""No word is shorter, with what the detector keeps in front of it; less makes a model guess."""
_QUIETEST = 1e-3
"""A peak below -60 dB holds nothing to hear."""
_RUN_UP = EAR_RATE // 20
"""What is kept in front of the first sound."""
_AT_ONCE = 4
"""Tokens decoded before others may have the thread: some 30 ms with the default model."""
_PATIENCE_MS = 1000.0
"""How long a partial stands back for what is urgent."""
_STOPS = frozenset({".", "?", "!"})
_COMMAS = frozenset({",", ";", ":", "-", "--", "–", "—", "..", "...", "…"})
_QUOTES = "\"'”’)"
"""May stand behind a mark, in one token with it."""
_REMEMBERED = 64
"""Finished segments, of all sessions together."""


class Way(Value):
    """How a segment is to be heard."""

    language: str = "en"
    keywords: tuple[str, ...] = ()
    urgent: bool = True


USUAL = Way()


class Heard(Value):
    """A segment's text, and the logarithms of its tokens' probabilities, added up."""

    text: str = ""
    log_probability: float = 0.0
    tokens: int = 0
    closed: float | None = None


class Listener(ABC):
    """`Ears`, but for the model, which takes one segment at a time. One serves all sessions."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._worker = Worker(name, EarsError)
        self._memory: OrderedDict[tuple[str, tuple[str, ...], bytes], Heard] = OrderedDict()

    def close(self) -> None:
        self._worker.close()

    async def transcribe(self, speech: Samples, **manner: Unpack[Manner]) -> Transcript:
        language, hint = manner.get("language"), manner.get("hint", "")
        code = (language or "en").lower().replace("_", "-").split("-")[0]
        if not self._knows(code):
            raise EarsError(f"{self.name} does not know the language {language!r}.")
        way = Way(code, tuple(manner.get("keywords", ())), manner.get("urgent", True))
        *finished, last = segments(np.ascontiguousarray(speech, dtype=np.float32)) or [speech]
        found = []
        for segment in finished:
            heard = await self._once(segment, hint, way)
            found.append(heard)
            # The hint is of the whole speech: what is left of it is of the next segment.
            known, _, rest = hint.partition(heard.text)
            hint = "" if known.strip() else rest.strip()
        found.append(await self._segment(last, hint, way))
        return _joined(found)

    async def _once(self, segment: Samples, hint: str, way: Way) -> Heard:
        sound = hashlib.blake2b(segment.data, digest_size=16).digest()
        key = (way.language, way.keywords, sound)
        if (heard := self._memory.get(key)) is None:
            heard = await self._segment(segment, hint, way)
        self._memory[key] = heard
        self._memory.move_to_end(key)
        if len(self._memory) > _REMEMBERED:
            self._memory.popitem(last=False)
        return heard

    async def _segment(self, speech: Samples, hint: str, way: Way) -> Heard:
        speech = _from_first_sound(speech)
        if len(speech) < _SHORTEST:
            return Heard()
        rank = 0.0 if way.urgent else _PATIENCE_MS
        run = ort.RunOptions()
        stop = partial(setattr, run, "terminate", True)
        begin = partial(self.begin, speech, hint, run, way)
        decoding = await self._worker.run(begin, rank=rank, stop=stop)
        while not decoding.done:
            await self._worker.run(partial(decoding.step, _AT_ONCE), rank=rank, stop=stop)
        text = self.text(decoding)
        if not text:
            return Heard()
        return Heard(text, decoding.log_probability, decoding.chosen, decoding.closed)

    def _knows(self, language: str) -> bool:
        return language == "en"

    @abstractmethod
    def begin(self, speech: Samples, guess: str, run: ort.RunOptions, way: Way = USUAL) -> Decoding:
        """Encode the speech, with these options for every run. Blocks."""

    @abstractmethod
    def text(self, decoding: Decoding) -> str: ...


class ModelEars(Listener):
    """On a folder with encoder.onnx, decoder.onnx and tokenizer.json. Loading blocks for a second
    or more."""

    def __init__(
        self, folder: Path, threads: int, edit: Callable[[Path], bytes | None] | None = None
    ) -> None:
        super().__init__(folder.name)
        self._encoder = open_model(folder / "encoder.onnx", threads=threads)
        self._session = open_model(folder / "decoder.onnx", threads=threads, edit=edit)
        self._tokenizer = vocabulary(folder)
        self._trees = Trees(self._tokenizer)
        self._marks = marks_of(self._tokenizer.get_vocab())

    def text(self, decoding: Decoding) -> str:
        return str(self._tokenizer.decode(decoding.tokens)).strip()

    def _warm(self) -> None:
        """The first run is the slow one."""
        self.begin(np.zeros(EAR_RATE, dtype=np.float32), "warm", ort.RunOptions()).step()


def marks_of(vocabulary: Mapping[str, int]) -> Marks:
    """Of a vocabulary that writes a space in front of a word in one of two ways."""
    plain = {token: word.lstrip("▁Ġ") for word, token in vocabulary.items()}
    signs = {n: word for n, word in plain.items() if word and not any(map(str.isalnum, word))}
    bare = {n: word.strip(_QUOTES) for n, word in signs.items()}
    return Marks(
        tuple(sorted(n for n, word in bare.items() if word in _STOPS)),
        tuple(sorted(n for n, word in bare.items() if word in _COMMAS)),
        frozenset(signs),
    )


def _from_first_sound(speech: Samples) -> Samples:
    """Without dead silence in front, as streams begin with: it is like nothing models know."""
    loud = np.abs(speech) >= _QUIETEST
    first = int(loud.argmax()) if loud.any() else len(speech)
    return speech[max(0, first - _RUN_UP) :] if first < len(speech) else speech[:0]


def _joined(found: Iterable[Heard]) -> Transcript:
    spoken = [heard for heard in found if heard.text]
    tokens = sum(heard.tokens for heard in spoken)
    mean = sum(heard.log_probability for heard in spoken) / max(1, tokens)
    text = " ".join(heard.text for heard in spoken)
    closed = spoken[-1].closed if spoken else None
    return Transcript(text, math.exp(min(0.0, mean)), closed)
