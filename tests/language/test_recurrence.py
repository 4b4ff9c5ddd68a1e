"""How often, in a table; and the instants of rules, across the days when clocks change."""

from __future__ import annotations

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest

from vivavoce.language.en.recurrence.reading import recurrence
from vivavoce.language.en.recurrence.rules import next_occurrence
from vivavoce.runtime.people.due import due_on
from vivavoce.wire.records.plans import Todo

ZONE = "America/New_York"
HERE = ZoneInfo(ZONE)
NOW = datetime(2026, 11, 18, 10, tzinfo=HERE)
WORKDAYS = "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"

RULES = {
    "weekdays only": WORKDAYS,
    "every weekday at 6am": WORKDAYS,
    "Monday through Friday": WORKDAYS,
    "daily except weekends": WORKDAYS,
    "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR": WORKDAYS,
    "RRULE:FREQ=WEEKLY;INTERVAL=1;BYDAY=MO": "FREQ=WEEKLY;BYDAY=MO",
    "freq=daily;count=5": "FREQ=DAILY;COUNT=5",
    "FREQ=DAILY;UNTIL=20261201T120000Z": "FREQ=DAILY;UNTIL=20261201T070000",
    "every day": "FREQ=DAILY",
    "all the days except Monday": "FREQ=WEEKLY;BYDAY=TU,WE,TH,FR,SA,SU",
    "on first date of each month": "FREQ=MONTHLY;BYMONTHDAY=1",
    "daily": "FREQ=DAILY",
    "every single day": "FREQ=DAILY",
    "every blessed day": "FREQ=DAILY",
    "every flippin' morning at six": "FREQ=DAILY",
    "every last Monday": "FREQ=MONTHLY;BYDAY=-1MO",
    "every dreary Monday": "FREQ=WEEKLY;BYDAY=MO",
    "every calendar month": "FREQ=MONTHLY",
    "every morning": "FREQ=DAILY",
    "every night at 10": "FREQ=DAILY",
    "every other day": "FREQ=DAILY;INTERVAL=2",
    "every three days": "FREQ=DAILY;INTERVAL=3",
    "weekly": "FREQ=WEEKLY",
    "once a week": "FREQ=WEEKLY",
    "once in two weeks": "FREQ=WEEKLY;INTERVAL=2",
    "once every three months": "FREQ=MONTHLY;INTERVAL=3",
    "every other week": "FREQ=WEEKLY;INTERVAL=2",
    "every two weeks": "FREQ=WEEKLY;INTERVAL=2",
    "every second week": "FREQ=WEEKLY;INTERVAL=2",
    "biweekly": "FREQ=WEEKLY;INTERVAL=2",
    "weekends": "FREQ=WEEKLY;BYDAY=SA,SU",
    "every Monday": "FREQ=WEEKLY;BYDAY=MO",
    "Mondays": "FREQ=WEEKLY;BYDAY=MO",
    "every Sunday evening": "FREQ=WEEKLY;BYDAY=SU",
    "every week on Tuesday": "FREQ=WEEKLY;BYDAY=TU",
    "every Tuesday and Thursday": "FREQ=WEEKLY;BYDAY=TU,TH",
    "Mondays, Wednesdays and Fridays": "FREQ=WEEKLY;BYDAY=MO,WE,FR",
    "every other Friday": "FREQ=WEEKLY;INTERVAL=2;BYDAY=FR",
    "monthly": "FREQ=MONTHLY",
    "every month": "FREQ=MONTHLY",
    "quarterly": "FREQ=MONTHLY;INTERVAL=3",
    "bi-weekly": "FREQ=WEEKLY;INTERVAL=2",
    "every first and third Monday": "FREQ=MONTHLY;BYDAY=1MO,3MO",
    "the first and the last Friday of every month": "FREQ=MONTHLY;BYDAY=1FR,-1FR",
    "every 1st and 15th of the month": "FREQ=MONTHLY;BYMONTHDAY=1,15",
    "every weekday at 7 starting next Monday": WORKDAYS,
    "on weekends around noon": "FREQ=WEEKLY;BYDAY=SA,SU",
    "on the first of every month": "FREQ=MONTHLY;BYMONTHDAY=1",
    "on the 15th of each month": "FREQ=MONTHLY;BYMONTHDAY=15",
    "on the last day of every month": "FREQ=MONTHLY;BYMONTHDAY=-1",
    "every first Monday of the month": "FREQ=MONTHLY;BYDAY=1MO",
    "the last Friday of every month": "FREQ=MONTHLY;BYDAY=-1FR",
    "yearly": "FREQ=YEARLY",
    "every year on December 25": "FREQ=YEARLY;BYMONTH=12;BYMONTHDAY=25",
    "every day for two weeks": "FREQ=DAILY;UNTIL=20261202T235959",
    "every day until December 1": "FREQ=DAILY;UNTIL=20261201T235959",
}


@pytest.mark.parametrize(("words", "rule"), RULES.items(), ids=RULES)
def test_words_become_a_rule(words: str, rule: str) -> None:
    found = recurrence(words, now=NOW, time_zone=ZONE)
    assert (found.rule, found.question, found.words) == (rule, None, words)


@pytest.mark.parametrize("words", ["", "once", "Once.", "one time", "never", "none"])
def test_once_is_no_rule_and_no_question(words: str) -> None:
    found = recurrence(words, now=NOW, time_zone=ZONE)
    assert (found.rule, found.question) == (None, None)


@pytest.mark.parametrize(
    "words",
    [
        "twice",
        "three times a week",
        "now and then",
        "every 15 minutes",
        "FREQ=SECONDLY",
        "FREQ=HOURLY;INTERVAL=2",
        "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30;UNTIL=99991231",
        "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30;COUNT=3",
        "FREQ=DAILY;COUNT=999999",
        "FREQ=DAILY;INTERVAL=0",
        "FREQ=DAILY;FREQ=WEEKLY",
        "FREQ=WEEKLY;BYDAY=XX",
        "FREQ=DAILY;UNTIL=never",
        "FREQ=DAILY;EXRULE=1",
        "every " * 500,
        "every day this week",
        "every day next week at 8",
        "every Saturday in December",
        "every third weekend",
        "every day when it rains",
        "bi-monthly",
        "FREQ=MONTHLY;BYDAY=MO;BYSETPOS=6",
        "FREQ=MONTHLY;BYDAY=1MO;BYMONTHDAY=31",
        "FREQ=YEARLY;BYDAY=60MO",
        "FREQ=MONTHLY;BYMONTHDAY=1" + ",1" * 500,
        "FREQ=DAILY;COUNT=0000001000000",
        "FREQ=DAILY;BYHOUR=24",
    ],
)
def test_what_is_no_rule_that_we_keep_is_asked(words: str) -> None:
    found = recurrence(words, now=NOW, time_zone=ZONE)
    assert found.rule is None
    assert found.question


def at(day: int, hour: int, month: int = 11) -> datetime:
    return datetime(2026, month, day, hour, tzinfo=HERE)


def test_the_next_occurrence_keeps_the_clock_when_the_clocks_change() -> None:
    for month, day in ((3, 7), (10, 31)):
        start = at(day, 6, month)
        following = next_occurrence("FREQ=DAILY", start, start, ZONE)
        assert following is not None
        assert following.tzinfo is UTC
        assert following.astimezone(HERE).hour == 6


def test_the_next_occurrence_is_none_when_the_rule_has_ended() -> None:
    start = at(18, 18)
    assert next_occurrence("FREQ=DAILY;COUNT=1", start, start, ZONE) is None
    assert next_occurrence("FREQ=DAILY;UNTIL=20261119T000000", start, start, ZONE) is None


def todo(rule: str | None, when: datetime | None) -> Todo:
    return Todo(
        id="t",
        user_id="u",
        title="Gym",
        trigger_type="time",
        created_at=NOW,
        updated_at=NOW,
        scheduled_at=when,
        recurrence_rule=rule,
        time_zone=ZONE,
    )


def test_a_task_occurs_on_the_days_of_its_rule() -> None:
    gym = todo("FREQ=WEEKLY;INTERVAL=2;BYDAY=WE", at(18, 18))
    days = [d for d in range(17, 31) if due_on(gym, date(2026, 11, d), ZONE)]
    assert days == [18]
    assert due_on(gym, date(2026, 12, 2), ZONE)


def test_a_task_occurs_on_the_day_the_user_has_not_the_one_of_utc() -> None:
    late = todo(None, at(18, 22))
    assert due_on(late, date(2026, 11, 18), ZONE)
    assert not due_on(late, date(2026, 11, 19), ZONE)
    assert due_on(late, date(2026, 11, 19), "Asia/Tokyo")


def test_a_moved_recurring_task_occurs_where_it_was_moved_and_then_by_its_rule() -> None:
    rule = "FREQ=WEEKLY;BYHOUR=18;BYMINUTE=0;BYDAY=WE"  # as rows from before `recurs_from` have it
    moved = todo(rule, at(20, 7))
    assert due_on(moved, date(2026, 11, 20), ZONE)
    assert due_on(moved, date(2026, 11, 25), ZONE)
    following = next_occurrence(rule, at(20, 7), at(20, 7), ZONE)
    assert following == at(25, 18)


def test_a_recurring_task_without_a_time_occurs_by_its_rule() -> None:
    assert due_on(todo("FREQ=WEEKLY;BYDAY=FR", None), date(2026, 11, 20), ZONE)
