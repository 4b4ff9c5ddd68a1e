"""People, plans, intents and deliveries to rows and back."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Row

from vivavoce.store.rows import Columns, Fields, named, named_or_none
from vivavoce.wire.records.plans import (
    Delivery,
    Goal,
    GoalStatus,
    Intent,
    IntentStatus,
    Milestone,
    Person,
    Spent,
    Todo,
    TodoStatus,
)

_PEOPLE = Columns(Person)
_GOALS = Columns(Goal)
_MILESTONES = Columns(Milestone)
_TODOS = Columns(Todo)
_INTENTS = Columns(Intent, session_id="voice_session_id")
_DELIVERIES = Columns(Delivery)


def person_row(record: Person) -> Fields:
    return _PEOPLE.row(record)


def goal_row(record: Goal) -> Fields:
    row = _GOALS.row(record)
    row["id"] = named(record.id)
    row["conversation_id"] = named_or_none(record.conversation_id)
    row["status"] = record.status.value
    return row


def milestone_row(record: Milestone) -> Fields:
    row = _MILESTONES.row(record)
    row["goal_id"] = named(record.goal_id)
    return row


def todo_row(record: Todo) -> Fields:
    row = _TODOS.row(record)
    row["id"] = named(record.id)
    row["conversation_id"] = named_or_none(record.conversation_id)
    row["goal_id"] = named_or_none(record.goal_id)
    row["status"] = record.status.value
    return row


def intent_row(record: Intent) -> Fields:
    row = _INTENTS.row(record)
    row["conversation_id"] = named(record.conversation_id)
    row["status"] = record.status.value
    return row


def delivery_row(record: Delivery) -> Fields:
    return _DELIVERIES.row(record)


def to_person(row: Row[Any]) -> Person:
    return _PEOPLE.record(row)


def to_goal(row: Row[Any]) -> Goal:
    return _GOALS.record(row, status=GoalStatus(row.status))


def to_milestone(row: Row[Any]) -> Milestone:
    return _MILESTONES.record(row)


def to_todo(row: Row[Any]) -> Todo:
    return _TODOS.record(row, status=TodoStatus(row.status))


def to_intent(row: Row[Any]) -> Intent:
    return _INTENTS.record(row, status=IntentStatus(row.status), evidence=tuple(row.evidence))


def to_delivery(row: Row[Any]) -> Delivery:
    return _DELIVERIES.record(row)


def to_spent(row: Row[Any]) -> Spent:
    return Spent(
        sessions=row.sessions,
        input_tokens=int(row.input_tokens or 0),
        output_tokens=int(row.output_tokens or 0),
        cost_micros=int(row.cost_micros or 0),
        since=row.since,
    )
