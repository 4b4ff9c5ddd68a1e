"""An approval knows who asked, because of whose words, how far the yes goes, and its end; and
there is an audit trail."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from vivavoce.store.columns import Position, Utc, Words

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in ("asked_by", "because", "reach"):
        op.add_column("approvals", sa.Column(name, Words))
    op.add_column("approvals", sa.Column("revoked_at", Utc))
    op.create_index("idx_approvals_reach", "approvals", ["user_id", "reach"])
    words = ("action", "what", "outcome", "user_id", "address", "request_id", "digest", "seal")
    op.create_table(
        "audit",
        sa.Column("position", Position, primary_key=True, autoincrement=False),
        sa.Column("at", Utc, nullable=False),
        *(sa.Column(name, Words, nullable=False) for name in words),
    )
    op.create_index("idx_audit_user", "audit", ["user_id", "position"])
    if op.get_bind().dialect.name == "postgresql":
        op.execute("ALTER TABLE audit ENABLE ROW LEVEL SECURITY")
