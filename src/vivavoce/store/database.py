"""Where the database is and how each kind of connection to it behaves.

Owns the URL, the engines and their settings. Knows no tables.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sqlite3
import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from itertools import chain, repeat
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.pool import NullPool, QueuePool

from vivavoce.errors import Unavailable
from vivavoce.store.columns import to_json

BUSY_MS = 10_000
ASK_AGAIN_SECONDS = 0.01
CHECKPOINT_PAGES = 8000  # 32 MB of write-ahead log; most was copied by then (`checkpoints`)
CACHE_KIB = 32 * 1024
CONNECT_SECONDS = 10
# A process that is stopped in the middle of a commit must not hold the others for ever.
IDLE_IN_TRANSACTION = "30s"
# One that waits for such a process waits longer than that. Whoever does not answer by then is gone,
# whatever the network says: a server that hangs, or something between that forgot us.
ANSWER_SECONDS = 35.0
# A line that broke, or a server that is started anew, is often back within a moment: so long a
# statement that reached nobody is tried again, before whoever asked is told.
AWAY_SECONDS = 1.5
AWAY_PAUSES = (0.02, 0.05, 0.1, 0.2, 0.4)
# A way that is dead says nothing; the system finds out within ten seconds.
DEAD_WAY: dict[str, int] = {
    "keepalives": 1,
    "keepalives_idle": 4,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}


@dataclass(frozen=True, slots=True)
class Database:
    """A place to store things; `parse` makes one from a URL."""

    url: URL

    @property
    def postgres(self) -> bool:
        return self.url.get_backend_name() == "postgresql"

    @property
    def dialect(self) -> str:
        return self.url.get_backend_name()

    def make_room(self) -> None:
        """The directory and the file of SQLite, for the owner's eyes only."""
        if self.postgres:
            return
        path = Path(str(self.url.database))
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # SQLite gives its -wal and -shm files the mode of the database file.
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))

    def writer(self) -> Engine:
        """One connection, one transaction at a time."""
        engine = self.engine(poolclass=QueuePool, pool_size=1, max_overflow=0)
        if self.postgres:
            _impatient(engine)
            event.listen(engine, "connect", _durable_postgres)
        else:
            own_transactions(engine, foreign_keys=True)
        return engine

    def readers(self, count: int) -> Engine:
        """Each read is one statement, so it is its own snapshot and needs no BEGIN."""
        engine = self.engine(
            poolclass=QueuePool, pool_size=count, max_overflow=0, isolation_level="AUTOCOMMIT"
        )
        if self.postgres:
            _impatient(engine)
        else:
            event.listen(engine, "connect", _read_only_sqlite)
        return engine

    def migrator(self) -> Engine:
        engine = self.engine(poolclass=NullPool)
        if not self.postgres:
            # Rebuilding a table must not cascade into the rows that point at it.
            own_transactions(engine, foreign_keys=False)
        return engine

    def listener(self) -> Engine:
        engine = self.keeper()
        _impatient(engine)
        return engine

    def keeper(self) -> Engine:
        """For what takes as long as it takes."""
        return self.engine(poolclass=NullPool, isolation_level="AUTOCOMMIT")

    def engine(self, **options: Any) -> Engine:
        if self.postgres:
            ours = {"connect_timeout": CONNECT_SECONDS, **DEAD_WAY}
            given = {name: value for name, value in ours.items() if name not in self.url.query}
            options["connect_args"] = given
        return create_engine(
            self.url,
            json_serializer=to_json,
            json_deserializer=json.loads,
            hide_parameters=True,  # what people said does not belong in an error
            **options,
        )


def parse(url: str) -> Database:
    """A `Database` for sqlite:////path or postgresql://…, or a clear refusal."""
    try:
        parsed = make_url(url)
    except ArgumentError:
        # Without the value: a malformed URL may hold a password.
        raise Unavailable("The database URL cannot be read.") from None
    match parsed.drivername:
        case "sqlite" | "sqlite+pysqlite":
            if parsed.database in (None, "", ":memory:"):
                raise Unavailable("SQLite needs a file: sqlite:////path/to/vivavoce.db.")
            return Database(parsed)
        case "postgres" | "postgresql" | "postgresql+psycopg":
            if importlib.util.find_spec("psycopg") is None:
                raise Unavailable(
                    "PostgreSQL needs its driver: install vivavoce[postgres] "
                    "(in a checkout: .venv/bin/pip install -e '.[postgres]')."
                )
            return Database(parsed.set(drivername="postgresql+psycopg"))
        case other:
            raise Unavailable(f"No store for {other}: use sqlite:////path or postgresql://…")


def own_transactions(engine: Engine, *, foreign_keys: bool) -> None:
    """Take the write lock at BEGIN: a lock that is upgraded later fails instead of waiting."""

    @event.listens_for(engine, "connect")
    def _connect(connection: Any, record: Any) -> None:
        connection.isolation_level = None
        connection.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
        write_ahead(connection)
        connection.execute("PRAGMA synchronous = FULL")
        # Entries are named at random: checkpoint seldom, and keep their index in memory.
        connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
        connection.execute(f"PRAGMA cache_size = {-CACHE_KIB}")
        # What is deleted is overwritten, and not only no longer found.
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute(f"PRAGMA foreign_keys = {'ON' if foreign_keys else 'OFF'}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        drive(connection, "BEGIN IMMEDIATE")


def drive(connection: Connection, words: str, given: Any = (), *, many: bool = False) -> Any:
    """The driver's cursor, for a statement that is ready for it. What SQLAlchemy makes of each
    statement and of its result takes longer than most of the writer's do; only what it makes of
    an error is needed."""
    pooled, dialect = connection.connection, connection.dialect
    cursor, driver = pooled.cursor(), dialect.loaded_dbapi
    try:
        if many:
            cursor.executemany(words, given)
        else:
            cursor.execute(words, given)
    except driver.Error as error:
        gone = dialect.is_disconnect(error, pooled.dbapi_connection, cursor)
        if gone:
            connection.invalidate(error)
        raise DBAPIError.instance(
            words,
            None,
            error,
            driver.Error,
            hide_parameters=True,
            connection_invalidated=gone,
            dialect=dialect,
        ) from error
    return cursor


def waiting(engine: Engine) -> Iterator[None]:
    """Once for each try that is left, after a pause, to reach a database that is away. A file
    is never away: what refuses there has waited by itself."""
    if engine.dialect.name != "postgresql":
        return
    until = time.monotonic() + AWAY_SECONDS
    for pause in chain(AWAY_PAUSES, repeat(AWAY_PAUSES[-1])):
        if time.monotonic() + pause > until:
            return
        time.sleep(pause)
        yield


def tidy(database: Database, *, tables: Iterable[str] = (), index: str | None = None) -> bool:
    """What was deleted goes from the files as well: from a full-text `index`, which only marks it,
    and from the write-ahead log. False where a reader was in the way for long. PostgreSQL's pages
    are vacuumed; its own log and its backups are its operator's."""
    if database.postgres:
        engine = database.keeper()
        try:
            with engine.connect() as connection:
                connection.exec_driver_sql(f"VACUUM {', '.join(tables)}")
        finally:
            engine.dispose()
        return True
    with closing(sqlite3.connect(str(database.url.database), isolation_level=None)) as file:
        file.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
        file.execute("PRAGMA secure_delete = ON")
        if index is not None:
            file.execute(f"INSERT INTO {index} ({index}) VALUES ('optimize')")  # noqa: S608
        (busy, *_) = file.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return not busy


def write_ahead(connection: sqlite3.Connection) -> None:
    """Two who turn a new file to WAL at once would wait for each other, so SQLite refuses one
    of them at once, whatever its busy timeout: that one asks again."""
    patience = time.monotonic() + BUSY_MS / 1000
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > patience:
                raise
        time.sleep(ASK_AGAIN_SECONDS)


def _read_only_sqlite(connection: Any, record: Any) -> None:
    connection.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
    connection.execute("PRAGMA query_only = ON")


def _impatient(engine: Engine) -> None:
    @event.listens_for(engine, "do_connect")
    def _connect(dialect: Any, record: Any, args: tuple[Any, ...], given: dict[str, Any]) -> Any:
        return _patient().connect(*args, **given)


@cache
def _patient() -> Any:
    """Connections on which nothing waits for ever: one that does not answer in time is closed."""
    import psycopg

    class Patient(psycopg.Connection[Any]):
        def wait(self, gen: Generator[Any, Any, Any], *how: Any, **more: Any) -> Any:
            return super().wait(self._bounded(gen), *how, **more)

        def _bounded(self, gen: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
            until = time.monotonic() + ANSWER_SECONDS
            try:
                wanted = next(gen)
                while True:
                    came = yield wanted
                    if not came and time.monotonic() > until:
                        self.pgconn.finish()
                        raise psycopg.OperationalError("the database does not answer")
                    wanted = gen.send(came)
            except StopIteration as done:
                return done.value

    return Patient


def _durable_postgres(connection: Any, record: Any) -> None:
    """A server may be set to lose what it acknowledged; never weaken a stronger setting."""
    connection.autocommit = True
    connection.execute(
        "SELECT set_config('synchronous_commit', 'on', false)"
        " WHERE current_setting('synchronous_commit') = 'off'"
    )
    connection.execute(
        "SELECT set_config('idle_in_transaction_session_timeout', %s, false)",
        (IDLE_IN_TRANSACTION,),
    )
    connection.autocommit = False
