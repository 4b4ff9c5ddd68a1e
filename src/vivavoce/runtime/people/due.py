"""When a task is due: its own time, or what its rule comes to. No I/O.

A recurring task counts from `recurs_from`, or from its time; the one occurrence `moved_from`
is at `scheduled_at` instead, and the others stay. Counting may take a while: whoever has an
event loop calls it beside that.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from vivavoce.language.en.recurrence.rules import FAULTS, HORIZON, instants
from vivavoce.language.en.times.dates import instant
from vivavoce.wire.records.plans import Todo

_DAY = timedelta(days=1)
_MINUTE = timedelta(minutes=1)


def zone_or(name: str | None, otherwise: str) -> str:
    """The time zone of this name, if there is such a one: rows come from elsewhere too, and
    "Berlin" must not cost every task its time."""
    try:
        return ZoneInfo(name).key if name else otherwise
    except (OSError, ValueError, KeyError):
        return otherwise


def anchor_of(todo: Todo) -> datetime | None:
    """What its rule counts from."""
    return todo.recurs_from or todo.moved_from or todo.scheduled_at


def next_due(todo: Todo, after: datetime, time_zone: str) -> datetime | None:
    """When it is to be done next; of one that is over, or does not recur, its time."""
    anchor = anchor_of(todo)
    if not todo.recurrence_rule or anchor is None:
        return todo.scheduled_at
    coming = []
    with suppress(*FAULTS):
        found = _of_rule(todo, anchor, after, max(anchor, after) + HORIZON, time_zone)
        coming += [came for came in [next((c for c in found if c > after), None)] if came]
    if todo.scheduled_at is not None and todo.scheduled_at > after:
        coming.append(todo.scheduled_at)  # also where it was moved to a day its rule does not have
    return min(coming, default=todo.scheduled_at)


def due_on(todo: Todo, on: date, time_zone: str) -> datetime | None:
    """When it is due on this day of the user's; None: not on this day."""
    first, last = (instant(on + n * _DAY, time(), time_zone) for n in (0, 1))
    found = [] if todo.scheduled_at is None else [todo.scheduled_at]
    if todo.recurrence_rule:
        with suppress(*FAULTS):
            anchor = anchor_of(todo) or todo.created_at
            found += _of_rule(todo, anchor, first, last, time_zone)
    return min((came for came in found if first <= came < last), default=None)


def _of_rule(
    todo: Todo, anchor: datetime, since: datetime, until: datetime, time_zone: str
) -> Iterator[datetime]:
    """By the clock that it recurs by, if there is such a one; without the one that was moved."""
    time_zone = zone_or(todo.time_zone, time_zone)
    for came in instants(todo.recurrence_rule or "", anchor, since, until, time_zone):
        if todo.moved_from is None or abs(came - todo.moved_from) >= _MINUTE:
            yield came
