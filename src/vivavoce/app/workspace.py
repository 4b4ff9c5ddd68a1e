"""The workspace at the start: made where it is not there yet, and apart from the server.

Whoever can put words before the model can write in the workspace. So nothing may lie in
it, or around it, that the server reads, loads or runs: a tool could change the server, or
read its keys. Paths are compared where they really are, links resolved.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from sqlalchemy.engine import make_url

from vivavoce.app.settings import ENV_FILE, Settings, default_workspace, variable
from vivavoce.errors import InvalidRequest
from vivavoce.processes.programs import search_path

_LOADED_FROM = ("LD_LIBRARY_PATH", "LD_PRELOAD", "DYLD_LIBRARY_PATH", "DYLD_INSERT_LIBRARIES")
_WHY = "Tools write and read there: they could change the server, or read its keys."
ADVICE = (
    f"Name another folder with {variable('workspace')}, or leave it out for one of its own. "
    "To talk about a checkout of this server, name another clone of it."
)


class _Part(NamedTuple):
    """Something of the server's; `around`: a workspace inside of it is wrong, too."""

    what: str
    path: Path
    around: bool = True


def problems(settings: Settings, agent: Path | None) -> list[str]:
    """Why this workspace cannot be used, a sentence for each part of the server that it meets.
    `agent`: the folder of the agent that is served."""
    root = settings.workspace.resolve()
    if root.exists() and not root.is_dir():
        return [f"{root} is a file, not a folder"]
    found: dict[str, str] = {}  # one of each kind is enough to say
    for what, path, around in _parts(settings, agent):
        real = path.resolve()
        # As it is called, too: whoever can turn a link round decides where it leads.
        if any(place.is_relative_to(root) for place in (real, Path(os.path.abspath(path)))):
            found.setdefault(what, f"{root} holds {what}, {path}")
        elif around and root.is_relative_to(real):
            found.setdefault(what, f"{root} lies inside {what}, {path}")
    return [*found.values(), *planted(root)]


def _parts(settings: Settings, agent: Path | None) -> Iterator[_Part]:
    package = Path(__file__).parents[1]
    yield _Part("the server's program", package)
    if (package.parents[1] / "pyproject.toml").is_file():
        yield _Part("the checkout that the server runs from", package.parents[1])
    yield _Part("its Python", Path(sys.prefix), around=sys.prefix != sys.base_prefix)
    yield _Part("its Python", Path(sys.executable), around=False)
    yield _Part("Python's library", Path(sysconfig.get_path("stdlib")))
    for entry in map(Path, (each or os.getcwd() for each in sys.path)):
        shadows = _shadows(settings.workspace, entry)
        what = "a folder that Python loads modules from (was it started with `python -m`?)"
        yield _Part(what, entry, around=shadows)
    for name in _LOADED_FROM:
        for named in filter(None, os.environ.get(name, "").replace(" ", ":").split(":")):
            yield _Part(f"what {name} names", Path(named))
    for folder in (agent, settings.agents_dir):
        if folder is not None:
            yield _Part("the agent's folder", folder)
    yield _Part("the server's data", settings.data_dir)
    yield _Part("the models", settings.models_dir)
    for file in (settings.brain_file, settings.script):
        if file is not None:
            yield _Part("the brain", file, around=False)
    url = make_url(settings.database_url)
    if url.get_backend_name() == "sqlite" and url.database:
        yield _Part("the database", Path(url.database))


def _shadows(workspace: Path, entry: Path) -> bool:
    """Would Python take the workspace for a module that there is?"""
    root, entry = workspace.resolve(), entry.resolve()
    if root == entry or not root.is_relative_to(entry):
        return False
    name = root.relative_to(entry).parts[0]
    found = find_spec(name) if name.isidentifier() else None
    return found is not None and found.origin is not None


def planted(root: Path) -> Iterator[str]:
    """A `.env` is read from where the server is started. Where that is a workspace, a tool may
    have written it; the usual one counts even if it names another."""
    settings_file = Path(ENV_FILE).absolute()
    if not os.path.lexists(settings_file):
        return
    for folder in dict.fromkeys((root.resolve(), default_workspace().resolve())):
        for place in (settings_file, settings_file.resolve()):
            if place.is_relative_to(folder):
                yield f"{folder} holds the server's settings, {settings_file}"
                return


def prepare(settings: Settings, agent: Path) -> bool:
    """Before anything is served: the workspace is apart and there. True where it was made now.

    From here on programs are found outside of it only, by us and by all that we start.
    """
    if wrong := problems(settings, agent):
        lines = [f"{variable('workspace')}: {one}" for one in wrong]
        raise InvalidRequest("\n".join([*lines, _WHY, ADVICE]))
    made = not settings.workspace.exists()
    settings.workspace.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.environ["PATH"] = search_path(settings.workspace)
    return made
