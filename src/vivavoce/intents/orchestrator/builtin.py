"""The built-in orchestrator: goals, tasks and reschedules in our own database.

It decides and returns changes; `Inside` commits them with the intent. Each route has a
handler. Another route is a YAML entry and a URL, or a YAML entry and a handler: an entry
point of the group `vivavoce.intents`, named for the route, that makes a `Handler` of an
`AgendaStore`. A route without one is refused.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import entry_points
from typing import Any

from vivavoce.errors import IntentRefused, OrchestratorUnavailable, Unavailable
from vivavoce.intents import again
from vivavoce.intents import records as write
from vivavoce.intents.orchestrator.goals import Goals
from vivavoce.intents.orchestrator.moves import Moves
from vivavoce.intents.orchestrator.ports import Handler, HandlerFactory
from vivavoce.intents.orchestrator.tasks import Tasks
from vivavoce.intents.ports import Action, Done, IntentStore, Journal
from vivavoce.language.en.telling import spoken
from vivavoce.logs import failure
from vivavoce.runtime.people.intents import Accepted, Orchestrator
from vivavoce.runtime.people.ports import AgendaStore
from vivavoce.runtime.ports import Clock
from vivavoce.wire.records.plans import GoalStatus, Intent, IntentStatus, Submission
from vivavoce.wire.records.talk import Change, PutGoal, PutTodo

log = logging.getLogger(__name__)

_TROUBLE = "I'm having trouble setting that up"
GROUP = "vivavoce.intents"
OWN: Mapping[str, HandlerFactory] = {"GOAL": Goals, "NEW_TASK": Tasks, "RESCHEDULE_TASK": Moves}


def installed_handlers(store: AgendaStore) -> dict[str, Handler]:
    """Ours, and those of installed packages; a package may take over a route of ours. One that
    does not load is told and left out: its route is refused, the others work."""
    handlers = {route: make(store) for route, make in OWN.items()}
    for point in entry_points(group=GROUP):
        try:
            handlers[point.name] = point.load()(store)
        except Exception as exc:  # somebody else's code
            log.error("A handler does not load", extra=failure(exc, route=point.name))
            handlers.pop(point.name, None)
    return handlers


def known_routes() -> list[str]:
    """What there is a handler for, by name: without loading any."""
    return sorted({*OWN, *(point.name for point in entry_points(group=GROUP))})


class BuiltInOrchestrator:
    """Fills `Orchestrator`: each route by its handler."""

    def __init__(self, store: AgendaStore, handlers: Mapping[str, Handler] | None = None) -> None:
        self.handlers = dict(installed_handlers(store) if handlers is None else handlers)

    async def submit(self, submission: Submission) -> Accepted:
        return await self._handler(submission.route).submit(submission)

    async def amend(self, intent: Intent, submission: Submission) -> Accepted:
        return await self._handler(intent.route).amend(intent, submission)

    async def retract(self, intent: Intent, submission: Submission) -> Accepted:
        return await self._handler(intent.route).retract(intent, submission)

    def _handler(self, route: str) -> Handler:
        handler = self.handlers.get(route)
        if handler is None:
            raise IntentRefused(
                f"There is no handler for {route}",
                suggestion="Say that this cannot be done here",
                route=route,
            )
        return handler


class Inside:
    """Acts on an intent in our own process, by any `Orchestrator` that returns its changes: what
    came of it and the intent are stored in one commit."""

    def __init__(
        self, orchestrator: Orchestrator, store: IntentStore, journal: Journal, clock: Clock
    ) -> None:
        self._orchestrator, self._store = orchestrator, store
        self._journal, self._clock = journal, clock

    async def act(
        self, action: Action, intent: Intent, given: Submission, before: Intent | None
    ) -> Done:
        try:
            outcome = await self._ask(action, intent, given, before)
        except (IntentRefused, OrchestratorUnavailable) as fault:
            code = write.INVALID if isinstance(fault, IntentRefused) else write.UNREACHED
            await self._failed(intent, before, fault.message, code)
            fault.announced = True
            raise
        intent = _with(intent, outcome, self._clock)
        now = intent.updated_at
        if action == "retract":
            changes = write.retracted(intent, now)
        else:
            place = await self._store.conversation(intent.conversation_id, user_id=intent.user_id)
            changes = write.accepted(intent, place, now, linked=True)
        await self._journal.commit([*outcome.changes, *changes])
        return Done(intent, outcome.told)

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
            case PutTodo(todo):
                there = await self._store.todo(todo.id, user_id=todo.user_id)
                return there is not None and again.same_task(there, todo, known)
            case PutGoal(goal):
                kept = await self._store.goal(goal.id, user_id=goal.user_id)
                return kept is not None and kept.status is GoalStatus.ACTIVE
            case _:
                return True

    async def standing(self, known: Intent, given: Submission) -> Mapping[str, Any]:
        todo = await self._store.todo(known.task_id or "", user_id=known.user_id)
        if todo is None or todo.scheduled_at is None:
            return {}
        if todo.recurrence_rule and todo.scheduled_at <= given.now:
            return {"repeats": todo.recurrence_words}  # its first time is over
        return {"when": spoken(todo.scheduled_at, now=given.now, time_zone=given.time_zone)}

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

    async def _failed(self, intent: Intent, before: Intent | None, message: str, code: str) -> None:
        """A correction that fails leaves what is there."""
        now = self._clock.now()
        if before is not None and before.status is not IntentStatus.FAILED:
            changes = [write.told_error(before, code, message, now)]
            await self._journal.commit(changes)
        else:
            await self._journal.commit(write.refused(intent, message, code, now))


def _with(intent: Intent, outcome: Accepted, clock: Clock) -> Intent:
    previous = intent.previous if outcome.previous is None else dict(outcome.previous)
    return replace(
        intent,
        goal_id=outcome.goal_id or intent.goal_id,
        task_id=outcome.task_id or intent.task_id,
        previous=previous,
        error=None,
        updated_at=clock.now(),
    )
