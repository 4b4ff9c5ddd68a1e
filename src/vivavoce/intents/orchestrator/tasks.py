"""NEW_TASK: something to be done at a time, again and again, or at a place.

When it is due, and how often, is of what was said first, and of a correction of that.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from vivavoce.intents.orchestrator.finding import open_task
from vivavoce.intents.orchestrator.ports import WHEN, asking, day_of, gone, needed, text, told
from vivavoce.intents.ports import Accepted
from vivavoce.language.en.recurrence.reading import recurrence
from vivavoce.language.en.recurrence.rules import next_occurrence, on_another_day
from vivavoce.language.en.telling import rule_words
from vivavoce.language.en.times.dates import instant
from vivavoce.language.en.understanding import When, clocked, says_when, understand
from vivavoce.runtime.people.due import anchor_of, next_due
from vivavoce.runtime.people.things import task
from vivavoce.runtime.ports import AgendaStore
from vivavoce.wire.records.plans import Intent, Submission, Todo, TodoStatus
from vivavoce.wire.records.talk import Put, entry_id

_TIMES = ("trigger_type", "scheduled_at", "recurrence_rule", "relative_to", "location_trigger")


class Tasks:
    def __init__(self, store: AgendaStore) -> None:
        self._store = store

    async def submit(self, given: Submission) -> Accepted:
        todo = Todo(
            id=entry_id(given.intent_id, "task"),
            user_id=given.user_id,
            title="",
            trigger_type="time",
            created_at=given.now,
            updated_at=given.now,
            conversation_id=given.conversation_id,
            intent_id=given.intent_id,
        )
        todo = _titled(todo, given)
        if given.payload.get("trigger_type") == "location":
            return await asyncio.to_thread(_at_a_place, todo, given)
        event = await self._event(given)
        plan = await asyncio.to_thread(_first_plan, given, event)
        return await asyncio.to_thread(_planned, todo, plan, given)

    async def amend(self, intent: Intent, given: Submission) -> Accepted:
        """Only what was said anew is understood anew: the old words meant the day they were said
        on, and the task may have been moved since."""
        todo = await self._todo(intent)
        if not todo.status.open:
            raise gone("task")
        todo = _titled(todo, given)
        new = {key for key in _TIMES if intent.payload.get(key) != given.payload.get(key)}
        if given.payload.get("trigger_type") == "location":
            if new:
                return await asyncio.to_thread(_at_a_place, todo, given)
        elif new - {"location_trigger"}:
            at, again = "scheduled_at" in new, "recurrence_rule" in new
            event = await self._event(given) if "relative_to" in new else None
            if event is not None:
                plan = await asyncio.to_thread(_first_plan, given, event)
            else:
                plan = await asyncio.to_thread(_changed_plan, todo, given, at=at, again=again)
            return await asyncio.to_thread(_planned, todo, plan, given)
        return await asyncio.to_thread(_as_it_is, todo, given)

    async def retract(self, intent: Intent, given: Submission) -> Accepted:
        todo = await self._todo(intent)
        undone = replace(todo, status=TodoStatus.RETRACTED, updated_at=given.now)
        said = told(task(undone, given.now, given.time_zone), removed=True)
        return Accepted(task_id=todo.id, changes=(Put(undone),), told=said)

    async def _event(self, given: Submission) -> datetime | None:
        """The time of the task that its own counts from. Raises `IntentRefused`."""
        if text(given.payload, "relative_to") is None:
            return None
        other = await open_task(self._store, given, "relative_to")
        at = await asyncio.to_thread(next_due, other, given.now, given.time_zone)
        if at is None:
            raise asking(f"{other.title} has no time to count from", WHEN, "scheduled_at")
        return at

    async def _todo(self, intent: Intent) -> Todo:
        todo = await self._store.todo(intent.task_id or "", user_id=intent.user_id)
        if todo is None:
            raise gone("task")
        return todo


def _titled(todo: Todo, given: Submission) -> Todo:
    title = needed(given.payload, "title", "What is the task?")
    return replace(todo, title=title, updated_at=given.now)


def _said(given: Submission) -> tuple[str | None, str | None]:
    """The words for when, and for how often."""
    return text(given.payload, "scheduled_at"), text(given.payload, "recurrence_rule")


def _planned(todo: Todo, plan: _Plan, given: Submission) -> Accepted:
    todo = replace(
        todo,
        trigger_type="time",
        scheduled_at=plan.at,
        scheduled_words=text(given.payload, "scheduled_at"),
        recurrence_rule=plan.rule,
        recurrence_words=plan.rule_said,
        recurs_from=plan.recurs_from,
        moved_from=None,
        time_zone=given.time_zone,
        location_trigger=None,
    )
    return _as_it_is(todo, given, assumed=plan.assumed)


def _as_it_is(todo: Todo, given: Submission, **more: Any) -> Accepted:
    """Told is what was understood, not what was said: the user hears it if it is another."""
    said = told(task(todo, given.now, given.time_zone), **more)
    return Accepted(task_id=todo.id, changes=(Put(todo),), told=said)


def _at_a_place(todo: Todo, given: Submission) -> Accepted:
    where = needed(given.payload, "location_trigger", "Where should I remind you?")
    todo = replace(
        todo,
        trigger_type="location",
        location_trigger=where,
        scheduled_at=None,
        scheduled_words=None,
        recurrence_rule=None,
        recurrence_words=None,
        recurs_from=None,
        moved_from=None,
        time_zone=given.time_zone,
    )
    return _as_it_is(todo, given)


# --- When it is due, and how often. Blocking: the library behind it is slow to load --------
# Raises `IntentRefused` with the question to ask.


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """When a task is due, understood, with what the model should know about it."""

    at: datetime
    rule: str | None = None
    rule_said: str | None = None
    """The words it came from."""
    recurs_from: datetime | None = None
    assumed: str | None = None


def _first_plan(given: Submission, event: datetime | None = None) -> _Plan:
    """A recurring task may say its hour in either of its two fields; the first time is the first
    one that its rule allows. `event`: the time that the words count from."""
    at, again = _said(given)
    if not (words := at or again):
        raise asking("scheduled_at is missing", WHEN, "scheduled_at")
    rule = _rule(again, given)
    found = _understood(words, given, event, recurring=bool(rule))
    return _begun(found, rule, given) if rule or found.rule else _once(found)


def _changed_plan(todo: Todo, given: Submission, *, at: bool, again: bool) -> _Plan:
    """Which of the two was said anew. What the new words do not say stays: the day, the hour,
    and how often, which goes on counting from where it began."""
    base, (when, often) = _series_time(todo, given.now), _said(given)
    if base is None or not (when or often):
        return _first_plan(given)
    rule = _rule(often, given) if again else None
    kept = None if again else todo.recurrence_rule
    words = (when if at else None) or (often if again else None)
    if words is None or (words == often and not at and not says_when(often)):
        found = When(words=words or "", at=base)  # "FREQ=DAILY", "once": nothing about the hour
    else:
        found = _understood(words, given, base, recurring=bool(rule or kept))
    if rule or found.rule:
        return _begun(found, rule, given)
    return _going_on(todo, kept, found, base, given) if kept else _once(found)


def moved_series(todo: Todo, words: str, given: Submission) -> Todo:
    """All its times from now on: another hour, another day, or another rule. Raises
    `IntentRefused`."""
    base = _series_time(todo, given.now)
    found = _understood(words, given, base, recurring=True, key="preferred_new_time")
    assert found.at is not None
    rule = todo.recurrence_rule or ""
    if found.rule:
        plan = _begun(found, None, given)
    else:
        if found.day_said:
            meant = found.at.astimezone(ZoneInfo(given.time_zone))
            rule = on_another_day(rule, meant.date())
        plan = _going_on(todo, rule, found, base or found.at, given)
    return replace(
        todo,
        trigger_type="time",
        scheduled_at=plan.at,
        scheduled_words=words,
        recurrence_rule=plan.rule,
        recurrence_words=plan.rule_said,
        recurs_from=plan.recurs_from,
        moved_from=None,
        time_zone=given.time_zone,
        status=TodoStatus.RESCHEDULED,
        updated_at=given.now,
    )


def _series_time(todo: Todo, now: datetime) -> datetime | None:
    """The time that it has; of one that recurs the next by its rule, or its last."""
    anchor = anchor_of(todo)
    if anchor is None or not todo.recurrence_rule:
        return todo.scheduled_at
    return next_occurrence(todo.recurrence_rule, anchor, now, todo.time_zone) or anchor


def _rule(often: str | None, given: Submission) -> str | None:
    if often is None:
        return None
    found = recurrence(often, now=given.now, time_zone=given.time_zone)
    if found.question:
        raise asking("That recurrence is not clear", found.question, "scheduled_at")
    return found.rule


def _understood(
    words: str,
    given: Submission,
    base: datetime | None,
    *,
    recurring: bool,
    key: str = "scheduled_at",
) -> When:
    found = understand(
        words,
        now=given.now,
        time_zone=given.time_zone,
        base=base,
        recurring=recurring,
        profile=day_of(given),
    )
    if found.at is None:
        raise asking(found.problem, found.question, key)
    return found


def _once(found: When) -> _Plan:
    assert found.at is not None
    return _Plan(at=found.at, assumed=found.assumed)


def _begun(found: When, rule: str | None, given: Submission) -> _Plan:
    """A rule of its own words, or else of those for the time, that begins with the first time it
    allows."""
    assert found.at is not None
    words = _said(given)[1] if rule else found.words
    rule = clocked(rule or found.rule or "", found, given.time_zone)
    first = _first(rule, found.at, given)
    return _Plan(at=first, rule=rule, rule_said=words, assumed=found.assumed)


def _going_on(todo: Todo, rule: str, found: When, base: datetime, given: Submission) -> _Plan:
    """Another hour of the same days; or another day to begin with, if the rule has it."""
    assert found.at is not None
    zone = ZoneInfo(given.time_zone)
    meant = found.at.astimezone(zone)
    if meant.time() != base.astimezone(zone).time():
        rule = clocked(_without_hour(rule), found, given.time_zone)
    anchor, start = anchor_of(todo) or base, found.at
    if not found.day_said and anchor <= given.now:
        start = instant(
            anchor.astimezone(zone).date(), found.clock or meant.time(), given.time_zone
        )
    first = _first(rule, start, given)
    if found.day_said and first.astimezone(zone).date() != meant.date():
        raise asking(
            f"It repeats {rule_words(rule)}, and {meant:%A} is not one of its days",
            "On which days should it be from now on?",
            "recurrence_rule",
        )
    return _Plan(
        at=first,
        rule=rule,
        rule_said=todo.recurrence_words,
        recurs_from=None if start == first else start,
        assumed=found.assumed,
    )


def _first(rule: str, start: datetime, given: Submission) -> datetime:
    first = next_occurrence(rule, start, given.now, given.time_zone)
    if first is None:
        raise asking("That never occurs", WHEN, "scheduled_at")
    return first


def _without_hour(rule: str) -> str:
    hours = ("BYHOUR=", "BYMINUTE=")
    return ";".join(part for part in rule.split(";") if not part.startswith(hours))
