"""Moving tasks: which one is meant, to when, and back again."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from tests.intents.orchestrator.test_builtin import HERE, NOW, ZONE, House, at
from vivavoce.errors import IntentRefused
from vivavoce.runtime.people.due import next_due
from vivavoce.wire.records.plans import TodoStatus

MOVE = "RESCHEDULE_TASK"


async def test_a_moved_task_has_the_new_time_the_status_and_the_reason() -> None:
    house = House()
    gym = house.has("Gym", at(18, 18))
    _, accepted = await house.submit(
        MOVE, task_id=gym.id, preferred_new_time="Friday at the same time", reason="Late meeting"
    )
    moved = house.store.todo_rows[gym.id]
    assert moved.scheduled_at == at(20, 18)
    assert (moved.status, moved.reason) == (TodoStatus.RESCHEDULED, "Late meeting")
    assert moved.scheduled_words == "Friday at the same time"
    assert accepted.task_id == gym.id
    assert accepted.told["summary"] == "Gym, on Friday, the twentieth, at six in the evening"
    assert [thing["id"] for thing in accepted.told["things"]] == [gym.id]


@pytest.mark.parametrize("words", ["gym", "Gym session", "my gym task", "gym-session", "GYM"])
async def test_words_that_fit_one_title_mean_that_task(words: str) -> None:
    house = House()
    house.has("Gym session", at(18, 18))
    house.has("Groceries", at(18, 17))
    _, accepted = await house.submit(MOVE, task_id=words, preferred_new_time="tomorrow at noon")
    assert accepted.task_id == "id-of-Gym session"


@pytest.mark.parametrize("words", ["abc", "f7b1c0de-0000-4000-8000-000000000000", "dentist"])
async def test_an_id_that_is_not_there_is_refused_with_the_titles_there_are(words: str) -> None:
    house = House()
    house.has("Gym", at(18, 18))
    house.has("Groceries", at(18, 17))
    house.has("Secret", at(18, 17), user="ben")
    with pytest.raises(IntentRefused) as refused:
        await house.submit(MOVE, task_id=words, preferred_new_time="tomorrow at noon")
    assert [one["title"] for one in refused.value.details["choices"]] == ["Gym", "Groceries"]
    assert refused.value.details["missing"] == ["task_id"]
    assert "id-of" not in refused.value.message


async def test_words_that_fit_two_titles_are_asked() -> None:
    house = House()
    house.has("Call mom", at(18, 18))
    house.has("Call the bank", at(18, 17))
    with pytest.raises(IntentRefused, match="More than one open task fits: Call mom; Call the"):
        await house.submit(MOVE, task_id="call", preferred_new_time="tomorrow at noon")


async def test_words_that_fit_a_title_by_half_are_asked() -> None:
    """ "team-lunch" is not the lunch with Ann, even where that is the only task."""
    house = House()
    lunch = house.has("Lunch with Ann", at(18, 12))
    with pytest.raises(IntentRefused, match="Do you mean: Lunch with Ann") as refused:
        await house.submit(MOVE, task_id="team-lunch", preferred_new_time="tomorrow at noon")
    assert [one["id"] for one in refused.value.details["choices"]] == [lunch.id]
    assert house.store.todo_rows[lunch.id] == lunch
    _, moved = await house.submit(MOVE, task_id="ann-lunch", preferred_new_time="tomorrow at noon")
    assert moved.task_id == lunch.id


async def test_a_task_of_another_user_or_a_closed_one_is_not_there() -> None:
    house = House()
    house.has("Secret", at(18, 17), user="ben")
    house.has("Done", at(18, 17), status=TodoStatus.COMPLETED)
    for task_id in ("id-of-Secret", "id-of-Done"):
        with pytest.raises(IntentRefused, match="There is no open task"):
            await house.submit(MOVE, task_id=task_id, preferred_new_time="tomorrow at noon")


async def test_without_a_new_time_the_task_is_open_with_none_and_the_model_is_told_to_ask() -> None:
    house = House()
    gym = house.has("Gym", at(18, 18))
    intent, accepted = await house.submit(MOVE, task_id=gym.id)
    moved = house.store.todo_rows[gym.id]
    assert (moved.scheduled_at, moved.status) == (None, TodoStatus.RESCHEDULED)
    assert "Ask when" in accepted.told["note"]
    await house.amend(intent, task_id=gym.id, preferred_new_time="Friday at the same time")
    assert house.store.todo_rows[gym.id].scheduled_at == at(20, 18)


async def test_a_new_time_that_is_not_clear_is_asked_and_nothing_changes() -> None:
    house = House()
    gym = house.has("Gym", at(18, 18))
    with pytest.raises(IntentRefused) as refused:
        await house.submit(MOVE, task_id=gym.id, preferred_new_time="next Friday")
    assert "Do you mean this Friday" in refused.value.suggestion
    assert house.store.todo_rows[gym.id] == gym


async def test_taking_a_move_back_puts_everything_back() -> None:
    house = House()
    gym = house.has("Gym", at(18, 18), scheduled_words="today at 6", reason="old reason")
    intent, _ = await house.submit(MOVE, task_id="gym", preferred_new_time="Friday", reason="new")
    intent, _ = await house.amend(intent, task_id="gym", preferred_new_time="Saturday")
    assert house.store.todo_rows[gym.id].scheduled_at == at(21, 18)
    accepted = await house.retract(intent)
    restored = house.store.todo_rows[gym.id]
    assert restored.scheduled_at == gym.scheduled_at
    assert (restored.status, restored.reason) == (TodoStatus.ACTIVE, "old reason")
    assert restored.scheduled_words == "today at 6"
    assert accepted.told["when"] == "today at six in the evening"


async def test_where_another_task_was_meant_the_first_one_goes_back() -> None:
    house = House()
    gym, food = house.has("Gym", at(18, 18)), house.has("Groceries", at(18, 17))
    intent, _ = await house.submit(MOVE, task_id=gym.id, preferred_new_time="Friday at noon")
    intent, _ = await house.amend(intent, task_id=food.id, preferred_new_time="Friday at noon")
    rows = house.store.todo_rows
    assert (rows[gym.id].scheduled_at, rows[food.id].scheduled_at) == (at(18, 18), at(20, 12))
    await house.retract(intent)
    assert rows[food.id].scheduled_at == at(18, 17)


async def test_a_move_is_not_taken_back_over_a_later_one() -> None:
    house = House()
    gym = house.has("Gym", at(18, 18))
    first, _ = await house.submit(MOVE, task_id=gym.id, preferred_new_time="Friday at noon")
    await house.submit(MOVE, task_id=gym.id, preferred_new_time="Saturday at noon")
    with pytest.raises(IntentRefused, match="changed since"):
        await house.retract(first)
    assert house.store.todo_rows[gym.id].scheduled_at == at(21, 12)


async def test_moving_one_time_of_a_recurring_task_leaves_its_rule() -> None:
    house = House()
    gym = house.has("Gym", at(18, 18), recurrence_rule="FREQ=WEEKLY")
    intent, _ = await house.submit(MOVE, task_id=gym.id, preferred_new_time="Friday at 7am")
    moved = house.store.todo_rows[gym.id]
    assert (moved.recurrence_rule, moved.scheduled_at) == ("FREQ=WEEKLY", at(20, 7))
    assert (moved.recurs_from, moved.moved_from) == (at(18, 18), at(18, 18))
    await house.retract(intent)
    back = house.store.todo_rows[gym.id]
    assert (back.scheduled_at, back.recurs_from, back.moved_from) == (at(18, 18), None, None)


@pytest.mark.parametrize(
    ("rule", "first", "to", "due"),
    [
        ("FREQ=WEEKLY;INTERVAL=2;BYDAY=MO", 16, "Tuesday at 6 pm", [24, 14, 28]),
        ("FREQ=DAILY;INTERVAL=3", 18, "Thursday at 6 pm", [19, 21, 24]),
        ("FREQ=DAILY;COUNT=4", 17, "Saturday at 6 pm", [19, 20, 21]),
        ("FREQ=DAILY", 18, "Saturday at 7 pm", [19, 20, 21, 21, 22]),
    ],
)
async def test_the_other_times_of_a_recurring_task_stay(
    rule: str, first: int, to: str, due: list[int]
) -> None:
    house = House()
    gym = house.has("Gym", at(first, 18), recurrence_rule=rule)
    await house.submit(MOVE, task_id=gym.id, preferred_new_time=to)
    moved, found = house.store.todo_rows[gym.id], [NOW]
    for _ in due:
        found.append(next_due(moved, found[-1], ZONE) or NOW)
    assert [one.astimezone(HERE).day for one in found[1:]] == due


async def test_of_a_recurring_task_the_next_time_is_moved_or_the_one_missed_today() -> None:
    for words, to, occurrence in (
        ("8 pm", at(18, 20), at(18, 7)),
        ("tonight at 9", at(18, 21), at(18, 7)),
        ("an hour later", at(19, 8), at(19, 7)),
        ("Friday at noon", at(20, 12), at(19, 7)),
    ):
        house = House()
        gym = house.has("Gym", at(11, 7), recurrence_rule="FREQ=DAILY")
        await house.submit(MOVE, task_id=gym.id, preferred_new_time=words)
        moved = house.store.todo_rows[gym.id]
        assert (moved.scheduled_at, moved.moved_from) == (to, occurrence)
        assert moved.recurs_from == at(11, 7)


async def test_what_was_moved_and_is_to_come_is_what_is_moved_again() -> None:
    house = House()
    gym = house.has("Gym", at(11, 18), recurrence_rule="FREQ=WEEKLY")
    await house.submit(MOVE, task_id=gym.id, preferred_new_time="Friday at 8 pm")
    intent, _ = await house.submit(MOVE, task_id=gym.id, preferred_new_time="Saturday")
    moved = house.store.todo_rows[gym.id]
    assert (moved.scheduled_at, moved.moved_from) == (at(21, 20), at(18, 18))
    await house.amend(intent, task_id=gym.id, preferred_new_time="Sunday, same time")
    moved = house.store.todo_rows[gym.id]
    assert (moved.scheduled_at, moved.moved_from) == (at(22, 20), at(18, 18))
    assert moved.recurs_from == at(11, 18)


@pytest.mark.parametrize(
    ("rule", "words", "to", "becomes"),
    [
        ("FREQ=WEEKLY;BYDAY=TH", "from now on at 8 pm", at(19, 20), "FREQ=WEEKLY;BYDAY=TH"),
        ("FREQ=WEEKLY;BYDAY=TH", "always on Friday", at(20, 7), "FREQ=WEEKLY;BYDAY=FR"),
        ("FREQ=WEEKLY;BYDAY=TH", "every day at noon", at(18, 12), "FREQ=DAILY"),
        ("FREQ=DAILY", "from now on an hour later", at(19, 8), "FREQ=DAILY"),
    ],
)
async def test_from_now_on_moves_the_whole_series(
    rule: str, words: str, to: datetime, becomes: str
) -> None:
    house = House()
    bins = house.has("Bins", at(19, 7), recurrence_rule=rule)
    intent, accepted = await house.submit(MOVE, task_id=bins.id, preferred_new_time=words)
    moved = house.store.todo_rows[bins.id]
    assert (moved.scheduled_at, moved.recurrence_rule, moved.moved_from) == (to, becomes, None)
    assert accepted.told["when"].startswith("every ")
    await house.retract(intent)
    back = house.store.todo_rows[bins.id]
    assert (back.scheduled_at, back.recurrence_rule, back.status) == (at(19, 7), rule, bins.status)


async def test_which_of_the_two_is_meant_may_be_said_in_a_word_of_its_own() -> None:
    house = House()
    bins = house.has("Bins", at(19, 7), recurrence_rule="FREQ=DAILY")
    intent, _ = await house.submit(MOVE, task_id=bins.id, preferred_new_time="at 8 pm")
    assert house.store.todo_rows[bins.id].moved_from is not None
    words = {"task_id": bins.id, "preferred_new_time": "at 8 pm", "scope": "series"}
    await house.amend(intent, **words)
    moved = house.store.todo_rows[bins.id]
    assert (moved.scheduled_at, moved.moved_from) == (at(19, 20), None)


@pytest.mark.parametrize(
    ("due", "words", "to"),
    [
        (at(18, 9), "for ten minutes", NOW + timedelta(minutes=10)),
        (at(18, 9), "ten more minutes", NOW + timedelta(minutes=10)),
        (at(18, 9), "an hour later", NOW + timedelta(hours=1)),
        (at(18, 9), "in half an hour", NOW + timedelta(minutes=30)),
        (at(18, 18), "an hour later", at(18, 19)),
    ],
)
async def test_a_snooze_counts_from_its_time_or_from_now_if_that_is_past(
    due: datetime, words: str, to: datetime
) -> None:
    house = House()
    oven = house.has("Oven", due)
    await house.submit(MOVE, task_id=oven.id, preferred_new_time=words)
    assert house.store.todo_rows[oven.id].scheduled_at == to
