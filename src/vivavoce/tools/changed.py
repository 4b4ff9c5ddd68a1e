"""Which files of a workspace changed since a moment: one look afterwards, bounded.

By the time of the last change of a file's entry (ctime), which programs cannot
set. So nothing has to be looked at before; what was deleted is not seen.
"""

from __future__ import annotations

import os
import time
from collections import deque
from pathlib import Path

MAX_ENTRIES = 20_000
MAX_SECONDS = 0.1
MAX_FILES = 50
_COARSE_NS = 20_000_000
"""Kernels stamp files with a clock that ticks every 4 to 10 ms."""
SKIPPED = frozenset(
    {"node_modules", "__pycache__", "venv", "target", "build", "dist", "site-packages"}
)


def changed_since(root: Path, started_ns: int) -> tuple[str, ...]:
    """Relative paths, oldest folder first; as many as a bounded look finds.

    Hidden folders and those that tools fill (`node_modules`, `target`) are
    left out: nobody asks for them by name.
    """
    since = started_ns - _COARSE_NS
    until = time.monotonic() + MAX_SECONDS
    found: list[str] = []
    folders = deque([str(root)])
    left = MAX_ENTRIES
    while folders and left > 0 and len(found) < MAX_FILES and time.monotonic() < until:
        try:
            entries = list(os.scandir(folders.popleft()))
        except OSError:
            continue
        left -= len(entries)
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if not entry.name.startswith(".") and entry.name not in SKIPPED:
                    folders.append(entry.path)
            elif _changed(entry, since):
                found.append(os.path.relpath(entry.path, root))
    return tuple(sorted(found)[:MAX_FILES])


def _changed(entry: os.DirEntry[str], since: int) -> bool:
    try:
        return entry.stat(follow_symlinks=False).st_ctime_ns >= since
    except OSError:
        return False
