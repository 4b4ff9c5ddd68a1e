"""Browsers that take notices with their page closed, and the notices on their way."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from vivavoce.store.columns import Document, Id, Said, Utc, Words

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "push_subscriptions",
        sa.Column("id", Id, primary_key=True),
        *(
            sa.Column(name, Words, nullable=False)
            for name in ("user_id", "endpoint", "p256dh", "auth", "device")
        ),
        sa.Column("created_at", Utc, nullable=False),
        sa.Column("updated_at", Utc, nullable=False),
        sa.Column("role", Words, nullable=False),
        sa.UniqueConstraint("id", "user_id", name="push_subscriptions_owner_key"),
        sa.CheckConstraint(
            "role IN ('user', 'developer', 'operator')", "push_subscriptions_role_check"
        ),
    )
    op.create_index("idx_push_subscriptions_user", "push_subscriptions", ["user_id", "created_at"])
    op.create_table(
        "push_messages",
        sa.Column("id", Id, primary_key=True),
        sa.Column("user_id", Words, nullable=False),
        sa.Column("subscription_id", Id, nullable=False),
        sa.Column("about", Words, nullable=False),
        sa.Column("status", Words, nullable=False),
        *(
            sa.Column(name, Utc, nullable=False)
            for name in ("created_at", "updated_at", "due_at", "expires_at")
        ),
        sa.Column("data", Document, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("last_error", Said),
        sa.CheckConstraint(
            "status IN ('pending', 'sent', 'dropped')", "push_messages_status_check"
        ),
        sa.ForeignKeyConstraint(
            ["subscription_id", "user_id"],
            ["push_subscriptions.id", "push_subscriptions.user_id"],
            name="push_messages_subscription_fkey",
            ondelete="CASCADE",
        ),
    )
    op.create_index("idx_push_messages_due", "push_messages", ["status", "due_at"])
    op.create_index("idx_push_messages_subscription", "push_messages", ["subscription_id"])
    op.create_index("idx_push_messages_user", "push_messages", ["user_id"])
    if op.get_bind().dialect.name == "postgresql":
        for table in ("push_subscriptions", "push_messages"):
            op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
