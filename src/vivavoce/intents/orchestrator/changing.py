"""COMPLETE, DELETE, RENAME and NOTE: what happens to a thing that is on the list already.

Each changes a few fields of one task or goal. What they were, and what they became, is kept with
the intent: taking it back puts the first back where the second still stands, so that nobody's
later change is lost. Of a task that repeats, ticking off is always of one time; deleting is of
all of it, unless just one time is meant.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from vivavoce.errors import IntentRefused
from vivavoce.intents.orchestrator.finding import active_goal, open_thing, thing_of
from vivavoce.intents.orchestrator.ports import needed, text, told
from vivavoce.intents.ports import Accepted
from vivavoce.runtime.people.due import after_this_time
from vivavoce.runtime.ports import AgendaStore
from vivavoce.wire.clean import clean_text
from vivavoce.wire.records.plans import Goal, GoalStatus, Intent, Submission, Todo, TodoStatus
from vivavoce.wire.records.talk import Change, Put, iso

_TODO = ("title", "status", "scheduled_at", "recurrence_rule", "recurs_from", "moved_from")
_GOAL = ("statement", "status", "context_notes")
_MOST_NOTES = 2000


class Changing:
    """What the four have in common."""

    key = "thing_id"

    def __init__(self, store: AgendaStore) -> None:
        self._store = store

    async def submit(self, given: Submission) -> Accepted:
        return await self._changed(await self._meant(given), given)

    async def amend(self, intent: Intent, given: Submission) -> Accepted:
        """Done anew on what was there before; where another thing was meant, the first one goes
        back."""
        back = await self._back(intent, given)
        if text(given.payload, self.key) in (back.id, text(intent.payload, self.key)):
            return await self._changed(back, given)
        accepted = await self._changed(await self._meant(given), given)
        return replace(accepted, changes=(Put(back), *accepted.changes))

    async def retract(self, intent: Intent, given: Submission) -> Accepted:
        back = await self._back(intent, given)
        said = await asyncio.to_thread(lambda: told(thing_of(back, given)))
        return _accepted(back, (Put(back),), said)

    async def _meant(self, given: Submission) -> Todo | Goal:
        return await open_thing(self._store, given, self.key)

    async def _changed(self, before: Todo | Goal, given: Submission) -> Accepted:
        after, more = await asyncio.to_thread(self.apply, before, given)
        after = replace(after, updated_at=given.now)
        said = await asyncio.to_thread(lambda: told(thing_of(after, given), **more))
        previous = {"id": before.id, "before": _kept(before), "after": _kept(after)}
        return replace(_accepted(after, (Put(after),), said), previous=previous)

    def apply(self, before: Todo | Goal, given: Submission) -> tuple[Todo | Goal, dict[str, Any]]:
        """The thing as it is then, and what is told besides. Blocking."""
        raise NotImplementedError

    async def _back(self, intent: Intent, given: Submission) -> Todo | Goal:
        """As it was before, unless somebody else has changed it since. Raises `IntentRefused`."""
        kept = intent.previous or {}
        there = await self._there(str(kept.get("id") or ""), given.user_id)
        if there is None or _kept(there) != kept.get("after"):
            raise IntentRefused(
                "That was changed since, and stays as it is now",
                suggestion="Say that it stays as it is now, and ask what to do instead",
            )
        return replace(_restored(there, kept.get("before") or {}), updated_at=given.now)

    async def _there(self, thing_id: str, user_id: str) -> Todo | Goal | None:
        todo = await self._store.todo(thing_id, user_id=user_id)
        return todo or await self._store.goal(thing_id, user_id=user_id)


class Completing(Changing):
    def apply(self, before: Todo | Goal, given: Submission) -> tuple[Todo | Goal, dict[str, Any]]:
        if isinstance(before, Goal):
            return replace(before, status=GoalStatus.COMPLETED), {}
        if before.recurrence_rule:
            return _skipped(before, given, TodoStatus.COMPLETED)
        return replace(before, status=TodoStatus.COMPLETED), {}


class Deleting(Changing):
    def apply(self, before: Todo | Goal, given: Submission) -> tuple[Todo | Goal, dict[str, Any]]:
        if isinstance(before, Goal):
            return replace(before, status=GoalStatus.RETRACTED), {}
        if before.recurrence_rule and given.payload.get("scope") == "this_time":
            return _skipped(before, given, TodoStatus.RETRACTED)
        return replace(before, status=TodoStatus.RETRACTED), {}


class Renaming(Changing):
    def apply(self, before: Todo | Goal, given: Submission) -> tuple[Todo | Goal, dict[str, Any]]:
        title = needed(given.payload, "new_title", "What should it be called?")
        if isinstance(before, Goal):
            return replace(before, statement=title), {"before": before.statement}
        return replace(before, title=title), {"before": before.title}


class Noting(Changing):
    key = "goal_id"

    async def _meant(self, given: Submission) -> Goal:
        return await active_goal(self._store, given, self.key)

    def apply(self, before: Todo | Goal, given: Submission) -> tuple[Todo | Goal, dict[str, Any]]:
        note = needed(given.payload, "note", "What should I add to it?")
        if isinstance(before, Todo):
            raise IntentRefused("Notes are for goals", suggestion="Ask which goal is meant")
        notes = "\n".join(filter(None, (before.context_notes, note)))
        return replace(before, context_notes=clean_text(notes, _MOST_NOTES)), {"note": note}


def _skipped(todo: Todo, given: Submission, over: TodoStatus) -> tuple[Todo, dict[str, Any]]:
    """One time less. After its last it is over."""
    rest = after_this_time(todo, given.now, given.time_zone)
    if rest is None:
        return replace(todo, status=over), {"only": "this was the last time of it"}
    return replace(rest, status=TodoStatus.ACTIVE), {"only": "this time; it goes on"}


def _accepted(thing: Todo | Goal, changes: tuple[Change, ...], said: dict[str, Any]) -> Accepted:
    if isinstance(thing, Goal):
        return Accepted(goal_id=thing.id, changes=changes, told=said)
    return Accepted(task_id=thing.id, changes=changes, told=said)


def _kept(thing: Todo | Goal) -> dict[str, Any]:
    """Of what is changed here, as JSON."""
    found = {name: getattr(thing, name) for name in (_TODO if isinstance(thing, Todo) else _GOAL)}
    return {
        name: iso(value)
        if isinstance(value, datetime)
        else str(value)
        if isinstance(value, str)
        else value
        for name, value in found.items()
    }


def _restored(thing: Todo | Goal, before: Mapping[str, Any]) -> Todo | Goal:
    kept = dict(before)
    if isinstance(thing, Goal):
        return replace(thing, **{**kept, "status": GoalStatus(kept["status"])})
    for name in ("scheduled_at", "recurs_from", "moved_from"):
        kept[name] = datetime.fromisoformat(kept[name]) if kept.get(name) else None
    return replace(thing, **{**kept, "status": TodoStatus(kept["status"])})
