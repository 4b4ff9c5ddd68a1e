"""Durable memory in SQL: SQLite by default, PostgreSQL by URL.

    store = open_store("sqlite:////var/lib/vivavoce/vivavoce.db")
    await store.open()

`docs/store.md` says what is promised; `schema.py` what lies on disk.
"""

from vivavoce.store.sql_store import SqlStore, open_store

__all__ = ["SqlStore", "open_store"]
