"""Written pieces beside said words."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vivavoce.engine.mouth.speaking import aligned, pieces, timed
from vivavoce.language.en.aloud.text import spoken


@pytest.mark.parametrize(
    ("text", "said", "until"),
    [
        ("I found three files.", "I found three files.", ["I", "found", "three", "files."]),
        ("It is 10:42, now.", "It is ten forty-two, now.", ["It", "is", "forty-two,", "now."]),
        ("**Bold** and `code`", "Bold and code", ["Bold", "and", "code"]),
        ("- apples\n- pears", "apples, pears", ["", "apples,", "apples,", "pears"]),
        (
            "on November 15, 2026 at home",
            "on November fifteenth, twenty twenty-six at home",
            ["on", "November", "fifteenth,", "twenty-six", "at", "home"],
        ),
        (
            "costs $3.5 million now",
            "costs three point five million dollars now",
            ["costs", "dollars", "dollars", "now"],
        ),
        ("the the the end", "the the the end", ["the", "the", "the", "end"]),
        ("naïve “café”", "naive cafe", ["naive", "cafe"]),
    ],
)
def test_a_piece_is_said_with_the_last_of_its_words(text: str, said: str, until: list[str]) -> None:
    words = said.split()
    counts = aligned(pieces(text), words)
    assert [words[count - 1] if count else "" for count in counts] == until


written = st.text(max_size=80) | st.lists(
    st.sampled_from(
        ["It", "is", "10:42,", "**now**", "$5.20", "a/b.py", "1.", "- x", "—", "\n", "the", "2026"]
    )
).map(" ".join)


@settings(deadline=None)
@given(written, st.data())
def test_pieces_join_to_the_text_and_times_never_go_back(text: str, data: st.DataObject) -> None:
    said = spoken(text).split()
    length = 24_000
    ends = sorted(
        data.draw(st.lists(st.integers(0, 30_000), min_size=len(said), max_size=len(said)))
    )
    told = timed(text, said, ends, length)
    assert "".join(piece for piece, _ in told) == text
    assert all(earlier <= later for (_, earlier), (_, later) in pairwise(told))
    assert not told or told[-1][1] == 1000
    assert not text or told


@settings(deadline=None)
@given(written, st.lists(st.text(max_size=8), max_size=20))
def test_words_that_fit_nowhere_do_no_harm(text: str, said: list[str]) -> None:
    counts = aligned(pieces(text), said)
    assert all(0 <= earlier <= later <= len(said) for earlier, later in pairwise([0, *counts]))
