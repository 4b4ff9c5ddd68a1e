"""The orchestrator inside, over a small store in memory: what comes of each intent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib.metadata import EntryPoint
from typing import Any, cast
from zoneinfo import ZoneInfo

import pytest

from vivavoce.errors import IntentRefused
from vivavoce.intents.orchestrator import builtin
from vivavoce.intents.orchestrator.builtin import BuiltInOrchestrator, installed_handlers
from vivavoce.intents.ports import Accepted, Orchestrator
from vivavoce.runtime.ports import AgendaStore
from vivavoce.wire.records.plans import (
    Goal,
    GoalStatus,
    Intent,
    Milestone,
    Submission,
    Todo,
    TodoStatus,
)
from vivavoce.wire.records.talk import DropMilestone, Put

ZONE = "America/New_York"
HERE = ZoneInfo(ZONE)
NOW = datetime(2026, 11, 18, 10, tzinfo=HERE)
USER = "anna"


class Agenda:
    """As much of an `AgendaStore` as goals and tasks need."""

    def __init__(self) -> None:
        self.goal_rows: dict[str, Goal] = {}
        self.todo_rows: dict[str, Todo] = {}
        self.steps: dict[str, Milestone] = {}

    async def goal(self, goal_id: str, *, user_id: str) -> Goal | None:
        row = self.goal_rows.get(goal_id)
        return row if row and row.user_id == user_id else None

    async def todo(self, todo_id: str, *, user_id: str) -> Todo | None:
        row = self.todo_rows.get(todo_id)
        return row if row and row.user_id == user_id else None

    async def todos(
        self, *, user_id: str, open_only: bool = False, limit: int = 50, offset: int = 0
    ) -> list[Todo]:
        mine = [t for t in self.todo_rows.values() if t.user_id == user_id]
        return [t for t in mine if t.status.open or not open_only][offset : offset + limit]

    async def goals(
        self, *, user_id: str, status: str | None = None, limit: int = 50, offset: int = 0
    ) -> list[Goal]:
        mine = [g for g in self.goal_rows.values() if g.user_id == user_id]
        return [g for g in mine if status in (None, g.status)][offset : offset + limit]

    async def milestones(self, goal_ids: Sequence[str], *, user_id: str) -> list[Milestone]:
        mine = [s for s in self.steps.values() if s.goal_id in goal_ids and s.user_id == user_id]
        return sorted(mine, key=lambda s: s.position)

    def write(self, accepted: Accepted) -> None:
        for change in accepted.changes:
            match change:
                case Put(Goal() as goal):
                    self.goal_rows[goal.id] = goal
                case Put(Todo() as todo):
                    self.todo_rows[todo.id] = todo
                case Put(Milestone() as step):
                    self.steps[step.id] = step
                case DropMilestone(step_id):
                    self.steps.pop(step_id, None)


class House:
    """An orchestrator and its caller: submits, commits, remembers the intent."""

    now = NOW

    def __init__(self) -> None:
        self.store = Agenda()
        self.orchestrator: Orchestrator = BuiltInOrchestrator(cast("AgendaStore", self.store))

    def has(self, title: str, at: datetime | None, user: str = USER, **more: Any) -> Todo:
        todo = Todo(
            id=f"id-of-{title}",
            user_id=user,
            title=title,
            trigger_type="time",
            created_at=NOW,
            updated_at=NOW,
            scheduled_at=at,
            time_zone=ZONE,
            **more,
        )
        self.store.todo_rows[todo.id] = todo
        return todo

    async def submit(self, route: str, **payload: Any) -> tuple[Intent, Accepted]:
        accepted = await self.orchestrator.submit(given(route, payload, self.now))
        self.store.write(accepted)
        return kept(route, payload, accepted), accepted

    async def amend(self, intent: Intent, **payload: Any) -> tuple[Intent, Accepted]:
        accepted = await self.orchestrator.amend(intent, given(intent.route, payload, self.now))
        self.store.write(accepted)
        previous = accepted.previous if accepted.previous is not None else intent.previous
        task_id = accepted.task_id or intent.task_id
        previous = dict(previous) if previous is not None else None
        goal_id = accepted.goal_id or intent.goal_id
        amended = replace(intent, payload=payload, previous=previous, task_id=task_id)
        return replace(amended, goal_id=goal_id), accepted

    async def retract(self, intent: Intent) -> Accepted:
        accepted = await self.orchestrator.retract(intent, given(intent.route, intent.payload))
        self.store.write(accepted)
        return accepted


def given(route: str, payload: dict[str, Any], now: datetime = NOW) -> Submission:
    return Submission(
        intent_id=f"intent-{route}",
        user_id=USER,
        conversation_id="c",
        route=route,
        payload=payload,
        now=now,
        time_zone=ZONE,
    )


def kept(route: str, payload: dict[str, Any], accepted: Accepted) -> Intent:
    return Intent(
        id=f"intent-{route}",
        user_id=USER,
        conversation_id="c",
        name=f"submit_{route}",
        route=route,
        payload=payload,
        created_at=NOW,
        updated_at=NOW,
        goal_id=accepted.goal_id,
        task_id=accepted.task_id,
        previous=dict(accepted.previous) if accepted.previous is not None else None,
    )


def at(day: int, hour: int, minute: int = 0) -> datetime:
    """Of November, and of December after it."""
    return datetime(2026, 11, 1, hour, minute, tzinfo=HERE) + timedelta(days=day - 1)


async def test_a_goal_keeps_the_words_of_its_timeline_and_the_day_they_mean() -> None:
    house = House()
    _, accepted = await house.submit(
        "GOAL", goal_statement="Learn Spanish", timeline="in 3 months", context_notes="For Mexico"
    )
    goal = house.store.goal_rows[accepted.goal_id or ""]
    assert (goal.statement, goal.timeline) == ("Learn Spanish", "in 3 months")
    assert goal.context_notes == "For Mexico"
    assert goal.target_at is not None
    assert goal.target_at.astimezone(HERE).date().isoformat() == "2027-02-18"
    assert accepted.told["target"] == "by Thursday the eighteenth of February, twenty twenty-seven"
    assert accepted.told["summary"] == f"Learn Spanish, {accepted.told['target']}"
    assert accepted.previous is None


async def test_a_goal_with_a_timeline_nobody_can_date_is_a_goal() -> None:
    house = House()
    _, accepted = await house.submit("GOAL", goal_statement="Run", timeline="before I am old")
    goal = house.store.goal_rows[accepted.goal_id or ""]
    assert (goal.timeline, goal.target_at) == ("before I am old", None)
    assert accepted.told["timeline"] == "before I am old"


async def test_milestones_come_as_a_list_or_as_notes_written_as_one() -> None:
    house = House()
    listed = ["Buy shoes", "Run 2 km (in two weeks)", "Rest (a lot)", ""]
    _, first = await house.submit("GOAL", goal_statement="Run a 5K", milestones=listed)
    steps = await house.store.milestones([first.goal_id or ""], user_id=USER)
    assert [(s.position, s.title, s.due_at is not None) for s in steps] == [
        (0, "Buy shoes", False),
        (1, "Run 2 km", True),
        (2, "Rest (a lot)", False),
    ]
    other = House()
    notes = "Steps:\n1. Buy shoes\n2. Run 2 km"
    _, second = await other.submit("GOAL", goal_statement="Run a 5K", context_notes=notes)
    assert second.told["milestones"] == ["Buy shoes", "Run 2 km"]
    _, third = await House().submit("GOAL", goal_statement="Run", context_notes="- alone\na\nb")
    assert "milestones" not in third.told


async def test_a_goal_that_is_amended_keeps_what_did_not_change() -> None:
    """Words of an hour ago mean what they meant then, and what is done is done."""
    house = House()
    about = {"goal_statement": "Learn guitar", "timeline": "in 3 months"}
    steps = ["Buy one (in a week)", "Find a teacher", "Practice"]
    intent, first = await house.submit("GOAL", **about, milestones=steps)
    goal_id = first.goal_id or ""
    target = house.store.goal_rows[goal_id].target_at
    bought, _, practice = await house.store.milestones([goal_id], user_id=USER)
    house.store.steps[bought.id] = bought = replace(bought, completed_at=NOW)
    house.now = NOW + timedelta(days=2)
    about |= {"goal_statement": "Learn the guitar"}
    intent, told = await house.amend(intent, **about, milestones=steps)
    assert house.store.goal_rows[goal_id].target_at == target
    assert told.told["milestones"] == steps
    kept = await house.store.milestones([goal_id], user_id=USER)
    assert (kept[0], kept[2]) == (bought, practice)
    await house.amend(intent, **about, milestones=["Practice", steps[0], "Play a show"])
    now = await house.store.milestones([goal_id], user_id=USER)
    assert [step.title for step in now] == ["Practice", "Buy one", "Play a show"]
    assert now[:2] == [replace(practice, position=0), replace(bought, position=1)]
    assert now[2].created_at == house.now


async def test_the_same_intent_twice_is_the_same_row() -> None:
    house = House()
    await house.submit("GOAL", goal_statement="Run", milestones=["a", "b"])
    await house.submit("GOAL", goal_statement="Run", milestones=["a", "b"])
    await house.submit("NEW_TASK", title="x", trigger_type="time", scheduled_at="noon")
    await house.submit("NEW_TASK", title="x", trigger_type="time", scheduled_at="noon")
    rows = (len(house.store.goal_rows), len(house.store.todo_rows), len(house.store.steps))
    assert rows == (1, 1, 2)


async def test_an_amended_goal_is_the_same_goal_and_a_retracted_one_is_kept() -> None:
    house = House()
    intent, first = await house.submit("GOAL", goal_statement="Learn guitar", timeline="2 months")
    _, second = await house.amend(intent, goal_statement="Learn piano")
    goal = house.store.goal_rows[first.goal_id or ""]
    assert (second.goal_id, goal.statement, goal.timeline) == (first.goal_id, "Learn piano", None)
    await house.retract(intent)
    assert house.store.goal_rows[goal.id].status is GoalStatus.RETRACTED
    with pytest.raises(IntentRefused):
        await house.amend(intent, goal_statement="Learn drums")


async def test_a_task_at_a_time_has_the_instant_and_the_words() -> None:
    house = House()
    _, accepted = await house.submit(
        "NEW_TASK", title="Call mom", trigger_type="time", scheduled_at="this evening around 7"
    )
    todo = house.store.todo_rows[accepted.task_id or ""]
    assert (todo.title, todo.scheduled_words) == ("Call mom", "this evening around 7")
    assert todo.scheduled_at == at(18, 19)
    assert todo.scheduled_at.tzinfo is UTC
    assert (todo.recurrence_rule, todo.time_zone) == (None, ZONE)
    when = "today at seven in the evening"
    thing = {"id": todo.id, "title": "Call mom", "when": when}
    assert accepted.told == {
        "title": "Call mom",
        "when": when,
        "summary": f"Call mom, {when}",
        "things": [thing | {"at": "2026-11-18T19:00:00-05:00"}],
    }


async def test_a_recurring_task_starts_on_the_first_day_its_rule_allows() -> None:
    for payload in (
        {"scheduled_at": "6:00 AM", "recurrence_rule": "FREQ=WEEKLY;BYDAY=SA,SU"},
        {"scheduled_at": "6:00 AM", "recurrence_rule": "weekends only"},
        {"recurrence_rule": "every weekend at 6am"},
        {"scheduled_at": "every weekend at 6am"},
        {"scheduled_at": "tomorrow at 6", "recurrence_rule": "every weekend in the morning"},
    ):
        _, accepted = await House().submit(
            "NEW_TASK", title="Meditate", trigger_type="time", **payload
        )
        (change,) = accepted.changes
        assert isinstance(change, Put)
        assert isinstance(change.record, Todo)
        assert change.record.recurrence_rule == "FREQ=WEEKLY;BYDAY=SA,SU"
        assert change.record.scheduled_at is not None
        assert change.record.scheduled_at.astimezone(HERE).day == 21
        assert accepted.told["when"].startswith("every weekend day at six in the ")
        assert accepted.told["when"].endswith(", the next time on Saturday, the twenty-first")


async def test_an_hour_for_many_days_does_not_depend_on_the_hour_it_is_now() -> None:
    _, accepted = await House().submit(
        "NEW_TASK", title="x", trigger_type="time", scheduled_at="8", recurrence_rule="every day"
    )
    assert (
        accepted.told["when"]
        == "every day at eight in the morning, the next time tomorrow, Thursday"
    )


async def test_a_task_at_a_place_keeps_the_words_for_it() -> None:
    house = House()
    _, accepted = await house.submit(
        "NEW_TASK", title="Buy milk", trigger_type="location", location_trigger="away_from_home"
    )
    todo = house.store.todo_rows[accepted.task_id or ""]
    assert (todo.trigger_type, todo.location_trigger) == ("location", "away_from_home")
    assert todo.scheduled_at is None
    assert accepted.told["place"] == "away_from_home"
    assert "when" not in accepted.told


@pytest.mark.parametrize(
    ("payload", "asked"),
    [
        ({"scheduled_at": "soon"}, "What day and time"),
        ({"scheduled_at": "yesterday at 5"}, "has passed"),
        ({"scheduled_at": "8pm", "recurrence_rule": "now and then"}, "How often"),
        ({}, "When"),
    ],
)
async def test_a_task_whose_time_is_not_clear_is_refused_with_a_question(
    payload: dict[str, str], asked: str
) -> None:
    with pytest.raises(IntentRefused) as refused:
        await House().submit("NEW_TASK", title="x", trigger_type="time", **payload)
    assert asked in refused.value.suggestion
    assert refused.value.details["question"] in refused.value.suggestion
    assert refused.value.details["missing"] == ["scheduled_at"]


async def test_a_task_without_its_title_or_place_is_refused() -> None:
    with pytest.raises(IntentRefused, match="title"):
        await House().submit("NEW_TASK", trigger_type="time", scheduled_at="noon", title=" ")
    with pytest.raises(IntentRefused, match="location_trigger"):
        await House().submit("NEW_TASK", title="x", trigger_type="location")


async def test_an_amended_task_is_the_same_task_and_a_retracted_one_is_closed() -> None:
    house = House()
    intent, first = await house.submit(
        "NEW_TASK", title="Shoes", trigger_type="time", scheduled_at="Friday at noon"
    )
    await house.amend(intent, title="Shoes", trigger_type="time", scheduled_at="Saturday at noon")
    (todo,) = house.store.todo_rows.values()
    assert (todo.id, todo.scheduled_at) == (first.task_id, at(21, 12))
    await house.retract(intent)
    assert house.store.todo_rows[todo.id].status is TodoStatus.RETRACTED


async def test_a_route_without_a_handler_is_refused() -> None:
    with pytest.raises(IntentRefused, match="There is no handler for ORDER_PIZZA"):
        await House().submit("ORDER_PIZZA", size="large")


async def test_a_handler_of_somebody_elses_takes_its_route() -> None:
    class Pizza:
        async def submit(self, given: Submission) -> Accepted:
            return Accepted(told={"size": given.payload["size"]})

        async def amend(self, intent: Intent, given: Submission) -> Accepted:
            return await self.submit(given)

        async def retract(self, intent: Intent, given: Submission) -> Accepted:
            return Accepted()

    store = cast("AgendaStore", Agenda())
    orchestrator = BuiltInOrchestrator(store, handlers={"ORDER_PIZZA": Pizza()})
    accepted = await orchestrator.submit(given("ORDER_PIZZA", {"size": "large"}))
    assert accepted.told == {"size": "large"}


def test_a_handler_that_does_not_load_leaves_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = "vivavoce.intents.orchestrator.builtin:Goals"
    points = [
        EntryPoint(name="WISH", value=mine, group=builtin.GROUP),
        EntryPoint(name="NEW_TASK", value="no.such.module:Handler", group=builtin.GROUP),
    ]
    monkeypatch.setattr(builtin, "entry_points", lambda group: points)
    found = installed_handlers(cast("AgendaStore", Agenda()))
    assert sorted(found) == sorted({*builtin.OWN, "WISH"} - {"NEW_TASK"})


@pytest.mark.parametrize(
    ("words", "when"),
    [
        ("an hour before", at(20, 8, 40)),
        ("half an hour before my train", at(20, 9, 10)),
        ("the day before at noon", at(19, 12)),
        ("two hours after it", at(20, 11, 40)),
    ],
)
async def test_a_reminder_may_count_from_a_task_that_is_there(words: str, when: datetime) -> None:
    house = House()
    train = house.has("Train to Boston", at(20, 9, 40))
    _, accepted = await house.submit(
        "NEW_TASK", title="Pack", trigger_type="time", scheduled_at=words, relative_to=train.id
    )
    assert house.store.todo_rows[accepted.task_id or ""].scheduled_at == when


async def test_what_it_counts_from_is_not_guessed() -> None:
    house = House()
    house.has("Train to Boston", at(20, 9, 40))
    house.has("Train to York", at(21, 9, 40))
    house.has("Wine", None)
    pack = {"title": "Pack", "trigger_type": "time", "scheduled_at": "an hour before"}
    with pytest.raises(IntentRefused, match="More than one") as refused:
        await house.submit("NEW_TASK", **pack, relative_to="train")
    assert refused.value.details["missing"] == ["relative_to"]
    with pytest.raises(IntentRefused, match="has no time"):
        await house.submit("NEW_TASK", **pack, relative_to="wine")
