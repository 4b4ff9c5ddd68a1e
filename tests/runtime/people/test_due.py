"""What is due when: by the clock that hangs where the user lives, through its changes."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from vivavoce.runtime.people.due import comes_due, fell_due, still_due
from vivavoce.testing.fakes import ManualClock
from vivavoce.wire.records.plans import Todo, TodoStatus

BERLIN, LONDON, SYDNEY = "Europe/Berlin", "Europe/London", "Australia/Sydney"


def local(words: str, zone: str = BERLIN) -> datetime:
    return datetime.fromisoformat(words).replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)


def todo(at: datetime | None, rule: str | None = None, **more: Any) -> Todo:
    given: dict[str, Any] = {
        "id": "td",
        "user_id": "ann",
        "title": "Tablets",
        "trigger_type": "time",
        "created_at": datetime(2026, 1, 1, tzinfo=UTC),
        "updated_at": datetime(2026, 1, 1, tzinfo=UTC),
        "scheduled_at": at,
        "recurrence_rule": rule,
        "time_zone": BERLIN,
    }
    return Todo(**given | more)


def told(one: Todo, start: datetime, hours: int, zone: str = BERLIN) -> list[str]:
    """By the clock there, of somebody who looks every hour."""
    clock, found, since = ManualClock(start, auto=True), [], start
    for _ in range(hours):
        clock._elapsed += 3600
        found += fell_due(one, since, clock.now(), "UTC")
        since = clock.now()
    return [f"{at.astimezone(ZoneInfo(zone)):%m-%d %H:%M}" for at in found]


@pytest.mark.parametrize(
    ("zone", "start", "days"),
    [
        (BERLIN, "2026-03-27 12:00", ["03-28", "03-29", "03-30"]),  # an hour less on the 29th
        (BERLIN, "2026-10-23 12:00", ["10-24", "10-25", "10-26"]),  # an hour more on the 25th
        (SYDNEY, "2026-10-02 12:00", ["10-03", "10-04", "10-05"]),  # an hour less on the 4th
    ],
)
def test_seven_stays_seven_when_the_clocks_change(zone: str, start: str, days: list[str]) -> None:
    one = todo(local("2026-02-01 07:00", zone), "FREQ=DAILY", time_zone=zone)
    assert told(one, local(start, zone), 70, zone) == [f"{day} 07:00" for day in days]


def test_an_hour_that_a_clock_change_skips_is_due_that_day_all_the_same() -> None:
    one = todo(local("2026-03-27 02:30"), "FREQ=DAILY")
    found = told(one, local("2026-03-27 12:00"), 72)
    assert [at[:5] for at in found] == ["03-28", "03-29", "03-30"]
    assert found[0].endswith("02:30")
    assert found[2].endswith("02:30")


def test_an_hour_that_comes_twice_is_due_once() -> None:
    one = todo(local("2026-10-20 02:30"), "FREQ=DAILY")
    assert told(one, local("2026-10-24 12:00"), 40) == ["10-25 02:30", "10-26 02:30"]


def test_it_recurs_by_the_clock_it_was_made_by_wherever_the_server_is() -> None:
    one = todo(local("2026-06-01 09:00", SYDNEY), "FREQ=WEEKLY;BYDAY=MO", time_zone=SYDNEY)
    assert told(one, local("2026-06-05 09:00", SYDNEY), 24 * 8, SYDNEY) == ["06-08 09:00"]
    assert comes_due(one, local("2026-06-08 09:00", SYDNEY), LONDON) == local(
        "2026-06-15 09:00", SYDNEY
    )


def test_something_done_once_is_due_once_and_at_its_very_instant() -> None:
    at = local("2026-06-01 09:00")
    one, second = todo(at), timedelta(seconds=1)
    assert comes_due(one, at - second, "UTC") == at
    assert fell_due(one, at - second, at, "UTC") == [at]
    assert fell_due(one, at, at + second, "UTC") == []
    assert comes_due(one, at, "UTC") is None


def test_a_moved_time_is_due_where_it_is_now_and_the_others_where_they_were() -> None:
    first = local("2026-06-01 07:00")
    one = todo(first, "FREQ=DAILY")
    moved = replace(
        one,
        scheduled_at=local("2026-06-02 09:15"),
        recurs_from=first,
        moved_from=local("2026-06-02 07:00"),
        status=TodoStatus.RESCHEDULED,
    )
    assert told(moved, local("2026-06-01 12:00"), 60) == ["06-02 09:15", "06-03 07:00"]
    assert not still_due(moved, local("2026-06-02 07:00"), "UTC")
    assert still_due(moved, local("2026-06-02 09:15"), "UTC")


def test_the_last_of_a_few_is_the_last() -> None:
    one = todo(local("2026-06-01 07:00"), "FREQ=DAILY;COUNT=2")
    assert told(one, local("2026-06-01 00:00"), 100) == ["06-01 07:00", "06-02 07:00"]
    assert comes_due(one, local("2026-06-02 08:00"), "UTC") is None


def test_a_rule_that_begins_between_two_minutes_is_not_due_twice() -> None:
    at = local("2026-06-01 07:00") + timedelta(seconds=22)
    one = todo(at, "FREQ=DAILY")
    assert fell_due(one, at - timedelta(hours=1), at + timedelta(hours=1), "UTC") == [at]


@pytest.mark.parametrize(
    "change",
    [
        {"status": TodoStatus.COMPLETED},
        {"status": TodoStatus.RETRACTED},
        {"trigger_type": "location", "location_trigger": "at home"},
        {"scheduled_at": None},
    ],
)
def test_what_is_over_or_has_no_time_is_never_due(change: dict[str, Any]) -> None:
    at = local("2026-06-01 07:00")
    one = todo(at, **change)
    assert fell_due(one, at - timedelta(days=1), at + timedelta(days=1), "UTC") == []
    assert comes_due(one, at - timedelta(days=1), "UTC") is None
    assert not still_due(one, at, "UTC")
    assert not still_due(None, at, "UTC")


def test_a_rule_that_nobody_can_count_costs_only_itself() -> None:
    at = local("2026-06-01 07:00")
    one = todo(at, "FREQ=NONSENSE", time_zone="Nowhere/Land")
    assert fell_due(one, at - timedelta(days=1), at, "UTC") == [at]
    assert comes_due(one, at, "UTC") is None
