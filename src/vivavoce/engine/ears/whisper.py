"""Speech to text with Whisper: the most accurate choice, in many languages, and the slowest.

Owns the model's files, its control tokens and what it must not write. It
always listens to 30 seconds, the missing ones as silence, so a short question
costs as much as a long one.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import onnxruntime as ort

from vivavoce.engine.ears.decoding import Decoder, Decoding
from vivavoce.engine.ears.keywords import Floats
from vivavoce.engine.ears.logmel import log_mel
from vivavoce.engine.ears.recogniser import USUAL, ModelEars, Way
from vivavoce.engine.ports import EAR_RATE, Samples
from vivavoce.errors import ModelUnavailable

_LENGTH = 30 * EAR_RATE
_TOKENS_PER_S = {"en": 8.0}
_MOST_TOKENS_PER_S = 25.0
"""Languages far from English are written in pieces of characters."""
_LONGEST = 220
"""Half of what the decoder can remember, the other half being for what was said before."""
_NO_SPEECH, _UNSURE = 0.3, -1.0
"""Said to be no speech by so much, and with so little faith in the text: it is none."""
_SIGNS = re.compile(r"Ġ?(?:[-#()*+/:;<=>@\[\\\]^_`{|}~]|âĻ.)+|Ġ'")
"""Tokens that are only signs are subtitlers' remarks: music, laughter, who speaks."""


class WhisperEars(ModelEars):
    """English, unless another language is asked for."""

    def __init__(self, folder: Path, *, threads: int = 2) -> None:
        super().__init__(folder, threads)
        end = self._token("<|endoftext|>")
        self._silent = self._token("<|nocaptions|>")
        self._never = self._forbidden(end)
        self._decoder = Decoder(self._session, end, self._weigh, marks=self._marks)
        self._warm()

    def _knows(self, language: str) -> bool:
        return self._tokenizer.token_to_id(f"<|{language}|>") is not None

    def begin(self, speech: Samples, guess: str, run: ort.RunOptions, way: Way = USUAL) -> Decoding:
        features = log_mel(np.pad(speech, (0, _LENGTH - len(speech))), level=False)
        # By name: the file would give all its attention maps too, a gigabyte of them.
        inputs = {"input_features": features[np.newaxis]}
        hidden = self._encoder.run(["last_hidden_state"], inputs, run)[0]
        orders = (
            "<|startoftranscript|>",
            f"<|{way.language}|>",
            "<|transcribe|>",
            "<|notimestamps|>",
        )
        prompt = [self._token(order) for order in orders]
        rate = _TOKENS_PER_S.get(way.language, _MOST_TOKENS_PER_S)
        limit = min(_LONGEST, max(8, math.ceil(len(speech) / EAR_RATE * rate)))
        # Without the guess: it would save little beside the encoder, and might change the text.
        likely = self._trees.of(way.keywords)
        return Decoding(self._decoder, hidden, prompt, limit, (), run, likely)

    def text(self, decoding: Decoding) -> str:
        mean = decoding.log_probability / max(1, decoding.chosen)
        opening = decoding.opening
        silent = 1.0 / np.exp(opening - opening[self._silent]).sum()  # the probability of that
        if mean < _UNSURE and silent > _NO_SPEECH:
            return ""
        return super().text(decoding)

    def _weigh(self, scores: Floats, before: int) -> Floats:
        return scores + self._never[: len(scores)]

    def _token(self, name: str) -> int:
        token = self._tokenizer.token_to_id(name)
        if token is None:
            raise ModelUnavailable(f"The vocabulary of {self.name} lacks {name}.")
        return int(token)

    def _forbidden(self, end: int) -> Floats:
        words = self._tokenizer.get_vocab()
        never = np.zeros(1 << 16, dtype=np.float32)
        never[end + 1 :] = -np.inf  # control tokens and times
        never[[token for word, token in words.items() if _SIGNS.fullmatch(word)]] = -np.inf
        return never
