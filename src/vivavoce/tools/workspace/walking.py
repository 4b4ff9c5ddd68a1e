"""All that is in the workspace, folder by folder, less what `.gitignore` and good sense leave out.

Links are listed and never followed. Each folder is opened beneath the root by
its whole path, so nobody can lead the walk elsewhere by a swap, and the depth
of a tree costs neither descriptors nor stack.
"""

from __future__ import annotations

import contextlib
import os
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vivavoce.tools.workspace.opening import FILE, FOLDER
from vivavoce.tools.workspace.patterns import Ignore, ignored

if TYPE_CHECKING:
    from vivavoce.tools.workspace.root import Workspace

SKIPPED = frozenset({".git", "node_modules"})
MAX_ENTRIES = 200_000
_IGNORE_SIZE = 256 * 1024


@dataclass(frozen=True, slots=True)
class Found:
    """`regular`: a file with content; a link, a pipe or a device is none."""

    parts: tuple[str, ...]
    folder: bool
    regular: bool
    modified: int


def tree(
    workspace: Workspace,
    base: Sequence[str] = (),
    *,
    limit: int = MAX_ENTRIES,
    depth: int | None = None,
    times: bool = False,
) -> Iterator[Found]:
    """Everything beneath `base` (a real place), nearest first, at most `limit` entries.

    `depth` 1 is the folder alone. `modified` is 0 unless `times` are asked for.
    """
    start = tuple(base)
    todo = deque([(start, rules_above(workspace, start))])
    left = limit
    while todo and left > 0:
        here, rules = todo.popleft()
        with contextlib.suppress(OSError):  # gone, moved or closed to us: the rest goes on
            listed = _listing(workspace, here, times)
            if any(one.parts[-1] == ".gitignore" and one.regular for one in listed):
                rules = _with_own(workspace, here, rules)
            for one in listed:
                if ignored(rules, one.parts, one.folder) or workspace.hidden.forbid(one.parts):
                    continue
                left -= 1
                if left < 0:
                    return
                yield one
                if one.folder and (depth is None or len(one.parts) - len(start) < depth):
                    todo.append((one.parts, rules))


def rules_above(workspace: Workspace, base: Sequence[str]) -> tuple[Ignore, ...]:
    """What the folders over `base` say about what is in it."""
    rules: tuple[Ignore, ...] = ()
    for depth in range(len(base)):
        rules = _with_own(workspace, tuple(base[:depth]), rules)
    return rules


def _with_own(
    workspace: Workspace, here: tuple[str, ...], rules: tuple[Ignore, ...]
) -> tuple[Ignore, ...]:
    try:
        found = workspace.open_parts((*here, ".gitignore"), FILE)
    except OSError:
        return rules
    try:
        text = os.read(found.fd, _IGNORE_SIZE).decode(errors="replace")
    except OSError:  # a folder or a pipe of that name
        return rules
    finally:
        os.close(found.fd)
    return (*rules, Ignore(text, here))


def _listing(workspace: Workspace, here: tuple[str, ...], times: bool) -> list[Found]:
    opened = workspace.open_parts(here, FOLDER)
    try:
        with os.scandir(opened.fd) as entries:
            found = [_found(here, entry, times) for entry in entries if entry.name not in SKIPPED]
    finally:
        os.close(opened.fd)
    found.sort(key=lambda one: one.parts)
    return found


def _found(here: tuple[str, ...], entry: os.DirEntry[str], times: bool) -> Found:
    modified = 0
    if times:
        with contextlib.suppress(OSError):
            modified = entry.stat(follow_symlinks=False).st_mtime_ns
    folder = entry.is_dir(follow_symlinks=False)
    regular = entry.is_file(follow_symlinks=False)
    return Found((*here, entry.name), folder, regular, modified)
