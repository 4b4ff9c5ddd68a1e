"""From a session that waits to one with a call: the browser's offer, a call whose sound goes by
WebSocket, or one that the client made itself. Owns the provider's secrets until they are used."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeVar

from vivavoce.errors import (
    Conflict,
    InvalidRequest,
    InvalidSdp,
    NotFound,
    ProviderError,
    SessionNotFound,
)
from vivavoce.runtime.ports import AudioCall, Call
from vivavoce.runtime.provider.openai import OpenAIProvider
from vivavoce.runtime.provider.providers import at
from vivavoce.runtime.sessions.live import LiveSession
from vivavoce.runtime.sessions.making import Maker
from vivavoce.runtime.sessions.parts import Parts
from vivavoce.session.events import CallPlaced, End, Flush, MoveFailed
from vivavoce.session.policy import Setup
from vivavoce.session.state import OUT_OF_QUOTA
from vivavoce.wire.realtime.sdp import flaw
from vivavoce.wire.records.talk import Status

log = logging.getLogger(__name__)

T = TypeVar("T")
Placed = TypeVar("Placed", Call, AudioCall)

ATTACH_SECONDS = 15.0
SECRET_SECONDS = 55.0  # the provider's own lapses after 60
_CALL_ID = re.compile(r"[\w-]{1,200}")


@dataclass(slots=True)
class Waiting:
    """What the next call of a session needs to know."""

    reason: str = "start"
    greeting: str | None = None
    quiet: bool = False
    """Who calls speaks first: a new conversation begins without a greeting."""
    beside: bool = False
    """The call that is on goes on until the new one is ready."""
    provider: str = ""
    """Nobody else will do."""
    because: str = ""
    """Why the one that was asked first does not answer."""
    minted: str = ""
    """By whom the secret is: it is for nobody else."""
    secret: str | None = None
    secret_until: float = 0.0
    number: int = 0
    """Which of the server's it is: later ones are higher. 0 belongs to no key."""


class Connector:
    """Gives sessions their calls."""

    def __init__(self, parts: Parts, maker: Maker) -> None:
        self._parts, self._maker = parts, maker
        self._waiting: dict[str, Waiting] = {}
        parts.relay.serve("attach", self._attached_here)
        self._newest: dict[str, int] = {}  # session → its last key, by number
        self._numbers = count(1)

    # --- Waiting ----------------------------------------------------------------------

    async def mint(
        self, waiting: Waiting, setup: Setup, names: Sequence[str], *, new: bool = False
    ) -> OpenAIProvider:
        """Who will answer: the first of these that can. Its secret stays here: it proves the
        configuration and makes the call. `new`: the call begins a conversation, and does not go
        on with one."""

        async def ask(provider: OpenAIProvider) -> str | None:
            session = at(setup, provider).session
            return await self._with_room(lambda: provider.client_secret(session, resumed=not new))

        answer = await self._parts.providers.first(names, ask)
        waiting.secret, waiting.minted = answer.result, answer.provider.name
        waiting.because = answer.because
        waiting.secret_until = self._now + SECRET_SECONDS
        return answer.provider

    def names(self, live: LiveSession, waiting: Waiting) -> list[str]:
        """Who may be asked for its next call, in order."""
        state, providers = live.machine.state, self._parts.providers
        if waiting.provider:
            return [waiting.provider]
        for name in state.provider.failed:
            providers.refused(name, state.provider.because or OUT_OF_QUOTA)
        return providers.after(waiting.minted or live.provider.name, state.provider.failed)

    def expect(self, session_id: str, waiting: Waiting) -> None:
        """What waits for a call of a session that is over holds a secret for nobody."""
        gone = [name for name in self._waiting if self._parts.registry.get(name) is None]
        for name in gone:
            del self._waiting[name]
        ended = [name for name in self._newest if self._parts.registry.get(name) is None]
        for name in ended:
            del self._newest[name]
        waiting.number = self._newest[session_id] = next(self._numbers)
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

        async def ask(provider: OpenAIProvider) -> Call:
            session = at(live.setup, provider).session
            mine = waiting.minted == provider.name and self._now < waiting.secret_until
            secret = waiting.secret if mine else None
            return await self._with_room(
                lambda: provider.create_call(offer, session, secret=secret)
            )

        call: Call = await self._placed(live, waiting, ask)
        return call.sdp_answer

    async def audio(self, session_id: str, user_id: str) -> AudioCall:
        """A call whose sound goes over a WebSocket, where WebRTC finds no way."""
        live = self._connecting(session_id, user_id)

        async def ask(provider: OpenAIProvider) -> AudioCall:
            session = at(live.setup, provider).session
            return await self._with_room(lambda: provider.create_audio_call(session))

        call: AudioCall = await self._placed(live, self._of(live), ask)
        return call

    async def _placed(
        self,
        live: LiveSession,
        waiting: Waiting,
        ask: Callable[[OpenAIProvider], Awaitable[Placed]],
    ) -> Placed:
        """A call at the first provider that can, and the session on it."""
        try:
            answer = await self._parts.providers.first(self.names(live, waiting), ask)
        except ProviderError:
            if waiting.provider:
                await live.post(MoveFailed(waiting.provider))
            raise
        waiting.because = answer.because or waiting.because
        call: Placed = answer.result
        await self.settle(live, call.call_id, waiting, answer.provider)
        return call

    async def attach(self, session_id: str, user_id: str, call_id: str) -> None:
        """A call that the client made at the provider itself: watched and configured from now
        on as if we had made it. Telling it twice is telling it once."""
        if await self._attached_there(session_id, user_id, call_id):
            return
        live = self._connecting(session_id, user_id)
        written = any(one.is_text_call(call_id) for one in self._parts.providers.every)
        if not _CALL_ID.fullmatch(call_id) or written:
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

    async def _attached_there(self, session_id: str, user_id: str, call_id: str) -> bool:
        """Did another server that runs it do it?"""
        if self._parts.registry.get(session_id, user_id) is not None:
            return False
        session = await self._parts.store.session(session_id, user_id=user_id)
        if session is None or session.status is not Status.ACTIVE:
            return False
        relay, owner = self._parts.relay, (session.owner, session.epoch)
        if not await relay.held(*owner):
            return False
        given = {"session": session_id, "call": call_id}
        await relay.ask("attach", owner, user_id, given, wait=ATTACH_SECONDS)
        return True

    async def _attached_here(
        self, user_id: str, given: dict[str, str], plain: str
    ) -> tuple[dict[str, Any], str]:
        self._connecting(given["session"], user_id)  # else it would be asked of another
        await self.attach(given["session"], user_id, given["call"])
        return {}, ""

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

    async def settle(
        self,
        live: LiveSession,
        call_id: str,
        waiting: Waiting,
        provider: OpenAIProvider | None = None,
    ) -> None:
        """The session has its call, or the call is given up."""
        provider = provider or live.provider
        live.sidebands.placed(call_id, provider)
        voice = bool(live.records.session.voice) or live.companion is not None
        try:
            # Before the call begins: news that came late found the greeting said, and was old.
            news = await self._parts.notifier.waiting(live) if voice else ()
            running = ""
            if voice and waiting.reason == "reconnect":
                running = await self._parts.notifier.running(live)
            placed = await self._place(live, call_id, waiting, provider, running)
        except BaseException:
            await self.abandon(call_id, provider)
            raise
        if not placed:
            await self.abandon(call_id, provider)
            raise SessionNotFound(f"Session '{live.id}' ended while it was connecting.")
        self._waiting.pop(live.id, None)
        if voice:
            await self._parts.notifier.welcome(live, news)

    async def _place(
        self,
        live: LiveSession,
        call_id: str,
        waiting: Waiting,
        provider: OpenAIProvider,
        running: str,
    ) -> bool:
        """Tell the session of its call. True once that is stored: after a crash we find the
        call again, and only then does the browser hear of it."""
        for other in self._parts.registry.of_conversation(live.records.conversation.id):
            if other is not live and not other.records.session.voice:
                # What was written beside a session that only waited becomes its history.
                await self._parts.registry.end(other, End("completed"))
        beside = waiting.beside and live.machine.state.sideband.up
        if not beside and not await live.submit(Flush()):
            return False
        setup = at(live.setup, provider)
        past = await self._maker.history(live.records.conversation, setup, provider)
        user = await self._maker.about(live.records.session)
        words = await self._maker.words(live.records.session, user)
        seeded = [str(item["id"]) for item in past.items]
        now = self._parts.clock.now()
        if 0 < waiting.number < self._newest.get(live.id, 0):
            # Whoever asked for another key has given this call up, however late it comes.
            raise Conflict("Another call of this session was asked for meanwhile.")
        if beside:
            live.records.placed_beside(call_id, now, provider)
        else:
            live.records.called(call_id, now, seeded, provider)
        greeting = self._greeting(live, waiting, provider)
        greets = live.records.session.voice and not waiting.quiet
        fresh = self._parts.profile.agent.greeting if greets else None
        return await live.submit(
            CallPlaced(
                call_id,
                instructions=words,
                briefing=self._parts.profile.briefing(user),
                history=past.items,
                history_tokens=past.tokens,
                greeting=greeting if past.items else fresh,
                running=running if greeting else "",
                gist=past.gist,
                reason=waiting.reason,
                beside=beside,
                provider=provider.name,
                model=provider.model,
                because=waiting.because,
                window=self._maker.window(setup, provider),
            )
        )

    def _greeting(
        self, live: LiveSession, waiting: Waiting, provider: OpenAIProvider
    ) -> str | None:
        """Who takes over says so, and goes on: that is greeting enough."""
        state = live.machine.state
        before = state.provider.name or provider.name
        return waiting.greeting if before == provider.name and not waiting.beside else None

    async def abandon(self, call_id: str, provider: OpenAIProvider) -> None:
        """A call that nobody will watch must not go on: not even if the request is cancelled."""
        try:
            await asyncio.shield(provider.hang_up(call_id))
        except ProviderError:
            log.warning("A call without a session could not be hung up")
