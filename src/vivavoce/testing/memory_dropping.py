"""What goes with a conversation in `MemoryStore`, and what goes on without it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from vivavoce.store.limits import LONGEST
from vivavoce.testing.memory_tables import Tables
from vivavoce.testing.memory_work import drop, drop_loose, let_go
from vivavoce.wire.records.talk import DropConversation, LogEvent, Status


def drop_own(tables: Tables, log: list[LogEvent], wanted: DropConversation) -> None:
    """As its user asked for; its events keep their places, and are nobody's."""
    name, owner = wanted.conversation_id, wanted.user_id
    found = tables.conversations.get(name)
    if found is None or found.user_id != owner:
        return
    for each in tables.sessions.values():
        if each.conversation_id == name:
            tables.dropped[each.id] = replace(each, status=Status.COMPLETED)
    asked = {each.id for each in tables.intents.values() if each.conversation_id == name}
    drop(tables.deliveries, lambda each: each.intent_id in asked and each.status != "pending")
    log[:] = [
        LogEvent(type="dropped", data=b"{}", user_id="", at=e.at, position=e.position)
        if (e.user_id, e.conversation_id) == (owner, name)
        else e
        for e in log
    ]
    sum(_drop(tables, {name}))


def drop_old(tables: Tables, cutoff: datetime) -> int:
    """Conversations untouched since, and what is of none."""
    live = {s.conversation_id for s in tables.sessions.values() if s.updated_at >= cutoff}
    live |= {e.conversation_id for e in tables.entries.values() if e.created_at >= cutoff}
    old = {
        each.id
        for each in tables.conversations.values()
        if each.updated_at < cutoff and each.id not in live
    }
    gone = sum(_drop(tables, old)) + drop_loose(tables, cutoff)
    return gone + drop(
        tables.calls, lambda each: each.conversation_id is None and each.started_at < cutoff
    )


def forget_spent(tables: Tables, now: datetime) -> int:
    return drop(tables.dropped, lambda each: each.created_at < now - 2 * LONGEST)


def _drop(tables: Tables, ids: set[str]) -> Iterator[int]:
    sessions = {s.id for s in tables.sessions.values() if s.conversation_id in ids}
    let_go(tables, ids)
    yield drop(tables.snapshots, lambda each: each.session_id in sessions)
    yield drop(tables.calls, lambda each: each.conversation_id in ids)
    yield drop(tables.intents, lambda each: each.conversation_id in ids)
    yield drop(tables.entries, lambda each: each.conversation_id in ids)
    yield drop(tables.sessions, lambda each: each.conversation_id in ids)
    yield drop(tables.conversations, lambda each: each.id in ids)
