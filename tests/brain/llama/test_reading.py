"""The model's text, cut anywhere, always gives the same words and calls."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.brain.asking import Answer
from vivavoce.brain.llama.grammar import Reading
from vivavoce.wire.brain import CallArguments, CallBegun, CallEnded, Words


def _read(*deltas: str) -> Answer:
    numbers = itertools.count(1)
    reading = Reading(lambda: f"call_{next(numbers)}")
    pieces = [piece for delta in deltas for piece in reading.feed(delta)]
    return Answer(pieces)


def test_words_go_on_as_they_come() -> None:
    assert _read("Hello", " there", ".").pieces == [Words("Hello"), Words(" there"), Words(".")]


def test_a_call_straight_away_says_nothing() -> None:
    answer = _read("@", "glob", ' {"', 'pattern": "*.py"', "}")
    assert answer.text == ""
    assert answer.calls == [("glob", {"pattern": "*.py"})]


def test_words_before_a_call_end_without_its_white_space() -> None:
    answer = _read("Let me look. ", "\n", "@", 'read_file {"path": "a"}')
    assert answer.text == "Let me look."
    assert answer.calls == [("read_file", {"path": "a"})]


def test_several_calls_in_one_answer_have_names_of_their_own() -> None:
    answer = _read('@a {"x": 1}@b {"y": [2, {"z": "}"}]}')
    assert answer.calls == [("a", {"x": 1}), ("b", {"y": [2, {"z": "}"}]})]


def test_the_name_comes_before_the_arguments_are_whole() -> None:
    reading = Reading(lambda: "call_1")
    pieces = list(reading.feed('@bash {"comm'))
    assert pieces == [CallBegun("call_1", "bash"), CallArguments("call_1", '{"comm')]
    assert reading.calls == 0


def test_a_call_that_is_cut_never_ends() -> None:
    answer = _read('@bash {"command": "ls')
    assert answer.calls == []
    assert answer.text == ""


def test_white_space_at_the_end_is_not_said() -> None:
    assert _read("Sure.", " ", "\n").pieces == [Words("Sure.")]


@pytest.mark.parametrize("quoted", ['a "b" {c}', "back\\slash", "{[@", "line\nbreak"])
def test_brackets_quotes_and_marks_inside_a_text_are_text(quoted: str) -> None:
    arguments = {"text": quoted}
    assert _read(f"@say {json.dumps(arguments)}").calls == [("say", arguments)]


@settings(deadline=None)
@given(
    words=st.text("ab <>.", max_size=20),
    value=st.text(max_size=20),
    cuts=st.lists(st.integers(0, 90), max_size=8),
)
def test_where_the_text_is_cut_makes_no_difference(words: str, value: str, cuts: list[int]) -> None:
    whole = f"{words}@note {json.dumps({'text': value})}"
    edges = sorted({0, len(whole), *(min(cut, len(whole)) for cut in cuts)})
    answer = _read(*(whole[a:b] for a, b in itertools.pairwise(edges)))
    assert answer.text == words.strip()
    assert answer.calls == [("note", {"text": value})]


def test_the_same_words_over_and_over_are_a_loop() -> None:
    reading = Reading(lambda: "call_1")
    list(reading.feed("Here it is. " + "I can help you with that. " * 3))
    assert reading.enough


@pytest.mark.parametrize(
    "text", ["Ha ha ha ha ha, no.", "One file, two files, three files, four files.", ""]
)
def test_a_little_repetition_is_none(text: str) -> None:
    reading = Reading(lambda: "call_1")
    list(reading.feed(text))
    assert not reading.looping


def test_three_sentences_are_enough_and_a_number_is_no_end() -> None:
    reading = Reading(lambda: "c")
    list(reading.feed("Dr. Who has 3.5 meters. That is long! It weighs 2."))
    before = reading.enough
    said = list(reading.feed("55 tons. And"))
    assert (before, reading.enough) == (False, True)
    assert said == [Words("55 tons.")]
    assert list(reading.feed(" so on.")) == []


def test_nobody_is_stopped_in_the_middle_of_a_call() -> None:
    reading = Reading(lambda: "c")
    pieces = list(reading.feed('One day. Two days. Three days. @clock {"zone": "'))
    assert not reading.enough
    pieces += list(reading.feed('x"}'))
    assert [type(piece) for piece in pieces][-1] is CallEnded
