"""What installed packages add to us. Looked for once: it takes a file of every package."""

from __future__ import annotations

from functools import cache
from importlib import metadata

_installed = cache(metadata.entry_points)


def entry_points(group: str) -> metadata.EntryPoints:
    return _installed().select(group=group)
