"""What lies on disk, as it is now.

`migrate.py` makes it; what only one of the databases has is in `search.py` and
`security.py`. Every row has its `user_id`, and foreign keys carry it along: the database
itself refuses an entry of one user in the conversation of another.

What goes with its conversation has one key to it. Delegated work, approvals, goals and
tasks outlive it: it is let go of, not taken along. That takes two keys (`_linked`).
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.schema import SchemaItem
from sqlalchemy.types import TypeEngine

from vivavoce.store.columns import Document, Encoded, Id, Lines, Position, Said, Utc, Words
from vivavoce.wire.records.work import ROLES

metadata = sa.MetaData()

SAID = ("user", "assistant")  # roles of `messages`
OVER = ("completed", "failed", "cancelled")  # statuses of `delegated_tasks`


def _table(name: str, *parts: SchemaItem) -> sa.Table:
    return sa.Table(name, metadata, *parts)


def _some(kind: TypeEngine[Any] | type[TypeEngine[Any]], *names: str) -> list[sa.Column[Any]]:
    """Columns of one kind that always have a value."""
    return [sa.Column(name, kind, nullable=False) for name in names]


def _maybe(kind: TypeEngine[Any] | type[TypeEngine[Any]], *names: str) -> list[sa.Column[Any]]:
    return [sa.Column(name, kind) for name in names]


def _held() -> list[sa.Column[Any]]:
    """Which instance looks after the row, in which of its lives; none where it was let go of."""
    return [sa.Column("owner", Words), sa.Column("epoch", Position)]


def _written_by() -> sa.Column[Any]:
    """The least role of those who wrote the row: several tokens may be one user."""
    return sa.Column("role", Words, nullable=False, server_default=sa.text("'operator'"))


def _one_of(table: str, column: str, *values: str) -> sa.CheckConstraint:
    named = ", ".join(f"'{value}'" for value in values)
    return sa.CheckConstraint(f"{column} IN ({named})", name=f"{table}_{column}_check")


def _part_of(table: str, whole: str, *, of: str | None = None) -> sa.ForeignKeyConstraint:
    """Goes with the whole, and belongs to whom that belongs to."""
    to = of or f"{whole}s"
    return sa.ForeignKeyConstraint(
        [f"{whole}_id", "user_id"],
        [f"{to}.id", f"{to}.user_id"],
        name=f"{table}_{whole}_fkey",
        ondelete="CASCADE",
    )


def _linked(
    table: str,
    column: str = "conversation_id",
    *,
    to: str = "conversations",
    name: str = "",
    late: bool = False,
) -> tuple[sa.ForeignKeyConstraint, sa.ForeignKeyConstraint]:
    """Let go of when it goes, and of the same owner while it is there.

    Two keys: one that also sets `user_id` to NULL would not do. In this order: PostgreSQL
    sees to keys in the order they were made, and a dump makes them by name.
    """
    return (
        sa.ForeignKeyConstraint(
            [column],
            [f"{to}.id"],
            name=f"{table}_{name or 'conversation'}_fkey",
            ondelete="SET NULL",
            use_alter=late,
        ),
        sa.ForeignKeyConstraint(
            [column, "user_id"],
            [f"{to}.id", f"{to}.user_id"],
            name=f"{table}_{name}_owner_fkey" if name else f"{table}_owner_fkey",
            use_alter=late,
        ),
    )


conversations = _table(
    "conversations",
    sa.Column("id", Id, primary_key=True),
    sa.Column("user_id", Words, nullable=False),
    sa.Column("context_type", Words, nullable=False, server_default=sa.text("'voice'")),
    *_maybe(Said, "title", "summary"),
    sa.Column("metadata", Document, nullable=False, server_default=sa.text("'{}'")),
    *_some(Utc, "created_at", "updated_at"),
    # Seed 004 §8; what the links lead to is at the end.
    *_maybe(Words, "voice_session_id", "extracted_intent"),
    sa.Column("intent_payload", Document),
    *_maybe(Id, "linked_goal_id", "linked_task_id"),
    sa.Column("ended_at", Utc),
    sa.Column("duration_seconds", sa.Integer),
    # When it began or something was last said: a list of thousands is read along its index.
    sa.Column("last_activity_at", Utc),
    # What the server gathered of what was said, for a model that cannot be told all of it.
    sa.Column("gist", Document),
    _one_of("conversations", "context_type", "onboarding", "goal", "task", "reschedule", "voice"),
    sa.UniqueConstraint("id", "user_id", name="conversations_owner_key"),
    sa.Index("idx_conversations_updated", "updated_at"),
    sa.Index("idx_conversations_recent", "user_id", "last_activity_at", "id"),
)

voice_sessions = _table(
    "voice_sessions",
    sa.Column("id", Words, primary_key=True),
    sa.Column("conversation_id", Id, nullable=False),
    *_some(Words, "user_id", "agent", "status", "model", "voice"),
    sa.Column("call_id", Words),
    *_some(Utc, "created_at", "updated_at"),
    sa.Column("ended_at", Utc),
    sa.Column("duration_ms", Position),
    sa.Column("end_reason", Words),
    *_some(Position, "input_tokens", "output_tokens"),
    sa.Column("cost_micros", Position, nullable=False, server_default=sa.text("0")),
    sa.Column("counted", sa.Boolean, nullable=False, server_default=sa.true()),
    sa.Column("role", Words, nullable=False, server_default=sa.text("'user'")),
    sa.Column("metadata", Document, nullable=False, server_default=sa.text("'{}'")),
    *_held(),
    _one_of("voice_sessions", "status", "active", "completed", "cancelled", "error"),
    sa.UniqueConstraint("id", "user_id", name="voice_sessions_owner_key"),
    _part_of("voice_sessions", "conversation"),
    sa.Index("idx_voice_sessions_user", "user_id", "created_at"),
    sa.Index("idx_voice_sessions_conversation", "conversation_id"),
    sa.Index("idx_voice_sessions_status", "status"),
)

messages = _table(
    "messages",
    sa.Column("id", Id, primary_key=True),
    sa.Column("conversation_id", Id, nullable=False),
    sa.Column("user_id", Words, nullable=False),
    sa.Column("voice_session_id", Words),
    sa.Column("role", Words, nullable=False),
    sa.Column("content", Said, nullable=False),
    sa.Column("input_modality", Words, nullable=False, server_default=sa.text("'text'")),
    sa.Column("metadata", Document, nullable=False, server_default=sa.text("'{}'")),
    sa.Column("created_at", Utc, nullable=False),
    sa.Column("ordinal", sa.Double, nullable=False, server_default=sa.text("0")),
    _one_of("messages", "role", "user", "assistant", "system", "function"),
    _one_of("messages", "input_modality", "voice", "text"),
    _part_of("messages", "conversation"),
    sa.Index("idx_messages_conversation", "conversation_id", "created_at"),
    # With the role, so that counting what was said does not read it.
    sa.Index("idx_messages_ordinal", "conversation_id", "ordinal", "role"),
)

tool_calls = _table(
    "tool_calls",
    # Providers and clients choose call ids: unique for one user, not for all.
    *_some(Words, "user_id", "id", "tool"),
    sa.Column("conversation_id", Id),
    sa.Column("voice_session_id", Words),
    sa.Column("origin", Words, nullable=False),
    sa.Column("arguments", Document, nullable=False),
    sa.Column("status", Words, nullable=False),
    sa.Column("output", Said, nullable=False),
    sa.Column("error", Said),
    sa.Column("truncated", sa.Boolean, nullable=False),
    sa.Column("progress", Said),
    sa.Column("started_at", Utc, nullable=False),
    sa.Column("finished_at", Utc),
    sa.Column("duration_ms", Position),
    sa.PrimaryKeyConstraint("user_id", "id", name="tool_calls_pkey"),
    _one_of("tool_calls", "origin", "model", "http", "webhook", "task"),
    _one_of("tool_calls", "status", "started", "completed", "failed", "unknown"),
    _part_of("tool_calls", "conversation"),
    sa.Index("idx_tool_calls_tool", "tool", "started_at"),
    sa.Index("idx_tool_calls_user", "user_id", "started_at"),
    sa.Index("idx_tool_calls_session", "voice_session_id", "status"),
    sa.Index("idx_tool_calls_conversation", "conversation_id"),
)

snapshots = _table(
    "snapshots",
    sa.Column("session_id", Words, primary_key=True),
    sa.Column("user_id", Words, nullable=False),
    sa.Column("saved_at", Utc, nullable=False),
    sa.Column("data", Document, nullable=False),
    _part_of("snapshots", "session", of="voice_sessions"),
    sa.Index("idx_snapshots_saved", "saved_at"),
)

recordings = _table(
    "recordings",
    sa.Column("session_id", Words, primary_key=True),
    sa.Column("number", Position, primary_key=True, autoincrement=False),
    sa.Column("user_id", Words, nullable=False),
    sa.Column("saved_at", Utc, nullable=False),
    sa.Column("data", Lines, nullable=False),
    _part_of("recordings", "session", of="voice_sessions"),
    sa.Index("idx_recordings_saved", "saved_at"),
)

events = _table(
    "events",
    sa.Column("position", Position, primary_key=True, autoincrement=False),
    sa.Column("type", Words, nullable=False),
    sa.Column("data", Encoded, nullable=False),
    sa.Column("user_id", Words, nullable=False),
    *_maybe(Words, "conversation_id", "voice_session_id"),
    sa.Column("created_at", Utc, nullable=False),
    sa.Index("idx_events_user", "user_id", "position"),
    sa.Index("idx_events_session", "voice_session_id", "position"),
    # Of a session is nearly all of the log: what is not costs its writers an index more.
    sa.Index(
        "idx_events_loose",
        "conversation_id",
        sqlite_where=sa.text("voice_session_id IS NULL"),  # PostgreSQL gets it in `migrate.py`
    ),
)

log_head = _table(
    "log_head",
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("position", Position, nullable=False),
    sa.CheckConstraint("id = 1", name="log_head_single_check"),
)

# Delegated work. The name `tasks` is that of seed 004, for what the user has to do.
delegated_tasks = _table(
    "delegated_tasks",
    sa.Column("id", Words, primary_key=True),
    sa.Column("user_id", Words, nullable=False),
    sa.Column("conversation_id", Id),
    *_maybe(Words, "voice_session_id", "call_id"),
    *_some(Said, "title", "description"),
    *_some(Words, "agent", "backend", "status"),
    sa.Column("role", Words, nullable=False, server_default=sa.text("'user'")),
    *_maybe(Said, "phase", "progress"),
    sa.Column("percentage", sa.Integer),
    sa.Column("question_id", Words),
    sa.Column("question", Said),
    sa.Column("choices", Document),
    sa.Column("asked_at", Utc),
    sa.Column("result", Said, nullable=False),
    sa.Column("files_changed", Document, nullable=False),
    sa.Column("error", Said),
    *_some(Document, "tried", "suggestions"),
    *_some(Utc, "created_at", "updated_at"),
    *_maybe(Utc, "finished_at", "told_at"),
    *_held(),
    _one_of("delegated_tasks", "status", "running", "waiting", "completed", "failed", "cancelled"),
    *_linked("delegated_tasks"),
    sa.Index("idx_delegated_tasks_user", "user_id", "created_at"),
    sa.Index("idx_delegated_tasks_told", "user_id", "told_at", "created_at"),
    sa.Index("idx_delegated_tasks_status", "status", "created_at"),
    sa.Index("idx_delegated_tasks_conversation", "conversation_id"),
)

approvals = _table(
    "approvals",
    sa.Column("id", Words, primary_key=True),
    sa.Column("user_id", Words, nullable=False),
    sa.Column("conversation_id", Id),
    *_maybe(Words, "voice_session_id", "call_id", "task_id"),
    sa.Column("tool", Words, nullable=False),
    sa.Column("arguments", Document, nullable=False),
    sa.Column("question", Said, nullable=False),
    sa.Column("status", Words, nullable=False),
    *_some(Utc, "requested_at", "expires_at"),
    sa.Column("resolved_at", Utc),
    sa.Column("resolved_by", Words),
    sa.Column("words", Said),
    *_maybe(Words, "asked_by", "reach"),
    sa.Column("role", Words, nullable=False, server_default=sa.text("'user'")),
    sa.Column("because", Said),
    sa.Column("revoked_at", Utc),
    *_held(),
    _one_of("approvals", "status", "pending", "granted", "denied", "expired"),
    _one_of("approvals", "resolved_by", "voice", "click", "timeout", "restart", "cancel"),
    *_linked("approvals"),
    sa.Index("idx_approvals_status", "status", "requested_at"),
    sa.Index("idx_approvals_conversation", "conversation_id"),
    sa.Index("idx_approvals_reach", "user_id", "reach"),
)
# Who did what: never changed, only swept from its front. It outlives what it tells of.
audit = _table(
    "audit",
    sa.Column("position", Position, primary_key=True, autoincrement=False),
    sa.Column("at", Utc, nullable=False),
    *_some(Words, "action", "what", "outcome", "user_id"),
    *_some(Words, "address", "role", "token", "request_id", "digest", "seal"),
    sa.Index("idx_audit_user", "user_id", "position"),
)
# Its last line, and the last that was swept: whatever else is missing was taken out.
audit_head = _table(
    "audit_head",
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    *_some(Position, "position", "swept_position"),
    *_some(Words, "seal", "swept_seal"),
    sa.CheckConstraint("id = 1", name="audit_head_single_check"),
)

AUDIT_BEGINS = {"id": 1, "position": 0, "seal": "", "swept_position": 0, "swept_seal": ""}

users = _table(
    "users",
    sa.Column("id", Words, primary_key=True),
    sa.Column("name", Said),
    *_maybe(Words, "time_zone", "chronotype"),
    *_maybe(Words, "work_start", "work_end", "sleep_start", "sleep_end", "voice"),
    sa.Column("verbosity", Words, nullable=False, server_default=sa.text("'normal'")),
    sa.Column("auto_approve", sa.Boolean, nullable=False, server_default=sa.false()),
    *_some(Utc, "created_at", "updated_at"),
    _written_by(),
    _one_of("users", "verbosity", "brief", "normal", "detailed"),
)

goals = _table(
    "goals",
    sa.Column("id", Id, primary_key=True),
    sa.Column("user_id", Words, nullable=False),
    sa.Column("statement", Said, nullable=False),
    sa.Column("timeline", Said),
    sa.Column("target_at", Utc),
    sa.Column("context_notes", Said),
    sa.Column("status", Words, nullable=False),
    sa.Column("conversation_id", Id),
    sa.Column("intent_id", Words),
    *_some(Utc, "created_at", "updated_at"),
    _written_by(),
    _one_of("goals", "status", "active", "completed", "retracted"),
    sa.UniqueConstraint("id", "user_id", name="goals_owner_key"),
    *_linked("goals"),
    sa.Index("idx_goals_user", "user_id", "created_at"),
    sa.Index("idx_goals_conversation", "conversation_id"),
)

milestones = _table(
    "milestones",
    sa.Column("id", Words, primary_key=True),
    sa.Column("goal_id", Id, nullable=False),
    sa.Column("user_id", Words, nullable=False),
    sa.Column("title", Said, nullable=False),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("created_at", Utc, nullable=False),
    *_maybe(Utc, "due_at", "completed_at"),
    _part_of("milestones", "goal"),
    sa.Index("idx_milestones_goal", "goal_id", "position"),
)


tasks = _table(
    "tasks",
    sa.Column("id", Id, primary_key=True),
    sa.Column("user_id", Words, nullable=False),
    sa.Column("title", Said, nullable=False),
    sa.Column("trigger_type", Words, nullable=False),
    sa.Column("scheduled_at", Utc),
    sa.Column("scheduled_words", Said),
    sa.Column("recurrence_rule", Words),
    sa.Column("recurrence_words", Said),
    *_maybe(Utc, "recurs_from", "moved_from"),
    # When its times are looked at next, and up to when they were.
    *_maybe(Utc, "look_at", "noted_until"),
    sa.Column("time_zone", Words, nullable=False, server_default=sa.text("'UTC'")),
    sa.Column("location_trigger", Said),
    sa.Column("status", Words, nullable=False),
    sa.Column("reason", Said),
    *_maybe(Id, "goal_id", "conversation_id"),
    sa.Column("intent_id", Words),
    *_some(Utc, "created_at", "updated_at"),
    _written_by(),
    _one_of("tasks", "trigger_type", "time", "location"),
    _one_of("tasks", "status", "active", "rescheduled", "completed", "retracted"),
    sa.UniqueConstraint("id", "user_id", name="tasks_owner_key"),
    *_linked("tasks"),
    *_linked("tasks", "goal_id", to="goals", name="goal"),
    sa.Index("idx_tasks_user", "user_id", "scheduled_at"),
    sa.Index("idx_tasks_conversation", "conversation_id"),
    sa.Index("idx_tasks_goal", "goal_id"),
    sa.Index("idx_tasks_look", "look_at"),
)

# What came due, once for each time of a to-do, until the user has heard of it.
reminders = _table(
    "reminders",
    sa.Column("id", Id, primary_key=True),
    sa.Column("task_id", Id, nullable=False),
    sa.Column("user_id", Words, nullable=False),
    sa.Column("title", Said, nullable=False),
    *_some(Utc, "due_at", "created_at"),
    sa.Column("status", Words, nullable=False),
    sa.Column("told_at", Utc),
    # Which server is about to tell it, and until when it has it for itself.
    sa.Column("claimed_by", Words),
    sa.Column("claimed_until", Utc),
    _one_of("reminders", "status", "waiting", "told", "dropped"),
    _part_of("reminders", "task"),
    sa.Index("idx_reminders_user", "user_id", "status", "due_at"),
    sa.Index("idx_reminders_task", "task_id"),
)

# Ids of intents are in no foreign key: an intent goes with its conversation, and what is in
# the outbox waits for its answer whatever becomes of both.
intents = _table(
    "intents",
    sa.Column("id", Words, primary_key=True),
    sa.Column("user_id", Words, nullable=False),
    sa.Column("conversation_id", Id, nullable=False),
    *_maybe(Words, "voice_session_id", "call_id"),
    *_some(Words, "name", "route"),
    sa.Column("payload", Document, nullable=False),
    sa.Column("status", Words, nullable=False),
    sa.Column("evidence", Document, nullable=False),
    sa.Column("revision", sa.Integer, nullable=False),
    # A backend of the user's names its goals and tasks as it likes.
    *_maybe(Words, "goal_id", "task_id"),
    sa.Column("error", Said),
    sa.Column("previous", Document),
    *_some(Utc, "created_at", "updated_at"),
    _one_of("intents", "status", "pending", "accepted", "failed", "retracted"),
    _part_of("intents", "conversation"),
    sa.Index("idx_intents_user", "user_id", "created_at"),
    sa.Index("idx_intents_conversation", "conversation_id", "created_at"),
)

outbox = _table(
    "outbox",
    sa.Column("id", Words, primary_key=True),
    *_some(Words, "intent_id", "user_id", "action"),
    sa.Column("body", Document, nullable=False),
    sa.Column("status", Words, nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("last_error", Said),
    sa.Column("answer", Document),
    *_some(Utc, "due_at", "created_at", "updated_at"),
    _one_of("outbox", "action", "submit", "amend", "retract", "due"),
    _one_of("outbox", "status", "pending", "delivered", "refused"),
    sa.Index("idx_outbox_due", "status", "due_at"),
    sa.Index("idx_outbox_intent", "intent_id", "created_at"),
)

# What sessions took whose conversation its user deleted: deleting gives no fresh start.
spent_sessions = _table(
    "spent_sessions",
    sa.Column("id", Words, primary_key=True),
    sa.Column("user_id", Words, nullable=False),
    sa.Column("created_at", Utc, nullable=False),
    *_some(sa.Boolean, "counted", "opened"),
    *_some(Position, "input_tokens", "output_tokens", "cost_micros"),
    sa.Index("idx_spent_sessions_user", "user_id", "created_at"),
)

# What each user has in the tables that hold words of theirs: kept by triggers (`limits`).
stored = _table(
    "stored",
    sa.Column("user_id", Words, primary_key=True),
    sa.Column("bytes", Position, nullable=False),
)

# The servers on this database. `epoch` counts the lives of a name and never goes back;
# `lease_until` is empty once a life is over.
instances = _table(
    "instances",
    sa.Column("name", Words, primary_key=True),
    sa.Column("epoch", Position, nullable=False),
    sa.Column("lease_until", Utc),
    sa.Column("started_at", Utc, nullable=False),
)

# What one server asks another for a user; gone once it is answered. `plain` is for what is no
# speech: in an SDP a long number is nobody's card.
asks = _table(
    "asks",
    *_some(Words, "id", "user_id", "owner"),
    sa.Column("epoch", Position, nullable=False),
    sa.Column("what", Words, nullable=False),
    *_some(Encoded, "given"),
    sa.Column("plain", Words, nullable=False),
    sa.Column("answer", Encoded),
    sa.Column("asked_at", Utc, nullable=False),
    sa.PrimaryKeyConstraint("id", name="asks_pkey"),
    sa.Index("idx_asks_owner", "owner", "epoch"),
    sa.Index("idx_asks_user", "user_id"),
)

# Of nobody's: whoever runs the server has them (`vivavoce token`).
access_tokens = _table(
    "access_tokens",
    sa.Column("name", Words, primary_key=True),
    *_some(Words, "digest", "role"),
    sa.Column("created_at", Utc, nullable=False),
    *_maybe(Utc, "expires_at", "revoked_at"),
    _one_of("access_tokens", "role", *ROLES),
)

# Keys that work once, by their hashes; whoever takes one deletes its row.
one_time_keys = _table(
    "one_time_keys",
    sa.Column("digest", Words, primary_key=True),
    *_some(Words, "user_id", "purpose"),
    *_some(Utc, "created_at", "expires_at"),
    sa.Column("data", Document, nullable=False),
    sa.Index("idx_one_time_keys_expires", "expires_at"),
    sa.Index("idx_one_time_keys_user", "user_id"),
)

# Browsers that take notices with their page closed. An endpoint is one browser's.
push_subscriptions = _table(
    "push_subscriptions",
    sa.Column("id", Id, primary_key=True),
    *_some(Words, "user_id", "endpoint", "p256dh", "auth", "device"),
    *_some(Utc, "created_at", "updated_at"),
    sa.Column("role", Words, nullable=False),
    sa.Column("token", Words),
    sa.UniqueConstraint("id", "user_id", name="push_subscriptions_owner_key"),
    _one_of("push_subscriptions", "role", *ROLES),
    sa.Index("idx_push_subscriptions_user", "user_id", "created_at"),
)

push_messages = _table(
    "push_messages",
    sa.Column("id", Id, primary_key=True),
    sa.Column("user_id", Words, nullable=False),
    sa.Column("subscription_id", Id, nullable=False),
    *_some(Words, "about", "status"),
    *_some(Utc, "created_at", "updated_at", "due_at", "expires_at"),
    sa.Column("data", Document, nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("last_error", Said),
    _one_of("push_messages", "status", "pending", "sent", "dropped"),
    _part_of("push_messages", "subscription", of="push_subscriptions"),
    sa.Index("idx_push_messages_due", "status", "due_at"),
    sa.Index("idx_push_messages_subscription", "subscription_id"),
    sa.Index("idx_push_messages_user", "user_id"),
)

# Goals point at conversations and those at goals: one of the two has to come later.
for _name, _to in (("goal", "goals"), ("task", "tasks")):
    _column = f"linked_{_name}_id"
    for _key in _linked("conversations", _column, to=_to, name=_name, late=True):
        conversations.append_constraint(_key)
    sa.Index(f"idx_conversations_{_column}", conversations.c[_column])

# Alembic's own table, here so that a fresh database needs no Alembic to be made.
versions = sa.Table(
    "alembic_version",
    sa.MetaData(),
    sa.Column("version_num", sa.String(32), nullable=False),
    sa.PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)
