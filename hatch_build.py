"""The page belongs into every wheel and sdist: it is built here, or the build says why not.

Runs inside the build of the package (`python -m build`, `pip install .`), so it
knows only the standard library and hatchling. An editable install (`make run`)
has the page when make has built it.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PAGE = Path("src/vivavoce/server/static/index.html")
WEB = Path("web")
NEEDED = "Node.js 20.19, 22.12 or newer"


class NoPage(RuntimeError):
    """Why there is no page to ship."""


class PageHook(BuildHookInterface):  # type: ignore[type-arg] # of the builder's settings: we need none
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version != "editable":
            ensure_page(Path(self.root))


def ensure_page(root: Path) -> None:
    """The page as its sources have it. Raises `NoPage`."""
    # An sdist brings its page along; so does the stage of an image that has no sources of it.
    if (root / "PKG-INFO").exists() or not (root / WEB / "package.json").exists():
        if not (root / PAGE).is_file():
            raise NoPage(f"{PAGE} is missing, and its sources are not here to build it from.")
    elif not _is_fresh(root):
        _build(root)


def _is_fresh(root: Path) -> bool:
    page, web = root / PAGE, root / WEB
    if not page.is_file():
        return False
    sources = [file for file in (web / "src").rglob("*") if file.is_file()]
    sources += [file for file in web.iterdir() if file.is_file()]
    return all(file.stat().st_mtime <= page.stat().st_mtime for file in sources)


def _build(root: Path) -> None:
    npm = shutil.which("npm") or shutil.which("npm", path=str(root / ".venv" / "bin"))
    if npm is None:
        raise NoPage(
            f"The page is not built, and there is no npm to build it with: install {NEEDED}, "
            "or run `make page` first."
        )
    if not (root / WEB / "node_modules").exists():
        _run(root, npm, "ci", "--no-audit", "--no-fund")
    _run(root, npm, "run", "build")
    if not (root / PAGE).is_file():
        raise NoPage(f"`npm run build` made no {PAGE}.")


def _run(root: Path, npm: str, *words: str) -> None:
    done = subprocess.run([npm, *words], cwd=root / WEB, capture_output=True, text=True)  # noqa: S603
    if done.returncode != 0:
        said = (done.stdout + done.stderr).strip()[-2000:]
        raise NoPage(
            f"The page cannot be built: `npm {' '.join(words)}` failed.\n{said}\n({NEEDED})"
        )
