"""Where the programs are that we start: found on the PATH, and never in the workspace.

What tools may write must not decide what runs outside the sandbox. So an entry of the
PATH that is relative (it means the folder one happens to be in), that lies in the
workspace or leads there by a link is passed over, and so is a program that does.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote

_LOADING = frozenset(
    {"PATH", "PYTHONPATH", "PYTHONSTARTUP", "PYTHONHOME", "NODE_PATH", "NODE_OPTIONS", "BASH_ENV"}
    | {"RUBYLIB", "RUBYOPT", "PERL5LIB", "PERL5OPT", "CLASSPATH", "JAVA_TOOL_OPTIONS"}
    | {"LD_PRELOAD", "LD_LIBRARY_PATH", "DYLD_INSERT_LIBRARIES", "DYLD_LIBRARY_PATH"}
)
"""Variables by which an interpreter or the linker is told where code is: none of that is data."""


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


def taken_from(
    workspace: Path,
    args: Sequence[str],
    env: Mapping[str, str],
    cwd: Path | None = None,
    data: Sequence[str] = (),
) -> str | None:
    """Which part of a program comes from the workspace, in words: the program itself may be
    Python, and what it runs a file or a folder that a tool wrote. Nobody can tell by its name or
    its kind what a program runs, so every place in the workspace counts that is not `data`: those
    that the configuration says are only read and written."""
    here = Path(os.path.abspath(cwd or os.curdir))
    if not _outside(str(here), workspace):
        return f"its working folder {here}"  # launchers and interpreters look for code there
    fine = {os.path.normpath(here / place) for place in data}
    for arg in args:
        option, _, value = arg.partition("=")
        is_data = os.path.normpath(here / (value if option.startswith("-") else arg)) in fine
        if not is_data and (named := _named(arg, here, workspace)) is not None:
            return f"its argument {named}"
    for name, value in sorted(env.items()):
        is_data = name not in _LOADING and os.path.normpath(here / value) in fine
        if not is_data and _named(value, here, workspace) is not None:
            return f"its variable {name}"
    return None


def _named(text: str, here: Path, workspace: Path) -> str | None:
    """A place in the workspace that is named there, whatever stands around it: `-I/work/lib`,
    `-javaagent:/work/a.jar`, `/a.jar:/work/b.jar`, a line of code."""
    plain = unquote(text)
    for root in dict.fromkeys((str(Path(os.path.abspath(workspace))), str(workspace.resolve()))):
        if re.search(rf"{re.escape(root)}(?![\w.-])", plain) is not None:
            return root
    for word in re.split(r"[:;=,\s'\"()@]+", plain):
        # What is glued to an option: `-I../work`, and `~` where a shell or a program reads it.
        glued = re.search(r"(~|\.{0,2}/).*", word, re.DOTALL)
        for place in (word, *([glued[0]] if glued else [])):
            at = here / os.path.expanduser(place)
            if place and not _outside(str(at), workspace):
                return place
    return None


def _entries(workspace: Path, given: str | None) -> Iterator[str]:
    for entry in (os.environ.get("PATH", os.defpath) if given is None else given).split(os.pathsep):
        if os.path.isabs(entry) and _outside(entry, workspace):
            yield entry


def _outside(path: str, workspace: Path) -> bool:
    """By its words, too: a link in the workspace may be turned round later."""
    root = workspace.resolve()
    named = Path(os.path.normpath(path))
    try:
        really = named.resolve()
    except (OSError, ValueError, RuntimeError):
        return True  # too long, or with what no path has: it is none
    return not any(place.is_relative_to(root) for place in (named, really))
