"""Finding lines: a program looks for them, and we read them.

ripgrep, or our own search where there is none, only says in which file and at
which byte; each line shown is then read by us beneath the workspace's root. So
whoever swaps a folder for a link while the program walks gains nothing by it.
The program has a time limit and an output limit, and dies with the call (how it
runs is `running.py`). What is asked is data: a pattern can never be an option.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from vivavoce.errors import ToolFailed
from vivavoce.tools.threads import SHARED
from vivavoce.tools.workspace import plain_search
from vivavoce.tools.workspace.patterns import alternatives
from vivavoce.tools.workspace.root import Workspace
from vivavoce.tools.workspace.running import End, Run
from vivavoce.tools.workspace.walking import SKIPPED, tree

SECONDS = 10.0
MAX_MATCHES = 1_000
MAX_OUTPUT = 4 * 1024 * 1024
_PLAIN = re.compile(r"[\w./-]+$")
_LINE = re.compile(rb"(?:\./)?([^\0]+)\0(\d+)([:-])(\d+)[:-]")


@dataclass(frozen=True, slots=True)
class Query:
    """`base` is where it really is: the parts of a folder or a file beneath the root."""

    pattern: str
    base: tuple[str, ...] = ()
    glob: str = ""
    case_sensitive: bool = False
    context: int = 0
    literal: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """A line: in which file, its number, where it begins, and whether it matches itself."""

    parts: tuple[str, ...]
    number: int
    offset: int
    match: bool


@dataclass(frozen=True, slots=True)
class Answer:
    places: list[Place]
    complete: bool = True
    fault: str = ""
    """What the program had against the pattern."""


def find_ripgrep() -> str | None:
    """On the path, or beside our own Python, where its wheel puts it."""
    return shutil.which("rg") or shutil.which("rg", path=str(Path(sys.executable).parent))


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
        command = [sys.executable, "-I", "-S", plain_search.__file__]
        told = await SHARED.run(_told, workspace, query, keep)
    collector = Collector(keep)
    run = Run(command, workspace.root, told, collector.feed)
    try:
        async with asyncio.timeout(SECONDS):
            end: End = await SHARED.run(run)
    except TimeoutError:
        if not collector.places:
            raise ToolFailed(
                "The search took too long: narrow it down to a folder, or use simpler words",
                cause="ETIMEDOUT",
            ) from None
        return Answer(list(collector.places), complete=False)
    except OSError as refusal:
        return Answer([], fault=f"the search could not be started: {refusal.strerror}")
    finally:
        run.stop()
    fault = end.complete and end.code not in (0, 1) and not collector.places
    return Answer(collector.places, end.complete, end.words if fault else "")


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
