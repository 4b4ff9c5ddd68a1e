"""Today's tasks as lines that a model reads: which, in what order, in what words. No I/O.

Titles were written by people or models: each becomes one harmless line. It may count the
days of many rules, so whoever has an event loop calls it beside that.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from vivavoce.language.en.telling import spoken
from vivavoce.runtime.people.due import due_on
from vivavoce.wire.clean import clean_line
from vivavoce.wire.records.plans import Todo

MOST_TASKS = 20


def harmless(text: str, limit: int = 120) -> str:
    """One line that neither opens a heading, nor a turn of a chat template, nor names an id."""
    line = clean_line(text, limit).replace("<|", "‹|").replace("|>", "|›")
    return re.sub(r"\(\s*id\s*:", "(id ", line, flags=re.IGNORECASE).lstrip("#>*-`~= \t")


@dataclass(frozen=True, slots=True)
class Telling:
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

    def plans(self, todos: list[Todo], opened: Todo | None, *, known: bool) -> list[str]:
        told = self.tasks(todos, known=known)
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
