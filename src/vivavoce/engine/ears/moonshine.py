"""Speech to text with Moonshine (English).

The audio goes through an encoder at once, then a decoder gives a token at a
time. Every token is one small job on the model's thread, so text streams out
as it is found, several sessions take turns, and an iterator that is closed
costs no more than the token under way.
"""

from __future__ import annotations

import math
import re
from collections.abc import AsyncGenerator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime as ort
from tokenizers import Tokenizer

from vivavoce.engine.ears.segments import segments
from vivavoce.engine.inference import Worker, open_model
from vivavoce.engine.ports import EAR_RATE, Samples
from vivavoce.errors import EarsError, ModelUnavailable

_START, _END = 1, 2
_TOKENS_PER_S = 6.5
"""People say fewer. A clip cut in the middle of a word would otherwise loop."""
_BYTE = re.compile("<0x[0-9A-F]{2}>")
_SHORTEST = EAR_RATE // 4
"""No word is shorter, with what the detector keeps in front of it; less makes the model guess."""
_QUIETEST = 1e-3
"""A peak below -60 dB holds nothing to hear."""


class MoonshineEars:
    """`Ears` on a folder with encoder.onnx, decoder.onnx and tokenizer.json.

    Loading blocks for a second or so; one object serves all sessions.
    """

    def __init__(self, folder: Path, *, threads: int = 2) -> None:
        self._name = folder.name
        self._encoder = open_model(folder / "encoder.onnx", threads=threads)
        self._decoder = open_model(folder / "decoder.onnx", threads=threads)
        try:
            self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        except Exception as fault:  # tokenizers raises bare Exception
            raise ModelUnavailable(f"The vocabulary of {folder.name} cannot be read.") from fault
        self._worker = Worker(folder.name, EarsError)
        _Decode(self._encoder, self._decoder, np.zeros(EAR_RATE, dtype=np.float32)).next()

    @property
    def name(self) -> str:
        return self._name

    async def transcribe(
        self, speech: Samples, *, language: str | None = None
    ) -> AsyncGenerator[str, None]:
        if language is not None and language.lower().replace("_", "-").split("-")[0] != "en":
            raise EarsError(f"{self._name} hears English only, not {language!r}.")
        said = False
        for segment in segments(np.ascontiguousarray(speech, dtype=np.float32)):
            joint = " " if said else ""
            async for piece in self._segment(segment):
                yield joint + piece
                joint, said = "", True

    async def _segment(self, speech: Samples) -> AsyncGenerator[str, None]:
        if len(speech) < _SHORTEST or np.abs(speech).max() < _QUIETEST:
            return
        decode = await self._worker.run(partial(_Decode, self._encoder, self._decoder, speech))
        text = Pieces(self._tokenizer)
        while (token := await self._worker.run(decode.next)) is not None:
            if piece := text.feed(token):
                yield piece
        if piece := text.finish():
            yield piece

    def close(self) -> None:
        self._worker.close()


class Pieces:
    """Tokens to text, such that the pieces together are the decoding of the whole.

    Tokens alone are not text: the tokenizer drops the first space, and a
    character may be several byte tokens, whose meaning is open until the last.
    So the whole is decoded every time, and what is new and certain is given out.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._tokens: list[int] = []
        self._given = 0

    def feed(self, token: int) -> str:
        self._tokens.append(token)
        alone = self._tokenizer.decode([token])  # special tokens are nothing
        if not alone or _BYTE.fullmatch(self._tokenizer.id_to_token(token) or ""):
            return ""
        # A space at the end is held back too, for a transcript does not end with one.
        return self._new(self._whole().rstrip())

    def finish(self) -> str:
        return self._new(self._whole().rstrip())

    def _whole(self) -> str:
        return str(self._tokenizer.decode(self._tokens)).lstrip()

    def _new(self, text: str) -> str:
        new = text[self._given :]
        self._given += len(new)
        return new


class _Decode:
    """One piece of speech on its way to tokens: the most probable one each time."""

    def __init__(
        self, encoder: ort.InferenceSession, decoder: ort.InferenceSession, speech: Samples
    ) -> None:
        self._decoder = decoder
        self._hidden = encoder.run(None, {"input_values": speech[np.newaxis]})[0]
        self._left = max(3, math.ceil(len(speech) / EAR_RATE * _TOKENS_PER_S))
        self._token = _START
        self._past = {i.name: _nothing(i.shape) for i in decoder.get_inputs() if "past" in i.name}
        self._wanted: list[str] | None = None
        """All outputs first, then only those that change from token to token."""

    def next(self) -> int | None:
        if self._left <= 0 or self._token == _END:
            return None
        self._left -= 1
        names = self._wanted or [output.name for output in self._decoder.get_outputs()]
        inputs: dict[str, Any] = {
            "input_ids": np.array([[self._token]], dtype=np.int64),
            "encoder_hidden_states": self._hidden,
            "use_cache_branch": np.array([self._wanted is not None]),
            **self._past,
        }
        logits, *present = self._decoder.run(names, inputs)
        for name, value in zip(names[1:], present, strict=True):
            self._past[name.replace("present", "past_key_values")] = value
        # What the decoder makes of the encoder's output stays as the first run found it.
        self._wanted = [name for name in names if "encoder" not in name]
        self._token = int(logits[0, -1].argmax())
        return None if self._token == _END else self._token


def _nothing(shape: list[Any]) -> npt.NDArray[np.float32]:
    """A memory of no tokens yet."""
    _, heads, _, width = shape
    return np.zeros((1, heads, 0, width), dtype=np.float32)
