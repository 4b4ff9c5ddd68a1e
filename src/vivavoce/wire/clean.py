"""What is taken out of words before they are stored or announced.

Control characters, lone surrogates and bidirectional overrides go, since they
break logs, terminals, databases and what a reader believes to be reading.
Markup is made harmless and stays legible. Who is cleaned, and when, is the
business of those who write records; what a tool or a model is *given* is not
cleaned here.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

MAX_TEXT = 100_000
MAX_DEPTH = 24
MAX_NODES = 10_000
_LARGEST_INT = 2**63 - 1  # what SQL and every JSON reader can hold

# C0 but tab and newline, DEL and C1; lone surrogates (no encoder takes them); the
# embeddings, overrides and isolates that make text read in another order than it is.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")
_LINE_ENDS = re.compile("\r\n?")

# HTML opens a tag at "<" and one of these, and nowhere else: "a < b" and "<3" are words.
_TAG = re.compile(r"<([A-Za-z/!?][^<>]*)>")
_TAG_OPEN = re.compile(r"<(?=[A-Za-z/!?])")


def clean_text(text: str, limit: int = MAX_TEXT) -> str:
    """The text without what nobody can see, its tags written ‹so›, at most `limit` long."""
    text = _UNSEEN.sub("", _LINE_ENDS.sub("\n", text[:limit]))
    if "<" in text:
        text = _TAG_OPEN.sub("‹", _TAG.sub(r"‹\1›", text))
    return text


def unseen(value: Any) -> bool:
    """Is there anything in it that a reader would not see? What needs a yes must be whole."""
    if isinstance(value, str):
        return _UNSEEN.search(value.replace("\r\n", "\n")) is not None
    if isinstance(value, dict):
        return any(unseen(key) or unseen(inner) for key, inner in value.items())
    return isinstance(value, list | tuple) and any(map(unseen, value))


def clean_line(text: str, limit: int = 200) -> str:
    """One line of it: for names, titles and what a status shows."""
    return " ".join(clean_text(text, limit * 4).split())[:limit]


@dataclass(slots=True)
class _Budget:
    """What is left to spend on one value, however it is nested."""

    nodes: int
    characters: int

    def text(self, value: str) -> str:
        cleaned = clean_text(value, min(self.characters, MAX_TEXT))
        self.characters -= len(cleaned)
        return cleaned


def clean_json(value: Any, *, depth: int = MAX_DEPTH, characters: int = 256 * 1024) -> Any:
    """The value as plain JSON that any encoder and any database takes.

    What is nested deeper than `depth`, or beyond the budget, is left out.
    """
    return _clean(value, depth, _Budget(MAX_NODES, characters))


def _clean(value: Any, depth: int, budget: _Budget) -> Any:
    budget.nodes -= 1
    match value:
        case None | bool():
            return value
        case int():
            return value if abs(value) <= _LARGEST_INT else _rounded(value)
        case float():
            return value if math.isfinite(value) else None
        case str():
            return budget.text(value)
        case dict() if depth > 0:
            return {
                budget.text(str(key)): _clean(item, depth - 1, budget)
                for key, item in value.items()
                if budget.nodes > 0
            }
        case list() | tuple() if depth > 0:
            return [_clean(item, depth - 1, budget) for item in value if budget.nodes > 0]
        case dict() | list() | tuple():
            return None
        case _:
            return budget.text(str(value))


def _rounded(value: int) -> float | None:
    try:
        return float(value)
    except OverflowError:
        return None
