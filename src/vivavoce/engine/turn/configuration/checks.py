"""The small questions that every field of a client's event is asked.

Each takes the raw value and where it stands (`session.audio.input`), and
gives it back typed or raises `Refused`. Which fields there are is the business
of those who ask.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from vivavoce.engine.turn.faults import missing, unknown, unsupported, wrong_type, wrong_value

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What a function may be called."""

_SHOWN = 80
_DEEPEST = 64  # what writes our events gives up at 254


def fields(raw: Any, where: str, allowed: Collection[str]) -> Mapping[str, Any]:
    """An object with no other fields than these: a slip of the pen must not pass in silence."""
    if not isinstance(raw, Mapping):
        raise wrong_type(where, "an object", raw)
    for name in raw:
        if name not in allowed:
            raise unknown(f"{where}.{printable(str(name))}")
    return raw


def printable(raw: str) -> str:
    """A client's word, short and fit to be sent back in an error."""
    return raw[:_SHOWN].encode(errors="replace").decode()


def required(raw: Mapping[str, Any], name: str, where: str) -> Any:
    if name not in raw:
        raise missing(f"{where}.{name}")
    return raw[name]


def text(raw: Any, where: str, *, most: int, least: int = 0) -> str:
    if not isinstance(raw, str):
        raise wrong_type(where, "a string", raw)
    if not least <= len(raw) <= most:
        limit = f"at most {most}" if len(raw) > most else f"at least {least}"
        raise wrong_value(where, f"it has {len(raw)} characters; {limit} are allowed.")
    if not raw.isascii():
        encodable(raw, where)
    return raw


def encodable(raw: str, where: str) -> bytes:
    """JSON can carry half a character (`\\ud800`), which no encoder takes back."""
    try:
        return raw.encode()
    except UnicodeEncodeError:
        raise wrong_value(where, "it is not valid Unicode.") from None


def name(raw: Any, where: str) -> str:
    said = text(raw, where, most=10_000)
    if not NAME.fullmatch(said):
        raise wrong_value(where, "1 to 64 letters, digits, '_' or '-' are allowed.")
    return said


def flag(raw: Any, where: str) -> bool:
    if not isinstance(raw, bool):
        raise wrong_type(where, "a boolean", raw)
    return raw


def whole(raw: Any, where: str, least: int, most: int) -> int:
    # In Python a boolean is an integer; in JSON it is not, and 500.0 is one.
    if isinstance(raw, float) and raw.is_integer():
        raw = int(raw)
    if not isinstance(raw, int) or isinstance(raw, bool):
        raise wrong_type(where, "an integer", raw)
    if not least <= raw <= most:
        raise wrong_value(where, f"from {least} to {most} is allowed.")
    return raw


def number(raw: Any, where: str, least: float, most: float) -> float:
    if not isinstance(raw, int | float) or isinstance(raw, bool):
        raise wrong_type(where, "a number", raw)
    if not least <= raw <= most:
        raise wrong_value(where, f"from {least} to {most} is allowed.")
    return float(raw)


def choice(raw: Any, where: str, options: Sequence[str]) -> str:
    said = text(raw, where, most=10_000)
    if said not in options:
        shown = ", ".join(f"'{option}'" for option in options)
        raise wrong_value(where, f"'{said[:_SHOWN]}'. Supported values are: {shown}.")
    return said


def listing(raw: Any, where: str, *, most: int) -> Sequence[Any]:
    if not isinstance(raw, list | tuple):
        raise wrong_type(where, "an array", raw)
    if len(raw) > most:
        raise wrong_value(where, f"it has {len(raw)} elements; at most {most} are allowed.")
    return raw


def absent(raw: Any, where: str, words: str) -> None:
    """A field that may only be null here; `words` say why."""
    if raw is not None:
        raise unsupported(where, words)


def bounded_json(raw: Any, where: str, *, most: int) -> None:
    """Free-form JSON that fits in `most` bytes, and is no deeper than we can write back."""
    if _deep(raw):
        raise wrong_value(where, f"it is nested more than {_DEEPEST} levels deep.")
    try:
        size = len(encodable(json.dumps(raw, ensure_ascii=False, allow_nan=False), where))
    except (ValueError, TypeError, RecursionError):
        raise wrong_value(where, "it is not plain JSON.") from None
    if size > most:
        raise wrong_value(where, f"it has {size} bytes; at most {most} are allowed.")


def _deep(raw: Any) -> bool:
    level = [raw]
    for _ in range(_DEEPEST):
        level = [inner for value in level for inner in _inside(value)]
    return bool(level)


def _inside(value: Any) -> Collection[Any]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list | tuple) else ()
