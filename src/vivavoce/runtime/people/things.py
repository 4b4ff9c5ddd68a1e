"""The user's things as whoever talks with them knows them: open tasks and active goals, in words.

Values and pure functions; counting the days of rules takes its time, so whoever has an event loop
calls it beside that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from vivavoce.language.en.telling import in_words, rule_in_words
from vivavoce.runtime.people.due import anchor_of, next_due, zone_or
from vivavoce.wire.clean import clean_line
from vivavoce.wire.hints import Thing
from vivavoce.wire.records.plans import Goal, GoalStatus, Todo

MOST = 60
"""As many as a brain is told of: more nobody speaks of."""
_TITLE, _NOTES = 120, 300
_STALE = timedelta(days=1)
"""What should have been done longer ago comes last."""
_MINE = {"i": "you", "i'm": "you're", "i’m": "you're", "my": "your", "me": "you", "am": "are"}


def harmless(text: str, limit: int = _TITLE) -> str:
    """One line that neither opens a heading, nor a turn of a chat template, nor names an id."""
    line = clean_line(text, limit).replace("<|", "‹|").replace("|>", "|›")
    return re.sub(r"\(\s*id\s*:", "(id ", line, flags=re.IGNORECASE).lstrip("#>*-`~= \t")


def to_you(text: str) -> str:
    """The user's own words, said back to them: "when I get home" is "when you get home"."""
    return re.sub(r"[A-Za-z'’]+", lambda word: _MINE.get(word[0].lower(), word[0]), text)


def task(todo: Todo, now: datetime, time_zone: str) -> Thing:
    due = _due(todo, now, time_zone)
    return Thing(
        id=todo.id,
        title=harmless(todo.title) or "A task",
        at=_here(due, time_zone),
        when=task_words(todo, due, now, time_zone),
        rule=todo.recurrence_rule,
        place=harmless(todo.location_trigger, 80) if todo.location_trigger else None,
        open=todo.status.open,
    )


def goal(one: Goal, now: datetime, time_zone: str) -> Thing:
    return Thing(
        id=one.id,
        kind="goal",
        title=harmless(one.statement) or "A goal",
        at=_here(one.target_at, time_zone),
        when=goal_words(one, now, time_zone),
        open=one.status is GoalStatus.ACTIVE,
        notes=harmless(one.context_notes or "", _NOTES),
    )


def in_order(todos: Iterable[Todo], goals: Iterable[Goal], now: datetime, zone: str) -> list[Thing]:
    """Tasks, what comes next first, then those without a time, then what is long overdue; and the
    goals."""
    tasks = [task(one, now, zone) for one in todos]

    def place(one: Thing) -> tuple[int, float]:
        if one.at is None:
            return 1, 0.0
        return (0, one.at.timestamp()) if one.at > now - _STALE else (2, -one.at.timestamp())

    tasks.sort(key=place)
    aims = [goal(one, now, zone) for one in goals]
    return [*tasks[: max(MOST - len(aims), MOST // 2)], *aims][:MOST]


def task_words(todo: Todo, due: datetime | None, now: datetime, time_zone: str) -> str:
    """When it is: "tomorrow, Tuesday, at eight in the morning", "every Thursday at seven in the
    morning, the next time tomorrow, Thursday"."""
    if due is None:
        return ""
    if not todo.recurrence_rule:
        return _spoken(due, now, time_zone)
    hour = anchor_of(todo) or due
    often = rule_in_words(todo.recurrence_rule, _here(hour, zone_or(todo.time_zone, time_zone)))
    if todo.moved_from is not None and todo.scheduled_at == due:
        return f"{often}, but this once {_spoken(due, now, time_zone)}"
    return f"{often}, the next time {_spoken(due, now, time_zone, clock=False)}"


def goal_words(one: Goal, now: datetime, time_zone: str) -> str:
    """By when, resolved where it could be."""
    if one.target_at is None:
        return one.timeline or ""
    return f"by {_spoken(one.target_at, now, time_zone, clock=False).removeprefix('on ')}"


def summary(one: Thing) -> str:
    """In one breath: what, and when or where."""
    where = to_you(one.place) if one.place else ""
    return ", ".join(part for part in (one.title, one.when, where) if part)


def _due(todo: Todo, now: datetime, time_zone: str) -> datetime | None:
    try:
        return next_due(todo, now, time_zone)
    except (ValueError, OverflowError):  # an instant that no clock shows here
        return None


def _here(at: datetime | None, time_zone: str) -> datetime | None:
    try:
        return at and at.astimezone(ZoneInfo(time_zone))
    except (ValueError, OverflowError):
        return at


def _spoken(at: datetime, now: datetime, time_zone: str, *, clock: bool = True) -> str:
    try:
        return in_words(at, now=now.astimezone(ZoneInfo(time_zone)), clock=clock)
    except (ValueError, OverflowError):
        return ""
