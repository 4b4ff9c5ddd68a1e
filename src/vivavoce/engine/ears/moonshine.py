"""Speech to text with Moonshine (English). Owns the model's files, tokens and limits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnxruntime as ort
from tokenizers import Tokenizer

from vivavoce.engine.ears.decoding import Decoder, Decoding
from vivavoce.engine.ears.graph import rowwise
from vivavoce.engine.ears.keywords import Floats, Trees
from vivavoce.engine.ears.recogniser import Listener
from vivavoce.engine.ports import EAR_RATE, Samples, Transcript
from vivavoce.engine.speech.inference import open_model
from vivavoce.errors import EarsError, ModelUnavailable

_START, _END = 1, 2
_TOKENS_PER_S = 6.5
"""People say fewer. A clip cut in the middle of a word would otherwise loop."""

_NOTHING = 0.8
"""How sure it must be that nothing was said. Chosen on a handful of clips: noise gave 0.93 and
more, two of speech 0.35 and 0.70. It is no clean line: one of speech with long pauses, behind
half a second of silence, gave 0.98 and is still lost."""


class MoonshineEars:
    """`Ears` on a folder with encoder.onnx, decoder.onnx and tokenizer.json.

    Loading blocks for a second or so; one object serves all sessions.
    """

    def __init__(self, folder: Path, *, threads: int = 2) -> None:
        self._name = folder.name
        self._encoder = open_model(folder / "encoder.onnx", threads=threads)
        decoder = open_model(folder / "decoder.onnx", threads=threads, edit=rowwise)
        self._decoder = Decoder(decoder, _END, _weigh, least=2)
        self._tokenizer = vocabulary(folder)
        self._trees = Trees(self._tokenizer)
        self._listener = Listener(folder.name, self)
        self.begin(np.zeros(EAR_RATE, dtype=np.float32), None, "warm", ort.RunOptions()).step()

    @property
    def name(self) -> str:
        return self._name

    async def transcribe(
        self,
        speech: Samples,
        *,
        language: str | None = None,
        hint: str = "",
        urgent: bool = True,
        keywords: Sequence[str] = (),
    ) -> Transcript:
        if language is not None and language.lower().replace("_", "-").split("-")[0] != "en":
            raise EarsError(f"{self._name} hears English only, not {language!r}.")
        return await self._listener.transcribe(speech, None, hint, urgent, tuple(keywords))

    def begin(
        self,
        speech: Samples,
        language: str | None,
        guess: str,
        options: ort.RunOptions,
        keywords: tuple[str, ...] = (),
    ) -> Decoding:
        hidden = self._encoder.run(None, {"input_values": speech[np.newaxis]}, options)[0]
        tokens = self._tokenizer.encode(guess, add_special_tokens=False).ids
        limit = max(3, math.ceil(len(speech) / EAR_RATE * _TOKENS_PER_S))
        likely = self._trees.of(keywords)
        return Decoding(self._decoder, hidden, (_START,), limit, tokens, options, likely)

    def text(self, decoding: Decoding) -> str:
        return str(self._tokenizer.decode(decoding.tokens)).strip()

    def close(self) -> None:
        self._listener.close()


def _weigh(scores: Floats, before: int) -> Floats:
    if before or 1.0 / np.exp(scores - scores[_END]).sum() >= _NOTHING:
        return scores
    weighed = scores.copy()
    weighed[_END] = -np.inf
    return weighed


def vocabulary(folder: Path) -> Tokenizer:
    """The folder's tokenizer.json. Raises `ModelUnavailable`."""
    try:
        return Tokenizer.from_file(str(folder / "tokenizer.json"))
    except Exception as fault:  # tokenizers raises bare Exception
        raise ModelUnavailable(f"The vocabulary of {folder.name} cannot be read.") from fault
