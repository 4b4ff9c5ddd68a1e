"""What voice sessions are made of and stand on, in one place."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from vivavoce.runtime.journal.log import Journal
from vivavoce.runtime.people.memory import Memory, no_memory
from vivavoce.runtime.people.ports import AgendaStore
from vivavoce.runtime.people.profile import UserContext, user_context
from vivavoce.runtime.ports import Clock, Provider, Store, Toolbox
from vivavoce.runtime.sessions.ports import Desk, Office, Traced, untold
from vivavoce.runtime.sessions.profile import Profile
from vivavoce.runtime.sessions.registry import Registry


class People(Protocol):
    """Who a user is; `task_id` is a task that they come from."""

    async def __call__(
        self, user_id: str, *, now: datetime, time_zone: str, task_id: str | None
    ) -> UserContext: ...


async def strangers(
    user_id: str, *, now: datetime, time_zone: str, task_id: str | None
) -> UserContext:
    """Where nobody is known."""
    return UserContext(time_zone=time_zone)


def people_of(agenda: AgendaStore) -> People:
    """As the store knows them."""

    async def ask(
        user_id: str, *, now: datetime, time_zone: str, task_id: str | None
    ) -> UserContext:
        return await user_context(agenda, user_id, now=now, time_zone=time_zone, task_id=task_id)

    return ask


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    store: Store
    journal: Journal
    provider: Provider
    tools: Toolbox
    desk: Desk
    registry: Registry
    profile: Profile
    clock: Clock
    traced: Traced = untold
    office: Office | None = None
    memory: Callable[[str], Awaitable[Memory]] = no_memory
    people: People = strangers
    agenda: AgendaStore | None = None
    """Who knows what a user has spent; without it nobody has a budget."""
