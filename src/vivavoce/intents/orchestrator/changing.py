"""COMPLETE, DELETE, RENAME, NOTE and RESCHEDULE_TASK: what happens to a thing that is on the list
already.

Each of the first four changes a few fields of one task or goal. What they were, and what they
became, is kept with the intent: taking it back puts the first back where the second still
stands, so that nobody's later change is lost. Of a task that repeats, ticking off is always of
one time; deleting is of all of it, unless just one time is meant.

Rescheduling gives an open task another time, and the status `rescheduled`. The new time is
optional (seed 004 §6.2): without one the task stays open with no time, and the model is told to
ask. Of a recurring task one time is moved, the next unless another is meant; the others stay
where its rule has them, unless the whole series is meant ("from now on"). What was there before
is kept with the intent, so that taking it back puts it back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from vivavoce.errors import IntentRefused
from vivavoce.intents.orchestrator.finding import active_goal, open_task, open_thing, thing_of
from vivavoce.intents.orchestrator.ports import asking, day_of, needed, text, told
from vivavoce.intents.orchestrator.tasks import moved_series
from vivavoce.intents.ports import Accepted
from vivavoce.language.en.ranges import scope_of, unscoped
from vivavoce.language.en.recurrence.rules import next_occurrence
from vivavoce.language.en.times.dates import instant
from vivavoce.language.en.understanding import When, relative, understand
from vivavoce.runtime.people.due import after_this_time, anchor_of
from vivavoce.runtime.people.things import task
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


_TIME = "preferred_new_time"
_KEPT = ("trigger_type", "scheduled_words", "recurrence_rule", "reason")
_INSTANTS = ("scheduled_at", "recurs_from", "moved_from")
_MOMENT = timedelta(seconds=1)


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
        same = intent.payload.get("scope") == given.payload.get("scope")
        if todo.id == intent.task_id and words == before and same:
            reason = text(given.payload, "reason")
            todo = replace(todo, reason=reason, updated_at=given.now)
            return await asyncio.to_thread(_as_it_is, todo, given)
        if back is not None and back.id == todo.id:
            # "An hour later", "no, two": the second counts from where the first did.
            again = bool(before and words and relative(before) and relative(words))
            last = None if again else todo.scheduled_at
            return await _moved(back, given, (_Place.before(back, todo.moved_from),), last)
        accepted = await _moved(todo, given)
        restored: tuple[Change, ...] = () if back is None else (Put(back),)
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
        return await open_task(self._store, given, "task_id")

    async def _back(self, intent: Intent, given: Submission) -> Todo | None:
        """The task as it was before, unless somebody else has moved or closed it since."""
        before = intent.previous or {}
        todo = await self._store.todo(intent.task_id or "", user_id=given.user_id)
        if (
            todo is None
            or not todo.status.open
            or before.get("moved_to") != (todo.scheduled_at and iso(todo.scheduled_at))
        ):
            return None
        return _put_back(todo, before, given.now)


async def _moved(
    todo: Todo, given: Submission, known: tuple[_Place, ...] = (), last: datetime | None = None
) -> Accepted:
    """`known` is which time of it is moved, where that is known; `last` where it was moved to."""
    words = text(given.payload, _TIME)
    whole = False
    if todo.recurrence_rule and words:
        whole = await asyncio.to_thread(_whole, words, todo, given)
    if words and whole:
        series = await asyncio.to_thread(moved_series, todo, unscoped(words), given)
        series = replace(series, reason=text(given.payload, "reason"))
        accepted = await asyncio.to_thread(_as_it_is, series, given)
        return replace(accepted, previous=_previous(todo, series.scheduled_at))
    place, found = await asyncio.to_thread(
        _target, words and (unscoped(words) or words), todo, given, known, last
    )
    recurs = todo.recurrence_rule is not None
    moved = replace(
        todo,
        trigger_type="time" if found.at else todo.trigger_type,
        scheduled_at=found.at,
        scheduled_words=words,
        recurs_from=anchor_of(todo) if recurs else None,
        moved_from=place.occurrence if recurs else None,
        status=TodoStatus.RESCHEDULED,
        reason=text(given.payload, "reason"),
        updated_at=given.now,
    )
    accepted = await asyncio.to_thread(_as_it_is, moved, given, assumed=found.assumed)
    return replace(accepted, previous=_previous(todo, found.at))


def _as_it_is(todo: Todo, given: Submission, **more: Any) -> Accepted:
    thing = task(todo, given.now, given.time_zone)
    if todo.scheduled_at is None and not todo.location_trigger:
        more["note"] = "It has no time now. Ask when it should be."
    return Accepted(task_id=todo.id, changes=(Put(todo),), told=told(thing, **more))


def _previous(todo: Todo, moved_to: datetime | None) -> dict[str, Any]:
    """Of what a move changes, as JSON."""
    instants = {name: getattr(todo, name) for name in _INSTANTS} | {"moved_to": moved_to}
    return {
        **{name: getattr(todo, name) for name in _KEPT},
        **{name: iso(at) if at else None for name, at in instants.items()},
        "status": todo.status.value,
    }


def _put_back(todo: Todo, before: Mapping[str, Any], now: datetime) -> Todo:
    instants = {name: before.get(name) for name in _INSTANTS}
    kept: dict[str, Any] = {name: before.get(name) for name in _KEPT}
    kept |= {n: datetime.fromisoformat(at) if at else None for n, at in instants.items()}
    kept["trigger_type"] = kept["trigger_type"] or "time"
    status = TodoStatus(before.get("status", TodoStatus.ACTIVE))
    return replace(todo, **kept, status=status, updated_at=now)


def _whole(words: str, todo: Todo, given: Submission) -> bool:
    """Is the whole series meant, and not one time of it? It is where the new time repeats itself,
    too."""
    scope = given.payload.get("scope") or scope_of(words) or scope_of(given.said)
    if scope is not None:
        return bool(scope == "series")
    found = understand(
        words,
        now=given.now,
        time_zone=given.time_zone,
        base=todo.scheduled_at,
        recurring=True,
        profile=day_of(given),
    )
    return found.rule is not None


# --- Which time of it is moved, and to when; blocking -------------------------------------


@dataclass(frozen=True, slots=True)
class _Place:
    """A time that a task has; of a recurring one also the occurrence that it is."""

    at: datetime | None
    occurrence: datetime | None = None

    @classmethod
    def before(cls, todo: Todo, occurrence: datetime | None) -> _Place:
        """Where this occurrence was in `todo`."""
        if occurrence is None or occurrence == todo.moved_from:
            return cls(todo.scheduled_at or occurrence, occurrence)
        return cls(occurrence, occurrence)


def _places(todo: Todo, now: datetime) -> tuple[_Place, ...]:
    """What may be meant: of a recurring task the one that was moved and is still to come; else
    today's, if it is past, and the next."""
    rule, anchor = todo.recurrence_rule, anchor_of(todo)
    if not rule or anchor is None:
        return (_Place(todo.scheduled_at),)
    moved = _Place(todo.scheduled_at or todo.moved_from, todo.moved_from)
    if todo.moved_from and (todo.scheduled_at is None or todo.scheduled_at > now):
        return (moved,)
    local = now.astimezone(ZoneInfo(todo.time_zone))
    midnight = instant(local.date(), time(), todo.time_zone)
    today = next_occurrence(rule, anchor, midnight - _MOMENT, todo.time_zone)
    coming = next_occurrence(rule, anchor, now, todo.time_zone)
    found = []
    if today is not None and today <= now:
        found.append(moved if today == todo.moved_from else _Place(today, today))
    if coming is not None:
        found.append(_Place(coming, coming))
    return tuple(found) or (_Place(todo.scheduled_at or anchor, anchor),)


def _target(
    words: str | None,
    todo: Todo,
    given: Submission,
    known: tuple[_Place, ...],
    last: datetime | None,
) -> tuple[_Place, When]:
    """The last of the places, or an earlier one that would stay on its day: who missed it in the
    morning and says "tonight" means that one. `last` is what a correction corrects."""
    places, zone = known or _places(todo, given.now), given.time_zone
    if words is None:
        return places[-1], When(words="")
    for place in places:
        base, same = last or place.at, last and place.at
        if base and base < given.now and not todo.recurrence_rule and relative(words):
            base = given.now  # "an hour later", of something that should have been done by now
        found = understand(
            words, now=given.now, time_zone=zone, base=base, same=same, profile=day_of(given)
        )
        if found.at is not None and (place is places[-1] or _on_its_day(found.at, place, zone)):
            return place, found
    raise asking(found.problem, found.question, _TIME)


def _on_its_day(at: datetime, place: _Place, time_zone: str) -> bool:
    zone = ZoneInfo(time_zone)
    return place.at is not None and at.astimezone(zone).date() == place.at.astimezone(zone).date()
