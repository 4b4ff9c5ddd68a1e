"""From what is wanted to a live session: tools, configuration, history, the record, the parts.

Decides nothing about whether there may be one; that is `admission`. A written
session is a Realtime session in text mode: the same but for its modality and
for what only speech needs.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace

from vivavoce.errors import BridgeUnavailable, OrchestratorUnavailable, ToolNotFound
from vivavoce.language.en.gist import gist_of
from vivavoce.runtime.people.elsewhere import Elsewhere, told
from vivavoce.runtime.people.profile import UserContext, user_context
from vivavoce.runtime.ports import ToolDefinition
from vivavoce.runtime.provider.known_models import Budget, price_of
from vivavoce.runtime.provider.openai import OpenAIProvider
from vivavoce.runtime.sessions.live import Companion, LiveSession
from vivavoce.runtime.sessions.options import Options, began_at, remembered
from vivavoce.runtime.sessions.parts import Parts
from vivavoce.runtime.sessions.recording import Recorder, Room
from vivavoce.runtime.sessions.records import SessionRecords
from vivavoce.runtime.sessions.summaries import looked_back
from vivavoce.session.context import History, history, room_for
from vivavoce.session.machine import Machine
from vivavoce.session.policy import Identity, Policy, Setup, Window
from vivavoce.wire.records.talk import Conversation, VoiceSession
from vivavoce.wire.records.work import Role
from vivavoce.wire.values import Record

log = logging.getLogger(__name__)

CAN_TYPE = "The user can also type to you."
_CHARS = 6  # a token, at most: what is read of a talk fills the window, however it is counted
TEXT_IDLE_SECONDS = 120.0  # a written session stays so long for the next message


class Company(Record):
    """A client that is beside a written session."""

    companion: Companion
    role: Role
    """It stands beside sessions of this role only."""
    tools: tuple[ToolDefinition, ...] = ()
    sentences: bool = False
    """It reads out a sentence at a time."""
    idle: float = TEXT_IDLE_SECONDS


class Maker:
    """Makes the sessions of this server."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._recordings = Room()

    def tools(self, names: Sequence[str] | None, role: Role) -> list[ToolDefinition]:
        """The agent's that the role may use, narrowed to what is wanted."""
        return self._parts.tools.definitions(self._parts.profile.tool_names(names, role))

    def _offer(self, options: Options) -> list[ToolDefinition]:
        try:
            return self.tools(options.tools_filter, options.role)
        except ToolNotFound:
            if options.tools_filter is not None:
                raise  # the user's own words
            raise BridgeUnavailable(
                "A tool of the agent is not there. Please try again in a moment.",
                retry_after_ms=5000,
            ) from None

    def offered(self, live: LiveSession) -> list[ToolDefinition]:
        return [t for t in self._parts.tools.definitions() if t.name in live.allowed_tools]

    async def _about(self, user_id: str, options: Options) -> UserContext:
        parts = self._parts
        about = await user_context(
            parts.store,
            user_id,
            now=parts.clock.now(),
            time_zone=parts.profile.defaults.time_zone,
            task_id=options.task_id,
            elsewhere=await self._elsewhere(user_id, options),
        )
        return replace(about, lines=(*about.lines, CAN_TYPE)) if options.can_type else about

    async def _elsewhere(self, user_id: str, options: Options) -> Elsewhere | None:
        """The client's word first. A backend that does not answer keeps nobody from talking."""
        parts, zone = self._parts, self._parts.profile.defaults.time_zone
        said, found = options.context, None
        if parts.elsewhere is not None and not (said and "tasks" in said):
            try:
                found = await parts.elsewhere(user_id)
            except OrchestratorUnavailable as fault:
                log.warning("A session begins without its user's list: %s", fault.message)
        if not said:
            return found
        client = told(said, user_id=user_id, now=parts.clock.now(), time_zone=zone)
        if found is None or client.plans:
            return client
        return replace(
            found, name=client.name or found.name, time_zone=client.time_zone or found.time_zone
        )

    async def wanted(
        self, user_id: str, options: Options, more: Sequence[ToolDefinition] = ()
    ) -> tuple[list[ToolDefinition], UserContext, Setup]:
        """What a session begins with: its tools and those of its client, its user, its
        configuration."""
        tools, user = [*self._offer(options), *more], await self._about(user_id, options)
        setup = self._parts.profile.setup(options, tools, self._parts.clock.now(), user)
        return tools, user, in_text(setup) if options.text else setup

    async def about(self, session: VoiceSession) -> UserContext:
        """What is known of its user now."""
        return await self._about(session.user_id, remembered(session))

    async def words(self, session: VoiceSession, user: UserContext) -> str:
        """The instructions for a call that begins now."""
        parts, options = self._parts, remembered(session)
        memory = await parts.memory.of(session.user_id, session.role)
        return parts.profile.words(parts.clock.now(), options.instructions, memory, user)

    def record(
        self, conversation: Conversation, options: Options, setup: Setup, user: UserContext
    ) -> VoiceSession:
        """Without an id: whoever stores it finds one."""
        profile, now = self._parts.profile, self._parts.clock.now()
        metadata: dict[str, object] = {"options": options.to_json()}
        if user.auto_approve and profile.defaults.auto_approve:
            metadata["auto_approve"] = True
        return VoiceSession(
            id="",
            conversation_id=conversation.id,
            user_id=conversation.user_id,
            agent=profile.agent.name,
            created_at=now,
            updated_at=now,
            model=profile.defaults.model,
            voice=setup.voice,
            role=options.role,
            metadata=metadata,
        )

    def assemble(
        self,
        session: VoiceSession,
        conversation: Conversation,
        setup: Setup,
        budget: Budget | None = None,
        company: Company | None = None,
    ) -> LiveSession:
        """The parts of a live session, put together."""
        parts = self._parts
        who = Identity(
            session_id=session.id, conversation_id=conversation.id, user_id=session.user_id
        )
        policy = replace(parts.profile.policy(), providers=parts.providers.names)
        policy = since(policy, session)
        if company is not None:
            policy = for_company(policy, company)
        elif remembered(session).text:
            policy = for_text(policy)
        provider = parts.providers.of(session)
        policy = replace(policy, window=self.window(setup, provider))
        records = SessionRecords(
            session,
            conversation,
            workspace=parts.profile.defaults.workspace,
            price=price_of(session.model),
            budget=budget,
        )
        machine = Machine(who, policy, setup, started_at=session.created_at)
        return LiveSession(
            machine,
            records,
            provider=provider,
            journal=parts.journal,
            executor=parts.executor,
            clock=parts.clock,
            traced=parts.traced,
            failed=parts.failed,
            answers=parts.notifier,
            companion=None if company is None else company.companion,
            inbox=parts.profile.defaults.inbox,
            recorder=Recorder(machine, self._recordings)
            if parts.profile.defaults.recording
            else None,
        )

    def window(self, setup: Setup, provider: OpenAIProvider) -> Window:
        """How much the model reads of a session that this provider serves."""
        can = provider.capabilities
        return Window(
            tokens=can.context_tokens,
            fixed=provider.fixed(setup.session),
            again=can.history_tokens,
            turns=self._parts.profile.agent.restore.turns,
        )

    async def history(
        self, conversation: Conversation, setup: Setup, provider: OpenAIProvider
    ) -> History:
        parts, can = self._parts, provider.capabilities
        room = room_for(can.context_tokens, provider.fixed(setup.session), can.history_tokens)
        before = gist_of(conversation.gist)
        entries, whole = await looked_back(parts.store, conversation, before, room.most * _CHARS)
        return await asyncio.to_thread(
            history,
            entries,
            room=room,
            before=replace(before, prose=conversation.summary or ""),
            whole=whole,
            turns=parts.profile.agent.restore.turns,
        )


def in_text(setup: Setup) -> Setup:
    """The same session, written: nothing is heard, so nothing of it is configured."""
    session = {name: value for name, value in setup.session.items() if name != "audio"}
    return Setup(session={**session, "output_modalities": ["text"]})


def since(policy: Policy, session: VoiceSession) -> Policy:
    """What the sessions that this one took over have left of the longest."""
    if policy.longest is None:
        return policy
    gone = (session.created_at - began_at(session)).total_seconds()
    return replace(policy, longest=policy.longest - gone)


def for_text(policy: Policy) -> Policy:
    """Its connection is all it has, nobody waits in silence, and nobody is asked whether they are
    still there."""
    return replace(
        policy,
        idle=TEXT_IDLE_SECONDS,
        idle_warning=0.0,
        idle_question=None,
        interim_after=None,
        overdue_after=None,
        one_connection=True,
    )


def for_company(policy: Policy, company: Company) -> Policy:
    """Somebody listens, so a tool that is slow is spoken of; nobody is asked whether they are
    there, and the call is let go after a while: the next word opens another."""
    return replace(
        policy,
        idle=company.idle,
        idle_warning=0.0,
        idle_question=None,
        one_connection=True,
        aloud="sentences" if company.sentences else "answers",
    )
