"""Every statement the store runs, by name. SQL is code.

Those about tasks and approvals are in `queries_work`, the upserts in `upserts`.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    Select,
    bindparam,
    func,
    insert,
    select,
    text,
    update,
)

from vivavoce.store.schema.talk import (
    conversations,
    events,
    log_head,
    messages,
    snapshots,
    tool_calls,
    voice_sessions,
)

CHANNEL = "vivavoce_log"

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
