"""The role of whoever asked for a session has a column of its own. It was among what they asked
for, in the session's metadata. And what a user plans counts as stored, too."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from vivavoce.store import limits
from vivavoce.store.columns import Words

revision = "0015"
down_revision = "0013"
branch_labels = None
depends_on = None

_SQLITE = """
UPDATE voice_sessions SET
    role = coalesce(json_extract(metadata, '$.options.role'), 'operator'),
    metadata = json_remove(metadata, '$.options.role')
"""
_POSTGRES = """
UPDATE voice_sessions SET
    role = coalesce(metadata::jsonb #>> '{options,role}', 'operator'),
    metadata = (metadata::jsonb #- '{options,role}')
"""


_UNKNOWN = """
UPDATE voice_sessions SET role = 'user' WHERE role NOT IN ('user', 'developer', 'operator')
"""


def upgrade() -> None:
    least = sa.text("'user'")
    op.add_column("voice_sessions", sa.Column("role", Words, nullable=False, server_default=least))
    # Before there were roles, whoever was let in might do everything.
    op.execute(_POSTGRES if op.get_bind().dialect.name == "postgresql" else _SQLITE)
    op.execute(_UNKNOWN)
    limits.count_anew(op.get_bind())
