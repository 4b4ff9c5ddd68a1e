"""Stretches of time, as people ask about them."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vivavoce.language.en.ranges import fits, range_of, scope_of, unscoped, window
from vivavoce.language.en.times.reading import find

HERE = ZoneInfo("Europe/London")
NOW = datetime(2026, 11, 18, 10, tzinfo=HERE)  # a Wednesday
TUESDAY = datetime(2026, 11, 17, 10, tzinfo=HERE)


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


@pytest.mark.parametrize(
    ("words", "start", "end"),
    [
        ("what have I got on tomorrow", "11-18 00", "11-19 00"),
        ("what's on today", "11-17 00", "11-18 00"),
        ("what have I got on this week", "11-17 00", "11-23 00"),
        ("anything next week?", "11-23 00", "11-30 00"),
        ("how does my weekend look", "11-21 00", "11-23 00"),
        ("read me Friday morning", "11-20 00", "11-20 12"),
        ("am I free tonight", "11-17 18", "11-18 06"),
        ("this afternoon", "11-17 12", "11-17 18"),
        ("what's on Friday of next week", "11-27 00", "11-28 00"),
        ("what's on the twenty-third", "11-23 00", "11-24 00"),
        ("Christmas Eve", "12-24 00", "12-25 00"),
        ("what's coming up in December", "12-01 00", "01-01 00"),
        ("the rest of this month", "11-17 00", "12-01 00"),
        ("over the next three days", "11-17 00", "11-21 00"),
        ("tomorrow and Thursday", "11-18 00", "11-20 00"),
    ],
)
def test_a_question_for_what_is_on_is_about_a_stretch_of_time(
    words: str, start: str, end: str
) -> None:
    found = window(words, now=TUESDAY)
    assert found is not None
    assert (f"{found.start:%m-%d %H}", f"{found.end:%m-%d %H}") == (start, end)


@pytest.mark.parametrize("words", ["what's on my list", "delete the dentist", "", "soon"])
def test_words_without_a_time_are_about_no_stretch_of_it(words: str) -> None:
    assert window(words, now=TUESDAY) is None


@pytest.mark.parametrize(
    ("words", "at", "meant"),
    [
        ("my three o'clock", "11-20 15:00", True),
        ("my three o'clock", "11-20 14:00", False),
        ("the Friday one", "11-20 14:00", True),
        ("the Friday one", "11-27 14:00", True),
        ("the Friday one", "11-21 14:00", False),
        ("tomorrow's meeting", "11-18 09:00", True),
        ("tomorrow's meeting", "11-19 09:00", False),
        ("the one on Friday morning", "11-20 14:00", False),
        ("the one on Friday morning", "11-20 09:30", True),
        ("the one at half nine tomorrow", "11-18 09:30", True),
        ("the evening one", "11-18 19:00", True),
        ("the one on the twentieth", "11-20 19:00", True),
        ("the 7 pm one", "11-20 07:00", False),
        ("the dentist", "11-20 07:00", False),
    ],
)
def test_one_of_several_things_is_meant_by_when_it_is(words: str, at: str, meant: bool) -> None:
    moment = datetime.fromisoformat(f"2026-{at}").replace(tzinfo=HERE)
    assert fits(words, moment, now=TUESDAY) is meant


@settings(max_examples=200, deadline=None)
@given(
    st.text(max_size=40) | st.sampled_from(["next week Friday", "the end of 9999", "in 9999 years"])
)
def test_whatever_is_said_a_window_opens_before_it_closes(words: str) -> None:
    found = window(words, now=TUESDAY)
    assert found is None or found.start < found.end
    assert fits(find(words), TUESDAY, now=TUESDAY) in (True, False)
