"""Patterns for names: globs, and the rules of a `.gitignore`. No file is touched here.

A pattern is matched part by part, with all its possibilities followed at once:
whatever stars a stranger writes, the time grows with their number, not with
its power.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Sequence
from dataclasses import dataclass

MAX_ALTERNATIVES = 64
_BRACES = re.compile(r"\{([^{}]*)\}")


class Glob:
    """`**/*.py`, `src/*.{ts,tsx}`: `*` within a name, `**` any number of folders."""

    def __init__(self, pattern: str, *, any_case: bool = False) -> None:
        self._any_case = any_case
        self._choices = [_parts(one, any_case) for one in alternatives(pattern)]

    def matches(self, parts: Sequence[str]) -> bool:
        names = [part.lower() for part in parts] if self._any_case else parts
        return any(_match(choice, names) for choice in self._choices)


def alternatives(pattern: str) -> list[str]:
    """Braces written out, as far as that is reasonable."""
    done: list[str] = []
    todo = [pattern]
    while todo:
        one = todo.pop(0)
        found = _BRACES.search(one)
        if found is None or len(done) + len(todo) >= MAX_ALTERNATIVES:
            done.append(one)
            continue
        before, after = one[: found.start()], one[found.end() :]
        todo.extend(before + middle + after for middle in found[1].split(","))
    return done[:MAX_ALTERNATIVES]


_Parts = list[re.Pattern[str] | None]  # None is `**`


def _parts(pattern: str, any_case: bool) -> _Parts:
    parts: _Parts = []
    for part in pattern.split("/"):
        if part in ("", "."):
            continue
        if part != "**":
            parts.append(re.compile(fnmatch.translate(part.lower() if any_case else part)))
        elif not parts or parts[-1] is not None:
            parts.append(None)
    return parts


def _match(pattern: _Parts, names: Sequence[str]) -> bool:
    places = _reached(pattern, {0})
    for name in names:
        after = set()
        for place in places:
            if place == len(pattern):
                continue
            expected = pattern[place]
            if expected is None:
                after.add(place)
            elif expected.match(name):
                after.add(place + 1)
        places = _reached(pattern, after)
        if not places:
            return False
    return len(pattern) in places


def _reached(pattern: _Parts, places: set[int]) -> set[int]:
    """`**` may also stand for no folder at all."""
    more = {p + 1 for p in places if p < len(pattern) and pattern[p] is None}
    return places | more


@dataclass(frozen=True, slots=True)
class _Rule:
    parts: _Parts
    hides: bool
    folders_only: bool
    by_name: re.Pattern[str] | None
    """Most rules are about a name at any depth: that is one look instead of many."""


class Ignore:
    """One `.gitignore`, in the folder `base`. The last rule that fits decides."""

    def __init__(self, text: str, base: Sequence[str] = ()) -> None:
        self._depth = len(base)
        self._rules = [rule for line in text.splitlines() if (rule := _rule(line)) is not None]
        self._rules.reverse()

    def verdict(self, parts: Sequence[str], folder: bool) -> bool | None:
        """True: ignored, False: kept on purpose, None: no word about it."""
        beneath, name = parts[self._depth :], parts[-1]
        for rule in self._rules:
            if rule.folders_only and not folder:
                continue
            if rule.by_name.match(name) if rule.by_name else _match(rule.parts, beneath):
                return rule.hides
        return None


def _rule(line: str) -> _Rule | None:
    line = line.rstrip("\r\n")
    if not line.endswith("\\ "):
        line = line.rstrip()
    if not line or line.startswith("#"):
        return None
    hides = not line.startswith("!")
    line = line[0 if hides else 1 :]
    if line.startswith(("\\#", "\\!")):
        line = line[1:]
    folders_only, line = line.endswith("/"), line.rstrip("/")
    parts = _parts(line, any_case=False)
    if not parts:
        return None
    if "/" in line:
        return _Rule(parts, hides, folders_only, None)
    return _Rule([None, *parts], hides, folders_only, parts[0])


def ignored(rules: Sequence[Ignore], parts: Sequence[str], folder: bool) -> bool:
    """`rules` from the outermost folder to the innermost, which has the last word."""
    for rule in reversed(rules):
        verdict = rule.verdict(parts, folder)
        if verdict is not None:
            return verdict
    return False
