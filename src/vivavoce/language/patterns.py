"""Regular expressions that are compiled when they are first looked with.

To compile the many of a module takes milliseconds, for which a start need not wait.
"""

from __future__ import annotations

import re
from typing import Any, cast


class _Later:
    def __init__(self, pattern: str, flags: int) -> None:
        self._compiled = pattern, flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # whoever copies it, or asks what it is
            raise AttributeError(name)
        # Compiled once: `re` remembers, and so does this, from then on without coming here.
        found = getattr(re.compile(*self._compiled), name)
        setattr(self, name, found)
        return found


def lazily(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """For its methods; functions of `re` do not take it."""
    return cast("re.Pattern[str]", _Later(pattern, flags))
