"""Acting on an intent in our own process: what came of it and the intent, in one commit.

Fills `Acting` over any `Orchestrator` that returns its changes.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

from vivavoce.errors import IntentRefused, OrchestratorUnavailable, Unavailable
from vivavoce.intents import again
from vivavoce.intents import records as write
from vivavoce.intents.ports import IntentStore, Journal
from vivavoce.language.en.telling import spoken
from vivavoce.logs import failure
from vivavoce.runtime.people.intents import Accepted, Orchestrator
from vivavoce.runtime.ports import Clock
from vivavoce.wire.records.plans import GoalStatus, Intent, IntentStatus, Submission
from vivavoce.wire.records.talk import Change, PutGoal, PutTodo

log = logging.getLogger(__name__)

TROUBLE = "I'm having trouble setting that up"
Action = Literal["submit", "amend", "retract"]


@dataclass(frozen=True, slots=True)
class Done:
    """The intent as it is stored now, and what the model is told besides."""

    intent: Intent
    told: Mapping[str, Any] = field(default_factory=dict)


class Acting(Protocol):
    """Carries an intent out and stores it. Raises `IntentRefused`, `OrchestratorUnavailable`.

    `intent` is as it will be when it goes well, `before` as it is stored now.
    """

    async def act(
        self, action: Action, intent: Intent, given: Submission, before: Intent | None
    ) -> Done: ...

    async def holds(self, known: Intent, given: Submission, *, asked: bool) -> bool:
        """Is what it says in force, so that saying it again is the same? `asked`: the user has
        spoken of it again since."""
        ...

    async def standing(self, known: Intent, given: Submission) -> Mapping[str, Any]:
        """What the model is told of one that is there already."""
        ...


class Inside:
    """Decide, then one commit."""

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
            raise OrchestratorUnavailable(TROUBLE) from fault
        except Exception as exc:  # a handler's own code: anything may come
            log.error("The orchestrator failed", extra=failure(exc, intent_id=intent.id))
            raise OrchestratorUnavailable(TROUBLE) from exc

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
