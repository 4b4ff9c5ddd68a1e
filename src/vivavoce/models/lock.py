"""One pull at a time in a models folder, over all processes.

Archives are shared by models, so the lock is the folder's. The system lets go
of it with the process, however that ends.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

LOCK = ".lock"
_EVERY = 0.2


@asynccontextmanager
async def folder_lock(folder: Path, waiting: Callable[[], None]) -> AsyncIterator[None]:
    """Hold the folder; `waiting` is called again and again while somebody else does."""
    held = os.open(folder / LOCK, os.O_CREAT | os.O_RDWR, 0o644)
    try:
        while not _taken(held):
            waiting()
            await asyncio.sleep(_EVERY)
        yield
    finally:
        os.close(held)


if sys.platform == "win32":
    import msvcrt

    def _taken(held: int) -> bool:
        try:
            msvcrt.locking(held, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _taken(held: int) -> bool:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # a file system without locks: better than no models
            return True
        return True
