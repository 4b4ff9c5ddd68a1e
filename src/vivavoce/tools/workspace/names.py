r"""Names of files as people say them and as attackers spell them; nothing here is opened.

`alike` finds what a spoken name may have meant ("readme", "test login dot py").
`Rules` says what is out of bounds whatever its spelling: `.GIT`, `.g\u200cit`
and `.git.` are one name to some file system, so they are one name here.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from vivavoce.tools.repositories.spelling import canonical

MAX_ALIKE = 3
_CLOSE = 0.75
_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Rules:
    """What must not be touched. One without a slash is a name at any depth,
    one with a slash a path from the root; both mean all that is beneath, too."""

    names: frozenset[str]
    paths: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, given: Iterable[str]) -> Rules:
        names: set[str] = set()
        paths: list[tuple[str, ...]] = []
        for one in given:
            parts = tuple(canonical(part) for part in one.split("/") if part)
            if "/" in one:
                paths.append(parts)
            else:
                names.update(parts)
        return cls(frozenset(names), tuple(paths))

    def forbid(self, parts: Sequence[str]) -> bool:
        plain = tuple(canonical(part) for part in parts)
        if any(part in self.names for part in plain):
            return True
        return any(plain[: len(path)] == path for path in self.paths)


def label(parts: Sequence[str]) -> str:
    """A path as it is shown: names need be neither UTF-8 nor on one line, words do."""
    return printable(os.fsencode("/".join(parts)).decode(errors="replace"))


def shown(path: str) -> str:
    """A stranger's words in a message."""
    return printable(path[:_SHOWN]) + ("…" if len(path) > _SHOWN else "")


def printable(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text)


def count(number: int, what: str, several: str = "") -> str:
    return f"{number} {what}" if number == 1 else f"{number} {several or what + 's'}"


def spoken(path: str) -> str:
    """As it sounds: case, spaces, hyphens and spelled-out dots and slashes do not count."""
    path = re.sub(r"\s+(?:dot|point)\s+", ".", f" {path.casefold()} ")
    path = re.sub(r"\s+slash\s+", "/", path)
    return re.sub(r"[\s'\"`_-]+", "", path)


def alike(wanted: str, names: Iterable[str]) -> list[str]:
    """The few of `names` (paths) that may have been meant, the likeliest first."""
    heard = spoken(wanted).strip("/")
    if not heard:
        return []
    rated = ((_likeness(heard, spoken(name)), name) for name in names)
    good = [(rate, name) for rate, name in rated if rate >= _CLOSE]
    good.sort(key=lambda pair: (-pair[0], pair[1].count("/"), pair[1]))
    if good and good[0][0] >= 1:  # beside the name itself, what is only similar is noise
        good = [pair for pair in good if pair[0] >= 1]
    return [name for _, name in good[:MAX_ALIKE]]


def _likeness(heard: str, path: str) -> float:
    """1 and more: the same but for its spelling; less: similar."""
    if path == heard:
        return 4
    base, last = path.rsplit("/", 1)[-1], heard.rsplit("/", 1)[-1]
    if path.endswith("/" + heard):
        return 3.5
    if base == last:
        return 3
    if _stem(base) == last or _stem(path) == heard:
        return 2
    if len(last) >= 4 and base.startswith(last):
        return 1
    matcher = difflib.SequenceMatcher(None, last, base)
    if matcher.real_quick_ratio() < _CLOSE or matcher.quick_ratio() < _CLOSE:
        return 0
    return matcher.ratio()


def _stem(name: str) -> str:
    return name.rsplit(".", 1)[0] if "." in name.lstrip(".") else name
