"""Row-level security on PostgreSQL, for those who come past the server (Supabase's API does).

Every table is closed; a policy opens it for the rows of whoever asks. The
server's own role owns the tables, which policies do not bind. Who asks is what
Supabase says, or, where there is no Supabase, the same claim of the same token.
Migrations use `close` and `open_again`, each with the access it knew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

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

_CLAIM = "SELECT nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'sub'"
_SUPABASE = "SELECT auth.uid()::text"


def close(connection: Connection, access: Mapping[str, tuple[str, ...]]) -> None:
    """On SQLite there is nobody but the server."""
    if connection.dialect.name != "postgresql":
        return
    run = connection.exec_driver_sql
    there = run("SELECT to_regprocedure('auth.uid()') IS NOT NULL").scalar_one()
    run(
        "CREATE FUNCTION vivavoce_uid() RETURNS text LANGUAGE sql STABLE "
        f"SET search_path = '' AS $$ {_SUPABASE if there else _CLAIM} $$"
    )
    for table, commands in access.items():
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


def open_again(connection: Connection, access: Mapping[str, tuple[str, ...]]) -> None:
    if connection.dialect.name != "postgresql":
        return
    run = connection.exec_driver_sql
    for table, commands in access.items():
        for command in commands:
            run(f"DROP POLICY {table}_{command}_own ON {table}")
        run(f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY")
    run("DROP FUNCTION vivavoce_uid()")


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


def keep_from_truncating(connection: Connection, tables: Iterable[str] = tuple(ACCESS)) -> None:
    """Takes back what a database may grant with every new table (Supabase's does)."""
    if connection.dialect.name != "postgresql":
        return
    named = ", ".join(f"'{table}'" for table in tables)
    run = connection.exec_driver_sql
    for (revoke,) in run(_UNBOUND.format(tables=named)).all():
        run(revoke)
