"""Goals, to-dos and profiles know the least role of those who wrote them; and what a user has
stored is counted in all tables that hold words of theirs."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from vivavoce.store import limits
from vivavoce.store.columns import Words

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    operator = sa.text("'operator'")
    for table in ("users", "goals", "tasks"):
        op.add_column(table, sa.Column("role", Words, nullable=False, server_default=operator))
    limits.count_anew(op.get_bind())
