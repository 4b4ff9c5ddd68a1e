"""Readings of text that was found: where it is, how often, what a setting is, what to change."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from vivavoce.brain.dialogue.flows.results import (
    FEW,
    ROWS,
    Known,
    Match,
    clipped,
    counted,
    counting,
    is_prose,
    joined,
    left_out,
    matches_in,
    prose,
    sentence,
    spoken_path,
    where,
)
from vivavoce.language.en.naming import (
    bare,
    name_said,
    named_in,
    pieces,
    stem,
    telling,
)

_DEFINES = r"(?:def|class|function|func|fn|const|let|var|type|interface|struct|enum)\s+"
_IMPORTS = re.compile(r"^\s*(?:from\s+\S+\s+)?import\b|^\s*(?:use|require|#include)\b|require\(")
_ASKS_DEFINED = re.compile(
    r"\b(?:define[ds]?|definition|declared?|implement(?:ed|ation)?|lives?|comes? from)\b", re.I
)
_BUT_THERE = re.compile(
    r"(?i)\b(?:besides?|other than|except(?: for)?|apart from|aside from|not counting|but not)\b"
    r"[^.!?]*\b(?:defin|declar|liv|com(?:es|ing) from|its own)"
)
"""All places but the one where it is defined."""
_ASKS_USED = re.compile(r"\b(?:call(?:s|ed|ing)?|us(?:e|es|ed|ing)|invoke[ds]?|refer\w*)\b", re.I)


def places(output: str, known: Known) -> Mapping[str, Any] | None:
    """Where a text is."""
    found = matches_in(output)
    out = left_out(known["said"])
    there = counting(found, known)
    if not there:
        return None
    name, said = bare(str(known.get("what") or "it")), _SEARCHING.sub(",", str(known["said"]))
    defined = [m for m in there if _defines(m.text, name)]
    if _ASKS_NAME.search(said) and (called := _names_of(there)):
        told = f"It's called {joined(list(called)[:FEW], 'or')}, in {where(list(called.values()))}."
        only = next(iter(called)) if len(called) == 1 else ""
        return {"told": told, "called": only, **_spots(list(called.values()))}
    elsewhere = [m for m in there if m.path not in {one.path for one in defined}]
    if elsewhere and _BUT_THERE.search(said):
        there = elsewhere
    elif _ASKS_DEFINED.search(said) and defined:
        return {"told": f"It's defined in {where(defined)}.", **_spots(defined)}
    if _ASKS_USED.search(said):
        used = [m for m in there if m not in defined and not _IMPORTS.search(m.text)]
        there = used or there
    whole = found.whole or bool(out)
    whole = whole or there == elsewhere
    number = len(there) if whole else found.count
    least = "at least " if found.least else ""
    beside = f" outside the {left_out(said, whole=True)}" if out else ""
    if number == 1:
        told = f"In one place{beside}: {where(there)}{_quoted(there[0])}."
    elif number <= FEW and all(map(_quoted, there)):
        each = [f"{where([m])}{_quoted(m)}" for m in there]
        told = f"In {least}{number} places{beside}. {' '.join(sentence(one) for one in each)}"
    else:
        told = f"In {least}{number} places{beside}: {where(there)}."
    return {"told": told, "count": number, **_spots(there)}


_MANY = 12


def nearest(output: str, known: Known) -> Mapping[str, Any] | None:
    """Where the one part of a phrase is that was found, by that part: the rest is nowhere."""
    found = matches_in(output)
    there = counting(found, known)
    rule = re.compile(str(known.get("pattern") or ""), re.IGNORECASE)
    word = next((one[0] for m in there if (one := rule.search(m.text))), "")
    if not word or len(there) > _MANY:
        return None
    what = str(known.get("what") or "")
    told = f"{word} is in {where(there)}{_quoted(there[0]) if len(there) == 1 else ''}"
    told = sentence(told)
    if word.lower() not in named_in(what):
        told = f"I don't find {bare(what)} as such, but {told}"
    return {"told": told, "called": word, "count": len(there), **_spots(there)}


_SEARCHING = re.compile(
    r"(?i),\s*(?:um+ |er+ |uh+ )?what(?:['’]s| is| was| do you call|s) (?:it|that|they|its name)"
    r"(?: called| again| name)?\s*,"
)
"""Said while one looks for a word: "which files use, what's it called, parse tide"."""
_ASKS_NAME = re.compile(
    r"\bwhat(?:'s| is| was|s)?\b.*\b(?:called|named?)\b|\bwhich (?:function|method|class)\b", re.I
)


def _names_of(there: Sequence[Match]) -> dict[str, Match]:
    """What is defined on these lines, by name."""
    found = ((re.search(rf"\b{_DEFINES}(\w+)", m.text), m) for m in there)
    return {one[1]: m for one, m in found if one}


def _spots(there: Sequence[Match]) -> dict[str, Any]:
    return {"path": there[0].path, "paths": list(dict.fromkeys(m.path for m in there))}


def _quoted(match: Match) -> str:
    """What the line says, where it is words and no code."""
    line = prose(match.text)
    words = is_prose(match.path) or _COMMENT.match(match.text)
    return f": {clipped(line)}" if words and len(line.split()) > 2 else ""


_COMMENT = re.compile(r"\s*(?:#|//+|/\*+|--|<!--)\s")


def _defines(line: str, name: str) -> bool:
    parts = "[_-]?".join(map(re.escape, pieces(name)))
    return re.search(rf"\b{_DEFINES}{parts}\b|^\s*{parts}\s*=[^=]", line, re.I) is not None


_PHRASE = 2
_COUNTED = ("test", "function", "class", "import", "line", "comment", "heading", "item")


def count(output: str, known: Known) -> Mapping[str, Any] | None:
    """How often a text is there. None is an answer too."""
    found, what = matches_in(output), str(known.get("what") or "")
    there = _marked(counting(found, known), what)
    number = found.count - (len(found.there) - len(there))
    if str(known.get("where_path") or "").endswith((".csv", ".tsv")) and known.get("final"):
        there, number = there[1:], max(0, number - 1)  # its head is no row
    if table := _only_heads(there, what):
        return {"where_path": table, "rows_of": table}
    if not number and not (known.get("final", True) and len(telling(what)) < _PHRASE):
        return None  # it may be written in another way, or be no name at all
    said = set(map(stem, pieces(what)))
    kind = next((one for one in _COUNTED if stem(one) in said), "")
    if kind in ("line", "comment", "item") and telling(what) not in ([], [f"{kind}s"], [kind]):
        kind = ""  # "error lines" are not just lines
    paths = Counter(m.path for m in there)
    place = known.get("where_path")
    at = f" in {spoken_path(str(place))}" if place else ""
    if number and known.get("pattern") == ROWS and _narrower(what, str(place)):
        rows = f"There {'is' if number == 1 else 'are'} {counted(number, 'row')}{at}"
        return {"told": f"{rows}; which of them you mean I can't tell.", "count": number}
    if not number:
        return {"told": f"None{at}: I find no {bare(what) or 'such thing'}.", "count": 0}
    least = "at least " if found.least else ""
    part = re.fullmatch(r"\\b(\w+)", str(known.get("pattern") or ""))
    if part and len(telling(what)) > 1:  # only that word of it is there
        lines = "line has" if number == 1 else "lines have"
        told = f"{least}{number} {lines} {part[1]}{at}".capitalize()
    elif kind:
        many = "classes" if kind == "class" else ""
        told = f"There {'is' if number == 1 else 'are'} {least}{counted(number, kind, many)}{at}"
    else:
        told = f"{least}{number}{at}".capitalize()
    if len(paths) > 1 and found.whole:
        most = [f"{n} in {spoken_path(path, paths)}" for path, n in paths.most_common(FEW)]
        rest = number - sum(n for _, n in paths.most_common(FEW))
        told += ": " + joined([*most, *([f"{rest} elsewhere"] if rest else [])])
    elif len(paths) == 1 and not at and found.whole:
        told += f", {'' if number == 1 else 'all '}in {spoken_path(next(iter(paths)))}"
    return {"told": f"{told}.", "count": number}


def _only_heads(there: Sequence[Match], what: str) -> str:
    """The table of which only the names of its columns have what is counted: its rows are."""
    tables = {m.path for m in there if m.path.endswith((".csv", ".tsv"))}
    heads = all(m.number == 1 for m in there) and len(telling(what)) == 1
    return tables.pop() if heads and len(tables) == 1 == len(there) else ""


def _narrower(what: str, place: str) -> bool:
    """Whether not all rows of a table are meant: "the ones that ran over half an hour"."""
    own = {stem(one) for one in (*pieces(place), "row", "entry", "line", "record")}
    said = {stem(one) for one in telling(what)}
    return len(said) > 1 and not said <= own


def _marked(there: list[Match], what: str) -> list[Match]:
    """Lines that are marked as such, where some are: in a log "WARN" is a warning, and a line that
    only speaks of one is not."""
    if not there or len(telling(what)) != 1 or what.strip().isupper():
        return there
    rule = re.compile(rf"\b{re.escape(stem(telling(what)[0]))}\w*", re.IGNORECASE)
    marked = [m for m in there if any(one.isupper() for one in rule.findall(m.text))]
    return marked if any(m.path.endswith(".log") for m in there) and marked else there


# --- What a name of code stands for


def definition(output: str, known: Known) -> Mapping[str, Any] | None:
    """Where it begins; several are told as places."""
    there = counting(matches_in(output), known)
    if not there:
        return None
    paths = list(dict.fromkeys(m.path for m in there))
    names = [one for one in _names_of(there) if not one.startswith("__")]
    asked = set(map(stem, telling(str(known.get("what") or ""))))
    if known.get("where_path") and not any(asked & set(map(stem, pieces(n))) for n in names):
        # All of them were looked for, and none by its name.
        more = len(names) - 2 * FEW
        shown = [*names[: 2 * FEW], *([f"{more} more"] if more > 0 else [])]
        return {"told": f"{spoken_path(paths[0])} has {joined(shown)}.", "path": paths[0]}
    if len(paths) > 1 and not known.get("where_path"):
        return {"choices": paths}
    return {"path": there[0].path, "from_line": there[0].number, "head": there[0].text}


_RETURN = re.compile(r"^\s*return\b\s*(.*?);?\s*$")
_MAKES_ONE = re.compile(r"^(?:async\s+)?(?:(?:\([^()]*\)|\w+)\s*=>|(?:function|lambda)\b)|^func\(")
_SIGNATURE = re.compile(r"\((?P<given>[^)]*)\)?(?:\s*->\s*(?P<gives>[^:{]+))?")
_ASKS_RETURN = re.compile(r"\b(?:returns?|gives? back|comes? back|hands? back|result)\b", re.I)
_ASKS_GIVEN = re.compile(
    r"\b(?:arguments?|args|parameters?|params|signature|takes?|take in|pass(?:ed)?|inputs?)\b", re.I
)


def function(output: str, known: Known) -> Mapping[str, Any] | None:
    """What a function takes, gives back and says of itself: its own lines, nothing else."""
    rows = [re.match(r"\s*\d+ {1,2}(.*)$", line) for line in output.rstrip("\n").split("\n")]
    lines = [row[1] for row in rows if row]
    if not lines:
        return None
    depth = len(lines[0]) - len(lines[0].lstrip())
    body: list[str] = []
    for line in lines[1:]:
        if line.strip() and len(line) - len(line.lstrip()) <= depth:
            if line.strip()[0] in "})]":
                continue
            break
        body.append(line)
    said, path = known["said"], str(known["path"])
    named = re.search(rf"{_DEFINES}(\w+)", lines[0])
    name = named[1] if named else bare(str(known.get("what") or "it"))
    head = _SIGNATURE.search(lines[0])
    given = (
        [re.split(r"[:=]", one)[0].strip(" *") for one in head["given"].split(",")] if head else []
    )
    given = [one for one in given if one and one not in ("self", "cls")]
    takes = f"takes {joined(given)}" if given else "takes nothing"
    back = list(dict.fromkeys(m[1] for line in body if (m := _RETURN.match(line)) and m[1]))
    back = list(dict.fromkeys("a function" if _MAKES_ONE.search(one) else one for one in back))
    gives = f"returns {joined([clipped(one, 90) for one in back[:FEW]], 'or')}" if back else ""
    doc = next((m[1] for line in body[:2] if (m := _DOCUMENTS.match(line))), "")
    if _ASKS_RETURN.search(said):
        told = f"{name} {gives or 'returns nothing'}."
    elif _ASKS_GIVEN.search(said):
        told = f"{name} {takes}."
    elif not head or "class" in lines[0].split(name)[0]:
        inside = re.findall(r"^\s*(?:async )?(?:def|function)\s+(\w+)", "\n".join(body), re.M)
        told = f"{name} is in {spoken_path(path)}, line {known['from_line']}."
        told += (
            f" It has {joined([one for one in inside if not one.startswith('__')][: 2 * FEW])}."
            if inside
            else ""
        )
    else:
        does = joined([one for one in (takes, gives) if one])
        told = f"{name}, in {spoken_path(path)}, {does}."
    return {"told": f"{sentence(prose(doc)) + ' ' if doc else ''}{told}", "path": path}


_DOCUMENTS = re.compile(r"^\s*(?:\"\"\"|\'\'\'|//+|#+|/\*+)\s*(.+?)\s*(?:\"\"\"|\'\'\'|\*/)?$")


# --- Names of code


_BEHIND = re.compile(
    r"\s*(?:[,.;]|\b(?:everywhere|wherever|throughout|across|in all|in the|and|then|please|instead|"
    r"obviously)\b)",
    re.IGNORECASE,
)
"""What may follow a name that was said."""


def spots(output: str, known: Known) -> Mapping[str, Any] | None:
    """Where a name stands, exactly as it is written; or that it is not a simple matter."""
    there = matches_in(output)
    name = name_said(str(known.get("whole_name") or known.get("what") or ""))
    to = name_said(_BEHIND.split(str(known.get("to") or ""))[0])
    parts = "[_-]?".join(map(re.escape, pieces(name)))
    forms = Counter(
        one for m in there.there for one in re.findall(rf"(?<!\w){parts}(?!\w)", m.text, re.I)
    )
    if not forms or not to:
        return None
    old = forms.most_common(1)[0][0]
    inside = any(re.search(rf"\w{re.escape(old)}|{re.escape(old)}\w", m.text) for m in there.there)
    paths = list(
        dict.fromkeys(
            m.path for m in there.there if re.search(rf"(?<!\w){re.escape(old)}(?!\w)", m.text)
        )
    )
    if inside or not there.whole or len(paths) > 8:
        return {"handed": f"rename {old} to {spelt_like(old, to)} everywhere", "old": old}
    return {"old": old, "new": spelt_like(old, to), "paths": paths}


def spelt_like(old: str, words: str) -> str:
    """Words as a name in the same way as another: with underscores, or in one with capitals."""
    if re.fullmatch(r"\w+", words.strip()) and (
        "_" in words or not words.islower() or len(words.split()) == 1
    ):
        return words.strip()
    parts = pieces(words)
    if old.isupper():
        return "_".join(parts).upper()
    if "_" in old or old.islower():
        return "_".join(parts)
    name = "".join(part.capitalize() for part in parts)
    return name if old[:1].isupper() else name[:1].lower() + name[1:]


def renamed(output: str, known: Known) -> Mapping[str, Any] | None:
    if not re.match(r"Replaced \d+ place", output):
        return None
    paths = list(known.get("paths") or [])
    files = joined([spoken_path(path, paths) for path in paths[:FEW]])
    files += f" and {len(paths) - FEW} more" if len(paths) > FEW else ""
    old, new = (known.get(f"{one}_word") or known[one] for one in ("old", "new"))
    return {"told": f"{old} is now {new}, in {files}.", "undo_files": paths}
