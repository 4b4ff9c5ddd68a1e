"""Who the user is and what they have to do, as a session is told (seed 004 §5.1, §6.1).

Lines for "Current Context", and what the user prefers. Counting the days of rules takes
its time, so it is done beside the loop.
"""

from __future__ import annotations

import asyncio
import logging
import re
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from vivavoce.errors import VivavoceError
from vivavoce.language.en.telling import clock_words, spoken
from vivavoce.logs import fields
from vivavoce.runtime.people import things
from vivavoce.runtime.people.due import due_on, zone_or
from vivavoce.runtime.people.elsewhere import Elsewhere
from vivavoce.runtime.people.things import harmless
from vivavoce.runtime.ports import AgendaStore, Plans
from vivavoce.wire.hints import Thing
from vivavoce.wire.records.plans import Goal, Person, Todo, Verbosity
from vivavoce.wire.values import Record, Value

log = logging.getLogger(__name__)

MOST_TASKS = 20
MOST_LATER = 20
MOST_GOALS = 10
LOOKED_AT = 200
PAGES = 5  # what is long overdue comes first, and is told last
_HOUR = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")


class Telling(Value):
    """Tasks and goals as lines that a model reads: which, in what order, in what words. Titles
    were written by people or models: each becomes one harmless line."""

    now: datetime
    time_zone: str

    @property
    def today(self) -> date:
        return self.now.astimezone(ZoneInfo(self.time_zone)).date()

    @property
    def midnight(self) -> datetime:
        """The end of the user's day."""
        end = datetime.combine(self.today + timedelta(days=1), time(), ZoneInfo(self.time_zone))
        return end.astimezone(UTC)

    def plans(
        self, todos: list[Todo], goals: list[Goal], opened: Todo | None, *, known: bool
    ) -> list[str]:
        told = [*self.tasks(todos, known=known), *self.later(todos), *self.goals(goals)]
        if opened is not None and opened.status.open:
            words = self.line(opened, self._on_today(opened) or self._to_come(opened))
            told.append(
                f"The user comes from a notification about this task, begin with it: {words}"
            )
        return told

    def tasks(self, todos: list[Todo], *, known: bool) -> list[str]:
        """Those of today by their hour, then what waits for a place, then what is overdue, the
        newest first: there is not room for everything that was never done."""
        today, waiting, overdue = [], [], []
        for todo in todos:
            if at := self._on_today(todo):
                today.append((at, todo))
            elif todo.recurrence_rule:
                continue
            elif todo.scheduled_at is None:
                waiting.append((None, todo))
            elif todo.scheduled_at < self.midnight:
                overdue.append((todo.scheduled_at, todo))
        today.sort(key=lambda due: due[0])
        overdue.sort(key=lambda due: due[0], reverse=True)
        mine = [*today, *waiting, *overdue][:MOST_TASKS]
        if mine:
            return ["Today's active tasks:", *(f"- {self.line(todo, at)}" for at, todo in mine)]
        return ["Today's active tasks: none"] if known else []

    def later(self, todos: list[Todo]) -> list[str]:
        """What is on another day, the next first: it can be moved or ticked off as well."""
        told = [things.task(todo, self.now, self.time_zone) for todo in todos]
        coming = [one for one in told if one.at is not None and one.at >= self.midnight]
        coming.sort(key=lambda one: (one.at is None, one.at))
        lines = [
            f"- {', '.join(filter(None, (one.title, one.when)))} (id: {harmless(one.id, 64)})"
            for one in coming[:MOST_LATER]
        ]
        return ["Later tasks:", *lines] if lines else []

    def goals(self, goals: list[Goal]) -> list[str]:
        told = [things.goal(goal, self.now, self.time_zone) for goal in goals[:MOST_GOALS]]
        lines = [
            f"- {', '.join(filter(None, (one.title, one.when)))} (id: {harmless(one.id, 64)})"
            for one in told
        ]
        return ["Goals:", *lines] if lines else []

    def _on_today(self, todo: Todo) -> datetime | None:
        try:
            return due_on(todo, self.today, self.time_zone)
        except (ValueError, OverflowError):  # an instant that no clock shows here
            return None

    def _to_come(self, todo: Todo) -> datetime | None:
        """Of one that recurs, not the time it began at."""
        at = todo.scheduled_at
        return at if at is None or not todo.recurrence_rule or at > self.now else None

    def line(self, todo: Todo, at: datetime | None) -> str:
        parts = [harmless(todo.title) or "A task"]
        if at is not None and (todo.scheduled_at or todo.recurs_from):
            parts += self._spoken(at)
        if todo.recurrence_rule:
            parts.append(harmless(todo.recurrence_words or "recurring", 60))
        if todo.location_trigger:
            parts.append(harmless(todo.location_trigger, 80))
        return f"{', '.join(parts)} (id: {harmless(todo.id, 64)})"

    def _spoken(self, at: datetime) -> list[str]:
        try:
            return [spoken(at, now=self.now, time_zone=self.time_zone)]
        except (ValueError, OverflowError):
            return []


class UserContext(Record):
    """What a session knows of its user; None and "normal" is "as the agent says"."""

    time_zone: str = "UTC"
    name: str = ""
    things: tuple[Thing, ...] = ()
    """Open tasks and active goals, the next first."""
    lines: tuple[str, ...] = ()
    voice: str | None = None
    verbosity: Verbosity = "normal"
    auto_approve: bool = False


async def user_context(
    store: AgendaStore,
    user_id: str,
    *,
    now: datetime,
    time_zone: str,
    task_id: str | None = None,
    elsewhere: Elsewhere | None = None,
) -> UserContext:
    """`task_id` is a task that the user comes from, by a notification. `elsewhere`: what is told of
    them where their things live elsewhere. What cannot be read is left out: nobody is refused a
    session for it."""
    telling = Telling(now, time_zone)
    try:
        person = await store.person(user_id)
        who = person or Person(id=user_id, created_at=now, updated_at=now)
        if elsewhere is not None:
            name, zone = elsewhere.name or who.name, elsewhere.time_zone or who.time_zone
            person = who = replace(who, name=name, time_zone=zone)
        telling = Telling(now, zone_or(who.time_zone, time_zone))
        plans_of: Plans = elsewhere if elsewhere is not None and elsewhere.plans else store
        todos = await open_todos(plans_of, user_id)
        goals = await plans_of.goals(user_id=user_id, status="active", limit=MOST_GOALS)
        opened = await plans_of.todo(task_id, user_id=user_id) if task_id else None
    except VivavoceError as fault:
        log.warning("A session begins without knowing its user", extra=fields(code=fault.code))
        return UserContext(time_zone=telling.time_zone)
    plans, mine = await asyncio.to_thread(
        lambda: (
            telling.plans(todos, goals, opened, known=person is not None),
            things.in_order(todos, goals, now, telling.time_zone),
        )
    )
    return UserContext(
        time_zone=telling.time_zone,
        name=harmless(who.name or "", 60),
        things=tuple(mine),
        lines=(*_about(who), *plans),
        voice=who.voice,
        verbosity=who.verbosity,
        auto_approve=who.auto_approve,
    )


async def open_todos(store: Plans, user_id: str) -> list[Todo]:
    found: list[Todo] = []
    for page in range(PAGES):
        more = await store.todos(
            user_id=user_id, open_only=True, limit=LOOKED_AT, offset=page * LOOKED_AT
        )
        found += more
        if len(more) < LOOKED_AT:
            break
    return found


def _about(person: Person) -> list[str]:
    name, chronotype = harmless(person.name or "", 60), harmless(person.chronotype or "", 40)
    told = [
        f"The user's name: {name}" if name else "",
        f"Chronotype: {chronotype}" if chronotype else "",
        _hours("Work hours", person.work_start, person.work_end),
        _hours("Sleeps", person.sleep_start, person.sleep_end),
        f"Time zone: {person.time_zone}" if zone_or(person.time_zone, "") else "",
    ]
    return [line for line in told if line]


def _hours(what: str, start: str | None, end: str | None) -> str:
    found = [_HOUR.fullmatch(hour or "") for hour in (start, end)]
    told = [clock_words(time(int(hour[1]), int(hour[2]))) for hour in found if hour]
    return f"{what}: {told[0]} to {told[1]}" if len(told) == 2 else ""
