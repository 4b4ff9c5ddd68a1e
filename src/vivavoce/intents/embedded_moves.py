"""RESCHEDULE_TASK: an open task gets another time, and the status `rescheduled`.

The new time is optional (seed 004 §6.2): without one the task stays open with no
time, and the model is told to ask. Of a recurring task the next time is moved;
its rule keeps the clock and the days it had. What was there before is kept with
the intent, so that taking it back puts it back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from vivavoce.errors import IntentRefused
from vivavoce.intents.embedded_finding import open_task
from vivavoce.intents.embedded_ports import needed, text
from vivavoce.intents.embedded_tasks import WHEN
from vivavoce.intents.recurrence import pinned
from vivavoce.intents.when import When, spoken, understand
from vivavoce.runtime.agenda_ports import AgendaStore
from vivavoce.runtime.intent_ports import Accepted
from vivavoce.wire.agenda import Intent, Submission, Todo, TodoStatus
from vivavoce.wire.records import Change, PutTodo, iso


class Moves:
    def __init__(self, store: AgendaStore) -> None:
        self._store = store

    async def submit(self, given: Submission) -> Accepted:
        return await _moved(await self._meant(given), given)

    async def amend(self, intent: Intent, given: Submission) -> Accepted:
        """From where it was: "same time" is the time before the first move. Where another task was
        meant, the first one goes back."""
        todo, back = await self._meant(given), await self._back(intent, given)
        if back is not None and back.id == todo.id:
            return await _moved(back, given)
        accepted = await _moved(todo, given)
        restored: tuple[Change, ...] = () if back is None else (PutTodo(back),)
        return replace(accepted, changes=(*restored, *accepted.changes))

    async def retract(self, intent: Intent, given: Submission) -> Accepted:
        back = await self._back(intent, given)
        if back is None:
            raise IntentRefused(
                "That task was changed since",
                suggestion="Say that it stays as it is now, and ask what to do instead",
            )
        return Accepted(task_id=back.id, changes=(PutTodo(back),), told=_told(back, given))

    async def _meant(self, given: Submission) -> Todo:
        words = needed(given.payload, "task_id", "Which task is meant?")
        return await open_task(self._store, words, user_id=given.user_id)

    async def _back(self, intent: Intent, given: Submission) -> Todo | None:
        """The task as it was before, unless somebody else has moved or closed it since."""
        before = intent.previous or {}
        todo = await self._store.todo(intent.task_id or "", user_id=given.user_id)
        if (
            todo is None
            or not todo.status.open
            or before.get("moved_to") != _iso(todo.scheduled_at)
        ):
            return None
        return _restored(todo, before, given.now)


async def _moved(todo: Todo, given: Submission) -> Accepted:
    words = text(given.payload, "preferred_new_time")
    found = await asyncio.to_thread(_new_time, words, todo, given) if words else None
    at = found.at if found else None
    rule = todo.recurrence_rule
    if rule and todo.scheduled_at:
        rule = pinned(rule, todo.scheduled_at, todo.time_zone)
    moved = replace(
        todo,
        trigger_type="time" if at else todo.trigger_type,
        scheduled_at=at,
        scheduled_words=words,
        recurrence_rule=rule,
        status=TodoStatus.RESCHEDULED,
        reason=text(given.payload, "reason"),
        updated_at=given.now,
    )
    told = _told(moved, given)
    if found and found.assumed:
        told["assumed"] = found.assumed
    return Accepted(
        task_id=todo.id, changes=(PutTodo(moved),), told=told, previous=_previous(todo, at)
    )


def _new_time(words: str, todo: Todo, given: Submission) -> When:
    found = understand(words, now=given.now, time_zone=given.time_zone, base=todo.scheduled_at)
    if found.at is None:
        raise IntentRefused(found.problem, suggestion=f"Ask: {found.question or WHEN}")
    return found


def _told(todo: Todo, given: Submission) -> dict[str, Any]:
    if todo.scheduled_at is None:
        return {
            "task": todo.title,
            "when": None,
            "note": "It has no time now. Ask when it should be.",
        }
    when = spoken(todo.scheduled_at, now=given.now, time_zone=given.time_zone)
    return {"task": todo.title, "when": when}


def _previous(todo: Todo, moved_to: datetime | None) -> dict[str, Any]:
    return {
        "scheduled_at": _iso(todo.scheduled_at),
        "status": todo.status.value,
        "trigger_type": todo.trigger_type,
        "moved_to": _iso(moved_to),
        "scheduled_words": todo.scheduled_words,
        "recurrence_rule": todo.recurrence_rule,
        "reason": todo.reason,
    }


def _restored(todo: Todo, before: Mapping[str, Any], now: datetime) -> Todo:
    at = before.get("scheduled_at")
    place = before.get("trigger_type") == "location"
    return replace(
        todo,
        scheduled_at=datetime.fromisoformat(at) if isinstance(at, str) else None,
        status=TodoStatus(before.get("status", TodoStatus.ACTIVE)),
        trigger_type="location" if place else "time",
        updated_at=now,
        scheduled_words=before.get("scheduled_words"),
        recurrence_rule=before.get("recurrence_rule"),
        reason=before.get("reason"),
    )


def _iso(at: datetime | None) -> str | None:
    return iso(at) if at else None
