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


async def facts_of(
    store: Store,
    conversation_id: str,
    user_id: str,
    known: Known,
    described: Sequence[str] = (),
) -> Facts:
    entries, whole = await recent(store, conversation_id, user_id)
    tasks = await store.tasks(user_id=user_id, limit=TASKS)
    if len(tasks) == TASKS and entries and tasks[-1].created_at >= entries[0].created_at:
        whole = False  # there were more in this time than we see
    return of_conversation(entries, tasks, known, described, whole=whole)


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
