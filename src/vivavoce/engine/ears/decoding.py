"""One piece of speech on its way to tokens: the most probable one each time.

For decoders that were exported with and without memory in one file, as those
of Moonshine and Whisper are. Knows tensors and tokens; audio and text are its
callers' matter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import onnxruntime as ort

Floats: TypeAlias = npt.NDArray[np.float32]
Weigh: TypeAlias = Callable[[Floats, int], Floats]
"""The scores of the next token and how many there were before it, to the scores that count."""

_CLOSE = 0.05
"""Guesses that win by less are worked out again, with no company but one."""


@dataclass(frozen=True, slots=True)
class Decoder:
    """A model, its last token, and how its scores are to be taken.

    `least` is how many tokens a run must have: on a graph made `rowwise` one
    alone goes through other arithmetic than two or more, and only those score
    the same in any company.
    """

    session: ort.InferenceSession
    end: int
    weigh: Weigh = lambda scores, _: scores
    least: int = 1


class Decoding:
    """`tokens` grows with every `step`, until `done`.

    `guess` is what the first tokens may be: they are all looked at in one run,
    and those that would have come anyway are taken. With `options` all of it
    can be terminated from another thread.
    """

    def __init__(
        self,
        decoder: Decoder,
        hidden: Floats,
        prompt: Sequence[int],
        limit: int,
        guess: Sequence[int],
        options: ort.RunOptions,
    ) -> None:
        self._decoder = decoder
        self._options = options
        self._hidden = hidden
        self._prompt = list(prompt)
        self._limit = limit
        self._past: dict[str, Any] = _nothing(decoder.session)
        self._seen = 0
        """How many tokens, the prompt's among them, are in the memory."""
        self.tokens: list[int] = []
        self.log_probability = 0.0
        self.chosen = 0
        """Tokens that the probability is of: the end is one too."""
        self.opening: Floats = np.zeros(0, dtype=np.float32)
        """The scores after the prompt's first token."""
        self.done = False
        if guess:
            self._verify(list(guess[: limit - 1]))

    def step(self, tokens: int = 1) -> None:
        """So many more, if there are."""
        for _ in range(tokens):
            if self.done:
                return
            self._take(self._run([*self._prompt, *self.tokens][self._seen :])[-1])

    def _verify(self, guess: list[int]) -> None:
        scores = self._run([*self._prompt, *guess])[len(self._prompt) - 1 :]
        for place, row in enumerate(scores):
            weighed = self._decoder.weigh(row, len(self.tokens))
            second, first = np.partition(weighed, -2)[-2:]
            if first - second < _CLOSE:
                self._forget(len(self._prompt) + place - 1)
                return
            self._take(row)
            if self.done:
                return
            if place < len(guess) and self.tokens[-1] != guess[place]:
                self._forget(len(self._prompt) + place)
                return

    def _take(self, row: Floats) -> None:
        weighed = self._decoder.weigh(row, len(self.tokens))
        token = int(weighed.argmax())
        self.log_probability -= float(np.log(np.exp(weighed - weighed[token]).sum()))
        self.chosen += 1
        if token != self._decoder.end:
            self.tokens.append(token)
        self.done = token == self._decoder.end or len(self.tokens) >= self._limit

    def _run(self, tokens: list[int]) -> Floats:
        """The scores after each of them."""
        first = self._seen == 0
        # What the decoder makes of the encoder's output stays as the first run found it.
        names = [
            output.name
            for output in self._decoder.session.get_outputs()
            if output.name.startswith(("logits", "present"))
            and (first or "encoder" not in output.name)
        ]
        company = [tokens[-1]] * (self._decoder.least - len(tokens))
        inputs: dict[str, Any] = {
            "input_ids": np.array([[*tokens, *company]], dtype=np.int64),
            "encoder_hidden_states": self._hidden,
            "use_cache_branch": np.array([not first]),
            **self._past,
        }
        scores, *present = self._decoder.session.run(names, inputs, self._options)
        for name, value in zip(names[1:], present, strict=True):
            self._past[name.replace("present", "past_key_values")] = value
        if first:
            self.opening = scores[0, 0]
        self._seen += len(tokens)
        if company:
            self._forget(self._seen)
        return np.asarray(scores[0, : len(tokens)])

    def _forget(self, length: int) -> None:
        """Remember only the first tokens, as if no more had been looked at."""
        if length < len(self._prompt):  # the prompt is always looked at as a whole
            self._past, self._seen = _nothing(self._decoder.session), 0
            return
        self._seen = length
        for name, value in self._past.items():
            if "encoder" not in name:
                self._past[name] = np.ascontiguousarray(value[:, :, :length])


def _nothing(session: ort.InferenceSession) -> dict[str, Any]:
    """A memory of no tokens yet."""
    memory = {}
    for given in session.get_inputs():
        if "past" in given.name:
            _, heads, _, width = given.shape
            memory[given.name] = np.zeros((1, heads, 0, width), dtype=np.float32)
    return memory
