"""RESCHEDULE_TASK: an open task gets another time, and the status `rescheduled`.

The new time is optional (seed 004 §6.2): without one the task stays open with no
time, and the model is told to ask. Of a recurring task one time is moved, the next
unless another is meant; the others stay where its rule has them. What was there
before is kept with the intent, so that taking it back puts it back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from vivavoce.errors import IntentRefused
from vivavoce.intents.orchestrator.finding import open_task
from vivavoce.intents.orchestrator.moving import Place, Target, places, target
from vivavoce.intents.orchestrator.ports import needed, text
from vivavoce.language.en.telling import spoken
from vivavoce.language.en.times.understanding import relative
from vivavoce.runtime.people.due import anchor_of, next_due
from vivavoce.runtime.people.intents import Accepted
from vivavoce.runtime.people.ports import AgendaStore
from vivavoce.wire.records.plans import Intent, Submission, Todo, TodoStatus
from vivavoce.wire.records.talk import Change, PutTodo, iso

_TIME = "preferred_new_time"


class Moves:
    def __init__(self, store: AgendaStore) -> None:
        self._store = store

    async def submit(self, given: Submission) -> Accepted:
        return await _moved(await self._meant(given), given)

    async def amend(self, intent: Intent, given: Submission) -> Accepted:
        """What the new words leave out is as it was moved to, but "same time" is the time before.
        Where another task was meant, the first one goes back."""
        todo, back = await self._meant(given), await self._back(intent, given)
        before, words = text(intent.payload, _TIME), text(given.payload, _TIME)
        if todo.id == intent.task_id and words == before:
            reason = text(given.payload, "reason")
            todo = replace(todo, reason=reason, updated_at=given.now)
            return await asyncio.to_thread(_as_it_is, todo, given)
        if back is not None and back.id == todo.id:
            # "An hour later", "no, two": the second counts from where the first did.
            again = bool(before and words and relative(before) and relative(words))
            last = None if again else todo.scheduled_at
            return await _moved(back, given, (Place.before(back, todo.moved_from),), last)
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
        return await asyncio.to_thread(_as_it_is, back, given)

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


async def _moved(
    todo: Todo, given: Submission, known: tuple[Place, ...] = (), last: datetime | None = None
) -> Accepted:
    """`known` is which time of it is moved, where that is known; `last` where it was moved to."""
    words = text(given.payload, _TIME)
    found = await asyncio.to_thread(_target, words, todo, given, known, last)
    recurs = todo.recurrence_rule is not None
    moved = replace(
        todo,
        trigger_type="time" if found.at else todo.trigger_type,
        scheduled_at=found.at,
        scheduled_words=words,
        recurs_from=anchor_of(todo) if recurs else None,
        moved_from=found.place.occurrence if recurs else None,
        status=TodoStatus.RESCHEDULED,
        reason=text(given.payload, "reason"),
        updated_at=given.now,
    )
    told = _told(moved, moved.scheduled_at, given)
    if found.assumed:
        told["assumed"] = found.assumed
    previous = _previous(todo, found.at)
    return Accepted(task_id=todo.id, changes=(PutTodo(moved),), told=told, previous=previous)


def _target(
    words: str | None,
    todo: Todo,
    given: Submission,
    known: tuple[Place, ...],
    last: datetime | None,
) -> Target:
    known = known or places(todo, given.now)
    if words is None:
        return Target(place=known[-1])
    return target(words, known, now=given.now, time_zone=given.time_zone, last=last)


def _as_it_is(todo: Todo, given: Submission) -> Accepted:
    due = next_due(todo, given.now, given.time_zone)
    return Accepted(task_id=todo.id, changes=(PutTodo(todo),), told=_told(todo, due, given))


def _told(todo: Todo, at: datetime | None, given: Submission) -> dict[str, Any]:
    if at is None:
        return {
            "task": todo.title,
            "when": None,
            "note": "It has no time now. Ask when it should be.",
        }
    return {"task": todo.title, "when": spoken(at, now=given.now, time_zone=given.time_zone)}


def _previous(todo: Todo, moved_to: datetime | None) -> dict[str, Any]:
    return {
        "scheduled_at": _iso(todo.scheduled_at),
        "status": todo.status.value,
        "trigger_type": todo.trigger_type,
        "moved_to": _iso(moved_to),
        "scheduled_words": todo.scheduled_words,
        "recurrence_rule": todo.recurrence_rule,
        "recurs_from": _iso(todo.recurs_from),
        "moved_from": _iso(todo.moved_from),
        "reason": todo.reason,
    }


def _restored(todo: Todo, before: Mapping[str, Any], now: datetime) -> Todo:
    place = before.get("trigger_type") == "location"
    return replace(
        todo,
        scheduled_at=_instant(before, "scheduled_at"),
        status=TodoStatus(before.get("status", TodoStatus.ACTIVE)),
        trigger_type="location" if place else "time",
        updated_at=now,
        scheduled_words=before.get("scheduled_words"),
        recurrence_rule=before.get("recurrence_rule"),
        recurs_from=_instant(before, "recurs_from"),
        moved_from=_instant(before, "moved_from"),
        reason=before.get("reason"),
    )


def _iso(at: datetime | None) -> str | None:
    return iso(at) if at else None


def _instant(before: Mapping[str, Any], key: str) -> datetime | None:
    at = before.get(key)
    return datetime.fromisoformat(at) if isinstance(at, str) else None
