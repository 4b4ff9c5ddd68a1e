"""The instants of a rule, by dateutil; and those of a task that has one.

Counted by the clock of a place: six in the morning stays six when the clocks change,
and an hour that they jump over is there again the next day. A task counts from
`recurs_from`, or from its time; the one occurrence `moved_from` is at `scheduled_at`
instead, and the others stay. No rule is followed for ever, and none from its beginning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from vivavoce.language.en.recurrence.parts import comes, joined, parts_of, pinned_to
from vivavoce.language.en.times.dates import instant
from vivavoce.wire.records.plans import Todo

if TYPE_CHECKING:
    from dateutil.rrule import rrule

_OLDEST = 1970
"""No task is older: the years before it would only be counted through."""
_HORIZON = timedelta(days=366 * 12)  # a 29th of February comes within eight years
_DAY = timedelta(days=1)
_MINUTE = timedelta(minutes=1)
# Of rules and times that nobody foresaw: years that no clock has, parts that do not fit. And a
# server without the library still shows tasks, at their own times.
_FAULTS = (ValueError, TypeError, OverflowError, KeyError, IndexError, ImportError)


def next_occurrence(rule: str, at: datetime, after: datetime, time_zone: str) -> datetime | None:
    """The first instant of the rule later than `after`, by the clock of `at`; none before `at`."""
    try:
        until = max(at, after) + _HORIZON
        found = _instants(rule, at, after, until, time_zone)
        return next((came for came in found if came > after), None)
    except _FAULTS:
        return None


def next_due(todo: Todo, after: datetime, time_zone: str) -> datetime | None:
    """When it is to be done next; of one that is over, or does not recur, its time."""
    anchor = todo.recurs_from or todo.moved_from or todo.scheduled_at
    if not todo.recurrence_rule or anchor is None:
        return todo.scheduled_at
    try:
        until = max(anchor, after) + _HORIZON
        found = _of_rule(todo, anchor, after, until, _zone(todo, time_zone))
        coming = list(islice((came for came in found if came > after), 1))
    except _FAULTS:
        coming = []
    if todo.scheduled_at is not None and todo.scheduled_at > after:
        coming.append(todo.scheduled_at)  # also where it was moved to a day its rule does not have
    return min(coming, default=todo.scheduled_at)


def due_on(todo: Todo, on: date, time_zone: str) -> datetime | None:
    """When it is due on this day of the user's; None: not on this day."""
    first, last = (instant(on + n * _DAY, time(), time_zone) for n in (0, 1))
    found = [] if todo.scheduled_at is None else [todo.scheduled_at]
    if todo.recurrence_rule:
        anchor = todo.recurs_from or todo.moved_from or todo.scheduled_at or todo.created_at
        with suppress(*_FAULTS):
            found += _of_rule(todo, anchor, first, last, _zone(todo, time_zone))
    return min((came for came in found if first <= came < last), default=None)


def occurs_on(todo: Todo, on: date, time_zone: str) -> bool:
    """Is it due on this day, where the user is?"""
    return due_on(todo, on, time_zone) is not None


def at_clock(rule: str, clock: time) -> str:
    """The rule at an hour of its own: for one whose first time the clocks jump over, so that its
    others are not as much later."""
    parts = dict(part.split("=", 1) for part in rule.split(";"))
    hour = {"BYHOUR": str(clock.hour), "BYMINUTE": str(clock.minute)}
    return joined({**parts, **{key: hour[key] for key in hour if key not in parts}})


def _of_rule(
    todo: Todo, anchor: datetime, since: datetime, until: datetime, time_zone: str
) -> Iterator[datetime]:
    moved = todo.moved_from
    for came in _instants(todo.recurrence_rule or "", anchor, since, until, time_zone):
        if moved is None or abs(came - moved) >= _MINUTE:
            yield came


def _instants(
    rule: str, anchor: datetime, since: datetime, until: datetime, time_zone: str
) -> Iterator[datetime]:
    """In order, from some before `since` to `until`."""
    parts = parts_of(rule, time_zone)
    start = _local(anchor, time_zone).replace(second=0, microsecond=0)
    if parts is None or start.year < _OLDEST or not comes(parts := pinned_to(parts, start)):
        return
    clock = time(int(parts["BYHOUR"]), int(parts["BYMINUTE"]))
    if instant(start.date(), clock, time_zone) == instant(start.date(), start.time(), time_zone):
        start = datetime.combine(start.date(), clock)  # it began in a gap of the clock
    last = _local(until, time_zone)
    if end := parts.pop("UNTIL", None):
        last = min(last, datetime.fromisoformat(end))
    count = parts.pop("COUNT", None)
    first = _first(parts, start)
    if first is None:
        return
    if count is None:
        first = _nearer(parts, first, _local(since, time_zone))
    for came in islice(_counted(parts, first, last), int(count) if count else None):
        yield instant(came.date(), came.time(), time_zone)


def _first(parts: Mapping[str, str], start: datetime) -> datetime | None:
    """Every other Monday, said on a Saturday, begins with the Monday that comes: what is left out
    is counted from the first day that fits."""
    if "INTERVAL" not in parts:
        return start
    every = {key: value for key, value in parts.items() if key != "INTERVAL"}
    return next(iter(_counted(every, start, start + 4 * _HORIZON)), None)


def _nearer(parts: Mapping[str, str], start: datetime, since: datetime) -> datetime:
    """A start in step with the first one, but shortly before `since`: a row may begin
    long ago, and the days since then would all be counted."""
    step = int(parts.get("INTERVAL", "1"))
    months = {"MONTHLY": step, "YEARLY": 12 * step}.get(parts["FREQ"])
    if months is None:
        days = step if parts["FREQ"] == "DAILY" else 7 * step
        return start + max(0, (since - start).days // days - 1) * days * _DAY
    between = (since.year - start.year) * 12 + since.month - start.month
    skipped = (between // months - 1) * months
    if skipped <= 0:
        return start
    year, month = divmod(start.year * 12 + start.month - 1 + skipped, 12)
    if parts["FREQ"] == "YEARLY":
        month = 0  # the month is in the rule
    return datetime.combine(date(year, month + 1, 1), time())


def _counted(parts: Mapping[str, str], start: datetime, last: datetime) -> rrule:
    from dateutil.rrule import rrule as rule_type
    from dateutil.rrule import rrulestr

    found = rrulestr(joined(parts), dtstart=start)
    if not isinstance(found, rule_type):
        raise ValueError("not one rule")
    return found.replace(until=last)


def _zone(todo: Todo, otherwise: str) -> str:
    """The clock that it recurs by, if there is such a one."""
    try:
        return ZoneInfo(todo.time_zone).key
    except (OSError, ValueError, KeyError):
        return otherwise


def _local(at: datetime, time_zone: str) -> datetime:
    aware = at if at.tzinfo else at.replace(tzinfo=UTC)
    return aware.astimezone(ZoneInfo(time_zone)).replace(tzinfo=None)
