"""What a session went through is recorded, so that it can be played again (`vivavoce replay`)."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from vivavoce.store.columns import Document, Position, Utc, Words

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "recordings",
        sa.Column("session_id", Words, primary_key=True),
        sa.Column("number", Position, primary_key=True, autoincrement=False),
        sa.Column("user_id", Words, nullable=False),
        sa.Column("saved_at", Utc, nullable=False),
        sa.Column("data", Document, nullable=False),
        sa.ForeignKeyConstraint(
            ["session_id", "user_id"],
            ["voice_sessions.id", "voice_sessions.user_id"],
            name="recordings_session_fkey",
            ondelete="CASCADE",
        ),
    )
    op.create_index("idx_recordings_saved", "recordings", ["saved_at"])
    if op.get_bind().dialect.name == "postgresql":
        op.execute("ALTER TABLE recordings ENABLE ROW LEVEL SECURITY")
