"""Stretches of time, as people ask about them."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from vivavoce.language.en.ranges import range_of, scope_of, unscoped

HERE = ZoneInfo("Europe/London")
NOW = datetime(2026, 11, 18, 10, tzinfo=HERE)  # a Wednesday


@pytest.mark.parametrize(
    ("words", "start", "end", "said"),
    [
        ("today", "18 00", "19 00", "today"),
        ("tomorrow", "19 00", "20 00", "tomorrow, Thursday"),
        ("for the third", "03 00", "04 00", "on Thursday the third of December"),
        ("on Thursday afternoon", "19 12", "19 18", "tomorrow, Thursday, in the afternoon"),
        ("this evening", "18 16", "19 00", "this evening"),
        ("tonight", "18 18", "19 06", "tonight"),
        (
            "at three on Monday",
            "23 15",
            "23 16",
            "on Monday, the twenty-third, at three in the afternoon",
        ),
        ("at the weekend", "21 00", "23 00", "at the weekend"),
        ("next weekend", "28 00", "30 00", "next weekend"),
        ("this week", "18 00", "23 00", "this week"),
        ("the rest of the week", "18 00", "23 00", "this week"),
        ("next week", "23 00", "30 00", "next week"),
        ("in the next few days", "18 00", "22 00", "until Saturday, the twenty-first"),
        ("this month", "18 00", "01 00", "this month"),
        ("on Friday", "20 00", "21 00", "on Friday, the twentieth"),
    ],
)
def test_a_stretch_of_time_has_a_beginning_and_an_end(
    words: str, start: str, end: str, said: str
) -> None:
    found = range_of(words, now=NOW, time_zone="Europe/London")
    assert found is not None
    shown = (f"{found.start.astimezone(HERE):%d %H}", f"{found.end.astimezone(HERE):%d %H}")
    assert (*shown, found.words) == (start, end, said)


@pytest.mark.parametrize("words", ["", "the blue one", "x" * 500, "when the cows come home"])
def test_what_is_no_time_is_none(words: str) -> None:
    assert range_of(words, now=NOW, time_zone="Europe/London") is None


@pytest.mark.parametrize(
    ("words", "scope", "rest"),
    [
        ("from now on at eight", "series", "at eight"),
        ("at eight, just this once", "this_time", "at eight"),
        ("always on Fridays", "series", "on Fridays"),
        ("Friday at noon", None, "Friday at noon"),
    ],
)
def test_one_time_or_all_of_them(words: str, scope: str | None, rest: str) -> None:
    assert (scope_of(words), unscoped(words)) == (scope, rest)
