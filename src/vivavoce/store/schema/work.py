"""The tables of work that outlives its turn: delegated tasks, and what needs a yes.

The name `tasks` is that of seed 004, for what the user has to do (`schema_agenda`).

They outlive their conversation too: it is let go of, not taken along. That
takes two keys. One sets `conversation_id` to NULL; the other says whose it
must be, and would have to set `user_id` to NULL as well.
"""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Column, ForeignKeyConstraint, Index, Integer, Table

from vivavoce.store.columns import Document, Id, Utc, Words
from vivavoce.store.schema.talk import metadata


def belonging(table: str) -> tuple[ForeignKeyConstraint, ForeignKeyConstraint]:
    """PostgreSQL sees to keys in the order they were made, a dump makes them by name."""
    return (
        ForeignKeyConstraint(
            ["conversation_id"],
            ["conversations.id"],
            name=f"{table}_conversation_fkey",
            ondelete="SET NULL",
        ),
        ForeignKeyConstraint(
            ["conversation_id", "user_id"],
            ["conversations.id", "conversations.user_id"],
            name=f"{table}_owner_fkey",
        ),
    )


delegated_tasks = Table(
    "delegated_tasks",
    metadata,
    Column("id", Words, primary_key=True),
    Column("user_id", Words, nullable=False),
    Column("conversation_id", Id),
    Column("voice_session_id", Words),
    Column("call_id", Words),
    Column("title", Words, nullable=False),
    Column("description", Words, nullable=False),
    Column("agent", Words, nullable=False),
    Column("backend", Words, nullable=False),
    Column("status", Words, nullable=False),
    Column("phase", Words),
    Column("progress", Words),
    Column("percentage", Integer),
    Column("question_id", Words),
    Column("question", Words),
    Column("choices", Document),
    Column("asked_at", Utc),
    Column("result", Words, nullable=False),
    Column("files_changed", Document, nullable=False),
    Column("error", Words),
    Column("tried", Document, nullable=False),
    Column("suggestions", Document, nullable=False),
    Column("created_at", Utc, nullable=False),
    Column("updated_at", Utc, nullable=False),
    Column("finished_at", Utc),
    Column("told_at", Utc),
    CheckConstraint(
        "status IN ('running', 'waiting', 'completed', 'failed', 'cancelled')",
        name="delegated_tasks_status_check",
    ),
    *belonging("delegated_tasks"),
    Index("idx_delegated_tasks_user", "user_id", "created_at"),
    Index("idx_delegated_tasks_told", "user_id", "told_at", "created_at"),
    Index("idx_delegated_tasks_status", "status", "created_at"),
    Index("idx_delegated_tasks_conversation", "conversation_id"),
)

approvals = Table(
    "approvals",
    metadata,
    Column("id", Words, primary_key=True),
    Column("user_id", Words, nullable=False),
    Column("conversation_id", Id),
    Column("voice_session_id", Words),
    Column("call_id", Words),
    Column("task_id", Words),
    Column("tool", Words, nullable=False),
    Column("arguments", Document, nullable=False),
    Column("question", Words, nullable=False),
    Column("status", Words, nullable=False),
    Column("requested_at", Utc, nullable=False),
    Column("expires_at", Utc, nullable=False),
    Column("resolved_at", Utc),
    Column("resolved_by", Words),
    Column("words", Words),
    CheckConstraint(
        "status IN ('pending', 'granted', 'denied', 'expired')", name="approvals_status_check"
    ),
    CheckConstraint(
        "resolved_by IN ('voice', 'click', 'timeout', 'restart', 'cancel')",
        name="approvals_resolved_by_check",
    ),
    *belonging("approvals"),
    Index("idx_approvals_status", "status", "requested_at"),
    Index("idx_approvals_conversation", "conversation_id"),
)
