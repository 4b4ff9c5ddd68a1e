"""The servers on one database know of each other: a name, the life it is in, and until when it is
taken to be there. Sessions, delegated work and approvals say which of them looks after them, and
what arrives at the wrong one is asked of the right one."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from vivavoce.store.columns import Encoded, Position, Utc, Words

revision = "0012"
down_revision = "0009"
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
    op.create_table(
        "asks",
        *(sa.Column(name, Words, nullable=False) for name in ("id", "user_id", "owner")),
        sa.Column("epoch", Position, nullable=False),
        sa.Column("what", Words, nullable=False),
        sa.Column("given", Encoded, nullable=False),
        sa.Column("plain", Words, nullable=False),
        sa.Column("answer", Encoded),
        sa.Column("asked_at", Utc, nullable=False),
        sa.PrimaryKeyConstraint("id", name="asks_pkey"),
    )
    op.create_index("idx_asks_owner", "asks", ["owner", "epoch"])
    op.create_index("idx_asks_user", "asks", ["user_id"])
    for table in ("voice_sessions", "delegated_tasks", "approvals"):
        op.add_column(table, sa.Column("owner", Words))
        op.add_column(table, sa.Column("epoch", Position))
    if op.get_bind().dialect.name == "postgresql":
        for table in ("instances", "asks"):
            op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
