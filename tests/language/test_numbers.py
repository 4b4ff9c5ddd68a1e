"""Numbers as they are said."""

from __future__ import annotations

import pytest

from vivavoce.language.en.numbers import counting, number, operator


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("7", 7),
        ("1,250", 1250),
        ("3.5", 3.5),
        ("Twelve", 12),
        ("twenty-one", 21),
        ("a hundred and five", 105),
        ("two thousand three hundred and forty", 2340),
        ("thousand", 1000),
    ],
)
def test_a_number_is_understood_in_digits_and_in_words(words: str, value: float) -> None:
    assert number(words) == value


@pytest.mark.parametrize("words", ["", "  ", "-", "the moon", "a", "12 apples", "9" * 13])
def test_what_is_no_number_is_not_taken_for_one(words: str) -> None:
    with pytest.raises(ValueError, match="no number"):
        number(words)


def test_operations_have_signs() -> None:
    assert [operator(word) for word in ("times", "Divided  by", "+")] == ["*", "/", "+"]
    with pytest.raises(ValueError, match="no operation"):
        operator("upon")


def test_counting_stops_at_a_hundred() -> None:
    assert counting("five") == "1, 2, 3, 4, 5"
    with pytest.raises(ValueError, match="too far"):
        counting("101")
