"""NEW_TASK: something to be done at a time, again and again, or at a place."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from vivavoce.errors import IntentRefused
from vivavoce.intents.embedded_ports import gone, needed, text
from vivavoce.intents.recurrence import next_occurrence, recurrence
from vivavoce.intents.when import spoken, understand
from vivavoce.runtime.agenda_ports import AgendaStore
from vivavoce.runtime.intent_ports import Accepted
from vivavoce.wire.agenda import Intent, Submission, Todo, TodoStatus
from vivavoce.wire.records import PutTodo, entry_id

WHEN = "When should it be?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """When a task is due, understood, with what the model should know about it."""

    at: datetime
    rule: str | None = None
    assumed: str | None = None


class Tasks:
    def __init__(self, store: AgendaStore) -> None:
        self._store = store

    async def submit(self, given: Submission) -> Accepted:
        todo = Todo(
            id=entry_id(given.intent_id, "task"),
            user_id=given.user_id,
            title="",
            trigger_type="time",
            created_at=given.now,
            updated_at=given.now,
            conversation_id=given.conversation_id,
            intent_id=given.intent_id,
        )
        return await self._as_given(todo, given)

    async def amend(self, intent: Intent, given: Submission) -> Accepted:
        todo = await self._todo(intent)
        if not todo.status.open:
            raise gone("task")
        return await self._as_given(todo, given)

    async def retract(self, intent: Intent, given: Submission) -> Accepted:
        todo = await self._todo(intent)
        undone = replace(todo, status=TodoStatus.RETRACTED, updated_at=given.now)
        return Accepted(
            task_id=todo.id, changes=(PutTodo(undone),), told={"task": todo.title, "removed": True}
        )

    async def _todo(self, intent: Intent) -> Todo:
        todo = await self._store.todo(intent.task_id or "", user_id=intent.user_id)
        if todo is None:
            raise gone("task")
        return todo

    async def _as_given(self, todo: Todo, given: Submission) -> Accepted:
        payload = given.payload
        todo = replace(
            todo,
            title=needed(payload, "title", "What is the task?"),
            time_zone=given.time_zone,
            updated_at=given.now,
        )
        if payload.get("trigger_type") == "location":
            return _at_a_place(todo, given)
        at_words, again_words = text(payload, "scheduled_at"), text(payload, "recurrence_rule")
        plan = await asyncio.to_thread(_plan, at_words, again_words, given)
        todo = replace(
            todo,
            trigger_type="time",
            scheduled_at=plan.at,
            scheduled_words=at_words,
            recurrence_rule=plan.rule,
            recurrence_words=(again_words or at_words) if plan.rule else None,
            location_trigger=None,
        )
        told: dict[str, Any] = {
            "task": todo.title,
            "when": spoken(plan.at, now=given.now, time_zone=given.time_zone),
        }
        if plan.rule:
            told["repeats"] = todo.recurrence_words
        if plan.assumed:
            told["assumed"] = plan.assumed
        return Accepted(task_id=todo.id, changes=(PutTodo(todo),), told=told)


def _at_a_place(todo: Todo, given: Submission) -> Accepted:
    where = needed(given.payload, "location_trigger", "Where should I remind you?")
    todo = replace(
        todo,
        trigger_type="location",
        location_trigger=where,
        scheduled_at=None,
        scheduled_words=None,
        recurrence_rule=None,
        recurrence_words=None,
    )
    return Accepted(
        task_id=todo.id, changes=(PutTodo(todo),), told={"task": todo.title, "where": where}
    )


def _plan(at_words: str | None, again_words: str | None, given: Submission) -> Plan:
    """Blocking: the library behind it is slow to load. A recurring task may say its hour in either
    of its two fields; the first time is the first one that its rule allows."""
    now, time_zone = given.now, given.time_zone
    words = at_words or again_words
    if words is None:
        raise IntentRefused("scheduled_at is missing", suggestion=f"Ask: {WHEN}")
    again = recurrence(again_words, now=now, time_zone=time_zone) if again_words else None
    if again is not None and again.question:
        raise IntentRefused("That recurrence is not clear", suggestion=f"Ask: {again.question}")
    found = understand(words, now=now, time_zone=time_zone, recurring=bool(again and again.rule))
    if found.at is None:
        raise IntentRefused(found.problem, suggestion=f"Ask: {found.question or WHEN}")
    rule = again.rule if again is not None and again.rule else found.rule
    if rule is None:
        return Plan(at=found.at, assumed=found.assumed)
    first = next_occurrence(rule, found.at, now, time_zone)
    if first is None:
        raise IntentRefused("That never occurs", suggestion=f"Ask: {WHEN}")
    return Plan(at=first, rule=rule, assumed=found.assumed)
