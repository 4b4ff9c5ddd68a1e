"""People, goals, to-dos, intents and the outbox. Statements and reads."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

from sqlalchemy import Select, bindparam, or_, select, tuple_

from vivavoce.store.columns import NotUuid, canonical_uuid
from vivavoce.store.reader import Reads, within
from vivavoce.store.rows import DELIVERIES, GOALS, INTENTS, MILESTONES, PEOPLE, TODOS
from vivavoce.store.schema import goals, intents, milestones, outbox, tasks, users
from vivavoce.wire.records.plans import Delivery, Goal, Intent, Milestone, Person, Todo

OPEN = ("active", "rescheduled")

PERSON = select(users).where(users.c.id == bindparam("id"))
GOAL = select(goals).where(goals.c.id == bindparam("id"), goals.c.user_id == bindparam("user_id"))
TODO = select(tasks).where(tasks.c.id == bindparam("id"), tasks.c.user_id == bindparam("user_id"))
STEPS = (
    select(milestones)
    .where(
        milestones.c.goal_id.in_(bindparam("goal_ids", expanding=True)),
        milestones.c.user_id == bindparam("user_id"),
    )
    .order_by(milestones.c.goal_id, milestones.c.position, milestones.c.id)
)


def goals_of(user_id: str, *, status: str | None, limit: int, offset: int) -> Select[Any]:
    query = select(goals).where(goals.c.user_id == user_id)
    if status is not None:
        query = query.where(goals.c.status == str(status))
    newest = (goals.c.created_at.desc(), goals.c.id.desc())
    return query.order_by(*newest).limit(within(limit)).offset(within(offset))


def todos_of(
    user_id: str, *, open_only: bool, until: datetime | None, limit: int, offset: int
) -> Select[Any]:
    query = select(tasks).where(tasks.c.user_id == user_id)
    if open_only:
        query = query.where(tasks.c.status.in_(OPEN))
    if until is not None:
        timeless = (tasks.c.scheduled_at.is_(None), tasks.c.recurrence_rule.is_not(None))
        query = query.where(or_(tasks.c.scheduled_at < until, *timeless))
    due = (tasks.c.scheduled_at.is_(None), tasks.c.scheduled_at, tasks.c.created_at, tasks.c.id)
    return query.order_by(*due).limit(within(limit)).offset(within(offset))


INTENT = select(intents).where(
    intents.c.id == bindparam("id"), intents.c.user_id == bindparam("user_id")
)


def intents_of(user_id: str, *, conversation_id: str | None, limit: int) -> Select[Any]:
    query = select(intents).where(intents.c.user_id == user_id)
    if conversation_id is not None:
        query = query.where(intents.c.conversation_id == conversation_id)
    newest = (intents.c.created_at.desc(), intents.c.id.desc())
    return query.order_by(*newest).limit(within(limit))


DELIVERIES_OF = (
    select(outbox)
    .where(outbox.c.intent_id == bindparam("intent_id"))
    .order_by(outbox.c.created_at, outbox.c.id)
)

# What an intent says second must not arrive first: only its oldest one goes out.
_earlier = outbox.alias("earlier")
_BEFORE_IT = select(_earlier.c.id).where(
    _earlier.c.intent_id == outbox.c.intent_id,
    _earlier.c.status == "pending",
    or_(
        _earlier.c.created_at < outbox.c.created_at,
        (_earlier.c.created_at == outbox.c.created_at) & (_earlier.c.id < outbox.c.id),
    ),
)


def due_deliveries(before: datetime, *, after: Delivery | None, limit: int) -> Select[Any]:
    query = select(outbox).where(
        outbox.c.status == "pending", outbox.c.due_at <= before, ~_BEFORE_IT.exists()
    )
    if after is not None:
        place = tuple_(outbox.c.created_at, outbox.c.id)
        query = query.where(place > (after.created_at, after.id))
    return query.order_by(outbox.c.created_at, outbox.c.id).limit(within(limit))


class PlanReads(Reads):
    async def person(self, user_id: str) -> Person | None:
        return await self._read.one(PEOPLE.record, PERSON, id=user_id)

    async def goal(self, goal_id: str, *, user_id: str) -> Goal | None:
        return await self._read.one(GOALS.record, GOAL, id=goal_id, user_id=user_id)

    async def goals(
        self, *, user_id: str, status: str | None = None, limit: int = 50, offset: int = 0
    ) -> list[Goal]:
        query = goals_of(user_id, status=status, limit=limit, offset=offset)
        return await self._read.all(GOALS.record, query)

    async def milestones(self, goal_ids: Sequence[str], *, user_id: str) -> list[Milestone]:
        known: list[str] = []
        for each in goal_ids:
            with suppress(NotUuid):
                known.append(canonical_uuid(each))
        return await self._read.all(MILESTONES.record, STEPS, goal_ids=known, user_id=user_id)

    async def todo(self, todo_id: str, *, user_id: str) -> Todo | None:
        return await self._read.one(TODOS.record, TODO, id=todo_id, user_id=user_id)

    async def todos(
        self,
        *,
        user_id: str,
        open_only: bool = False,
        until: datetime | None = None,
        limit: int = 50,
        offset: int = 0,
    ) -> list[Todo]:
        query = todos_of(user_id, open_only=open_only, until=until, limit=limit, offset=offset)
        return await self._read.all(TODOS.record, query)

    async def intent(self, intent_id: str, *, user_id: str) -> Intent | None:
        return await self._read.one(INTENTS.record, INTENT, id=intent_id, user_id=user_id)

    async def intents(
        self, *, user_id: str, conversation_id: str | None = None, limit: int = 50
    ) -> list[Intent]:
        query = intents_of(user_id, conversation_id=conversation_id, limit=limit)
        return await self._read.all(INTENTS.record, query)

    async def due_deliveries(
        self, *, before: datetime, limit: int = 50, after: Delivery | None = None
    ) -> list[Delivery]:
        query = due_deliveries(before, after=after, limit=limit)
        return await self._read.all(DELIVERIES.record, query)

    async def deliveries(self, intent_id: str) -> list[Delivery]:
        return await self._read.all(DELIVERIES.record, DELIVERIES_OF, intent_id=intent_id)
