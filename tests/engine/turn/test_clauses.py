"""Clauses: what may be spoken before the text is whole."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vivavoce.engine.turn.clauses import Clauses, pause_ms
from vivavoce.language.en.aloud.text import spoken


def cut(text: str, step: int = 3) -> list[str]:
    clauses = Clauses()
    deltas = [text[i : i + step] for i in range(0, len(text), step)]
    return [c for d in deltas for c in clauses.feed(d)] + clauses.finish()


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("Sure. I can do that.", "Sure. "),
        ("Sure, I can do that, no problem.", "Sure, "),
        ("I found three files, and one of them is new.", "I found three files, "),
        ("Let me see — it is here.", "Let me see — "),
        ("Is it? I think so.", "Is it? "),
        ("“It works.” So he said.", "“It works.” "),
        ("Well done! Next.", "Well done! "),
        ("Wait…  what?", "Wait… "),
        ("Two things:\nfirst this.", "Two things:\n"),
        ("好的。没问题。", "好的。"),
    ],
)
def test_the_first_clause_ends_at_the_first_stop(text: str, first: str) -> None:
    assert cut(text)[0] == first


@pytest.mark.parametrize("step", [1, 2, 5, 1000])
def test_how_the_text_arrives_makes_no_difference_to_sentences(step: int) -> None:
    text = "Yes. Dr. Smith paid 3.5 percent at 10:42, e.g. on Monday. Then he left. Fine."
    assert cut(text, step) == cut(text, 7)


@pytest.mark.parametrize(
    "whole",
    [
        "Dr. Smith",
        "Mr. and Mrs. Jones",
        "3.5",
        "10:42",
        "1,000",
        "e.g. this",
        "U.S. troops",
        "5 p.m. today",
        "J. Doe",
        "No. 5",
        "example.com",
        "100 000",
    ],
)
def test_nothing_that_belongs_together_is_cut(whole: str) -> None:
    for text in (f"Ask {whole} now please.", f"{whole} is it.", f"One two three four {whole} six."):
        assert any(whole in clause for clause in cut(text, 1)), cut(text, 1)


def test_the_number_of_a_list_stays_with_its_line() -> None:
    assert cut("1. Open it.\n2. Close it.\n") == ["1. Open it.\n", "2. Close it.\n"]


def test_no_at_the_end_of_a_sentence_is_an_answer() -> None:
    assert cut("No. I do not.", 1) == ["No. ", "I do not."]


def test_so_do_i_ends_a_sentence() -> None:
    assert cut("So do I. And you?", 1)[0] == "So do I. "


def test_a_first_clause_without_punctuation_is_cut_between_words_after_a_few() -> None:
    first = cut("The quick brown fox jumps over the lazy dog and then it sleeps")[0]
    assert first == "The quick brown fox "


@pytest.mark.parametrize(
    ("pieces", "first"),
    [
        (["The", " capital", " of", " France"], "The capital "),
        (["A", " spider", " has", " eight"], "A spider "),
        (["Of", " the", " two", " is"], "Of the two "),
    ],
)
def test_a_first_clause_ends_before_a_word_that_begins_a_phrase(
    pieces: list[str], first: str
) -> None:
    clauses = Clauses()
    assert [one for piece in pieces for one in clauses.feed(piece)][:1] == [first]


def test_a_first_clause_does_not_wait_for_the_space_behind_a_comma() -> None:
    clauses = Clauses()
    assert [clauses.feed(piece) for piece in ("I", "'m", " good", ",")][-1] == ["I'm good,"]
    assert Clauses().feed("It costs 1,") == []


def test_a_first_clause_comes_before_the_sentence_is_over() -> None:
    clauses = Clauses()
    assert clauses.feed("I have looked at the file that you named and") != []


def test_later_clauses_are_whole_sentences() -> None:
    text = "Sure. The file, you see, has ten lines. It is short."
    assert cut(text) == ["Sure. ", "The file, you see, has ten lines. ", "It is short."]


def test_a_long_later_sentence_is_cut_at_a_comma() -> None:
    long = "one two three four five six seven eight nine ten eleven twelve, and more."
    assert cut("Sure. Yes. No. " + long)[3:] == [long[:-9], "and more."]


def test_a_sentence_without_any_punctuation_does_not_wait_for_ever() -> None:
    clauses = cut("Sure. " + "word " * 100)
    assert max(len(clause.split()) for clause in clauses) <= 32


def test_a_second_text_begins_with_a_short_clause_again() -> None:
    clauses = Clauses()
    clauses.feed("Yes. And so on")
    clauses.finish()
    assert clauses.feed("Well then, let us") == ["Well then, "]


BLOCK = "```python\nif x:\n    print('Hi, there. You, too!')\n\n# one, two, three, four\n```\n"


@pytest.mark.parametrize("step", [1, 2, 7, 1000])
@pytest.mark.parametrize("block", [BLOCK, "   " + BLOCK, BLOCK.replace("```", "~~~")])
def test_code_between_fences_is_a_clause_of_its_own(block: str, step: int) -> None:
    text = f"Here it is, as you asked:\n\n{block}Run it, and see. Good."
    said = " ".join(filter(None, map(spoken, cut(text, step))))
    assert said == "Here it is, as you asked: Run it, and see. Good."
    assert any(c.strip() == block.strip() for c in cut(text, step))


def test_code_whose_fence_is_never_closed_is_not_said() -> None:
    clauses = cut("Look:\n```\nOne thing, two things, three. Four.\nFive.\n")
    assert [spoken(c) for c in clauses] == ["Look:", ""]


def test_three_backticks_within_a_line_begin_no_block() -> None:
    assert cut("```x``` is it. Yes.") == ["```x``` is it. ", "Yes."]
    assert cut("Say ```x, y``` now. Yes.")[-1] == "Yes."


def test_nothing_gives_nothing() -> None:
    assert cut("") == []
    assert cut("  ") == ["  "]


WORDS = ("Sure", "Dr.", "3.5", "10:42", "1,000", "e.g.", "the", "and", "files", "好")
MARKS = (
    "```",
    "```\n",
    ". ",
    ", ",
    "? ",
    "!",
    "…",
    "—",
    " - ",
    "\n",
    "\n\n",
    "“",
    "”",
    "(",
    ")",
    "。",
    "\t",
)
pieces = st.sampled_from((*WORDS, *MARKS, *" " * 8))
texts = st.lists(st.one_of(pieces, st.text(max_size=4)), max_size=80).map("".join)


@settings(deadline=None)
@given(texts, st.integers(1, 20))
def test_all_clauses_together_are_the_text(text: str, step: int) -> None:
    assert "".join(cut(text, step)) == text


@settings(deadline=None)
@given(texts, st.integers(1, 20))
def test_no_clause_is_cut_inside_a_word_or_a_number(text: str, step: int) -> None:
    clauses = cut(text, step)
    for left, right in pairwise(clauses):
        assert not re.search(r"\w\Z", left) or not re.match(r"\w", right), (left, right)
        assert left


@settings(deadline=None)
@given(texts)
def test_every_clause_but_the_last_has_something_to_say(text: str) -> None:
    assert all(re.search(r"\w|```", clause) for clause in cut(text)[:-1])


@pytest.mark.parametrize(
    ("clause", "longer"), [("Yes. ", "well, "), ("“Yes.” ", "so — "), ("well, ", "and then ")]
)
def test_sentences_are_followed_by_longer_pauses_than_commas(clause: str, longer: str) -> None:
    assert pause_ms(clause) > pause_ms(longer)
