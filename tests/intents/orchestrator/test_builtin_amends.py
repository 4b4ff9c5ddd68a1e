"""Corrections of a task: what was said anew changes, and what was not stays. Wednesday, ten."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.intents.orchestrator.test_builtin import HERE, NOW, House, at, given
from vivavoce.errors import IntentRefused
from vivavoce.runtime.people.due import next_due
from vivavoce.wire.records.plans import Intent, Todo

MOVE, TASK = "RESCHEDULE_TASK", "NEW_TASK"


class Later(House):
    """Whose clock goes on."""

    now = NOW

    async def makes(self, **payload: Any) -> Intent:
        intent, _ = await self.submit(TASK, title="Call", trigger_type="time", **payload)
        return intent

    async def corrects(self, intent: Intent, **changes: Any) -> tuple[Intent, dict[str, Any]]:
        payload = intent.payload | changes
        asked = replace(given(intent.route, payload), now=self.now)
        accepted = await self.orchestrator.amend(intent, asked)
        self.store.write(accepted)
        return replace(intent, payload=payload), dict(accepted.told)

    @property
    def task(self) -> Todo:
        (todo,) = self.store.todo_rows.values()
        return todo

    @property
    def when(self) -> str:
        assert self.task.scheduled_at is not None
        return f"{self.task.scheduled_at.astimezone(HERE):%a %d %H:%M}"

    def days(self, count: int) -> list[str]:
        """When it is due, from now on."""
        found: list[datetime] = []
        while len(found) < count:
            due = next_due(self.task, found[-1] if found else self.now, "UTC")
            assert due is not None
            found.append(due)
        return [f"{due.astimezone(HERE):%a %d %H:%M}" for due in found]


async def test_no_saturday_keeps_the_hour_and_no_at_half_past_eight_the_day() -> None:
    house = Later()
    intent = await house.makes(scheduled_at="Friday at 7 pm")
    intent, told = await house.corrects(intent, scheduled_at="Sunday")
    assert (house.when, told["assumed"]) == ("Sun 22 19:00", "the same time of day")
    intent, told = await house.corrects(intent, scheduled_at="8:30")
    assert (house.when, told["assumed"]) == ("Sun 22 20:30", "the same day")
    await house.corrects(intent, scheduled_at="in the morning")
    assert house.when == "Sun 22 09:00"


async def test_another_hour_of_a_recurring_task_leaves_how_often() -> None:
    house = Later()
    intent = await house.makes(scheduled_at="every weekday at 6 am")
    intent, told = await house.corrects(intent, scheduled_at="7 am")
    assert (house.when, house.task.recurrence_rule) == (
        "Thu 19 07:00",
        "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR",
    )
    assert (told["when"], house.task.recurrence_words) == (
        "every weekday at seven in the morning, the next time tomorrow, Thursday",
        "every weekday at 6 am",
    )
    intent, _ = await house.corrects(intent, recurrence_rule="every weekend")
    assert house.days(2) == ["Sat 21 07:00", "Sun 22 07:00"]
    intent, _ = await house.corrects(intent, recurrence_rule="FREQ=DAILY")
    assert house.days(1) == ["Sat 21 07:00"]
    await house.corrects(intent, recurrence_rule="once")
    assert (house.when, house.task.recurrence_rule) == ("Sat 21 07:00", None)


async def test_another_hour_of_every_other_week_leaves_the_weeks() -> None:
    house = Later()
    intent = await house.makes(scheduled_at="6 pm", recurrence_rule="every other Friday")
    assert house.when == "Fri 20 18:00"
    house.now = NOW + timedelta(days=6)
    await house.corrects(intent, scheduled_at="7 pm")
    assert house.days(2) == ["Fri 04 19:00", "Fri 18 19:00"]


async def test_a_day_that_its_rule_does_not_have_is_asked() -> None:
    house = Later()
    intent = await house.makes(scheduled_at="6 pm", recurrence_rule="every Friday")
    with pytest.raises(IntentRefused, match="Saturday is not one of its days") as refused:
        await house.corrects(intent, scheduled_at="Saturday")
    assert "On which days" in refused.value.suggestion


@pytest.mark.parametrize(
    ("words", "later", "when"),
    [
        ("in an hour", timedelta(minutes=30), "Wed 18 11:00"),
        ("tomorrow at 5 pm", timedelta(hours=15), "Thu 19 17:00"),
        ("in an hour", timedelta(hours=2), "Wed 18 11:00"),
    ],
)
async def test_another_title_leaves_the_time_whenever_it_is_said(
    words: str, later: timedelta, when: str
) -> None:
    house = Later()
    intent = await house.makes(scheduled_at=words)
    house.now = NOW + later
    await house.corrects(intent, title="Ring")
    assert (house.task.title, house.when) == ("Ring", when)


async def test_another_title_does_not_undo_a_move() -> None:
    house = Later()
    intent = await house.makes(scheduled_at="Friday at 7 pm")
    await house.submit(MOVE, task_id=house.task.id, preferred_new_time="Sunday at 5 pm")
    _, told = await house.corrects(intent, title="Ring")
    assert house.when == "Sun 22 17:00"
    assert told["when"] == "on Sunday, the twenty-second, at five in the afternoon"


async def test_another_title_does_not_take_a_moved_task_back_to_its_place() -> None:
    house = Later()
    intent, _ = await house.submit(
        TASK, title="Milk", trigger_type="location", location_trigger="shop"
    )
    await house.submit(MOVE, task_id=house.task.id, preferred_new_time="Sunday at 5 pm")
    intent, _ = await house.corrects(intent, title="Oat milk")
    assert (house.task.trigger_type, house.when) == ("time", "Sun 22 17:00")
    _, told = await house.corrects(intent, location_trigger="market")
    assert (told["place"], house.task.scheduled_at) == ("market", None)


async def test_a_corrected_move_keeps_what_the_move_said() -> None:
    house = Later()
    gym = house.has("Gym", at(18, 16))
    intent, _ = await house.submit(MOVE, task_id="gym", preferred_new_time="Friday at 8 pm")
    intent, _ = await house.amend(intent, task_id="gym", preferred_new_time="Sunday")
    assert house.when == "Sun 22 20:00"
    intent, _ = await house.amend(intent, task_id="gym", preferred_new_time="at 9")
    assert house.when == "Sun 22 21:00"
    intent, _ = await house.amend(intent, task_id="gym", preferred_new_time="the same time")
    assert house.when == "Sun 22 16:00"
    await house.retract(intent)
    assert house.task.scheduled_at == gym.scheduled_at


async def test_another_reason_does_not_read_the_time_again() -> None:
    house = Later()
    house.has("Gym", at(18, 16))
    intent, _ = await house.submit(MOVE, task_id="gym", preferred_new_time="in an hour")
    house.now = NOW + timedelta(minutes=30)
    intent, _ = await house.corrects(intent, reason="Rain")
    assert (house.when, house.task.reason) == ("Wed 18 11:00", "Rain")
    await house.retract(intent)
    assert house.when == "Wed 18 16:00"


async def test_an_hour_later_is_later_than_it_was_and_two_hours_than_that() -> None:
    house = Later()
    house.has("Gym", at(18, 20))
    intent, _ = await house.submit(MOVE, task_id="gym", preferred_new_time="an hour later")
    assert house.when == "Wed 18 21:00"
    intent, _ = await house.amend(intent, task_id="gym", preferred_new_time="two hours later")
    assert house.when == "Wed 18 22:00"
    intent, _ = await house.amend(intent, task_id="gym", preferred_new_time="Friday at 5 pm")
    await house.amend(intent, task_id="gym", preferred_new_time="half an hour earlier")
    assert house.when == "Fri 20 16:30"
