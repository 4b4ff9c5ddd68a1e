"""The shape of a table of rules: a pattern, and what is said instead of it. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

Match = re.Match[str]
Words = str | Callable[[Match], str]
Rules = tuple[tuple[re.Pattern[str], Words], ...]


def rules(*table: tuple[str, Words]) -> Rules:
    return tuple((re.compile(pattern), words) for pattern, words in table)


def applied(table: Rules, text: str) -> str:
    for pattern, words in table:
        text = pattern.sub(words, text)
    return text


def one_of(keys: Iterable[str]) -> str:
    """A pattern for any of these, the longest first."""
    return "|".join(sorted(map(re.escape, keys), key=len, reverse=True))
