"""`MemoryStore`: the store's fake. It forgets when it is gone and otherwise keeps the contract.

The same suite (`tests/contract/test_store*.py`) runs over this, SQLite and
PostgreSQL: what the databases refuse, this refuses.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice

from vivavoce.errors import Unavailable
from vivavoce.runtime.ports import LogBounds, Retention
from vivavoce.store.clean import canonical_uuid, clean_text
from vivavoce.testing.memory_agenda import AgendaReads
from vivavoce.testing.memory_clean import clean
from vivavoce.testing.memory_dropping import drop_old, drop_own, forget_spent
from vivavoce.testing.memory_history import HistoryReads
from vivavoce.testing.memory_plans import link
from vivavoce.testing.memory_tables import Tables, apply, order
from vivavoce.testing.memory_work import WorkReads, drop
from vivavoce.wire.records.talk import (
    Announce,
    CallStatus,
    Change,
    Conversation,
    DropConversation,
    Kind,
    LogEvent,
    PutConversation,
    SessionSummary,
    Snapshot,
    Status,
    ToolCall,
    ToolStats,
    VoiceSession,
)


class MemoryStore(WorkReads, AgendaReads, HistoryReads):
    """Opening and closing keep what is there, as reopening a database does."""

    def __init__(self) -> None:
        self._tables = Tables()
        self._log: list[LogEvent] = []
        self._latest = 0
        self._open = False

    async def open(self) -> None:
        self._open = True

    async def close(self) -> None:
        self._open = False

    async def commit(self, changes: Sequence[Change]) -> list[LogEvent]:
        self._check()
        cleaned = [clean(change) for change in changes]
        await asyncio.sleep(0)  # a real store never answers within the same step of the loop
        draft = self._tables.draft()
        for change in sorted(cleaned, key=order):
            apply(draft, change)
        for change in cleaned:
            if isinstance(change, PutConversation):
                link(draft, change.conversation)
        self._tables.keep(draft)
        for change in cleaned:
            if isinstance(change, DropConversation):
                drop_own(self._tables, self._log, change)
        announced = [change.event for change in cleaned if isinstance(change, Announce)]
        placed = [replace(e, position=self._latest + i) for i, e in enumerate(announced, 1)]
        self._latest += len(placed)
        self._log += placed
        return placed

    async def conversation(self, conversation_id: str, *, user_id: str) -> Conversation | None:
        self._check()
        found = self._tables.conversations.get(canonical_uuid(conversation_id) or "")
        return found if found is not None and found.user_id == user_id else None

    async def session(self, session_id: str, *, user_id: str | None) -> VoiceSession | None:
        self._check()
        found = self._tables.sessions.get(clean_text(session_id))
        return found if found is not None and user_id in (None, found.user_id) else None

    async def summary(self, session_id: str, *, user_id: str) -> SessionSummary | None:
        found = await self.session(session_id, user_id=user_id)
        return None if found is None else self._summary(found)

    async def sessions(
        self, *, user_id: str, status: Status | None = None, limit: int = 20
    ) -> list[SessionSummary]:
        self._check()
        found = [
            session
            for session in self._tables.sessions.values()
            if session.user_id == user_id and status in (None, session.status)
        ]
        found.sort(key=lambda session: (session.created_at, session.id), reverse=True)
        return [self._summary(session) for session in found[: max(0, limit)]]

    async def active_sessions(self) -> list[VoiceSession]:
        self._check()
        found = [s for s in self._tables.sessions.values() if s.status is Status.ACTIVE]
        return sorted(found, key=lambda session: (session.created_at, session.id))

    async def session_totals(self) -> tuple[int, float]:
        self._check()
        sessions = self._tables.sessions.values()
        ended = [s.duration_ms(s.ended_at) for s in sessions if s.ended_at is not None]
        return len(sessions), _mean(ended)

    async def tool_call(self, call_id: str, *, user_id: str) -> ToolCall | None:
        self._check()
        return self._tables.calls.get((clean_text(user_id), clean_text(call_id)))

    async def open_calls(self, session_id: str) -> list[ToolCall]:
        self._check()
        found = [
            call
            for call in self._tables.calls.values()
            if call.session_id == session_id and call.status is CallStatus.STARTED
        ]
        return sorted(found, key=lambda call: (call.started_at, call.id))

    async def tool_stats(self, tool: str) -> ToolStats:
        self._check()
        calls = [call for call in self._tables.calls.values() if call.tool == tool]
        completed = sum(call.status is CallStatus.COMPLETED for call in calls)
        settled = completed + sum(call.status is CallStatus.FAILED for call in calls)
        return ToolStats(
            total_calls=len(calls),
            avg_duration_ms=_mean([c.duration_ms for c in calls if c.duration_ms is not None]),
            success_rate=completed / settled if settled else 0.0,
            last_called=max((call.started_at for call in calls), default=None),
        )

    async def snapshot(self, session_id: str, *, user_id: str) -> Snapshot | None:
        self._check()
        found = self._tables.snapshots.get(session_id)
        return found if found is not None and found.user_id == user_id else None

    async def events(
        self,
        *,
        after: int,
        limit: int,
        user_id: str | None = None,
        session_id: str | None = None,
        upto: int | None = None,
    ) -> list[LogEvent]:
        self._check()
        first = self._log[0].position if self._log else 0
        found = [
            event
            for event in self._log[max(0, after + 1 - first) :]  # the log has no holes
            if user_id in (None, event.user_id)
            and session_id in (None, event.session_id)
            and (upto is None or event.position <= upto)
        ]
        return found[: max(0, limit)]

    async def last_events(
        self, kind: str, *, session_id: str, user_id: str, limit: int
    ) -> list[LogEvent]:
        self._check()
        wanted = (kind, session_id, user_id)
        newest = (e for e in reversed(self._log) if (e.type, e.session_id, e.user_id) == wanted)
        return list(islice(newest, max(0, limit)))[::-1]

    async def log_bounds(self) -> LogBounds:
        self._check()
        oldest = self._log[0].position if self._log else self._latest + 1
        return LogBounds(oldest, self._latest)

    async def sweep(self, retention: Retention, now: datetime) -> int:
        self._check()
        gone = forget_spent(self._tables, now)
        if retention.snapshots is not None:
            cutoff = now - timedelta(seconds=retention.snapshots)
            gone += drop(self._tables.snapshots, lambda each: each.saved_at < cutoff)
        if retention.log is not None:
            cutoff = now - timedelta(seconds=retention.log)
            old = next((i for i, e in enumerate(self._log) if e.at >= cutoff), len(self._log))
            del self._log[:old]
            gone += old
            gone += drop(
                self._tables.deliveries,
                lambda each: each.status != "pending" and each.updated_at < cutoff,
            )
        if retention.conversations is not None:
            gone += drop_old(self._tables, now - timedelta(seconds=retention.conversations))
        return gone

    async def foreign_commits(self) -> AsyncIterator[None]:
        """There is no other process: waits for ever."""
        never = asyncio.Event()
        while True:
            await never.wait()
            yield

    def _check(self) -> None:
        if not self._open:
            raise Unavailable("The store is closed.")

    def _summary(self, session: VoiceSession) -> SessionSummary:
        turns = sum(
            entry.conversation_id == session.conversation_id and entry.kind is Kind.USER
            for entry in self._tables.entries.values()
        )
        title = self._tables.conversations[session.conversation_id].title
        return SessionSummary(session=session, turn_count=turns, title=title)


def _mean(numbers: Sequence[int]) -> float:
    return sum(numbers) / len(numbers) if numbers else 0.0
