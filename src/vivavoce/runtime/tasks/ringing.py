"""Finds the one live session in which the user should hear something."""

from __future__ import annotations

from vivavoce.runtime.sessions.live import LiveSession
from vivavoce.runtime.sessions.registry import Registry
from vivavoce.session.events import ApprovalSettled, News, SessionEvent, TaskFinished
from vivavoce.session.state import Phase


class Bell:
    """Rings in the session it came from, else in its conversation, else where the user is.

    A session whose line is down for a moment keeps it until the line is back.
    """

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

        def rank(live: LiveSession) -> tuple[bool, bool, bool]:
            session = live.books.session
            same = session.conversation_id == conversation_id
            return live.vitals.line_up, session.id == session_id, same

        every = self._registry.of_user(user_id)
        mine = [live for live in every if live.phase is not Phase.TERMINATED]
        nearest = max(mine, key=rank, default=None)
        quietly = _ended(event)
        for live in mine:
            if live is nearest:
                await live.post(event)
            elif quietly is not None:
                await live.post(quietly)
        return nearest is not None


def _ended(event: SessionEvent) -> SessionEvent | None:
    """What the user's other sessions need to know of it: that they need not wait any more."""
    match event:
        case ApprovalSettled():
            return event
        case News(settles=str(task_id)) | TaskFinished(task_id=task_id):
            return TaskFinished(task_id, "")
        case _:
            return None
