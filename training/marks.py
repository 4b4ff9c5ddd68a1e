"""Marked lines: what people say, with what they wish for in braces and its slots in brackets.

    T: Boiler service, Wednesday 9 am | Book club, Friday 7:30 pm
    B: Anything else?
    U: right, {delete [task:the book club] can go} and {remind [what:ring Vera] [when:at ten]}

`T` is what the speaker has on their list, `B` what the assistant said before; both may be missing.
Pure: reads text, knows nothing of models.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_OPEN, _SLOT = re.compile(r"\{([a-z]+)\s*"), re.compile(r"\[([a-z]+):\s*")
_BEFORE, _BEHIND = " ,.;:!?", " ,;:"


@dataclass(frozen=True)
class Mark:
    """Characters `start` to before `end` of the text."""

    start: int
    end: int
    label: str


@dataclass(frozen=True)
class Line:
    """What was said, with its marks; what the speaker has, and what the assistant said before."""

    text: str
    wishes: tuple[Mark, ...]
    slots: tuple[Mark, ...]
    things: tuple[str, ...] = ()
    told: str = ""


class Wrong(ValueError):
    """A line whose marks cannot be read."""


def read(marked: str) -> Line:
    text, at = "", 0
    wishes: list[Mark] = []
    slots: list[Mark] = []
    wish: tuple[int, str] | None = None
    slot: tuple[int, str] | None = None
    while at < len(marked):
        char = marked[at]
        if char == "{" and (found := _OPEN.match(marked, at)) and wish is None:
            wish, at = (len(text), found[1]), found.end()
        elif char == "[" and (found := _SLOT.match(marked, at)) and wish and slot is None:
            slot, at = (len(text), found[1]), found.end()
        elif char == "}" and wish and slot is None:
            wishes.append(_mark(text, *wish))
            wish, at = None, at + 1
        elif char == "]" and slot:
            slots.append(_mark(text, *slot))
            slot, at = None, at + 1
        elif char in "{}[]":
            raise Wrong(f"{char} at {at} of {marked!r}")
        else:
            text, at = text + char, at + 1
    line = Line(text, tuple(wishes), tuple(slots))
    if wish or slot or not wishes:
        raise Wrong(f"something is open, or nothing is marked, in {marked!r}")
    return line


def _mark(text: str, start: int, label: str) -> Mark:
    """Without the punctuation at its edges."""
    end = len(text)
    while start < end and text[start] in _BEFORE:
        start += 1
    while end > start and text[end - 1] in _BEHIND:
        end -= 1
    return Mark(start, end, label)


def lines(folder: Path) -> list[Line]:
    """Of all files there. Raises `Wrong`."""
    made: list[Line] = []
    for file in sorted(folder.glob("*.txt")):
        for block in re.split(r"\n\s*\n", file.read_text(encoding="utf-8")):
            parts = dict(part.split(":", 1) for part in block.splitlines() if part[1:2] == ":")
            if "U" not in parts:
                continue
            found = read(parts["U"].strip())
            things = tuple(one.strip() for one in parts.get("T", "").split("|") if one.strip())
            told = parts.get("B", "").strip()
            made.append(Line(found.text, found.wishes, found.slots, things, told))
    return made


def labels(known: Iterable[Line]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The kinds of wishes and the slots that there are."""
    kinds = {mark.label for line in known for mark in line.wishes}
    slots = {mark.label for line in known for mark in line.slots}
    return tuple(sorted(kinds)), tuple(sorted(slots))
