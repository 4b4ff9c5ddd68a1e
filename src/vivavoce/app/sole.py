"""One server on one SQLite file.

Two would both pick up the sessions of one that ended, and neither would hear
of what the other wrote. PostgreSQL tells its clients, and may have several.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy.engine import make_url

from vivavoce.errors import Unavailable


@contextmanager
def sole_server(database_url: str) -> Iterator[None]:
    """While this holds, another `serve` on the same file is refused with `Unavailable`.

    The system lets go of the lock with the process, however that ends. Other
    commands (`db sweep`) do not ask for it.
    """
    url = make_url(database_url)
    if url.get_backend_name() != "sqlite" or not url.database:
        yield
        return
    database = Path(url.database).resolve()  # by whatever links it was named
    held = _lock(database)
    try:
        yield
    finally:
        if held is not None:
            os.close(held)


def _lock(database: Path) -> int | None:
    """None where there are no such locks, or no place for one: the store says what is wrong."""
    try:
        import fcntl
    except ImportError:  # Windows has none
        return None
    path = database.with_name(database.name + ".lock")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        held = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        other = os.read(held, 20).decode("ascii", "replace").strip()
        os.close(held)
        who = f" (process {other})" if other.isdecimal() else ""
        raise Unavailable(
            f"another server{who} is using the database {database}: "
            "end it, or give this one a folder of its own with --data-dir"
        ) from None
    except OSError:  # a file system without locks
        os.close(held)
        return None
    os.truncate(held, 0)
    os.write(held, str(os.getpid()).encode())
    return held
