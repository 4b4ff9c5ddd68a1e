"""A browser that takes notices knows the token that it was subscribed with."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from vivavoce.store.columns import Words

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("push_subscriptions", sa.Column("token", Words))
