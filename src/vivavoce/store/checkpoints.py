"""SQLite's write-ahead log is copied into the file beside the writer, and not by the commit that
happens to fill it: at times that one took a hundred milliseconds, and those behind it waited.

SQLite's own checkpoint stays, for the little that came meanwhile: it begins the log anew. Knows
nothing of what is written.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from contextlib import closing

from vivavoce.store.database import BUSY_MS, Database

log = logging.getLogger(__name__)

ROWS = 300
"""Written since the last time; each is some five pages with its indexes."""


class Checkpoints:
    """A thread of its own; `close` before the database goes."""

    def __init__(self, database: Database) -> None:
        self._path = str(database.url.database)
        self._rows, self._due, self._closed = 0, threading.Event(), False
        self._thread = threading.Thread(target=self._run, name="store-checkpoints", daemon=True)
        self._thread.start()

    def wrote(self, rows: int) -> None:
        """Told by the writer's thread, after each commit."""
        self._rows += rows
        if self._rows >= ROWS:
            self._rows = 0
            self._due.set()

    def close(self) -> None:
        self._closed = True
        self._due.set()
        self._thread.join()

    def _run(self) -> None:
        with closing(sqlite3.connect(self._path, isolation_level=None)) as file:
            file.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
            file.execute("PRAGMA synchronous = FULL")
            while not self._closed:
                self._due.wait()
                self._due.clear()
                try:
                    # Nobody waits for it: it copies what no reader is in the way of.
                    file.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
                except sqlite3.Error as error:  # a disk that is full, say: the writer says so too
                    fields = {"error": type(error).__name__}
                    log.warning("the write-ahead log could not be copied", extra=fields)
