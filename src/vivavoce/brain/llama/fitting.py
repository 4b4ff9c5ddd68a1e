"""Which tools can be meant at all, from the form of what was said. Pure.

A small model mixes up "pull up notes.txt" and "read python.org", and looks for
files where text in them was meant. What was named is plain from its form, and
whether a tool takes a file or an address from the names of what it requires; of
tools that take the same, the one whose examples sound clearly more like it is
meant. What cannot be meant is not offered. Where nothing is clear, all stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

from vivavoce.brain.llama.examples import spoken
from vivavoce.brain.ports import Ask, Said, Tool

_ADDRESS = re.compile(
    r"https?://\S+|\b(?:[\w-]+\.)+(?:com|org|net|io|dev|gov|edu|ai|app|info|eu|de|uk)\b(?:/\S*)?",
    re.IGNORECASE,
)
_FILE = re.compile(
    r"\b[\w-]+\.(?:py|pyi|ipynb|jsx?|tsx?|mjs|json|ya?ml|toml|ini|cfg|conf|env|txt|md|rst|csv|log|"
    r"css|scss|html?|xml|svg|png|jpe?g|sql|sh|rs|go|rb|php|java|kt|swift|cs?|cpp|hpp?|lock|pdf)\b",
    re.IGNORECASE,
)
_FILES, _ADDRESSES = frozenset({"path", "pattern", "file_path"}), frozenset({"url", "uri"})
_SEARCHES = frozenset({"query"})


_CLEAR = 0.25
"""By how much an example must be nearer; measured on requests for glob and grep."""
_COMMON = frozenset(["the", "a", "an", "in", "is", "of", "to", "for", "there", "are", "we", "do"])
_ASIDE = frozenset(["please", "me", "i", "you", "can", "our"])


def fitting(ask: Ask) -> Ask:
    """The question with only those tools that what was said leaves possible."""
    if ask.tool_choice not in ("auto", "required") or not ask.turns:
        return ask
    last = ask.turns[-1]
    if not isinstance(last, Said) or last.role != "user":
        return ask
    addressed = _ADDRESS.search(last.text) is not None
    filed = _FILE.search(_ADDRESS.sub(" ", last.text)) is not None
    if addressed != filed:
        ask = without_files(ask) if addressed else without_addresses(ask)
    return _nearer(ask, last.text)


def variants(ask: Ask) -> Iterator[Ask]:
    """Every set of tools that `fitting` may leave."""
    for left in (ask, without_files(ask), without_addresses(ask)):
        yield left
        for one, other in pairwise(_alike(left.tools)):
            yield _but(left, one)
            yield _but(left, other)


def without_files(ask: Ask) -> Ask:
    if not any(_needs(tool, _ADDRESSES) for tool in ask.tools):
        return ask
    return _without(ask, _FILES | _SEARCHES)


def without_addresses(ask: Ask) -> Ask:
    if not any(_needs(tool, _FILES) for tool in ask.tools):
        return ask
    return _without(ask, _ADDRESSES | _SEARCHES)


def _nearer(ask: Ask, words: str) -> Ask:
    for one, other in pairwise(_alike(ask.tools)):
        first, second = _likeness(words, one), _likeness(words, other)
        if abs(first - second) > _CLEAR:
            return _but(ask, other if first > second else one)
    return ask


def _alike(tools: Iterable[Tool]) -> tuple[Tool, ...]:
    """Two tools that look for a pattern, and show by examples for which."""
    found = tuple(t for t in tools if _required(t) == {"pattern"} and spoken(t))
    return found if len(found) == 2 else ()


def _likeness(words: str, tool: Tool) -> float:
    said = _parts(words)
    shares = (len(said & parts) / len(parts) ** 0.5 for parts in map(_parts, spoken(tool)) if parts)
    return max(shares, default=0.0)


@lru_cache(maxsize=512)
def _parts(text: str) -> frozenset[str]:
    """Its words but the commonest, and its pairs of neighbours."""
    words = re.findall(r"[a-z]+", text.lower())
    pairs = (" ".join(pair) for pair in pairwise(words))
    return frozenset(w for w in words if w not in _COMMON | _ASIDE) | frozenset(pairs)


def _but(ask: Ask, without: Tool) -> Ask:
    return replace(ask, tools=tuple(tool for tool in ask.tools if tool is not without))


def _without(ask: Ask, names: frozenset[str]) -> Ask:
    return replace(ask, tools=tuple(tool for tool in ask.tools if not _needs(tool, names)))


def _needs(tool: Tool, names: frozenset[str]) -> bool:
    return not names.isdisjoint(_required(tool))


def _required(tool: Tool) -> set[str]:
    required = (tool.parameters or {}).get("required", ())
    return set(map(str, required)) if isinstance(required, Iterable) else set()
