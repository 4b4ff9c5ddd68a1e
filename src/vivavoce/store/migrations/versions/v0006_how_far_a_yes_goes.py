"""An approval knows who asked, because of whose words, how far the yes goes, and its end."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from vivavoce.store.columns import Utc, Words

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in ("asked_by", "because", "reach"):
        op.add_column("approvals", sa.Column(name, Words))
    op.add_column("approvals", sa.Column("revoked_at", Utc))
    op.create_index("idx_approvals_reach", "approvals", ["user_id", "reach"])
