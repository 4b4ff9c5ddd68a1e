"""The statements about delegated work: reads of tasks, approvals and what was done lately."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Select, bindparam, select

from vivavoce.store.schema.talk import tool_calls
from vivavoce.store.schema.work import approvals, delegated_tasks

OVER = ("completed", "failed", "cancelled")
_OPEN = delegated_tasks.c.status.in_(("running", "waiting"))

ANY_TASK = select(delegated_tasks).where(delegated_tasks.c.id == bindparam("id"))
TASK = ANY_TASK.where(delegated_tasks.c.user_id == bindparam("user_id"))
OPEN_TASKS = (
    select(delegated_tasks)
    .where(_OPEN)
    .order_by(delegated_tasks.c.created_at, delegated_tasks.c.id)
)


def tasks_of_user(*, open_only: bool, untold_only: bool) -> Select[Any]:
    query = select(delegated_tasks).where(delegated_tasks.c.user_id == bindparam("user_id"))
    if open_only:
        query = query.where(_OPEN)
    if untold_only:
        query = query.where(delegated_tasks.c.told_at.is_(None), delegated_tasks.c.status.in_(OVER))
    return query.order_by(delegated_tasks.c.created_at.desc(), delegated_tasks.c.id.desc()).limit(
        bindparam("limit")
    )


APPROVAL = select(approvals).where(
    approvals.c.id == bindparam("id"), approvals.c.user_id == bindparam("user_id")
)
ALL_PENDING = (
    select(approvals)
    .where(approvals.c.status == "pending")
    .order_by(approvals.c.requested_at, approvals.c.id)
)
PENDING = ALL_PENDING.where(approvals.c.user_id == bindparam("user_id"))

RECENT_CALLS = (
    select(tool_calls)
    .where(
        tool_calls.c.user_id == bindparam("user_id"),
        tool_calls.c.status.in_(("completed", "failed")),
    )
    .order_by(tool_calls.c.started_at.desc(), tool_calls.c.id.desc())
    .limit(bindparam("limit"))
)
