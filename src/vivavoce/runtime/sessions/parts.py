"""What voice sessions are made of and stand on, in one place."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from vivavoce.runtime.calls.executor import ToolExecutor
from vivavoce.runtime.instances import Instance
from vivavoce.runtime.journal.log import Journal
from vivavoce.runtime.limits import Shares
from vivavoce.runtime.people.elsewhere import Elsewhere
from vivavoce.runtime.people.memory import WorkspaceMemory
from vivavoce.runtime.ports import Clock, Store, Toolbox
from vivavoce.runtime.provider.openai import OpenAIProvider
from vivavoce.runtime.provider.providers import Providers
from vivavoce.runtime.relay import Relay
from vivavoce.runtime.sessions.live import Noticed, Traced
from vivavoce.runtime.sessions.notifier import SessionNotifier
from vivavoce.runtime.sessions.profile import Profile
from vivavoce.runtime.sessions.registry import Registry
from vivavoce.wire.records.talk import Status, VoiceSession
from vivavoce.wire.values import Record


class Parts(Record):
    store: Store
    journal: Journal
    provider: OpenAIProvider
    """The one that is asked first."""
    providers: Providers
    tools: Toolbox
    executor: ToolExecutor
    registry: Registry
    profile: Profile
    clock: Clock
    traced: Traced
    failed: Noticed
    notifier: SessionNotifier
    memory: WorkspaceMemory
    instance: Instance
    relay: Relay
    shares: Shares = Shares()
    elsewhere: Callable[[str], Awaitable[Elsewhere | None]] | None = None
    """What the user's backend tells of their things, where they are kept there."""

    async def active(self, user_id: str, conversation_id: str) -> list[VoiceSession]:
        """The sessions of a conversation that are stored as live, here or in another process."""
        found = await self.store.sessions(user_id=user_id, status=Status.ACTIVE, limit=20)
        return [one.session for one in found if one.session.conversation_id == conversation_id]
