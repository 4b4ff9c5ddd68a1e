"""Readings of files: which there are, what is in one, where a line is added, what was written."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from vivavoce.brain.dialogue.flows.results import (
    CUT,
    FEW,
    SHORT,
    Known,
    Match,
    clipped,
    counted,
    is_prose,
    joined,
    names_in,
    prose,
    sentence,
    spoken_path,
)
from vivavoce.brain.dialogue.flows.text import (
    ADDED,
    PAIR,
    plain_name,
    plain_value,
    settings_in,
    undo,
)
from vivavoce.language.en.dictation import dictated
from vivavoce.language.en.naming import pieces, stem, telling
from vivavoce.language.en.numbers import number


def names(output: str, known: Known) -> Mapping[str, Any] | None:
    """Which files there are."""
    found = names_in(output)
    inside = str(known.get("where_path") or "")
    there = [one for one in found.there if not inside or one.startswith(inside.rstrip("/") + "/")]
    number = found.count - (len(found.there) - len(there))
    if not there:
        return None
    shown = [spoken_path(one, there) for one in there[: 2 * FEW]]
    at = f" in {spoken_path(inside)}" if inside else ""
    if number == 1:
        folder = PurePosixPath(there[0].rstrip("/")).parent
        told = f"There is one{at}: {shown[0]}"
        told += f", in {folder.name}" if folder.name and not inside else ""
    elif number <= 2 * FEW:
        told = f"There are {number}{at}: {joined(shown)}"
    else:
        folders = Counter(PurePosixPath(one).parts[0] for one in there if "/" in one.rstrip("/"))
        most = [f"{n} in {name}" for name, n in folders.most_common(FEW)] if not inside else []
        told = f"There are {number}{at}, such as {joined(shown[:FEW])}"
        told += f"; {joined(most)}" if len(most) > 1 else ""
    return {"told": f"{told}.", "count": number, "path": there[0], "paths": there}


def how_many_names(output: str, known: Known) -> Mapping[str, Any] | None:
    found = names(output, known)
    return found or {"told": "None: there are no such files.", "count": 0}


# --- Adding a line


def end_of_file(output: str, known: Known) -> Mapping[str, Any] | None:
    """What to replace so that a line is added at the end."""
    if cut := CUT.search(output):
        return {"from_line": max(1, int(cut[2]) - 15)}
    if not output.strip() or output.strip().endswith("is empty."):
        return {"path": known.get("file_path")}
    return _appended(output.rstrip("\n").split("\n"), known)


def end_of_part(output: str, known: Known) -> Mapping[str, Any] | None:
    """The same, from the last lines of a long file, which have their numbers."""
    rows = [re.match(r"\s*\d+  ?(.*)$", line) for line in output.rstrip("\n").split("\n")]
    lines = [row[1] for row in rows if row]
    return _appended(lines, known) if lines else None


def _appended(lines: Sequence[str], known: Known) -> Mapping[str, Any]:
    """As much of the end as is there only once, and the same with the line."""
    size, whole = 1, "\n".join(lines)
    while size < len(lines) and (
        not lines[-size].strip() or whole.count("\n".join(lines[-size:])) > 1
    ):
        size += 1
    old = "\n".join(lines[-size:])
    return {
        "path": known.get("file_path"),
        "old": old,
        "new": f"{old}\n{line_for(lines[-1], known)}",
    }


def line_for(last: str, known: Known) -> str:
    """What was said, as a line like the one before: an item where that is one."""
    text = dictated(str(known.get("what") or "")).strip().strip('"“”')
    mark = re.match(r"\s*(?:[-*+•]\s+(?:\[[ x]\]\s+)?|(\d+)([.)])\s+)", last)
    if mark is None:
        return text
    if mark[1]:
        return re.sub(r"\d+", str(int(mark[1]) + 1), mark[0], count=1) + text
    return mark[0].replace("[x]", "[ ]") + text


def added(output: str, known: Known) -> Mapping[str, Any] | None:
    place = spoken_path(str(known.get("path") or known.get("file_path") or ""))
    line = ADDED.findall(output)
    if re.match(r"Replaced \d+ place", output):
        now = prose(line[-1]) if line else str(known.get("what"))
        return {"told": f"Added to {place}: {sentence(clipped(now))}", **undo(known)}
    if made := written(output, known):
        return {**made, "told": f"{spoken_path(made['path'])} is new, with that line in it."}
    return None


def written(output: str, known: Known) -> Mapping[str, Any] | None:
    wrote = re.match(r"Wrote (\d+) characters? to (.+?)(, replacing what was there)?\.$", output)
    if wrote is None:
        return None
    again = " in place of what was there" if wrote[3] else ""
    return {"told": f"{spoken_path(wrote[2])} is written{again}.", "path": wrote[2]}


# --- What is in a file

_CODE_NAMES = re.compile(
    r"^(?:\s{0,4})(?:async\s+)?(def|class|function|func|fn)\s+(\w+)", re.MULTILINE
)
_ANY_NAMES = re.compile(r"^(?:export\s+)?(?:const|let|var|type|interface)\s+(\w+)", re.MULTILINE)
_DOC = re.compile(
    r"^\s*(?:\"\"\"|'''|/\*\*?|//!?|#(?!!))\s*(.+?)\s*(?:\"\"\"|'''|\*/|$)", re.MULTILINE
)
_WHAT_IT_DOES = re.compile(
    r"\b(?:what(?:'s| is| does| do| are)?\b.*\b(?:do|does|in|about|contain|say|for|there)|"
    r"summar\w+|overview|describe|explain|gist|read (?:me|out)|show|contents?)\b",
    re.IGNORECASE,
)


def content(output: str, known: Known) -> Mapping[str, Any] | None:
    """The lines of a file that answer, or what kind of file it is."""
    path = str(known.get("file_path") or "")
    name, text = spoken_path(path), CUT.sub("", output).strip("\n")
    if not text.strip() or re.fullmatch(r"\S+ is empty\.", text.strip()):
        return {"told": f"{name} is empty.", "path": path}
    if re.match(r"\S+ is binary|\S+: a picture", text):
        return {"told": sentence(clipped(text)), "path": path}
    if some := _some_lines(text, known["said"]):
        return {"told": some, "path": path}
    answer = _answering(text, known, path)
    return {"told": answer or overview(text, path), "path": path}


_LINES = re.compile(
    r"\b(?P<which>first|last|top|bottom)\s+(?P<count>\w+\s+)?lines?\b|"
    r"\bline (?:number )?(?P<at>\w+)\b",
    re.IGNORECASE,
)


def _some_lines(text: str, said: str) -> str:
    """The first line, the last three, line twelve, where that is what was asked for."""
    asked = _LINES.search(said)
    lines = [line for line in text.split("\n") if line.strip()]
    if asked is None:
        return ""
    try:
        count = int(number((asked["count"] or asked["at"] or "one").strip()))
    except ValueError:
        return ""
    if asked["at"]:
        every = text.split("\n")
        picked = every[count - 1 : count] if 0 < count <= len(every) else []
    else:
        front = asked["which"].lower() in ("first", "top")
        picked = lines[:count] if front else lines[-count:]
    return " ".join(sentence(clipped(prose(line))) for line in picked[: 2 * FEW])


def _answering(text: str, known: Known, path: str) -> str:
    """Lines with what was asked about, if something particular was."""
    own = set(map(stem, pieces(PurePosixPath(path).stem)))
    about = str(known.get("about") or "")
    asked = [w for w in map(stem, telling(about or known["said"])) if w not in own | ASKING]
    if not asked:
        return ""
    lines = [line for line in text.split("\n") if line.strip()]
    rates = [sum(one in map(stem, pieces(line)) for one in set(asked)) for line in lines]
    best = max(rates, default=0)
    if not best or (best < 2 and len(set(asked)) > 3 and not about):
        return ""
    hits = [line for line, rate in zip(lines, rates, strict=True) if rate == best]
    if is_prose(path):
        return " ".join(sentence(clipped(prose(line))) for line in hits[:FEW])
    pairs = settings_in([Match(path, 0, line) for line in hits], " ".join(asked))
    if pairs:
        return f"{plain_name(pairs[0].name).capitalize()} is {plain_value(pairs[0].value)}."
    return ""


ASKING = frozenset(
    map(
        stem,
        re.findall(
            r"\w+",
            "tell say says show give read open look check content file line lines summary "
            "summarise summarize overview quick quickly short going know want remind again see "
            "explain describe hey ok okay right could would happen mean written write put contain "
            "document gist point first last top bottom whole entire back out loud aloud let hear",
        ),
    )
)
"""Words by which people ask, whatever they ask about."""


def overview(text: str, path: str) -> str:
    """What is in it, by its kind: prose or its beginning, settings, what code defines."""
    name = spoken_path(path)
    suffix = PurePosixPath(path).suffix.lower()
    if suffix in (".yaml", ".yml", ".json", ".toml", ".ini", ".cfg", ".env"):
        return _keys(text, name)
    if not is_prose(path):
        return _code(text, name)
    lines = [
        prose(line) for line in text.split("\n") if line.strip() and not line.startswith("    ")
    ]
    lines = [line for line in lines if re.search(r"\w", line)]
    whole = " ".join(map(sentence, lines))
    if len(whole) <= SHORT:
        return f"{name} says: {whole}"
    shown, size = [], 0
    for line in lines:
        if size and size + len(line) > SHORT * 2 // 3:
            break
        shown.append(sentence(clipped(line, SHORT)))
        size += len(line)
    rest = len(lines) - len(shown)
    return (
        f"{name} begins: {' '.join(shown)} {counted(rest, 'more line')} follow{'s' * (rest == 1)}."
    )


def _keys(text: str, name: str) -> str:
    pairs = [one for line in text.split("\n") if (one := PAIR.search(line))]
    told = [f"{plain_name(one['name'])} {plain_value(one['value'])}" for one in pairs]
    told = [one for one in told if not one.endswith(("{", "[", "("))]
    if not told:
        return f"{name} has {counted(len(text.splitlines()), 'line')}."
    more = len(told) - 2 * FEW
    return f"{name} has {joined([*told[: 2 * FEW], *([f'{more} more'] if more > 0 else [])])}."


def _code(text: str, name: str) -> str:
    head = "\n".join(text.split("\n")[:6])
    doc = _DOC.search(head)
    about = sentence(prose(doc[1])) if doc and len(doc[1].split()) > 1 else ""
    defined = [one[1] for one in _CODE_NAMES.findall(text)] or _ANY_NAMES.findall(text)
    defined = [one for one in dict.fromkeys(defined) if not one.startswith("__")]
    if not defined:
        return f"{name} has {counted(len(text.splitlines()), 'line')}. {about}".strip()
    more = len(defined) - 2 * FEW
    listed = joined([*defined[: 2 * FEW], *([f"{more} more"] if more > 0 else [])])
    return f"{about + ' ' if about else ''}{name} defines {listed}."
