"""What a change does to the plans in `MemoryStore`, and who may link to what."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from vivavoce.errors import InternalError
from vivavoce.store.limits import Past, refusal
from vivavoce.wire.records.plans import (
    NEVER_BEGAN,
    Delivery,
    Goal,
    Intent,
    IntentStatus,
    Milestone,
    Person,
    SessionLimits,
    Todo,
)
from vivavoce.wire.records.talk import Conversation, Status, VoiceSession

if TYPE_CHECKING:  # the tables are made of these
    from vivavoce.testing.memory_tables import Tables

ORPHAN = "The store refused a record that belongs to nothing it knows."


def belongs(tables: Tables, conversation_id: str | None, user_id: str) -> None:
    if conversation_id is not None:
        _same_owner(tables.conversations.get(conversation_id), user_id)


def _same_owner(found: Conversation | Goal | Todo | None, user_id: str) -> None:
    if found is None or found.user_id != user_id:
        raise InternalError(ORPHAN)


def link(tables: Tables, wanted: Conversation) -> None:
    """Last of all: a goal is of a conversation that links to it."""
    there = tables.conversations[wanted.id]
    if there.user_id != wanted.user_id:
        return
    if wanted.linked_goal_id is not None:
        _same_owner(tables.goals.get(wanted.linked_goal_id), wanted.user_id)
        there = replace(there, linked_goal_id=wanted.linked_goal_id)
    if wanted.linked_task_id is not None:
        _same_owner(tables.todos.get(wanted.linked_task_id), wanted.user_id)
        there = replace(there, linked_task_id=wanted.linked_task_id)
    tables.conversations[wanted.id] = there


def put_person(tables: Tables, person: Person, only: tuple[str, ...]) -> None:
    there = tables.people.get(person.id, person)
    if only:
        changed = {name: getattr(person, name) for name in (*only, "updated_at")}
        tables.people[person.id] = replace(there, **changed)
    else:
        tables.people[person.id] = replace(person, created_at=there.created_at)


def put_goal(tables: Tables, goal: Goal, only: tuple[str, ...] = ()) -> None:
    there = tables.goals.get(goal.id)
    if only:
        if there is not None and there.user_id == goal.user_id:
            tables.goals[goal.id] = replace(there, **_some(goal, (*only, "updated_at")))
    elif there is None:
        belongs(tables, goal.conversation_id, goal.user_id)
        tables.goals[goal.id] = goal
    elif there.user_id == goal.user_id:
        tables.goals[goal.id] = replace(
            goal, conversation_id=there.conversation_id, created_at=there.created_at
        )


def put_milestone(tables: Tables, milestone: Milestone, only: tuple[str, ...] = ()) -> None:
    there = tables.milestones.get(milestone.id)
    if only:
        if there is not None and there.user_id == milestone.user_id:
            tables.milestones[milestone.id] = replace(there, **_some(milestone, only))
    elif there is None:
        _same_owner(tables.goals.get(milestone.goal_id), milestone.user_id)
        tables.milestones[milestone.id] = milestone
    elif (there.user_id, there.goal_id) == (milestone.user_id, milestone.goal_id):
        tables.milestones[milestone.id] = replace(milestone, created_at=there.created_at)


def put_todo(tables: Tables, todo: Todo, only: tuple[str, ...] = ()) -> None:
    there = tables.todos.get(todo.id)
    if there is not None and there.user_id != todo.user_id:
        return
    if only:
        if there is not None:
            tables.todos[todo.id] = replace(there, **_some(todo, (*only, "updated_at")))
        return
    if todo.goal_id is not None:
        _same_owner(tables.goals.get(todo.goal_id), todo.user_id)
    if there is None:
        belongs(tables, todo.conversation_id, todo.user_id)
        tables.todos[todo.id] = todo
    else:
        tables.todos[todo.id] = replace(
            todo, conversation_id=there.conversation_id, created_at=there.created_at
        )


def _some(record: Goal | Milestone | Todo, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(record, name) for name in names}


def put_intent(tables: Tables, intent: Intent) -> None:
    there = tables.intents.get(intent.id)
    if there is None:
        belongs(tables, intent.conversation_id, intent.user_id)
        tables.intents[intent.id] = intent
        return
    place = (there.user_id, there.conversation_id)
    if place == (intent.user_id, intent.conversation_id) and _forward(there, intent):
        tables.intents[intent.id] = replace(
            intent,
            name=there.name,
            route=there.route,
            session_id=there.session_id,
            call_id=there.call_id,
            created_at=there.created_at,
        )


def _forward(old: Intent, new: Intent) -> bool:
    if old.revision != new.revision:
        return new.revision > old.revision
    match old.status:
        case IntentStatus.PENDING | IntentStatus.FAILED:
            return new.status is not old.status
        case IntentStatus.ACCEPTED:
            return new.status is IntentStatus.RETRACTED
        case _:
            return False


def put_delivery(tables: Tables, delivery: Delivery) -> None:
    there = tables.deliveries.get(delivery.id)
    if there is None:
        tables.deliveries[delivery.id] = delivery
        return
    place = (there.user_id, there.intent_id)
    if place == (delivery.user_id, delivery.intent_id) and there.status == "pending":
        tables.deliveries[delivery.id] = replace(
            there,
            status=delivery.status,
            attempts=delivery.attempts,
            last_error=delivery.last_error,
            answer=delivery.answer,
            due_at=delivery.due_at,
            updated_at=delivery.updated_at,
        )


def hold(tables: Tables, session: VoiceSession, limits: SessionLimits | None) -> None:
    """Raises where the user has had enough."""
    if limits is None:
        return
    past = [
        Past(
            each.conversation_id,
            each.created_at,
            each.status is Status.ACTIVE and each.ended_at is None and bool(each.voice),
            each.counted,
            each.input_tokens + each.output_tokens,
            each.cost_micros,
            bool(each.voice) and each.end_reason != NEVER_BEGAN,
        )
        for each in (*tables.sessions.values(), *tables.dropped.values())
        if each.user_id == session.user_id
    ]
    fault = refusal(
        limits,
        past,
        at=session.created_at,
        conversation_id=session.conversation_id,
        counted=session.counted,
    )
    if fault is not None:
        raise fault
