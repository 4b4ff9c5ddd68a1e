"""Conversations, voice sessions, messages, tool calls and the event log."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from vivavoce.store.columns import Document, Id, Position, Utc, Words

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    _conversations()
    _voice_sessions()
    _messages()
    _tool_calls()
    _log()


def downgrade() -> None:
    for table in (
        "log_head",
        "events",
        "tool_calls",
        "messages",
        "voice_sessions",
        "conversations",
    ):
        op.drop_table(table)


def _owner(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["conversation_id", "user_id"],
        ["conversations.id", "conversations.user_id"],
        name=f"{table}_conversation_fkey",
        ondelete="CASCADE",
    )


def _conversations() -> None:
    op.create_table(
        "conversations",
        sa.Column("id", Id, primary_key=True),
        sa.Column("user_id", Words, nullable=False),
        sa.Column("context_type", Words, nullable=False, server_default=sa.text("'voice'")),
        sa.Column("title", Words),
        sa.Column("summary", Words),
        sa.Column("metadata", Document, nullable=False, server_default=sa.text("'{}'")),
        sa.Column("created_at", Utc, nullable=False),
        sa.Column("updated_at", Utc, nullable=False),
        sa.Column("voice_session_id", Words),
        sa.Column("extracted_intent", Words),
        sa.Column("intent_payload", Document),
        sa.Column("ended_at", Utc),
        sa.Column("duration_seconds", sa.Integer),
        sa.CheckConstraint(
            "context_type IN ('onboarding', 'goal', 'task', 'reschedule', 'voice')",
            name="conversations_context_type_check",
        ),
        sa.UniqueConstraint("id", "user_id", name="conversations_owner_key"),
    )
    op.create_index("idx_conversations_updated", "conversations", ["updated_at"])


def _voice_sessions() -> None:
    op.create_table(
        "voice_sessions",
        sa.Column("id", Words, primary_key=True),
        sa.Column("conversation_id", Id, nullable=False),
        sa.Column("user_id", Words, nullable=False),
        sa.Column("agent", Words, nullable=False),
        sa.Column("status", Words, nullable=False),
        sa.Column("model", Words, nullable=False),
        sa.Column("voice", Words, nullable=False),
        sa.Column("call_id", Words),
        sa.Column("created_at", Utc, nullable=False),
        sa.Column("updated_at", Utc, nullable=False),
        sa.Column("ended_at", Utc),
        sa.Column("duration_ms", Position),
        sa.Column("end_reason", Words),
        sa.Column("input_tokens", Position, nullable=False),
        sa.Column("output_tokens", Position, nullable=False),
        sa.Column("metadata", Document, nullable=False, server_default=sa.text("'{}'")),
        sa.CheckConstraint(
            "status IN ('active', 'completed', 'cancelled', 'error')",
            name="voice_sessions_status_check",
        ),
        sa.UniqueConstraint("id", "user_id", name="voice_sessions_owner_key"),
        _owner("voice_sessions"),
    )
    op.create_index("idx_voice_sessions_user", "voice_sessions", ["user_id", "created_at"])
    op.create_index("idx_voice_sessions_conversation", "voice_sessions", ["conversation_id"])
    op.create_index("idx_voice_sessions_status", "voice_sessions", ["status"])


def _messages() -> None:
    op.create_table(
        "messages",
        sa.Column("id", Id, primary_key=True),
        sa.Column("conversation_id", Id, nullable=False),
        sa.Column("user_id", Words, nullable=False),
        sa.Column("voice_session_id", Words),
        sa.Column("role", Words, nullable=False),
        sa.Column("content", Words, nullable=False),
        sa.Column("input_modality", Words, nullable=False, server_default=sa.text("'text'")),
        sa.Column("metadata", Document, nullable=False, server_default=sa.text("'{}'")),
        sa.Column("created_at", Utc, nullable=False),
        sa.CheckConstraint(
            "role IN ('user', 'assistant', 'system', 'function')", name="messages_role_check"
        ),
        sa.CheckConstraint(
            "input_modality IN ('voice', 'text')", name="messages_input_modality_check"
        ),
        _owner("messages"),
    )
    op.create_index("idx_messages_conversation", "messages", ["conversation_id", "created_at"])


def _tool_calls() -> None:
    op.create_table(
        "tool_calls",
        sa.Column("user_id", Words, nullable=False),
        sa.Column("id", Words, nullable=False),
        sa.Column("tool", Words, nullable=False),
        sa.Column("conversation_id", Id),
        sa.Column("voice_session_id", Words),
        sa.Column("origin", Words, nullable=False),
        sa.Column("arguments", Document, nullable=False),
        sa.Column("status", Words, nullable=False),
        sa.Column("output", Words, nullable=False),
        sa.Column("error", Words),
        sa.Column("truncated", sa.Boolean, nullable=False),
        sa.Column("progress", Words),
        sa.Column("started_at", Utc, nullable=False),
        sa.Column("finished_at", Utc),
        sa.Column("duration_ms", Position),
        sa.PrimaryKeyConstraint("user_id", "id", name="tool_calls_pkey"),
        sa.CheckConstraint(
            "origin IN ('model', 'http', 'webhook')", name="tool_calls_origin_check"
        ),
        sa.CheckConstraint(
            "status IN ('started', 'completed', 'failed', 'unknown')",
            name="tool_calls_status_check",
        ),
        _owner("tool_calls"),
    )
    op.create_index("idx_tool_calls_tool", "tool_calls", ["tool", "started_at"])
    op.create_index("idx_tool_calls_session", "tool_calls", ["voice_session_id", "status"])
    op.create_index("idx_tool_calls_conversation", "tool_calls", ["conversation_id"])


def _log() -> None:
    op.create_table(
        "events",
        sa.Column("position", Position, primary_key=True, autoincrement=False),
        sa.Column("type", Words, nullable=False),
        sa.Column("data", Words, nullable=False),
        sa.Column("user_id", Words, nullable=False),
        sa.Column("conversation_id", Words),
        sa.Column("voice_session_id", Words),
        sa.Column("created_at", Utc, nullable=False),
    )
    op.create_index("idx_events_user", "events", ["user_id", "position"])
    op.create_index("idx_events_session", "events", ["voice_session_id", "position"])
    head = op.create_table(
        "log_head",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("position", Position, nullable=False),
        sa.CheckConstraint("id = 1", name="log_head_single_check"),
    )
    op.bulk_insert(head, [{"id": 1, "position": 0}])
