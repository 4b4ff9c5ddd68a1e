"""One piece of speech on its way to tokens: the most probable one each time, unless a keyword
is nearly as probable.

For decoders that were exported with and without memory in one file, as those
of Moonshine and Whisper are. Knows tensors and tokens; audio and text are its
callers' matter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import onnxruntime as ort

from vivavoce.engine.ears.keywords import CLOSE, Floats, Found, Keywords, spot
from vivavoce.wire.values import Value

Weigh: TypeAlias = Callable[[Floats, int], Floats]
"""The scores of the next token and how many there were before it, to the scores that count."""


class Marks(Value):
    """Tokens without a letter or a digit: those that end a sentence, those that hold it open, and
    both among all others of the kind."""

    stops: tuple[int, ...] = ()
    commas: tuple[int, ...] = ()
    signs: frozenset[int] = frozenset()


class Decoder(Value):
    """A model, its last token, and how its scores are to be taken.

    `least` is how many tokens a run must have: on a graph made `rowwise` one
    alone goes through other arithmetic than two or more, and only those score
    the same in any company.
    """

    session: ort.InferenceSession
    end: int
    weigh: Weigh = lambda scores, _: scores
    least: int = 1
    marks: Marks = Marks()


class Decoding:
    """`tokens` grows with every `step`, until `done`.

    `guess` is what the first tokens may be: they are all looked at in one run,
    and those that would have come anyway are taken. With `options` all of it
    can be terminated from another thread.

    A keyword is looked at to its end before its first token is taken: one that
    only begins like what was said loses nothing but the time of looking. What
    is taken depends on the sound and on the tokens before, never on the guess.
    """

    def __init__(
        self,
        decoder: Decoder,
        hidden: Floats,
        prompt: Sequence[int],
        limit: int,
        guess: Sequence[int],
        options: ort.RunOptions,
        keywords: Keywords | None = None,
    ) -> None:
        self._decoder = decoder
        self._keywords = keywords
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
        self.closed: float | None = None
        """How likely the mark behind the last word ends the sentence."""
        self.done = False
        if guess:
            self._verify(list(guess[: limit - 1]))

    def step(self, tokens: int = 1) -> None:
        """So many more, if there are."""
        for _ in range(tokens):
            if self.done:
                return
            row = self._run([*self._prompt, *self.tokens][self._seen :])[-1]
            self._take(row, self._spotted(row))

    def _verify(self, guess: list[int]) -> None:
        scores = self._run([*self._prompt, *guess])[len(self._prompt) - 1 :]
        while not self.done and (place := len(self.tokens)) <= len(guess):
            row = scores[place]
            second, first = np.partition(self._decoder.weigh(row, place), -2)[-2:]
            found = self._spotted(row)
            if first - second < CLOSE or (found is not None and found.margin < CLOSE):
                self._forget(len(self._prompt) + place - 1)
                return
            self._take(row, found)
            taken = self.tokens[place:]
            if place < len(guess) and taken != guess[place : len(self.tokens)]:
                self._forget(len(self._prompt) + place)
                return

    def _take(self, row: Floats, found: Found | None = None) -> None:
        weighed = self._decoder.weigh(row, len(self.tokens))
        token = int(weighed.argmax())
        # A keyword is as sure as what would have been written in its place.
        self.log_probability -= float(np.log(np.exp(weighed - weighed[token]).sum()))
        self.chosen += 1
        self._note_end(weighed, token)
        if found is not None and found.tokens:
            self.tokens.extend(found.tokens)
        elif token != self._decoder.end:
            self.tokens.append(token)
        else:
            self.done = True
        self.done = self.done or len(self.tokens) >= self._limit

    def _note_end(self, weighed: Floats, token: int) -> None:
        """Whether a mark is written at all is a matter of taste; which one it would be is not. So
        the marks that end a sentence are weighed against those that hold it open, and not against
        none; right behind a word, since what follows a mark is a quote's end at most."""
        marks = self._decoder.marks
        behind_a_word = bool(self.tokens) and self.tokens[-1] not in marks.signs
        if marks.stops and behind_a_word and (token in marks.signs or token == self._decoder.end):
            stops, commas = weighed[list(marks.stops)], weighed[list(marks.commas)]
            most = max(stops.max(), commas.max())
            stop, comma = (float(np.exp(scores - most).sum()) for scores in (stops, commas))
            self.closed = stop / (stop + comma)

    # --- Keywords -------------------------------------------------------------------------

    def _spotted(self, row: Floats) -> Found | None:
        if self._keywords is None:
            return None
        before = len(self.tokens)
        weighed = self._decoder.weigh(row, before)
        if weighed.argmax() == self._decoder.end:
            return None  # nothing is put behind the last word
        return spot(self._keywords, weighed, lambda tokens: self._look(before, tokens))

    def _look(self, before: int, tokens: Sequence[int]) -> Floats:
        """What the scores would be behind these. The memory stays as it is."""
        held = self._past, self._seen
        self._past = dict(self._past)
        try:
            if self._seen > len(self._prompt) + before:
                self._forget(len(self._prompt) + before)
            row = self._run(list(tokens))[-1]
        finally:
            self._past, self._seen = held
        return self._decoder.weigh(row, before + len(tokens))

    # --- The model ------------------------------------------------------------------------

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
