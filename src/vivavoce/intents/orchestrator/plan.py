"""When a task is due, and how often: of what was said first, and of a correction of it.

Blocking: the library behind it is slow to load. Raises `IntentRefused` with the
question to ask. Knows no payload and no store.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from vivavoce.errors import IntentRefused
from vivavoce.language.en.recurrence.reading import recurrence
from vivavoce.language.en.recurrence.rules import next_occurrence
from vivavoce.language.en.telling import rule_words
from vivavoce.language.en.times.dates import instant
from vivavoce.language.en.times.understanding import When, clocked, understand
from vivavoce.runtime.people.due import anchor_of
from vivavoce.wire.records.plans import Todo

WHEN = "When should it be?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """The words for it, and when and where they were said."""

    at: str | None
    again: str | None
    now: datetime
    time_zone: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """When a task is due, understood, with what the model should know about it."""

    at: datetime
    rule: str | None = None
    rule_said: str | None = None
    """The words it came from."""
    recurs_from: datetime | None = None
    assumed: str | None = None


def first_plan(said: Said) -> Plan:
    """A recurring task may say its hour in either of its two fields; the first time is the first
    one that its rule allows."""
    words = said.at or said.again
    if words is None:
        raise IntentRefused("scheduled_at is missing", suggestion=f"Ask: {WHEN}")
    rule = _rule(said)
    found = _understood(words, said, None, recurring=bool(rule))
    if rule is None and found.rule is None:
        return _once(found)
    return _begun(found, rule, said)


def changed_plan(todo: Todo, said: Said, *, at: bool, again: bool) -> Plan:
    """Which of the two was said anew. What the new words do not say stays: the day, the hour,
    and how often, which goes on counting from where it began."""
    base = series_time(todo, said.now)
    if base is None or not (said.at or said.again):
        return first_plan(said)
    rule = _rule(said) if again else None
    kept = None if again else todo.recurrence_rule
    words = (said.at if at else None) or (said.again if again else None)
    if words is None or (words == said.again and not at and not _says_a_time(said, base)):
        found = When(words=words or "", at=base)  # "FREQ=DAILY", "once": nothing about the hour
    else:
        found = _understood(words, said, base, recurring=bool(rule or kept))
    if rule or found.rule:
        return _begun(found, rule, said)
    return _going_on(todo, kept, found, base, said) if kept else _once(found)


def series_time(todo: Todo, now: datetime) -> datetime | None:
    """The time that it has; of one that recurs the next by its rule, or its last."""
    anchor = anchor_of(todo)
    if anchor is None or not todo.recurrence_rule:
        return todo.scheduled_at
    return next_occurrence(todo.recurrence_rule, anchor, now, todo.time_zone) or anchor


def _says_a_time(said: Said, base: datetime) -> bool:
    words = said.again or ""
    return bool(understand(words, now=said.now, time_zone=said.time_zone, base=base).at)


def _rule(said: Said) -> str | None:
    if said.again is None:
        return None
    found = recurrence(said.again, now=said.now, time_zone=said.time_zone)
    if found.question:
        raise IntentRefused("That recurrence is not clear", suggestion=f"Ask: {found.question}")
    return found.rule


def _understood(words: str, said: Said, base: datetime | None, *, recurring: bool) -> When:
    found = understand(
        words, now=said.now, time_zone=said.time_zone, base=base, recurring=recurring
    )
    if found.at is None:
        raise IntentRefused(found.problem, suggestion=f"Ask: {found.question or WHEN}")
    return found


def _once(found: When) -> Plan:
    assert found.at is not None
    return Plan(at=found.at, assumed=found.assumed)


def _begun(found: When, rule: str | None, said: Said) -> Plan:
    """A rule of its own words, or else of those for the time, that begins with the first time it
    allows."""
    assert found.at is not None
    words = said.again if rule else found.words
    rule = clocked(rule or found.rule or "", found, said.time_zone)
    first = _first(rule, found.at, said)
    return Plan(at=first, rule=rule, rule_said=words, assumed=found.assumed)


def _going_on(todo: Todo, rule: str, found: When, base: datetime, said: Said) -> Plan:
    """Another hour of the same days; or another day to begin with, if the rule has it."""
    assert found.at is not None
    zone = ZoneInfo(said.time_zone)
    meant = found.at.astimezone(zone)
    if meant.time() != base.astimezone(zone).time():
        rule = clocked(_without_hour(rule), found, said.time_zone)
    anchor, start = anchor_of(todo) or base, found.at
    if not found.day_said and anchor <= said.now:
        start = instant(anchor.astimezone(zone).date(), found.clock or meant.time(), said.time_zone)
    first = _first(rule, start, said)
    if found.day_said and first.astimezone(zone).date() != meant.date():
        raise IntentRefused(
            f"It repeats {rule_words(rule)}, and {meant:%A} is not one of its days",
            suggestion="Ask: On which days should it be from now on? Then change recurrence_rule",
        )
    return Plan(
        at=first,
        rule=rule,
        rule_said=todo.recurrence_words,
        recurs_from=None if start == first else start,
        assumed=found.assumed,
    )


def _first(rule: str, start: datetime, said: Said) -> datetime:
    first = next_occurrence(rule, start, said.now, said.time_zone)
    if first is None:
        raise IntentRefused("That never occurs", suggestion=f"Ask: {WHEN}")
    return first


def _without_hour(rule: str) -> str:
    hours = ("BYHOUR=", "BYMINUTE=")
    return ";".join(part for part in rule.split(";") if not part.startswith(hours))
