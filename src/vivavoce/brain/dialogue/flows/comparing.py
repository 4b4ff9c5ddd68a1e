"""Readings of two files beside one another: what only the one has, and what differs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from vivavoce.brain.dialogue.flows.results import (
    CUT,
    FEW,
    Known,
    clipped,
    counted,
    joined,
    prose,
    spoken_path,
)
from vivavoce.brain.dialogue.flows.structure import places_in, plain_name, plain_value
from vivavoce.brain.dialogue.flows.tables import TABLES, rows_in
from vivavoce.language.en.naming import pieces, stem, telling

_SETTINGS = (
    *(".json", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".env", ".properties", ".conf"),
    *(".strings", ".po"),
)
Parts = Mapping[str, str]
"""By what a part of a file is known by: a name, the key of a row, or the line itself."""


def first_of_two(output: str, known: Known) -> Mapping[str, Any] | None:
    return {"one": output, "path": known.get("file_path")}


def compared(output: str, known: Known) -> Mapping[str, Any] | None:
    """What is only in the one, only in the other, and what is another in both."""
    first, second = str(known["one"]), output
    if CUT.search(first) or CUT.search(second):
        return None
    paths = str(known["file_path"]), str(known["other_path"])
    names = [spoken_path(paths[0], paths), spoken_path(paths[1], paths)]
    if paths[0] == paths[1]:
        return {"told": f"That is one and the same file, {names[0]}.", "path": paths[0]}
    parts = [_parts(text, path) for text, path in zip((first, second), paths, strict=True)]
    names_only = _NAMES_ONLY.search(str(known["said"])) is not None
    told = _about(parts, names, str(known["said"])) or _all(parts, names, names_only)
    return {"told": told, "path": paths[0], "paths": list(paths)}


def _parts(text: str, path: str) -> Parts:
    name = PurePosixPath(path).name
    if path.endswith(TABLES):
        _, rows = rows_in(text, path)
        return {row[0]: ", ".join(row[1:]) for row in rows if row}
    if name.endswith(_SETTINGS) or name.startswith(".env"):
        there = places_in(text, path)
        if there:
            return {".".join((*one.path, one.name)): plain_value(one.value) for one in there}
    return {prose(line): "" for line in text.split("\n") if line.strip()}


def _about(parts: Sequence[Parts], names: Sequence[str], said: str) -> str:
    """Only of the one thing that was asked about, where both have it."""
    words = {*map(stem, telling(said))} - {*map(stem, pieces(" ".join(names)))}
    both = [one for one in parts[0] if one in parts[1] and parts[0][one]]
    named = [one for one in both if {*map(stem, pieces(one))} <= words]
    if len(named) != 1:
        return ""
    (key,) = named
    name, one, other = plain_name(key).capitalize(), parts[0][key], parts[1][key]
    if one == other:
        return f"{name} is the same in both: {one}."
    return f"{name} is {one} in {names[0]} and {other} in {names[1]}."


_NAMES_ONLY = re.compile(
    r"(?i)\b(?:keys?|names?|entr(?:y|ies)|who|whose|missing|lack\w*|only|absent|forgotten)\b"
)
"""What asks for what there is, and not for how it differs."""


def _all(parts: Sequence[Parts], names: Sequence[str], names_only: bool) -> str:
    told = list[str]()
    for mine, other, name in ((*parts, names[0]), (*parts[::-1], names[1])):
        only = [one for one in mine if one not in other]
        if only:
            told.append(f"Only in {name}: {_some(only)}.")
    both = [one for one in parts[0] if one in parts[1]]
    differ = [one for one in both if parts[0][one] != parts[1][one]]
    # Of two languages all texts differ, and that is nothing to tell.
    if names_only and not told:
        return f"{names[0]} and {names[1]} have the same {counted(len(both), 'entry', 'entries')}."
    if differ and not names_only and (len(differ) < len(both) or len(both) <= FEW):
        each = [
            f"{plain_name(one)} is {parts[0][one]} in {names[0]} and {parts[1][one]} in {names[1]}"
            for one in differ[:FEW]
        ]
        more = len(differ) - len(each)
        all_ = f"{joined(each)}{f', and {more} more differ' if more > 0 else ''}."
        told.append(all_[:1].upper() + all_[1:])
    if not told and differ:
        same = counted(len(both), "name")
        return f"{names[0]} and {names[1]} have the same {same}, with other texts."
    return " ".join(told) or f"{names[0]} and {names[1]} are the same."


def _some(parts: Sequence[str]) -> str:
    shown = [clipped(one, 60) for one in parts[: 2 * FEW]]
    more = len(parts) - len(shown)
    return joined([*shown, *([f"{more} more"] if more else [])])
