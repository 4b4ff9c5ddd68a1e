"""After a restart: sessions that were live when the process died.

A call between the browser and its provider does not notice that we were
away. Its sideband is attached again; what had started and never ended is
answered as unknown, never run again. A session without a call is over.
"""

from __future__ import annotations

import logging

from vivavoce.runtime.desk import ToolDesk
from vivavoce.runtime.journal import Journal
from vivavoce.runtime.ports import Clock, Store, Toolbox
from vivavoce.runtime.profile import Profile
from vivavoce.runtime.registry import Registry
from vivavoce.runtime.voice import Voice
from vivavoce.runtime.wishes import remembered
from vivavoce.session.events import CallSurvived, End
from vivavoce.wire.records import Status, VoiceSession

log = logging.getLogger(__name__)


class Recovery:
    """Picks up or closes what the last process left."""

    def __init__(
        self,
        *,
        store: Store,
        journal: Journal,
        registry: Registry,
        voice: Voice,
        tools: Toolbox,
        desk: ToolDesk,
        profile: Profile,
        clock: Clock,
    ) -> None:
        self._store, self._journal, self._registry = store, journal, registry
        self._voice, self._tools, self._desk = voice, tools, desk
        self._profile, self._clock = profile, clock

    async def run(self) -> int:
        """How many were picked up."""
        count = 0
        for session in await self._store.active_sessions():
            # Others' sessions are theirs to pick up; a client's own record has no call.
            if session.metadata.get("instance") != self._profile.defaults.instance:
                continue
            if self._registry.get(session.id) is not None:
                continue
            count += await self._pick_up(session)
        if count:
            log.info("Sessions picked up after a restart", extra={"count": count})
        return count

    async def _pick_up(self, session: VoiceSession) -> bool:
        conversation = await self._store.conversation(
            session.conversation_id, user_id=session.user_id
        )
        if conversation is None:
            return False
        left = await self._desk.interrupted(session.id)
        wishes = remembered(session)
        tools = self._tools.definitions(self._profile.tool_names(wishes.tools_filter))
        setup = self._profile.setup(wishes, tools, self._clock.now())
        live = self._voice.assemble(session, conversation, setup)
        self._registry.start(live)
        if session.call_id is None:
            await live.post(End("error", Status.ERROR))
            return False
        await live.post(CallSurvived(session.call_id, tuple(call.id for call, _ in left)))
        return True
