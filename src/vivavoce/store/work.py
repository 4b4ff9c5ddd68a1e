"""The reads of `SqlStore` about delegated work: tasks, approvals, what was done lately."""

from __future__ import annotations

from vivavoce.store.codec.talk import to_call
from vivavoce.store.codec.work import to_approval, to_task
from vivavoce.store.queries import work as queries
from vivavoce.store.reader import Reader, within
from vivavoce.wire.records.talk import ToolCall
from vivavoce.wire.records.work import Approval, Task


class WorkReads:
    """A part of the store; the store says where to read."""

    @property
    def _read(self) -> Reader:
        raise NotImplementedError

    async def recent_calls(self, *, user_id: str, limit: int = 20) -> list[ToolCall]:
        return await self._read.all(
            to_call, queries.RECENT_CALLS, user_id=user_id, limit=within(limit)
        )

    async def task(self, task_id: str, *, user_id: str | None) -> Task | None:
        if user_id is None:
            return await self._read.one(to_task, queries.ANY_TASK, id=task_id)
        return await self._read.one(to_task, queries.TASK, id=task_id, user_id=user_id)

    async def tasks(
        self, *, user_id: str, open_only: bool = False, untold_only: bool = False, limit: int = 50
    ) -> list[Task]:
        query = queries.tasks_of_user(open_only=open_only, untold_only=untold_only)
        return await self._read.all(to_task, query, user_id=user_id, limit=within(limit))

    async def open_tasks(self) -> list[Task]:
        return await self._read.all(to_task, queries.OPEN_TASKS)

    async def approval(self, approval_id: str, *, user_id: str) -> Approval | None:
        return await self._read.one(to_approval, queries.APPROVAL, id=approval_id, user_id=user_id)

    async def pending_approvals(self, *, user_id: str | None = None) -> list[Approval]:
        if user_id is None:
            return await self._read.all(to_approval, queries.ALL_PENDING)
        return await self._read.all(to_approval, queries.PENDING, user_id=user_id)
