"""Names as file systems compare them; git's own name above all."""

from __future__ import annotations

import functools
import unicodedata


@functools.lru_cache(8192)
def canonical(name: str) -> str:
    """One spelling for all that some file system takes for the same name."""
    if not name.isascii():
        plain = unicodedata.normalize("NFKC", name)
        name = "".join(c for c in plain if unicodedata.category(c) != "Cf")
    name = name.casefold().rstrip(". ")
    return ".git" if name == "git~1" else name
