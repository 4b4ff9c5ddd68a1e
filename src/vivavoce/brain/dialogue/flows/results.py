"""What results of tools look like, and how what is in them is said: for the ear, nothing spelt out.

Text that was found (`path:line:text`), names of files, how a command ended, a refusal.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from vivavoce.language.en.dictation import dictated
from vivavoce.language.en.naming import pieces, stem, telling
from vivavoce.wire.values import Value

Known = Mapping[str, Any]
"""What a flow knows: slots as they were said, `said`, and what earlier stages found."""

CUT = re.compile(r"\n?\.\.\.\[truncated, (\d+) characters, (\d+) lines in all.*", re.DOTALL)
ROWS = r"\S"
"""What every row of a table has."""
FEW, LINE, SHORT = 3, 160, 420
"""How many of a list are named, and how long a line, and all of it, may be."""


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


ASKING = frozenset(
    map(
        stem,
        re.findall(
            r"\w+",
            "tell say says show give read open look check content file line lines summary "
            "summarise summarize overview quick quickly short going know want remind again see "
            "explain describe hey ok okay right could would happen mean written write put contain "
            "document gist point first last top bottom whole entire back out loud aloud let hear "
            "according need think find got get",
        ),
    )
)
"""Words by which people ask, whatever they ask about."""


def asked_about(said: str, path: str = "") -> list[str]:
    """Stems of the words that tell what is asked about, in a file that may be named with them."""
    own = set(map(stem, pieces(path)))
    every = map(stem, telling(dictated(said)))
    return [word for word in dict.fromkeys(every) if word not in own | ASKING]


def overlap(said: str, lines: Sequence[Match]) -> list[float]:
    """By line: how much of what was asked about it has, in its words or where it lies."""
    asked = asked_about(said)
    rates = []
    for line in lines:
        own = set(map(stem, pieces(line.text)))
        around = set(map(stem, pieces(line.path)))
        hits = sum(1.0 if w in own else 0.5 if w in around else 0.0 for w in asked)
        rates.append(hits / len(asked) if asked else 0.0)
    return rates


_MOST_LINES, _MOST_LETTERS = 120, 6000
_COLUMNS = re.compile(r"(?i)\b(?:columns?|headers?|headings?|fields?)\b")


def evidence(text: str, path: str, said: str) -> tuple[Match, ...]:
    """The lines of a file that may answer: all of a short one, else those that have a word of what
    was asked, with the heads of a table or a section that they lie in."""
    every = [Match(path, at, line) for at, line in enumerate(text.split("\n"), 1) if line.strip()]
    if path.endswith((".csv", ".tsv")) and not _COLUMNS.search(said):
        every = every[1:] or every  # the names of its columns answer nothing
    if len(every) <= _MOST_LINES and sum(len(one.text) for one in every) <= _MOST_LETTERS:
        return tuple(every)
    rates = overlap(said, every)
    ranked = sorted(range(len(every)), key=lambda at: -rates[at])[:_MOST_LINES]
    return tuple(every[at] for at in sorted(ranked) if rates[at])


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
        for one in _MATCH.finditer(CUT.sub("", output))
    )
    head = _FOUND.search(output)
    count = int(head["count"].replace(",", "")) if head else len(there)
    return Matches(max(count, len(there)), there, bool(head and head["least"]))


class Names(Value):
    count: int
    there: tuple[str, ...]


def names_in(output: str) -> Names:
    lines = [line.strip() for line in CUT.sub("", output).split("\n") if line.strip()]
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


def clipped(text: str, room: int = LINE) -> str:
    """One line, cut at a word."""
    line = " ".join(text.split())
    return line if len(line) <= room else line[:room].rsplit(" ", 1)[0].rstrip(",;:") + " …"


def sentence(text: str) -> str:
    text = text.strip()
    return text if not text or text[-1] in ".!?…:" else f"{text}."


def prose(text: str) -> str:
    """A line without its marks of a list, a heading, a comment."""
    line = re.sub(
        r"^\s*(?:[-*+•]\s+(?:\[[ xX]\]\s+)?|#{1,6}\s+|//\s*|--\s+|>\s+|\d+[.)]\s+|\"\"\"|''')",
        "",
        text,
    )
    line = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", line)
    return re.sub(
        r"(?:\"\"\"|'''|[*_`]{1,2})(?=\s|$|[.,])|(?<=\s)[*_`]{1,2}(?=\w)", "", line
    ).strip()


def where(matches: Sequence[Match]) -> str:
    """ "app.py, lines 2 and 16, and util.py, line 7"."""
    paths = list(dict.fromkeys(match.path for match in matches))
    told = []
    for path in paths[:FEW]:
        numbers = sorted({m.number for m in matches if m.path == path})
        shown = [str(number) for number in numbers[:FEW]]
        if len(numbers) > FEW:
            told.append(f"{spoken_path(path, paths)}, {len(numbers)} lines")
        else:
            line = "line" if len(numbers) == 1 else "lines"
            told.append(f"{spoken_path(path, paths)}, {line} {joined(shown)}")
    more = len(paths) - FEW
    if more > 0:
        told.append(counted(more, "more file"))
    return "; ".join(told[:-1]) + f"; and {told[-1]}" if len(told) > 1 else "".join(told)


def is_prose(path: str) -> bool:
    return PurePosixPath(path).suffix.lower() in ("", ".md", ".txt", ".rst", ".adoc")


_BUT = re.compile(
    r"\b(?:other than|except(?:ing)?(?: for| in)?|excluding|apart from|aside from|besides|"
    r"not (?:counting|including|in)|outside(?: of)?|leaving out|ignoring|but not(?: in)?|without)"
    r"\s+(?:(?:the|any|our|my)\s+)?([\w-]+)",
    re.IGNORECASE,
)


def left_out(said: str, *, whole: bool = False) -> str:
    """The place that does not count: "other than the tests". Its stem, or the `whole` word."""
    named = _BUT.search(said)
    return (named[1] if whole else stem(named[1])) if named else ""


def counting(found: Matches, known: Known) -> list[Match]:
    """Those that are in a place that counts: among several files that were meant, and not where
    the user said it does not matter."""
    among, out = known.get("among") or (), left_out(known["said"])
    there = [m for m in found.there if not among or m.path in among]
    return [m for m in there if not out or not any(stem(p) == out for p in pieces(m.path))]


def is_file(path: str, known: Known) -> bool:
    """And no folder, as far as is known."""
    named = PurePosixPath(path).name
    return bool(path) and (path in (known.get("files") or ()) or "." in named)
