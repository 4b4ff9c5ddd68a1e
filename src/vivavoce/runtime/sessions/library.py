"""The kept side of sessions: lists, transcripts, tracked records, clients' copies, updates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from vivavoce.errors import NotFound, SessionNotFound
from vivavoce.runtime.ids import SessionIds
from vivavoce.runtime.journal.log import Journal
from vivavoce.runtime.ports import Clock, Store
from vivavoce.runtime.sessions.records import closed, title_from
from vivavoce.session.sync import Copy, unseen
from vivavoce.wire.clean import clean_json, clean_line, clean_text
from vivavoce.wire.events import TurnTraced
from vivavoce.wire.records.talk import (
    Conversation,
    Entry,
    LogEvent,
    PutConversation,
    PutEntry,
    PutSession,
    SessionSummary,
    Status,
    ToolCall,
    VoiceSession,
    new_id,
)

__all__ = ["Copy", "Library", "Updates"]

TURNS = 100  # as many of them as one answer shows


@dataclass(frozen=True, slots=True)
class Updates:
    """What happened to a session after a position."""

    events: list[LogEvent]
    latest: int
    has_more: bool
    reset: bool


class Library:
    """Reads, and the writes that need no live session."""

    def __init__(self, store: Store, journal: Journal, clock: Clock, agent: str) -> None:
        self._store, self._journal, self._clock, self._agent = store, journal, clock, agent
        self._ids = SessionIds(clock.now)

    async def sessions(
        self, user_id: str, *, status: Status | None, limit: int
    ) -> list[SessionSummary]:
        return await self._store.sessions(user_id=user_id, status=status, limit=limit)

    async def summary(self, session_id: str, user_id: str) -> SessionSummary:
        found = await self._store.summary(session_id, user_id=user_id)
        if found is None:
            raise SessionNotFound(f"Session '{session_id[:64]}' not found.")
        return found

    async def transcript(self, summary: SessionSummary) -> list[Entry]:
        session = summary.session
        return await self._store.entries(session.conversation_id, user_id=session.user_id)

    async def turns(self, summary: SessionSummary) -> list[LogEvent]:
        """How the last turns of this session went, as long as the log has them."""
        session = summary.session
        return await self._store.last_events(
            TurnTraced.type, session_id=session.id, user_id=session.user_id, limit=TURNS
        )

    async def track(
        self, user_id: str, *, title: str | None, metadata: Mapping[str, Any]
    ) -> SessionSummary:
        """A record for a client that talks to a provider by itself."""
        now = self._clock.now()
        conversation = Conversation(
            id=new_id(),
            user_id=user_id,
            created_at=now,
            updated_at=now,
            title=clean_line(title) if title else None,
            metadata=clean_json(dict(metadata)),
        )
        session = VoiceSession(
            id=self._ids(),
            conversation_id=conversation.id,
            user_id=user_id,
            agent=self._agent,
            created_at=now,
            updated_at=now,
            counted=False,  # it takes nothing of ours
            metadata={"tracked": True},
        )
        await self._journal.commit([PutConversation(conversation), PutSession(session, new=True)])
        return SessionSummary(session=session, turn_count=0, title=conversation.title)

    async def sync(self, session_id: str, user_id: str, copies: Sequence[Copy]) -> int:
        """How many of the client's entries are stored now; all of them, new or not."""
        summary = await self.summary(session_id, user_id)
        session, now = summary.session, self._clock.now()
        stored = await self.transcript(summary)
        added = unseen(
            copies,
            stored,
            conversation_id=session.conversation_id,
            user_id=user_id,
            session_id=session_id,
            now=now,
        )
        if added:
            changes = [PutEntry(entry, replace=False) for entry in added]
            await self._journal.commit([*await self._named(session, added), *changes])
        return len(copies)

    async def _named(self, session: VoiceSession, added: Sequence[Entry]) -> list[PutConversation]:
        conversation = await self._store.conversation(
            session.conversation_id, user_id=session.user_id
        )
        if conversation is None:
            return []
        title = conversation.title or next(filter(None, map(title_from, added)), None)
        return [PutConversation(replace(conversation, title=title, updated_at=self._clock.now()))]

    async def finish(self, session_id: str, user_id: str, *, status: Status, reason: str) -> None:
        """End a record that has no live session; one that has ended stays as it is."""
        session = (await self.summary(session_id, user_id)).session
        if session.status is not Status.ACTIVE:
            return
        changes = closed(session, self._clock.now(), status=status, reason=reason)
        await self._journal.commit(changes)

    async def summarize(self, session_id: str, user_id: str, text: str) -> None:
        """A summary that somebody wrote: the next resume begins with it."""
        session = (await self.summary(session_id, user_id)).session
        conversation = await self._store.conversation(session.conversation_id, user_id=user_id)
        if conversation is not None:
            summary = clean_text(text, 4000)
            await self._journal.commit([PutConversation(replace(conversation, summary=summary))])

    async def updates(self, session_id: str, user_id: str, *, after: int, limit: int) -> Updates:
        """For clients that poll: durable events after a position, oldest first."""
        await self.summary(session_id, user_id)
        events = await self._store.events(
            after=after, limit=limit + 1, user_id=user_id, session_id=session_id
        )
        bounds = await self._store.log_bounds()
        page = events[:limit]
        latest = page[-1].position if page else min(after, bounds.latest)
        gone = not 0 <= after <= bounds.latest or (0 < after < bounds.oldest - 1)
        return Updates(page, latest, len(events) > limit, gone)

    async def task(self, task_id: str, user_id: str) -> ToolCall:
        call = await self._store.tool_call(task_id, user_id=user_id)
        if call is None:
            raise NotFound(f"Task '{task_id[:64]}' not found.")
        return call
