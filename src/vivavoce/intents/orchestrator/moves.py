"""RESCHEDULE_TASK: an open task gets another time, and the status `rescheduled`.

The new time is optional (seed 004 §6.2): without one the task stays open with no
time, and the model is told to ask. Of a recurring task one time is moved, the next
unless another is meant; the others stay where its rule has them. What was there
before is kept with the intent, so that taking it back puts it back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from vivavoce.errors import IntentRefused
from vivavoce.intents.orchestrator.ports import asking, needed, text, told
from vivavoce.intents.ports import Accepted
from vivavoce.language.en.recurrence.rules import next_occurrence
from vivavoce.language.en.times.dates import instant
from vivavoce.language.en.understanding import When, relative, understand
from vivavoce.language.en.words import STOP, alike, pieces
from vivavoce.runtime.people.due import anchor_of
from vivavoce.runtime.people.things import task
from vivavoce.runtime.ports import AgendaStore
from vivavoce.wire.records.plans import Intent, Submission, Todo, TodoStatus
from vivavoce.wire.records.talk import Change, Put, iso

_TIME = "preferred_new_time"
_KEPT = ("trigger_type", "scheduled_words", "recurrence_rule", "reason")
_INSTANTS = ("scheduled_at", "recurs_from", "moved_from")
_MOMENT = timedelta(seconds=1)
_LOOKED_AT = 200
_NAMED = 8
# What people call any task.
_ANY = frozenset({"session", "appointment", "meeting", "event", "id", "reminders", "tasks"})


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
        words = needed(given.payload, "task_id", "Which task is meant?")
        return await _open_task(self._store, words, user_id=given.user_id)

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
        return _restored(todo, before, given.now)


async def _moved(
    todo: Todo, given: Submission, known: tuple[_Place, ...] = (), last: datetime | None = None
) -> Accepted:
    """`known` is which time of it is moved, where that is known; `last` where it was moved to."""
    words = text(given.payload, _TIME)
    place, found = await asyncio.to_thread(_target, words, todo, given, known, last)
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


def _restored(todo: Todo, before: Mapping[str, Any], now: datetime) -> Todo:
    instants = {name: before.get(name) for name in _INSTANTS}
    kept: dict[str, Any] = {name: before.get(name) for name in _KEPT}
    kept |= {n: datetime.fromisoformat(at) if at else None for n, at in instants.items()}
    kept["trigger_type"] = kept["trigger_type"] or "time"
    status = TodoStatus(before.get("status", TodoStatus.ACTIVE))
    return replace(todo, **kept, status=status, updated_at=now)


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
        found = understand(words, now=given.now, time_zone=zone, base=base, same=same)
        if found.at is not None and (place is places[-1] or _on_its_day(found.at, place, zone)):
            return place, found
    raise asking(found.problem, found.question, _TIME)


def _on_its_day(at: datetime, place: _Place, time_zone: str) -> bool:
    zone = ZoneInfo(time_zone)
    return place.at is not None and at.astimezone(zone).date() == place.at.astimezone(zone).date()


# --- Which task is meant ------------------------------------------------------------------


async def _open_task(store: AgendaStore, words: str, *, user_id: str) -> Todo:
    """By its id, or by words that all fit exactly one title: models hand over titles and slugs
    where an id is asked for, and ids that are not there. An id is never guessed: what does not fit
    exactly one is refused (`IntentRefused`), with the titles that come near or those there are."""
    todo = await store.todo(words, user_id=user_id)
    if todo is not None and todo.status.open:
        return todo
    todos = await store.todos(user_id=user_id, open_only=True, limit=_LOOKED_AT)
    best, found = _matching(words, todos)
    if len(found) == 1 and best == 1.0:
        return found[0]
    raise _refusal(best, found, todos)


def _matching(words: str, todos: Sequence[Todo]) -> tuple[float, list[Todo]]:
    """Those with this title; else those that share the most of its words, and how much of them.
    Half of them is only near: "team lunch" is not "Lunch with Ann"."""
    wanted = pieces(words)
    same = [todo for todo in todos if pieces(todo.title) == wanted]
    if same:
        return 1.0, same
    shares = [(_share(wanted, pieces(todo.title)), todo) for todo in todos]
    best = max((share for share, _ in shares), default=0.0)
    return best, [todo for share, todo in shares if share == best and best >= 0.5]


def _share(wanted: list[str], title: list[str]) -> float:
    """How much of what was asked for is in the title."""
    meant = [w for w in wanted if w not in STOP and w not in _ANY] or wanted
    if not meant:
        return 0.0
    return sum(any(alike(w, other) for other in title) for w in meant) / len(meant)


def _refusal(best: float, found: Sequence[Todo], todos: Sequence[Todo]) -> IntentRefused:
    if not todos:
        return IntentRefused(
            "There are no open tasks",
            suggestion="Say that there is no such task, and ask whether to make a new one",
            open_tasks=[],
        )
    titles = [todo.title for todo in (found or todos)][:_NAMED]
    listed = "; ".join(titles)
    if found and best < 1.0:
        message = f"No open task is called that. Do you mean: {listed}?"
    elif found:
        message = f"More than one open task fits: {listed}"
    else:
        message = f"There is no such open task. The open tasks are: {listed}"
    return IntentRefused(message, suggestion="Ask which task is meant", open_tasks=titles)
