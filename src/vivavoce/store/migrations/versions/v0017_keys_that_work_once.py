"""Keys that work once: for a user's browser on a page of somebody else's."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from vivavoce.store.columns import Document, Utc, Words

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "one_time_keys",
        sa.Column("digest", Words, primary_key=True),
        sa.Column("user_id", Words, nullable=False),
        sa.Column("purpose", Words, nullable=False),
        sa.Column("created_at", Utc, nullable=False),
        sa.Column("expires_at", Utc, nullable=False),
        sa.Column("data", Document, nullable=False),
    )
    op.create_index("idx_one_time_keys_expires", "one_time_keys", ["expires_at"])
    op.create_index("idx_one_time_keys_user", "one_time_keys", ["user_id"])
    if op.get_bind().dialect.name == "postgresql":
        op.execute("ALTER TABLE one_time_keys ENABLE ROW LEVEL SECURITY")
