"""LIST: what is on the user's list, in words that are ready to be said.

It reads and tells. In order, counted, and not more at once than one can listen to.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from vivavoce.intents.orchestrator.finding import open_thing, thing_of
from vivavoce.intents.orchestrator.ports import asking, gone, shown, text
from vivavoce.intents.ports import Accepted
from vivavoce.language.en.numbers import cardinal
from vivavoce.language.en.ranges import Range, range_of
from vivavoce.language.en.telling import hour_in_words
from vivavoce.runtime.people import things
from vivavoce.runtime.people.due import dues_between
from vivavoce.runtime.people.profile import open_todos
from vivavoce.runtime.ports import Plans
from vivavoce.wire.hints import Thing
from vivavoce.wire.records.plans import Goal, Intent, Submission, Todo
from vivavoce.wire.values import Value

_MOST = 12
_SPELT = 100
_OFTEN = 2
"""What comes more often than this in one stretch is told once."""
_OVERDUE = timedelta(days=30)
_EVERYTHING = frozenset({"all", "everything", "anything", "list", "whole list", "all of it"})


class Listing:
    def __init__(self, store: Plans) -> None:
        self._store = store

    async def submit(self, given: Submission) -> Accepted:
        if text(given.payload, "thing_id"):
            one = await open_thing(self._store, given, "thing_id")
            return Accepted(told=await asyncio.to_thread(_about, one, given))
        what = given.payload.get("what") or "tasks"
        todos = await open_todos(self._store, given.user_id) if what != "goals" else []
        goals: list[Goal] = []
        if what != "tasks":
            goals = await self._store.goals(user_id=given.user_id, status="active", limit=_MOST + 1)
        return Accepted(told=await asyncio.to_thread(_listed, todos, goals, what, given))

    async def amend(self, intent: Intent, submission: Submission) -> Accepted:
        raise gone("question")

    async def retract(self, intent: Intent, submission: Submission) -> Accepted:
        raise gone("question")


def _about(one: Todo | Goal, given: Submission) -> dict[str, Any]:
    thing = thing_of(one, given)
    if isinstance(one, Goal):
        by = f", {thing.when}" if thing.when else ", with no date yet"
        notes = f" You noted: {things.to_you(thing.notes)}." if thing.notes else ""
        answer = f"Your goal: {thing.title}{by}.{notes}"
    elif thing.when:
        answer = f"{thing.title}: {thing.when}."
    elif thing.place:
        answer = f"{thing.title}: {things.to_you(thing.place)}."
    else:
        answer = f"{thing.title} has no time yet."
    return {"answer": answer, "title": thing.title, "count": 1, "things": shown([thing])}


class _Item(Value):
    """One line of what is told."""

    thing: Thing
    at: datetime
    words: str


def _listed(
    todos: Sequence[Todo], goals: Sequence[Goal], what: str, given: Submission
) -> dict[str, Any]:
    sentences: list[str] = []
    told: list[Thing] = []
    count = 0
    if what != "goals":
        said, mine, count = _tasks(todos, given)
        sentences.append(said)
        told += mine
    if what != "tasks":
        aims = [things.goal(one, given.now, given.time_zone) for one in goals]
        sentences.append(_goals(aims))
        told += aims[:_MOST]
        count += len(aims)
    seen = {one.id: one for one in reversed(told)}  # each once, in the order they were told
    return {
        "answer": " ".join(sentences),
        "count": count,
        "things": shown([seen[key] for key in dict.fromkeys(one.id for one in told)]),
    }


def _tasks(todos: Sequence[Todo], given: Submission) -> tuple[str, list[Thing], int]:
    words = text(given.payload, "when")
    if words is None or words.casefold().strip(" .?!") in _EVERYTHING:
        return _all(todos, given)
    when = range_of(words, now=given.now, time_zone=given.time_zone)
    if when is None:
        raise asking(f"It is not clear which days are meant: {words}", "For which day?", "when")
    items = _within(todos, when, given)
    late = _late(todos, when, given)
    if not items:
        said = f"There is nothing on your list {when.words}."
    else:
        said = f"{_counted(len(items), 'thing')} {when.words}: {_and([i.words for i in items])}."
    if late:
        said += f" Still open from before: {_and([things.summary(one) for one in late])}."
    return said, [*(item.thing for item in items), *late], len(items)


def _within(todos: Sequence[Todo], when: Range, given: Submission) -> list[_Item]:
    items: list[_Item] = []
    zone = ZoneInfo(given.time_zone)
    for todo in todos:
        times = dues_between(todo, when.start, when.end, given.time_zone)
        if not times:
            continue
        thing = thing_of(todo, given)
        if len(times) > _OFTEN and todo.recurrence_rule:
            often = thing.when.partition(", the next time")[0]
            items.append(_Item(thing, times[0], f"{thing.title}, {often}"))
            continue
        for at in times:
            clock = hour_in_words(at.astimezone(zone).time())
            on = f"{at.astimezone(zone):%A} " if when.days > 1 else ""
            items.append(_Item(thing, at, f"{thing.title}, {on}at {clock}"))
    return sorted(items, key=lambda item: item.at)


def _late(todos: Iterable[Todo], when: Range, given: Submission) -> list[Thing]:
    """What should have been done before today, for who asks about today."""
    if not when.start <= given.now < when.end:
        return []
    late = [
        todo
        for todo in todos
        if not todo.recurrence_rule
        and todo.scheduled_at is not None
        and when.start - _OVERDUE <= todo.scheduled_at < when.start
    ]
    return [thing_of(todo, given) for todo in late][:_MOST]


def _all(todos: Sequence[Todo], given: Submission) -> tuple[str, list[Thing], int]:
    mine = things.in_order(todos, (), given.now, given.time_zone)
    if not mine:
        return "There is nothing on your list.", [], 0
    lines = [things.summary(one) for one in mine[:_MOST]]
    if len(todos) > len(lines):
        lines.append(f"and {cardinal(str(len(todos) - len(lines)))} more")
    said = f"{_counted(len(todos), 'thing')} on your list: {'; '.join(lines)}."
    return said, mine[:_MOST], len(todos)


def _goals(aims: Sequence[Thing]) -> str:
    if not aims:
        return "You have no goals yet."
    lines = [things.summary(one) for one in aims[:_MOST]]
    if len(aims) > len(lines):
        lines.append("and some more")
    return f"You have {_counted(len(aims), 'goal').lower()}: {'; '.join(lines)}."


def _counted(count: int, what: str) -> str:
    said = cardinal(str(count)) if count < _SPELT else str(count)
    return f"{said.capitalize()} {what}{'' if count == 1 else 's'}"


def _and(lines: Sequence[str]) -> str:
    told = list(lines[:_MOST])
    if len(lines) > _MOST:
        told.append(f"{cardinal(str(len(lines) - _MOST))} more")
    return told[0] if len(told) == 1 else f"{'; '.join(told[:-1])}; and {told[-1]}"
