"""The times of tasks that recur: moved once, begun in a gap of the clock, or written to harm."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest

from vivavoce.language.en.recurrence.rules import at_clock, instants, next_occurrence
from vivavoce.language.en.telling import rule_words
from vivavoce.language.en.understanding import understand
from vivavoce.runtime.people.due import due_on, next_due
from vivavoce.wire.records.plans import Todo

ZONE = "America/New_York"
HERE = ZoneInfo(ZONE)
MONDAY = datetime(2026, 11, 16, 18, tzinfo=HERE)


def gym(rule: str, at: datetime = MONDAY) -> Todo:
    return Todo(
        id="t",
        user_id="u",
        title="Gym",
        trigger_type="time",
        created_at=MONDAY,
        updated_at=MONDAY,
        scheduled_at=at,
        recurrence_rule=rule,
        time_zone=ZONE,
    )


def moved(todo: Todo, to: datetime) -> Todo:
    was = todo.scheduled_at
    return replace(todo, scheduled_at=to, recurs_from=was, moved_from=was)


def days(todo: Todo, count: int = 36) -> list[str]:
    every = (MONDAY.date() + timedelta(days=n) for n in range(count))
    return [f"{day:%m-%d}" for day in every if due_on(todo, day, ZONE)]


@pytest.mark.parametrize(
    ("rule", "by", "found"),
    [
        ("FREQ=WEEKLY;INTERVAL=2;BYDAY=MO", 8, ["11-24", "11-30", "12-14"]),
        ("FREQ=DAILY;INTERVAL=3;COUNT=4", 1, ["11-17", "11-19", "11-22", "11-25"]),
        ("FREQ=DAILY;COUNT=5", 2, ["11-17", "11-18", "11-19", "11-20"]),
        ("FREQ=DAILY;COUNT=3", 5, ["11-17", "11-18", "11-21"]),
        ("FREQ=WEEKLY", 1, ["11-17", "11-23", "11-30", "12-07", "12-14", "12-21"]),
    ],
)
def test_moving_one_time_leaves_the_others_where_they_are(
    rule: str, by: int, found: list[str]
) -> None:
    assert days(moved(gym(rule), MONDAY + timedelta(days=by))) == found


def test_a_moved_time_is_due_at_its_new_hour_and_the_others_at_theirs() -> None:
    todo = moved(gym("FREQ=DAILY"), MONDAY + timedelta(days=2, hours=1))
    assert next_due(todo, MONDAY - timedelta(hours=2), ZONE) == MONDAY + timedelta(days=1)
    assert due_on(todo, MONDAY.date(), ZONE) is None
    later = replace(todo, scheduled_at=None)  # put off, with no other time yet
    assert days(later, 4) == ["11-17", "11-18", "11-19"]


def test_the_next_time_of_a_task_is_to_come_until_its_rule_has_ended() -> None:
    todo = gym("FREQ=DAILY;COUNT=3")
    assert next_due(todo, MONDAY - timedelta(days=9), ZONE) == MONDAY
    assert next_due(todo, MONDAY, ZONE) == MONDAY + timedelta(days=1)
    assert next_due(todo, MONDAY + timedelta(days=9), ZONE) == MONDAY
    assert next_due(replace(todo, recurrence_rule=None), MONDAY, ZONE) == MONDAY


def test_a_rule_is_counted_by_the_clock_of_its_task_wherever_the_user_is() -> None:
    todo = gym("FREQ=WEEKLY;BYDAY=MO")  # six in the evening there is Tuesday in Tokyo
    assert due_on(todo, date(2026, 11, 24), "Asia/Tokyo") == MONDAY + timedelta(days=7)
    assert due_on(todo, date(2026, 11, 23), "Asia/Tokyo") is None


@pytest.mark.parametrize(
    ("words", "first", "second"),
    [
        ("every other Monday at 9", "11-23", "12-07"),
        ("every 3 months on the 5th at 9 am", "12-05", "03-05"),
        ("every other day at 9", "11-19", "11-21"),
    ],
)
def test_every_other_begins_with_the_first_that_comes(words: str, first: str, second: str) -> None:
    now = datetime(2026, 11, 18, 10, tzinfo=HERE)  # a Wednesday
    found = understand(words, now=now, time_zone=ZONE)
    assert found.at is not None
    assert found.rule is not None
    following = next_occurrence(found.rule, found.at, found.at, ZONE)
    assert following is not None
    assert [f"{at.astimezone(HERE):%m-%d}" for at in (found.at, following)] == [first, second]


def test_a_daily_hour_that_the_clocks_jump_over_is_back_the_next_day() -> None:
    now = datetime(2026, 3, 7, 12, tzinfo=HERE)
    found = understand("every day at 2:30 am", now=now, time_zone=ZONE)
    assert found.at == datetime(2026, 3, 8, 3, 30, tzinfo=HERE)
    assert found.rule is not None
    following = next_occurrence(found.rule, found.at, found.at, ZONE)
    assert following == datetime(2026, 3, 9, 2, 30, tzinfo=HERE)
    assert at_clock("FREQ=DAILY", time(2, 30)) == "FREQ=DAILY;BYHOUR=2;BYMINUTE=30"


HOSTILE = [
    "FREQ=SECONDLY",
    "FREQ=MINUTELY;BYHOUR=6",
    "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30",
    "FREQ=MONTHLY;BYMONTH=2",  # from a 31st it has no day
    "FREQ=MONTHLY;BYDAY=MO;BYSETPOS=6",
    "FREQ=MONTHLY;BYDAY=-5MO,SU",
    "no rule",
    "=;=",
    "",
]


@pytest.mark.parametrize("rule", HOSTILE)
def test_a_stored_rule_that_we_would_not_keep_is_not_counted(rule: str) -> None:
    old = datetime(1990, 1, 31, 6, tzinfo=UTC)
    todo = gym(rule, old)
    assert list(instants(rule, old, MONDAY, MONDAY + timedelta(days=9), ZONE)) == []
    assert next_due(todo, MONDAY, ZONE) == old
    assert not due_on(todo, MONDAY.date(), ZONE)


@pytest.mark.parametrize(
    "rule", ["FREQ=DAILY", "FREQ=WEEKLY;INTERVAL=2", "FREQ=MONTHLY;BYMONTHDAY=-1", "FREQ=YEARLY"]
)
def test_no_rule_is_counted_from_its_beginning(rule: str) -> None:
    old = datetime(1971, 11, 18, 6, tzinfo=UTC)
    until = MONDAY + timedelta(days=400)
    found = list(instants(rule, old, MONDAY, until, ZONE))
    assert 1 <= len(found) < 420
    assert found[0] > MONDAY - timedelta(days=800)
    todo = replace(gym(rule, old), time_zone="../../etc/passwd")
    assert (next_due(todo, MONDAY, ZONE) or old) > MONDAY
    for never in (datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)):
        todo = gym(rule, never)
        assert not due_on(todo, MONDAY.date(), ZONE)
        assert next_due(todo, MONDAY, ZONE) == todo.scheduled_at


def test_what_a_fast_count_finds_is_what_a_slow_one_does() -> None:
    start = datetime(2024, 1, 31, 6, 30, tzinfo=HERE)
    until = MONDAY + timedelta(days=800)
    for rule in (
        "FREQ=DAILY;INTERVAL=3",
        "FREQ=WEEKLY;INTERVAL=3;BYDAY=MO,FR",
        "FREQ=MONTHLY",
        "FREQ=MONTHLY;INTERVAL=5;BYMONTHDAY=31",
        "FREQ=MONTHLY;BYDAY=-1FR",
        "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29",
        "FREQ=YEARLY;INTERVAL=2",
    ):
        slow = [at for at in instants(rule, start, start, until, ZONE) if at > MONDAY]
        fast = [at for at in instants(rule, start, MONDAY, until, ZONE) if at > MONDAY]
        assert slow == fast, rule
        assert slow or "29" in rule


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("FREQ=DAILY", "every day"),
        ("FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR", "every weekday"),
        ("FREQ=WEEKLY;BYDAY=MO,WE,FR", "every Monday, Wednesday and Friday"),
        ("FREQ=WEEKLY;INTERVAL=2;BYDAY=MO", "every 2 weeks on Monday"),
        ("FREQ=MONTHLY;BYDAY=1MO,-1MO", "every month on the first Monday and the last Monday"),
        ("FREQ=MONTHLY;BYDAY=FR;BYSETPOS=-2", "every month on the second to last Friday"),
        ("FREQ=MONTHLY;BYMONTHDAY=-1", "every month on the last day"),
        ("FREQ=MONTHLY;BYMONTHDAY=13;BYDAY=FR", "every month on the 13th if a Friday"),
        ("FREQ=YEARLY;BYMONTH=12;BYMONTHDAY=25", "every year on the 25th of December"),
        ("FREQ=DAILY;COUNT=5;BYHOUR=6", "every day at 6 AM, 5 times"),
        ("FREQ=SECONDLY", "again and again"),
        ("FREQ=DAILY;UNTIL=20261201T235959", "every day, until December 1, 2026"),
    ],
)
def test_a_rule_is_told_as_it_was_understood(rule: str, words: str) -> None:
    assert rule_words(rule) == words
