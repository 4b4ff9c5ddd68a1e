"""What a user plans, who they are, and what their sessions took: the quiet side of the agent.

Reads for the doors, and what a client may change: the profile, the preferences, and what is
done of the plans. All else of goals and tasks is changed by talking (`intents`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from vivavoce.errors import Conflict, InvalidRequest, found
from vivavoce.runtime.journal.log import Journal
from vivavoce.runtime.people.due import zone_or
from vivavoce.runtime.ports import Clock, Store
from vivavoce.wire.clean import clean_line
from vivavoce.wire.records.plans import (
    Goal,
    GoalStatus,
    Intent,
    Milestone,
    Person,
    SessionLimits,
    Spent,
    Todo,
    TodoStatus,
)
from vivavoce.wire.records.talk import Put, SessionSummary
from vivavoce.wire.values import Value

DAY = timedelta(days=1)
RETRACTED = "It was retracted; talk about it to have it again."


class Plan(Value):
    """A goal with its steps, in order."""

    goal: Goal
    milestones: list[Milestone]


class Account(Value):
    """The last 24 hours, the latest sessions, and what a day may take."""

    since: datetime
    spent: Spent
    sessions: list[SessionSummary]
    limits: SessionLimits


class Agenda:
    """One user's plans, profile and account; another's are not there."""

    def __init__(
        self,
        store: Store,
        journal: Journal,
        clock: Clock,
        *,
        check_voice: Callable[[str], str],
        limits: Callable[[], SessionLimits] = SessionLimits,
    ) -> None:
        self._store, self._journal, self._clock = store, journal, clock
        self._check_voice, self._limits = check_voice, limits
        self._changing = asyncio.Lock()

    # --- Plans --------------------------------------------------------------------------

    async def goals(
        self, user_id: str, *, status: str | None, limit: int, offset: int
    ) -> list[Plan]:
        goals = await self._store.goals(user_id=user_id, status=status, limit=limit, offset=offset)
        steps = await self._store.milestones([goal.id for goal in goals], user_id=user_id)
        return [Plan(goal, [m for m in steps if m.goal_id == goal.id]) for goal in goals]

    async def goal(self, goal_id: str, user_id: str) -> Plan:
        goal = found(await self._store.goal(goal_id, user_id=user_id), "Goal", goal_id)
        return Plan(goal, await self._store.milestones([goal_id], user_id=user_id))

    async def todo(self, todo_id: str, user_id: str) -> Todo:
        return found(await self._store.todo(todo_id, user_id=user_id), "Task", todo_id)

    # --- What is done -------------------------------------------------------------------

    async def tick_goal(self, goal_id: str, user_id: str, *, done: bool) -> Plan:
        """Done, or not after all; its milestones stay as they are. Raises `Conflict`."""
        async with self._changing:
            plan = await self.goal(goal_id, user_id)
            if plan.goal.status is GoalStatus.RETRACTED:
                raise Conflict(RETRACTED)
            status = GoalStatus.COMPLETED if done else GoalStatus.ACTIVE
            if plan.goal.status is status:
                return plan
            goal = replace(plan.goal, status=status, updated_at=self._clock.now())
            await self._journal.commit([Put(goal, only=("status",))])
        return Plan(goal, plan.milestones)

    async def tick_milestone(
        self, goal_id: str, milestone_id: str, user_id: str, *, done: bool
    ) -> Milestone:
        async with self._changing:
            plan = await self.goal(goal_id, user_id)
            named = (one for one in plan.milestones if one.id == milestone_id)
            step = found(next(named, None), "Milestone", milestone_id)
            if plan.goal.status is GoalStatus.RETRACTED:
                raise Conflict(RETRACTED)
            if done is not (step.completed_at is not None):
                step = replace(step, completed_at=self._clock.now() if done else None)
                await self._journal.commit([Put(step, only=("completed_at",))])
        return step

    async def tick_todo(self, todo_id: str, user_id: str, *, done: bool) -> Todo:
        """One that recurs is done with as a whole. Raises `Conflict`."""
        async with self._changing:
            todo = await self.todo(todo_id, user_id)
            if todo.status is TodoStatus.RETRACTED:
                raise Conflict(RETRACTED)
            if todo.status.open is done:  # a rescheduled one is still to be done, and stays so
                status = TodoStatus.COMPLETED if done else TodoStatus.ACTIVE
                todo = replace(todo, status=status, updated_at=self._clock.now())
                await self._journal.commit([Put(todo, only=("status",))])
        return todo

    async def intents(
        self, user_id: str, *, conversation_id: str | None, limit: int
    ) -> list[Intent]:
        if conversation_id is not None:
            known = await self._store.conversation(conversation_id, user_id=user_id)
            found(known, "Conversation", conversation_id)
        return await self._store.intents(
            user_id=user_id, conversation_id=conversation_id, limit=limit
        )

    # --- The person ---------------------------------------------------------------------

    async def person(self, user_id: str) -> Person:
        """Whoever asks is somebody, known or not."""
        now = self._clock.now()
        known = await self._store.person(user_id)
        return known or Person(id=user_id, created_at=now, updated_at=now)

    async def change(self, user_id: str, wanted: Mapping[str, Any]) -> Person:
        """The person with these fields of theirs changed. Raises `InvalidRequest`."""
        checked = self._checked(wanted)
        async with self._changing:  # or of two changes at once the second takes the first back
            person = await self.person(user_id)
            if checked:
                person = replace(person, **checked, updated_at=self._clock.now())
                await self._journal.commit([Put(person, only=tuple(checked))])
        return person

    def _checked(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        checked = dict(wanted)
        if wanted.get("voice") is not None:
            self._check_voice(wanted["voice"])
        if wanted.get("name") is not None:
            checked["name"] = clean_line(wanted["name"]) or None
        zone = wanted.get("time_zone")
        if zone is not None and not zone_or(zone, ""):
            raise InvalidRequest(
                "That is no IANA time zone, such as Europe/Berlin.", field="time_zone"
            )
        return checked

    async def account(self, user_id: str, *, sessions: int) -> Account:
        since = self._clock.now() - DAY
        spent = await self._store.spent(user_id=user_id, since=since)
        latest = await self._store.sessions(user_id=user_id, limit=sessions)
        return Account(since, spent, latest, self._limits())
