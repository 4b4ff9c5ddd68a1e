"""Readings of text that was found: where it is, how often, what a setting is, what to change."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from vivavoce.brain.dialogue.flows.results import (
    CUT,
    FEW,
    ROWS,
    Known,
    Match,
    Matches,
    clipped,
    counted,
    evidence,
    is_prose,
    joined,
    left_out,
    matches_in,
    overlap,
    prose,
    sentence,
    spoken_path,
    where,
)
from vivavoce.language.en.naming import (
    about_spelling,
    bare,
    becomes,
    changes_name,
    figures_only,
    in_seconds,
    misspelling,
    name_now,
    named_in,
    nearly,
    patterns,
    pieces,
    stem,
    telling,
)
from vivavoce.language.en.numbers import found, nth, numbers_in
from vivavoce.language.en.quantities import with_alike, written_like
from vivavoce.wire.values import Value


def _counting(found: Matches, known: Known) -> list[Match]:
    """Those that are in a place that counts: among several files that were meant, and not where
    the user said it does not matter."""
    among, out = known.get("among") or (), left_out(known["said"])
    there = [m for m in found.there if not among or m.path in among]
    return [m for m in there if not out or not any(stem(p) == out for p in pieces(m.path))]


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
    there = _counting(found, known)
    if not there:
        return None
    name, said = bare(str(known.get("what") or "it")), known["said"]
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
    there = _counting(found, known)
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
    there = _marked(_counting(found, known), what)
    number = found.count - (len(found.there) - len(there))
    if str(known.get("where_path") or "").endswith((".csv", ".tsv")) and known.get("final"):
        there, number = there[1:], max(0, number - 1)  # its head is no row
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
    there = _counting(matches_in(output), known)
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


# --- Values

PAIR = re.compile(
    r"(?P<name>[\w.\-]+|\"[^\"]+\"|'[^']+'|\*\*[^*]+\*\*)[\"'`*\])]*\s*(?::(?!:)\s?\w*\s*=|:=|=>|[:=](?!=))\s*"
    r"(?P<value>\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|[\[{(][^\n]*|[^\s,;)\]}#][^,;)\]}#\n]*)"
)


_TAG = re.compile(r"<(?P<name>[A-Za-z][\w:-]*)(?:\s[^<>]*)?>(?P<value>[^<>]+)</(?P=name)>")


class Setting(Value):
    match: Match
    name: str
    value: str
    start: int
    end: int
    rate: float


def settings_in(matches: Iterable[Match], key: str, said: str = "") -> list[Setting]:
    """Everything on these lines that has a name and a value, the likeliest first."""
    wanted = list(dict.fromkeys(map(stem, telling(key))))
    around = {stem(word) for word in pieces(said) if len(word) > 3}
    found = []
    for match in matches:
        text = match.text
        at = 0
        rule = _TAG if _TAG.search(text) else PAIR
        while pair := rule.search(text, at):
            at = pair.end("name") + 1
            rate = _named_so(
                pair["name"], wanted, match, at_start=not text[: pair.start()].strip(" -\"'*")
            )
            if rate > 0:
                # "Which port does staging use": the file is named, if not as one.
                rate += 0.3 * any(stem(part) in around for part in pieces(match.path))
                value = pair["value"].strip()
                start = pair.start("value")
                found.append(
                    Setting(
                        match, pair["name"].strip("\"'*"), value, start, start + len(value), rate
                    )
                )
    return sorted(found, key=lambda one: -one.rate)


def _named_so(name: str, wanted: Sequence[str], match: Match, *, at_start: bool) -> float:
    parts = [stem(part) for part in pieces(name)]
    hit = [one for one in wanted if one in parts or any(_close(one, part) for part in parts)]
    if not hit or not parts:
        return 0.0
    unsaid = len([p for p in parts if p not in wanted and not any(_close(w, p) for w in wanted)])
    rate = len(hit) / len(wanted) - 0.2 * unsaid / len(parts)  # its own name before a longer one
    around = [stem(part) for part in pieces(match.path)]
    rate += 0.3 * any(one in around for one in wanted if one not in hit)
    return rate + 0.1 * at_start - 0.2 * ("test" in around and "test" not in wanted)


def _close(one: str, other: str) -> bool:
    return min(len(one), len(other)) >= 4 and (one.startswith(other) or other.startswith(one))


def settings_matched(matches: Iterable[Match], key: str) -> list[Match]:
    return [one.match for one in settings_in(matches, key)] if key else []


def plain_value(value: str) -> str:
    value = value.strip().rstrip(",;")
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        value = value[1:-1]
    return clipped(value, 80)


def plain_name(name: str) -> str:
    return " ".join(part if part.isdigit() else part.lower() for part in pieces(name)) or name


def setting(output: str, known: Known) -> Mapping[str, Any] | None:
    """What something is set to; all of a file where nothing of it is asked for but itself."""
    path = str(known.get("where_path") or "")
    asked = set(map(stem, telling(str(known.get("what") or ""))))
    if path and asked and asked <= {*map(stem, pieces(path)), "content"}:
        return {"whole": True, "file_path": path}
    there = _counting(matches_in(output), known)
    found = settings_in(there, str(known.get("what") or known["said"]), known["said"])
    if found:
        best = [one for one in found if one.rate > found[0].rate - 0.08]
        values = list(dict.fromkeys((plain_value(o.value), o.match.path) for o in best))
        first = best[0]
        if _asks_more(asked, best, there):
            return None
        name = plain_name(first.name).capitalize()
        paths = [one.match.path for one in best]
        several = len({one.match.number for one in best}) > 1
        if several and len({plain_name(one.name) for one in best}) > 1:
            # They have parts of the name that was said: which of them is meant?
            each = [f"{plain_name(one.name)} is {plain_value(one.value)}" for one in best[:FEW]]
            told = f"{joined(each).capitalize()}, in {spoken_path(paths[0])}."
            lines = list(dict.fromkeys(one.match for one in found))
            return {"point": lines, "instead": {"told": told, "path": paths[0]}}
        if len(set(paths)) == 1 and several:
            return {"several": True, "file_path": paths[0], "path": paths[0]}
        if len({value for value, _ in values}) == 1:
            told = f"{name} is {values[0][0]}, in {spoken_path(first.match.path, paths)}."
        else:
            each = [f"{value} in {spoken_path(path, paths)}" for value, path in values[:FEW]]
            told = f"{name} is {joined(each)}."
        # "Make that twenty": what was found is spoken of, by its own name.
        return {"told": told, "path": first.match.path, "value": values[0][0], "called": name}
    same = {m.path for m in settings_matched(there, str(known.get("last") or ""))}
    if len(same) == 1:  # "and prod?": the same in another section, if there is one of that name
        return {"several": True, "of_section": True, "file_path": same.pop()}
    lines = [m for m in there if is_prose(m.path)]
    wanted = list(map(stem, telling(str(known.get("what") or ""))))
    rated = [(sum(one in [stem(p) for p in pieces(m.text)] for one in wanted), m) for m in lines]
    rated = [one for one in rated if one[0] >= max(1, (len(wanted) + 1) // 2)]
    if not rated:
        return None
    line = max(rated, key=lambda one: one[0])[1]
    told = f"{spoken_path(line.path)} says: {sentence(clipped(prose(line.text)))}"
    return {"told": told, "path": line.path}


def _asks_more(asked: set[str], best: Sequence[Setting], there: Sequence[Match]) -> bool:
    """Whether other lines have what these have not: "the image, and the volume it writes to"."""
    own = {stem(one) for each in best for one in pieces(each.match.text)}
    own |= {stem(one) for each in best for one in pieces(each.match.path)}
    rest = [one for one in asked if not any(one == w or _close(one, w) for w in own)]
    mine = {each.match for each in best}
    others = {stem(one) for m in there if m not in mine for one in pieces(m.text)}
    return any(one == w or _close(one, w) for one in rest for w in others)


# --- Settings in sections

_SECTION = re.compile(r"^\s*\[+\s*\"?(?P<name>[\w. -]+?)\"?\s*\]+\s*$")
_OPENS = re.compile(r"^(?P<indent>\s*)(?:-\s+)?[\"']?(?P<name>[\w.-]+)[\"']?\s*[:=]\s*[{\[]?\s*$")


def _sections(lines: Sequence[str]) -> list[str]:
    """By line: the names of what it lies in, in brackets or by how far it is indented."""
    found, heading, above = [], "", list[tuple[int, str]]()
    for line in lines:
        deep = len(line) - len(line.lstrip())
        if line.strip() and line.strip()[0] not in "}])":
            above = [one for one in above if one[0] < deep]
        if head := _SECTION.match(line):
            heading, above = head["name"], []
        found.append(" ".join([heading, *(name for _, name in above)]).strip())
        if opens := _OPENS.match(line):
            above.append((len(opens["indent"]), opens["name"]))
    return found


def _within(output: str, known: Known) -> list[tuple[Setting, str]]:
    """Settings of that name in one file, with their sections; only those in the one that was said,
    where one was."""
    lines = CUT.sub("", output).split("\n")
    path, what = str(known["file_path"]), str(known.get("what") or "")
    sections = _sections(lines)
    said = {stem(word) for word in pieces(f"{what} {known['said']}")}
    inside = {stem(part) for one in sections for part in pieces(one)}
    of = [word for word in telling(what) if stem(word) not in inside]
    key = " ".join(of) or str(known.get("last") or what)
    matches = [Match(path, at, line) for at, line in enumerate(lines, 1)]
    found = settings_in(matches, key)
    best = [one for one in found if one.rate > found[0].rate - 0.08] if found else []
    there = [(one, sections[one.match.number - 1]) for one in best]
    named = [(one, s) for one, s in there if {*map(stem, pieces(s))} & said]
    of_any = [] if known.get("of_section") else there
    return sorted(named or of_any, key=lambda one: one[0].match.number)


def within(output: str, known: Known) -> Mapping[str, Any] | None:
    """What something is set to in the section that was named, or in each."""
    there = _within(output, known)
    if not there:
        return None
    name = plain_name(there[0][0].name)
    each = [f"{plain_value(one.value)}{f' for {s}' if s else ''}" for one, s in there[: FEW + 1]]
    path = str(known["file_path"])
    told = f"{name.capitalize()} is {joined(each)}, in {spoken_path(path)}."
    return {"told": told, "path": path, "called": name}


# --- Changing a value


_NUMBER = re.compile(r"-?\d[\d_]*(?:\.\d+)?")


def line_to_change(output: str, known: Known) -> Mapping[str, Any] | None:
    """The line that has it, and the same line with the new value."""
    there = _counting(matches_in(output), known)
    what = str(known.get("what") or "")
    to = beside_old(known) or str(known.get("to_written") or known.get("to") or "")
    old = str(known.get("from_written") or known.get("from") or "")
    wrong, right = misspelling(f"{what} {to}", known["said"])
    if wrong:
        return _everywhere(there, wrong, right, known["said"])
    tables = {m.path for m in there if m.path.endswith(TABLES)}
    if tables and len({m.path for m in there}) == 1:
        return {"several": True, "file_path": tables.pop()}
    once, now = name_now(known["said"])
    if once and any(once.lower() in m.text.lower() for m in there):
        return _everywhere(there, once, now, known["said"])
    if not to or _BY_BEFORE.search(to) or _by_so_much(known):
        return _from_before(there, what, known)
    found = [one for one in settings_in(there, what) if _meant(one, what)] if what else []
    if old:
        same = [one for one in found if _is_value(plain_value(one.value), old)]
        found = same or [one for one in found if old.lower() in one.value.lower()]
    if found:
        best = [one for one in found if one.rate > found[0].rate - 0.08]
        if (several := _several(best)) is not None:
            return several
        if len({one.match.number for one in best}) > 1:  # perhaps they lie in sections
            return {"several": True, "file_path": best[0].match.path}
        first = best[0]
        text = first.match.text
        fitting = understood(first.value, _as_said(first, to, known))
        if not fitting:
            return {"ask": "to"}
        new = text[: first.start] + fitting + text[first.end :]
        before = plain_value(first.value)
        return _edit(first.match, new, f"The {plain_name(first.name)}", before)
    if about_spelling(known["said"]):
        return _respelt(there, f"{what} {to}")
    if _unclear(to):
        return {"ask": "to"}
    if changes_name(known["said"]) and len(there) > 1 and what:
        return _everywhere(there, bare(what), bare(to), known["said"])
    if old or _said_to_become(what, to, str(known["said"])):
        return _replaced(there, old or what, to)
    return None


def _is_value(written: str, said: str) -> bool:
    """ "Two ten" where it says 210."""
    return said.lower() == written.lower() or written_like(written, said) == written


def _as_said(setting: Setting, to: str, known: Known) -> str:
    """The new value in the form in which it can be understood: an amount as the old one is
    written, a time in the setting's own unit, a measure with its unit."""
    before, said = plain_value(setting.value), str(known.get("to") or "")
    if _MEASURED.fullmatch(before):
        return said or to
    priced = written_like(before, said_apart(known)[0])
    if priced and not _NUMBER.fullmatch(to):
        to = priced
    return (_NUMBER.fullmatch(before) and in_seconds(said, setting.name)) or to


_INTO = r"(?:to|with|into|by|for|as|should be|is now|becomes?|is actually|ought to be|instead of)"


def _said_to_become(what: str, to: str, said: str) -> bool:
    """Whether one text is said to become the other ("change hello to hi"), and not only that
    something about it is another now ("the party moved to the ninth")."""
    if not bare(what) or not bare(to):
        return False
    last, first = re.escape(bare(what).split()[-1]), re.escape(bare(to).split()[0])
    between = rf"(?:\W+in \S+(?: dot \w+)?| in there)?\W+{_INTO}\W+(?:the |a |an |just )*"
    return re.search(rf"(?i){last}[\"'”]?{between}[\"'“]?{first}", said) is not None


TABLES = (".csv", ".tsv")
_NOT_SO = re.compile(
    r"(?i),?\s*\b(?:not|instead of|rather than|as opposed to)\s+(?P<old>[^,.;!?]+?)"
    r"(?= (?:in|on|at|please)\b|[,.;!?]\s|[,.;!?]?$)"
)


def beside_old(known: Known) -> str:
    """The new value as it stands right before the old one: "two hundred thirty instead of two ten".
    Empty where what was taken for it is one already, or where nothing stands there."""
    to, old = str(known.get("to") or ""), str(known.get("from") or "")
    if not old or written_like("1", to) or not written_like("1", old):
        return ""
    told = re.search(
        rf"(?i)(?:.*(?:[,.;:!?]\s|\b(?:to|be|is|at)\s))?(?P<new>[^,.;:!?]+?),?\s+"
        rf"(?:instead of|rather than|in place of|not)\s+(?:the )?{re.escape(old)}",
        str(known["said"]),
    )
    return written_like("1", re.sub(r"(?i)\s+now$", "", told["new"])) if told else ""


def said_apart(known: Known) -> tuple[str, str]:
    """The new value and the old one, as they were said: "four fifty not three fifty"."""
    to, old = str(known.get("to") or ""), str(known.get("from") or "")
    if both := _NOT_SO.search(to):
        return to[: both.start()].strip(), old or both["old"]
    told = _NOT_SO.search(str(known["said"]))
    return to, old or (told["old"] if told else "")


class Cell(Value):
    """Of a table: where its text is on its line."""

    text: str
    start: int
    end: int


def cells(line: str, path: str) -> list[Cell]:
    between = "\t" if path.endswith(".tsv") else ","
    rule = re.compile(rf'\s*(?:"(?P<quoted>[^"]*)"|(?P<plain>[^{between}]*))(?:{between}|$)')
    found, at = list[Cell](), 0
    while at <= len(line) and (one := rule.match(line, at)):
        name = "quoted" if one["quoted"] is not None else "plain"
        text = one[name].rstrip()
        found.append(Cell(text, one.start(name), one.start(name) + len(text)))
        if one.end() == len(line) and not one[0].endswith(between):
            break
        at = one.end()
    return found


_FIGURES = re.compile(r"[^\w-]*-?\d[\d,_]*(?:\.\d+)?\s*[^\w]*")


def table_cell(lines: Sequence[str], known: Known) -> Mapping[str, Any] | None:
    """The cell that is meant, by its row and its column or what is in it, and what it becomes. None
    where it could be several. What a row is known by is never written over by a value."""
    path, said = str(known["file_path"]), str(known["said"])
    what, (to, old) = str(known.get("what") or ""), said_apart(known)
    rows = [cells(line, path) for line in lines]
    head = [set(map(stem, pieces(cell.text))) for cell in rows[0]]
    asked = set(map(stem, telling(what)))
    if written_like("1.00", what):  # the new value was copied for what it is of
        to = what if not to or to == old else to
        own = {*map(stem, pieces(f"{what} {to} {old} {path}"))}
        asked = {*map(stem, telling(said))} - own
    around = with_alike(asked | set(map(stem, pieces(said))))
    rates = {
        at: len(asked & {stem(part) for cell in row for part in pieces(cell.text)})
        for at, row in enumerate(rows)
        if at and lines[at].strip()
    }
    best = max(rates.values(), default=0)
    spots = [
        (at, column)
        for at, rate in rates.items()
        if best and rate == best
        for column, cell in enumerate(rows[at])
        if old and (cell.text.lower() == old.lower() or written_like(cell.text, old) == cell.text)
    ]
    if not spots:
        at = next((at for at, rate in rates.items() if best and rate == best), 0)
        if not at or list(rates.values()).count(best) > 1:
            return None
        spots = [(at, column) for column in _columns(rows[at], head, asked, around, to)]
    if len(spots) != 1:
        return None
    at, column = spots[0]
    cell = rows[at][column]
    if _FIGURES.fullmatch(cell.text):
        by_before = not to or bool(_BY_BEFORE.search(to)) or _by_so_much(known)
        new = becomes(said, cell.text) if by_before else written_like(cell.text, to)
    else:
        new = bare(to) if _becomes_that(cell.text, what, to, said) else ""
    if not new:
        return {"ask": "to"} if not to else None
    line = lines[at][: cell.start] + new + lines[at][cell.end :]
    edit = {"path": path, "old": lines[at], "new": line, "before": cell.text, "to_written": new}
    return {**edit, "name": cell.text} if lines.count(lines[at]) == 1 else None


def _becomes_that(text: str, what: str, to: str, said: str) -> bool:
    """Whether a text in a table is to be another: where it is what a row is known by, only if that
    was said of it ("change Ana to Anna"), or it is nearly the same."""
    own = set(map(stem, pieces(text)))
    if not own & set(map(stem, telling(what))):
        return True
    if SequenceMatcher(None, text.lower(), bare(to).lower()).ratio() > _NEARLY_SAME:
        return True
    return _said_to_become(what, to, said)


_NEARLY_SAME = 0.6


def _columns(
    row: Sequence[Cell], head: Sequence[set[str]], asked: set[str], around: set[str], to: str
) -> list[int]:
    """Which columns of a row a new value can go to, the key not among them for a number."""
    there = range(min(len(row), len(head)))
    named = [at for at in there if head[at] & with_alike(asked)] or [
        at for at in there if head[at] & around
    ]
    if len(named) == 1:
        return named
    if any(written_like(cell.text, to) for cell in row if _FIGURES.fullmatch(cell.text)):
        return [at for at in named or there if _FIGURES.fullmatch(row[at].text)]
    own = [at for at in there if {*map(stem, pieces(row[at].text))} & asked]
    amount = bool(written_like("1.00", to))
    return [at for at in there if at not in own] if amount or len(row) == 2 else own


_BY_BEFORE = re.compile(r"(?i)\b(?:double|twice|triple|half|halve|by \w+|as much|as many)\b")


def _by_so_much(known: Known) -> bool:
    words = re.escape(str(known.get("to") or "").strip())
    return re.search(rf"(?i)\bby (?:another )?{words}", str(known["said"])) is not None


def _from_before(there: Sequence[Match], what: str, known: Known) -> Mapping[str, Any] | None:
    """ "Double it": the new value depends on the one that is there. Where none was said, which?"""
    found = [one for one in settings_in(there, what) if _meant(one, what)]
    best = [one for one in found if one.rate > found[0].rate - 0.08] if found else []
    if best and not known.get("to") and not becomes(known["said"], "1"):
        return {"ask": "to"}
    paths = {one.match.path for one in best}
    if len(paths) == 1 and len({one.match.number for one in best}) > 1:
        return {"several": True, "file_path": paths.pop()}
    if len(paths) != 1:
        return {"ask": "to"} if not known.get("to") else None
    first, text = best[0], best[0].match.text
    to = becomes(known["said"], plain_value(first.value))
    if not to:
        return {"ask": "to"}
    new = text[: first.start] + _like(first.value, to) + text[first.end :]
    return _edit(first.match, new, f"The {plain_name(first.name)}", plain_value(first.value))


_ALL_OVER = re.compile(
    r"(?i)\b(?:everywhere|wherever|throughout|all (?:over|of them|files|through)|"
    r"every (?:file|place))\b"
)


def _everywhere(
    there: Sequence[Match], wrong: str, right: str, said: str
) -> Mapping[str, Any] | None:
    """A word that is spelt wrongly, wherever it is in one file, or in all where that was said."""
    hits = [m for m in there if wrong.lower() in m.text.lower()]
    paths = list(dict.fromkeys(m.path for m in hits))
    if len(paths) > 1 and not _ALL_OVER.search(said):
        return {"choices": paths}
    if not hits:
        return None
    at = hits[0].text.lower().find(wrong.lower())
    written = hits[0].text[at : at + len(wrong)]
    right = cased_like(written, right)
    edit = {"path": paths[0], "old": written, "new": right, "name": written, "before": written}
    return {**edit, "all": True, "paths": paths}


def line_within(output: str, known: Known) -> Mapping[str, Any] | None:
    """The line to change in the section that was named; none where it could be several."""
    if str(known["file_path"]).endswith(TABLES):
        return table_cell(CUT.sub("", output).rstrip("\n").split("\n"), known)
    there = _within(output, known)
    if len(there) != 1:
        return None
    one, section = there[0]
    raw = str(known.get("to_written") or known.get("to") or "")
    by_before = not raw or bool(_BY_BEFORE.search(raw)) or _by_so_much(known)
    to = becomes(known["said"], plain_value(one.value)) if by_before else raw
    fitting = understood(one.value, to)
    if not fitting:
        return {"ask": "to"}
    lines = CUT.sub("", output).split("\n")
    at, text = one.match.number - 1, one.match.text
    new = text[: one.start] + fitting + text[one.end :]
    first = at
    while first > 0 and "\n".join(lines).count("\n".join(lines[first : at + 1])) > 1:
        first -= 1
    edit = {"old": "\n".join(lines[first : at + 1]), "new": "\n".join([*lines[first:at], new])}
    name = f"The {plain_name(one.name)}{f' for {section}' if section else ''}"
    return {"path": known["file_path"], **edit, "name": name, "before": plain_value(one.value)}


def line_pointed(output: str, known: Known) -> Mapping[str, Any] | None:
    """All lines of which one may be the one to change."""
    path, said = str(known.get("file_path") or ""), str(known["said"])
    if not known.get("to") and not known.get("from"):
        return None
    found = evidence(CUT.sub("", output), path, said) if path else matches_in(output).there
    rates = overlap(str(known.get("what") or ""), found)
    named = tuple(m for m, rate in zip(found, rates, strict=True) if rate >= _NAMED)
    if any(PAIR.search(one.text) for one in named):  # a value that bears the name is meant
        found = named
    if len(named) > 1 and _ONE_OF.search(said):  # and which one they have not said
        return {"ask": "what"}
    return {"point": found} if found and (not CUT.search(output) or not path) else None


_NAMED = 0.5
_ONE_OF = re.compile(r"(?i)\b(?:one|some) of (?:the|my|our|those|these)\b")


def line_as_meant(chosen: Sequence[Match], known: Known) -> Mapping[str, Any] | None:
    """That line with what it becomes: another value where it has one, or one text for another. What
    was not understood as such a value is asked for."""
    if len(chosen) != 1:
        return None
    line, (_, old) = chosen[0], said_apart(known)
    to = beside_old(known) or str(known.get("to_written") or known.get("to") or "")
    if not to:
        return {"ask": "to"}
    if old and (made := _replaced([line], old, to)) is not None and "path" in made:
        return made
    if line.path.endswith(TABLES):
        return None
    pairs = [*(_TAG if _TAG.search(line.text) else PAIR).finditer(line.text)]
    figures = [*re.finditer(r"(?<![\w.])\d[\d_]*(?:\.\d+)*(?![\w.]*\w)", line.text)]
    if len(pairs) == 1 and pairs[0]["value"][:1] not in "{[(":
        value, start = pairs[0]["value"].strip(), pairs[0].start("value")
        name = f"The {plain_name(pairs[0]['name'])}"
    elif len(figures) == 1 and re.match(r"\d", to):
        value, start, name = figures[0][0], figures[0].start(), "That"
    else:
        return None
    fitting = understood(value, to)
    if not fitting:
        return {"ask": "to"}
    new = line.text[:start] + fitting + line.text[start + len(value) :]
    return _edit(line, new, name, plain_value(value)) if new != line.text else None


def _meant(one: Setting, what: str) -> bool:
    """To be written to, a setting must have the name that was said, and a plain value."""
    parts = {stem(part) for part in (*pieces(one.name), *pieces(one.match.path))}
    said = {stem(word) for word in telling(what)}
    own = {stem(part) for part in pieces(one.name)}
    # "The log level" may be `level` in a section of its own.
    named = (said <= parts and bool(said & own)) or own <= said
    return named and one.value[:1] not in "{[("


def _several(best: Sequence[Setting]) -> Mapping[str, Any] | None:
    """Which of these files? Only where they differ in it: two lines of one file are a line each."""
    paths = list(dict.fromkeys(one.match.path for one in best))
    return {"choices": paths} if len(paths) > 1 else None


def _replaced(there: Sequence[Match], old: str, new: str) -> Mapping[str, Any] | None:
    """A text in a line by another, as it is written there."""
    for pattern in patterns(old) if old else ():
        rule = re.compile(pattern, re.IGNORECASE)
        hits = [(m, one) for m in there if (one := rule.search(m.text))]
        if hits:
            paths = list(dict.fromkeys(m.path for m, _ in hits))
            if len(paths) > 1:
                return {"choices": paths}
            if len(hits) > 1:  # which of them, nobody said
                return None
            match, one = hits[0]
            if re.match(r"(?:\s[^<>]*)?>", match.text[one.end() :]):
                return None  # nor is a tag
            if written_like("1", new) and re.match(r"[\"'`*]*\s*[:=,|]", match.text[one.end() :]):
                return None  # what has a value is not written over by one
            if _NUMBER.fullmatch(one[0]) and not (new := understood(one[0], new)):
                return {"ask": "to"}  # a number is not written over by a word
            text = match.text[: one.start()] + cased_like(one[0], new) + match.text[one.end() :]
            return _edit(match, text, one[0], one[0])
    return None


def _respelt(there: Sequence[Match], right: str) -> Mapping[str, Any] | None:
    """The one word that is nearly one of those that were said."""
    found = [
        (match, one, word)
        for word in telling(right)
        for match in there
        for one in nearly(word, match.text)
    ]
    if len({one[0].lower() for _, one, _ in found}) != 1:
        return _replaced(there, *right.split()[:2]) if len(right.split()) == 2 else None
    match, one, word = found[0]
    text = match.text[: one.start()] + cased_like(one[0], word) + match.text[one.end() :]
    return _edit(match, text, one[0], one[0])


def _edit(match: Match, new: str, name: str, before: str) -> Mapping[str, Any] | None:
    return {"path": match.path, "old": match.text, "new": new, "name": name, "before": before}


_VERSION = re.compile(r"(?P<before>\W{0,2}v?)\d+(?:\.\d+)+(?:[-+.][\w.]+)?")


def understood(old: str, said: str) -> str:
    """The new value as it is written where the old one is, if it was understood as one of its kind:
    a number stays a number ("ninety or so" is 90), a version a version. Empty where it was not;
    that is asked for, and never written."""
    plain = plain_value(old)
    if _NUMBER.fullmatch(plain) and not _NUMBER.fullmatch(said):
        figures = numbers_in(said)
        return f"{figures[0]}" if len(figures) == 1 and not _unclear(said) else ""
    if measured := _MEASURED.fullmatch(plain):
        many = _so_many(said, measured["unit"])
        return _like(old, f"{many}{measured['unit']}") if many else _if_measured(old, said)
    if (version := _VERSION.fullmatch(plain)) and not version["before"].strip("v"):
        if not re.fullmatch(r"v?\d+(?:\.\d+)*(?:[-+.]\w+)?", said):
            return ""
        said = version["before"] + said.removeprefix("v")
    if date := _day_of(plain, said):
        return _like(old, date)
    return "" if _unclear(said) or not said else _like(old, said)


_UNITS = {
    "px": "px pixel pixels",
    "pt": "pt point points",
    "em": "em",
    "rem": "rem",
    "%": "% percent",
    "ms": "ms millisecond milliseconds",
    "s": "s sec secs second seconds",
    "m": "m min mins minute minutes",
    "min": "m min mins minute minutes",
    "h": "h hour hours",
    "d": "d day days",
    "kb": "kb kilobyte kilobytes",
    "mb": "mb meg megs megabyte megabytes",
    "gb": "gb gig gigs gigabyte gigabytes",
}
"""How what stands behind a number is said."""
_MEASURED = re.compile(rf"-?\d[\d_]*(?:\.\d+)?(?P<unit> ?(?:{'|'.join(_UNITS)}))", re.IGNORECASE)


def _if_measured(old: str, said: str) -> str:
    """Another unit, where it is written with its number; else nobody knows what is meant."""
    written = re.sub(r"(?<=\d)\s+(?=[a-z%])", "", said.strip(), flags=re.IGNORECASE)
    return _like(old, written) if _MEASURED.fullmatch(written) else ""


def _so_many(said: str, unit: str) -> str:
    """A number of the same unit, or of none: "eighteen pixels" where it says 14px. Empty where
    anything else is said with it."""
    words = re.findall(r"[^\W\d_]+|%|\d[\d.]*", said.lower())
    there = [one for one in found(words) if not one.ordinal]
    numbers = {at for one in there for at in range(one.start, one.end)}
    rest = [word for at, word in enumerate(words) if at not in numbers]
    named = _UNITS[unit.strip().lower()].split()
    return f"{there[0].value:g}" if len(there) == 1 and set(rest) <= {*named, "to"} else ""


_DATE = re.compile(
    r"(?P<day>\d{1,2})(?P<th>st|nd|rd|th)?(?P<between>(?: of)? )(?P<month>[A-Z][a-z]{2,})"
)
_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]


def _day_of(old: str, said: str) -> str:
    """A day as the one that is there is written: "the nineteenth" for 12 June is 19 June."""
    before = _DATE.search(old)
    words = re.findall(r"[a-z]+|\d+(?:st|nd|rd|th)?", said.lower())
    days = [int(one.value) for one in found(words) if one.ordinal or one.value == int(one.value)]
    if before is None or len(days) != 1 or not 0 < days[0] <= _LAST_DAY:
        return ""
    named = [one for one in _MONTHS if one.lower() in words]
    month = named[0] if named else before["month"]
    day = nth(days[0]) if before["th"] else f"{days[0]}"
    if len(before["month"]) == _SHORT_MONTH:
        month = month[:_SHORT_MONTH]
    return f"{old[: before.start()]}{day}{before['between']}{month}{old[before.end() :]}"


_LAST_DAY, _SHORT_MONTH = 31, 3


def _unclear(said: str) -> bool:
    """Words of a number that make none."""
    return figures_only(said) and re.search(r"\d", said) is None


def _like(old: str, new: str) -> str:
    """In quotes where the old one is."""
    mark = old[:1]
    if mark in "\"'" and old.endswith(mark) and new[:1] != mark:
        return f"{mark}{new}{mark}"
    if re.fullmatch(r"(?i)true|false|yes|no|on|off", old):
        return _switched(old, new)
    return new


_SWITCHES = (("true", "false"), ("yes", "no"), ("on", "off"))
_ON = re.compile(r"(?i)(?:true|yes|on|enabled?|active|activated)")
_OFF = re.compile(r"(?i)(?:false|no|off|disabled?|inactive|deactivated)")


def _switched(old: str, new: str) -> str:
    """On is `true` where it was `false`, in the same letters."""
    if not (_ON.fullmatch(new) or _OFF.fullmatch(new)):
        return new
    words = next(pair for pair in _SWITCHES if old.lower() in pair)
    word = words[0] if _ON.fullmatch(new) else words[1]
    return word.capitalize() if old[:1].isupper() and not old.isupper() else word


def cased_like(old: str, new: str) -> str:
    """A word at the beginning of a sentence stays one; a name keeps the way it is spelt."""
    if old[:1].isupper() and old[1:].islower() and new.islower() and " " not in new:
        return new.capitalize()
    return new


ADDED = re.compile(r"^\+(?!\+\+)(.*)$", re.MULTILINE)
_REMOVED = re.compile(r"^-(?!--)(.*)$", re.MULTILINE)


def changed(output: str, known: Known) -> Mapping[str, Any] | None:
    """The line as it is now, from the tool's own account of what it wrote."""
    if not re.match(r"Replaced \d+ place", output):
        return None
    name, place = str(known.get("name") or "That"), spoken_path(str(known.get("path") or ""))
    now = ADDED.search(output)
    pairs = settings_in([Match("", 0, now[1])], name) if now else []
    before = str(known.get("before") or "")
    if name.startswith("The ") and pairs:
        told = f"{name} in {place} is now {plain_value(pairs[0].value)}; it was {before}."
    elif now and is_prose(place):
        told = f"Changed. {place} now says: {sentence(clipped(prose(now[1])))}"
    else:
        told = f"Changed {before} to {known.get('to_written') or known.get('to')} in {place}."
    return {"told": told, **undo(known)}


def undo(known: Known) -> dict[str, Any]:
    """What takes an edit back."""
    if not (known.get("path") and known.get("new")) or known.get("all"):
        return {}
    return {"undo_path": known["path"], "undo_old": known["new"], "undo_new": known["old"]}


def taken_back(output: str, known: Known) -> Mapping[str, Any] | None:
    """The file is as it was, by the tool's own account."""
    if gone := re.match(r"Deleted (.+), which was new\.", output):
        return {"told": f"{spoken_path(gone[1])} is gone again."}
    if not re.match(r"(?:Replaced \d+ place|Put .+ back)", output):
        return None
    paths = [str(one) for one in known.get("undo_files") or [known.get("undo_path")]]
    files = joined([spoken_path(path, paths) for path in paths[:FEW]])
    files += f" and {len(paths) - FEW} more" if len(paths) > FEW else ""
    return {"told": f"I've put {files} back as {'they were' if len(paths) > 1 else 'it was'}."}


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
    name = bare(str(known.get("whole_name") or known.get("what") or ""))
    to = bare(_BEHIND.split(str(known.get("to") or ""))[0])
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
    return {"told": f"{known['old']} is now {known['new']}, in {files}.", "undo_files": paths}
