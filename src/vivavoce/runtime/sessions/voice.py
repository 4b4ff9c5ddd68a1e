"""Voice sessions as the doors know them: create, connect, write to, change, resume, end, recover.

Every door onto sessions is thin because this is here. Knows nothing of HTTP.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from typing import Any

from vivavoce.errors import Conflict, NotFound, SessionNotFound
from vivavoce.runtime.journal.log import Journal
from vivavoce.runtime.people.memory import Memory, no_memory
from vivavoce.runtime.people.ports import AgendaStore
from vivavoce.runtime.ports import AudioCall, Clock, Provider, Store, Toolbox, ToolDefinition
from vivavoce.runtime.provider.pricing import Budget
from vivavoce.runtime.sessions.admission import Admission
from vivavoce.runtime.sessions.changing import OVER, reconfigure
from vivavoce.runtime.sessions.connecting import Connector, Waiting
from vivavoce.runtime.sessions.elsewhere import Elsewhere
from vivavoce.runtime.sessions.live import LiveSession
from vivavoce.runtime.sessions.making import Maker
from vivavoce.runtime.sessions.options import Wishes, remembered
from vivavoce.runtime.sessions.parts import Parts, People, people_of, strangers
from vivavoce.runtime.sessions.ports import Desk, Office, Traced, untold
from vivavoce.runtime.sessions.profile import GREET_RECONNECTED, GREET_RESTORED, Profile
from vivavoce.runtime.sessions.registry import Registry
from vivavoce.runtime.sessions.texting import Exchange, Texting
from vivavoce.session.context import History
from vivavoce.session.events import Created
from vivavoce.session.policy import Setup
from vivavoce.session.state import Phase
from vivavoce.wire.records.talk import Conversation, Status, VoiceSession, new_id

__all__ = ["Exchange", "Opened", "Voice"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A session that waits for its caller."""

    session: VoiceSession
    tools: list[ToolDefinition]
    history: History = field(default_factory=History)


class Voice:
    """The sessions of this server."""

    def __init__(
        self,
        *,
        store: Store,
        journal: Journal,
        provider: Provider,
        tools: Toolbox,
        desk: Desk,
        registry: Registry,
        profile: Profile,
        clock: Clock,
        traced: Traced = untold,
        office: Office | None = None,
        memory: Callable[[str], Awaitable[Memory]] = no_memory,
        agenda: AgendaStore | None = None,
        people: People | None = None,
    ) -> None:
        """`agenda` knows the users and what they spent; `people` tells more of them than it."""
        known = people or (people_of(agenda) if agenda is not None else strangers)
        parts = Parts(
            store=store,
            journal=journal,
            provider=provider,
            tools=tools,
            desk=desk,
            registry=registry,
            profile=profile,
            clock=clock,
            traced=traced,
            office=office,
            memory=memory,
            people=known,
            agenda=agenda,
        )
        self._parts, self.office = parts, office
        self._store, self._registry = store, registry
        self._profile, self._clock = profile, clock
        self._maker = Maker(parts)
        self._admission = Admission(parts)
        self._connector = Connector(parts, self._maker)
        self._elsewhere = Elsewhere(parts)
        self._texting = Texting(parts, self._maker, self._admission, self._connector)

    # --- Opening ----------------------------------------------------------------------

    async def create(self, user_id: str, wishes: Wishes) -> Opened:
        """A new conversation with its first session. Raises `RateLimited`."""
        await self._profile.refresh()
        now, agent = self._clock.now(), self._profile.agent
        conversation = Conversation(
            id=new_id(),
            user_id=user_id,
            created_at=now,
            updated_at=now,
            context_type=agent.context_type,
        )
        return await self._open(conversation, wishes, Waiting(greeting=agent.greeting), new=True)

    async def resume(self, session_id: str, user_id: str, *, voice: str | None) -> Opened:
        """A new session of an old conversation; one that is still live is taken over."""
        old, conversation = await self._find(session_id, user_id)
        await self._profile.refresh()
        wishes = remembered(old).again(voice=voice)
        return await self._open(conversation, wishes, Waiting("resume"))

    async def resume_conversation(
        self, conversation_id: str, user_id: str, wishes: Wishes
    ) -> Opened:
        """As `resume`, by the conversation, and with new wishes. Raises `RateLimited`."""
        conversation = await self._conversation(conversation_id, user_id)
        await self._profile.refresh()
        return await self._open(conversation, wishes, Waiting("resume"))

    async def restore(self, session_id: str, user_id: str) -> Opened:
        """As after a timeout: resumed, and welcomed back (seed 001 §6.2)."""
        opened = await self.resume(session_id, user_id, voice=None)
        waiting = self._connector.waiting(opened.session.id)
        if waiting is not None:
            waiting.reason = "restore"
            if opened.history.items:
                waiting.greeting = GREET_RESTORED
        return opened

    async def reconnect(self, session_id: str, user_id: str) -> Opened:
        """After the browser lost its call: the same session with a new call, while it is
        live; a new session of its conversation otherwise (seed 001 §5.3)."""
        live = self._live_of(session_id, user_id)
        if live is None or not live.books.session.voice:
            return await self.restore(session_id, user_id)
        waiting = Waiting("reconnect", GREET_RECONNECTED)
        if live.phase is Phase.DISCONNECTED:
            # It never got its first call: begin as meant.
            waiting = self._connector.waiting(session_id) or waiting
        await self._connector.mint(waiting, live.setup)
        self._connector.expect(session_id, waiting)
        return Opened(session=live.books.session, tools=self._maker.offered(live))

    async def _open(
        self, before: Conversation, wishes: Wishes, waiting: Waiting, *, new: bool = False
    ) -> Opened:
        tools = self._maker.offer(wishes)
        user = await self._maker.about(before.user_id, wishes)
        setup = self._maker.setup(wishes, tools, user)
        conversation = replace(before, ended_at=None, updated_at=self._clock.now())
        async with self._admission.alone(before, new=new):
            record = self._maker.record(conversation, wishes, setup, user)
            session = await self._admission.admit(record, conversation)
            try:
                await self._connector.mint(waiting, setup)
                budget = await self._admission.budget(session)
                # Only once all have agreed is a call that works given up for this one.
                await self._take_over(session)
                past = await self._maker.history(conversation, setup)
                live = self._maker.assemble(session, conversation, setup, budget)
                await self._admission.still_wanted(session)
                self._registry.start(live)
            except BaseException:
                await asyncio.shield(self._admission.take_back(session, before, new=new))
                raise
            self._connector.expect(live.id, waiting)
        await live.post(Created())
        return Opened(session=live.books.session, tools=tools, history=past)

    async def _take_over(self, session: VoiceSession) -> None:
        for live in self._registry.of_conversation(session.conversation_id):
            live.books.goes_on = True
            await self._registry.end(live, "completed", Status.COMPLETED)
        await self._elsewhere.take_over(session)

    def assemble(
        self,
        session: VoiceSession,
        conversation: Conversation,
        setup: Setup,
        budget: Budget | None = None,
    ) -> LiveSession:
        """A live session of records that are there already."""
        return self._maker.assemble(session, conversation, setup, budget)

    async def assemble_again(
        self, session: VoiceSession, conversation: Conversation
    ) -> LiveSession:
        """After a restart: configured as it was, with what is known now."""
        setup = await self._maker.setup_again(session)
        budget = await self._admission.budget(session)
        return self._maker.assemble(session, conversation, setup, budget)

    async def watch_budgets(self) -> None:
        """For ever, beside the sessions."""
        await self._admission.watch_budgets()

    # --- Connecting -------------------------------------------------------------------

    async def connect(self, session_id: str, user_id: str, offer: str) -> str:
        """The provider's answer to the browser's offer."""
        return await self._connector.sdp(self._connecting(session_id, user_id), offer)

    async def connect_audio(self, session_id: str, user_id: str) -> AudioCall:
        """A call whose sound goes over a WebSocket, where WebRTC finds no way."""
        return await self._connector.audio(self._connecting(session_id, user_id))

    async def attach_call(self, session_id: str, user_id: str, call_id: str) -> None:
        """A client that went to the provider itself reports the call it made."""
        await self._connector.attach(self._connecting(session_id, user_id), call_id)

    def _connecting(self, session_id: str, user_id: str) -> LiveSession:
        live = self._live_of(session_id, user_id)
        if live is None or not live.books.session.voice:
            raise SessionNotFound(f"Session '{session_id}' is over or was never there.")
        return live

    # --- Writing ----------------------------------------------------------------------

    async def say(self, conversation_id: str, user_id: str, text: str, *, wait: float) -> Exchange:
        """A written message: stored when this returns, with the reply if it came in time."""
        conversation = await self._conversation(conversation_id, user_id)
        return await self._texting.say(conversation, text, wait=wait)

    async def answer_left(self, conversations: Sequence[Conversation]) -> None:
        """After a restart: what was written there and never answered is answered now, once."""
        await self._texting.answer_left(conversations)

    # --- Changing and ending ----------------------------------------------------------

    async def reconfigure(
        self, session_id: str, user_id: str, wanted: Mapping[str, Any]
    ) -> tuple[list[str], Setup]:
        """What was changed, and the configuration in force; it reaches the live call."""
        live = self._live_of(session_id, user_id)
        if live is None:
            await self._find(session_id, user_id)
            raise Conflict(OVER)
        await reconfigure(self._parts, live, wanted)
        return list(wanted), live.setup

    async def end(self, session_id: str, user_id: str, *, status: Status, reason: str) -> bool:
        """Was it live, here or in another process? Waits until the end is stored."""
        if self._live_of(session_id, user_id) is None:
            session = await self._store.session(session_id, user_id=user_id)
            if session is None or session.status is not Status.ACTIVE:
                return False
            async with self.unopened(session.conversation_id):  # it may be in the making
                return await self.end_unopened(session_id, user_id, status=status, reason=reason)
        return await self.end_unopened(session_id, user_id, status=status, reason=reason)

    async def end_unopened(
        self, session_id: str, user_id: str, *, status: Status, reason: str
    ) -> bool:
        """As `end`, for who knows that nobody is opening it: within `unopened`."""
        live = self._live_of(session_id, user_id)
        if live is None:
            session = await self._store.session(session_id, user_id=user_id)
            return session is not None and await self._elsewhere.end(
                session, reason=reason, status=status
            )
        await self._registry.end(live, reason, status)
        self._connector.forget(session_id)
        return True

    def unopened(self, conversation_id: str) -> AbstractAsyncContextManager[None]:
        """While no session of it is being opened here."""
        return self._admission.unopened(conversation_id)

    # --- Looking up -------------------------------------------------------------------

    def live(self, session_id: str, user_id: str) -> LiveSession | None:
        return self._live_of(session_id, user_id)

    def _live_of(self, session_id: str, user_id: str) -> LiveSession | None:
        live = self._registry.get(session_id)
        if live is None or live.books.session.user_id != user_id:
            return None
        return live

    async def _conversation(self, conversation_id: str, user_id: str) -> Conversation:
        found = await self._store.conversation(conversation_id, user_id=user_id)
        if found is None:
            raise NotFound(f"Conversation '{conversation_id[:64]}' not found.")
        return found

    async def _find(self, session_id: str, user_id: str) -> tuple[VoiceSession, Conversation]:
        session = await self._store.session(session_id, user_id=user_id)
        conversation = (
            await self._store.conversation(session.conversation_id, user_id=user_id)
            if session
            else None
        )
        if session is None or conversation is None:
            raise SessionNotFound(f"Session '{session_id[:64]}' not found.")
        return session, conversation
