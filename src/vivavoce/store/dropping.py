"""What goes with a conversation, and what goes on without it.

For a sweep and for a user's own wish alike. Knows neither ages nor owners:
whoever calls has found the conversations, within the writer's transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import Connection, Update, delete, insert, select, update

from vivavoce.store.limits import LONGEST
from vivavoce.store.queries.history import OPENED
from vivavoce.store.rows import Fields
from vivavoce.store.schema.plans import goals, intents, outbox, spent_sessions, tasks
from vivavoce.store.schema.talk import (
    conversations,
    events,
    messages,
    snapshots,
    tool_calls,
    voice_sessions,
)
from vivavoce.store.schema.work import approvals, delegated_tasks

EMPTIED = "dropped"
"""The type of an event of which only the place is left."""

KEPT_FOR = LONGEST + timedelta(days=1)
"""How long what a dropped session took is known: no limit looks back any longer."""


def drop(connection: Connection, ids: Sequence[str]) -> int:
    """How many rows went."""
    if not ids:
        return 0
    for kept in (delegated_tasks, approvals, goals, tasks):  # before: no order of keys matters
        theirs = kept.c.conversation_id.in_(ids)
        connection.execute(update(kept).where(theirs).values(conversation_id=None))
    sessions = select(voice_sessions.c.id).where(voice_sessions.c.conversation_id.in_(ids))
    doomed = (
        delete(snapshots).where(snapshots.c.session_id.in_(sessions)),
        delete(tool_calls).where(tool_calls.c.conversation_id.in_(ids)),
        delete(intents).where(intents.c.conversation_id.in_(ids)),
        delete(messages).where(messages.c.conversation_id.in_(ids)),
        delete(voice_sessions).where(voice_sessions.c.conversation_id.in_(ids)),
        delete(conversations).where(conversations.c.id.in_(ids)),
    )
    return sum(connection.execute(each).rowcount for each in doomed)


def drop_own(connection: Connection, wanted: Fields) -> None:
    """As its user asked for: at once, with its events, and without a fresh start for today."""
    mine = (conversations.c.id == wanted["id"], conversations.c.user_id == wanted["user_id"])
    ids = list(connection.execute(select(conversations.c.id).where(*mine)).scalars())
    if not ids:
        return
    names = [column.name for column in spent_sessions.columns]
    took = select(*(OPENED if name == "opened" else voice_sessions.c[name] for name in names))
    known = select(spent_sessions.c.id)
    took = took.where(voice_sessions.c.conversation_id.in_(ids), voice_sessions.c.id.not_in(known))
    connection.execute(insert(spent_sessions).from_select(names, took))
    asked = select(intents.c.id).where(intents.c.conversation_id.in_(ids))
    answered = outbox.c.status != "pending"
    connection.execute(delete(outbox).where(outbox.c.intent_id.in_(asked), answered))
    # A hole in the log would be a gap that no reader can notice: the places stay, nobody's.
    for emptying in emptied(ids):
        connection.execute(emptying)
    drop(connection, ids)


def emptied(ids: Sequence[str]) -> tuple[Update, Update]:
    """Their events, by two ways into the log that have an index: every writer waits for it.
    Without their owner, by whom SQLite would read all that he ever did."""
    sessions = select(voice_sessions.c.id).where(voice_sessions.c.conversation_id.in_(ids))
    empty = update(events).values(
        type=EMPTIED, data="{}", user_id="", conversation_id=None, voice_session_id=None
    )
    placed = events.c.conversation_id.in_(ids)
    return (
        empty.where(events.c.voice_session_id.in_(sessions), placed),
        empty.where(events.c.voice_session_id.is_(None), placed),
    )
