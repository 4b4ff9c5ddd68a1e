"""The built-in orchestrator: goals, tasks and reschedules in our own database.

It decides and returns changes; `Inside` commits them with the intent. Each route has a
handler. Another route is a YAML entry and a URL, or a YAML entry and a handler: an entry
point of the group `vivavoce.intents`, named for the route, that makes a `Handler` of an
`AgendaStore`. A route without one is refused.

A timeline that cannot be understood is no reason to refuse a goal: the words are kept.
Milestones come as a list, or as context notes written as a list, a step a line; a time in
brackets behind one is when it is due.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from vivavoce.errors import IntentRefused, OrchestratorUnavailable, Unavailable
from vivavoce.intents import again
from vivavoce.intents import records as write
from vivavoce.intents.orchestrator.changing import Completing, Deleting, Moves, Noting, Renaming
from vivavoce.intents.orchestrator.listing import Listing
from vivavoce.intents.orchestrator.ports import (
    MOST_CHARS,
    HandlerFactory,
    gone,
    needed,
    text,
    told,
)
from vivavoce.intents.orchestrator.tasks import Tasks
from vivavoce.intents.ports import Accepted, Action, Done, IntentStore, Journal, Orchestrator
from vivavoce.language.en.understanding import understand
from vivavoce.logs import failure
from vivavoce.runtime.people import things
from vivavoce.runtime.people.due import comes_due
from vivavoce.runtime.people.plans import taken_back
from vivavoce.runtime.plugins import entry_points
from vivavoce.runtime.ports import AgendaStore, Clock
from vivavoce.wire.clean import clean_line, clean_text
from vivavoce.wire.records.plans import (
    Goal,
    GoalStatus,
    Intent,
    IntentStatus,
    Milestone,
    Submission,
    Todo,
)
from vivavoce.wire.records.talk import Change, DropMilestone, Put, entry_id

MOST_MILESTONES = 20
_MARKS = ("-", "*", "•")


class Goals:
    def __init__(self, store: AgendaStore) -> None:
        self._store = store

    async def submit(self, given: Submission) -> Accepted:
        goal = Goal(
            id=entry_id(given.intent_id, "goal"),
            user_id=given.user_id,
            statement="",
            created_at=given.now,
            updated_at=given.now,
            conversation_id=given.conversation_id,
            intent_id=given.intent_id,
        )
        return await self._as_given(goal, given, {})

    async def amend(self, intent: Intent, given: Submission) -> Accepted:
        goal = await self._goal(intent)
        if goal.status is GoalStatus.RETRACTED:
            raise gone("goal")
        return await self._as_given(goal, given, intent.payload)

    async def retract(self, intent: Intent, given: Submission) -> Accepted:
        goal = await self._goal(intent)
        undone = replace(goal, status=GoalStatus.RETRACTED, updated_at=given.now)
        said = told(things.goal(undone, given.now, given.time_zone), removed=True)
        return Accepted(goal_id=goal.id, changes=(Put(undone),), told=said)

    async def _goal(self, intent: Intent) -> Goal:
        goal = await self._store.goal(intent.goal_id or "", user_id=intent.user_id)
        if goal is None:
            raise gone("goal")
        return goal

    async def _as_given(self, goal: Goal, given: Submission, before: Mapping[str, Any]) -> Accepted:
        """`before`: what it was made of. Words that did not change mean what they meant then."""
        payload = given.payload
        timeline = text(payload, "timeline")
        if timeline != text(before, "timeline"):
            goal = replace(goal, timeline=timeline, target_at=await _instant(timeline, given))
        goal = replace(
            goal,
            statement=needed(payload, "goal_statement", "What is the goal?"),
            context_notes=_notes(payload.get("context_notes")),
            updated_at=given.now,
        )
        changes: list[Change] = [Put(goal)]
        more: dict[str, Any] = {}
        if goal.target_at is not None:
            more["target"] = things.goal_words(goal, given.now, given.time_zone)
        elif timeline:
            more["timeline"] = timeline
        steps, old = _steps(payload), _steps(before)
        if steps != old:
            changes += await self._planned(goal, steps, old, given)
        if steps:
            more["milestones"] = steps
        said = told(things.goal(goal, given.now, given.time_zone), **more)
        return Accepted(goal_id=goal.id, changes=tuple(changes), told=said)

    async def _planned(
        self, goal: Goal, steps: Sequence[str], before: Sequence[str], given: Submission
    ) -> list[Change]:
        """One that is named again is the same, done or not; one that is not goes."""
        there = await self._store.milestones([goal.id], user_id=goal.user_id)
        known = {step.title.casefold(): step for step in reversed(there)}
        rows: dict[str, Milestone] = {}
        for step in steps:
            title, words = _due(step)
            old = known.get(title.casefold()) or known.get(step.casefold())
            due = await _instant(words, given)
            if old is not None and step in before:
                title, due = old.title, old.due_at
            elif due is None:
                title = step  # what is in brackets is no time
            made = old or Milestone(
                # Of its title: those before it may go. Of the goal: it may be amended.
                id=entry_id(goal.id, f"milestone:{title.casefold()}"),
                goal_id=goal.id,
                user_id=goal.user_id,
                title=title,
                position=0,
                created_at=given.now,
            )
            if made.id not in rows:  # twice the same is one
                rows[made.id] = replace(made, title=title, position=len(rows), due_at=due)
        dropped = [DropMilestone(step.id) for step in there if step.id not in rows]
        return [*dropped, *map(Put, rows.values())]


async def _instant(words: str | None, given: Submission) -> datetime | None:
    if words is None:
        return None
    found = await asyncio.to_thread(understand, words, now=given.now, time_zone=given.time_zone)
    return found.at


def _due(step: str) -> tuple[str, str | None]:
    """ "Run 2 km (in two weeks)" has a time in brackets at its end, or something else."""
    title, _, rest = step.rstrip(" .").rpartition("(")
    if not title.strip() or not rest.endswith(")"):
        return step, None
    return title.strip(), rest[:-1]


def _notes(value: Any) -> str | None:
    """Lines stay lines."""
    return (clean_text(value, MOST_CHARS).strip() or None) if isinstance(value, str) else None


def _steps(payload: Mapping[str, Any]) -> list[str]:
    listed = payload.get("milestones")
    if isinstance(listed, list):
        found = [clean_line(item) for item in listed if isinstance(item, str)]
    else:
        found = list(_written_as_list(payload.get("context_notes")))
    return [step for step in found if step][:MOST_MILESTONES]


def _written_as_list(notes: Any) -> Iterable[str]:
    """Only where every line but a heading is marked, and there are two at least."""
    if not isinstance(notes, str):
        return []
    lines = [line.strip() for line in notes[:MOST_CHARS].splitlines() if line.strip()]
    steps = [step for line in lines if (step := _unmarked(line))]
    return steps[:MOST_MILESTONES] if len(steps) >= max(2, len(lines) - 1) else []


def _unmarked(line: str) -> str | None:
    mark, _, rest = line.partition(" ")
    if mark in _MARKS or (mark[:-1].isdecimal() and mark[-1:] in (".", ")")):
        return clean_line(rest)
    return None


log = logging.getLogger(__name__)

_TROUBLE = "I'm having trouble setting that up"
GROUP = "vivavoce.intents"
OWN: Mapping[str, HandlerFactory] = {
    "GOAL": Goals,
    "NEW_TASK": Tasks,
    "RESCHEDULE_TASK": Moves,
    "LIST": Listing,
    "COMPLETE": Completing,
    "DELETE": Deleting,
    "RENAME": Renaming,
    "NOTE": Noting,
}


def installed_handlers(store: AgendaStore) -> dict[str, Orchestrator]:
    """Ours, and those of installed packages; a package may take over a route of ours. One that
    does not load is told and left out: its route is refused, the others work."""
    handlers = {route: make(store) for route, make in OWN.items()}
    for point in entry_points(GROUP):
        try:
            handlers[point.name] = point.load()(store)
        except Exception as exc:  # somebody else's code
            log.error("A handler does not load", extra=failure(exc, route=point.name))
            handlers.pop(point.name, None)
    return handlers


def known_routes() -> list[str]:
    """What there is a handler for, by name: without loading any."""
    return sorted({*OWN, *(point.name for point in entry_points(GROUP))})


class BuiltInOrchestrator:
    """Fills `Orchestrator`: each route by its handler."""

    def __init__(
        self, store: AgendaStore, handlers: Mapping[str, Orchestrator] | None = None
    ) -> None:
        self.handlers = dict(installed_handlers(store) if handlers is None else handlers)

    async def submit(self, submission: Submission) -> Accepted:
        return await self._handler(submission.route).submit(submission)

    async def amend(self, intent: Intent, submission: Submission) -> Accepted:
        return await self._handler(intent.route).amend(intent, submission)

    async def retract(self, intent: Intent, submission: Submission) -> Accepted:
        return await self._handler(intent.route).retract(intent, submission)

    def _handler(self, route: str) -> Orchestrator:
        handler = self.handlers.get(route)
        if handler is None:
            raise IntentRefused(
                f"There is no handler for {route}",
                suggestion="Say that this cannot be done here",
                route=route,
            )
        return handler


@dataclass(frozen=True, slots=True)
class Inside:
    """Acts on an intent in our own process, by any `Orchestrator` that returns its changes: what
    came of it and the intent are stored in one commit."""

    _orchestrator: Orchestrator
    _store: IntentStore
    _journal: Journal
    _clock: Clock
    _reminds: bool = False
    """Does somebody watch the times of to-dos?"""

    async def act(
        self, action: Action, intent: Intent, given: Submission, before: Intent | None
    ) -> Done:
        try:
            outcome = await self._ask(action, intent, given, before)
        except (IntentRefused, OrchestratorUnavailable) as fault:
            code = write.INVALID if isinstance(fault, IntentRefused) else write.UNREACHED
            now = self._clock.now()
            changes = write.refused(intent, fault.message, code, now)
            if before is not None and before.status is not IntentStatus.FAILED:
                # A correction that fails leaves what is there.
                changes = [write.told_error(before, code, fault.message, now)]
            await self._journal.commit(changes)
            fault.announced = True
            raise
        now = self._clock.now()
        intent = replace(
            intent,
            goal_id=outcome.goal_id or intent.goal_id,
            task_id=outcome.task_id or intent.task_id,
            previous=intent.previous if outcome.previous is None else dict(outcome.previous),
            error=None,
            updated_at=now,
        )
        if action == "retract":
            changes = taken_back(intent, now)
        else:
            place = await self._store.conversation(intent.conversation_id, user_id=intent.user_id)
            changes = write.accepted(intent, place, now, linked=True)
        await self._journal.commit([*outcome.changes, *changes])
        if action == "retract":
            return Done(intent, outcome.told)
        return Done(intent, await self._promised(outcome.told, outcome.changes, given))

    async def _promised(
        self, said: Mapping[str, Any], changes: Sequence[Change], given: Submission
    ) -> Mapping[str, Any]:
        """With `remind` where the user will be told at its time: of one that is stored, and has a
        time to come. Whoever words it may promise that, and nobody else."""
        todos = [c.record for c in changes if isinstance(c, Put) and isinstance(c.record, Todo)]
        if not self._reminds or not todos or "summary" not in said:
            return said
        coming = await asyncio.to_thread(comes_due, todos[-1], given.now, given.time_zone)
        return {**said, "remind": said["summary"]} if coming is not None else said

    async def tell(self, intent: Intent, given: Submission) -> Mapping[str, Any]:
        """What is known; nothing is written."""
        return (await self._ask("submit", intent, given, None)).told

    async def holds(self, known: Intent, given: Submission, *, asked: bool) -> bool:
        """Tried without a commit: would it come to what is there?"""
        if not asked:
            return True
        try:
            outcome = await self._ask("submit", known, given, None)
        except (IntentRefused, OrchestratorUnavailable):
            return False  # it has changed; who submits it now is told how
        return all([await self._stands(change, known) for change in outcome.changes])

    async def _stands(self, change: Change, known: Intent) -> bool:
        match change:
            case Put(Todo() as todo):
                there = await self._store.todo(todo.id, user_id=todo.user_id)
                return there is not None and again.same_task(there, todo, known)
            case Put(Goal() as goal):
                kept = await self._store.goal(goal.id, user_id=goal.user_id)
                return kept is not None and kept.status is GoalStatus.ACTIVE
            case _:
                return True

    async def standing(self, known: Intent, given: Submission) -> Mapping[str, Any]:
        todo = await self._store.todo(known.task_id or "", user_id=known.user_id)
        if todo is not None:
            said = told(await asyncio.to_thread(things.task, todo, given.now, given.time_zone))
            return await self._promised(said, (Put(todo),), given)
        goal = await self._store.goal(known.goal_id or "", user_id=known.user_id)
        return {} if goal is None else told(things.goal(goal, given.now, given.time_zone))

    async def _ask(
        self, action: Action, intent: Intent, given: Submission, before: Intent | None
    ) -> Accepted:
        try:
            if action == "submit" or before is None:
                return await self._orchestrator.submit(given)
            if action == "amend":
                return await self._orchestrator.amend(before, given)
            return await self._orchestrator.retract(before, given)
        except (IntentRefused, OrchestratorUnavailable):
            raise
        except Unavailable as fault:
            raise OrchestratorUnavailable(_TROUBLE) from fault
        except Exception as exc:  # a handler's own code: anything may come
            log.error("The orchestrator failed", extra=failure(exc, intent_id=intent.id))
            raise OrchestratorUnavailable(_TROUBLE) from exc
