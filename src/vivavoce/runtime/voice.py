"""Voice sessions as the doors know them: create, connect, change, resume, end, recover.

Every door onto sessions is thin because this is here. Knows nothing of HTTP.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakValueDictionary

from vivavoce.errors import (
    BridgeUnavailable,
    Conflict,
    InvalidSdp,
    ProviderError,
    SessionNotFound,
    ToolNotFound,
)
from vivavoce.runtime.bookkeeping import Books
from vivavoce.runtime.ids import SessionIds
from vivavoce.runtime.journal import Journal
from vivavoce.runtime.live import Desk, LiveSession, Office, Traced, untold
from vivavoce.runtime.memory import Memory, no_memory
from vivavoce.runtime.ports import AudioCall, Clock, Provider, Store, Toolbox, ToolDefinition
from vivavoce.runtime.profile import (
    GREET_RECONNECTED,
    GREET_RESTORED,
    Profile,
    detection,
)
from vivavoce.runtime.registry import Registry
from vivavoce.runtime.wishes import Wishes, remember, remembered
from vivavoce.session.context import History, history, history_budget
from vivavoce.session.events import CallPlaced, Created, Flush, Reconfigure
from vivavoce.session.machine import Machine
from vivavoce.session.policy import Identity, Setup
from vivavoce.session.state import Phase
from vivavoce.wire.records import (
    Conversation,
    PutConversation,
    PutSession,
    Status,
    VoiceSession,
    new_id,
)
from vivavoce.wire.sdp import flaw

log = logging.getLogger(__name__)

SECRET_SECONDS = 55.0  # the provider's own lapses after 60
_ID_TRIES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A session that waits for its caller."""

    session: VoiceSession
    tools: list[ToolDefinition]
    history: History = field(default_factory=History)


@dataclass(slots=True)
class _Waiting:
    """What the next `/sdp` of a session needs to know."""

    reason: str = "start"
    greeting: str | None = None
    secret: str | None = None
    secret_until: float = 0.0


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
    ) -> None:
        self._store, self._journal, self._provider = store, journal, provider
        self._tools, self._desk, self._registry = tools, desk, registry
        self._profile, self._clock, self._traced = profile, clock, traced
        self.office = office
        self._memory = memory
        self._ids = SessionIds(clock.now)
        self._waiting: dict[str, _Waiting] = {}
        # Weak: a lock is there as long as somebody holds or wants it.
        self._opening: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    # --- Opening ----------------------------------------------------------------------

    async def create(self, user_id: str, wishes: Wishes) -> Opened:
        """A new conversation with its first session."""
        now = self._clock.now()
        conversation = Conversation(id=new_id(), user_id=user_id, created_at=now, updated_at=now)
        return await self._open(
            conversation, wishes, _Waiting(greeting=self._profile.agent.greeting)
        )

    async def resume(self, session_id: str, user_id: str, *, voice: str | None) -> Opened:
        """A new session of an old conversation; one that is still live is taken over."""
        old, conversation = await self._find(session_id, user_id)
        wishes = remembered(old)
        wishes = replace(wishes, voice=voice or wishes.voice)
        return await self._open(conversation, wishes, _Waiting("resume"))

    async def restore(self, session_id: str, user_id: str) -> Opened:
        """As after a timeout: resumed, and welcomed back (seed 001 §6.2)."""
        opened = await self.resume(session_id, user_id, voice=None)
        waiting = self._waiting[opened.session.id]
        waiting.reason = "restore"
        if opened.history.items:
            waiting.greeting = GREET_RESTORED
        return opened

    async def reconnect(self, session_id: str, user_id: str) -> Opened:
        """After the browser lost its call: the same session with a new call, while it is
        live; a new session of its conversation otherwise (seed 001 §5.3)."""
        live = self._live_of(session_id, user_id)
        if live is None:
            return await self.restore(session_id, user_id)
        waiting = _Waiting("reconnect", GREET_RECONNECTED)
        if live.phase is Phase.DISCONNECTED and session_id in self._waiting:
            waiting = self._waiting[session_id]  # it never got its first call: begin as meant
        await self._mint(waiting, live.setup)
        self._waiting[session_id] = waiting
        return Opened(session=live.books.session, tools=self._offered(live))

    async def _open(self, conversation: Conversation, wishes: Wishes, waiting: _Waiting) -> Opened:
        profile, now = self._profile, self._clock.now()
        tools = self._offer(wishes)
        setup = profile.setup(wishes, tools, now)
        async with self._alone(conversation.id):
            self._forget_the_gone()
            # Only once the provider has agreed is a call that works given up for this one.
            await self._mint(waiting, setup)
            for live in self._registry.of_conversation(conversation.id):
                await self._registry.end(live, "completed", Status.COMPLETED)
            past = await self._history(conversation, setup)
            session = VoiceSession(
                id="",
                conversation_id=conversation.id,
                user_id=conversation.user_id,
                agent=profile.agent.name,
                created_at=now,
                updated_at=now,
                model=profile.defaults.model,
                voice=setup.voice,
                metadata={"instance": profile.defaults.instance, "wishes": wishes.to_json()},
            )
            live = await self._begin(session, conversation, setup)
            self._waiting[live.id] = waiting
            self._registry.start(live)
        await live.post(Created())
        return Opened(session=live.books.session, tools=tools, history=past)

    @asynccontextmanager
    async def _alone(self, conversation_id: str) -> AsyncIterator[None]:
        """With a seat, and with nobody else opening a session of this conversation."""
        lock = self._opening.setdefault(conversation_id, asyncio.Lock())
        async with lock:
            with self._registry.seat(conversation_id):
                yield

    def _forget_the_gone(self) -> None:
        """What waits for a call of a session that is over holds a secret for nobody."""
        for session_id in [name for name in self._waiting if self._registry.get(name) is None]:
            del self._waiting[session_id]

    def _offer(self, wishes: Wishes) -> list[ToolDefinition]:
        try:
            return self._tools.definitions(self._profile.tool_names(wishes.tools_filter))
        except ToolNotFound:
            if wishes.tools_filter is not None:
                raise  # the user's own words
            raise BridgeUnavailable(
                "A tool of the agent is not there. Please try again in a moment.",
                retry_after_ms=5000,
            ) from None

    async def _begin(
        self, session: VoiceSession, conversation: Conversation, setup: Setup
    ) -> LiveSession:
        """Stored before it is promised; four digits may be taken, so try others."""
        for attempt in range(_ID_TRIES):
            session = replace(session, id=self._ids())
            try:
                await self._journal.commit(
                    [PutConversation(conversation), PutSession(session, new=True)]
                )
                break
            except Conflict:
                if attempt == _ID_TRIES - 1:
                    raise
        return self.assemble(session, conversation, setup)

    def assemble(
        self, session: VoiceSession, conversation: Conversation, setup: Setup
    ) -> LiveSession:
        """The parts of a live session, put together."""
        who = Identity(
            session_id=session.id,
            conversation_id=conversation.id,
            user_id=session.user_id,
        )
        machine = Machine(who, self._profile.policy(), setup, started_at=session.created_at)
        books = Books(session, conversation, workspace=self._profile.defaults.workspace)
        return LiveSession(
            machine,
            books,
            provider=self._provider,
            journal=self._journal,
            desk=self._desk,
            clock=self._clock,
            traced=self._traced,
            office=self.office,
            inbox=self._profile.defaults.inbox,
        )

    async def _mint(self, waiting: _Waiting, setup: Setup) -> None:
        """The provider's secret stays here: it proves the configuration and makes the call."""
        waiting.secret = await self._provider.client_secret(setup.session)
        waiting.secret_until = self._clock.monotonic() + SECRET_SECONDS

    async def _history(self, conversation: Conversation, setup: Setup) -> History:
        entries = await self._store.entries(conversation.id, user_id=conversation.user_id)
        budget = history_budget(
            self._profile.capabilities.context_tokens,
            str(setup.session.get("instructions") or ""),
            list(setup.session.get("tools") or ()),
        )
        return history(
            entries,
            budget=budget,
            summary=conversation.summary,
            turns=self._profile.agent.restore_turns,
        )

    # --- Connecting -------------------------------------------------------------------

    async def connect(self, session_id: str, user_id: str, offer: str) -> str:
        """The provider's answer to the browser's offer; the sideband follows by itself."""
        if wrong := flaw(offer):
            raise InvalidSdp(wrong)
        live, waiting = self._connecting(session_id, user_id)
        fresh = waiting.secret if self._clock.monotonic() < waiting.secret_until else None
        call = await self._provider.create_call(offer, live.setup.session, secret=fresh)
        await self._settle(live, call.call_id, waiting)
        return call.sdp_answer

    async def connect_audio(self, session_id: str, user_id: str) -> AudioCall:
        """A call whose sound goes over a WebSocket, where WebRTC finds no way."""
        live, waiting = self._connecting(session_id, user_id)
        call = await self._provider.create_audio_call(live.setup.session)
        await self._settle(live, call.call_id, waiting)
        return call

    def _connecting(self, session_id: str, user_id: str) -> tuple[LiveSession, _Waiting]:
        live = self._live_of(session_id, user_id)
        if live is None:
            raise SessionNotFound(f"Session '{session_id}' is over or was never there.")
        return live, self._waiting.get(session_id) or _Waiting("reconnect")

    async def _settle(self, live: LiveSession, call_id: str, waiting: _Waiting) -> None:
        """The session has its call, or the call is given up."""
        try:
            placed = await self._place(live, call_id, waiting)
        except BaseException:
            await self._abandon(call_id)
            raise
        if not placed:
            await self._abandon(call_id)
            raise SessionNotFound(f"Session '{live.id}' ended while it was connecting.")
        self._waiting.pop(live.id, None)
        if self.office is not None:
            await self.office.welcome(live)

    async def _place(self, live: LiveSession, call_id: str, waiting: _Waiting) -> bool:
        """Tell the session of its call. True once that is stored: after a crash we find the
        call again, and only then does the browser hear of it."""
        if not await live.submit(Flush()):
            return False
        past = await self._history(live.books.conversation, live.setup)
        now = self._clock.now()
        memory = await self._memory(live.books.session.user_id)
        live.books.called(call_id, now, [str(item["id"]) for item in past.items])
        return await live.submit(
            CallPlaced(
                call_id,
                instructions=self._profile.words(
                    now, remembered(live.books.session).instructions, memory
                ),
                history=past.items,
                history_tokens=past.tokens,
                greeting=waiting.greeting if past.items else self._profile.agent.greeting,
                reason=waiting.reason,
            )
        )

    async def _abandon(self, call_id: str) -> None:
        """A call that nobody will watch must not go on: not even if the request is cancelled."""
        try:
            await asyncio.shield(self._provider.hang_up(call_id))
        except ProviderError:
            log.warning("A call without a session could not be hung up")

    # --- Changing and ending ----------------------------------------------------------

    async def reconfigure(
        self, session_id: str, user_id: str, wanted: Mapping[str, Any]
    ) -> tuple[list[str], Setup]:
        """What was changed, and the configuration in force; it reaches the live call."""
        live = self._live_of(session_id, user_id)
        if live is None:
            await self._find(session_id, user_id)
            raise Conflict("The session is over; its configuration cannot change any more.")
        changes = self._changes(live, wanted)
        if wanted:
            live.books.session = remember(live.books.session, wanted)
            if not await live.submit(Reconfigure(changes, tuple(wanted))):
                raise Conflict("The session is over; its configuration cannot change any more.")
        return list(wanted), live.setup

    def _changes(self, live: LiveSession, wanted: Mapping[str, Any]) -> dict[str, Any]:
        changes: dict[str, Any] = {}
        audio: dict[str, Any] = {}
        if "voice" in wanted:
            if live.machine.state.voice_locked and wanted["voice"] != live.books.session.voice:
                raise Conflict("The voice cannot change once the assistant has spoken.")
            audio["output"] = {"voice": self._profile.check_voice(wanted["voice"])}
        if "turn_detection" in wanted:
            audio["input"] = {"turn_detection": detection(wanted["turn_detection"])}
        if audio:
            changes["audio"] = audio
        if "instructions" in wanted:
            changes["instructions"] = self._profile.words(self._clock.now(), wanted["instructions"])
        if "tools_enabled" in wanted:
            names = self._profile.tool_names(wanted["tools_enabled"])
            changes["tools"] = [tool.function() for tool in self._tools.definitions(names)]
        return changes

    async def end(self, session_id: str, user_id: str, *, status: Status, reason: str) -> bool:
        """Was it live? Waits until the end is stored."""
        live = self._live_of(session_id, user_id)
        if live is None:
            return False
        await self._registry.end(live, reason, status)
        self._waiting.pop(session_id, None)
        return True

    # --- Looking up -------------------------------------------------------------------

    def live(self, session_id: str, user_id: str) -> LiveSession | None:
        return self._live_of(session_id, user_id)

    def _live_of(self, session_id: str, user_id: str) -> LiveSession | None:
        live = self._registry.get(session_id)
        if live is None or live.books.session.user_id != user_id:
            return None
        return live

    def _offered(self, live: LiveSession) -> list[ToolDefinition]:
        return [tool for tool in self._tools.definitions() if tool.name in live.allowed_tools]

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
