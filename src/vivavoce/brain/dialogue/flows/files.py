"""Readings of files: which there are, what is in one, where a line is added, what was written."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from vivavoce.brain.dialogue.flows.changing import ADDED, undo
from vivavoce.brain.dialogue.flows.results import (
    ASKING,
    CUT,
    FEW,
    SHORT,
    Known,
    Match,
    asked_about,
    clipped,
    counted,
    evidence,
    is_prose,
    joined,
    matches_in,
    names_in,
    overlap,
    prose,
    sentence,
    spoken_path,
)
from vivavoce.brain.dialogue.flows.structure import (
    PAIR,
    piece,
    places_in,
    plain_name,
    plain_value,
)
from vivavoce.brain.dialogue.flows.tables import (
    BULLET,
    TABLES,
    as_row,
    cells,
    is_row,
    new_row,
    plain_item,
    rows_in,
    spoken_row,
    table_in,
)
from vivavoce.brain.dialogue.flows.values import settings_in
from vivavoce.brain.dialogue.flows.written import new_pair
from vivavoce.language.en import filenames
from vivavoce.language.en.dictation import dictated
from vivavoce.language.en.naming import bare, pieces, punctuated, stem, telling
from vivavoce.language.en.numbers import number
from vivavoce.language.en.quantities import lacks
from vivavoce.language.en.utterances import questions


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


_OVER = re.compile(
    r"(?i)\b(?:overwrit\w*|replac\w*|instead|write (?:it )?over|from scratch|anew|all new|"
    r"start (?:it )?(?:over|again|afresh)|make (?:it|that) (?:just|only))\b"
)


def there_already(output: str, known: Known) -> Mapping[str, Any]:
    """Whether what shall be made is a file that is there: then it is added to, or that is said,
    unless it shall be written over."""
    found = names_in(output).there
    if not found or _OVER.search(str(known["said"])):
        return {"there": False}
    text = str(known.get("text") or "")
    if text.count("\n") > 1 or not text:
        return {"told": f"There is a {spoken_path(found[0])} already, and I leave it as it is."}
    return {"there": True, "file_path": found[0], "what": text.rstrip("\n")}


# --- Adding a line

_DATA: tuple[str, ...] = (
    *(".json", ".jsonl", ".xml", ".html", ".htm", ".svg", ".ipynb", ".plist"),
    *(".png", ".jpg", ".jpeg", ".gif", ".webp", ".ico", ".pdf", ".zip", ".gz", ".db"),
    *(".ogg", ".mp3", ".wav", ".mp4"),
)


def end_of_file(output: str, known: Known) -> Mapping[str, Any] | None:
    """What to replace so that a line is added at the end. Words added to data would break it."""
    path = str(known.get("file_path") or "")
    if path.endswith(_DATA):
        told = f"{spoken_path(path)} is no list of lines: I can't add that to it by myself"
        return {"told": f"{told}, so I've changed nothing. A coder could do it."}
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
    """The lines with the new one: at the end, or where it was said to go."""
    path, said = str(known.get("file_path") or ""), str(known["said"])
    if (row := _row_added(lines, known)) is not None:
        return row
    if (pair := new_pair(str(known.get("what") or ""), lines, path, said)) is not None:
        name, line, at = pair
        if there := [one for one in places_in("\n".join(lines), path) if one.name == name]:
            told = f"{name} is in {spoken_path(path)} already: it is {plain_value(there[0].value)}."
            return {"told": told, "path": path}
        return {"path": path, **_edited(lines, [*lines[:at], line, *lines[at:]], at)}
    at = _place(lines, said, path)
    beside = [line for line in (*lines[at : at + 1], *lines[at - 1 : at]) if BULLET.match(line)]
    model = beside[0] if beside else lines[at - 1] if at else ""
    now = [*lines[:at], *_new_lines(model, lines, known), *lines[at:]]
    return {"path": path, **_edited(lines, now, at)}


_TO_TABLE = re.compile(r"(?i)\b(?:rows?|table|columns?|one more for)\b")


def _row_added(lines: Sequence[str], known: Known) -> Mapping[str, Any] | None:
    """A row behind the last one of its table; None where no table is meant. What its cells are
    must be clear, else it is asked for."""
    path, said = str(known.get("file_path") or ""), str(known["said"])
    first, rows = table_in(lines, path, said)
    if not rows and not (path.endswith(TABLES) and lines):
        return None
    text = str(known.get("what") or "")
    values = new_row(text, lines, path, said)
    if values is None:
        means = path.endswith(TABLES) or _TO_TABLE.search(said)
        return {"ask": "what", "path": path} if means else None
    at = max([first, *rows]) + 1
    now = [*lines[:at], as_row(values, path), *lines[at:]]
    return {"path": path, **_edited(lines, now, at)}


_TOP = re.compile(
    r"\b(?:at|to|on) (?:the )?(?:very )?(?:top|beginning|start|front)\b", re.IGNORECASE
)
_UNDER = re.compile(
    r"\b(?:under(?:neath)?|below|in) (?:the )?(?P<what>[\w .'-]+?)"
    r"(?: (?:heading|section|part|bit))?(?=[,.:;!?]|$| in | of | to | that | saying )",
    re.IGNORECASE,
)
_HEADING = re.compile(r"^#{1,6}\s+(?P<title>.+?)\s*#*$|^(?P<plain>[A-Z][\w ]{1,40}):$")


def _place(lines: Sequence[str], said: str, path: str) -> int:
    """Before which line something new goes. A heading that only names the file is no section."""
    heads = {at: m for at, line in enumerate(lines) if (m := _HEADING.match(line))}
    for named in _UNDER.finditer(said):
        asked = set(map(stem, telling(named["what"])))
        for at, head in heads.items():
            title = set(map(stem, pieces(head["title"] or head["plain"])))
            if asked and asked <= title and not title <= _words_of(path):
                end = next((one for one in heads if one > at), len(lines))
                while end > at + 1 and not lines[end - 1].strip():
                    end -= 1
                return end
    if _TOP.search(said):
        items = [at for at, line in enumerate(lines) if BULLET.match(line)]
        texts = [at for at, line in enumerate(lines) if line.strip() and at not in heads]
        return (items or texts or [0])[0]
    return len(lines)


def _edited(lines: Sequence[str], now: Sequence[str], at: int) -> dict[str, str]:
    """The smallest piece around a place that is there only once, before and after."""
    first, last = piece(lines, max(0, at - 1), min(len(lines), at + 1 + (at == 0)))
    old, new = lines[first:last], now[first : last + len(now) - len(lines)]
    return {"old": "\n".join(old), "new": "\n".join(new) or "\n"}


# --- Items of a list

_NTH = re.compile(
    r"\b(?:the |number )?(?P<nth>first|second|third|fourth|fifth|sixth|last)"
    r"(?: (?:one|line|item|entry|bullet|point|thing|task|to-?do|in|on|of|from))\b",
    re.IGNORECASE,
)


def item(output: str, known: Known) -> Mapping[str, Any] | None:
    """The line of a file that is meant, by its words or its place, as it is and as it will be:
    gone, or ticked off (`ticks`)."""
    if CUT.search(output):
        return None
    lines, path = output.rstrip("\n").split("\n"), str(known.get("file_path") or "")
    if not known.get("ticks") and (found := _out_of_lists(lines, path, known)) is not None:
        return found
    at = _meant_line(lines, str(known.get("what") or ""), str(known["said"]))
    if at is not None:
        return _item(lines, at, known)
    every = [Match(path, place, line) for place, line in enumerate(lines, 1) if line.strip()]
    asked = {stem(word) for word in telling(str(known.get("what") or ""))} - ASKING
    some = [one for one in every if asked & set(map(stem, pieces(one.text)))]
    return {"point": some, "lines": lines} if some else None


_WHOLE_LINE = re.compile(
    r"(?i)\b(?:lines?|rows?|items?|entr(?:y|ies)|bullets?|points?|task|todo)\b"
)


def _out_of_lists(lines: Sequence[str], path: str, known: Known) -> Mapping[str, Any] | None:
    """A name that is one of several on its lines goes from each of them; a line stays. None where
    the name is on no such line, or where a line as a whole was meant."""
    name = bare(str(known.get("what") or ""))
    wanted = pieces(name)
    if not wanted or len(wanted) > _NAME or path.endswith(TABLES):
        return None
    if _WHOLE_LINE.search(str(known.get("what") or "")):
        return None
    now, alone = list(lines), list[str]()
    for at, line in enumerate(lines):
        if is_row(line) or line.startswith("#"):
            continue
        taken = _without_name(line, wanted)
        if taken is not None and taken == "":
            alone.append(plain_item(line))
        now[at] = taken or line
    hit = [at for at, line in enumerate(lines) if now[at] != line]
    if not hit:
        return None
    first, last = piece(lines, hit[0], hit[-1] + 1)
    edit = {"old": "\n".join(lines[first:last]), "new": "\n".join(now[first:last])}
    many = f", on {counted(len(hit), 'line')}" if len(hit) > 1 else ""
    left = f" It is still in “{alone[0]}”, which has nothing else." if alone else ""
    return {"path": path, **edit, "line": f"{name}{many}.{left}"}


_NAME = 3
"""Words of a name."""
_KEY = re.compile(r"^(?P<key>\s*(?:[-*+•]\s+)?(?:[^:,]{1,40}:\s+|[\w.-]+\s*=\s*)?)(?P<rest>.*)$")


def _without_name(line: str, wanted: Sequence[str]) -> str | None:
    """A line without one of the names in its list; empty where it is the only one, None where it is
    not one of them."""
    key = _KEY.match(line)
    assert key is not None
    rest = key["rest"].rstrip()
    owned = any(one[:1] == "@" for one in rest.split())  # "/docs @ann @bo": a path and its owners
    apart = r"(\s+)" if owned or ("=" in key["key"] and "," not in rest) else _LISTED
    every = re.split(apart, rest)
    parts, marks = every[::2], every[1::2]
    at = next((at for at, one in enumerate(parts) if pieces(one) == [*wanted]), None)
    if at is None or (len(parts) == 1 and not key["key"].strip()):
        return None
    if len([one for one in parts if not owned or one[:1] == "@"]) == 1:
        return ""
    parts.pop(at)
    gone = marks.pop(min(at, len(marks) - 1))
    if at == len(parts) and marks and re.search(r"\w|&", gone):
        marks[-1] = gone  # "a, b and c" without c is "a and b"
    joined_up = "".join(one for both in zip(parts, [*marks, ""], strict=True) for one in both)
    return key["key"] + joined_up


_LISTED = r"(\s*,\s*(?:and\s+|&\s*)?|\s+(?:and|&)\s+)"


def item_pointed(chosen: Sequence[Match], known: Known) -> Mapping[str, Any] | None:
    lines = list(known.get("lines") or ())
    return _item(lines, chosen[0].number - 1, known) if len(chosen) == 1 else None


def _item(lines: Sequence[str], at: int, known: Known) -> Mapping[str, Any]:
    line, ticked = lines[at], ""
    if known.get("ticks"):
        ticked = re.sub(r"\[ \]", "[x]", line, count=1)
        if ticked == line:
            ticked = line if re.search(r"\[[xX]\]|\(done\)$", line) else f"{line} (done)"
        if ticked == line:
            return {
                "told": f"That is ticked off already: {sentence(plain_item(line))}",
                "path": known.get("file_path"),
            }
    now = [*lines[:at], *([ticked] if ticked else []), *lines[at + 1 :]]
    edit = _edited(lines, now, at)
    return {"path": known.get("file_path"), **edit, "line": plain_item(line)}


_ONLY_POINTS = re.compile(r"(?i)\W*(?:it|that|this|them|those|these)(?: ones?)?\W*")


def _meant_line(lines: Sequence[str], what: str, said: str) -> int | None:
    heads = [at for at, line in enumerate(lines) if _HEADING.match(line)]
    items = [at for at, line in enumerate(lines) if BULLET.match(line)]
    items = items or [at for at, line in enumerate(lines) if line.strip() and at not in heads]
    # "The essays are finished, tick them off": what is pointed at was said before.
    points = _ONLY_POINTS.fullmatch(what) is not None
    asked = {stem(word) for word in telling(said if points else what)} - ASKING
    rates = {at: len(asked & set(map(stem, pieces(lines[at])))) for at in items}
    best = max(rates.values(), default=0)
    fits = [at for at, rate in rates.items() if best and rate == best]
    if len(fits) == 1 and (points or best * 2 >= len(asked) or best > 1):
        return fits[0]
    nth = _NTH.search(what) or _NTH.search(said)
    if nth and items and not fits:
        word = nth["nth"].lower()
        place = -1 if word == "last" else _ORDER.index(word)
        return items[place] if place < len(items) else None
    return None


_ORDER = ("first", "second", "third", "fourth", "fifth", "sixth")


def struck(output: str, known: Known) -> Mapping[str, Any] | None:
    """A line that is gone, or is ticked off, by the tool's own account."""
    if not re.match(r"Replaced \d+ place", output):
        return None
    place = spoken_path(str(known.get("path") or ""))
    how = f"Ticked off in {place}" if known.get("ticks") else f"Taken out of {place}"
    return {"told": f"{how}: {sentence(clipped(str(known['line'])))}", **undo(known)}


_EACH_ITS_LINE = re.compile(
    r"(?i)\b(?:(?:one|each|every one|a line|both|all|them)\b[^,.;]{0,20}\b(?:per|on|to) (?:an?|its|"
    r"their|the)?\s*(?:own |separate )?lines?|separate(?:ly)?(?: lines)?|(?:two|three|four|several|"
    r"these|both|new) (?:\w+ )?(?:lines|items|entries|things|bullets))\b"
)
_APART = re.compile(r"\s*,\s*(?:and\s+)?|\s+and\s+(?:then\s+|also\s+)?|\s*;\s*")
_FEW_WORDS = 5


def _new_lines(last: str, lines: Sequence[str], known: Known) -> list[str]:
    """What was said, as lines like those that are there: several where it was said so, or where it
    is an enumeration for a list of single names."""
    text = punctuated(dictated(str(known.get("what") or ""))).strip().strip('"“”')
    there = [line for line in lines if line.strip() and not line.startswith("#")]
    names = len(there) > 1 and not any(" " in line.strip() for line in there)
    whole, text = text, filenames.without_manner(text) if names else text
    manner = whole[len(text) :] if whole.startswith(text) else ""
    parts = [part for part in _APART.split(text) if part]
    short = all(len(part.split()) <= _FEW_WORDS for part in parts)
    several = bool(_EACH_ITS_LINE.search(str(known["said"]))) or names
    if not (len(parts) > 1 and several and short):
        parts = [text]
    if names:
        parts = [_as_name(part, known.get("files") or (), manner) for part in parts]
    made = list[str]()
    for part in parts:
        made.append(line_for(made[-1] if made else last, part))
    return made


def _as_name(text: str, files: Sequence[str], manner: str = "") -> str:
    """Words as one name, for a file that has nothing but names: that of a file or a folder which is
    there, or in one. `manner`: how it is written, where that was said."""
    text = re.sub(r"(?i)^(?:the|a|my|our)\s+|\s+(?:folder|directory|file)$", "", text)
    said = pieces(text)
    above = [str(one) for file in files for one in PurePosixPath(file).parents]
    for path in (*files, *above):
        if pieces(PurePosixPath(path).name) == said:
            return path
    plain = len(text.split()) == 1 or not said
    return text if plain else filenames.written(f"{text}{manner}", files)


def line_for(last: str, text: str) -> str:
    """A text as a line like the one before: an item where that is one."""
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
        more = [one for one in line if one not in str(known.get("old") or "").split("\n")]
        path = str(known.get("path") or "")
        now = joined([spoken_row(one, path) or prose(one) for one in more or line[-1:]]) or str(
            known.get("what")
        )
        return {"told": f"Added to {place}: {sentence(clipped(now))}", **undo(known)}
    if made := written(output, known):
        return {**made, "told": f"{spoken_path(made['path'])} is new, with that line in it."}
    return None


def written(output: str, known: Known) -> Mapping[str, Any] | None:
    wrote = re.match(r"Wrote (\d+) characters? to (.+?)(, replacing what was there)?\.$", output)
    if wrote is None:
        return None
    again = " in place of what was there" if wrote[3] else ""
    told = f"{spoken_path(wrote[2])} is written{again}."
    return {"told": told, "path": wrote[2], "undo_files": [wrote[2]]}


# --- What is in a file

_CODE_NAMES = re.compile(
    r"^(?:\s{0,4})(?:async\s+)?(def|class|function|func|fn)\s+(\w+)", re.MULTILINE
)
_ANY_NAMES = re.compile(
    r"^(?:export\s+)?(?:const|let|var|type|interface)\s+(\w+)\b(?!\s*=\s*require\()", re.MULTILINE
)
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
    if (script := _commands(text, path)) and _WHAT_IT_RUNS.search(str(known["said"])):
        return {"told": f"{name} {script}", "path": path}
    if some := _by_tick(text, name, str(known["said"])):
        return {"told": some, "path": path}
    if some := _some_lines(text, known["said"]) or _part(text, known, path):
        return {"told": some, "path": path}
    answer, sure = _answering(text, known, path)
    whole = overview(text, path)
    if (sure or not _particular(known, path)) and answer:
        return {"told": f"{_without(known, answer, name)}{answer}", "path": path}
    if sure or not _particular(known, path):
        return {"told": whole, "path": path}
    answer = f"{_without(known, answer, name)}{answer}" if answer else ""
    told = answer or f"I don't find that in {name}. {whole}"
    point = evidence(text, path, str(known["said"]))
    return {"point": point, "instead": {"told": told, "path": path}}


_WHAT_IT_RUNS = re.compile(
    r"(?i)\bwhat(?:['’]s)? (?:does|do|is|will|would|happens)\b[^?.!]*\b(?:do|does|doing|happens|"
    r"for)\b|"
    r"\b(?:explain|talk me through|walk me through|tell me what|in (?:plain|normal|simple|human) )"
)
_NO_COMMAND = re.compile(
    r"^\s*(?:#|set\s+[-+]|(?:if|then|else|elif|fi|do|done|for|while|case|esac|function|local|export)\b|[{}]|"
    r"\w+=\S*\s*$|\w+\(\)|$)"
)


def _commands(text: str, path: str) -> str:
    """What a shell script says of itself, and what it runs, in its own words; empty for others."""
    if PurePosixPath(path).suffix not in (".sh", ".bash", ".zsh"):
        return ""
    lines = text.split("\n")
    about = [prose(one).lstrip("# ") for one in lines if re.match(r"\s*#(?!!)", one)]
    runs = [clipped(one.strip()) for one in lines if not _NO_COMMAND.match(one)]
    said = f"says of itself: {sentence(' '.join(about[:FEW]))} It" if about else ""
    more = len(runs) - 2 * FEW
    listed = joined([*runs[: 2 * FEW], *([f"{more} more"] if more > 0 else [])], "and then")
    return f"{said} runs {listed}.".strip() if runs else ""


_OPEN = re.compile(
    r"(?i)\b(?:open|left(?: (?:over|to))?|unticked|unchecked|outstanding|undone|unfinished|missing|"
    r"pending|not (?:yet )?(?:done|finished|ticked)|still (?:to|have|need|got)|yet to|to do)\b"
)
_CLOSED = re.compile(
    r"(?i)(?<!not )\b(?:done|ticked|checked|finished|completed?|closed|crossed)(?: off)?\b"
)
_BOX = re.compile(r"\s*(?:[-*+•]|\d+[.)])\s+\[(?P<tick>[ xX])\]\s+(?P<what>.+)")


def _by_tick(text: str, name: str, said: str) -> str:
    """Of a list with boxes: what is open, or what is ticked off, where that is asked for."""
    boxes = [one for line in text.split("\n") if (one := _BOX.match(line))]
    wants_open, wants_closed = _OPEN.search(said), _CLOSED.search(said)
    if not boxes or not (wants_open or wants_closed):
        return ""
    there = [prose(one["what"]) for one in boxes if (one["tick"] == " ") == bool(wants_open)]
    how = "open" if wants_open else "ticked off"
    if not there:
        return f"Nothing in {name} is {how}."
    is_ = "is" if len(there) == 1 else "are"
    return f"{counted(len(there), 'item')} in {name} {is_} {how}: {'; '.join(there)}."


def _particular(known: Known, path: str) -> bool:
    """Something is asked that the file may say, and not what is in it at all."""
    about = str(known.get("about") or "")
    asked = asked_about(about or str(known["said"]), path)
    return bool(asked) and (bool(about) or questions(str(known["said"])))


def lines(output: str, known: Known) -> Mapping[str, Any] | None:
    """All that may answer, of one file or of what was found in several, and names of files."""
    path, said = str(known.get("file_path") or ""), str(known["said"])
    path = str(known.get("likely") or path)
    if path and (known.get("likely") or not known.get("pattern")):  # read, and not searched
        found = evidence(CUT.sub("", output), path, said)
        return {"point": found} if found else None
    there = list(matches_in(output).there)
    rates = overlap(said, there)
    ranked = sorted(range(len(there)), key=lambda at: -rates[at])[:_MOST_FOUND]
    asked, files = set(asked_about(said)), list(known.get("files") or ())
    # Of a few files all names are read: "the last one in that folder" has no word of them.
    names = [Match(f, 0, f) for f in files if asked & _words_of(f) or len(files) <= _FEW_FILES]
    found = (*names[: 2 * 2 * FEW], *(there[at] for at in sorted(ranked)))
    return {"point": found} if found else None


_ASKS_PLACE = re.compile(r"(?i)\bwhere\b|\b(?:which|what) (?:\w+ )?files?\b")


def likely_file(output: str, known: Known) -> Mapping[str, Any] | None:
    """The one file that has more of what is asked about than any other, to be read as a whole; else
    all lines that were found."""
    asked, said = set(asked_about(str(known["said"]))), dict[str, set[str]]()
    for one in matches_in(output).there:
        own = said.setdefault(one.path, asked & _words_of(one.path))
        said[one.path] = own | asked & _words_of(one.text)
    ranked = sorted(said, key=lambda path: -len(said[path]))
    if _ASKS_PLACE.search(str(known["said"])):  # it is asked for itself
        return lines(output, known)
    if ranked and (len(ranked) == 1 or len(said[ranked[0]]) > len(said[ranked[1]])):
        return {"likely": ranked[0]}
    return lines(output, known)


_MOST_FOUND, _FEW_FILES = 80, 12


def _words_of(text: str) -> set[str]:
    return set(map(stem, pieces(text)))


def answered(chosen: Sequence[Match], known: Known) -> Mapping[str, Any] | None:
    """What these lines say, and where they are: their own words, and nothing else."""
    paths = list(dict.fromkeys(one.path for one in chosen))
    files = [one for one in chosen if not one.number]
    named = {one.path for one in files}
    chosen = [one for one in chosen if not one.number or one.path not in named]
    told = [_found_at(files)] if files else []
    value = ""
    for path in paths[:FEW]:
        own = [one for one in chosen if one.path == path and one.number][: 2 * FEW]
        each = [_as_told(one, str(known["said"])) for one in own]
        value = value or (each[0][1] if len(each) == 1 and len(chosen) == 1 else "")
        if each and not (len(each) == 1 and each[0][1] and not is_prose(path)):
            says = " ".join(sentence(text) for text, _ in each)
            told.append(f"{spoken_path(path, paths)} says: {says}")
        elif each:
            told.append(f"{each[0][0]}, in {spoken_path(path, paths)}.")
    words = " ".join(told)
    where = spoken_path(paths[0]) if len(paths) == 1 else "those files"
    words = f"{_without(known, ' '.join(one.text for one in chosen), where)}{words}"
    first, asked = str(known.get("at_first") or ""), asked_about(_meant_by(known))
    if first and asked and max(overlap(" ".join(asked), chosen)) <= _HALF:
        words = f"{first} But {words}"
    return {"told": words, "path": paths[0], "paths": paths, "value": value}


def _without(known: Known, answer: str, where: str) -> str:
    """That what was asked for is not there, where a line is about it and has none: a caretaker,
    but no phone number."""
    kind = lacks(f"{known['said']} {known.get('about') or ''}", answer)
    return f"I don't find a {kind} for that in {where}. " if kind else ""


_HALF = 0.5


def _meant_by(known: Known) -> str:
    return " ".join(str(known.get(name) or "") for name in ("what", "file", "about"))


def _found_at(files: Sequence[Match]) -> str:
    each = []
    for one in files[: 2 * FEW]:
        folder = str(PurePosixPath(one.path.rstrip("/")).parent)
        each.append(spoken_path(one.path) + (f" in {folder}" if folder != "." else ""))
    return sentence(f"There is {joined(each)}")


def _as_told(line: Match, said: str) -> tuple[str, str]:
    """A line for the ear, and the value that it gives, where it is one that gives one: of a row of
    a table the only cell that was not said already."""
    if line.path.endswith(TABLES):
        row = [cell.text for cell in cells(line.text, line.path) if cell.text]
        spoken = _words_of(said)
        new = [cell for cell in row if not _words_of(cell) <= spoken]
        return ", ".join(row), new[0] if len(new) == 1 else ""
    pairs = [*PAIR.finditer(line.text)]
    if len(pairs) == 1 and not line.text[: pairs[0].start()].strip(" -*\"'"):
        name, value = plain_name(pairs[0]["name"]), plain_value(pairs[0]["value"])
        return f"{name.capitalize()} is {value}", value
    text = prose(line.text) if is_prose(line.path) else line.text.strip().rstrip(";,")
    return clipped(text), ""


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


_TROUBLE = re.compile(
    r"\b(?:wrong|fail\w*|problems?|broke\w*|trouble|crash\w*|issue)\b", re.IGNORECASE
)
_BAD = re.compile(r"\b(?:ERROR|FATAL|CRITICAL|FAILED|FAILURE|Exception|Traceback|panic)\b|Error:")


def _part(text: str, known: Known, path: str) -> str:
    """What went wrong in a log, a section by its heading, or an item by its place."""
    if path.endswith(".log") and _TROUBLE.search(str(known["said"])):
        bad = [line for line in text.split("\n") if _BAD.search(line)]
        return " ".join(sentence(clipped(line)) for line in dict.fromkeys(bad[-FEW:]))
    lines = text.split("\n")
    said, about = str(known["said"]), str(known.get("about") or "")
    if nth := _nth_of(lines, said, path):
        return nth
    if not is_prose(path):
        return ""
    asked = {w for w in map(stem, telling(about or said)) if w not in ASKING}
    heads = {at: m for at, line in enumerate(lines) if (m := _HEADING.match(line))}
    own = set(map(stem, pieces(PurePosixPath(path).stem)))
    for at, head in heads.items():
        title = set(map(stem, pieces(head["title"] or head["plain"])))
        if title and title <= asked - own:
            deep = len(lines[at]) - len(lines[at].lstrip("#"))
            end = next(
                (o for o, h in heads.items() if o > at and h[0].count("#", 0, 6) <= deep),
                len(lines),
            )
            inside = [prose(line) for line in lines[at + 1 : end] if line.strip()]
            return clipped(" ".join(map(sentence, inside)), SHORT) if inside else ""
    return ""


_OF_ALL = re.compile(
    r"(?i)\b(?P<nth>first|second|third|fourth|fifth|sixth|last|latest|newest|most recent|final|"
    r"oldest|earliest)(?: (?:and|or) \w+)? (?P<kind>[\w-]+)"
)
_ANY_KIND = frozenset(
    map(stem, ("one", "line", "item", "entry", "bullet", "point", "thing", "task", "todo", "in",
               "on", "of", "from", "row", "record", "event", "message", "bit", "note", "part"))
)  # fmt: skip


def _nth_of(lines: Sequence[str], said: str, path: str) -> str:
    """The first, the last, the third of what a file has: of its items, its rows or its lines, or of
    those that are of a kind that is named ("the last error")."""
    asked = _OF_ALL.search(said)
    if asked is None or len(re.findall(r"\blines\b", said)):
        return ""
    there = [line for line in lines if line.strip() and not line.startswith("#")]
    items = [line for line in there if BULLET.match(line)] if is_prose(path) else []
    kind = stem(asked["kind"])
    of_kind = [line for line in there if kind in _words_of(line)]
    if kind not in _ANY_KIND and not of_kind:
        return ""
    if path.endswith(TABLES) and kind in _ANY_KIND:
        there = there[1:]
    some = of_kind if kind not in _ANY_KIND else items or there
    word = asked["nth"].lower()
    first = word in ("oldest", "earliest")
    place = 0 if first else _ORDER.index(word) if word in _ORDER else -1
    return sentence(clipped(plain_item(some[place]))) if place < len(some) else ""


def _answering(text: str, known: Known, path: str) -> tuple[str, bool]:
    """Lines with what was asked about, if something particular was, and whether it is clear that
    it is these: one line that has every word of it."""
    about = str(known.get("about") or "")
    asked = asked_about(about or str(known["said"]), PurePosixPath(path).stem)
    if not asked:
        return "", False
    lines = [line for line in text.split("\n") if line.strip()]
    rates = [sum(one in map(stem, pieces(line)) for one in asked) for line in lines]
    best = max(rates, default=0)
    if not best or (best < 2 and len(asked) > 3 and not about):
        return "", False
    hits = [line for line, rate in zip(lines, rates, strict=True) if rate == best]
    sure = len(hits) == 1 and best == len(asked)
    if is_prose(path):
        return " ".join(sentence(clipped(prose(line))) for line in hits[:FEW]), sure
    pairs = settings_in([Match(path, 0, line) for line in hits], " ".join(asked))
    if pairs and not _WHICH.search(str(known["said"])):
        told = f"{plain_name(pairs[0].name).capitalize()} is {plain_value(pairs[0].value)}."
        return told, sure
    if about and len(hits) <= 2 * FEW:  # in the words of the file
        return " ".join(sentence(clipped(line.strip().rstrip(";,"))) for line in hits), sure
    return "", False


_WHICH = re.compile(r"(?i)\b(?:which|what|any) (?:ones?|of (?:those|these|them))\b")


def overview(text: str, path: str) -> str:
    """What is in it, by its kind: prose or its beginning, settings, what code defines."""
    name = spoken_path(path)
    suffix = PurePosixPath(path).suffix.lower()
    if suffix in (".yaml", ".yml", ".json", ".toml", ".ini", ".cfg", ".env"):
        return _keys(text, name)
    if suffix in TABLES and (table := _table(text, path, name)):
        return table
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


def _table(text: str, path: str, name: str) -> str:
    head, rows = rows_in(text, path)
    if not rows:
        return ""
    of = f" with {joined([plain_name(one) for one in head if one])}" if head else ""
    shown = [", ".join(cell for cell in row if cell) for row in rows[: 2 * FEW]]
    more = len(rows) - len(shown)
    told = "; ".join([*shown, *([f"{more} more"] if more else [])])
    return f"{name} has {counted(len(rows), 'row')}{of}: {told}."


_ROUTE = re.compile(
    r"""(?i)[.@](?P<how>get|post|put|delete|patch|route|all|use)\(\s*["'`](?P<path>/[^"'`]*)["'`]"""
)


def _routes(text: str, name: str) -> str:
    """The addresses that it answers, where it is a file of those."""
    found = [
        (one["how"] + " " if one["how"].lower() not in ("route", "all", "use") else "")
        + one["path"]
        for one in _ROUTE.finditer(text)
    ]
    found = list(dict.fromkeys(found))
    if not found:
        return ""
    more = len(found) - 2 * FEW
    listed = joined([*found[: 2 * FEW], *([f"{more} more"] if more > 0 else [])])
    return f"{name} has {counted(len(found), 'route')}: {listed}."


def _code(text: str, name: str) -> str:
    if routes := _routes(text, name):
        return routes
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
