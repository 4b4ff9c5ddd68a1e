"""Makes text and JSON storable everywhere: PostgreSQL refuses what Python allows.

Owns what becomes of NUL characters, lone surrogates, numbers that JSON cannot
write, ids that are no UUID and speech without words. Knows nothing of SQL, so that the in-memory
fake keeps the same rules.
"""

from __future__ import annotations

import math
import re
import uuid
from typing import Any


def clean_text(text: str) -> str:
    """NUL goes; halves of a surrogate pair are joined, a lone one becomes U+FFFD."""
    if text.isascii():
        return text.replace("\0", "") if "\0" in text else text
    try:
        text.encode()
    except UnicodeEncodeError:
        # Half pairs come from JSON that was cut or decoded piecewise.
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.replace("\0", "")


INAUDIBLE = "[inaudible]"


def told(text: str, *, spoken: bool) -> str:
    """As it is kept and read: what nobody could make out says so (seed 004 §5.9)."""
    return INAUDIBLE if spoken and not text else text


def clean_json(value: Any) -> Any:
    """The value as JSON can hold it: a copy, with clean text and finite numbers."""
    match value:
        case str():
            return clean_text(value)
        case bool() | int() | None:
            return value
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {clean_text(str(key)): clean_json(item) for key, item in value.items()}
        case list() | tuple():
            return [clean_json(item) for item in value]
        case _:
            raise TypeError(f"{type(value).__name__} has no place in JSON")


# As Python writes it: nearly every id that comes here, and no need to take it apart.
_CANONICAL = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def canonical_uuid(text: str) -> str | None:
    """One spelling for one UUID, or None where it is none."""
    if _CANONICAL.fullmatch(text):
        return text
    try:
        return str(uuid.UUID(text))
    except ValueError:
        return None
