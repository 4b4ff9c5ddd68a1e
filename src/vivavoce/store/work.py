"""What is done for people: tool calls, delegated tasks, approvals. Statements and reads."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Row, Select, bindparam, func, select

from vivavoce.store.reader import Reads, within
from vivavoce.store.rows import APPROVALS, CALLS, TASKS
from vivavoce.store.schema import OVER, approvals, delegated_tasks, tool_calls
from vivavoce.wire.records.talk import ToolCall, ToolStats
from vivavoce.wire.records.work import Approval, Task

TOOL_CALL = select(tool_calls).where(
    tool_calls.c.id == bindparam("id"), tool_calls.c.user_id == bindparam("user_id")
)
OPEN_CALLS = (
    select(tool_calls)
    .where(
        tool_calls.c.voice_session_id == bindparam("session_id"), tool_calls.c.status == "started"
    )
    .order_by(tool_calls.c.started_at, tool_calls.c.id)
)
RECENT_CALLS = (
    select(tool_calls)
    .where(
        tool_calls.c.user_id == bindparam("user_id"),
        tool_calls.c.status.in_(("completed", "failed")),
    )
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
ANY_TASK = select(delegated_tasks).where(delegated_tasks.c.id == bindparam("id"))
TASK = ANY_TASK.where(delegated_tasks.c.user_id == bindparam("user_id"))
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
    newest = (delegated_tasks.c.created_at.desc(), delegated_tasks.c.id.desc())
    return query.order_by(*newest).limit(within(limit))


APPROVAL = select(approvals).where(
    approvals.c.id == bindparam("id"), approvals.c.user_id == bindparam("user_id")
)
ALL_PENDING = (
    select(approvals)
    .where(approvals.c.status == "pending")
    .order_by(approvals.c.requested_at, approvals.c.id)
)
PENDING = ALL_PENDING.where(approvals.c.user_id == bindparam("user_id"))


class WorkReads(Reads):
    async def tool_call(self, call_id: str, *, user_id: str) -> ToolCall | None:
        return await self._read.one(CALLS.record, TOOL_CALL, id=call_id, user_id=user_id)

    async def open_calls(self, session_id: str) -> list[ToolCall]:
        return await self._read.all(CALLS.record, OPEN_CALLS, session_id=session_id)

    async def recent_calls(self, *, user_id: str, limit: int = 20) -> list[ToolCall]:
        given = {"user_id": user_id, "limit": within(limit)}
        return await self._read.all(CALLS.record, RECENT_CALLS, **given)

    async def tool_stats(self, tool: str) -> ToolStats:
        return await self._read.row(_to_stats, TOOL_STATS, tool=tool)

    async def task(self, task_id: str, *, user_id: str | None) -> Task | None:
        if user_id is None:
            return await self._read.one(TASKS.record, ANY_TASK, id=task_id)
        return await self._read.one(TASKS.record, TASK, id=task_id, user_id=user_id)

    async def tasks(
        self, *, user_id: str, open_only: bool = False, untold_only: bool = False, limit: int = 50
    ) -> list[Task]:
        query = tasks_of(user_id, open_only=open_only, untold_only=untold_only, limit=limit)
        return await self._read.all(TASKS.record, query)

    async def open_tasks(self) -> list[Task]:
        return await self._read.all(TASKS.record, OPEN_TASKS)

    async def approval(self, approval_id: str, *, user_id: str) -> Approval | None:
        return await self._read.one(APPROVALS.record, APPROVAL, id=approval_id, user_id=user_id)

    async def pending_approvals(self, *, user_id: str | None = None) -> list[Approval]:
        if user_id is None:
            return await self._read.all(APPROVALS.record, ALL_PENDING)
        return await self._read.all(APPROVALS.record, PENDING, user_id=user_id)


def _to_stats(row: Row[Any]) -> ToolStats:
    """A call whose outcome is not known, or not yet, counts as neither success nor failure."""
    settled = row.completed + row.failed
    return ToolStats(
        total_calls=row.total,
        avg_duration_ms=float(row.mean or 0),
        success_rate=row.completed / settled if settled else 0.0,
        last_called=row.last_called,
    )
