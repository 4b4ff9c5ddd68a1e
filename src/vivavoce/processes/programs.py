"""Where the programs are that we start: found on the PATH, and never in the workspace.

What tools may write must not decide what runs outside the sandbox. So an entry of the
PATH that is relative (it means the folder one happens to be in), that lies in the
workspace or leads there by a link is passed over, and so is a program that does.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path


def search_path(workspace: Path, given: str | None = None) -> str:
    """The PATH, ours where none is given, without what tools may write."""
    return os.pathsep.join(dict.fromkeys(_entries(workspace, given)))


def find(name: str, workspace: Path, given: str | None = None) -> str | None:
    """The absolute path of a program, or None. A name with a slash is a path already."""
    if os.sep in name:
        fine = os.path.isabs(name) and _outside(name, workspace)
        return name if fine and shutil.which(name) else None
    for entry in _entries(workspace, given):
        found = shutil.which(name, path=entry)
        if found is not None and _outside(found, workspace):
            return found
    return None


def beside_python(name: str, workspace: Path) -> str | None:
    """Where a package of ours that brings a program has put it."""
    return find(name, workspace, str(Path(sys.executable).parent))


def _entries(workspace: Path, given: str | None) -> Iterator[str]:
    for entry in (os.environ.get("PATH", os.defpath) if given is None else given).split(os.pathsep):
        if os.path.isabs(entry) and _outside(entry, workspace):
            yield entry


def _outside(path: str, workspace: Path) -> bool:
    """By its words, too: a link in the workspace may be turned round later."""
    root = workspace.resolve()
    named = Path(os.path.normpath(path))
    return not any(place.is_relative_to(root) for place in (named, named.resolve()))
