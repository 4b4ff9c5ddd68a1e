"""NEW_TASK: something to be done at a time, again and again, or at a place."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from vivavoce.intents.orchestrator.plan import Plan, Said, changed_plan, first_plan
from vivavoce.intents.orchestrator.ports import gone, needed, text
from vivavoce.language.en.telling import rule_words, spoken
from vivavoce.runtime.people.due import next_due
from vivavoce.runtime.people.intents import Accepted
from vivavoce.runtime.people.ports import AgendaStore
from vivavoce.wire.records.plans import Intent, Submission, Todo, TodoStatus
from vivavoce.wire.records.talk import PutTodo, entry_id

_TIMES = ("trigger_type", "scheduled_at", "recurrence_rule", "location_trigger")


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
        todo = _titled(todo, given)
        if given.payload.get("trigger_type") == "location":
            return _at_a_place(todo, given)
        plan = await asyncio.to_thread(first_plan, _said(given))
        return _planned(todo, plan, given)

    async def amend(self, intent: Intent, given: Submission) -> Accepted:
        """Only what was said anew is understood anew: the old words meant the day they were said
        on, and the task may have been moved since."""
        todo = await self._todo(intent)
        if not todo.status.open:
            raise gone("task")
        todo = _titled(todo, given)
        new = {key for key in _TIMES if intent.payload.get(key) != given.payload.get(key)}
        if given.payload.get("trigger_type") == "location":
            if new:
                return _at_a_place(todo, given)
        elif new & set(_TIMES[:3]):
            at, again = "scheduled_at" in new, "recurrence_rule" in new
            plan = await asyncio.to_thread(changed_plan, todo, _said(given), at=at, again=again)
            return _planned(todo, plan, given)
        return await asyncio.to_thread(_as_it_is, todo, given)

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


def _titled(todo: Todo, given: Submission) -> Todo:
    title = needed(given.payload, "title", "What is the task?")
    return replace(todo, title=title, updated_at=given.now)


def _said(given: Submission) -> Said:
    return Said(
        at=text(given.payload, "scheduled_at"),
        again=text(given.payload, "recurrence_rule"),
        now=given.now,
        time_zone=given.time_zone,
    )


def _planned(todo: Todo, plan: Plan, given: Submission) -> Accepted:
    todo = replace(
        todo,
        trigger_type="time",
        scheduled_at=plan.at,
        scheduled_words=text(given.payload, "scheduled_at"),
        recurrence_rule=plan.rule,
        recurrence_words=plan.rule_said,
        recurs_from=plan.recurs_from,
        moved_from=None,
        time_zone=given.time_zone,
        location_trigger=None,
    )
    told = _told(todo, given)
    if plan.assumed:
        told["assumed"] = plan.assumed
    return Accepted(task_id=todo.id, changes=(PutTodo(todo),), told=told)


def _as_it_is(todo: Todo, given: Submission) -> Accepted:
    return Accepted(task_id=todo.id, changes=(PutTodo(todo),), told=_told(todo, given))


def _told(todo: Todo, given: Submission) -> dict[str, Any]:
    if todo.trigger_type == "location":
        return {"task": todo.title, "where": todo.location_trigger}
    due = next_due(todo, given.now, given.time_zone)
    when = spoken(due, now=given.now, time_zone=given.time_zone) if due else None
    told: dict[str, Any] = {"task": todo.title, "when": when}
    if todo.recurrence_rule:
        # What was understood, not what was said: the user hears it if it is another.
        told["repeats"] = rule_words(todo.recurrence_rule)
    return told


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
        recurs_from=None,
        moved_from=None,
        time_zone=given.time_zone,
    )
    return _as_it_is(todo, given)
