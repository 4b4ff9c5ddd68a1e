"""Plans, intents, profile, preferences and usage of the Conversations API."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

from tests.server.doors import Doors, doors, refused
from tests.server.v1 import client as v1
from tests.server.v1.client import SESSIONS, V1
from vivavoce.wire.records.plans import (
    Goal,
    GoalStatus,
    Intent,
    IntentStatus,
    Milestone,
    Todo,
    TodoStatus,
)
from vivavoce.wire.records.talk import Put, PutSession, new_id

EVE: dict[str, Any] = {"headers": {"x-user-id": "eve"}}


async def _planned(d: Doors) -> tuple[Goal, Todo, Intent]:
    """A goal with two steps, two tasks, and the intent that the goal came from."""
    opened = await d.post(SESSIONS)
    now = d.here.clock.now()
    whose: dict[str, Any] = {
        "user_id": "local",
        "conversation_id": opened["conversation_id"],
        "created_at": now,
        "updated_at": now,
    }
    goal = Goal(id=new_id(), statement="Learn Spanish", timeline="in three months", **whose)
    steps = [
        Milestone(
            id=new_id(),
            goal_id=goal.id,
            user_id="local",
            title=title,
            position=position,
            created_at=now,
        )
        for position, title in enumerate(["Order coffee", "Read a book"])
    ]
    todo = Todo(
        id=new_id(), title="Run", trigger_type="time", scheduled_at=now, goal_id=goal.id, **whose
    )
    done = Todo(
        id=new_id(),
        title="Milk",
        trigger_type="location",
        location_trigger="the shop",
        status=TodoStatus.COMPLETED,
        **whose,
    )
    intent = Intent(
        id=new_id(),
        name="submit_goal_intent",
        route="GOAL",
        payload={"goal_statement": "Learn Spanish"},
        status=IntentStatus.ACCEPTED,
        goal_id=goal.id,
        evidence=(new_id(),),
        **whose,
    )
    await d.here.journal.commit(
        [
            Put(goal),
            *map(Put, steps),
            Put(todo),
            Put(done),
            Put(intent),
        ]
    )
    return goal, todo, intent


async def test_goals_are_shown_with_their_milestones_to_their_owner(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        goal, _, _ = await _planned(d)
        (shown,) = (await d.get(f"{V1}/goals"))["goals"]
        assert (shown["id"], shown["statement"]) == (goal.id, "Learn Spanish")
        assert shown["timeline"] == "in three months"
        assert [step["title"] for step in shown["milestones"]] == ["Order coffee", "Read a book"]
        assert await d.get(f"{V1}/goals/{goal.id}") == shown
        assert (await d.get(f"{V1}/goals", params={"status": "completed"}))["goals"] == []
        assert (await d.get(f"{V1}/goals", **EVE))["goals"] == []
        refused(await d.http.get(f"{V1}/goals/{goal.id}", **EVE), 404, "not_found")
        refused(await d.http.get(f"{V1}/goals/{uuid4()}"), 404, "not_found")


async def test_tasks_are_shown_to_their_owner_and_the_open_ones_alone_if_wanted(
    tmp_path: Path,
) -> None:
    async with doors(tmp_path) as d:
        _, todo, _ = await _planned(d)
        titles = [one["title"] for one in (await d.get(f"{V1}/tasks"))["tasks"]]
        assert titles == ["Run", "Milk"]
        (shown,) = (await d.get(f"{V1}/tasks", params={"open_only": True}))["tasks"]
        assert (shown["id"], shown["status"]) == (todo.id, "active")
        assert await d.get(f"{V1}/tasks/{todo.id}") == shown
        assert (await d.get(f"{V1}/tasks", **EVE))["tasks"] == []
        refused(await d.http.get(f"{V1}/tasks/{todo.id}", **EVE), 404, "not_found")


async def test_a_recurring_task_is_shown_at_its_next_time_and_kept_where_it_began(
    tmp_path: Path,
) -> None:
    async with doors(tmp_path) as d:
        _, run, _ = await _planned(d)
        now = d.here.clock.now().replace(minute=30, second=0, microsecond=0)
        began = now - timedelta(days=30, hours=1)
        daily = replace(run, id=new_id(), scheduled_at=began, recurrence_rule="FREQ=DAILY")
        hostile = replace(daily, id=new_id(), recurrence_rule="FREQ=SECONDLY")
        await d.here.journal.commit([Put(daily), Put(hostile)])
        listed = (await d.get(f"{V1}/tasks"))["tasks"]
        assert [one["id"] for one in listed][:3] == [hostile.id, run.id, daily.id]
        shown = await d.get(f"{V1}/tasks/{daily.id}")
        at = datetime.fromisoformat(shown["scheduled_at"])
        assert (at - began) % timedelta(days=1) == timedelta(0)
        assert timedelta(0) < at - d.here.clock.now() <= timedelta(days=1)
        assert (await d.here.agenda.todo(daily.id, "local")).scheduled_at == began


async def test_of_a_task_that_recurs_one_time_is_done_or_moved_and_the_rest_stays(
    tmp_path: Path,
) -> None:
    async with doors(tmp_path) as d:
        _, run, _ = await _planned(d)
        soon = d.here.clock.now().replace(second=0, microsecond=0) + timedelta(hours=2)
        daily = replace(run, id=new_id(), scheduled_at=soon, recurrence_rule="FREQ=DAILY")
        await d.here.journal.commit([Put(daily)])
        path = f"{V1}/tasks/{daily.id}"

        later = {"to": (soon + timedelta(hours=1)).isoformat()}
        moved = await d.post(f"{path}/move", later)
        assert datetime.fromisoformat(moved["scheduled_at"]) == soon + timedelta(hours=1)
        assert moved["status"] == "rescheduled"
        done = await d.post(f"{path}/done")
        assert datetime.fromisoformat(done["scheduled_at"]) == soon + timedelta(days=1)
        assert (done["status"], done["recurrence_rule"]) == ("rescheduled", "FREQ=DAILY")

        once = f"{V1}/tasks/{run.id}"
        assert (await d.post(f"{once}/done"))["status"] == "completed"
        latest = (await d.get(f"{V1}/tasks", params={"done_only": True}))["tasks"]
        assert [one["title"] for one in latest] == ["Run", "Milk"]
        refused(await d.http.post(f"{once}/move", json=later), 409, "conflict")
        for each in ("done", "move"):
            body = None if each == "done" else later
            refused(await d.http.post(f"{path}/{each}", json=body, **EVE), 404, "not_found")
        milk = f"{V1}/tasks/{latest[1]['id']}"
        refused(await d.http.post(f"{milk}/move", json=later), 409, "conflict")
        refused(await d.http.post(f"{path}/move", json={"to": "soon"}), 400, "invalid_request")


async def test_plans_are_ticked_off_by_their_owner_and_taken_up_again(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        goal, todo, _ = await _planned(d)
        path = f"{V1}/goals/{goal.id}"
        before = await d.get(path)
        step = f"{path}/milestones/{before['milestones'][1]['id']}"
        task = f"{V1}/tasks/{todo.id}"
        done, open_again = {"status": "completed"}, {"status": "active"}
        for one in (path, step, task):
            refused(await d.http.patch(one, json=done, **EVE), 404, "not_found")
            for wrong in ({"status": "retracted"}, {"status": None}, {}, done | {"x": "y"}):
                refused(await d.http.patch(one, json=wrong), 400, "invalid_request")

        ticked = await d.patch(step, done)
        assert ticked["completed_at"] is not None
        assert await d.patch(step, done) == ticked
        assert [s["completed_at"] for s in (await d.get(path))["milestones"]] == [
            *(None, ticked["completed_at"])
        ]
        assert (await d.patch(path, done))["status"] == "completed"
        assert (await d.get(path))["milestones"][0]["completed_at"] is None
        assert (await d.patch(task, done))["status"] == "completed"
        assert (await d.get(f"{V1}/tasks", params={"open_only": True}))["tasks"] == []

        assert (await d.patch(step, open_again))["completed_at"] is None
        assert (await d.patch(path, open_again))["status"] == "active"
        assert (await d.patch(task, open_again))["status"] == "active"
        elsewhere = f"{V1}/goals/{uuid4()}/milestones/{before['milestones'][1]['id']}"
        refused(await d.http.patch(elsewhere, json=done), 404, "not_found")
        refused(await d.http.patch(f"{path}/milestones/{uuid4()}", json=done), 404, "not_found")


async def test_a_goal_is_made_changed_and_taken_away_by_its_owner(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        made = await d.post(f"{V1}/goals", {"statement": " Learn  Welsh ", "timeline": "in May"})
        assert (made["statement"], made["timeline"]) == ("Learn Welsh", "in May")
        assert made["target_at"][5:7] == "05"
        path = f"{V1}/goals/{made['id']}"
        changed = await d.http.patch(path, json={"timeline": None, "context_notes": "With Nan"})
        assert (changed.json()["target_at"], changed.json()["context_notes"]) == (None, "With Nan")
        assert await d.get(path) == changed.json()
        refused(await d.http.delete(path, **EVE), 404, "not_found")
        for _ in range(2):
            assert (await d.http.delete(path)).status_code == 204
        refused(await d.http.get(path), 404, "not_found")
        (listed,) = (await d.get(f"{V1}/goals", params={"status": "retracted"}))["goals"]
        assert (listed["id"], listed["status"]) == (made["id"], "retracted")
        refused(await d.http.patch(path, json={"statement": "Learn Irish"}), 409, "conflict")


async def test_a_task_is_made_by_a_time_by_words_or_by_a_place(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        at = "2027-01-31T14:30:00.000Z"
        by_time = await d.post(f"{V1}/tasks", {"title": "Run", "scheduled_at": at})
        assert (by_time["scheduled_at"], by_time["trigger_type"]) == (at, "time")
        words = await d.post(f"{V1}/tasks", {"title": "Yoga", "when": "every Monday at 6 pm"})
        assert words["recurrence_rule"] == "FREQ=WEEKLY;BYDAY=MO"
        place = await d.post(f"{V1}/tasks", {"title": "Milk", "location_trigger": "the shop"})
        assert (place["trigger_type"], place["scheduled_at"]) == ("location", None)
        path = f"{V1}/tasks/{place['id']}"
        moved = (await d.http.patch(path, json={"scheduled_at": at, "title": "Oat milk"})).json()
        assert (moved["title"], moved["scheduled_at"]) == ("Oat milk", at)
        assert (moved["trigger_type"], moved["location_trigger"]) == ("time", None)
        assert (await d.http.delete(path)).status_code == 204
        open_ones = await d.get(f"{V1}/tasks", params={"open_only": True})
        assert [one["title"] for one in open_ones["tasks"]] == ["Yoga", "Run"]


async def test_a_task_without_a_time_that_can_be_told_is_refused(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        for wrong in (
            {"title": "Run"},
            {"title": "Run", "when": "when the cows come home"},
            {"title": "Run", "when": "noon", "location_trigger": "home"},
            {"title": "Run", "when": "tomorrow at 5", "recurrence_rule": "FREQ=SECONDLY"},
            {"title": "\u200b\n", "when": "tomorrow at 5 pm"},
            {"title": "Run", "scheduled_at": "soon"},
        ):
            refused(await d.http.post(f"{V1}/tasks", json=wrong), 400, "invalid_request")
        for_nothing = {"title": "Run", "when": "tomorrow at 5", "goal_id": str(uuid4())}
        refused(await d.http.post(f"{V1}/tasks", json=for_nothing), 404, "not_found")
        assert (await d.get(f"{V1}/tasks"))["tasks"] == []


async def test_what_was_retracted_is_not_ticked_off_and_what_was_moved_is_still_to_be_done(
    tmp_path: Path,
) -> None:
    async with doors(tmp_path) as d:
        goal, todo, _ = await _planned(d)
        moved = replace(todo, status=TodoStatus.RESCHEDULED)
        await d.here.journal.commit([Put(moved)])
        path = f"{V1}/tasks/{todo.id}"
        assert (await d.patch(path, {"status": "active"}))["status"] == "rescheduled"
        steps = (await d.get(f"{V1}/goals/{goal.id}"))["milestones"]
        await d.here.journal.commit(
            [
                Put(replace(todo, status=TodoStatus.RETRACTED)),
                Put(replace(goal, status=GoalStatus.RETRACTED)),
            ]
        )
        step = f"{V1}/goals/{goal.id}/milestones/{steps[0]['id']}"
        for one in (path, f"{V1}/goals/{goal.id}", step):
            for status in ("completed", "active"):
                answer = await d.http.patch(one, json={"status": status})
                refused(answer, 409, "conflict")


async def test_a_backend_may_name_its_goals_and_tasks_as_it_likes(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        _, _, intent = await _planned(d)
        await d.here.journal.commit([Put(replace(intent, goal_id="G-17", revision=1))])
        (shown,) = (await d.get(f"{V1}/intents"))["intents"]
        assert shown["goal_id"] == "G-17"
        spec = (await d.http.get("/openapi.json")).json()["components"]["schemas"]
        for name in ("goal_id", "task_id"):
            assert "uuid" not in str(spec["IntentView"]["properties"][name].get("anyOf"))


async def test_a_session_can_begin_with_the_task_of_a_notification(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        _, todo, _ = await _planned(d)
        theirs = await d.http.post(SESSIONS, json={"task_id": todo.id}, **EVE)
        refused(theirs, 404, "not_found")
        opened = await d.post(SESSIONS, {"task_id": todo.id})
        call = await v1.connect(d, opened)
        assert "Run" in call.session["instructions"]


async def test_intents_are_shown_with_the_messages_they_came_from(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        _, _, intent = await _planned(d)
        query = {"conversation_id": intent.conversation_id}
        (shown,) = (await d.get(f"{V1}/intents", params=query))["intents"]
        assert (shown["intent"], shown["status"]) == ("GOAL", "accepted")
        assert shown["payload"] == {"goal_statement": "Learn Spanish"}
        assert shown["evidence"] == list(intent.evidence)
        assert (await d.get(f"{V1}/intents"))["intents"] == [shown]
        assert (await d.get(f"{V1}/intents", **EVE))["intents"] == []
        nowhere = {"conversation_id": str(uuid4())}
        refused(await d.http.get(f"{V1}/intents", params=nowhere), 404, "not_found")


OWL = "a night owl, slow before ten"


async def test_a_profile_is_changed_field_by_field(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        empty = await d.get(f"{V1}/profile")
        assert empty == {
            "user_id": "local",
            **dict.fromkeys(["name", "time_zone", "chronotype", "work_hours", "sleep_window"]),
        }
        hours = {"start": "09:00", "end": "17:30"}
        changed = await d.patch(f"{V1}/profile", {"name": "Ana", "work_hours": hours})
        assert changed == empty | {"name": "Ana", "work_hours": hours}
        zone = {
            "time_zone": "Europe/Berlin",
            "work_hours": None,
            "chronotype": OWL,
        }
        changed = await d.patch(f"{V1}/profile", zone)
        assert changed == empty | {"name": "Ana"} | zone
        assert await d.get(f"{V1}/profile") == changed
        words = {"chronotype": " early\n<b>bird</b> "}
        assert (await d.patch(f"{V1}/profile", words))["chronotype"] == "early ‹b›bird‹/b›"
        changed = await d.patch(f"{V1}/profile", zone)
        assert (await d.get(f"{V1}/profile", **EVE))["name"] is None


async def test_a_profile_takes_only_what_makes_sense(tmp_path: Path) -> None:
    wrongs: list[Any] = [
        {"time_zone": "Mars/Olympus"},
        {"time_zone": "../../etc/passwd"},
        {"time_zone": ""},
        {"chronotype": "x" * 41},
        {"work_hours": {"start": "9:00", "end": "17:00"}},
        {"work_hours": {"start": "24:00", "end": "17:00"}},
        {"work_hours": {"start": "09:00"}},
        {"sleep_window": "22:00"},
        {"name": "x" * 201},
        {"user_id": "eve"},
    ]
    async with doors(tmp_path) as d:
        for wrong in wrongs:
            refused(await d.http.patch(f"{V1}/profile", json=wrong), 400, "invalid_request")
        assert (await d.get(f"{V1}/profile"))["time_zone"] is None


async def test_preferences_hold_for_the_next_session(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        path = f"{V1}/preferences"
        first = {"voice": None, "verbosity": "normal", "auto_approve": False}
        first["may_auto_approve"] = True
        assert await d.get(path) == first
        changed = await d.patch(path, {"voice": "cedar", "verbosity": "brief"})
        assert changed == first | {"voice": "cedar", "verbosity": "brief"}
        assert await d.patch(path, {"auto_approve": True}) == changed | {"auto_approve": True}
        _, call = await v1.talk(d)
        assert call.session["audio"]["output"]["voice"] == "cedar"
        assert (await d.patch(path, {"voice": None}))["voice"] is None
        for wrong in (
            {"voice": "nobody"},
            {"verbosity": "loud"},
            {"verbosity": None},
            {"auto_approve": "yes"},
            {"name": "x"},
        ):
            refused(await d.http.patch(path, json=wrong), 400, "invalid_request")


async def test_usage_is_what_the_sessions_took_and_what_is_left(tmp_path: Path) -> None:
    async with doors(tmp_path) as d:
        opened = await d.post(SESSIONS)
        session = await d.here.store.session(opened["session_id"], user_id="local")
        assert session is not None
        spent = replace(session, input_tokens=1000, output_tokens=500, cost_micros=230_000)
        await d.here.journal.commit([PutSession(spent)])
        usage = await d.get(f"{V1}/usage")
        told = {"input_tokens": 1000, "output_tokens": 500, "cost_usd": 0.23}
        assert {name: usage["today"][name] for name in told} == told
        assert usage["today"]["sessions"] == 1
        (one,) = usage["sessions"]
        assert {name: one[name] for name in told} == told
        assert one["session_id"] == opened["session_id"]
        assert set(usage["budget"]) == {
            *("tokens_per_day", "tokens_left", "cost_usd_per_day", "cost_usd_left"),
            *("sessions_per_day", "sessions_left"),
        }
        theirs = await d.get(f"{V1}/usage", **EVE)
        assert (theirs["today"]["sessions"], theirs["sessions"]) == (0, [])
