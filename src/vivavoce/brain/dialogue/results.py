"""What a tool's result says, in words for the ear: how many and where, the value, how it ended.

Each reading takes the text of a result and what is known of the wish, and gives values: `told` is
what can be said of it, the others are for the next stage of a flow. It gives None where the result
has nothing of what was wanted. Nothing is told that is not in the result.
"""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from vivavoce.language.en.naming import bare, patterns, pieces, stem, telling
from vivavoce.wire.values import Value

Known = Mapping[str, Any]
Reading = Callable[[str, Known], Mapping[str, Any] | None]

_CUT = re.compile(r"\n?\.\.\.\[truncated, (\d+) characters, (\d+) lines in all.*", re.DOTALL)
_FEW, _LINE, _SHORT = 3, 160, 420


# --- What a result looks like


def refusal(output: str) -> str | None:
    """Why it failed, in one sentence; None where it did not."""
    if not output.lstrip().startswith("{"):
        return None
    try:
        told = json.loads(output)
    except ValueError:
        return None
    if not isinstance(told, dict) or told.get("success") is not False:
        return None
    error = str(told.get("error") or "that did not work").strip()
    return re.split(r"(?<=\w)[;\n]|(?<=[.!?])\s", error)[0].strip().rstrip(".")


class Match(Value):
    path: str
    number: int
    text: str


_MATCH = re.compile(r"^(?P<path>[^\n:]+):(?P<number>\d+):(?P<text>.*)$", re.MULTILINE)
_FOUND = re.compile(
    r"Found (?P<least>at least )?(?P<count>[\d,]+) match(?:es)? in (?P<files>[\d,]+)"
)


class Matches(Value):
    count: int
    there: tuple[Match, ...]
    """Those that were shown; of very many only the first."""
    least: bool = False

    @property
    def whole(self) -> bool:
        return self.count == len(self.there)


def matches_in(output: str) -> Matches:
    there = tuple(
        Match(one["path"].strip(), int(one["number"]), one["text"])
        for one in _MATCH.finditer(_CUT.sub("", output))
    )
    head = _FOUND.search(output)
    count = int(head["count"].replace(",", "")) if head else len(there)
    return Matches(max(count, len(there)), there, bool(head and head["least"]))


class Names(Value):
    count: int
    there: tuple[str, ...]


def names_in(output: str) -> Names:
    lines = [line.strip() for line in _CUT.sub("", output).split("\n") if line.strip()]
    there = tuple(
        line
        for line in lines
        if not re.match(r"Found \d|No files|\(|\d+ entries\. By folder", line)
    )
    head = re.search(r"Found ([\d,]+) files?", output)
    count = int(head[1].replace(",", "")) if head else len(there)
    return Names(max(count, len(there)), there)


class Ended(Value):
    """How a command came out."""

    ok: bool
    how: str
    lines: tuple[str, ...]


def ended(output: str) -> Ended:
    first, _, rest = output.partition("\n")
    lines = tuple(line.rstrip() for line in rest.split("\n") if line.strip())
    lines = () if lines == ("It printed nothing.",) else lines
    return Ended(first.startswith("Succeeded"), first.strip(), lines)


# --- Words


def spoken_path(path: str, among: Iterable[str] = ()) -> str:
    """Its name; with its folder only where another one has the same."""
    pure = PurePosixPath(path.rstrip("/"))
    same = [one for one in among if PurePosixPath(one).name == pure.name and one != path]
    return f"{pure.name} in {pure.parent.name}" if same and pure.parent.name else pure.name


def joined(words: Sequence[str], last: str = "and") -> str:
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"


def counted(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


def clipped(text: str, room: int = _LINE) -> str:
    """One line, cut at a word."""
    line = " ".join(text.split())
    return line if len(line) <= room else line[:room].rsplit(" ", 1)[0].rstrip(",;:") + " …"


def sentence(text: str) -> str:
    text = text.strip()
    return text if not text or text[-1] in ".!?…:" else f"{text}."


def prose(text: str) -> str:
    """A line without its marks of a list, a heading, a comment."""
    line = re.sub(r"^\s*(?:[-*+•]\s+|#{1,6}\s+|//\s*|--\s+|>\s+|\d+[.)]\s+|\"\"\"|''')", "", text)
    line = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", line)
    return re.sub(
        r"(?:\"\"\"|'''|[*_`]{1,2})(?=\s|$|[.,])|(?<=\s)[*_`]{1,2}(?=\w)", "", line
    ).strip()


def where(matches: Sequence[Match]) -> str:
    """ "app.py, lines 2 and 16, and util.py, line 7"."""
    paths = list(dict.fromkeys(match.path for match in matches))
    told = []
    for path in paths[:_FEW]:
        numbers = sorted({m.number for m in matches if m.path == path})
        shown = [str(number) for number in numbers[:_FEW]]
        if len(numbers) > _FEW:
            told.append(f"{spoken_path(path, paths)}, {len(numbers)} lines")
        else:
            line = "line" if len(numbers) == 1 else "lines"
            told.append(f"{spoken_path(path, paths)}, {line} {joined(shown)}")
    more = len(paths) - _FEW
    if more > 0:
        told.append(counted(more, "more file"))
    return "; ".join(told[:-1]) + f"; and {told[-1]}" if len(told) > 1 else "".join(told)


_BUT = re.compile(
    r"\b(?:other than|except(?:ing)?(?: for| in)?|excluding|apart from|aside from|besides|"
    r"not (?:counting|including|in)|outside(?: of)?|leaving out|ignoring|but not(?: in)?|without)"
    r"\s+(?:(?:the|any|our|my)\s+)?([\w-]+)",
    re.IGNORECASE,
)


def left_out(said: str) -> str:
    """The place that does not count: "other than the tests"."""
    named = _BUT.search(said)
    return stem(named[1]) if named else ""


def _counting(found: Matches, known: Known) -> list[Match]:
    """Those that are in a place that counts: among several files that were meant, and not where
    the user said it does not matter."""
    among, out = known.get("among") or (), left_out(known["said"])
    there = [m for m in found.there if not among or m.path in among]
    return [m for m in there if not out or not any(stem(p) == out for p in pieces(m.path))]


# --- Found text

_DEFINES = r"(?:def|class|function|func|fn|const|let|var|type|interface|struct|enum)\s+"
_IMPORTS = re.compile(r"^\s*(?:from\s+\S+\s+)?import\b|^\s*(?:use|require|#include)\b|require\(")
_ASKS_DEFINED = re.compile(
    r"\b(?:define[ds]?|definition|declared?|implement(?:ed|ation)?|lives?|comes? from)\b", re.I
)
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
    if _ASKS_DEFINED.search(said) and defined:
        return {"told": f"It's defined in {where(defined)}.", **_spots(defined)}
    if _ASKS_USED.search(said):
        used = [m for m in there if m not in defined and not _IMPORTS.search(m.text)]
        there = used or there
    whole = found.whole or bool(out)
    number = len(there) if whole else found.count
    least = "at least " if found.least else ""
    beside = f" outside the {_BUT.search(said)[1]}" if out else ""  # type: ignore[index]
    if number == 1:
        told = f"In one place{beside}: {where(there)}{_quoted(there[0])}."
    else:
        told = f"In {least}{number} places{beside}: {where(there)}."
    return {"told": told, "count": number, **_spots(there)}


def _spots(there: Sequence[Match]) -> dict[str, Any]:
    return {"path": there[0].path, "paths": list(dict.fromkeys(m.path for m in there))}


def _quoted(match: Match) -> str:
    """What the line says, where it is words and no code."""
    line = prose(match.text)
    return f": {clipped(line)}" if _is_prose(match.path) and len(line.split()) > 2 else ""


def _is_prose(path: str) -> bool:
    return PurePosixPath(path).suffix.lower() in ("", ".md", ".txt", ".rst", ".adoc")


def _defines(line: str, name: str) -> bool:
    parts = "[_-]?".join(map(re.escape, pieces(name)))
    return re.search(rf"\b{_DEFINES}{parts}\b|^\s*{parts}\s*=[^=]", line, re.I) is not None


_COUNTED = {
    "tests": "test",
    "test": "test",
    "functions": "function",
    "classes": "class",
    "imports": "import",
    "lines": "line",
}


def count(output: str, known: Known) -> Mapping[str, Any] | None:
    """How often a text is there. None is an answer too."""
    found, what = matches_in(output), str(known.get("what") or "")
    there = _counting(found, known)
    number = found.count - (len(found.there) - len(there))
    kind = next((one for word, one in _COUNTED.items() if word in pieces(what)), "")
    paths = Counter(m.path for m in there)
    place = known.get("where_path")
    at = f" in {spoken_path(str(place))}" if place else ""
    if not number:
        return {"told": f"None{at}: I find no {bare(what) or 'such thing'}.", "count": 0}
    least = "at least " if found.least else ""
    if kind:
        told = f"There {'is' if number == 1 else 'are'} {least}{counted(number, kind)}{at}"
    else:
        told = f"{least}{number}{at}".capitalize()
    if len(paths) > 1 and found.whole:
        most = [f"{n} in {spoken_path(path, paths)}" for path, n in paths.most_common(_FEW)]
        rest = number - sum(n for _, n in paths.most_common(_FEW))
        told += ": " + joined([*most, *([f"{rest} elsewhere"] if rest else [])])
    elif len(paths) == 1 and not at and found.whole:
        told += f", {'' if number == 1 else 'all '}in {spoken_path(next(iter(paths)))}"
    return {"told": f"{told}.", "count": number}


def names(output: str, known: Known) -> Mapping[str, Any] | None:
    """Which files there are."""
    found = names_in(output)
    inside = str(known.get("where_path") or "")
    there = [one for one in found.there if not inside or one.startswith(inside.rstrip("/") + "/")]
    number = found.count - (len(found.there) - len(there))
    if not there:
        return None
    shown = [spoken_path(one, there) for one in there[: 2 * _FEW]]
    at = f" in {spoken_path(inside)}" if inside else ""
    if number == 1:
        folder = PurePosixPath(there[0].rstrip("/")).parent
        told = f"There is one{at}: {shown[0]}"
        told += f", in {folder.name}" if folder.name and not inside else ""
    elif number <= 2 * _FEW:
        told = f"There are {number}{at}: {joined(shown)}"
    else:
        folders = Counter(PurePosixPath(one).parts[0] for one in there if "/" in one.rstrip("/"))
        most = [f"{n} in {name}" for name, n in folders.most_common(_FEW)] if not inside else []
        told = f"There are {number}{at}, such as {joined(shown[:_FEW])}"
        told += f"; {joined(most)}" if len(most) > 1 else ""
    return {"told": f"{told}.", "count": number, "path": there[0], "paths": there}


def how_many_names(output: str, known: Known) -> Mapping[str, Any] | None:
    found = names(output, known)
    return found or {"told": "None: there are no such files.", "count": 0}


# --- Values

_PAIR = re.compile(
    r"(?P<name>[\w.\-]+|\"[^\"]+\"|'[^']+'|\*\*[^*]+\*\*)[\"'`*\])]*\s*(?::(?!:)\s?\w*\s*=|:=|=>|[:=](?!=))\s*"
    r"(?P<value>\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|[\[{(][^\n]*|[^\s,;)\]}#][^,;)\]}#\n]*)"
)


class Setting(Value):
    match: Match
    name: str
    value: str
    start: int
    end: int
    rate: float


def settings_in(matches: Iterable[Match], key: str) -> list[Setting]:
    """Everything on these lines that has a name and a value, the likeliest first."""
    wanted = list(dict.fromkeys(map(stem, telling(key))))
    found = []
    for match in matches:
        text = match.text
        at = 0
        while pair := _PAIR.search(text, at):
            at = pair.end("name") + 1
            rate = _named_so(
                pair["name"], wanted, match, at_start=not text[: pair.start()].strip(" -\"'*")
            )
            if rate > 0:
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
    rate = len(hit) / len(wanted) - 0.15 * unsaid / len(parts)
    around = [stem(part) for part in pieces(match.path)]
    rate += 0.05 * any(one in around for one in wanted if one not in hit)
    return rate + 0.1 * at_start - 0.2 * ("test" in around and "test" not in wanted)


def _close(one: str, other: str) -> bool:
    return min(len(one), len(other)) >= 4 and (one.startswith(other) or other.startswith(one))


def _plain_value(value: str) -> str:
    value = value.strip().rstrip(",;")
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        value = value[1:-1]
    return clipped(value, 80)


def _plain_name(name: str) -> str:
    return " ".join(part if part.isdigit() else part.lower() for part in pieces(name)) or name


def setting(output: str, known: Known) -> Mapping[str, Any] | None:
    """What something is set to."""
    there = _counting(matches_in(output), known)
    found = settings_in(there, str(known.get("what") or known["said"]))
    if found:
        best = [one for one in found if one.rate > found[0].rate - 0.08]
        values = list(dict.fromkeys((_plain_value(o.value), o.match.path) for o in best))
        first = best[0]
        name = _plain_name(first.name).capitalize()
        paths = [one.match.path for one in best]
        if len({value for value, _ in values}) == 1:
            told = f"{name} is {values[0][0]}, in {spoken_path(first.match.path, paths)}."
        else:
            each = [f"{value} in {spoken_path(path, paths)}" for value, path in values[:_FEW]]
            told = f"{name} is {joined(each)}."
        return {"told": told, "path": first.match.path, "value": values[0][0]}
    lines = [m for m in there if _is_prose(m.path)]
    wanted = list(map(stem, telling(str(known.get("what") or ""))))
    rated = [(sum(one in [stem(p) for p in pieces(m.text)] for one in wanted), m) for m in lines]
    rated = [one for one in rated if one[0] >= max(1, (len(wanted) + 1) // 2)]
    if not rated:
        return None
    line = max(rated, key=lambda one: one[0])[1]
    told = f"{spoken_path(line.path)} says: {sentence(clipped(prose(line.text)))}"
    return {"told": told, "path": line.path}


# --- Changing a value


def line_to_change(output: str, known: Known) -> Mapping[str, Any] | None:
    """The line that has it, and the same line with the new value."""
    there = _counting(matches_in(output), known)
    what, to = str(known.get("what") or ""), str(known.get("to_written") or known.get("to") or "")
    old = str(known.get("from_written") or known.get("from") or "")
    if not to:
        return None
    found = settings_in(there, what) if what else []
    if old:
        same = [one for one in found if _plain_value(one.value).lower() == old.lower()]
        found = same or [one for one in found if old.lower() in one.value.lower()]
    if found:
        best = [one for one in found if one.rate > found[0].rate - 0.08]
        if (several := _several(best)) is not None:
            return several
        first = best[0]
        text = first.match.text
        new = text[: first.start] + _like(first.value, to) + text[first.end :]
        before = _plain_value(first.value)
        return _edit(first.match, new, f"The {_plain_name(first.name)}", before)
    return _replaced(there, old or what, to)


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
            match, one = hits[0]
            text = match.text[: one.start()] + cased_like(one[0], new) + match.text[one.end() :]
            return _edit(match, text, one[0], one[0])
    return None


def _edit(match: Match, new: str, name: str, before: str) -> Mapping[str, Any] | None:
    return {"path": match.path, "old": match.text, "new": new, "name": name, "before": before}


def _like(old: str, new: str) -> str:
    """In quotes where the old one is."""
    mark = old[:1]
    if mark in "\"'" and old.endswith(mark) and new[:1] != mark:
        return f"{mark}{new}{mark}"
    return cased_like(old, new) if re.fullmatch(r"True|False", old) else new


def cased_like(old: str, new: str) -> str:
    """A word at the beginning of a sentence stays one; a name keeps the way it is spelt."""
    if old[:1].isupper() and old[1:].islower() and new.islower() and " " not in new:
        return new.capitalize()
    return new


_ADDED = re.compile(r"^\+(?!\+\+)(.*)$", re.MULTILINE)
_REMOVED = re.compile(r"^-(?!--)(.*)$", re.MULTILINE)


def changed(output: str, known: Known) -> Mapping[str, Any] | None:
    """The line as it is now, from the tool's own account of what it wrote."""
    if not re.match(r"Replaced \d+ place", output):
        return None
    name, place = str(known.get("name") or "That"), spoken_path(str(known.get("path") or ""))
    now = _ADDED.search(output)
    pairs = settings_in([Match("", 0, now[1])], name) if now else []
    before = str(known.get("before") or "")
    if name.startswith("The ") and pairs:
        told = f"{name} in {place} is now {_plain_value(pairs[0].value)}; it was {before}."
    elif now and _is_prose(place):
        told = f"Changed. {place} now says: {sentence(clipped(prose(now[1])))}"
    else:
        told = f"Changed {before} to {known.get('to_written') or known.get('to')} in {place}."
    return {"told": told}


# --- Adding a line


def end_of_file(output: str, known: Known) -> Mapping[str, Any] | None:
    """What to replace so that a line is added at the end."""
    if cut := _CUT.search(output):
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
    text = str(known.get("what_written") or known.get("what") or "").strip()
    mark = re.match(r"\s*(?:[-*+•]\s+(?:\[[ x]\]\s+)?|(\d+)([.)])\s+)", last)
    if mark is None:
        return text
    if mark[1]:
        return re.sub(r"\d+", str(int(mark[1]) + 1), mark[0], count=1) + text
    return mark[0].replace("[x]", "[ ]") + text


def added(output: str, known: Known) -> Mapping[str, Any] | None:
    place = spoken_path(str(known.get("path") or known.get("file_path") or ""))
    line = _ADDED.findall(output)
    if re.match(r"Replaced \d+ place", output):
        now = prose(line[-1]) if line else str(known.get("what"))
        return {"told": f"Added to {place}: {sentence(clipped(now))}"}
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
    name, text = spoken_path(path), _CUT.sub("", output).strip("\n")
    if not text.strip() or re.fullmatch(r"\S+ is empty\.", text.strip()):
        return {"told": f"{name} is empty.", "path": path}
    if re.match(r"\S+ is binary|\S+: a picture", text):
        return {"told": sentence(clipped(text)), "path": path}
    answer = _answering(text, known, path)
    return {"told": answer or overview(text, path), "path": path}


def _answering(text: str, known: Known, path: str) -> str:
    """Lines with what was asked about, if something particular was."""
    own = set(map(stem, pieces(PurePosixPath(path).stem)))
    about = str(known.get("about") or "")
    asked = [w for w in map(stem, telling(about or known["said"])) if w not in own | _ASKING]
    if not asked:
        return ""
    lines = [line for line in text.split("\n") if line.strip()]
    rates = [sum(one in map(stem, pieces(line)) for one in set(asked)) for line in lines]
    best = max(rates, default=0)
    if not best or (best < 2 and len(set(asked)) > 3 and not about):
        return ""
    hits = [line for line, rate in zip(lines, rates, strict=True) if rate == best]
    if _is_prose(path):
        return " ".join(sentence(clipped(prose(line))) for line in hits[:_FEW])
    pairs = settings_in([Match(path, 0, line) for line in hits], " ".join(asked))
    if pairs:
        return f"{_plain_name(pairs[0].name).capitalize()} is {_plain_value(pairs[0].value)}."
    return ""


_ASKING = frozenset(
    map(
        stem,
        "tell say says show give read open look check content file line lines summary summarise "
        "summarize overview quick quickly short going know want remind again see explain describe "
        "hey ok okay right could would happen mean written write put contain document gist point "
        "first last top bottom whole entire back out loud aloud let hear".split(),
    )
)


def overview(text: str, path: str) -> str:
    """What is in it, by its kind: short prose whole, a longer one's beginning, what code defines."""
    name = spoken_path(path)
    suffix = PurePosixPath(path).suffix.lower()
    if suffix in (".yaml", ".yml", ".json", ".toml", ".ini", ".cfg", ".env"):
        return _keys(text, name)
    if not _is_prose(path):
        return _code(text, name)
    lines = [
        prose(line) for line in text.split("\n") if line.strip() and not line.startswith("    ")
    ]
    lines = [line for line in lines if re.search(r"\w", line)]
    whole = " ".join(map(sentence, lines))
    if len(whole) <= _SHORT:
        return f"{name} says: {whole}"
    shown, size = [], 0
    for line in lines:
        if size and size + len(line) > _SHORT * 2 // 3:
            break
        shown.append(sentence(clipped(line, _SHORT)))
        size += len(line)
    rest = len(lines) - len(shown)
    return (
        f"{name} begins: {' '.join(shown)} {counted(rest, 'more line')} follow{'s' * (rest == 1)}."
    )


def _keys(text: str, name: str) -> str:
    pairs = [one for line in text.split("\n") if (one := _PAIR.search(line))]
    told = [f"{_plain_name(one['name'])} {_plain_value(one['value'])}" for one in pairs]
    told = [one for one in told if not one.endswith(("{", "[", "("))]
    if not told:
        return f"{name} has {counted(len(text.splitlines()), 'line')}."
    more = len(told) - 2 * _FEW
    return f"{name} has {joined([*told[: 2 * _FEW], *([f'{more} more'] if more > 0 else [])])}."


def _code(text: str, name: str) -> str:
    head = "\n".join(text.split("\n")[:6])
    doc = _DOC.search(head)
    about = sentence(prose(doc[1])) if doc and len(doc[1].split()) > 1 else ""
    defined = [one[1] for one in _CODE_NAMES.findall(text)] or _ANY_NAMES.findall(text)
    defined = [one for one in dict.fromkeys(defined) if not one.startswith("__")]
    if not defined:
        return f"{name} has {counted(len(text.splitlines()), 'line')}. {about}".strip()
    more = len(defined) - 2 * _FEW
    listed = joined([*defined[: 2 * _FEW], *([f"{more} more"] if more > 0 else [])])
    return f"{about + ' ' if about else ''}{name} defines {listed}."


# --- Commands and tests


def command(output: str, known: Known) -> Mapping[str, Any] | None:
    """How it ended, and the last thing it said."""
    done = ended(output)
    tests = test_words(done)
    if tests:
        return {"told": tests, "ok": done.ok}
    last = clipped(done.lines[-1]) if done.lines else ""
    if done.ok:
        told = _printed(done.lines) if done.lines else "It ran and printed nothing."
    else:
        how = re.sub(r"^Failed \(exit code (\d+)\)(?:: )?(.*)\.$", _how, done.how)
        told = f"{sentence(how)} {sentence(f'The last line is: {last}') if last else ''}"
    return {"told": told.strip(), "ok": done.ok}


def _how(found: re.Match[str]) -> str:
    return f"It failed: {found[2]}" if found[2] else f"It failed with exit code {found[1]}"


def _printed(lines: Sequence[str]) -> str:
    if len(lines) <= _FEW:
        return "It printed: " + " ".join(sentence(clipped(line)) for line in lines)
    return f"It went through, with {len(lines)} lines. The last is: {sentence(clipped(lines[-1]))}"


_RAN = re.compile(r"^Ran (\d+) tests?", re.MULTILINE)
_UNITTEST = re.compile(r"^FAILED \((.+)\)|^OK\b", re.MULTILINE)
_PYTEST = re.compile(
    r"(?:^|=+ )((?:\d+ (?:passed|failed|errors?|skipped|xfailed|deselected|warnings?)(?:, )?)+) in [\d.]+",
    re.M,
)
_JEST = re.compile(r"^Tests:\s+(.+)$", re.MULTILINE)
_GO = re.compile(r"^(ok|FAIL|---\s+FAIL:?)\s+(\S+)", re.MULTILINE)
_CARGO = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed", re.MULTILINE)
_FAILED = re.compile(
    r"^(?:FAILED|ERROR) \S*?::(?:\w+::)?(\w+)|^(?:FAIL|ERROR): (\w+)|^--- FAIL: (\w+)|^test (\S+) \.\.\. FAILED",
    re.MULTILINE,
)


def test_words(done: Ended) -> str:
    """Of a run of tests: how many, and which failed. Empty where it was none."""
    text = "\n".join(done.lines)
    tally = _tally(text)
    if tally is None:
        return ""
    passed, failed = tally
    names = [next(filter(None, one)) for one in _FAILED.findall(text)]
    total = passed + failed
    if failed:
        which = f": {joined(list(dict.fromkeys(names))[:_FEW])}" if names else ""
        return f"{failed} of {counted(total, 'test')} failed{which}."
    if not total:
        return "No tests were run."
    if not done.ok:
        return f"{counted(passed, 'test')} passed, and still it ended badly: {sentence(done.how)}"
    return f"All {total} tests passed." if total > 1 else "The one test passed."


def _tally(text: str) -> tuple[int, int] | None:
    if ran := _RAN.search(text):
        end = _UNITTEST.search(text)
        bad = sum(map(int, re.findall(r"(?:failures|errors)=(\d+)", end[0]))) if end else 0
        return int(ran[1]) - bad, bad
    if found := [*_CARGO.finditer(text)]:
        return sum(int(one[1]) for one in found), sum(int(one[2]) for one in found)
    for summary in (_PYTEST, _JEST):
        if told := summary.search(text):
            bad = sum(map(int, re.findall(r"(\d+) (?:failed|errors?)", told[1])))
            good = sum(map(int, re.findall(r"(\d+) passed", told[1])))
            return good, bad
    if re.search(r"^no tests ran", text, re.MULTILINE):
        return 0, 0
    return None


_DOCUMENTED = re.compile(
    r"(?:^|[`$>:\s])((?:(?:python3?|uv run|poetry run|npx)\s+(?:-m\s+)?)?(?:pytest|unittest|tox|nox|"
    r"npm (?:run )?test|yarn test|pnpm test|make (?:test|check)|cargo test|go test|jest|vitest)"
    r"(?: [\w./:=@,+-]+)*)"
)
"""A command that a file gives for the tests. Nothing in it that a shell could take further."""


def runner(output: str, known: Known) -> Mapping[str, Any] | None:
    """How the tests of this project are run, from what its files say."""
    there = matches_in(output).there
    by_name = {PurePosixPath(m.path).name.lower(): m for m in there}
    for match in there:
        name = PurePosixPath(match.path).name.lower()
        if name.startswith(("readme", "contributing")) and (said := _DOCUMENTED.search(match.text)):
            plain = re.sub(r"^\s*[`$>]*\s*", "", said[1]).strip(" .,:")
            return {"command": plain}
    if any(n == "makefile" and re.match(r"test:", m.text) for n, m in by_name.items()):
        return {"command": "make test"}
    if "package.json" in by_name:
        return {"command": "npm test"}
    lines = "\n".join(m.text for m in there)
    tests = [m for m in there if PurePosixPath(m.path).suffix == ".py"]
    if "pytest" in lines or any(re.match(r"def test_", m.text) for m in tests):
        return {"command": "pytest"}
    if "unittest" in lines and tests:
        folder = str(PurePosixPath(tests[0].path).parent)
        return {"command": f"python3 -m unittest discover -s {folder}"}
    if "cargo.toml" in by_name:
        return {"command": "cargo test"}
    return {"command": "go test ./..."} if "go.mod" in by_name else None


def repository(output: str, known: Known) -> Mapping[str, Any] | None:
    """What git says."""
    done = ended(output)
    text = "\n".join(done.lines)
    if "not a git repository" in text.lower():
        return {"told": "This folder isn't a git repository."}
    if not done.ok:
        return command(output, known)
    asked = str(known.get("git_command") or "")
    if " log" in asked:
        titles = [line.split(" ", 1)[-1] for line in done.lines]
        if not titles:
            return {"told": "There are no commits yet."}
        first = f"The last commit is: {sentence(clipped(titles[0]))}"
        more = (
            f" Before that: {'; '.join(clipped(t, 60) for t in titles[1:3])}." if titles[1:] else ""
        )
        return {"told": first + (more if re.search(r"commits|log|history", known["said"]) else "")}
    if " branch" in asked:
        return {
            "told": f"You're on the branch {done.lines[0].strip('* ')}."
            if done.lines
            else "There is no branch."
        }
    return {"told": _status(done.lines)}


def _status(lines: Sequence[str]) -> str:
    branch = next(
        (
            re.split(r"\.\.\.| ", line[3:])[-1 if "No commits" in line else 0]
            for line in lines
            if line.startswith("## ")
        ),
        "",
    )
    files = [line for line in lines if not line.startswith("## ")]
    on = f"On {branch}: " if branch else ""
    if not files:
        return f"{on}nothing has changed." if on else "Nothing has changed."
    if any(re.search(r"\|\s+\d+|files? changed", line) for line in files):  # a diff in figures
        last = files[-1].strip()
        paths = [line.split("|")[0].strip() for line in files if "|" in line]
        return f"{sentence(last.split(',')[0])} {joined([spoken_path(p) for p in paths[:_FEW]])}.".strip()
    new = [line[3:] for line in files if line.startswith("??")]
    other = [line[3:] for line in files if not line.startswith("??")]
    told = []
    if other:
        told.append(
            f"{counted(len(other), 'file')} changed ({joined([spoken_path(p) for p in other[:_FEW]])})"
        )
    if new:
        told.append(
            f"{counted(len(new), 'new file')} ({joined([spoken_path(p) for p in new[:_FEW]])})"
        )
    return f"{on}{joined(told)}."


def gone(output: str, known: Known) -> Mapping[str, Any] | None:
    """A file that was deleted or has another name now."""
    done = ended(output)
    if not done.ok:
        return command(output, known)
    path = str(known.get("file_path") or "")
    to = shlex.split(str(known.get("bash_command") or path))[-1]
    if to == path:
        return {"told": f"{spoken_path(path)} is deleted."}
    old, new = PurePosixPath(path), PurePosixPath(to)
    where_to = f"called {new.name}" if new.name != old.name else f"in {new.parent.name}"
    return {"told": f"{old.name} is now {where_to}.", "path": to}


# --- Names of code


def spots(output: str, known: Known) -> Mapping[str, Any] | None:
    """Where a name stands, exactly as it is written; or that it is not a simple matter."""
    there = matches_in(output)
    name, to = bare(str(known.get("what") or "")), bare(str(known.get("to") or ""))
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
    files = joined([spoken_path(path, paths) for path in paths[:_FEW]])
    files += f" and {len(paths) - _FEW} more" if len(paths) > _FEW else ""
    return {"told": f"{known['old']} is now {known['new']}, in {files}."}


# --- The web, tasks, sums, the clock


def page(output: str, known: Known) -> Mapping[str, Any] | None:
    """The sentences of a page that answer, or its first."""
    head, _, text = output.partition("\n\n")
    if not head.startswith("The page"):
        return {"told": sentence(clipped(output, _SHORT))}
    lines = [prose(line) for line in _CUT.sub("", text).split("\n") if len(line.split()) > 2]
    asked = [w for w in map(stem, telling(str(known.get("about") or ""))) if w not in _ASKING]
    rates = [sum(one in map(stem, pieces(line)) for one in set(asked)) for line in lines]
    best = max(rates, default=0)
    picked = [
        line for line, rate in zip(lines, rates, strict=True) if best and rate == best
    ] or lines
    if not picked:
        return {"told": "There is no text on that page."}
    return {"told": "The page says: " + " ".join(sentence(clipped(one, 200)) for one in picked[:2])}


_HIT = re.compile(r"^\d+\. (?P<title>.+)\n\s+(?P<url>\S+)(?:\n\s+(?P<snippet>.+))?", re.MULTILINE)


def hits(output: str, known: Known) -> Mapping[str, Any] | None:
    found = [*_HIT.finditer(output)]
    if not found:
        return None
    first = found[0]
    told = f"The first page I find is {sentence(clipped(first['title'], 100))}"
    if first["snippet"]:
        told += f" It says: {sentence(clipped(first['snippet'], 220))}"
    return {"told": told}


def task_started(output: str, known: Known) -> Mapping[str, Any] | None:
    begun = re.match(r"Task started: \S+ with agent '([^']+)'", output)
    if begun is None:
        return {"told": sentence(clipped(output))}
    return {
        "told": f"I've handed that over: the {begun[1]} is on it, and I'll tell you what comes of it."
    }


_TASK = re.compile(
    r"^\S+ \((?P<agent>[^)]*)\) (?P<title>.+?): (?P<how>(?:running|done|failed|cancelled|waits).*)$",
    re.M,
)


def tasks(output: str, known: Known) -> Mapping[str, Any] | None:
    found = [*_TASK.finditer(output)]
    if not found:
        return {
            "told": "No task has been handed over."
            if "no tasks" in output
            else sentence(clipped(output))
        }
    open_ = [one for one in found if one["how"].startswith(("running", "waits"))]
    shown = (open_ or found)[:_FEW]
    told = [f"“{clipped(one['title'], 60)}” is {_going(one['how'])}" for one in shown]
    more = len(found) - len(shown)
    return {
        "told": ". ".join(told)
        + (f". There {'is' if more == 1 else 'are'} {more} more." if more and open_ else ".")
    }


def _going(how: str) -> str:
    word, _, rest = how.partition(": ")
    share = re.sub(r"running, (\d+)%", r"running, \1 percent done", word)
    share = {"waits for an answer": "waiting for your answer"}.get(share, share)
    return f"{share}: {clipped(rest, 120)}" if rest else share


def words(output: str, known: Known) -> Mapping[str, Any] | None:
    """As the tool put it."""
    text = clipped(output, _SHORT)
    return {"told": sentence(text[:1].upper() + text[1:])} if text else None


def number(output: str, known: Known) -> Mapping[str, Any] | None:
    text = output.strip()
    if re.fullmatch(r"-?\d+\.\d{5,}", text):
        text = (
            f"about {float(text):.4g}" if abs(float(text)) < 1000 else f"about {float(text):,.2f}"
        )
    elif re.fullmatch(r"-?\d{5,}", text):
        text = f"{int(text):,}"
    return {"told": f"That's {text}."}


def clock(output: str, known: Known) -> Mapping[str, Any] | None:
    text = re.sub(r" in ([\w/+-]+) \(.*\)$", "", output.strip())
    zone = re.search(r" in \w+/(\w+) \(", output)
    place = f" in {zone[1].replace('_', ' ')}" if zone and known.get("where") else ""
    return {"told": f"It's {text}{place}."}


READINGS: Mapping[str, Reading] = {
    one.__name__: one
    for one in (
        places, count, names, how_many_names, setting, line_to_change, changed, end_of_file,
        end_of_part, added, written, content, command, runner, repository, gone, spots, renamed,
        page, hits, task_started, tasks, words, number, clock,
    )
}  # fmt: skip
"""By the name that a stage gives in `read`."""
