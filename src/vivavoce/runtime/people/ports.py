"""What the runtime, the doors and the intents need of the store about people and their plans.

`store` fills it beside `ports.Store`. Whatever belongs to another user is not there.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from vivavoce.runtime.ports import Messages, Store
from vivavoce.wire.records.plans import (
    ConversationSummary,
    Delivery,
    Goal,
    Hit,
    Intent,
    Milestone,
    Person,
    Spent,
    Todo,
)


class AgendaStore(Messages, Protocol):
    """Reads; writes are changes (`Put`) of a commit."""

    async def person(self, user_id: str) -> Person | None: ...

    # --- Goals and to-dos ---------------------------------------------------------------

    async def goal(self, goal_id: str, *, user_id: str) -> Goal | None: ...

    async def goals(
        self, *, user_id: str, status: str | None = None, limit: int = 50, offset: int = 0
    ) -> list[Goal]:
        """Newest first."""
        ...

    async def milestones(self, goal_ids: Sequence[str], *, user_id: str) -> list[Milestone]:
        """In order of goal and position."""
        ...

    async def todo(self, todo_id: str, *, user_id: str) -> Todo | None: ...

    async def todos(
        self,
        *,
        user_id: str,
        open_only: bool = False,
        until: datetime | None = None,
        limit: int = 50,
        offset: int = 0,
    ) -> list[Todo]:
        """By the time they are due, those without one last. `until`: due before it, or recurring,
        or without a time."""
        ...

    # --- Intents and the outbox ---------------------------------------------------------

    async def intent(self, intent_id: str, *, user_id: str) -> Intent | None: ...

    async def intents(
        self, *, user_id: str, conversation_id: str | None = None, limit: int = 50
    ) -> list[Intent]:
        """Newest first."""
        ...

    async def due_deliveries(
        self, *, before: datetime, limit: int = 50, after: Delivery | None = None
    ) -> list[Delivery]:
        """Of every user: pending, due, and the oldest pending one of its intent; oldest first.
        `after` goes on behind one that was read before."""
        ...

    async def deliveries(self, intent_id: str) -> list[Delivery]:
        """Of one intent, oldest first: for the server itself."""
        ...

    # --- Conversations, as people read them ---------------------------------------------

    async def conversation_list(
        self, *, user_id: str, context_type: str | None = None, limit: int = 20, offset: int = 0
    ) -> tuple[list[ConversationSummary], int]:
        """A page, the one with the newest message first, and how many there are in all."""
        ...

    async def has_message(self, message_id: str, *, conversation_id: str, user_id: str) -> bool: ...

    async def search(self, query: str, *, user_id: str, limit: int = 20) -> list[Hit]:
        """Messages with all these words (the last may be a beginning), best first. Whatever the
        query holds, it is words and no syntax."""
        ...

    # --- What it took -------------------------------------------------------------------

    async def spent(self, *, user_id: str, since: datetime) -> Spent:
        """Of the sessions that began since then."""
        ...


class WholeStore(Store, AgendaStore, Protocol):
    """What a server needs of its store: all of it."""
