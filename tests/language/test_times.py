"""Spoken times, in a table: now is Wednesday, November 18, 2026, ten in the morning in New York."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vivavoce.language.en import numbers
from vivavoce.language.en.mentions import each_hour
from vivavoce.language.en.recurrence.reading import recurrence
from vivavoce.language.en.resolving import resolve
from vivavoce.language.en.telling import spoken
from vivavoce.language.en.times import lexicon
from vivavoce.language.en.understanding import understand

ZONE = "America/New_York"
SAID = ["before", "the", "year", "is", "finished", "at", "nine", "and", "half past", "ten", "every"]
SAID += ["day", "twenty", "twenty-nine", "until", "Friday", "tomorrow", "morning", "no", "walk"]
NOW = datetime(2026, 11, 18, 10, tzinfo=ZoneInfo(ZONE))
GYM = datetime(2026, 11, 18, 18, tzinfo=ZoneInfo(ZONE))

TIMES = {
    # From the specification.
    "this evening around 7": "11-18 19:00",
    "today 7:00 PM": "11-18 19:00",
    "6:00 AM": "11-19 06:00",
    "Friday 6:00 PM": "11-20 18:00",
    "tomorrow at 5pm": "11-19 17:00",
    # Hours.
    "at 7": "11-18 19:00",
    "7": "11-18 19:00",
    "at 11": "11-18 11:00",
    "7:30": "11-18 19:30",
    "five thirty": "11-18 17:30",
    "seven thirty pm": "11-18 19:30",
    "five pm": "11-18 17:00",
    "at 19:30": "11-18 19:30",
    "18:00 PM": "11-18 18:00",
    "at 0900": "11-19 09:00",
    "at 17h": "11-18 17:00",
    "half past eight": "11-18 20:30",
    "quarter to nine": "11-18 20:45",
    "quarter past 3 in the afternoon": "11-18 15:15",
    "ten to five": "11-18 16:50",
    "5 minutes to midnight": "11-18 23:55",
    "8 o'clock tonight": "11-18 20:00",
    "tonight around 8ish": "11-18 20:00",
    "12 am": "11-19 00:00",
    "midnight": "11-19 00:00",
    "noon": "11-18 12:00",
    "five in the morning": "11-19 05:00",
    "1900 hours": "11-18 19:00",
    "nineteen hundred hours": "11-18 19:00",
    "tomorrow at 0730 hours": "11-19 07:30",
    # Beside another time.
    "an hour before dinner": "11-18 18:00",
    "30 minutes before noon": "11-18 11:30",
    "two hours before breakfast": "11-19 06:00",
    "an hour after lunch tomorrow": "11-19 13:30",
    "ten minutes before 5": "11-18 16:50",
    # Parts of the day.
    "tonight": "11-18 20:00",
    "tonight at 9": "11-18 21:00",
    "in the morning": "11-19 09:00",
    "this afternoon": "11-18 15:00",
    "Saturday morning": "11-21 09:00",
    "Sunday evening": "11-22 19:00",
    "tomorrow morning": "11-19 09:00",
    "tomorrow morning at 8": "11-19 08:00",
    "early tomorrow morning": "11-19 07:00",
    "lunchtime tomorrow": "11-19 12:30",
    "after work": "11-18 17:30",
    "Thursday afternoon at 3": "11-19 15:00",
    "Thursday at 7 in the morning": "11-19 07:00",
    "Friday night at 11": "11-20 23:00",
    "Friday night at 1": "11-21 01:00",
    "at seven in the evening tomorrow": "11-19 19:00",
    "the morning of the 20th": "11-20 09:00",
    # Spans.
    "in 20 minutes": "11-18 10:20",
    "in half an hour": "11-18 10:30",
    "in an hour": "11-18 11:00",
    "in an hour and a half": "11-18 11:30",
    "in two and a half hours": "11-18 12:30",
    "in a couple of hours": "11-18 12:00",
    "two hours from now": "11-18 12:00",
    "now": "11-18 10:00",
    # Days.
    "tomorrow at five": "11-19 17:00",
    "Friday at 6": "11-20 18:00",
    "this Sat at 10": "11-21 10:00",
    "Monday at 9": "11-23 09:00",
    "on Monday at 9am": "11-23 09:00",
    "next Tuesday at noon": "11-24 12:00",
    "day after tomorrow at 3pm": "11-20 15:00",
    "three weeks from Monday at 9am": "12-14 09:00",
    "the 20th at 6": "11-20 18:00",
    "20th of November 6pm": "11-20 18:00",
    "next Friday the 27th at 6": "11-27 18:00",
    "Friday, November 20, 2026 at 6:00 PM": "11-20 18:00",
    "the 3rd of December at 10am": "12-03 10:00",
    "December 24 at noon": "12-24 12:00",
    "New Year's Eve at 10pm": "12-31 22:00",
    "on the thirty first at noon": "12-31 12:00",
    "12/24/2026 6pm": "12-24 18:00",
    "midnight on Friday": "11-21 00:00",
    # As models write them.
    "2026-12-01T15:00:00": "12-01 15:00",
    "2026-12-01T15:00:00Z": "12-01 10:00",
    "2026-12-01 15:00": "12-01 15:00",
    # Recurring: the first time.
    "tomorrow mornin', quarter of six": "11-19 05:45",
    "every weekday at 6am": "11-19 06:00",
    "every morning at 6": "11-19 06:00",
    "daily at 8": "11-19 08:00",
    "Tuesdays at 7pm": "11-24 19:00",
    "every other Friday at noon": "11-20 12:00",
    "first Monday of every month at 10": "12-07 10:00",
}
DAYS = {
    "tomorrow": "2026-11-19",
    "next Monday": "2026-11-23",
    "this Friday": "2026-11-20",
    "next Wednesday": "2026-11-25",
    "this weekend": "2026-11-21",
    "the day after tomorrow": "2026-11-20",
    "a week from Friday": "2026-11-27",
    "next week": "2026-11-25",
    "in two weeks": "2026-12-02",
    "in ten days": "2026-11-28",
    "in three months": "2027-02-18",
    "2 months": "2027-01-18",
    "next month": "2026-12-18",
    "next year": "2027-11-18",
    "on the 15th of June": "2027-06-15",
    "June 15": "2027-06-15",
    "on the 25th": "2026-11-25",
    "31st": "2026-12-31",
    "Feb 29": "2028-02-29",
    "in December": "2026-12-01",
    "this December": "2026-12-01",
    "next November": "2027-11-01",
    "three days before Christmas": "2026-12-22",
    "the day after Christmas": "2026-12-26",
    "by Christmas": "2026-12-25",
    "end of the week": "2026-11-22",
    "end of the month": "2026-11-30",
    "end of next month": "2026-12-31",
    "end of June": "2027-06-30",
    "by the end of the year": "2026-12-31",
    "2026-12-01": "2026-12-01",
}
UNCLEAR = [
    "soon",
    "later",
    "whenever",
    "when I get home",
    "blah",
    "",
    "twice",
    "in a few minutes",
    "in 5",
    "9 to 5",
    "tomorrow at 5 or 6",
    "between 3 and 4",
    "February 30",
    "1762000000",
    "99999999999999999999",
    "in 99999999 years",
    "this November",
    "a day before",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59-14:00",
    "December 31 9999 at 11 pm",
    "hourly",
    "three times a week",
    "25:00",
    "early next week",
    "' OR 1=1 --",
    "日曜日",
]


def local(words: str, base: datetime | None = None) -> str:
    found = understand(words, now=NOW, time_zone=ZONE, base=base)
    assert found.words == words
    assert found.at is not None, found.problem
    assert found.at.utcoffset() is not None
    return f"{found.at.astimezone(ZoneInfo(ZONE)):%Y-%m-%d %H:%M}"


@pytest.mark.parametrize(("words", "meant"), TIMES.items(), ids=TIMES)
def test_a_time_is_understood_where_the_user_lives(words: str, meant: str) -> None:
    assert local(words) == f"2026-{meant}"


@pytest.mark.parametrize(("words", "meant"), DAYS.items(), ids=DAYS)
def test_a_day_without_an_hour_is_nine_in_the_morning_and_says_so(words: str, meant: str) -> None:
    assert local(words) == f"{meant} 09:00"
    assert understand(words, now=NOW, time_zone=ZONE).assumed


@pytest.mark.parametrize("words", UNCLEAR)
def test_what_is_not_understood_becomes_a_question(words: str) -> None:
    found = understand(words, now=NOW, time_zone=ZONE)
    assert found.at is None
    assert found.problem
    assert found.question


@pytest.mark.parametrize("words", ["yesterday", "yesterday at 5", "last Friday", "this morning"])
def test_a_time_that_has_passed_is_refused_in_words(words: str) -> None:
    found = understand(words, now=NOW, time_zone=ZONE)
    assert found.at is None
    assert "past" in found.problem


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        ("next Friday", "this Friday, November 20, or Friday, November 27"),
        ("Friday the 21st at noon", "November 21 is a Saturday"),
        ("Monday and Wednesday", "Which of those days"),
        ("today", "What time today"),
        ("at the same time", "What time"),
    ],
)
def test_what_can_be_two_things_is_asked(words: str, asked: str) -> None:
    found = understand(words, now=NOW, time_zone=ZONE)
    assert found.at is None
    assert asked in (found.question or "")


def test_the_same_time_is_the_hour_of_what_is_moved() -> None:
    assert local("Friday at the same time", GYM) == "2026-11-20 18:00"
    assert local("same time tomorrow", GYM) == "2026-11-19 18:00"
    assert local("Saturday", GYM) == "2026-11-21 18:00"
    assert local("Saturday morning", GYM) == "2026-11-21 09:00"


def test_in_1900_hours_is_no_time_of_day() -> None:
    assert local("in 1900 hours") == "2027-02-05 14:00"


@pytest.mark.parametrize(
    ("words", "meant"),
    {
        "an hour later": "18 19:00",
        "half an hour later": "18 18:30",
        "1.5 hours later": "18 19:30",
        "by 30 minutes": "18 18:30",
        "push it back an hour": "18 19:00",
        "back by two hours": "18 20:00",
        "an hour earlier": "18 17:00",
        "a day later": "19 18:00",
        "a week later": "25 18:00",
        "the next day": "19 18:00",
        "the day after": "19 18:00",
        "in an hour": "18 11:00",
        "an hour from now": "18 11:00",
        "the same day at 8": "18 20:00",
        "at 8 instead": "18 20:00",
    }.items(),
)
def test_later_and_earlier_are_than_what_is_moved(words: str, meant: str) -> None:
    assert local(words, GYM) == f"2026-11-{meant}"


def test_a_day_later_is_the_same_hour_when_the_clocks_change() -> None:
    base = datetime(2026, 3, 7, 18, tzinfo=ZoneInfo(ZONE))
    found = understand("a day later", now=base, time_zone=ZONE, base=base).at
    assert found == datetime(2026, 3, 8, 18, tzinfo=ZoneInfo(ZONE))


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        ("forward an hour", "earlier or later"),
        ("ten hours earlier", "has passed"),
        ("later today", "What time today"),
        ("a few hours later", "What day and time"),
    ],
)
def test_a_move_that_is_not_clear_is_asked(words: str, asked: str) -> None:
    found = understand(words, now=NOW, time_zone=ZONE, base=GYM)
    assert found.at is None
    assert asked in (found.question or "")


def test_an_hour_alone_keeps_the_day_of_what_is_moved_while_that_is_to_come() -> None:
    friday = datetime(2026, 11, 20, 18, tzinfo=ZoneInfo(ZONE))
    assert local("8 pm", friday) == "2026-11-20 20:00"
    assert local("at 8:30", friday) == "2026-11-20 20:30"
    assert local("in the morning", friday) == "2026-11-20 09:00"
    assert local("9 am", GYM) == "2026-11-19 09:00"
    assert local("8 pm", GYM.replace(day=2)) == "2026-11-18 20:00"


def test_a_rule_that_begins_where_the_clocks_jump_keeps_its_hour() -> None:
    before = datetime(2026, 3, 7, 12, tzinfo=ZoneInfo(ZONE))
    found = understand("every day at 2:30 am", now=before, time_zone=ZONE)
    assert found.at is not None
    assert f"{found.at.astimezone(ZoneInfo(ZONE)):%d %H:%M}" == "08 03:30"
    assert "BYHOUR=2" in (found.rule or "")


def test_a_later_hour_decides_which_seven_is_meant() -> None:
    evening = NOW.replace(hour=21)
    found = understand("at 7", now=evening, time_zone=ZONE).at
    assert found == datetime(2026, 11, 19, 7, tzinfo=ZoneInfo(ZONE))


def test_the_same_words_mean_other_instants_elsewhere() -> None:
    tokyo = understand("tomorrow at noon", now=NOW, time_zone="Asia/Tokyo").at
    assert tokyo == datetime(2026, 11, 20, 12, tzinfo=ZoneInfo("Asia/Tokyo"))


WORDS = st.sampled_from(
    [
        *lexicon.PARTS,
        *lexicon.DAILY,
        *lexicon.FEASTS,
        *lexicon.SEASONS,
        *lexicon.PREPOSITIONS,
        *lexicon.HESITATIONS,
        *lexicon.WEEKDAYS,
        *lexicon.MONTHS,
        *lexicon.UNITS,
        *numbers.CARDINALS,
        *numbers.ORDINALS,
        *[
            "every",
            "same time",
            "no",
            "not",
            "half",
            "quarter",
            "noon",
            "midnight",
            "tonight",
            "tomorrow",
            "today",
            "weekend",
            "fortnight",
            "the day",
            "the end of",
            "their time",
            "Tokyo time",
            "later",
            "earlier",
            "before",
            "after",
            "1900",
            "hundred",
            "other",
            "until",
            "for",
            "from",
            "past",
            "times",
            "daily",
            "last",
            "next",
            "7",
            "31",
            "19:30",
            "am",
            "pm",
            "0",
            "2027",
            "-1",
        ],
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(WORDS, max_size=7).map(" ".join) | st.text(max_size=40))
def test_whatever_the_words_there_is_an_instant_to_come_or_a_question(words: str) -> None:
    found = understand(words, now=NOW, time_zone=ZONE, base=GYM)
    assert (found.at is None) == bool(found.question)
    assert found.at is None or found.at >= NOW
    how_often = recurrence(words, now=NOW, time_zone=ZONE)
    assert not (how_often.rule and how_often.question)


def test_long_words_are_not_read() -> None:
    assert understand("tomorrow " * 1000, now=NOW, time_zone=ZONE).at is None


def test_an_hour_that_the_clocks_jump_over_is_an_hour_later() -> None:
    before = datetime(2026, 3, 7, 12, tzinfo=ZoneInfo(ZONE))
    found = understand("tomorrow at 2:30 am", now=before, time_zone=ZONE).at
    assert found is not None
    assert f"{found.astimezone(ZoneInfo(ZONE)):%d %H:%M}" == "08 03:30"


def test_of_an_hour_that_comes_twice_the_first_is_meant() -> None:
    before = datetime(2026, 10, 31, 12, tzinfo=ZoneInfo(ZONE))
    found = understand("tomorrow at 1:30 am", now=before, time_zone=ZONE).at
    assert found is not None
    assert f"{found:%H:%M}" == "05:30"


def test_hours_from_now_are_elapsed_hours_when_the_clocks_change() -> None:
    before = datetime(2026, 3, 8, 1, tzinfo=ZoneInfo(ZONE))
    found = understand("in two hours", now=before, time_zone=ZONE).at
    assert found is not None
    assert f"{found.astimezone(ZoneInfo(ZONE)):%H:%M}" == "04:00"


def test_instants_are_spoken_as_people_say_them() -> None:
    def said(*at: int) -> str:
        return spoken(datetime(*at, tzinfo=ZoneInfo(ZONE)), now=NOW, time_zone=ZONE)  # type: ignore[arg-type,misc]

    assert said(2026, 11, 18, 19) == "today at 7 PM"
    assert said(2026, 11, 19, 6, 30) == "tomorrow at 6:30 AM"
    assert said(2026, 11, 20, 18) == "Friday, November 20 at 6 PM"
    assert said(2027, 2, 18, 0) == "Thursday, February 18, 2027 at 12 AM"


@pytest.mark.parametrize(
    "words",
    ["this coming Wednesday at nine am", "the coming Wednesday, nine am", "Wednesday coming, 9 am"],
)
def test_the_coming_day_is_never_one_that_has_passed(words: str) -> None:
    assert resolve(words, now=NOW).at == datetime(2026, 11, 25, 9, tzinfo=NOW.tzinfo)


@given(words=st.lists(st.sampled_from(SAID), max_size=6).map(" ".join))
@settings(max_examples=200, deadline=None)
def test_whatever_the_words_each_hour_is_at_least_once(words: str) -> None:
    assert all(isinstance(one, str) for one in each_hour(words))
    assert each_hour(words)
