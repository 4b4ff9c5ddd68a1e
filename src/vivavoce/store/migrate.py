"""Brings a database to the schema of this version, and refuses one from the future.

A new database is made from `schema.py` directly and an up-to-date one is left
alone, so Alembic (0.4 s to import) is loaded only when there is work for it.
"""

from __future__ import annotations

from sqlalchemy import Connection, ForeignKeyConstraint, inspect, select, text
from sqlalchemy.schema import AddConstraint, CreateIndex, CreateTable

from vivavoce.errors import Unavailable
from vivavoce.store import search, security
from vivavoce.store.database import Database
from vivavoce.store.schema import log_head, metadata, versions

SCRIPTS = "vivavoce.store:migrations"
# Every revision in `migrations/versions`, oldest first; a test compares the two.
REVISIONS = ("0005",)
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
    security.install(connection)
    connection.execute(log_head.insert().values(id=1, position=0))
    connection.execute(versions.insert().values(version_num=HEAD))
