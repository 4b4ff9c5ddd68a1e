"""`grep`: a program finds the lines, we read and show them.

People speak, so case does not count unless asked for, what is no regular
expression is taken as plain words, and words that are found nowhere are tried
once more as they may be spelt in code. ripgrep, or our own search where there is
none, only says in which file and at which byte; each line shown is then read by
us beneath the workspace's root, so whoever swaps a folder for a link while the
program walks gains nothing by it. What is asked is data: a pattern can never be
an option.
"""

from __future__ import annotations

import json
import os
import re
import stat
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from vivavoce.errors import ToolFailed
from vivavoce.processes.once import Once
from vivavoce.processes.programs import beside_python, find
from vivavoce.processes.threads import SHARED
from vivavoce.runtime.ports import ToolOutput
from vivavoce.tools.workspace.names import count, label
from vivavoce.tools.workspace.opening import FILE
from vivavoce.tools.workspace.patterns import Glob, alternatives, ignored
from vivavoce.tools.workspace.root import SKIPPED, Workspace, refused, rules_above, tree
from vivavoce.wire.values import Value

SECONDS = 10.0
MAX_MATCHES = 1_000
MAX_OUTPUT = 4 * 1024 * 1024
_NICE = 5
_ENVIRONMENT = {"LC_ALL": "C.UTF-8"}
_PLAIN = re.compile(r"[\w./-]+$")
_SEARCHER = Path(__file__).with_name("plain_search.py")
"""A program of its own, for machines without ripgrep."""
_LINE = re.compile(rb"(?:\./)?([^\0]+)\0(\d+)([:-])(\d+)[:-]")


class Query(Value):
    """`base` is where it really is: the parts of a folder or a file beneath the root."""

    pattern: str
    base: tuple[str, ...] = ()
    glob: str = ""
    case_sensitive: bool = False
    context: int = 0
    literal: bool = False


class Place(Value):
    """A line: in which file, its number, where it begins, and whether it matches itself."""

    parts: tuple[str, ...]
    number: int
    offset: int
    match: bool


class Answer(Value):
    places: list[Place]
    complete: bool = True
    fault: str = ""
    """What the program had against the pattern."""


def find_ripgrep(workspace: Path) -> str | None:
    """On the path, or beside our own Python, where its wheel puts it; never in the workspace."""
    return find("rg", workspace) or beside_python("rg", workspace)


def ripgrep_arguments(program: str, query: Query, hidden: Sequence[str] = ()) -> list[str]:
    """Every word of the caller's is the value of an option, or behind the `--`.

    Only `.gitignore` files within the folder count, git or not: the same for
    everyone, whatever lies above the workspace or in somebody's home. There is
    no limit to a file's size: to look at each costs a sixth of the whole.
    """
    case = "--case-sensitive" if query.case_sensitive else "--ignore-case"
    kind = "--fixed-strings" if query.literal else "--engine=default"
    left_out = [f"--iglob=!{name}" for name in (*sorted(SKIPPED), *hidden) if _PLAIN.match(name)]
    return [
        *(program, "--no-config", "--no-follow", "--hidden", "--no-require-git"),
        *("--no-ignore-parent", "--no-ignore-global", "--no-ignore-exclude", "--no-ignore-dot"),
        *("--no-messages", "--color=never", "--no-heading", "--with-filename", "--null"),
        *("--line-number", "--byte-offset", "--max-columns=1", "--encoding=none"),
        *("--no-context-separator", f"--context={query.context}", case, kind),
        *(*left_out, *_type_filter(query.glob)),
        *(f"--regexp={query.pattern}", "--", "./" + "/".join(query.base)),
    ]


def _type_filter(glob: str) -> list[str]:
    """A type rather than `--glob`, which would bring ignored files back. Types know names only."""
    if not glob or "/" in glob:
        return []
    return [*(f"--type-add=wanted:{one}" for one in alternatives(glob)), "--type=wanted"]


Keep = Callable[[tuple[str, ...]], bool]


async def search(workspace: Workspace, query: Query, keep: Keep, program: str | None) -> Answer:
    """`keep` says whether a file is wanted; `program` is ripgrep, or None for our own."""
    if program is not None:
        rules = workspace.hidden
        hidden = [*rules.names, *("/" + "/".join(path) for path in rules.paths)]
        command, told = ripgrep_arguments(program, query, hidden), b""
    else:
        command = [sys.executable, "-I", "-S", str(_SEARCHER)]
        told = await SHARED.run(_told, workspace, query, keep)
    collector = Collector(keep)
    try:
        end = await Once(
            command,
            SECONDS,
            cwd=workspace.root,
            env=_ENVIRONMENT,
            told=told,
            feed=collector.feed,
            nice=_NICE,
        ).run()
    except TimeoutError:
        if not collector.places:
            raise ToolFailed(
                "The search took too long: narrow it down to a folder, or use simpler words",
                cause="ETIMEDOUT",
            ) from None
        return Answer(list(collector.places), complete=False)
    except OSError as refusal:
        return Answer([], fault=f"the search could not be started: {refusal.strerror}")
    fault = end.complete and end.code not in (0, 1) and not collector.places
    return Answer(collector.places, end.complete, end.complaints if fault else "")


def _told(workspace: Workspace, query: Query, keep: Keep) -> bytes:
    """What our own search reads: the question, and the files."""
    asked = {
        "pattern": query.pattern,
        "literal": query.literal,
        "case_sensitive": query.case_sensitive,
        "context": query.context,
        "seconds": int(SECONDS) + 1,
    }
    files = [one.parts for one in tree(workspace, query.base) if one.regular and keep(one.parts)]
    if not files and query.base:  # a file, then
        files = [query.base]
    names = b"\0".join(os.fsencode("/".join(parts)) for parts in files)
    return json.dumps(asked).encode() + b"\n" + names


class Collector:
    """The program's output, until it is enough."""

    def __init__(self, keep: Keep) -> None:
        self.places: list[Place] = []
        self._keep = keep
        self._rest, self._read, self._matches = b"", 0, 0

    def feed(self, piece: bytes) -> bool:
        """False: no more, please."""
        self._read += len(piece)
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            found = _LINE.match(line)
            if found is None:
                continue
            parts = tuple(os.fsdecode(found[1]).split("/"))
            if self._keep(parts):
                match = found[3] == b":"
                self._matches += match
                if self._matches > MAX_MATCHES:
                    return False
                self.places.append(Place(parts, int(found[2]), int(found[4]), match))
        return self._read < MAX_OUTPUT


MAX_LINE = 400
_UNSEARCHABLE = re.compile("[\0\r\n\ud800-\udfff]")
_WORDS = re.compile(r"\w+(?: \w+){1,5}")


async def grep(workspace: Workspace, query: Query, path: str, program: str | None) -> ToolOutput:
    """`path` as it was given; `program` is ripgrep, or None."""
    if _UNSEARCHABLE.search(query.pattern + query.glob):
        raise ToolFailed("Search for what is in one line of text")
    base, keep = await SHARED.run(_scope, workspace, path, query.glob)
    query = replace(query, base=base)
    answer, note = await _answer(workspace, query, keep, program)
    if answer.fault:
        last = answer.fault.strip().rsplit("\n", 1)[-1][:200] or "the search failed"
        raise ToolFailed(f"That cannot be searched for: {last}")
    lines: list[str] = await SHARED.run(_lines, workspace, answer.places)
    matches = sum(place.match for place in answer.places)
    files = len({place.parts for place in answer.places})
    if not matches:
        return ToolOutput(f"No matches{note}.", "matches")
    least = "" if answer.complete else "at least "
    head = f"Found {least}{count(matches, 'match', 'matches')} in {count(files, 'file')}{note}:"
    return ToolOutput("\n".join([head, *lines]), "matches", frame=(1, 0))


async def _answer(
    workspace: Workspace, query: Query, keep: Keep, program: str | None
) -> tuple[Answer, str]:
    """The best there is, and what was searched for instead, in words."""
    answer, note = await search(workspace, query, keep, program), ""
    if answer.fault and not query.literal:
        query, note = replace(query, literal=True), " (as plain text, not as a pattern)"
        answer = await search(workspace, query, keep, program)
    if answer.fault and program is not None:  # an old ripgrep, or one that is gone: our own, then
        program = None
        answer = await search(workspace, query, keep, program)
    if not answer.places and not answer.fault and _WORDS.fullmatch(query.pattern):
        spelt = r"[\s_-]?".join(query.pattern.split())
        second = await search(workspace, replace(query, pattern=spelt), keep, program)
        if second.places:
            return second, " (spelt as one name)"
    return answer, note


def _scope(workspace: Workspace, path: str, glob: str) -> tuple[tuple[str, ...], Keep]:
    """Where it really is, and which files in it count."""
    if glob.startswith("/") or ".." in glob.split("/"):
        raise refused("A glob names files within the workspace")
    with workspace.opened(path, FILE) as found:
        base, mode = found.parts, os.fstat(found.fd).st_mode
    if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):  # a pipe would never answer
        raise refused(f"{label(base)} is no file")
    rules, wanted = rules_above(workspace, base), Glob(glob, any_case=True) if glob else None
    deep = "/" in glob

    def keep(parts: tuple[str, ...]) -> bool:
        if workspace.hidden.forbid(parts):
            return False
        if wanted and not wanted.matches(parts[len(base) :] if deep else parts[-1:]):
            return False
        inner = range(len(base) + 1, len(parts) + 1)
        return not (rules and any(ignored(rules, parts[:n], n < len(parts)) for n in inner))

    return base, keep


def _lines(workspace: Workspace, places: Iterable[Place]) -> list[str]:
    """Each line as it is in the file, read by ourselves."""
    shown = []
    ordered = sorted(places, key=lambda place: (place.parts, place.number))
    for parts, group in groupby(ordered, key=lambda place: place.parts):
        with suppress(OSError), workspace.open_parts(parts, FILE) as opened:  # gone, or never ours
            for place in group:
                mark = ":" if place.match else "-"
                text = _line(opened.fd, place.offset)
                shown.append(f"{label(parts)}{mark}{place.number}{mark}{text}")
    return shown


def _line(fd: int, offset: int) -> str:
    data = os.pread(fd, MAX_LINE * 4, offset)
    text = data.split(b"\n", 1)[0].decode(errors="replace").rstrip("\r")
    return text if len(text) <= MAX_LINE else text[:MAX_LINE] + "…"
