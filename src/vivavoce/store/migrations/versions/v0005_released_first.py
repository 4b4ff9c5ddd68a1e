"""The first schema that is released: the one that `schema.py` makes.

A new database never comes through here, and there is none older. It is the stone that the
next migration stands on; what was before it is in docs/adr/0035-one-schema-to-begin-with.md.
"""

from __future__ import annotations

revision = "0005"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    raise NotImplementedError("a new database is made from `schema.py`")
