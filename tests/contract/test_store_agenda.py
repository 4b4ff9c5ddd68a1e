"""What every store promises about people and their plans, on SQLite and PostgreSQL alike."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.contract.conftest import Backend
from tests.contract.records import (
    at,
    conversation,
    delivery,
    entry,
    goal,
    intent,
    milestone,
    person,
    session,
    todo,
    uid,
)
from vivavoce.errors import InternalError, InvalidRequest
from vivavoce.runtime.ports import Retention
from vivavoce.wire.records.plans import GoalStatus, IntentStatus, TodoStatus
from vivavoce.wire.records.talk import Change, Put, PutConversation, PutEntry, PutSession

BASE: list[Change] = [PutConversation(conversation()), PutSession(session(), new=True)]

# --- Keeping --------------------------------------------------------------------


async def test_plans_are_there_after_reopening(backend: Backend) -> None:
    who = person(
        name="Ann",
        time_zone="Europe/Vienna",
        chronotype="early",
        work_start="09:00",
        work_end="17:00",
        sleep_start="22:30",
        sleep_end="06:30",
        voice="marin",
        verbosity="brief",
        auto_approve=True,
        updated_at=at(1),
    )
    wanted = goal(
        timeline="in three months",
        target_at=at(9e6),
        context_notes="Mexico",
        status=GoalStatus.COMPLETED,
        conversation_id=uid("c"),
        intent_id="i",
        updated_at=at(1),
    )
    step = milestone(due_at=at(5), completed_at=at(6))
    thing = todo(
        trigger_type="location",
        scheduled_at=at(60),
        scheduled_words="tomorrow",
        recurrence_rule="FREQ=WEEKLY;BYDAY=MO",
        recurrence_words="every Monday",
        recurs_from=at(-86400),
        moved_from=at(30),
        time_zone="Europe/Vienna",
        location_trigger="home",
        status=TodoStatus.RESCHEDULED,
        reason="rain",
        goal_id=uid("g"),
        conversation_id=uid("c"),
        intent_id="i",
        updated_at=at(2),
    )
    submitted = intent(
        status=IntentStatus.ACCEPTED,
        session_id="vs_1",
        call_id="call_1",
        evidence=(uid("e"), uid("f")),
        revision=2,
        goal_id="of another house",
        task_id="42",
        error="no",
        previous={"statement": "Learn French"},
    )
    sent = delivery(action="amend", attempts=3, last_error="503", answer={"ok": True})
    async with backend.store() as store:
        await store.commit(
            [
                Put(sent),
                Put(submitted),
                Put(step),
                Put(thing),
                Put(wanted),
                Put(who),
                *BASE,
            ]
        )
    async with backend.store() as store:
        assert await store.person("ann") == who
        assert await store.goal(uid("g"), user_id="ann") == wanted
        assert await store.milestones([uid("g")], user_id="ann") == [step]
        assert await store.todo(uid("td"), user_id="ann") == thing
        assert await store.intent("i", user_id="ann") == submitted
        assert await store.deliveries("i") == [sent]


async def test_no_plans_are_none_or_empty(backend: Backend) -> None:
    async with backend.store() as store:
        for name in ("nothing", "\0", uid("nothing")):
            assert await store.person(name) is None
            assert await store.goal(name, user_id="ann") is None
            assert await store.todo(name, user_id="ann") is None
            assert await store.intent(name, user_id="ann") is None
            assert await store.milestones([name], user_id="ann") == []
            assert await store.intents(user_id="ann", conversation_id=name) == []
            assert await store.deliveries(name) == []
        assert await store.goals(user_id="ann") == []
        assert await store.todos(user_id="ann") == []
        assert await store.milestones([], user_id="ann") == []
        assert await store.due_deliveries(before=at(0)) == []


async def test_plans_that_belong_nowhere_are_refused(backend: Backend) -> None:
    refused: list[Change] = [
        Put(goal("x", conversation_id=uid("nowhere"))),
        Put(todo("x", conversation_id=uid("nowhere"))),
        Put(todo("x", goal_id=uid("nowhere"))),
        Put(milestone(of="nowhere")),
        Put(intent(of="nowhere")),
        PutConversation(conversation(linked_goal_id=uid("nowhere"))),
        PutConversation(conversation(linked_task_id=uid("nowhere"))),
    ]
    async with backend.store() as store:
        for change in refused:
            with pytest.raises(InternalError):
                await store.commit([Put(goal("with it")), change])
        for put in (
            Put(goal(id="g")),
            Put(todo(id="td")),
            Put(todo(goal_id="g")),
            PutConversation(conversation(linked_goal_id="g")),
        ):
            with pytest.raises(InvalidRequest):
                await store.commit([put])
        assert await store.goals(user_id="ann") == []
        assert await store.conversation(uid("c"), user_id="ann") is None


# --- Writing again --------------------------------------------------------------


async def test_a_conversation_keeps_its_latest_intent_and_what_it_links_to(
    backend: Backend,
) -> None:
    told = conversation(
        extracted_intent="GOAL",
        intent_payload={"statement": "x"},
        linked_goal_id=uid("g"),
        linked_task_id=uid("td"),
    )
    async with backend.store() as store:
        # All at once: the goal is of the conversation that links to it.
        made = goal(conversation_id=uid("c"))
        await store.commit([PutConversation(told), Put(made), Put(todo())])
        assert await store.conversation(uid("c"), user_id="ann") == told
        await store.commit([PutConversation(conversation(title="T"))])
        assert await store.conversation(uid("c"), user_id="ann") == replace(told, title="T")
        await store.commit([Put(goal("h")), PutConversation(conversation(linked_goal_id=uid("h")))])
        found = await store.conversation(uid("c"), user_id="ann")
        assert found == replace(told, title="T", linked_goal_id=uid("h"))


async def test_plans_change_and_stay_where_they_began(backend: Backend) -> None:
    later: dict[str, Any] = {"created_at": at(9), "updated_at": at(9)}
    async with backend.store() as store:
        await store.commit([*BASE, Put(person(name="Ann"))])
        await store.commit(
            [Put(goal(conversation_id=uid("c"))), Put(todo(conversation_id=uid("c")))]
        )
        await store.commit([Put(milestone())])
        done = goal(status=GoalStatus.RETRACTED, statement="No", **later)
        moved = todo(status=TodoStatus.RESCHEDULED, goal_id=uid("g"), title="New", **later)
        ticked = milestone(completed_at=at(9), created_at=at(9))
        renamed = person(name="Anna", **later)
        await store.commit([Put(done), Put(moved), Put(ticked), Put(renamed)])
        began: dict[str, Any] = {"conversation_id": uid("c"), "created_at": at(0)}
        assert await store.goal(uid("g"), user_id="ann") == replace(done, **began)
        assert await store.todo(uid("td"), user_id="ann") == replace(moved, **began)
        (step,) = await store.milestones([uid("g")], user_id="ann")
        assert step == replace(ticked, created_at=at(0))
        assert await store.person("ann") == replace(renamed, created_at=at(0))
        # Who read an older one changes what they name, and nothing else.
        stale = person(name="Ann", voice=None, verbosity="brief", updated_at=at(20))
        await store.commit([Put(stale, only=("verbosity", "voice"))])
        known = replace(renamed, created_at=at(0), verbosity="brief", updated_at=at(20))
        assert await store.person("ann") == known
        unknown = person("bob", name="Bob", voice="marin")
        await store.commit([Put(unknown, only=("voice",))])
        assert await store.person("bob") == unknown


async def test_who_read_an_older_plan_changes_what_they_name_and_nothing_else(
    backend: Backend,
) -> None:
    later: dict[str, Any] = {"updated_at": at(9)}
    moved, step = todo(scheduled_at=at(50), title="New"), milestone(title="New")
    ticks: list[Change] = [
        Put(goal(status=GoalStatus.COMPLETED, **later), only=("status",)),
        Put(milestone(completed_at=at(9)), only=("completed_at",)),
        Put(todo(status=TodoStatus.COMPLETED, **later), only=("status",)),
    ]
    async with backend.store() as store:
        await store.commit(ticks)  # of what is gone
        assert await store.goals(user_id="ann") == []
        assert await store.todos(user_id="ann") == []
        await store.commit([Put(goal(statement="New")), Put(step), Put(moved)])
        not_theirs = replace(moved, user_id="bob", status=TodoStatus.COMPLETED)
        await store.commit([Put(not_theirs, only=("status",))])
        assert await store.todo(uid("td"), user_id="ann") == moved
        await store.commit(ticks)
        done = goal(statement="New", status=GoalStatus.COMPLETED, **later)
        assert await store.goal(uid("g"), user_id="ann") == done
        assert await store.milestones([uid("g")], user_id="ann") == [
            replace(step, completed_at=at(9))
        ]
        found = await store.todo(uid("td"), user_id="ann")
        assert found == replace(moved, status=TodoStatus.COMPLETED, **later)


async def test_an_intent_moves_only_forward(backend: Backend) -> None:
    def at_revision(revision: int, status: IntentStatus, words: str) -> Put:
        return Put(intent(revision=revision, status=status, payload={"words": words}))

    pending, accepted, failed, retracted = IntentStatus
    steps = [
        (0, failed, "first", True),
        (0, pending, "again", True),
        (0, pending, "same status", False),
        (0, accepted, "yes", True),
        (0, pending, "written twice", False),
        (0, failed, "late", False),
        (1, pending, "amended", True),
        (0, retracted, "of before", False),
        (1, accepted, "yes", True),
        (1, retracted, "back", True),
        (1, accepted, "too late", False),
        (2, pending, "after all", True),
    ]
    async with backend.store() as store:
        await store.commit([*BASE, Put(intent())])
        for revision, status, words, written in steps:
            await store.commit([at_revision(revision, status, words)])
            found = await store.intent("i", user_id="ann")
            assert found is not None
            now = (found.revision, found.status, found.payload)
            assert (now == (revision, status, {"words": words})) is written
        other = replace(intent(revision=9), name="x", route="y", call_id="z", created_at=at(9))
        await store.commit([Put(other)])
        assert await store.intent("i", user_id="ann") == intent(revision=9)


async def test_an_answered_delivery_stays_answered(backend: Backend) -> None:
    async with backend.store() as store:
        for status in ("delivered", "refused"):
            first = delivery(status)
            tried = replace(first, attempts=1, last_error="503", due_at=at(9), updated_at=at(1))
            answered = replace(tried, status=status, answer={"id": 7}, attempts=2)
            await store.commit([Put(first)])
            await store.commit([Put(replace(tried, body={"other": 1}))])
            assert tried in await store.deliveries("i")
            await store.commit([Put(answered)])
            await store.commit([Put(tried), Put(replace(answered, answer=None))])
            assert answered in await store.deliveries("i")


# --- Lists ----------------------------------------------------------------------


async def test_goals_come_newest_first_and_milestones_in_their_order(backend: Backend) -> None:
    goals = [goal(str(n), created_at=at(n)) for n in range(4)]
    goals[1] = replace(goals[1], status=GoalStatus.COMPLETED)
    steps = [milestone(f"{of}{n}", of=str(of), position=n) for of in (0, 1) for n in (2, 0, 1)]
    async with backend.store() as store:
        await store.commit([*map(Put, goals), Put(goal("bob's", user_id="bob"))])
        await store.commit([*map(Put, steps)])
        assert await store.goals(user_id="ann") == goals[::-1]
        assert await store.goals(user_id="ann", limit=2, offset=1) == [goals[2], goals[1]]
        assert await store.goals(user_id="ann", status="completed") == [goals[1]]
        assert await store.goals(user_id="ann", limit=-1, offset=-1) == []
        found = await store.milestones([uid("0"), uid("1"), "none"], user_id="ann")
        assert [each.id for each in found] == [
            f"{of}{n}" for of in sorted("01", key=uid) for n in (0, 1, 2)
        ]
        assert await store.milestones([uid("0")], user_id="bob") == []


async def test_todos_come_by_when_they_are_due(backend: Backend) -> None:
    todos = [
        todo("soon", scheduled_at=at(10)),
        todo("moved", scheduled_at=at(20), status=TodoStatus.RESCHEDULED),
        todo("done", scheduled_at=at(30), status=TodoStatus.COMPLETED),
        todo("recurs", scheduled_at=at(40), recurrence_rule="FREQ=DAILY"),
        todo("later", scheduled_at=at(50)),
        todo("at home", trigger_type="location"),
        todo("somewhere", trigger_type="location", created_at=at(1)),
    ]
    async with backend.store() as store:
        await store.commit([*map(Put, todos), Put(todo("bob's", user_id="bob"))])
        assert await store.todos(user_id="ann") == todos
        assert await store.todos(user_id="ann", limit=2, offset=1) == todos[1:3]

        found = await store.todos(user_id="ann", open_only=True)
        assert found == [one for one in todos if one.title != "done"]


async def test_what_is_done_comes_latest_first(backend: Backend) -> None:
    done = [
        todo(str(n), status=TodoStatus.COMPLETED, scheduled_at=at(9 - n), updated_at=at(n))
        for n in range(3)
    ]
    bobs = todo("bob's", user_id="bob", status=TodoStatus.COMPLETED)
    async with backend.store() as store:
        await store.commit([*map(Put, done), Put(todo("open")), Put(bobs)])
        assert await store.done_todos(user_id="ann", limit=9) == done[::-1]
        assert await store.done_todos(user_id="ann", limit=1, offset=1) == [done[1]]


async def test_intents_come_newest_first(backend: Backend) -> None:
    made = [intent(str(n), created_at=at(n)) for n in range(3)]
    made[1] = intent("1", of="other", created_at=at(1))
    async with backend.store() as store:
        await store.commit([*BASE, PutConversation(conversation("other"))])
        await store.commit([*map(Put, made)])
        assert await store.intents(user_id="ann") == made[::-1]
        assert await store.intents(user_id="ann", limit=1) == [made[2]]
        found = await store.intents(user_id="ann", conversation_id=uid("other"))
        assert found == [made[1]]


async def test_deliveries_of_an_intent_go_out_one_after_another(backend: Backend) -> None:
    first = delivery("1", of="a")
    second = delivery("0", of="a", created_at=at(1), action="amend")
    other = delivery("2", of="b", user_id="bob", created_at=at(2))
    later = delivery("3", of="c", due_at=at(100))
    async with backend.store() as store:
        await store.commit([*map(Put, (other, later, second, first))])
        assert await store.due_deliveries(before=at(0)) == [first, other]
        assert await store.due_deliveries(before=at(0), limit=1) == [first]
        assert await store.due_deliveries(before=at(100)) == [first, later, other]
        assert await store.due_deliveries(before=at(100), limit=1, after=first) == [later]
        assert await store.due_deliveries(before=at(100), after=other) == []
        assert await store.due_deliveries(before=at(-1)) == []
        # While the first waits for its next try, the second waits for the first.
        await store.commit([Put(replace(first, due_at=at(50)))])
        assert await store.due_deliveries(before=at(0)) == [other]
        await store.commit([Put(replace(first, status="refused"))])
        assert await store.due_deliveries(before=at(0)) == [second, other]
        assert [each.id for each in await store.deliveries("a")] == ["1", "0"]


# --- Users ----------------------------------------------------------------------


async def test_plans_of_one_user_are_not_another_s(backend: Backend) -> None:
    mine: list[Change] = [
        Put(goal()),
        Put(milestone()),
        Put(todo()),
        Put(intent()),
        Put(delivery()),
    ]
    stolen: list[Change] = [
        Put(goal(user_id="bob", statement="x")),
        Put(todo(user_id="bob", title="x")),
        Put(intent(user_id="bob", revision=9)),
        Put(milestone(user_id="bob", title="x")),
        Put(delivery(user_id="bob", status="refused")),
    ]
    theirs = conversation("theirs", user_id="bob")
    intrusions: list[Change] = [
        Put(goal("x", user_id="bob", conversation_id=uid("c"))),
        Put(todo("x", user_id="bob", goal_id=uid("g"))),
        Put(milestone("x", user_id="bob")),
        Put(intent("x", user_id="bob")),
        PutConversation(replace(theirs, linked_goal_id=uid("g"))),
        PutConversation(replace(theirs, linked_task_id=uid("td"))),
    ]
    async with backend.store() as store:
        await store.commit([*BASE, *mine, PutConversation(theirs)])
        await store.commit(stolen)
        for change in intrusions:
            with pytest.raises(InternalError):
                await store.commit([change])
        assert await store.goal(uid("g"), user_id="bob") is None
        assert await store.todo(uid("td"), user_id="bob") is None
        assert await store.intent("i", user_id="bob") is None
        assert await store.goal(uid("g"), user_id="ann") == goal()
        assert await store.todo(uid("td"), user_id="ann") == todo()
        assert await store.intent("i", user_id="ann") == intent()
        assert await store.milestones([uid("g")], user_id="ann") == [milestone()]
        assert await store.deliveries("i") == [delivery()]
        assert await store.conversation(uid("theirs"), user_id="bob") == theirs


# --- Retention ------------------------------------------------------------------


async def test_plans_outlive_their_conversation_and_intents_do_not(backend: Backend) -> None:
    linked = conversation(linked_goal_id=uid("g"), linked_task_id=uid("td"))
    wanted = goal(conversation_id=uid("c"))
    thing = todo(conversation_id=uid("c"), goal_id=uid("g"))
    async with backend.store() as store:
        plans: list[Change] = [Put(wanted), Put(thing), Put(delivery())]
        said: list[Change] = [PutEntry(entry("e")), Put(intent())]
        await store.commit([PutConversation(linked), *said, *plans])
        # The conversation, its entry and its intent.
        assert await store.sweep(Retention(None, None, conversations=60), at(120)) == 3
        assert await store.conversation(uid("c"), user_id="ann") is None
        assert await store.intents(user_id="ann") == []
        assert await store.goal(uid("g"), user_id="ann") == replace(wanted, conversation_id=None)
        assert await store.todo(uid("td"), user_id="ann") == replace(thing, conversation_id=None)
        assert await store.due_deliveries(before=at(0)) == [delivery()]
        changed = replace(thing, title="New")
        await store.commit([Put(changed)])
        found = await store.todo(uid("td"), user_id="ann")
        assert found == replace(changed, conversation_id=None)


async def test_answered_deliveries_go_with_the_log(backend: Backend) -> None:
    async with backend.store() as store:
        await store.commit(
            [
                Put(delivery("waits")),
                Put(delivery("old", status="delivered")),
                Put(delivery("older", status="refused")),
                Put(delivery("young", status="delivered", updated_at=at(100))),
            ]
        )
        assert await store.sweep(Retention(None, log=60, conversations=1), at(120)) == 2
        assert {each.id for each in await store.deliveries("i")} == {"waits", "young"}
