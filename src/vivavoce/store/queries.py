"""Every statement the store runs, by name. SQL is code.

Reads are module constants; writes differ by dialect only in who makes the
INSERT (both speak ON CONFLICT) and come from `writes_for`.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Any

from sqlalchemy import (
    Insert,
    Select,
    Table,
    and_,
    bindparam,
    func,
    insert,
    literal_column,
    select,
    text,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite

from vivavoce.store.schema import (
    conversations,
    events,
    log_head,
    messages,
    snapshots,
    tool_calls,
    voice_sessions,
)

CHANNEL = "vivavoce_log"
# Where a `function` message keeps whether it was a call or a result.
KIND_KEY = "entry_kind"

# --- Reads ----------------------------------------------------------------------

CONVERSATION = select(conversations).where(
    conversations.c.id == bindparam("id"), conversations.c.user_id == bindparam("user_id")
)

SESSION = select(voice_sessions).where(
    voice_sessions.c.id == bindparam("id"), voice_sessions.c.user_id == bindparam("user_id")
)

ANY_SESSION = select(voice_sessions).where(voice_sessions.c.id == bindparam("id"))

ACTIVE_SESSIONS = (
    select(voice_sessions)
    .where(voice_sessions.c.status == "active")
    .order_by(voice_sessions.c.created_at, voice_sessions.c.id)
)

SESSION_TOTALS = select(
    func.count().label("sessions"), func.avg(voice_sessions.c.duration_ms).label("mean")
).select_from(voice_sessions)

ENTRIES = (
    select(messages)
    .where(
        messages.c.conversation_id == bindparam("conversation_id"),
        messages.c.user_id == bindparam("user_id"),
    )
    .order_by(messages.c.ordinal, messages.c.created_at, messages.c.id)
)

TOOL_CALL = select(tool_calls).where(
    tool_calls.c.id == bindparam("id"), tool_calls.c.user_id == bindparam("user_id")
)

OPEN_CALLS = (
    select(tool_calls)
    .where(
        tool_calls.c.voice_session_id == bindparam("session_id"),
        tool_calls.c.status == "started",
    )
    .order_by(tool_calls.c.started_at, tool_calls.c.id)
)

TOOL_STATS = select(
    func.count().label("total"),
    func.avg(tool_calls.c.duration_ms).label("mean"),
    func.count().filter(tool_calls.c.status == "completed").label("completed"),
    func.count().filter(tool_calls.c.status == "failed").label("failed"),
    func.max(tool_calls.c.started_at).label("last_called"),
).where(tool_calls.c.tool == bindparam("tool"))

SNAPSHOT = select(snapshots).where(
    snapshots.c.session_id == bindparam("session_id"),
    snapshots.c.user_id == bindparam("user_id"),
)

LOG_BOUNDS = select(
    log_head.c.position.label("latest"),
    select(func.min(events.c.position)).scalar_subquery().label("oldest"),
)


def _with_turns(page: Select[Any]) -> Select[Any]:
    """Sessions with their conversation's title and its turns, counted once a conversation."""
    shown = page.cte("page")
    turns = (
        select(messages.c.conversation_id, func.count().label("turn_count"))
        .where(
            messages.c.role == "user",
            messages.c.conversation_id.in_(select(shown.c.conversation_id)),
        )
        .group_by(messages.c.conversation_id)
        .subquery("turns")
    )
    return (
        select(shown, conversations.c.title, func.coalesce(turns.c.turn_count, 0).label("turns"))
        .join_from(shown, conversations, conversations.c.id == shown.c.conversation_id)
        .outerjoin(turns, turns.c.conversation_id == shown.c.conversation_id)
        .order_by(shown.c.created_at.desc(), shown.c.id.desc())
    )


_OF_USER = (
    select(voice_sessions)
    .where(voice_sessions.c.user_id == bindparam("user_id"))
    .order_by(voice_sessions.c.created_at.desc(), voice_sessions.c.id.desc())
    .limit(bindparam("limit"))
)
SUMMARY = _with_turns(SESSION)
SESSIONS = _with_turns(_OF_USER)
SESSIONS_BY_STATUS = _with_turns(_OF_USER.where(voice_sessions.c.status == bindparam("status")))


def events_after(*, user: bool, session: bool, upto: bool) -> Select[Any]:
    """The log after a position, narrowed by what is asked for."""
    query = select(events).where(events.c.position > bindparam("after"))
    if user:
        query = query.where(events.c.user_id == bindparam("user_id"))
    if session:
        query = query.where(events.c.voice_session_id == bindparam("session_id"))
    if upto:
        query = query.where(events.c.position <= bindparam("upto"))
    return query.order_by(events.c.position).limit(bindparam("limit"))


# Along the index of the session, from its end: as many rows as it takes, never the log.
LAST_EVENTS = (
    select(events)
    .where(
        events.c.voice_session_id == bindparam("session_id"),
        events.c.user_id == bindparam("user_id"),
        events.c.type == bindparam("kind"),
    )
    .order_by(events.c.position.desc())
    .limit(bindparam("limit"))
)


# --- Writes ---------------------------------------------------------------------

# Locks the one row until the commit, so positions become visible in their order.
ADVANCE_LOG = (
    update(log_head)
    .values(position=log_head.c.position + bindparam("count"))
    .returning(log_head.c.position)
)
APPEND_EVENTS = insert(events)
NOTIFY = text("SELECT pg_notify(:channel, :sender)")
LISTEN = text(f"LISTEN {CHANNEL}")
LOG_POSITION = select(log_head.c.position)

NAME_VOICE_SESSION = (
    update(conversations)
    .where(conversations.c.id == bindparam("of"))
    .values(voice_session_id=bindparam("session_id"))
)


class Write(StrEnum):
    """The writes of a plan; the order is that of foreign keys, one table after another."""

    CONVERSATION = "conversation"
    NEW_SESSION = "new_session"
    SESSION = "session"
    ENTRY = "entry"
    ENTRY_IF_ABSENT = "entry_if_absent"
    TOOL_CALL = "tool_call"
    SNAPSHOT = "snapshot"


RANK = {
    Write.CONVERSATION: 0,
    Write.NEW_SESSION: 1,
    Write.SESSION: 1,
    Write.ENTRY: 2,
    Write.ENTRY_IF_ABSENT: 2,
    Write.TOOL_CALL: 3,
    Write.SNAPSHOT: 4,
}

_CONVERSATION = ("context_type", "title", "summary", "metadata", "updated_at", "ended_at")
_KEPT = ("title", "summary")
_SESSION = ("agent", "status", "model", "voice", "call_id", "updated_at", "ended_at", "duration_ms")
_OUTCOME = ("status", "output", "error", "truncated", "progress", "finished_at", "duration_ms")
_USAGE = ("end_reason", "input_tokens", "output_tokens", "metadata")


def writes_for(dialect: str) -> dict[Write, Insert]:
    """The writes in the words of one database."""
    make: Any = postgresql.insert if dialect == "postgresql" else sqlite.insert

    def upsert(table: Table, key: list[str], mutable: Iterable[str], same: Iterable[str]) -> Insert:
        """Update only what may change, and only in the row of the same owner."""
        statement = make(table)
        new = statement.excluded
        kept = [table.c[name] == new[name] for name in same]
        if table is messages:  # a call does not become a result
            kept.append(_kind(messages.c, dialect).is_not_distinct_from(_kind(new, dialect)))
        values = {
            # Whoever writes without knowing a title does not take it away.
            name: func.coalesce(new[name], table.c[name]) if name in _KEPT else new[name]
            for name in mutable
        }
        result: Insert = statement.on_conflict_do_update(
            index_elements=key, set_=values, where=and_(*kept)
        )
        return result

    owned = ("user_id",)
    placed = ("user_id", "conversation_id")
    return {
        Write.CONVERSATION: upsert(
            conversations, ["id"], (*_CONVERSATION, "duration_seconds"), owned
        ),
        Write.NEW_SESSION: make(voice_sessions)
        .on_conflict_do_nothing()
        .returning(voice_sessions.c.id),
        Write.SESSION: upsert(voice_sessions, ["id"], (*_SESSION, *_USAGE), placed),
        Write.ENTRY: upsert(messages, ["id"], ("content", "metadata"), (*placed, "role")),
        Write.ENTRY_IF_ABSENT: make(messages).on_conflict_do_nothing(index_elements=["id"]),
        Write.TOOL_CALL: upsert(tool_calls, ["user_id", "id"], _OUTCOME, owned),
        Write.SNAPSHOT: upsert(snapshots, ["session_id"], ("saved_at", "data"), owned),
    }


def _kind(columns: Any, dialect: str) -> Any:
    """Written out, not bound: a parameter a row would be the dearest part of the write."""
    if dialect == "postgresql":
        return columns.metadata.op("->>")(literal_column(f"'{KIND_KEY}'"))
    return func.json_extract(columns.metadata, literal_column(f"'$.{KIND_KEY}'"))
