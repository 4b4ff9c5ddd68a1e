"""A SQLite file that has our schema already: making one waits for the disk, copying does not."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from vivavoce.store.database import parse
from vivavoce.store.migrate import prepare


def file_with_schema(folder: Path) -> str:
    """The URL of a new one in this folder."""
    file = folder / "vivavoce.db"
    file.write_bytes(_made())
    return f"sqlite:///{file}"


@cache
def _made() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "vivavoce.db"
        prepare(parse(f"sqlite:///{file}"))
        return file.read_bytes()
