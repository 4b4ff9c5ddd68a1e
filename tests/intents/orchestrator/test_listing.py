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
        "3 things tomorrow: School run, at 8:20 AM; Barber, at 5:30 PM; and Tablets, at 9 PM."
    )
    assert [one["title"] for one in found["things"]] == ["School run", "Barber", "Tablets"]
    assert found["count"] == 3


@pytest.mark.parametrize(
    ("when", "answer"),
    [
        ("tomorrow morning", "One thing tomorrow morning: School run, at 8:20 AM."),
        ("on Monday evening", "2 things on Monday evening, November 23: Choir, at 7 PM; and Tab"),
        ("tomorrow at three", "There is nothing on your list tomorrow at 3 PM."),
        ("on Friday afternoon", "There is nothing on your list on Friday afternoon, November 20."),
        ("at the weekend", "2 things at the weekend: Tablets, Saturday at 9 PM; and Tablets, Sun"),
        ("the rest of this week", "3 things this week: Tablets, every day at 9 PM; School run, Th"),
    ],
)
async def test_a_stretch_of_time_is_told(when: str, answer: str) -> None:
    assert (await told(house(), when=when))["answer"].startswith(answer)


async def test_the_whole_list_says_when_each_is() -> None:
    here = house()
    here.has("Milk", None, location_trigger="when I am at the shop")
    found = await told(here)
    assert found["answer"] == (
        "5 things on your list: Tablets, every day at 9 PM, next time today; School run, tomorrow "
        "at 8:20 AM; Barber, tomorrow at 5:30 PM; Choir, Monday, November 23 at 7 PM; Milk, when "
        "you are at the shop."
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
        assert found["answer"].startswith("20 things")
        assert found["answer"].endswith("8 more.")


async def test_who_asks_about_today_hears_what_is_still_open_from_before() -> None:
    here = _House()
    here.has("Tax", at(16, 9))
    here.has("Lunch", at(18, 12))
    answer = (await told(here, when="today"))["answer"]
    assert answer == (
        "One thing today: Lunch, at 12 PM. Still open from before: Tax, Monday, November 16 at 9 "
        "AM."
    )


async def test_goals_are_told_with_their_dates() -> None:
    here = house()
    here.aims("Learn Welsh", timeline="one day")
    here.aims("Run", target_at=at(30, 12), context_notes="my knee hurts")
    here.aims("Old", status=GoalStatus.COMPLETED)
    answer = (await told(here, what="goals"))["answer"]
    assert answer == ("You have 2 goals: Learn Welsh, one day; Run, by Monday, November 30.")
    one = (await told(here, thing_id="goal-Run"))["answer"]
    assert one == "Your goal: Run, by Monday, November 30. You noted: your knee hurts."


async def test_one_thing_is_told_with_its_time() -> None:
    found = await told(house(), thing_id="barber")
    assert found["answer"] == "Barber: tomorrow at 5:30 PM."
    with pytest.raises(IntentRefused, match="no such open"):
        await told(house(), thing_id="dentist")


async def test_days_that_nobody_understands_are_asked_about() -> None:
    with pytest.raises(IntentRefused) as refused:
        await told(house(), when="when the cows come home")
    assert refused.value.details["missing"] == ["when"]
