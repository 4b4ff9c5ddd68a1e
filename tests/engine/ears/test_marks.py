"""Which mark is behind the last word: by the scores of the tokens there."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime as ort
import pytest

from tests.speech import model_folder
from vivavoce.engine.ears.decoding import Decoder, Decoding, Marks
from vivavoce.engine.ears.keywords import vocabulary
from vivavoce.engine.ears.recogniser import marks_of

END, WORD, STOP, COMMA, QUOTE = range(5)
MARKS = Marks(stops=(STOP,), commas=(COMMA,), signs=frozenset({STOP, COMMA, QUOTE}))


class _Scores:
    """A decoder's session that gives these probabilities, one token after the other."""

    def __init__(self, *steps: dict[int, float]) -> None:
        rows = [[step.get(token, 1e-6) for token in range(5)] for step in steps]
        self._rows = np.log(np.array(rows, dtype=np.float32))

    def get_inputs(self) -> list[Any]:
        return []

    def get_outputs(self) -> list[Any]:
        class _Logits:
            name = "logits"

        return [_Logits()]

    def run(self, _names: object, inputs: dict[str, Any], _options: object) -> list[Any]:
        count = inputs["input_ids"].shape[1]
        taken, self._rows = self._rows[:count], self._rows[count:]
        return [taken[np.newaxis]]


def closed(*steps: dict[int, float]) -> float | None:
    session: Any = _Scores(*steps)
    decoder = Decoder(session, END, marks=MARKS)
    hidden = np.zeros((1, 1, 1), dtype=np.float32)
    decoding = Decoding(decoder, hidden, (WORD,), 40, (), ort.RunOptions())
    decoding.step(len(steps))
    assert decoding.done
    return decoding.closed


def test_a_full_stop_is_weighed_against_a_comma() -> None:
    said = closed({WORD: 1.0}, {STOP: 0.6, COMMA: 0.2, END: 0.2}, {END: 1.0})
    assert said == pytest.approx(0.75, abs=0.01)


def test_that_no_mark_is_written_says_nothing_of_which_it_would_be() -> None:
    said = closed({WORD: 1.0}, {END: 0.98, STOP: 0.019, COMMA: 0.001})
    assert said == pytest.approx(0.95, abs=0.01)


def test_a_quote_behind_a_full_stop_leaves_it_one() -> None:
    said = closed({WORD: 1.0}, {STOP: 0.9, COMMA: 0.1}, {QUOTE: 0.9, COMMA: 0.1}, {END: 1.0})
    assert said == pytest.approx(0.9, abs=0.01)


def test_a_comma_at_the_end_is_no_full_stop_and_only_the_last_mark_counts() -> None:
    said = closed(
        {WORD: 1.0}, {STOP: 0.9, COMMA: 0.1}, {WORD: 1.0}, {STOP: 0.2, COMMA: 0.8}, {END: 1.0}
    )
    assert said == pytest.approx(0.2, abs=0.01)


def test_without_a_word_there_is_no_mark() -> None:
    assert closed({END: 1.0}) is None


def test_marks_are_found_in_the_vocabulary_of_the_ears() -> None:
    tokenizer = vocabulary(model_folder("moonshine-tiny"))
    marks = marks_of(tokenizer.get_vocab())
    stops, commas = (
        {tokenizer.id_to_token(n) for n in some} for some in (marks.stops, marks.commas)
    )
    assert {".", "?", "!", '."', '?"'} <= stops
    assert {",", ";", ":", "...", "-", ',"'} <= commas
    assert not stops & commas
    assert marks.signs > {*marks.stops, *marks.commas}
    assert not any(map(str.isalnum, "".join(str(tokenizer.id_to_token(n)) for n in marks.signs)))
