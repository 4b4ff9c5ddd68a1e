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

_SCRIPT = frozenset(
    {".py", ".pyz", ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".sh", ".bash", ".rb", ".pl"}
    | {".php", ".lua", ".jar", ".wasm", ".exe", ".so"}
)
_LOADING = frozenset(
    {"PATH", "PYTHONPATH", "PYTHONSTARTUP", "PYTHONHOME", "NODE_PATH", "NODE_OPTIONS", "BASH_ENV"}
    | {"RUBYLIB", "RUBYOPT", "PERL5LIB", "PERL5OPT", "CLASSPATH", "JAVA_TOOL_OPTIONS"}
    | {"LD_PRELOAD", "LD_LIBRARY_PATH", "DYLD_INSERT_LIBRARIES", "DYLD_LIBRARY_PATH"}
)
"""Variables by which an interpreter or the linker is told where code is."""


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
    workspace: Path, args: Sequence[str], env: Mapping[str, str], cwd: Path | None = None
) -> str | None:
    """Which part of a program comes from the workspace, in words: the program itself may be
    Python, and what it runs a file that a tool wrote. A folder or a file of data is no program."""
    here = Path(os.path.abspath(cwd or os.curdir))
    if not _outside(str(here), workspace):
        return f"its working folder {here}"  # launchers and interpreters look for code there
    for arg in args:
        for word in (arg, arg.partition("=")[2]):
            place = here / word.removeprefix("file://")
            if word and not _outside(str(place), workspace) and _runs(place):
                return f"its argument {word}"
    for name in sorted(_LOADING & env.keys()):
        for word in re.split(r"[:;=\s]", env[name]):
            if word and not _outside(str(here / word), workspace):
                return f"its variable {name}"
    return None


def _runs(place: Path) -> bool:
    """One that is not there yet may be written before it is started again."""
    return place.suffix.lower() in _SCRIPT or (place.is_file() and os.access(place, os.X_OK))


def _entries(workspace: Path, given: str | None) -> Iterator[str]:
    for entry in (os.environ.get("PATH", os.defpath) if given is None else given).split(os.pathsep):
        if os.path.isabs(entry) and _outside(entry, workspace):
            yield entry


def _outside(path: str, workspace: Path) -> bool:
    """By its words, too: a link in the workspace may be turned round later."""
    root = workspace.resolve()
    named = Path(os.path.normpath(path))
    return not any(place.is_relative_to(root) for place in (named, named.resolve()))
