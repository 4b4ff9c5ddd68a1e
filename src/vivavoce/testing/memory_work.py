"""Tasks and approvals as `MemoryStore` gives them back, and when they go."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from dataclasses import replace
from datetime import datetime
from typing import TypeVar

from vivavoce.store.clean import clean_text
from vivavoce.testing.memory_tables import Tables
from vivavoce.wire.records.plans import Goal, Todo
from vivavoce.wire.records.talk import CallStatus, ToolCall
from vivavoce.wire.records.work import Approval, ApprovalStatus, Task

K = TypeVar("K")
V = TypeVar("V")
W = TypeVar("W", Task, Approval, Goal, Todo)


class WorkReads:
    """The part of `MemoryStore` that knows delegated work and what was done."""

    _tables: Tables

    def _check(self) -> None:
        """Is the store open?"""
        raise NotImplementedError

    async def recent_calls(self, *, user_id: str, limit: int = 20) -> list[ToolCall]:
        self._check()
        settled = (CallStatus.COMPLETED, CallStatus.FAILED)
        found = [
            call
            for call in self._tables.calls.values()
            if call.user_id == user_id and call.status in settled
        ]
        found.sort(key=lambda call: (call.started_at, call.id), reverse=True)
        return found[: max(0, limit)]

    async def task(self, task_id: str, *, user_id: str | None) -> Task | None:
        self._check()
        found = self._tables.tasks.get(clean_text(task_id))
        return found if found is not None and user_id in (None, found.user_id) else None

    async def tasks(
        self, *, user_id: str, open_only: bool = False, untold_only: bool = False, limit: int = 50
    ) -> list[Task]:
        self._check()
        found = [
            task
            for task in self._tables.tasks.values()
            if task.user_id == user_id
            and not (open_only and task.status.over)
            and not (untold_only and (task.told_at is not None or not task.status.over))
        ]
        found.sort(key=lambda task: (task.created_at, task.id), reverse=True)
        return found[: max(0, limit)]

    async def open_tasks(self) -> list[Task]:
        self._check()
        found = [task for task in self._tables.tasks.values() if not task.status.over]
        return sorted(found, key=lambda task: (task.created_at, task.id))

    async def approval(self, approval_id: str, *, user_id: str) -> Approval | None:
        self._check()
        found = self._tables.approvals.get(clean_text(approval_id))
        return found if found is not None and found.user_id == user_id else None

    async def pending_approvals(self, *, user_id: str | None = None) -> list[Approval]:
        self._check()
        found = [
            each
            for each in self._tables.approvals.values()
            if each.status is ApprovalStatus.PENDING and user_id in (None, each.user_id)
        ]
        return sorted(found, key=lambda each: (each.requested_at, each.id))


def let_go(tables: Tables, conversations: set[str]) -> None:
    """What these were about goes on without them."""
    _loosen(tables.tasks, conversations)
    _loosen(tables.approvals, conversations)
    _loosen(tables.goals, conversations)
    _loosen(tables.todos, conversations)


def drop_loose(tables: Tables, cutoff: datetime) -> int:
    """Over, and of no conversation that is kept."""
    return drop(
        tables.tasks,
        lambda each: each.status.over and each.conversation_id is None and each.updated_at < cutoff,
    ) + drop(
        tables.approvals,
        lambda each: (
            each.status is not ApprovalStatus.PENDING
            and each.conversation_id is None
            and each.requested_at < cutoff
        ),
    )


def drop(table: MutableMapping[K, V], old: Callable[[V], bool]) -> int:
    doomed = [key for key, value in table.items() if old(value)]
    for key in doomed:
        del table[key]
    return len(doomed)


def _loosen(table: MutableMapping[str, W], conversations: set[str]) -> None:
    for key, each in table.items():
        if each.conversation_id in conversations:
            table[key] = replace(each, conversation_id=None)
