"""An approval knows who asked, with which role, because of whose words, how far the yes goes, and
its end;
delegated work knows its user's role; and there are an audit trail, tokens of operators, and how
much each user has stored."""

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
    user = sa.text("'user'")
    op.add_column("approvals", sa.Column("role", Words, nullable=False, server_default=user))
    op.create_index("idx_approvals_reach", "approvals", ["user_id", "reach"])
    words = ("action", "what", "outcome", "user_id", "address", "role", "token", "request_id")
    op.create_table(
        "audit",
        sa.Column("position", Position, primary_key=True, autoincrement=False),
        sa.Column("at", Utc, nullable=False),
        *(sa.Column(name, Words, nullable=False) for name in (*words, "digest", "seal")),
    )
    head = op.create_table(
        "audit_head",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        *(sa.Column(name, Position, nullable=False) for name in ("position", "swept_position")),
        *(sa.Column(name, Words, nullable=False) for name in ("seal", "swept_seal")),
        sa.CheckConstraint("id = 1", "audit_head_single_check"),
    )
    begins = {"id": 1, "position": 0, "swept_position": 0, "seal": "", "swept_seal": ""}
    op.bulk_insert(head, [begins])
    op.create_index("idx_audit_user", "audit", ["user_id", "position"])
    op.add_column(
        "delegated_tasks",
        sa.Column("role", Words, nullable=False, server_default=user),
    )
    op.create_table(
        "access_tokens",
        sa.Column("name", Words, primary_key=True),
        *(sa.Column(name, Words, nullable=False) for name in ("digest", "role")),
        sa.Column("created_at", Utc, nullable=False),
        *(sa.Column(name, Utc) for name in ("expires_at", "revoked_at")),
        sa.CheckConstraint("role IN ('user', 'developer', 'operator')", "access_tokens_role_check"),
    )
    op.create_table(
        "stored",
        sa.Column("user_id", Words, primary_key=True),
        sa.Column("bytes", Position, nullable=False),
    )
    if op.get_bind().dialect.name == "postgresql":
        for table in ("audit", "audit_head", "access_tokens", "stored"):
            op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
