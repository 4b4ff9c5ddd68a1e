"""What a command may see besides the workspace: the system's programs and the user's tools.

Only looks; how it is made visible is each sandbox's business. Nothing here is
secret, also when the server runs as root, who could read everything.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store")
# Few, since every mount costs; and not /etc/ssl as a whole, since private keys live in it.
ETC = tuple(
    f"/etc/{name}"
    for name in ("passwd", "group", "nsswitch.conf", "localtime", "ld.so.cache", "alternatives")
)
NETWORK_ETC = tuple(
    f"/etc/{name}"
    for name in (
        *("resolv.conf", "hosts", "host.conf", "gai.conf", "services", "protocols"),
        *("ssl/certs", "ssl/openssl.cnf", "pki/tls/certs", "pki/ca-trust/extracted"),
    )
)
VIRTUALENVS = (".venv", "venv")
_INSTALLERS = (
    *(".local/share/uv/python", ".pyenv/versions", ".local/share/mise/installs/python"),
    *(".asdf/installs/python", ".local/share/rtx/installs/python"),
)
"""Where installers keep Pythons, and nothing else, in the home folder; each in a folder."""
_INSTALLED = ("/opt/python", "/opt/hostedtoolcache/Python")


@dataclass(frozen=True, slots=True)
class Tools:
    """Folders to make readable, and what of them belongs on the PATH before or after the system."""

    folders: tuple[Path, ...] = ()
    first: tuple[str, ...] = ()
    last: tuple[str, ...] = ()


def tools_of(search_path: str, more: Iterable[Path] = (), home: Path | None = None) -> Tools:
    """The user's own tools: what the PATH names outside the system, and this Python.

    A `bin` in an installation of its own (`~/.nvm/versions/node/v22`) brings
    its installation. One right below the home folder (`~/.local/bin`,
    `~/.cargo/bin`) comes alone: beside it lie keys and tokens.
    """
    home = home or Path.home()
    first, last, folders = [], [], [Path(sys.base_prefix), *more]
    for entry in map(Path, filter(None, search_path.split(":"))):
        # Shims call a program that is not there: worse than no tool.
        if not entry.is_absolute() or entry.name == "shims" or not entry.is_dir():
            continue
        prefix = entry.parent
        if _private(prefix, home) or not (prefix / "lib").is_dir():
            folders.append(entry)
            last.append(str(entry))
        else:
            folders.append(prefix)
            first.append(str(entry))
    first += [str(folder / "bin") for folder in more if (folder / "bin").is_dir()]
    first.append(f"{sys.base_prefix}/bin")
    seen = [folder for folder in folders if not _system(folder) and not _too_much(folder, home)]
    return Tools(tuple(dict.fromkeys(seen)), _outside(first), _outside(last))


def _outside(entries: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each for each in entries if not _system(Path(each))))


def _system(folder: Path) -> bool:
    return any(folder.is_relative_to(each) for each in SYSTEM)


def _too_much(folder: Path, home: Path) -> bool:
    """The root, the home folder, or one that has it inside."""
    return home.is_relative_to(folder) or len(folder.parts) < 3


def _private(prefix: Path, home: Path) -> bool:
    return prefix.parent == home or _too_much(prefix, home)


def workspace_tools(workspace: Path, home: Path | None = None) -> Tools:
    """A virtualenv of the workspace, with the Python it stands on, and what npm installed.

    `pyvenv.cfg` is the workspace's, so a command may have written it. What looks like a Python
    may be another user's folder: shown is only what an installer of this server's user put in its
    own place. Pythons of the PATH are shown already.
    """
    pythons = [(home or Path.home()) / each for each in _INSTALLERS]
    folders: list[Path] = []
    first: list[str] = []
    for name in VIRTUALENVS:
        root = workspace / name
        if (root / "pyvenv.cfg").is_file():
            first.append(str(root / "bin"))
            if (prefix := _python_below(root, [*pythons, *map(Path, _INSTALLED)])) is not None:
                folders.append(prefix)
    if (workspace / "node_modules/.bin").is_dir():
        first.append(str(workspace / "node_modules/.bin"))
    return Tools(tuple(folders), tuple(first))


def _python_below(virtualenv: Path, pythons: Sequence[Path]) -> Path | None:
    with contextlib.suppress(OSError, ValueError):
        with (virtualenv / "pyvenv.cfg").open(encoding="utf-8") as file:
            text = file.read(4096)  # no more of it, however large a command made it
        for line in text.splitlines():
            key, _, value = line.partition("=")
            if key.strip() != "home":
                continue
            prefix = Path(value.strip()).resolve().parent
            real = any(found.is_file() for found in prefix.glob("lib/python3*/os.py"))
            ours = any(prefix.parent == each.resolve() for each in pythons)
            # Nor where a command could have written it.
            if real and ours and not prefix.is_relative_to(virtualenv.parent.resolve()):
                return prefix
    return None
