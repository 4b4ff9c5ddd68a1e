"""Ticking off, deleting, renaming and adding to notes; and all of it back again."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from tests.intents.orchestrator.test_builtin import NOW, USER, ZONE, House, at
from vivavoce.errors import IntentRefused
from vivavoce.runtime.people.due import next_due
from vivavoce.wire.records.plans import Goal, GoalStatus, TodoStatus


class _House(House):
    def aims(self, statement: str, **more: Any) -> Goal:
        goal = Goal(
            id=f"goal-{statement}",
            user_id=USER,
            statement=statement,
            created_at=NOW,
            updated_at=NOW,
            **more,
        )
        self.store.goal_rows[goal.id] = goal
        return goal


async def test_a_task_that_is_done_is_completed_and_taking_it_back_opens_it() -> None:
    house = _House()
    milk = house.has("Buy milk", at(18, 18), status=TodoStatus.RESCHEDULED)
    intent, accepted = await house.submit("COMPLETE", thing_id=milk.id)
    assert house.store.todo_rows[milk.id].status is TodoStatus.COMPLETED
    assert (accepted.told["title"], accepted.told["things"][0]["open"]) == ("Buy milk", False)
    await house.retract(intent)
    assert house.store.todo_rows[milk.id].status is TodoStatus.RESCHEDULED


async def test_a_goal_can_be_reached_and_given_up() -> None:
    house = _House()
    run, sing = house.aims("Run"), house.aims("Sing")
    intent, accepted = await house.submit("COMPLETE", thing_id=run.id)
    await house.submit("DELETE", thing_id="sing")
    rows = house.store.goal_rows
    assert (rows[run.id].status, rows[sing.id].status) == (
        GoalStatus.COMPLETED,
        GoalStatus.RETRACTED,
    )
    assert accepted.goal_id == run.id
    await house.retract(intent)
    assert rows[run.id].status is GoalStatus.ACTIVE


@pytest.mark.parametrize(
    ("rule", "first", "now", "due"),
    [
        ("FREQ=WEEKLY;BYDAY=TH", at(19, 7), NOW, at(26, 7)),
        # Tablets at eight, said at ten: those of today.
        ("FREQ=DAILY", at(10, 8), NOW, at(19, 8)),
        # The bins of yesterday are nearer than those of next week.
        ("FREQ=WEEKLY;BYDAY=TU", at(17, 7), NOW, at(24, 7)),
        ("FREQ=WEEKLY;INTERVAL=2;BYDAY=TH", at(19, 7), NOW, at(33, 7)),
    ],
)
async def test_of_a_task_that_repeats_this_time_is_done(
    rule: str, first: datetime, now: datetime, due: datetime
) -> None:
    house = _House()
    bins = house.has("Bins", first, recurrence_rule=rule)
    intent, accepted = await house.submit("COMPLETE", thing_id=bins.id)
    done = house.store.todo_rows[bins.id]
    assert (done.status, done.recurrence_rule) == (TodoStatus.ACTIVE, rule)
    assert (done.scheduled_at, next_due(done, now, ZONE)) == (due, due)
    assert "goes on" in accepted.told["only"]
    await house.retract(intent)
    back = house.store.todo_rows[bins.id]
    assert (back.scheduled_at, back.recurs_from) == (first, None)


async def test_a_rule_that_counts_its_times_has_one_less_and_is_over_after_the_last() -> None:
    house = _House()
    pills = house.has("Pills", at(19, 8), recurrence_rule="FREQ=DAILY;COUNT=2")
    await house.submit("COMPLETE", thing_id=pills.id)
    assert house.store.todo_rows[pills.id].recurrence_rule == "FREQ=DAILY;COUNT=1"
    await house.submit("COMPLETE", thing_id=pills.id)
    assert house.store.todo_rows[pills.id].status is TodoStatus.COMPLETED


async def test_one_that_was_moved_this_once_is_done_where_it_is() -> None:
    house = _House()
    gym = house.has("Gym", at(18, 18), recurrence_rule="FREQ=WEEKLY")
    await house.submit("RESCHEDULE_TASK", task_id=gym.id, preferred_new_time="Friday at 8 pm")
    await house.submit("COMPLETE", thing_id=gym.id)
    done = house.store.todo_rows[gym.id]
    assert (next_due(done, NOW, ZONE), done.moved_from) == (at(25, 18), None)


async def test_deleting_takes_the_whole_series_unless_one_time_is_meant() -> None:
    house = _House()
    bins = house.has("Bins", at(19, 7), recurrence_rule="FREQ=WEEKLY")
    once, _ = await house.submit("DELETE", thing_id=bins.id, scope="this_time")
    assert house.store.todo_rows[bins.id].scheduled_at == at(26, 7)
    await house.retract(once)
    intent, accepted = await house.submit("DELETE", thing_id=bins.id)
    assert house.store.todo_rows[bins.id].status is TodoStatus.RETRACTED
    assert accepted.told["things"][0]["open"] is False
    await house.retract(intent)
    assert house.store.todo_rows[bins.id].scheduled_at == at(19, 7)


async def test_another_title_leaves_the_time_and_a_correction_of_it_begins_anew() -> None:
    house = _House()
    tooth = house.has("Dentist", at(20, 9))
    intent, accepted = await house.submit("RENAME", thing_id=tooth.id, new_title="Orthodontist")
    row = house.store.todo_rows[tooth.id]
    assert (row.title, row.scheduled_at) == ("Orthodontist", at(20, 9))
    assert (
        accepted.told["summary"] == "Orthodontist, on Friday, the twentieth, at nine in the morning"
    )
    intent, _ = await house.amend(intent, thing_id=tooth.id, new_title="Orthopedist")
    assert house.store.todo_rows[tooth.id].title == "Orthopedist"
    await house.retract(intent)
    assert house.store.todo_rows[tooth.id].title == "Dentist"


async def test_where_another_one_was_meant_the_first_goes_back() -> None:
    house = _House()
    first, second = house.has("Call Ann", at(18, 18)), house.has("Call Bob", at(18, 19))
    intent, _ = await house.submit("COMPLETE", thing_id=first.id)
    intent, _ = await house.amend(intent, thing_id=second.id)
    rows = house.store.todo_rows
    assert (rows[first.id].status.open, rows[second.id].status.open) == (True, False)
    await house.retract(intent)
    assert rows[second.id].status.open


async def test_notes_are_added_to_what_is_there() -> None:
    house = _House()
    run = house.aims("Run a marathon", context_notes="Shoes are bought")
    intent, accepted = await house.submit("NOTE", goal_id="marathon", note="Knee hurts")
    assert house.store.goal_rows[run.id].context_notes == "Shoes are bought\nKnee hurts"
    assert (accepted.told["title"], accepted.told["note"]) == ("Run a marathon", "Knee hurts")
    await house.retract(intent)
    assert house.store.goal_rows[run.id].context_notes == "Shoes are bought"


async def test_what_somebody_changed_since_is_not_put_back() -> None:
    house = _House()
    tooth = house.has("Dentist", at(20, 9))
    first, _ = await house.submit("RENAME", thing_id=tooth.id, new_title="Orthodontist")
    await house.submit("RENAME", thing_id=tooth.id, new_title="Doctor")
    with pytest.raises(IntentRefused, match="changed since"):
        await house.retract(first)
    assert house.store.todo_rows[tooth.id].title == "Doctor"


@pytest.mark.parametrize("route", ["COMPLETE", "DELETE"])
async def test_one_of_several_is_never_guessed_and_no_id_is_made_up(route: str) -> None:
    house = _House()
    house.has("Call mom", at(18, 18))
    house.has("Call the bank", at(18, 17))
    house.has("Secret", at(18, 17), user="ben")
    for words, match in (("call", "More than one"), ("f7b1c0de", "no such"), ("x", "no such")):
        with pytest.raises(IntentRefused, match=match) as refused:
            await house.submit(route, thing_id=words)
        titles = [one["title"] for one in refused.value.details["choices"]]
        assert titles == ["Call mom", "Call the bank"]
    assert all(todo.status.open for todo in house.store.todo_rows.values())
