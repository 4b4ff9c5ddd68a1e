"""The servers on one database know of each other: a name, the life it is in, and until when it is
taken to be there. Sessions, delegated work and approvals say which of them looks after them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from vivavoce.store.columns import Position, Utc, Words

revision = "0012"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "instances",
        sa.Column("name", Words, primary_key=True),
        sa.Column("epoch", Position, nullable=False),
        sa.Column("lease_until", Utc),
        sa.Column("started_at", Utc, nullable=False),
    )
    for table in ("voice_sessions", "delegated_tasks", "approvals"):
        op.add_column(table, sa.Column("owner", Words))
        op.add_column(table, sa.Column("epoch", Position))
    if op.get_bind().dialect.name == "postgresql":
        op.execute("ALTER TABLE instances ENABLE ROW LEVEL SECURITY")
