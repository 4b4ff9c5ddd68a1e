"""The live sessions of this process, each with its task under one parent."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from vivavoce.errors import Unavailable
from vivavoce.logs import fields
from vivavoce.runtime.live import LiveSession
from vivavoce.session.events import End
from vivavoce.wire.records import Status

log = logging.getLogger(__name__)


class Registry:
    """Who is live. `running` is the parent of every session's task."""

    def __init__(self, *, max_sessions: int = 100, shutdown_seconds: float = 5.0) -> None:
        self._max = max_sessions
        self._patience = shutdown_seconds
        self._live: dict[str, LiveSession] = {}
        self._reserved = 0
        self._group: asyncio.TaskGroup | None = None
        self.total = 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """While the server is up; on the way out every session is ended, in order."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            try:
                yield
            finally:
                await self.stop()

    async def stop(self) -> None:
        """No new ones, and an end to those there are; again does no harm."""
        self._group = None
        await self._end_all()

    def __len__(self) -> int:
        return len(self._live)

    def get(self, session_id: str) -> LiveSession | None:
        return self._live.get(session_id)

    def active(self, user_id: str, session_id: str | None) -> bool:
        """Is the named session of this user live, or any?"""
        if session_id is not None:
            live = self._live.get(session_id)
            return live is not None and live.books.session.user_id == user_id
        return any(live.books.session.user_id == user_id for live in self._live.values())

    def of_user(self, user_id: str) -> list[LiveSession]:
        """Oldest first."""
        return [live for live in self._live.values() if live.books.session.user_id == user_id]

    def of_conversation(self, conversation_id: str) -> list[LiveSession]:
        return [
            live
            for live in self._live.values()
            if live.books.session.conversation_id == conversation_id
        ]

    def with_call(self, call_id: str) -> LiveSession | None:
        """The session whose call this is."""
        for live in self._live.values():
            if call_id in (live.books.session.call_id, live.machine.state.call_id):
                return live
        return None

    @contextmanager
    def seat(self, conversation_id: str) -> Iterator[None]:
        """A place for a session in the making; a clear refusal before anything is promised.
        A session of the same conversation gives up its own."""
        if self._group is None:
            raise Unavailable("The server is shutting down.", retry_after_ms=5000)
        others = len(self._live) - len(self.of_conversation(conversation_id))
        if others + self._reserved >= self._max:
            raise Unavailable(
                f"All {self._max} sessions are taken. Please try again in a moment.",
                retry_after_ms=15_000,
            )
        self._reserved += 1
        try:
            yield
        finally:
            self._reserved -= 1

    def start(self, live: LiveSession) -> None:
        if self._group is None:
            raise Unavailable("The server is shutting down.", retry_after_ms=5000)
        self._live[live.id] = live
        self.total += 1
        session = live.books.session
        log.info("Session began", extra=fields(session_id=live.id, agent=session.agent))
        self._group.create_task(self._watch(live), name=live.id)

    async def _watch(self, live: LiveSession) -> None:
        try:
            await live.run()
        except Exception:  # the boundary of a session: the others live on
            log.exception("A session broke", extra={"session_id": live.id})
        finally:
            self._live.pop(live.id, None)
            session = live.books.session
            log.info(
                "Session ended",
                extra=fields(
                    session_id=live.id,
                    agent=session.agent,
                    reason=session.end_reason or "broken off",
                    seconds=round(session.duration_ms(session.updated_at) / 1000, 1),
                ),
            )

    async def end(self, live: LiveSession, reason: str, status: Status) -> None:
        """End one, and wait until that is stored."""
        await live.post(End(reason, status))
        await live.over()

    async def _end_all(self) -> None:
        """Ask all at once; who does not end in time is cancelled with the group."""
        lives = list(self._live.values())
        try:
            async with asyncio.timeout(self._patience), asyncio.TaskGroup() as group:
                for live in lives:
                    group.create_task(self.end(live, "completed", Status.COMPLETED))
        except TimeoutError:
            log.warning("Sessions did not end in time", extra={"count": len(self._live)})
            for live in lives:
                live.cancel()
