"""The place of an entry in its conversation, and what brings a session back."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from vivavoce.store.columns import Document, Utc, Words

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

# Milliseconds since the epoch, as new entries have it.
_EPOCH_MS = {
    "postgresql": "EXTRACT(EPOCH FROM created_at)::double precision * 1000",
    "sqlite": "round((julianday(created_at) - 2440587.5) * 86400000.0)",
}


def upgrade() -> None:
    column = sa.Column("ordinal", sa.Double, nullable=False, server_default=sa.text("0"))
    op.add_column("messages", column)
    op.execute(f"UPDATE messages SET ordinal = {_EPOCH_MS[op.get_bind().dialect.name]}")  # noqa: S608
    op.create_index("idx_messages_ordinal", "messages", ["conversation_id", "ordinal"])
    op.create_table(
        "snapshots",
        sa.Column("session_id", Words, primary_key=True),
        sa.Column("user_id", Words, nullable=False),
        sa.Column("saved_at", Utc, nullable=False),
        sa.Column("data", Document, nullable=False),
        sa.ForeignKeyConstraint(
            ["session_id", "user_id"],
            ["voice_sessions.id", "voice_sessions.user_id"],
            name="snapshots_session_fkey",
            ondelete="CASCADE",
        ),
    )
    op.create_index("idx_snapshots_saved", "snapshots", ["saved_at"])


def downgrade() -> None:
    op.drop_table("snapshots")
    op.drop_index("idx_messages_ordinal", table_name="messages")
    op.drop_column("messages", "ordinal")
