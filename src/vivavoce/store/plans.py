"""What people plan and what is done for them: goals, to-dos, intents, the outbox; tool calls,
delegated tasks, approvals. Statements and reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

from sqlalchemy import Row, Select, bindparam, func, or_, select, tuple_

from vivavoce.store import rows
from vivavoce.store.columns import NotUuid, canonical_uuid
from vivavoce.store.reader import Reads, by, newest, within
from vivavoce.store.schema import (
    OVER,
    approvals,
    delegated_tasks,
    goals,
    intents,
    milestones,
    outbox,
    tasks,
    tool_calls,
    users,
)
from vivavoce.wire.records.plans import Delivery, Goal, Intent, Milestone, Person, Todo
from vivavoce.wire.records.talk import ToolCall, ToolStats
from vivavoce.wire.records.work import Approval, Task

OPEN = ("active", "rescheduled")

PERSON = by(users, "id")
GOAL = by(goals, "id", "user_id")
TODO = by(tasks, "id", "user_id")
INTENT = by(intents, "id", "user_id")
STEPS = (
    by(milestones, "user_id")
    .where(milestones.c.goal_id.in_(bindparam("goal_ids", expanding=True)))
    .order_by(milestones.c.goal_id, milestones.c.position, milestones.c.id)
)


def goals_of(user_id: str, *, status: str | None, limit: int, offset: int) -> Select[Any]:
    query = select(goals).where(goals.c.user_id == user_id)
    if status is not None:
        query = query.where(goals.c.status == str(status))
    return query.order_by(*newest(goals)).limit(within(limit)).offset(within(offset))


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


def intents_of(user_id: str, *, conversation_id: str | None, limit: int) -> Select[Any]:
    query = select(intents).where(intents.c.user_id == user_id)
    if conversation_id is not None:
        query = query.where(intents.c.conversation_id == conversation_id)
    return query.order_by(*newest(intents)).limit(within(limit))


_OLDEST = (outbox.c.created_at, outbox.c.id)
DELIVERIES_OF = by(outbox, "intent_id").order_by(*_OLDEST)

# What an intent says second must not arrive first: only its oldest one goes out.
_earlier = outbox.alias("earlier")
_BEFORE_IT = select(_earlier.c.id).where(
    _earlier.c.intent_id == outbox.c.intent_id,
    _earlier.c.status == "pending",
    tuple_(_earlier.c.created_at, _earlier.c.id) < tuple_(*_OLDEST),
)


def due_deliveries(before: datetime, *, after: Delivery | None, limit: int) -> Select[Any]:
    query = select(outbox).where(
        outbox.c.status == "pending", outbox.c.due_at <= before, ~_BEFORE_IT.exists()
    )
    if after is not None:
        query = query.where(tuple_(*_OLDEST) > (after.created_at, after.id))
    return query.order_by(*_OLDEST).limit(within(limit))


class PlanReads(Reads):
    async def person(self, user_id: str) -> Person | None:
        return await self._read.one(rows.PEOPLE.record, PERSON, id=user_id)

    async def goal(self, goal_id: str, *, user_id: str) -> Goal | None:
        return await self._read.one(rows.GOALS.record, GOAL, id=goal_id, user_id=user_id)

    async def goals(
        self, *, user_id: str, status: str | None = None, limit: int = 50, offset: int = 0
    ) -> list[Goal]:
        query = goals_of(user_id, status=status, limit=limit, offset=offset)
        return await self._read.all(rows.GOALS.record, query)

    async def milestones(self, goal_ids: Sequence[str], *, user_id: str) -> list[Milestone]:
        known: list[str] = []
        for each in goal_ids:
            with suppress(NotUuid):
                known.append(canonical_uuid(each))
        return await self._read.all(rows.MILESTONES.record, STEPS, goal_ids=known, user_id=user_id)

    async def todo(self, todo_id: str, *, user_id: str) -> Todo | None:
        return await self._read.one(rows.TODOS.record, TODO, id=todo_id, user_id=user_id)

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
        return await self._read.all(rows.TODOS.record, query)

    async def intent(self, intent_id: str, *, user_id: str) -> Intent | None:
        return await self._read.one(rows.INTENTS.record, INTENT, id=intent_id, user_id=user_id)

    async def intents(
        self, *, user_id: str, conversation_id: str | None = None, limit: int = 50
    ) -> list[Intent]:
        query = intents_of(user_id, conversation_id=conversation_id, limit=limit)
        return await self._read.all(rows.INTENTS.record, query)

    async def due_deliveries(
        self, *, before: datetime, limit: int = 50, after: Delivery | None = None
    ) -> list[Delivery]:
        query = due_deliveries(before, after=after, limit=limit)
        return await self._read.all(rows.DELIVERIES.record, query)

    async def deliveries(self, intent_id: str) -> list[Delivery]:
        return await self._read.all(rows.DELIVERIES.record, DELIVERIES_OF, intent_id=intent_id)


# --- Tool calls, delegated tasks, approvals ---------------------------------------------

TOOL_CALL = by(tool_calls, "id", "user_id")
OPEN_CALLS = (
    select(tool_calls)
    .where(
        tool_calls.c.voice_session_id == bindparam("session_id"), tool_calls.c.status == "started"
    )
    .order_by(tool_calls.c.started_at, tool_calls.c.id)
)
RECENT_CALLS = (
    by(tool_calls, "user_id")
    .where(tool_calls.c.status.in_(("completed", "failed")))
    .order_by(tool_calls.c.started_at.desc(), tool_calls.c.id.desc())
    .limit(bindparam("limit"))
)
TOOL_STATS = select(
    func.count().label("total"),
    func.avg(tool_calls.c.duration_ms).label("mean"),
    func.count().filter(tool_calls.c.status == "completed").label("completed"),
    func.count().filter(tool_calls.c.status == "failed").label("failed"),
    func.max(tool_calls.c.started_at).label("last_called"),
).where(tool_calls.c.tool == bindparam("tool"))

_OPEN = delegated_tasks.c.status.in_(("running", "waiting"))
ANY_TASK = by(delegated_tasks, "id")
TASK = by(delegated_tasks, "id", "user_id")
OPEN_TASKS = (
    select(delegated_tasks)
    .where(_OPEN)
    .order_by(delegated_tasks.c.created_at, delegated_tasks.c.id)
)


def tasks_of(user_id: str, *, open_only: bool, untold_only: bool, limit: int) -> Select[Any]:
    query = select(delegated_tasks).where(delegated_tasks.c.user_id == user_id)
    if open_only:
        query = query.where(_OPEN)
    if untold_only:
        query = query.where(delegated_tasks.c.told_at.is_(None), delegated_tasks.c.status.in_(OVER))
    return query.order_by(*newest(delegated_tasks)).limit(within(limit))


APPROVAL = by(approvals, "id", "user_id")
ALL_PENDING = (
    select(approvals)
    .where(approvals.c.status == "pending")
    .order_by(approvals.c.requested_at, approvals.c.id)
)
PENDING = ALL_PENDING.where(approvals.c.user_id == bindparam("user_id"))


class WorkReads(Reads):
    async def tool_call(self, call_id: str, *, user_id: str) -> ToolCall | None:
        return await self._read.one(rows.CALLS.record, TOOL_CALL, id=call_id, user_id=user_id)

    async def open_calls(self, session_id: str) -> list[ToolCall]:
        return await self._read.all(rows.CALLS.record, OPEN_CALLS, session_id=session_id)

    async def recent_calls(self, *, user_id: str, limit: int = 20) -> list[ToolCall]:
        given = {"user_id": user_id, "limit": within(limit)}
        return await self._read.all(rows.CALLS.record, RECENT_CALLS, **given)

    async def tool_stats(self, tool: str) -> ToolStats:
        return await self._read.row(_to_stats, TOOL_STATS, tool=tool)

    async def task(self, task_id: str, *, user_id: str | None) -> Task | None:
        if user_id is None:
            return await self._read.one(rows.TASKS.record, ANY_TASK, id=task_id)
        return await self._read.one(rows.TASKS.record, TASK, id=task_id, user_id=user_id)

    async def tasks(
        self, *, user_id: str, open_only: bool = False, untold_only: bool = False, limit: int = 50
    ) -> list[Task]:
        query = tasks_of(user_id, open_only=open_only, untold_only=untold_only, limit=limit)
        return await self._read.all(rows.TASKS.record, query)

    async def open_tasks(self) -> list[Task]:
        return await self._read.all(rows.TASKS.record, OPEN_TASKS)

    async def approval(self, approval_id: str, *, user_id: str) -> Approval | None:
        return await self._read.one(
            rows.APPROVALS.record, APPROVAL, id=approval_id, user_id=user_id
        )

    async def pending_approvals(self, *, user_id: str | None = None) -> list[Approval]:
        if user_id is None:
            return await self._read.all(rows.APPROVALS.record, ALL_PENDING)
        return await self._read.all(rows.APPROVALS.record, PENDING, user_id=user_id)


def _to_stats(row: Row[Any]) -> ToolStats:
    """A call whose outcome is not known, or not yet, counts as neither success nor failure."""
    settled = row.completed + row.failed
    return ToolStats(
        total_calls=row.total,
        avg_duration_ms=float(row.mean or 0),
        success_rate=row.completed / settled if settled else 0.0,
        last_called=row.last_called,
    )
