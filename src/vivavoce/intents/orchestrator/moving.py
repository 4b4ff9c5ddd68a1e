"""Which time of a task is moved, and to when. Blocking, like `embedded_plan`; no store."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

from vivavoce.errors import IntentRefused
from vivavoce.intents.orchestrator.plan import WHEN
from vivavoce.language.en.recurrence.rules import next_occurrence
from vivavoce.language.en.times.dates import instant
from vivavoce.language.en.times.understanding import understand
from vivavoce.runtime.people.due import anchor_of
from vivavoce.wire.records.plans import Todo

_MOMENT = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Place:
    """A time that a task has; of a recurring one also the occurrence that it is."""

    at: datetime | None
    occurrence: datetime | None = None

    @classmethod
    def before(cls, todo: Todo, occurrence: datetime | None) -> Place:
        """Where this occurrence was in `todo`."""
        if occurrence is None or occurrence == todo.moved_from:
            return cls(todo.scheduled_at or occurrence, occurrence)
        return cls(occurrence, occurrence)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    place: Place
    at: datetime | None = None
    assumed: str | None = None


def places(todo: Todo, now: datetime) -> tuple[Place, ...]:
    """What may be meant: of a recurring task the one that was moved and is still to come; else
    today's, if it is past, and the next."""
    rule, anchor = todo.recurrence_rule, anchor_of(todo)
    if not rule or anchor is None:
        return (Place(todo.scheduled_at),)
    moved = Place(todo.scheduled_at or todo.moved_from, todo.moved_from)
    if todo.moved_from and (todo.scheduled_at is None or todo.scheduled_at > now):
        return (moved,)
    local = now.astimezone(ZoneInfo(todo.time_zone))
    midnight = instant(local.date(), time(), todo.time_zone)
    today = next_occurrence(rule, anchor, midnight - _MOMENT, todo.time_zone)
    coming = next_occurrence(rule, anchor, now, todo.time_zone)
    found = []
    if today is not None and today <= now:
        found.append(moved if today == todo.moved_from else Place(today, today))
    if coming is not None:
        found.append(Place(coming, coming))
    return tuple(found) or (Place(todo.scheduled_at or anchor, anchor),)


def target(
    words: str,
    places: tuple[Place, ...],
    *,
    now: datetime,
    time_zone: str,
    last: datetime | None = None,
) -> Target:
    """The last of the places, or an earlier one that would stay on its day: who missed it in the
    morning and says "tonight" means that one. `last` is what a correction corrects."""
    for place in places:
        found = understand(
            words, now=now, time_zone=time_zone, base=last or place.at, same=last and place.at
        )
        if found.at is not None and (
            place is places[-1] or _on_its_day(found.at, place, ZoneInfo(time_zone))
        ):
            return Target(place=place, at=found.at, assumed=found.assumed)
    raise IntentRefused(found.problem, suggestion=f"Ask: {found.question or WHEN}")


def _on_its_day(at: datetime, place: Place, zone: ZoneInfo) -> bool:
    return place.at is not None and at.astimezone(zone).date() == place.at.astimezone(zone).date()
