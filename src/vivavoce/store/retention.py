"""What goes, and when: the steps of a sweep, and what a conversation takes along.

A sweep goes a slice at a time, so that live writes get through. For a sweep and for a user's
own wish alike the same rows go with a conversation, and the same go on without it. Runs
within the writer's transactions. And all that is somebody's, at their wish: whatever table has
an owner.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta

import sqlalchemy as sa

from vivavoce.runtime.ports import Retention
from vivavoce.store.limits import LONGEST, OPENED
from vivavoce.store.rows import Fields
from vivavoce.store.schema import (
    OVER,
    approvals,
    audit,
    audit_head,
    conversations,
    delegated_tasks,
    events,
    goals,
    intents,
    log_head,
    messages,
    metadata,
    one_time_keys,
    outbox,
    push_messages,
    recordings,
    reminders,
    snapshots,
    spent_sessions,
    tasks,
    tool_calls,
    users,
    voice_sessions,
)

SLICE = 2000
CONVERSATIONS = 50  # a slice of these takes all their rows along

Step = Callable[[sa.Connection], int]
"""Deletes at most a slice and says how many rows went; it is done when that is none."""

EMPTIED = "dropped"
"""The type of an event of which only the place is left."""
NOTHING = {
    "type": EMPTIED,
    "data": "{}",
    "user_id": "",
    "conversation_id": None,
    "voice_session_id": None,
}

KEPT_FOR = LONGEST + timedelta(days=1)
"""How long what a dropped session took is known: no limit looks back any longer."""
NOTED_FOR = timedelta(days=1)
"""How long it is known that a notice was sent, or that it was not."""

# --- A sweep ------------------------------------------------------------------------


def steps(retention: Retention, now: datetime) -> Iterator[Step]:
    def before(seconds: float) -> datetime:
        return now - timedelta(seconds=seconds)

    yield _old(spent_sessions, spent_sessions.c.created_at < now - KEPT_FOR)
    yield _old(one_time_keys, one_time_keys.c.expires_at < now)
    yield _old(push_messages, push_messages.c.expires_at < now - NOTED_FOR)
    if retention.snapshots is not None:
        yield _old(snapshots, snapshots.c.saved_at < before(retention.snapshots))
    if retention.recordings is not None:
        yield _old(recordings, recordings.c.saved_at < before(retention.recordings))
    if retention.log is not None:
        cutoff = before(retention.log)
        yield _deleting(_old_events(cutoff))
        told = reminders.c.status != "waiting"
        yield _old(reminders, told, reminders.c.created_at < cutoff)
        # What the backend has not got yet is kept, whatever became of its conversation.
        yield _old(outbox, outbox.c.status != "pending", outbox.c.updated_at < cutoff)
    if retention.audit is not None:
        yield _old_audit(before(retention.audit))
    if retention.conversations is not None:
        cutoff = before(retention.conversations)
        yield _old_conversations(cutoff)
        # Of no conversation, or of one that went: a running task outlives its own.
        yield _old(tool_calls, _loose(tool_calls), tool_calls.c.started_at < cutoff)
        over = delegated_tasks.c.status.in_(OVER)
        yield _old(
            delegated_tasks, _loose(delegated_tasks), over, delegated_tasks.c.updated_at < cutoff
        )
        settled = approvals.c.status != "pending"
        # What the user allowed for good stands until they take it back.
        stands = sa.and_(approvals.c.reach == "always", approvals.c.revoked_at.is_(None))
        gone = sa.not_(sa.func.coalesce(stands, sa.false()))
        yield _old(approvals, _loose(approvals), settled, gone, approvals.c.requested_at < cutoff)


def _old(table: sa.Table, *conditions: sa.ColumnElement[bool]) -> Step:
    key = sa.tuple_(*table.primary_key)
    old = sa.select(*table.primary_key).where(*conditions).limit(SLICE)
    return _deleting(sa.delete(table).where(key.in_(old)))


def _loose(table: sa.Table) -> sa.ColumnElement[bool]:
    return table.c.conversation_id.is_(None)


def _deleting(statement: sa.Delete) -> Step:
    return lambda connection: connection.execute(statement).rowcount


def _old_events(cutoff: datetime) -> sa.Delete:
    """Only from the front: a hole in the log would be a gap that no reader can notice."""
    kept, present = events.alias("kept"), events.alias("present")
    young = (
        sa.select(sa.func.min(kept.c.position)).where(kept.c.created_at >= cutoff).scalar_subquery()
    )
    end = sa.select(log_head.c.position + 1).scalar_subquery()
    first = sa.select(sa.func.min(present.c.position)).scalar_subquery()
    return sa.delete(events).where(
        events.c.position < sa.func.coalesce(young, end), events.c.position < first + SLICE
    )


def _old_audit(cutoff: datetime) -> Step:
    """From the front up to a line that is young enough; where it begins now is noted with it, or
    whoever takes lines out there would look like a sweep."""
    kept = sa.select(sa.func.min(audit.c.position)).where(audit.c.at >= cutoff).scalar_subquery()
    first = sa.select(sa.func.min(audit.c.position)).scalar_subquery()
    end = sa.select(audit_head.c.position + 1).scalar_subquery()
    last = (
        sa.select(audit.c.position, audit.c.seal)
        .where(audit.c.position < sa.func.coalesce(kept, end), audit.c.position < first + SLICE)
        .order_by(audit.c.position.desc())
        .limit(1)
    )

    def step(connection: sa.Connection) -> int:
        found = connection.execute(last).first()
        if found is None:
            return 0
        swept = {"swept_position": found.position, "swept_seal": found.seal}
        connection.execute(sa.update(audit_head).values(swept))
        gone = sa.delete(audit).where(audit.c.position <= found.position)
        return connection.execute(gone).rowcount

    return step


def _old_conversations(cutoff: datetime) -> Step:
    """Untouched since: neither they nor any session or entry of theirs is younger."""
    spoken_in = sa.select(voice_sessions.c.id).where(
        voice_sessions.c.conversation_id == conversations.c.id,
        voice_sessions.c.updated_at >= cutoff,
    )
    written_to = sa.select(messages.c.id).where(
        messages.c.conversation_id == conversations.c.id, messages.c.created_at >= cutoff
    )
    old = (
        sa.select(conversations.c.id)
        .where(conversations.c.updated_at < cutoff, ~spoken_in.exists(), ~written_to.exists())
        .order_by(conversations.c.updated_at)
        .limit(CONVERSATIONS)
    )

    return lambda connection: drop(connection, list(connection.execute(old).scalars()))


# --- A user -------------------------------------------------------------------------

COUNTED = spent_sessions
"""Only numbers, for two days: whoever deletes all that is theirs gets no fresh start by it."""


OUTLIVES = frozenset({"audit"})
"""Tables that tell who did what: they have a retention of their own, and a gap in them shows."""


def owned() -> list[tuple[sa.Table, sa.ColumnElement[str]]]:
    """Every table with something of a user's in it, and by what it is theirs; what others depend
    on comes first."""
    return [
        (table, table.c.id if table is users else table.c.user_id)
        for table in metadata.sorted_tables
        if table is users or "user_id" in table.c
    ]


def forgetting(user_id: str, *, counts: bool) -> Iterator[tuple[str, Step]]:
    """All that is this user's, with the name of each table; `counts`: what was used today too."""
    mine = conversations.c.user_id == user_id
    links = (conversations.c.linked_goal_id, conversations.c.linked_task_id)
    linked = sa.or_(*(link.is_not(None) for link in links))
    unlink = sa.update(conversations).where(mine, linked).values(dict.fromkeys(links))
    yield "", lambda connection: connection.execute(unlink).rowcount  # goals and they hold another
    for table, owner in reversed(owned()):
        if table is events:
            yield table.name, _emptying(user_id)
        elif table.name not in OUTLIVES and (counts or table is not COUNTED):
            yield table.name, _old(table, owner == user_id)


def _emptying(user_id: str) -> Step:
    """The places stay: a hole in the log would be a gap that no reader can notice."""
    some = sa.select(events.c.position).where(events.c.user_id == user_id).limit(SLICE)
    empty = sa.update(events).where(events.c.position.in_(some)).values(NOTHING)
    return lambda connection: connection.execute(empty).rowcount


# --- A conversation -----------------------------------------------------------------


def drop(connection: sa.Connection, ids: Sequence[str]) -> int:
    """How many rows went."""
    if not ids:
        return 0
    for kept in (delegated_tasks, approvals, goals, tasks):  # before: no order of keys matters
        theirs = kept.c.conversation_id.in_(ids)
        connection.execute(sa.update(kept).where(theirs).values(conversation_id=None))
    sessions = sa.select(voice_sessions.c.id).where(voice_sessions.c.conversation_id.in_(ids))
    doomed = (
        sa.delete(snapshots).where(snapshots.c.session_id.in_(sessions)),
        sa.delete(recordings).where(recordings.c.session_id.in_(sessions)),
        sa.delete(tool_calls).where(tool_calls.c.conversation_id.in_(ids)),
        sa.delete(intents).where(intents.c.conversation_id.in_(ids)),
        sa.delete(messages).where(messages.c.conversation_id.in_(ids)),
        sa.delete(voice_sessions).where(voice_sessions.c.conversation_id.in_(ids)),
        sa.delete(conversations).where(conversations.c.id.in_(ids)),
    )
    return sum(connection.execute(each).rowcount for each in doomed)


def drop_own(connection: sa.Connection, wanted: Fields) -> None:
    """As its user asked for: at once, with its events, and without a fresh start for today."""
    mine = (conversations.c.id == wanted["id"], conversations.c.user_id == wanted["user_id"])
    ids = list(connection.execute(sa.select(conversations.c.id).where(*mine)).scalars())
    if not ids:
        return
    names = [column.name for column in spent_sessions.columns]
    took = sa.select(*(OPENED if name == "opened" else voice_sessions.c[name] for name in names))
    known = sa.select(spent_sessions.c.id)
    took = took.where(voice_sessions.c.conversation_id.in_(ids), voice_sessions.c.id.not_in(known))
    connection.execute(sa.insert(spent_sessions).from_select(names, took))
    asked = sa.select(intents.c.id).where(intents.c.conversation_id.in_(ids))
    answered = outbox.c.status != "pending"
    connection.execute(sa.delete(outbox).where(outbox.c.intent_id.in_(asked), answered))
    # A hole in the log would be a gap that no reader can notice: the places stay, nobody's.
    for emptying in emptied(ids):
        connection.execute(emptying)
    drop(connection, ids)


def emptied(ids: Sequence[str]) -> tuple[sa.Update, sa.Update]:
    """Their events, by two ways into the log that have an index: every writer waits for it.
    Without their owner, by whom SQLite would read all that he ever did."""
    sessions = sa.select(voice_sessions.c.id).where(voice_sessions.c.conversation_id.in_(ids))
    empty = sa.update(events).values(NOTHING)
    placed = events.c.conversation_id.in_(ids)
    return (
        empty.where(events.c.voice_session_id.in_(sessions), placed),
        empty.where(events.c.voice_session_id.is_(None), placed),
    )
