"""Finds the one live session in which the user should hear something."""

from __future__ import annotations

from vivavoce.runtime.live import LiveSession
from vivavoce.runtime.registry import Registry
from vivavoce.session.events import SessionEvent


class Bell:
    """Rings in the session it came from, else in its conversation, else where the user is."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    async def tell(
        self,
        event: SessionEvent,
        *,
        user_id: str,
        session_id: str | None,
        conversation_id: str | None,
    ) -> bool:
        """Was there anyone? What nobody hears waits in the store for the next call."""
        live = self._find(user_id, session_id, conversation_id)
        if live is None:
            return False
        await live.post(event)
        return True

    def _find(
        self, user_id: str, session_id: str | None, conversation_id: str | None
    ) -> LiveSession | None:
        mine = [live for live in self._registry.of_user(user_id) if live.vitals.line_up]

        def rank(live: LiveSession) -> tuple[bool, bool]:
            session = live.books.session
            return session.id == session_id, session.conversation_id == conversation_id

        return max(mine, key=rank, default=None)
