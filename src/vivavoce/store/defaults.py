"""What PostgreSQL fills in for those who come past the server (seed 004 §8).

The server itself leaves nothing out. Whose a row is says `security.py`, which
comes first. Migrations use `fill` and `leave`, each with the defaults it knew.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection

Defaults = Mapping[str, Mapping[str, str]]

_TIMES = {"created_at": "now()", "updated_at": "now()"}
_OWNED = {"id": "gen_random_uuid()", "user_id": "vivavoce_uid()"}

DEFAULTS: Defaults = {
    "users": {"id": "vivavoce_uid()", **_TIMES},
    "conversations": {**_OWNED, **_TIMES, "last_activity_at": "now()"},
    "messages": {
        **_OWNED,
        "created_at": "now()",
        "ordinal": "extract(epoch FROM now())::double precision * 1000",
    },
    "goals": {**_OWNED, **_TIMES, "status": "'active'"},
    "milestones": {**_OWNED, "id": "gen_random_uuid()::text", "created_at": "now()"},
    "tasks": {**_OWNED, **_TIMES, "status": "'active'"},
}


def fill(connection: Connection, defaults: Defaults) -> None:
    """On SQLite there is nobody but the server."""
    if connection.dialect.name != "postgresql":
        return
    for table, columns in defaults.items():
        changes = (f"ALTER COLUMN {name} SET DEFAULT {value}" for name, value in columns.items())
        connection.exec_driver_sql(f"ALTER TABLE {table} {', '.join(changes)}")


def leave(connection: Connection, defaults: Defaults) -> None:
    if connection.dialect.name != "postgresql":
        return
    for table, columns in defaults.items():
        changes = (f"ALTER COLUMN {name} DROP DEFAULT" for name in columns)
        connection.exec_driver_sql(f"ALTER TABLE {table} {', '.join(changes)}")
