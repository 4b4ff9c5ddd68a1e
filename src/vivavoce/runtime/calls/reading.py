"""What a conversation has read and said, from the store: the facts that `outside` judges by."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from vivavoce.runtime.calls.outside import (
    FURTHEST,
    LOOKED_BACK,
    TASKS,
    Facts,
    Known,
    of_conversation,
)
from vivavoce.runtime.ports import Store
from vivavoce.wire.records.talk import DEFAULT_USER, Entry
from vivavoce.wire.records.work import ROLES, Role, at_least

_NEVER = datetime(9999, 1, 1, tzinfo=UTC)


async def facts_of(
    store: Store,
    conversation_id: str,
    user_id: str,
    known: Known,
    role: Role,
    described: Sequence[str] = (),
) -> Facts:
    """`role`: of whoever asks."""
    entries, whole = await recent(store, conversation_id, user_id)
    tasks = await store.tasks(user_id=user_id, limit=TASKS)
    if len(tasks) == TASKS and entries and tasks[-1].created_at >= entries[0].created_at:
        whole = False  # there were more in this time than we see
    lesser = await lesser_sessions(store, conversation_id, user_id, role)
    plans = await lesser_plans(store, conversation_id, user_id, role)
    return of_conversation(
        entries, tasks, known, described, whole=whole, lesser=lesser, plans=plans
    )


async def lesser_plans(store: Store, conversation_id: str, user_id: str, role: Role) -> bool:
    """Was any of what the sessions of this conversation were told of their user (their name, tasks,
    goals) written with a lesser token? What was taken away since was told all the same."""
    roles = [one for one in ROLES if not at_least(one, role)]
    if user_id != DEFAULT_USER or not roles:
        return False
    sessions = await store.sessions_of(conversation_id, user_id=user_id)
    since = min((one.created_at for one in sessions), default=_NEVER)
    return await store.written_with(roles, user_id=user_id, since=since)


async def lesser_sessions(
    store: Store, conversation_id: str, user_id: str, role: Role
) -> frozenset[str]:
    """Those that were led with a lesser token: all tokens are one user. Whoever comes with a JWT
    is a person, whatever role they had before."""
    if user_id != DEFAULT_USER:
        return frozenset()
    every = await store.sessions_of(conversation_id, user_id=user_id)
    return frozenset(one.id for one in every if not at_least(one.role, role))


async def recent(store: Store, conversation_id: str, user_id: str) -> tuple[list[Entry], bool]:
    """The conversation, and whether that is all of it."""
    entries: list[Entry] = []
    more = True
    while more and len(entries) < FURTHEST:
        before = entries[0].id if entries else None
        page, more = await store.messages_before(
            conversation_id, user_id=user_id, before=before, limit=LOOKED_BACK
        )
        entries[:0] = page
        more = more and bool(page)
    return entries, not more
