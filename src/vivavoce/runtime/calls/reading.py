"""What a conversation has read and said, from the store: the facts that `outside` judges by."""

from __future__ import annotations

from collections.abc import Sequence

from vivavoce.runtime.calls.outside import (
    FURTHEST,
    LOOKED_BACK,
    TASKS,
    TURNS,
    Facts,
    Known,
    of_conversation,
)
from vivavoce.runtime.ports import Store
from vivavoce.wire.records.talk import Entry, Kind
from vivavoce.wire.records.work import Role, at_least


async def facts_of(
    store: Store,
    conversation_id: str,
    user_id: str,
    known: Known,
    described: Sequence[str] = (),
    role: Role = "user",
) -> Facts:
    """`role`: of whoever asks. Several keys may be one user: what was said with a lesser one counts
    as words from outside."""
    entries, whole = await recent(store, conversation_id, user_id)
    tasks = await store.tasks(user_id=user_id, limit=TASKS)
    if len(tasks) == TASKS and entries and tasks[-1].created_at >= entries[0].created_at:
        whole = False  # there were more in this time than we see
    lesser = await _lesser(store, entries, user_id, role)
    return of_conversation(entries, tasks, known, described, whole=whole, lesser=lesser)


async def _lesser(
    store: Store, entries: Sequence[Entry], user_id: str, role: Role
) -> frozenset[str]:
    """The sessions in which something was said with a lesser role than this."""
    spoken = {one.session_id for one in entries if one.kind is Kind.USER and one.session_id}
    every = [await store.session(one, user_id=user_id) for one in sorted(spoken)]
    return frozenset(one.id for one in every if one is not None and not at_least(one.role, role))


async def recent(store: Store, conversation_id: str, user_id: str) -> tuple[list[Entry], bool]:
    """The last turns of the user with all that came between, however many calls that is, and
    whether it is all of it."""
    entries: list[Entry] = []
    more, turns = True, 0
    while more and turns < TURNS and len(entries) < FURTHEST:
        before = entries[0].id if entries else None
        page, more = await store.messages_before(
            conversation_id, user_id=user_id, before=before, limit=LOOKED_BACK
        )
        entries[:0] = page
        turns += sum(one.kind is Kind.USER and bool(one.text.strip()) for one in page)
        more = more and bool(page)
    return entries, not more or turns >= TURNS
