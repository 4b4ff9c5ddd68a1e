"""`grep`: what was meant is looked for, and the lines are read and shown as grep shows them.

People speak, so case does not count unless asked for, what is no regular
expression is taken as plain words, and words that are found nowhere are tried
once more as they may be spelt in code. How lines are found is `searching.py`.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable
from dataclasses import replace
from itertools import groupby

from vivavoce.errors import ToolFailed
from vivavoce.runtime.ports import ToolOutput
from vivavoce.tools.threads import SHARED
from vivavoce.tools.workspace.names import count, label
from vivavoce.tools.workspace.opening import FILE
from vivavoce.tools.workspace.patterns import Glob, ignored
from vivavoce.tools.workspace.root import Workspace, refused
from vivavoce.tools.workspace.searching import Answer, Keep, Place, Query, search
from vivavoce.tools.workspace.walking import rules_above

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
        raise ToolFailed(f"That cannot be searched for: {_last_line(answer.fault)}")
    lines: list[str] = await SHARED.run(_lines, workspace, answer.places)
    matches = sum(place.match for place in answer.places)
    files = len({place.parts for place in answer.places})
    if not matches:
        return ToolOutput(f"No matches{note}.", "matches")
    least = "" if answer.complete else "at least "
    head = f"Found {least}{count(matches, 'match', 'matches')} in {count(files, 'file')}{note}:"
    return ToolOutput("\n".join([head, *lines]), "matches")


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
        try:
            opened = workspace.open_parts(parts, FILE)
        except OSError:  # gone since, or never ours
            continue
        try:
            for place in group:
                mark = ":" if place.match else "-"
                text = _line(opened.fd, place.offset)
                shown.append(f"{label(parts)}{mark}{place.number}{mark}{text}")
        except OSError:
            continue
        finally:
            os.close(opened.fd)
    return shown


def _line(fd: int, offset: int) -> str:
    data = os.pread(fd, MAX_LINE * 4, offset)
    text = data.split(b"\n", 1)[0].decode(errors="replace").rstrip("\r")
    return text if len(text) <= MAX_LINE else text[:MAX_LINE] + "…"


def _last_line(words: str) -> str:
    return words.strip().rsplit("\n", 1)[-1][:200] or "the search failed"
