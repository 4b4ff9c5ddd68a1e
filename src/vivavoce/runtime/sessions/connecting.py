"""From a session that waits to one with a call: the browser's offer, a call whose sound goes by
WebSocket, or one that the client made itself. Owns the provider's secrets until they are used."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from vivavoce.errors import (
    Conflict,
    InvalidRequest,
    InvalidSdp,
    NotFound,
    ProviderError,
    SessionNotFound,
)
from vivavoce.runtime.ports import AudioCall
from vivavoce.runtime.sessions.live import LiveSession
from vivavoce.runtime.sessions.making import Maker
from vivavoce.runtime.sessions.parts import Parts
from vivavoce.session.events import CallPlaced, End, Flush
from vivavoce.session.policy import Setup
from vivavoce.wire.realtime.sdp import flaw

log = logging.getLogger(__name__)

T = TypeVar("T")

SECRET_SECONDS = 55.0  # the provider's own lapses after 60
_CALL_ID = re.compile(r"[\w-]{1,200}")


@dataclass(slots=True)
class Waiting:
    """What the next call of a session needs to know."""

    reason: str = "start"
    greeting: str | None = None
    secret: str | None = None
    secret_until: float = 0.0


class Connector:
    """Gives sessions their calls."""

    def __init__(self, parts: Parts, maker: Maker) -> None:
        self._parts, self._maker = parts, maker
        self._waiting: dict[str, Waiting] = {}

    # --- Waiting ----------------------------------------------------------------------

    async def mint(self, waiting: Waiting, setup: Setup, *, new: bool = False) -> None:
        """The provider's secret stays here: it proves the configuration and makes the call. `new`:
        the call begins a conversation, and does not go on with one."""
        provider = self._parts.provider
        waiting.secret = await self._with_room(
            lambda: provider.client_secret(setup.session, resumed=not new)
        )
        waiting.secret_until = self._now + SECRET_SECONDS

    def expect(self, session_id: str, waiting: Waiting) -> None:
        """What waits for a call of a session that is over holds a secret for nobody."""
        gone = [name for name in self._waiting if self._parts.registry.get(name) is None]
        for name in gone:
            del self._waiting[name]
        self._waiting[session_id] = waiting

    def waiting(self, session_id: str) -> Waiting | None:
        return self._waiting.get(session_id)

    def forget(self, session_id: str) -> None:
        self._waiting.pop(session_id, None)

    # --- Calls ------------------------------------------------------------------------

    async def sdp(self, session_id: str, user_id: str, offer: str) -> str:
        """The provider's answer to the browser's offer; the sideband follows by itself."""
        live = self._connecting(session_id, user_id)
        if wrong := flaw(offer):
            raise InvalidSdp(wrong)
        waiting = self._of(live)
        fresh = waiting.secret if self._now < waiting.secret_until else None
        provider, session = self._parts.provider, live.setup.session
        call = await self._with_room(lambda: provider.create_call(offer, session, secret=fresh))
        await self.settle(live, call.call_id, waiting)
        return call.sdp_answer

    async def audio(self, session_id: str, user_id: str) -> AudioCall:
        """A call whose sound goes over a WebSocket, where WebRTC finds no way."""
        live = self._connecting(session_id, user_id)
        provider, session = self._parts.provider, live.setup.session
        call = await self._with_room(lambda: provider.create_audio_call(session))
        await self.settle(live, call.call_id, self._of(live))
        return call

    async def attach(self, session_id: str, user_id: str, call_id: str) -> None:
        """A call that the client made at the provider itself: watched and configured from now
        on as if we had made it. Telling it twice is telling it once."""
        live = self._connecting(session_id, user_id)
        if not _CALL_ID.fullmatch(call_id) or self._parts.provider.is_text_call(call_id):
            raise InvalidRequest("That is no id of a call.", field="call_id")
        if live.records.session.call_id == call_id:
            return
        busy = self._parts.registry.with_call(call_id)
        known = [one for one in await self._parts.store.active_sessions() if one.call_id == call_id]
        known += [] if busy is None else [busy.records.session]
        if any(one.user_id != user_id for one in known):  # here, or on another server
            raise NotFound(f"Call '{call_id}' not found.")
        if busy is not None:
            raise Conflict("That call belongs to another session.")
        await self.settle(live, call_id, self._of(live))

    def _connecting(self, session_id: str, user_id: str) -> LiveSession:
        live = self._parts.registry.get(session_id, user_id)
        if live is None or not live.records.session.voice:
            raise SessionNotFound(f"Session '{session_id}' is over or was never there.")
        return live

    def _of(self, live: LiveSession) -> Waiting:
        return self._waiting.get(live.id) or Waiting("reconnect")

    @property
    def _now(self) -> float:
        return self._parts.clock.monotonic()

    async def _with_room(self, ask: Callable[[], Awaitable[T]]) -> T:
        return await self._parts.registry.with_room(self._parts.clock, ask)

    async def settle(self, live: LiveSession, call_id: str, waiting: Waiting) -> None:
        """The session has its call, or the call is given up."""
        voice = live.records.session.voice
        try:
            # Before the call begins: news that came late found the greeting said, and was old.
            news = await self._parts.notifier.waiting(live) if voice else ()
            placed = await self._place(live, call_id, waiting)
        except BaseException:
            await self.abandon(call_id)
            raise
        if not placed:
            await self.abandon(call_id)
            raise SessionNotFound(f"Session '{live.id}' ended while it was connecting.")
        self._waiting.pop(live.id, None)
        if voice:
            await self._parts.notifier.welcome(live, news)

    async def _place(self, live: LiveSession, call_id: str, waiting: Waiting) -> bool:
        """Tell the session of its call. True once that is stored: after a crash we find the
        call again, and only then does the browser hear of it."""
        for other in self._parts.registry.of_conversation(live.records.conversation.id):
            if other is not live and not other.records.session.voice:
                # What was written beside a session that only waited becomes its history.
                await self._parts.registry.end(other, End("completed"))
        if not await live.submit(Flush()):
            return False
        past = await self._maker.history(live.records.conversation, live.setup)
        user = await self._maker.about(live.records.session)
        words = await self._maker.words(live.records.session, user)
        seeded = [str(item["id"]) for item in past.items]
        live.records.called(call_id, self._parts.clock.now(), seeded)
        fresh = self._parts.profile.agent.greeting if live.records.session.voice else None
        return await live.submit(
            CallPlaced(
                call_id,
                instructions=words,
                briefing=self._parts.profile.briefing(user),
                history=past.items,
                history_tokens=past.tokens,
                gist=past.gist,
                greeting=waiting.greeting if past.items else fresh,
                reason=waiting.reason,
            )
        )

    async def abandon(self, call_id: str) -> None:
        """A call that nobody will watch must not go on: not even if the request is cancelled."""
        try:
            await asyncio.shield(self._parts.provider.hang_up(call_id))
        except ProviderError:
            log.warning("A call without a session could not be hung up")
