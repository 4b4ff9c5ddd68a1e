"""What is on the list, told: in order, counted, and only what is there."""

from __future__ import annotations

from typing import Any

import pytest

from tests.intents.orchestrator.test_builtin import at
from tests.intents.orchestrator.test_changing import _House
from vivavoce.errors import IntentRefused
from vivavoce.wire.records.plans import GoalStatus, TodoStatus


def house() -> _House:
    """It is Wednesday the 18th, ten in the morning."""
    made = _House()
    made.has("Barber", at(19, 17, 30))
    made.has("School run", at(19, 8, 20))
    made.has("Tablets", at(10, 21), recurrence_rule="FREQ=DAILY")
    made.has("Choir", at(23, 19))
    made.has("Secret", at(19, 9), user="ben")
    made.has("Gone", at(19, 9), status=TodoStatus.COMPLETED)
    return made


async def told(here: _House, **payload: Any) -> dict[str, Any]:
    _, accepted = await here.submit("LIST", **payload)
    assert accepted.changes == ()
    return dict(accepted.told)


async def test_a_day_is_told_in_its_order() -> None:
    found = await told(house(), when="tomorrow")
    assert found["answer"] == (
        "Three things tomorrow, Thursday: School run, at twenty past eight in the morning; Barber, "
        "at half past five in the afternoon; and Tablets, at nine at night."
    )
    assert [one["title"] for one in found["things"]] == ["School run", "Barber", "Tablets"]
    assert found["count"] == 3


@pytest.mark.parametrize(
    ("when", "answer"),
    [
        ("tomorrow morning", "One thing tomorrow, Thursday, in the morning: School run, at twenty"),
        ("on Monday evening", "Two things on Monday, the twenty-third, in the evening: Choir, at"),
        ("tomorrow at three", "There is nothing on your list tomorrow, Thursday, at three in the"),
        ("on Friday afternoon", "There is nothing on your list on Friday, the twentieth, in the"),
        ("at the weekend", "Two things at the weekend: Tablets, Saturday at nine at night; and Ta"),
        ("the rest of this week", "Three things this week: Tablets, every day at nine at night; S"),
    ],
)
async def test_a_stretch_of_time_is_told(when: str, answer: str) -> None:
    assert (await told(house(), when=when))["answer"].startswith(answer)


async def test_the_whole_list_says_when_each_is() -> None:
    here = house()
    here.has("Milk", None, location_trigger="when I am at the shop")
    found = await told(here)
    assert found["answer"] == (
        "Five things on your list: Tablets, every day at nine at night, the next time today; "
        "School run, tomorrow, Thursday, at twenty past eight in the morning; Barber, tomorrow, "
        "Thursday, at half past five in the afternoon; Choir, on Monday, the twenty-third, at "
        "seven in the evening; Milk, when you are at the shop."
    )
    assert (await told(here, when="everything"))["answer"] == found["answer"]


async def test_an_empty_list_is_said_to_be_empty() -> None:
    assert (await told(_House()))["answer"] == "There is nothing on your list."
    assert (await told(_House(), what="goals"))["answer"] == "You have no goals yet."


async def test_more_than_one_can_listen_to_is_counted() -> None:
    here = _House()
    for number in range(20):
        here.has(f"Task {number}", at(19, 9, number))
    for payload in ({"when": "tomorrow"}, {}):
        found = await told(here, **payload)
        assert found["answer"].startswith("Twenty things")
        assert found["answer"].endswith("and eight more.")


async def test_who_asks_about_today_hears_what_is_still_open_from_before() -> None:
    here = _House()
    here.has("Tax", at(16, 9))
    here.has("Lunch", at(18, 12))
    answer = (await told(here, when="today"))["answer"]
    assert answer == (
        "One thing today: Lunch, at noon. Still open from before: Tax, on Monday the sixteenth of "
        "November at nine in the morning."
    )


async def test_goals_are_told_with_their_dates() -> None:
    here = house()
    here.aims("Learn Welsh", timeline="one day")
    here.aims("Run", target_at=at(30, 12), context_notes="my knee hurts")
    here.aims("Old", status=GoalStatus.COMPLETED)
    answer = (await told(here, what="goals"))["answer"]
    assert answer == (
        "You have two goals: Learn Welsh, one day; Run, by Monday the thirtieth of November."
    )
    one = (await told(here, thing_id="goal-Run"))["answer"]
    assert one == (
        "Your goal: Run, by Monday the thirtieth of November. You noted: your knee hurts."
    )


async def test_one_thing_is_told_with_its_time() -> None:
    found = await told(house(), thing_id="barber")
    assert found["answer"] == "Barber: tomorrow, Thursday, at half past five in the afternoon."
    with pytest.raises(IntentRefused, match="no such open"):
        await told(house(), thing_id="dentist")


async def test_days_that_nobody_understands_are_asked_about() -> None:
    with pytest.raises(IntentRefused) as refused:
        await told(house(), when="when the cows come home")
    assert refused.value.details["missing"] == ["when"]
