"""What lies on disk, as it is now (`schema_work`: delegated work; `schema_agenda`: plans).

`migrations/` says how it came to be; what only one of the databases has is in
`search.py` and `security.py`.

Every row has its `user_id`, and foreign keys carry it along: the database
itself refuses an entry of one user in the conversation of another.
"""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    Double,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    UniqueConstraint,
    text,
    true,
)

from vivavoce.store.columns import Document, Id, Position, Utc, Words

metadata = MetaData()

conversations = Table(
    "conversations",
    metadata,
    Column("id", Id, primary_key=True),
    Column("user_id", Words, nullable=False),
    Column("context_type", Words, nullable=False, server_default=text("'voice'")),
    Column("title", Words),
    Column("summary", Words),
    Column("metadata", Document, nullable=False, server_default=text("'{}'")),
    Column("created_at", Utc, nullable=False),
    Column("updated_at", Utc, nullable=False),
    # Seed 004 §8; `schema_agenda` says what the links lead to.
    Column("voice_session_id", Words),
    Column("extracted_intent", Words),
    Column("intent_payload", Document),
    Column("linked_goal_id", Id),
    Column("linked_task_id", Id),
    Column("ended_at", Utc),
    Column("duration_seconds", Integer),
    # When it began or something was last said: a list of thousands is read along its index.
    Column("last_activity_at", Utc),
    CheckConstraint(
        "context_type IN ('onboarding', 'goal', 'task', 'reschedule', 'voice')",
        name="conversations_context_type_check",
    ),
    UniqueConstraint("id", "user_id", name="conversations_owner_key"),
    Index("idx_conversations_updated", "updated_at"),
    Index("idx_conversations_recent", "user_id", "last_activity_at", "id"),
)

voice_sessions = Table(
    "voice_sessions",
    metadata,
    Column("id", Words, primary_key=True),
    Column("conversation_id", Id, nullable=False),
    Column("user_id", Words, nullable=False),
    Column("agent", Words, nullable=False),
    Column("status", Words, nullable=False),
    Column("model", Words, nullable=False),
    Column("voice", Words, nullable=False),
    Column("call_id", Words),
    Column("created_at", Utc, nullable=False),
    Column("updated_at", Utc, nullable=False),
    Column("ended_at", Utc),
    Column("duration_ms", Position),
    Column("end_reason", Words),
    Column("input_tokens", Position, nullable=False),
    Column("output_tokens", Position, nullable=False),
    Column("cost_micros", Position, nullable=False, server_default=text("0")),
    Column("counted", Boolean, nullable=False, server_default=true()),
    Column("metadata", Document, nullable=False, server_default=text("'{}'")),
    CheckConstraint(
        "status IN ('active', 'completed', 'cancelled', 'error')",
        name="voice_sessions_status_check",
    ),
    UniqueConstraint("id", "user_id", name="voice_sessions_owner_key"),
    ForeignKeyConstraint(
        ["conversation_id", "user_id"],
        ["conversations.id", "conversations.user_id"],
        name="voice_sessions_conversation_fkey",
        ondelete="CASCADE",
    ),
    Index("idx_voice_sessions_user", "user_id", "created_at"),
    Index("idx_voice_sessions_conversation", "conversation_id"),
    Index("idx_voice_sessions_status", "status"),
)

messages = Table(
    "messages",
    metadata,
    Column("id", Id, primary_key=True),
    Column("conversation_id", Id, nullable=False),
    Column("user_id", Words, nullable=False),
    Column("voice_session_id", Words),
    Column("role", Words, nullable=False),
    Column("content", Words, nullable=False),
    Column("input_modality", Words, nullable=False, server_default=text("'text'")),
    Column("metadata", Document, nullable=False, server_default=text("'{}'")),
    Column("created_at", Utc, nullable=False),
    Column("ordinal", Double, nullable=False, server_default=text("0")),
    CheckConstraint(
        "role IN ('user', 'assistant', 'system', 'function')", name="messages_role_check"
    ),
    CheckConstraint("input_modality IN ('voice', 'text')", name="messages_input_modality_check"),
    ForeignKeyConstraint(
        ["conversation_id", "user_id"],
        ["conversations.id", "conversations.user_id"],
        name="messages_conversation_fkey",
        ondelete="CASCADE",
    ),
    Index("idx_messages_conversation", "conversation_id", "created_at"),
    # With the role, so that counting what was said does not read it.
    Index("idx_messages_ordinal", "conversation_id", "ordinal", "role"),
)

tool_calls = Table(
    "tool_calls",
    metadata,
    # Providers and clients choose call ids: unique for one user, not for all.
    Column("user_id", Words, nullable=False),
    Column("id", Words, nullable=False),
    Column("tool", Words, nullable=False),
    Column("conversation_id", Id),
    Column("voice_session_id", Words),
    Column("origin", Words, nullable=False),
    Column("arguments", Document, nullable=False),
    Column("status", Words, nullable=False),
    Column("output", Words, nullable=False),
    Column("error", Words),
    Column("truncated", Boolean, nullable=False),
    Column("progress", Words),
    Column("started_at", Utc, nullable=False),
    Column("finished_at", Utc),
    Column("duration_ms", Position),
    PrimaryKeyConstraint("user_id", "id", name="tool_calls_pkey"),
    CheckConstraint(
        "origin IN ('model', 'http', 'webhook', 'task')", name="tool_calls_origin_check"
    ),
    CheckConstraint(
        "status IN ('started', 'completed', 'failed', 'unknown')", name="tool_calls_status_check"
    ),
    ForeignKeyConstraint(
        ["conversation_id", "user_id"],
        ["conversations.id", "conversations.user_id"],
        name="tool_calls_conversation_fkey",
        ondelete="CASCADE",
    ),
    Index("idx_tool_calls_tool", "tool", "started_at"),
    Index("idx_tool_calls_user", "user_id", "started_at"),
    Index("idx_tool_calls_session", "voice_session_id", "status"),
    Index("idx_tool_calls_conversation", "conversation_id"),
)

snapshots = Table(
    "snapshots",
    metadata,
    Column("session_id", Words, primary_key=True),
    Column("user_id", Words, nullable=False),
    Column("saved_at", Utc, nullable=False),
    Column("data", Document, nullable=False),
    ForeignKeyConstraint(
        ["session_id", "user_id"],
        ["voice_sessions.id", "voice_sessions.user_id"],
        name="snapshots_session_fkey",
        ondelete="CASCADE",
    ),
    Index("idx_snapshots_saved", "saved_at"),
)

events = Table(
    "events",
    metadata,
    Column("position", Position, primary_key=True, autoincrement=False),
    Column("type", Words, nullable=False),
    Column("data", Words, nullable=False),  # the JSON as it was encoded, byte for byte
    Column("user_id", Words, nullable=False),
    Column("conversation_id", Words),
    Column("voice_session_id", Words),
    Column("created_at", Utc, nullable=False),
    Index("idx_events_user", "user_id", "position"),
    Index("idx_events_session", "voice_session_id", "position"),
    # Of a session is nearly all of the log: what is not costs its writers an index more.
    Index(
        "idx_events_loose",
        "conversation_id",
        sqlite_where=text("voice_session_id IS NULL"),
        postgresql_where=text("voice_session_id IS NULL"),
    ),
)

log_head = Table(
    "log_head",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("position", Position, nullable=False),
    CheckConstraint("id = 1", name="log_head_single_check"),
)

# Alembic's own table, here so that a fresh database needs no Alembic to be made.
versions = Table(
    "alembic_version",
    MetaData(),
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)
