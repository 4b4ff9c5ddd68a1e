"""Row-level security on PostgreSQL, for those who come past the server (Supabase's API does).

Every table is closed; a policy opens it for the rows of whoever asks. The
server's own role owns the tables, which policies do not bind. Who asks is what
Supabase says, or, where there is no Supabase, the same claim of the same token.
What they leave out is filled in (seed 004 §8); the server itself leaves nothing out.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection

READ = ("select",)
KEEP = ("select", "insert", "update")
ALL = (*KEEP, "delete")
NONE: tuple[str, ...] = ()

ACCESS: Mapping[str, tuple[str, ...]] = {
    "users": KEEP,
    # Its sessions go with a conversation, and with them the count of today's.
    "conversations": KEEP,
    "messages": ALL,
    "goals": ALL,
    "milestones": ALL,
    "tasks": ALL,
    # What the server counts, did and asks for; an answer to it goes through the server.
    "voice_sessions": READ,
    "tool_calls": READ,
    "intents": READ,
    "delegated_tasks": READ,
    "approvals": READ,
    "events": READ,
    # Its own business.
    "snapshots": NONE,
    "outbox": NONE,
    "spent_sessions": NONE,
    "log_head": NONE,
    "alembic_version": NONE,
}

_TIMES = {"created_at": "now()", "updated_at": "now()"}
_OWNED = {"id": "gen_random_uuid()", "user_id": "vivavoce_uid()"}

DEFAULTS: Mapping[str, Mapping[str, str]] = {
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

_CLAIM = "SELECT nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'sub'"
_SUPABASE = "SELECT auth.uid()::text"


def install(connection: Connection) -> None:
    """On SQLite there is nobody but the server."""
    if connection.dialect.name == "postgresql":
        _close(connection)
        _keep_from_truncating(connection)
        _fill_in(connection)


def _close(connection: Connection) -> None:
    run = connection.exec_driver_sql
    there = run("SELECT to_regprocedure('auth.uid()') IS NOT NULL").scalar_one()
    run(
        "CREATE FUNCTION vivavoce_uid() RETURNS text LANGUAGE sql STABLE "
        f"SET search_path = '' AS $$ {_SUPABASE if there else _CLAIM} $$"
    )
    for table, commands in ACCESS.items():
        run(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        # In brackets: asked once a statement, not once a row.
        mine = f"{'id' if table == 'users' else 'user_id'} = (SELECT vivavoce_uid())"
        for command in commands:
            run(f"CREATE POLICY {table}_{command}_own ON {table} FOR {_policy(command, mine)}")


def _policy(command: str, mine: str) -> str:
    match command:
        case "insert":
            return f"INSERT WITH CHECK ({mine})"
        case "update":
            return f"UPDATE USING ({mine}) WITH CHECK ({mine})"
        case _:
            return f"{command.upper()} USING ({mine})"


# What no policy binds, except for roles that none is meant to bind (Supabase's service role).
_UNBOUND = """
SELECT DISTINCT format('REVOKE TRUNCATE, TRIGGER, REFERENCES ON %%s FROM %%s', c.oid::regclass,
    CASE WHEN granted.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(r.rolname) END)
FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) granted
    LEFT JOIN pg_roles r ON r.oid = granted.grantee
WHERE c.oid = ANY (ARRAY[{tables}]::regclass[])
    AND granted.privilege_type IN ('TRUNCATE', 'TRIGGER', 'REFERENCES')
    AND granted.grantee <> c.relowner
    AND NOT coalesce(r.rolbypassrls OR r.rolsuper, false)
"""


def _keep_from_truncating(connection: Connection) -> None:
    """Takes back what a database may grant with every new table (Supabase's does)."""
    named = ", ".join(f"'{table}'" for table in ACCESS)
    run = connection.exec_driver_sql
    for (revoke,) in run(_UNBOUND.format(tables=named)).all():
        run(revoke)


def _fill_in(connection: Connection) -> None:
    for table, columns in DEFAULTS.items():
        changes = (f"ALTER COLUMN {name} SET DEFAULT {value}" for name, value in columns.items())
        connection.exec_driver_sql(f"ALTER TABLE {table} {', '.join(changes)}")
