"""Which tools can be meant at all: a named file is no web page, and an address no file. Pure.

A small model mixes up "pull up notes.txt" and "read python.org". What was named
is plain from its form, and whether a tool takes a file or an address from the
names of what it requires; so the one that cannot be meant is not offered. Where
both are named, or no tool of the other kind is there, all stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

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


def fitting(ask: Ask) -> Ask:
    """The question with only those tools that what was named leaves possible."""
    if ask.tool_choice not in ("auto", "required") or not ask.turns:
        return ask
    last = ask.turns[-1]
    if not isinstance(last, Said) or last.role != "user":
        return ask
    addressed = _ADDRESS.search(last.text) is not None
    filed = _FILE.search(_ADDRESS.sub(" ", last.text)) is not None
    if addressed == filed:
        return ask
    return without_files(ask) if addressed else without_addresses(ask)


def without_files(ask: Ask) -> Ask:
    if not any(_needs(tool, _ADDRESSES) for tool in ask.tools):
        return ask
    return _without(ask, _FILES | _SEARCHES)


def without_addresses(ask: Ask) -> Ask:
    if not any(_needs(tool, _FILES) for tool in ask.tools):
        return ask
    return _without(ask, _ADDRESSES)


def _without(ask: Ask, names: frozenset[str]) -> Ask:
    return replace(ask, tools=tuple(tool for tool in ask.tools if not _needs(tool, names)))


def _needs(tool: Tool, names: frozenset[str]) -> bool:
    required = (tool.parameters or {}).get("required", ())
    return isinstance(required, Iterable) and not names.isdisjoint(required)
