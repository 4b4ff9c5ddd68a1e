"""Tasks and approvals, and calls that delegated work makes."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from vivavoce.store.columns import Document, Id, Position, Utc, Words

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_BEFORE = "origin IN ('model', 'http', 'webhook')"
_NOW = "origin IN ('model', 'http', 'webhook', 'task')"


def upgrade() -> None:
    _widen(_BEFORE, _NOW)
    op.create_index("idx_tool_calls_user", "tool_calls", ["user_id", "started_at"])
    _tasks()
    _approvals()


def downgrade() -> None:
    op.drop_table("approvals")
    op.drop_table("tasks")
    op.drop_index("idx_tool_calls_user", table_name="tool_calls")
    op.execute("UPDATE tool_calls SET origin = 'model' WHERE origin = 'task'")
    _widen(_NOW, _BEFORE)


def _widen(before: str, after: str) -> None:
    """SQLite makes the table anew, from what is said here: it cannot tell what its checks were."""
    table, name = _tool_calls(before), "tool_calls_origin_check"
    with op.batch_alter_table("tool_calls", copy_from=table) as batch:
        batch.drop_constraint(name, type_="check")
        batch.create_check_constraint(name, sa.text(after))


def _tool_calls(origin: str) -> sa.Table:
    return sa.Table(
        "tool_calls",
        sa.MetaData(),
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
        sa.CheckConstraint(origin, name="tool_calls_origin_check"),
        sa.CheckConstraint(
            "status IN ('started', 'completed', 'failed', 'unknown')",
            name="tool_calls_status_check",
        ),
        sa.ForeignKeyConstraint(
            ["conversation_id", "user_id"],
            ["conversations.id", "conversations.user_id"],
            name="tool_calls_conversation_fkey",
            ondelete="CASCADE",
        ),
        sa.Index("idx_tool_calls_tool", "tool", "started_at"),
        sa.Index("idx_tool_calls_session", "voice_session_id", "status"),
        sa.Index("idx_tool_calls_conversation", "conversation_id"),
    )


def _belonging(table: str) -> tuple[sa.ForeignKeyConstraint, sa.ForeignKeyConstraint]:
    return (
        sa.ForeignKeyConstraint(
            ["conversation_id"],
            ["conversations.id"],
            name=f"{table}_conversation_fkey",
            ondelete="SET NULL",
        ),
        sa.ForeignKeyConstraint(
            ["conversation_id", "user_id"],
            ["conversations.id", "conversations.user_id"],
            name=f"{table}_owner_fkey",
        ),
    )


def _tasks() -> None:
    op.create_table(
        "tasks",
        sa.Column("id", Words, primary_key=True),
        sa.Column("user_id", Words, nullable=False),
        sa.Column("conversation_id", Id),
        sa.Column("voice_session_id", Words),
        sa.Column("call_id", Words),
        sa.Column("title", Words, nullable=False),
        sa.Column("description", Words, nullable=False),
        sa.Column("agent", Words, nullable=False),
        sa.Column("backend", Words, nullable=False),
        sa.Column("status", Words, nullable=False),
        sa.Column("phase", Words),
        sa.Column("progress", Words),
        sa.Column("percentage", sa.Integer),
        sa.Column("question_id", Words),
        sa.Column("question", Words),
        sa.Column("choices", Document),
        sa.Column("asked_at", Utc),
        sa.Column("result", Words, nullable=False),
        sa.Column("files_changed", Document, nullable=False),
        sa.Column("error", Words),
        sa.Column("tried", Document, nullable=False),
        sa.Column("suggestions", Document, nullable=False),
        sa.Column("created_at", Utc, nullable=False),
        sa.Column("updated_at", Utc, nullable=False),
        sa.Column("finished_at", Utc),
        sa.Column("told_at", Utc),
        sa.CheckConstraint(
            "status IN ('running', 'waiting', 'completed', 'failed', 'cancelled')",
            name="tasks_status_check",
        ),
        *_belonging("tasks"),
    )
    op.create_index("idx_tasks_user", "tasks", ["user_id", "created_at"])
    op.create_index("idx_tasks_told", "tasks", ["user_id", "told_at", "created_at"])
    op.create_index("idx_tasks_status", "tasks", ["status", "created_at"])
    op.create_index("idx_tasks_conversation", "tasks", ["conversation_id"])


def _approvals() -> None:
    op.create_table(
        "approvals",
        sa.Column("id", Words, primary_key=True),
        sa.Column("user_id", Words, nullable=False),
        sa.Column("conversation_id", Id),
        sa.Column("voice_session_id", Words),
        sa.Column("call_id", Words),
        sa.Column("task_id", Words),
        sa.Column("tool", Words, nullable=False),
        sa.Column("arguments", Document, nullable=False),
        sa.Column("question", Words, nullable=False),
        sa.Column("status", Words, nullable=False),
        sa.Column("requested_at", Utc, nullable=False),
        sa.Column("expires_at", Utc, nullable=False),
        sa.Column("resolved_at", Utc),
        sa.Column("resolved_by", Words),
        sa.Column("words", Words),
        sa.CheckConstraint(
            "status IN ('pending', 'granted', 'denied', 'expired')",
            name="approvals_status_check",
        ),
        sa.CheckConstraint(
            "resolved_by IN ('voice', 'click', 'timeout', 'restart', 'cancel')",
            name="approvals_resolved_by_check",
        ),
        *_belonging("approvals"),
    )
    op.create_index("idx_approvals_status", "approvals", ["status", "requested_at"])
    op.create_index("idx_approvals_conversation", "approvals", ["conversation_id"])
