"""Brings a database to the schema of this version, and refuses one from the future.

A new database is made from `schema.py` directly and an up-to-date one is left
alone, so Alembic (0.4 s to import) is loaded only when there is work for it.

On PostgreSQL it also closes every table by row-level security, for those who come
past the server (Supabase's API does): a policy opens it for the rows of whoever
asks. The server's own role owns the tables, which policies do not bind.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection, ForeignKeyConstraint, inspect, select, text
from sqlalchemy.schema import AddConstraint, CreateIndex, CreateTable

from vivavoce.errors import Unavailable
from vivavoce.store import limits, search
from vivavoce.store.database import Database
from vivavoce.store.schema import AUDIT_BEGINS, audit_head, log_head, metadata, versions

READ = ("select",)
KEEP = ("select", "insert", "update")
ALL = (*KEEP, "delete")
NONE: tuple[str, ...] = ()

ACCESS: Mapping[str, tuple[str, ...]] = {
    # Its sessions go with a conversation, and with them the count of today's.
    **dict.fromkeys(("users", "conversations"), KEEP),
    **dict.fromkeys(("messages", "goals", "milestones", "tasks"), ALL),
    # What the server counts, did and asks for; an answer to it goes through the server.
    **dict.fromkeys(("voice_sessions", "tool_calls", "intents"), READ),
    **dict.fromkeys(("delegated_tasks", "approvals", "events", "reminders"), READ),
    # Its own business.
    **dict.fromkeys(("snapshots", "outbox", "spent_sessions", "log_head", "alembic_version"), NONE),
    "recordings": NONE,
    "stored": NONE,
    "access_tokens": NONE,
    **dict.fromkeys(("one_time_keys", "push_subscriptions", "push_messages"), NONE),
    "instances": NONE,
    "asks": NONE,
    "audit": NONE,
    "audit_head": NONE,
}

_TIMES = {"created_at": "now()", "updated_at": "now()"}
_OWNED = {"id": "gen_random_uuid()", "user_id": "vivavoce_uid()"}

_LOOK = {"look_at": "now()", "noted_until": "now()"}

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
    "tasks": {**_OWNED, **_TIMES, "status": "'active'", **_LOOK},
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


SCRIPTS = "vivavoce.store:migrations"
# Every revision in `migrations/versions`, oldest first; a test compares the two.
REVISIONS = ("0005", "0006", "0007", "0009", "0012", "0013", "0015", "0016", "0017", "0018", "0019")
HEAD = REVISIONS[-1]

# Any number will do, as long as every version of us takes the same one.
_LOCK = text("SELECT pg_advisory_xact_lock(7620384710)")


def prepare(database: Database) -> None:
    """Create, upgrade or leave alone. Safe when several processes start at once."""
    database.make_room()
    engine = database.migrator()
    try:
        with engine.connect() as connection:
            if database.postgres:  # on SQLite BEGIN is the lock
                if current(connection) == HEAD:
                    return
                connection.rollback()  # or we wait with what whoever has the lock waits for
                connection.execute(_LOCK)
            found = current(connection)
            if found is None:
                create(connection)
            elif found not in REVISIONS:
                raise _unknown(found)
            elif found != HEAD:
                _upgrade(connection)
            connection.commit()
    finally:
        engine.dispose()


def current(connection: Connection) -> str | None:
    """The revision of the database; None for one that has never been ours."""
    if not inspect(connection).has_table(versions.name):
        return None
    return connection.execute(select(versions.c.version_num)).scalar_one_or_none()


def _unknown(found: str) -> Unavailable:
    if found < REVISIONS[0]:
        return Unavailable(
            f"The database is of a Vivavoce that was never released: it has schema {found}, and "
            f"the oldest that can be brought to this version is {REVISIONS[0]}. "
            "Use another database."
        )
    return Unavailable(
        f"The database is newer than this Vivavoce: it has schema {found}, and this "
        f"version knows up to {HEAD}. Update Vivavoce, or use another database."
    )


def _upgrade(connection: Connection) -> None:
    """Within the caller's transaction."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", SCRIPTS)
    config.attributes["connection"] = connection
    command.upgrade(config, HEAD)
    if connection.dialect.name == "sqlite":
        # Foreign keys are off while tables are rebuilt; nothing may be left pointing nowhere.
        broken = connection.exec_driver_sql("PRAGMA foreign_key_check").first()
        if broken is not None:
            raise Unavailable("The migration would break references; nothing was changed.")


def _make_tables(connection: Connection) -> None:
    """Goals point at conversations and those at goals: PostgreSQL gets the last keys last.

    `create_all` would do it too, but marks those keys as made for every database after it,
    and SQLite, which has them within the table, would go without.
    """
    if connection.dialect.name == "sqlite":
        metadata.create_all(connection, checkfirst=False)
        return
    late: list[ForeignKeyConstraint] = []
    for table in metadata.sorted_tables:
        keys = table.foreign_key_constraints
        now = [key for key in keys if not key.use_alter]
        late += [key for key in keys if key.use_alter]
        connection.execute(CreateTable(table, include_foreign_key_constraints=now))
        for index in table.indexes:
            # Given in `schema`, it would import this dialect for every SQLite too.
            index.dialect_options["postgresql"]["where"] = index.dialect_options["sqlite"]["where"]
            connection.execute(CreateIndex(index))
    for key in sorted(late, key=lambda key: str(key.name)):  # in the order `schema` wants
        connection.execute(AddConstraint(key, isolate_from_table=False))


def create(connection: Connection) -> None:
    taken = metadata.tables.keys() & set(inspect(connection).get_table_names())
    if taken:
        raise Unavailable(
            f"The database has tables of its own named {', '.join(sorted(taken))}. "
            "Give Vivavoce an empty database, or a schema of its own."
        )
    _make_tables(connection)
    versions.create(connection, checkfirst=True)
    search.install(connection)
    limits.install(connection)
    install(connection)
    connection.execute(log_head.insert().values(id=1, position=0))
    connection.execute(audit_head.insert().values(AUDIT_BEGINS))
    connection.execute(versions.insert().values(version_num=HEAD))
