"""Voice sessions as the doors know them: create, connect, write to, change, resume, end, recover.

Every door onto sessions is thin because this is here. Knows nothing of HTTP.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import asdict, field, replace
from typing import Any

from vivavoce.errors import (
    Conflict,
    InvalidRequest,
    ProviderError,
    SessionNotFound,
    TakenOver,
    found,
)
from vivavoce.runtime.people.profile import UserContext
from vivavoce.runtime.ports import ToolDefinition
from vivavoce.runtime.provider.providers import at
from vivavoce.runtime.sessions.admission import Admission
from vivavoce.runtime.sessions.connecting import Connector, Waiting
from vivavoce.runtime.sessions.elsewhere import Elsewhere, Recovery
from vivavoce.runtime.sessions.live import LiveSession, Vitals
from vivavoce.runtime.sessions.making import Maker
from vivavoce.runtime.sessions.options import Options, check_steering, remember, remembered
from vivavoce.runtime.sessions.parts import Parts
from vivavoce.runtime.sessions.profile import (
    GREET_MOVED,
    GREET_RECONNECTED,
    GREET_RESTORED,
    detection,
)
from vivavoce.runtime.sessions.records import answered_by, begun
from vivavoce.runtime.sessions.texting import Exchange, Texting
from vivavoce.session.context import History
from vivavoce.session.events import (
    TAKEN_OVER,
    Created,
    End,
    Inform,
    MoveFailed,
    MoveWanted,
    Reconfigure,
)
from vivavoce.session.policy import Setup
from vivavoce.session.state import Phase
from vivavoce.wire.events import SessionMoved, announce
from vivavoce.wire.records.talk import Conversation, Status, VoiceSession
from vivavoce.wire.records.work import Role
from vivavoce.wire.values import Record

__all__ = ["Exchange", "Opened", "Voice"]

log = logging.getLogger(__name__)

BY_USER = End()
OVER = "The session is over; its configuration cannot change any more."


class Opened(Record):
    """A session that waits for its caller."""

    session: VoiceSession
    tools: list[ToolDefinition]
    history: History = field(default_factory=History)


class Voice:
    """The sessions of this server."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._store, self._registry = parts.store, parts.registry
        self._profile, self._clock = parts.profile, parts.clock
        self.maker = Maker(parts)
        self.admission = Admission(parts)
        self.connector = Connector(parts, self.maker)
        self.elsewhere = Elsewhere(parts)
        self.texting = Texting(parts, self.maker, self.admission, self.connector)
        self.recovery = Recovery(parts, self.maker, self.admission)
        parts.relay.serve("configuration", self._reconfigured_here)
        parts.relay.serve("provider", self._moved_here)
        parts.relay.serve("vitals", self._vitals_here)

    # --- Opening ----------------------------------------------------------------------

    async def create(self, user_id: str, options: Options, *, quiet: bool = False) -> Opened:
        """A new conversation with its first session. `quiet`: its user speaks first. Raises
        `RateLimited`."""
        await self._profile.refresh()
        now, agent = self._clock.now(), self._profile.agent
        conversation = begun(user_id, now, context_type=agent.context_type)
        waiting = Waiting(greeting=agent.greeting, quiet=quiet)
        return await self._open(conversation, options, waiting, new=True)

    async def resume(
        self, session_id: str, user_id: str, *, voice: str | None, role: Role = "operator"
    ) -> Opened:
        """A new session of an old conversation; one that is still live is taken over."""
        return await self._resume(session_id, user_id, role, Waiting("resume"), voice)

    async def _resume(
        self,
        session_id: str,
        user_id: str,
        role: Role,
        waiting: Waiting,
        voice: str | None = None,
    ) -> Opened:
        old, conversation = await self._find(session_id, user_id)
        await self._profile.refresh()
        options = remembered(old).again(voice=voice, role=role)
        allowed = self._profile.tool_names(role=role)
        if options.tools_filter and allowed is not None and old.role != role:
            kept = tuple(name for name in options.tools_filter if name in allowed)
            options = replace(options, tools_filter=kept)
        return await self._open(conversation, options, waiting)

    async def resume_conversation(
        self, conversation_id: str, user_id: str, options: Options
    ) -> Opened:
        """As `resume`, by the conversation, and with new options. Raises `RateLimited`."""
        conversation = await self.conversation(conversation_id, user_id)
        await self._profile.refresh()
        return await self._open(conversation, options, Waiting("resume"))

    async def restore(self, session_id: str, user_id: str, role: Role = "operator") -> Opened:
        """As after a timeout: resumed, and welcomed back (seed 001 §6.2)."""
        return await self._resume(session_id, user_id, role, Waiting("restore", GREET_RESTORED))

    async def reconnect(self, session_id: str, user_id: str, role: Role = "operator") -> Opened:
        """After the browser lost its call: the same session with a new call, while it is
        live; a new session of its conversation otherwise (seed 001 §5.3), or where its user has
        another role by now."""
        live = self.live(session_id, user_id)
        session = None if live is None else live.records.session
        if live is None:
            await self._check_left(session_id, user_id)
        if live is None or session is None or not session.voice or session.role != role:
            return await self.restore(session_id, user_id, role)
        waiting = Waiting("reconnect", GREET_RECONNECTED)
        move = live.machine.state.move
        if live.phase is Phase.DISCONNECTED:
            # It never got its first call: begin as meant, but with a number of its own.
            waiting = replace(self.connector.waiting(session_id) or waiting)
        elif move is not None:
            # Planned, so nothing to be said about it.
            waiting = Waiting(move.reason, beside=True, provider=move.provider)
        try:
            names = self.connector.names(live, waiting)
            await self.connector.mint(waiting, live.setup, names)
        except ProviderError:
            if waiting.provider:
                await live.post(MoveFailed(waiting.provider))
            raise
        self.connector.expect(session_id, waiting)
        return Opened(session=live.records.session, tools=self.maker.offered(live))

    async def _check_left(self, session_id: str, user_id: str) -> None:
        """Raises `TakenOver` while its user talks in another place. Two windows that reconnect by
        themselves would take it from each other for ever; `restore` is somebody's wish."""
        session, conversation = await self._find(session_id, user_id)
        if session.end_reason == TAKEN_OVER and await self._talking(conversation):
            raise TakenOver("This conversation goes on in another window or on another device.")

    async def _open(
        self, before: Conversation, options: Options, waiting: Waiting, *, new: bool = False
    ) -> Opened:
        self._check_context(options)
        tools, user, setup = await self.maker.wanted(before.user_id, options)
        conversation = replace(before, ended_at=None, updated_at=self._clock.now())
        async with self.admission.alone(before, new=new):
            if not new:
                await self.admission.check_led(before.id, before.user_id, options.role)
            record = self.maker.record(conversation, options, setup, user)
            admitted = self.admission.admitted(record, conversation, before=before, new=new)
            async with admitted as session:
                names = self._parts.providers.names
                provider = await self.connector.mint(waiting, setup, names, new=new)
                session, setup = answered_by(session, provider), at(setup, provider)
                budget = await self.admission.budget(session)
                # Only once all have agreed is a call that works given up for this one.
                if waiting.reason == "resume" and await self._talking(before):
                    waiting.greeting = GREET_MOVED
                await self._take_over(session)
                past = await self.maker.history(conversation, setup, provider)
                live = self.maker.assemble(session, conversation, setup, budget)
                await self.admission.still_wanted(session)
                self._registry.start(live)
            self.connector.expect(live.id, waiting)
        await live.post(Created())
        return Opened(session=live.records.session, tools=tools, history=past)

    def _check_context(self, options: Options) -> None:
        """Tasks of a client's would be ids that our own orchestrator does not have."""
        given = options.context or {}
        if (given.get("tasks") or given.get("goals")) and self._profile.agent.backend is None:
            raise InvalidRequest(
                "This agent keeps its users' tasks itself; send them with POST /api/v1/tasks.",
                field="context",
            )

    async def _talking(self, conversation: Conversation) -> bool:
        """Has it a call that goes on, here or in another process? Then whoever resumes it does so
        from another place."""
        of = (conversation.user_id, conversation.id)
        return any(one.voice and one.call_id for one in await self._parts.active(*of))

    async def _take_over(self, session: VoiceSession) -> None:
        for live in self._registry.of_conversation(session.conversation_id):
            live.records.goes_on = True
            await self._registry.end(live, End(TAKEN_OVER))
        await self.elsewhere.take_over(session)

    # --- Writing ----------------------------------------------------------------------

    async def say(
        self,
        conversation_id: str,
        user_id: str,
        text: str,
        *,
        wait: float,
        role: Role = "operator",
        once: str | None = None,
    ) -> Exchange:
        """A written message: stored when this returns, with the reply if it came in time. Under the
        same `once` it is the same message."""
        conversation = await self.conversation(conversation_id, user_id)
        return await self.texting.say(conversation, text, wait=wait, role=role, once=once)

    # --- Changing and ending ----------------------------------------------------------

    async def reconfigure(
        self,
        session_id: str,
        user_id: str,
        wanted: Mapping[str, Any],
        role: Role = "operator",
    ) -> tuple[list[str], Setup]:
        """What was changed, and the configuration in force; it reaches the live call."""
        live = self.live(session_id, user_id)
        if live is None:
            session, _ = await self._find(session_id, user_id)
            return await self._reconfigured_there(session, wanted, role)
        check_steering(live.records.session, role)
        user = await self.maker.about(live.records.session)
        changes = self._changes(live, wanted, user)
        if wanted:
            live.records.session = remember(live.records.session, wanted)
            if not await live.submit(Reconfigure(changes, tuple(wanted))):
                raise Conflict(OVER)
        return list(wanted), live.setup

    async def _reconfigured_there(
        self, session: VoiceSession, wanted: Mapping[str, Any], role: Role
    ) -> tuple[list[str], Setup]:
        """By the server that runs it."""
        relay, owner = self._parts.relay, (session.owner, session.epoch)
        if session.status is not Status.ACTIVE or not await relay.held(*owner):
            raise Conflict(OVER)
        given = {"session": session.id, "wanted": dict(wanted), "role": role}
        done, _ = await relay.ask("configuration", owner, session.user_id, given)
        return done["updated"], Setup(session=done["session"])

    async def _reconfigured_here(
        self, user_id: str, given: dict[str, Any], plain: str
    ) -> tuple[dict[str, Any], str]:
        if self.live(given["session"], user_id) is None:
            raise Conflict(OVER)
        updated, setup = await self.reconfigure(
            given["session"], user_id, given["wanted"], given["role"]
        )
        return {"updated": updated, "session": dict(setup.session)}, ""

    def _changes(
        self, live: LiveSession, wanted: Mapping[str, Any], user: UserContext
    ) -> dict[str, Any]:
        profile = self._profile
        changes: dict[str, Any] = {}
        audio: dict[str, Any] = {}
        if "voice" in wanted:
            if live.machine.state.voice_locked and wanted["voice"] != live.records.session.voice:
                raise Conflict("The voice cannot change once the assistant has spoken.")
            audio["output"] = {"voice": profile.check_voice(wanted["voice"])}
        if "turn_detection" in wanted:
            audio["input"] = {"turn_detection": detection(wanted["turn_detection"])}
        if audio:
            changes["audio"] = audio
        if "instructions" in wanted:
            changes["instructions"] = profile.words(self._clock.now(), wanted["instructions"])
        if "tools_enabled" in wanted:
            role = live.records.session.role
            tools = self.maker.tools(wanted["tools_enabled"], role)
            changes["tools"] = profile.tools(tools, user)
        return changes

    async def move(
        self, session_id: str, user_id: str, provider: str, role: Role = "operator"
    ) -> str:
        """Another provider is to speak: its client is asked for a call there, and the one that is
        on goes on until it is ready. Who speaks now. Raises `NotFound`, `Conflict`."""
        live = self.live(session_id, user_id)
        if live is None:
            await self._find(session_id, user_id)
            if (owner := await self.owner(session_id, user_id)) is None:
                self._parts.providers.named(provider)
                raise Conflict("The session is over: there is nobody to hand over.")
            given = {"session": session_id, "provider": provider, "role": role}
            done, _ = await self._parts.relay.ask("provider", owner, user_id, given)
            return str(done["speaks"])
        self._parts.providers.named(provider)
        check_steering(live.records.session, role)
        if provider != live.provider.name:
            if not live.vitals.sideband_up:
                raise Conflict("The session has no call just now. Try again once it is up.")
            await live.submit(MoveWanted(provider))
        return live.provider.name

    async def _moved_here(
        self, user_id: str, given: dict[str, Any], plain: str
    ) -> tuple[dict[str, Any], str]:
        if self.live(given["session"], user_id) is None:
            raise Conflict(OVER)
        speaks = await self.move(given["session"], user_id, given["provider"], given["role"])
        return {"speaks": speaks}, ""

    # --- At other servers -------------------------------------------------------------

    async def owner(self, session_id: str, user_id: str) -> tuple[str, int] | None:
        """The other server that runs it, if one does."""
        if self.live(session_id, user_id) is not None:
            return None
        session = await self._store.session(session_id, user_id=user_id)
        if session is None or session.status is not Status.ACTIVE:
            return None
        owner, epoch = session.owner, session.epoch
        there = await self._parts.relay.held(owner, epoch)
        return (owner, epoch) if there and owner and epoch else None

    async def vitals(self, session: VoiceSession) -> Vitals:
        """How it is, wherever it runs."""
        live = self.live(session.id, session.user_id)
        if live is not None:
            return live.vitals
        if (owner := await self.owner(session.id, session.user_id)) is None:
            return Vitals()
        given = {"session": session.id}
        told, _ = await self._parts.relay.ask("vitals", owner, session.user_id, given)
        return Vitals(**told)

    async def _vitals_here(
        self, user_id: str, given: dict[str, Any], plain: str
    ) -> tuple[dict[str, Any], str]:
        live = self.live(given["session"], user_id)
        return asdict(Vitals() if live is None else live.vitals), ""

    async def inform(self, user_id: str) -> None:
        """The user's things were changed from elsewhere: who talks with them knows at once."""
        for live in self._registry.of_user(user_id):
            if not live.provider.ours:
                continue
            user = await self.maker.about(live.records.session)
            await live.post(Inform(self._profile.briefing(user)))

    async def end(self, session_id: str, user_id: str, how: End = BY_USER) -> bool:
        """Was it live, here or in another process? Waits until the end is stored."""
        if self.live(session_id, user_id) is not None:
            return await self.end_unopened(session_id, user_id, how)
        session = await self._store.session(session_id, user_id=user_id)
        if session is None or session.status is not Status.ACTIVE:
            return False
        async with self.admission.unopened(session.conversation_id):  # it may be in the making
            return await self.end_unopened(session_id, user_id, how)

    async def end_unopened(self, session_id: str, user_id: str, how: End = BY_USER) -> bool:
        """As `end`, for who knows that nobody is opening it: within `unopened`."""
        live = self.live(session_id, user_id)
        if live is None:
            session = await self._store.session(session_id, user_id=user_id)
            return session is not None and await self.elsewhere.end(session, how)
        await self._registry.end(live, how)
        self.connector.forget(session_id)
        return True

    async def hand_over(self, seconds: float) -> None:
        """To the other servers, whatever can do without this one: calls at a provider of its own,
        each at its next pause or when the time is up. Calls of the engine inside end with it:
        their clients hear where it goes on, and what was said is there."""
        until = asyncio.get_running_loop().time() + seconds
        async with asyncio.TaskGroup() as group:
            for live in self._registry.every():
                session = live.records.session
                if not session.voice or not session.call_id:
                    continue  # it has no call yet, or its connection is all it has
                if self._parts.provider.ours:
                    group.create_task(self._send_on(live))
                else:
                    release = self._store.release
                    group.create_task(self._registry.hand_over(live, release, until))

    async def _send_on(self, live: LiveSession) -> None:
        session = live.records.session
        moved = SessionMoved(
            session_id=session.id,
            timestamp=self._clock.now(),
            reason="drained",
            left_by=self._parts.instance.name,
        )
        await self._parts.journal.commit([announce(moved, session)])
        live.records.goes_on = True
        await self._registry.end(live, End("completed"))

    # --- Looking up -------------------------------------------------------------------

    def live(self, session_id: str, user_id: str) -> LiveSession | None:
        return self._registry.get(session_id, user_id)

    async def conversation(self, conversation_id: str, user_id: str) -> Conversation:
        known = await self._store.conversation(conversation_id, user_id=user_id)
        return found(known, "Conversation", conversation_id)

    async def _find(self, session_id: str, user_id: str) -> tuple[VoiceSession, Conversation]:
        store = self._store
        if session := await store.session(session_id, user_id=user_id):
            of = await store.conversation(session.conversation_id, user_id=user_id)
            if of is not None:
                return session, of
        raise SessionNotFound(f"Session '{session_id[:64]}' not found.")
