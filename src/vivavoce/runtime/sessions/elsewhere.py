"""Sessions that other processes on the same store run: their end is asked for in the log.

Every process reads in the log which ends others ask for, and ends those of its
own; who asked waits until that is stored. Where nobody answers the owner is
gone: what is left of the session is closed here. Knows nothing of who may ask.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from contextlib import suppress
from datetime import datetime

import orjson

from vivavoce.errors import ProviderError
from vivavoce.runtime.sessions.live import LiveSession
from vivavoce.runtime.sessions.parts import Parts
from vivavoce.runtime.sessions.records import closed
from vivavoce.wire.events import SessionEndRequested, to_log
from vivavoce.wire.records.talk import Announce, LogEvent, Status, VoiceSession

log = logging.getLogger(__name__)

PATIENCE = 4.0  # seconds for the owner to end a session
_LOOK_SECONDS = 0.1
_HANG_UP_SECONDS = 3.0
_EARLY = 64


class Elsewhere:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        # Asked for while it was still being made here: by one that was opened after it.
        self._early: deque[LogEvent] = deque(maxlen=_EARLY)
        registry = parts.registry
        parts.journal.heed(SessionEndRequested.type, self._asked, registry.expecting)
        registry.at_start(self._started)

    # --- Asking -----------------------------------------------------------------------

    async def end(
        self, session: VoiceSession, *, reason: str, status: Status, goes_on: bool = False
    ) -> bool:
        """True once its owner has ended it; False where it has none that answers. Its call is
        over either way."""
        if session.status is not Status.ACTIVE or session.metadata.get("tracked"):
            return False
        if self._has_owner(session):
            await self._ask(session, reason=reason, status=status, goes_on=goes_on)
            if await self._ended(session):
                return True
            log.warning("Who runs a session does not answer", extra={"session_id": session.id})
        await self._hang_up(session)
        return False

    async def take_over(self, session: VoiceSession) -> None:
        """Of two that open one conversation at the same time, the later has it."""
        found = await self._parts.store.sessions(
            user_id=session.user_id, status=Status.ACTIVE, limit=20
        )
        for old in (each.session for each in found):
            if (
                old.conversation_id != session.conversation_id
                or old.metadata.get("tracked")
                or _age(old) >= _age(session)
                or self._parts.registry.get(old.id) is not None
            ):
                continue
            if not await self.end(old, reason="completed", status=Status.COMPLETED, goes_on=True):
                now = self._parts.clock.now()
                changes = closed(old, now, status=Status.COMPLETED, reason="completed")
                await self._parts.journal.commit(changes)

    def _has_owner(self, session: VoiceSession) -> bool:
        """Another process that may still be there: no call is silent for longer than it lasts."""
        profile, owner = self._parts.profile, session.metadata.get("instance")
        quiet = (self._parts.clock.now() - session.updated_at).total_seconds()
        return (
            isinstance(owner, str)
            and owner != profile.defaults.instance
            and quiet < profile.capabilities.session_seconds
        )

    async def _ask(
        self, session: VoiceSession, *, reason: str, status: Status, goes_on: bool
    ) -> None:
        event = SessionEndRequested(
            session_id=session.id,
            timestamp=self._parts.clock.now(),
            reason=reason,
            status=str(status),
            goes_on=goes_on,
        )
        told = to_log(event, user_id=session.user_id, conversation_id=session.conversation_id)
        await self._parts.journal.commit([Announce(told)])

    async def _ended(self, session: VoiceSession) -> bool:
        clock = self._parts.clock
        until = clock.monotonic() + PATIENCE
        while clock.monotonic() < until:
            await clock.sleep(_LOOK_SECONDS)
            found = await self._parts.store.session(session.id, user_id=session.user_id)
            if found is None or found.status is not Status.ACTIVE:
                return True
        return False

    async def _hang_up(self, session: VoiceSession) -> None:
        """Nobody listens in any more, but the call may still be up at the provider."""
        with suppress(ProviderError, TimeoutError):
            async with asyncio.timeout(_HANG_UP_SECONDS):
                if session.call_id:
                    await self._parts.provider.hang_up(session.call_id)

    # --- Being asked ------------------------------------------------------------------

    def _asked(self, event: LogEvent) -> None:
        live = self._parts.registry.get(event.session_id or "")
        if live is None:
            self._early.append(event)
        else:
            self._obey(live, event)

    def _started(self, live: LiveSession) -> None:
        """It runs now; somebody may have asked for its end before."""
        for event in [each for each in self._early if each.session_id == live.id]:
            self._early.remove(event)
            self._obey(live, event)

    def _obey(self, live: LiveSession, event: LogEvent) -> None:
        if live.records.session.user_id != event.user_id:
            return
        # Emptied, if the conversation was deleted meanwhile.
        wanted = orjson.loads(event.data or b"{}")
        if wanted.get("goes_on"):
            live.records.goes_on = True
        status = Status(wanted.get("status", Status.COMPLETED))
        self._parts.registry.end_soon(live, wanted.get("reason", "user_ended"), status)


def _age(session: VoiceSession) -> tuple[datetime, str]:
    return session.created_at, session.id
