"""When a task is due: its own time, or what its rule comes to. No I/O.

A recurring task counts from `recurs_from`, or from its time; the one occurrence `moved_from`
is at `scheduled_at` instead, and the others stay. Counting may take a while: whoever has an
event loop calls it beside that.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from vivavoce.language.en.recurrence.rules import FAULTS, HORIZON, instants
from vivavoce.language.en.times.dates import instant
from vivavoce.wire.records.plans import Todo

_DAY = timedelta(days=1)
_MINUTE = timedelta(minutes=1)
_INSTANT = timedelta(microseconds=1)
_LOOK_BACK = timedelta(days=40)
"""What was due longer ago is not what somebody has just done."""


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
    return next(iter(dues_between(todo, first, last, time_zone)), None)


def dues_between(todo: Todo, first: datetime, last: datetime, time_zone: str) -> list[datetime]:
    """Its times from the first on and before the last, in order."""
    found = [] if todo.scheduled_at is None else [todo.scheduled_at]
    if todo.recurrence_rule:
        with suppress(*FAULTS):
            anchor = anchor_of(todo) or todo.created_at
            # A day more on both sides: rules count by a clock that may be set back in between.
            ruled = _of_rule(todo, anchor, first - _DAY, last + _DAY, time_zone)
            # A rule has no seconds; the time that it begins with may.
            found += [came for came in ruled if not _same_minute(came, todo.scheduled_at)]
    return sorted({came for came in found if first <= came < last})


LATE = timedelta(minutes=2)
"""Who is told later than this is told when it was due."""
OLD = timedelta(days=1)
"""What was due longer ago is told with all the others that are."""


def fell_due(todo: Todo, since: datetime, now: datetime, time_zone: str) -> list[datetime]:
    """Its times after `since` and up to now, in order. Of one that recurs only the last of those
    that are old: who was away for a month is not told thirty times of the same."""
    if not reminds(todo):
        return []
    found = dues_between(todo, since + _INSTANT, now + _INSTANT, time_zone)
    old = [came for came in found if came <= now - OLD]
    return [*old[-1:], *found[len(old) :]]


def comes_due(todo: Todo, now: datetime, time_zone: str) -> datetime | None:
    """The next time after now at which its user is to be told of it, if there is one."""
    coming = next_due(todo, now, time_zone) if reminds(todo) else None
    return coming if coming is not None and coming > now else None


def still_due(todo: Todo | None, at: datetime, time_zone: str) -> bool:
    """Is it to be done, and has it this time? It may have been moved since, or done."""
    if todo is None or not reminds(todo):
        return False
    return bool(dues_between(todo, at, at + _INSTANT, time_zone))


def reminds(todo: Todo) -> bool:
    """Is it one that somebody is told of at its time? Where a place sets it off, nobody knows."""
    return todo.status.open and todo.trigger_type == "time" and todo.scheduled_at is not None


def after_this_time(todo: Todo, now: datetime, time_zone: str) -> Todo | None:
    """A recurring task without the time that it is about now: the last, where that is nearer than
    the next, else the next. None: there are no more of it."""
    anchor = anchor_of(todo)
    if anchor is None or not todo.recurrence_rule:
        return None
    with suppress(*FAULTS):
        since = max(anchor, now - _LOOK_BACK) - _MINUTE
        until = max(anchor, now) + HORIZON
        zone = zone_or(todo.time_zone, time_zone)
        # By the place that each has in the rule: one that was moved is skipped where it was.
        times = instants(todo.recurrence_rule, anchor, since, until, zone)
        before, coming = None, None
        for came in times:
            if (_moved_to(todo, came) or came) <= now:
                before = came
            elif coming is None:
                coming = came
            else:
                break
        this = _nearer(before, coming, now)
        if this is None:
            return None
        times = instants(todo.recurrence_rule, anchor, this, until, zone)
        following = next((came for came in times if came > this), None)
        if following is None:
            return None
        rule = _fewer(todo.recurrence_rule, anchor, following, zone)
        return replace(
            todo, scheduled_at=following, recurrence_rule=rule, recurs_from=None, moved_from=None
        )
    return None


def _moved_to(todo: Todo, came: datetime) -> datetime | None:
    """Where it is instead, if it is the one that was moved."""
    if todo.moved_from is None or abs(came - todo.moved_from) >= _MINUTE:
        return None
    return todo.scheduled_at


def _same_minute(came: datetime, at: datetime | None) -> bool:
    return at is not None and came != at and abs(came - at) < _MINUTE


def _nearer(before: datetime | None, coming: datetime | None, now: datetime) -> datetime | None:
    if before is None or coming is None:
        return before or coming
    return before if now - before <= coming - now else coming


def _fewer(rule: str, anchor: datetime, start: datetime, zone: str) -> str:
    """A rule that counts its times has as many less as are over."""
    parts = dict(part.split("=", 1) for part in rule.split(";") if "=" in part)
    if "COUNT" not in parts:
        return rule
    gone = sum(1 for came in instants(rule, anchor, anchor - _MINUTE, start, zone) if came < start)
    parts["COUNT"] = str(max(1, int(parts["COUNT"]) - gone))
    return ";".join(f"{name}={value}" for name, value in parts.items())


def _of_rule(
    todo: Todo, anchor: datetime, since: datetime, until: datetime, time_zone: str
) -> Iterator[datetime]:
    """By the clock that it recurs by, if there is such a one; without the one that was moved."""
    time_zone = zone_or(todo.time_zone, time_zone)
    for came in instants(todo.recurrence_rule or "", anchor, since, until, time_zone):
        if todo.moved_from is None or abs(came - todo.moved_from) >= _MINUTE:
            yield came
