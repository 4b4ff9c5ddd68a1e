"""Who the user is and what they have to do today, as a session is told (seed 004 §5.1, §6.1).

Lines for "Current Context", and what the user prefers. Names and titles were
written by people or models: each becomes one harmless line. What days a task
recurs on and how an instant is spoken is given by the caller; without that,
the next instant counts.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Protocol
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from vivavoce.errors import VivavoceError
from vivavoce.logs import fields
from vivavoce.runtime.agenda_ports import AgendaStore
from vivavoce.wire.agenda import Person, Todo, Verbosity
from vivavoce.wire.clean import clean_line

log = logging.getLogger(__name__)

MOST_TASKS = 20
LOOKED_AT = 200  # recurring ones come with every question, whatever day they are for
_HOUR = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")


@dataclass(frozen=True, slots=True, kw_only=True)
class UserContext:
    """What a session knows of its user; None and "normal" is "as the agent says"."""

    time_zone: str = "UTC"
    lines: tuple[str, ...] = ()
    voice: str | None = None
    verbosity: Verbosity = "normal"
    auto_approve: bool = False


class Spoken(Protocol):
    def __call__(self, at: datetime, *, now: datetime, time_zone: str) -> str: ...


OccursOn = Callable[[Todo, date, str], bool]


async def user_context(
    store: AgendaStore,
    user_id: str,
    *,
    now: datetime,
    time_zone: str,
    task_id: str | None = None,
    occurs_on: OccursOn | None = None,
    spoken: Spoken | None = None,
) -> UserContext:
    """`task_id` is a task that the user comes from, by a notification. What cannot be read is left
    out: nobody is refused a session for it."""
    telling = _Telling(now, time_zone, occurs_on or next_is_on, spoken or plainly)
    try:
        person = await store.person(user_id)
        telling = replace(telling, time_zone=_zone(person, time_zone))
        todos = await store.todos(
            user_id=user_id, open_only=True, until=telling.midnight, limit=LOOKED_AT
        )
        opened = await store.todo(task_id, user_id=user_id) if task_id else None
    except VivavoceError as fault:
        log.warning("A session begins without knowing its user", extra=fields(code=fault.code))
        return UserContext(time_zone=telling.time_zone)
    lines = (*_about(person), *telling.tasks(todos, known=person is not None))
    if opened is not None and opened.status.open:
        words = telling.line(opened)
        lines += (f"The user comes from a notification about this task, begin with it: {words}",)
    told = UserContext(time_zone=telling.time_zone, lines=lines)
    if person is None:
        return told
    return replace(
        told,
        voice=person.voice,
        verbosity=person.verbosity,
        auto_approve=person.auto_approve,
    )


def harmless(text: str, limit: int = 120) -> str:
    """One line that neither opens a heading, nor a turn of a chat template, nor names an id."""
    line = clean_line(text, limit).replace("<|", "‹|").replace("|>", "|›")
    return re.sub(r"\(\s*id\s*:", "(id ", line, flags=re.IGNORECASE).lstrip("#>*-`~= \t")


def _zone(person: Person | None, otherwise: str) -> str:
    return _valid(person.time_zone if person else None, otherwise)


def _valid(time_zone: str | None, otherwise: str) -> str:
    try:
        return ZoneInfo(time_zone).key if time_zone else otherwise
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return otherwise


def _about(person: Person | None) -> list[str]:
    if person is None:
        return []
    name, chronotype = harmless(person.name or "", 60), harmless(person.chronotype or "", 40)
    told = [
        f"The user's name: {name}" if name else "",
        f"Chronotype: {chronotype}" if chronotype else "",
        _hours("Work hours", person.work_start, person.work_end),
        _hours("Sleeps", person.sleep_start, person.sleep_end),
        f"Time zone: {person.time_zone}" if _zone(person, "") else "",
    ]
    return [line for line in told if line]


def _hours(what: str, start: str | None, end: str | None) -> str:
    found = [_HOUR.fullmatch(hour or "") for hour in (start, end)]
    told = [_clock(time(int(hour[1]), int(hour[2]))) for hour in found if hour]
    return f"{what}: {told[0]} to {told[1]}" if len(told) == 2 else ""


def _clock(at: time) -> str:
    return f"{at:%I:%M %p}".lstrip("0")


def next_is_on(todo: Todo, day: date, time_zone: str) -> bool:
    """Does its next instant fall on this day?"""
    return (
        todo.scheduled_at is not None
        and todo.scheduled_at.astimezone(ZoneInfo(time_zone)).date() == day
    )


def plainly(at: datetime, *, now: datetime, time_zone: str) -> str:
    """ "today at 6:00 PM", or with the day's name and date."""
    here = at.astimezone(ZoneInfo(time_zone))
    days = (here.date() - now.astimezone(ZoneInfo(time_zone)).date()).days
    near = {-1: "yesterday", 0: "today", 1: "tomorrow"}
    day = near.get(days) or f"{here:%A}, {here:%B} {here.day}"
    return f"{day} at {_clock(here.time())}"


@dataclass(frozen=True, slots=True)
class _Telling:
    now: datetime
    time_zone: str
    occurs_on: OccursOn
    spoken: Spoken

    @property
    def today(self) -> date:
        return self.now.astimezone(ZoneInfo(self.time_zone)).date()

    @property
    def midnight(self) -> datetime:
        """The end of the user's day."""
        end = datetime.combine(self.today + timedelta(days=1), time(), ZoneInfo(self.time_zone))
        return end.astimezone(UTC)

    def tasks(self, todos: list[Todo], *, known: bool) -> list[str]:
        """Those of today; what is overdue or waits for a place is of today too."""
        mine = [todo for todo in todos if self._is_for_today(todo)][:MOST_TASKS]
        if mine:
            return ["Today's active tasks:", *(f"- {self.line(todo)}" for todo in mine)]
        return ["Today's active tasks: none"] if known else []

    def _is_for_today(self, todo: Todo) -> bool:
        if todo.recurrence_rule:
            return self.occurs_on(todo, self.today, self.time_zone)
        return todo.scheduled_at is None or todo.scheduled_at < self.midnight

    def line(self, todo: Todo) -> str:
        parts = [harmless(todo.title) or "A task"]
        if at := self._at(todo):
            parts.append(self.spoken(at, now=self.now, time_zone=self.time_zone))
        if todo.recurrence_rule:
            parts.append(harmless(todo.recurrence_words or "recurring", 60))
        if todo.location_trigger:
            parts.append(harmless(todo.location_trigger, 80))
        return f"{', '.join(parts)} (id: {harmless(todo.id, 64)})"

    def _at(self, todo: Todo) -> datetime | None:
        """Of a recurring one today's instant: the hour is the same, by the clock it recurs by."""
        at = todo.scheduled_at
        if at is None or not todo.recurrence_rule or next_is_on(todo, self.today, self.time_zone):
            return at
        if not self.occurs_on(todo, self.today, self.time_zone):
            return at
        zone = ZoneInfo(_valid(todo.time_zone, self.time_zone))
        return datetime.combine(self.today, at.astimezone(zone).time(), zone)
