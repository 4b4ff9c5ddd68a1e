"""The page belongs into every wheel and sdist: it is built here, or the build says why not.
A wheel also says what it is made of (`sbom`).

Runs inside the build of the package (`python -m build`, `pip install .`), so it
knows only the standard library and hatchling. An editable install (`make run`)
has the page when make has built it.
"""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PAGE = Path("src/vivavoce/server/static/index.html")
WEB = Path("web")
NEEDED = "Node.js 20.19, 22.12 or newer"
SBOM = Path("dist/vivavoce.cdx.json")
LOCK, LICENCES = Path("locks/image.txt"), Path("locks/licences.toml")
_PINNED = re.compile(r"^([\w.-]+)==([^\s;\\]+)", re.MULTILINE)


class NoPage(RuntimeError):
    """Why there is no page to ship."""


class PageHook(BuildHookInterface):  # type: ignore[type-arg] # of the builder's settings: we need none
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        if version != "editable":
            ensure_page(root)
        if version != "editable" and self.target_name == "wheel":
            write_sbom(root, self.metadata.version)
            build_data.setdefault("sbom_files", []).append(str(SBOM))


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
    folders = [web / "src", *(web / "packages").glob("*/src")]
    sources = [file for each in folders for file in each.rglob("*") if file.is_file()]
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


# --- What it is made of ----------------------------------------------------------------


def write_sbom(root: Path, version: str) -> Path:
    path = root / SBOM
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(sbom(root, version), indent=1) + "\n", encoding="utf-8")
    return path


def sbom(root: Path, version: str) -> dict[str, Any]:
    """The locked packages of every extra, what is inside the page, and the models, as CycloneDX
    1.6. Without a time or a number of its own: the same sources give the same file."""
    licences = tomllib.loads((root / LICENCES).read_text(encoding="utf-8"))
    itself = _component("application", "vivavoce", version, "MIT", f"pkg:pypi/vivavoce@{version}")
    parts = [*_python(root, licences["python"]), *_page(root), *_models(root)]
    parts.sort(key=lambda part: str(part["bom-ref"]))
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": itself},
        "components": parts,
        "dependencies": [
            {"ref": itself["bom-ref"], "dependsOn": [part["bom-ref"] for part in parts]}
        ],
    }


def locked(path: Path) -> dict[str, str]:
    """Names as they are compared, and versions."""
    found = _PINNED.findall(path.read_text(encoding="utf-8"))
    return {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in found}


_BUILDERS = ("vite", "vite-plugin-pwa", "@tailwindcss/vite", "tailwindcss")
"""They make the page, and nothing of them is in it."""


def bundled(root: Path) -> dict[str, dict[str, Any]]:
    """What of npm is inside the page: what its sources import, and what that needs."""
    packages = json.loads((root / WEB / "package-lock.json").read_text(encoding="utf-8"))[
        "packages"
    ]
    waiting = [name for name in packages[""]["dependencies"] if name not in _BUILDERS]
    found: dict[str, dict[str, Any]] = {}
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = packages[f"node_modules/{name}"]
            waiting += found[name].get("dependencies", {})
    return dict(sorted(found.items()))


def _python(root: Path, licences: dict[str, str]) -> Iterator[dict[str, Any]]:
    for name, version in locked(root / LOCK).items():
        yield _component("library", name, version, licences[name], f"pkg:pypi/{name}@{version}")


def _page(root: Path) -> Iterator[dict[str, Any]]:
    if not (root / WEB / "package-lock.json").exists():  # a stage of the image: the page is built
        return
    for name, about in bundled(root).items():
        version = about["version"]
        purl = f"pkg:npm/{name.replace('@', '%40')}@{version}"
        part = _component("library", name, version, about["license"], purl)
        kind, _, digest = about["integrity"].partition("-")
        content = base64.b64decode(digest).hex()
        yield {**part, "hashes": [{"alg": kind.upper().replace("SHA", "SHA-"), "content": content}]}


def _models(root: Path) -> Iterator[dict[str, Any]]:
    text = (root / "src/vivavoce/models/catalogue.toml").read_text(encoding="utf-8")
    for model in tomllib.loads(text)["models"]:
        reference = f"model:{model['name']}"
        licence = {"license": {"name": model["licence"]}}
        files = [
            {
                "type": "file",
                "bom-ref": f"{reference}/{file['name']}",
                "name": file["name"],
                "hashes": [{"alg": "SHA-256", "content": file["sha256"]}],
            }
            for file in model["files"]
        ]
        yield {
            "type": "machine-learning-model",
            "bom-ref": reference,
            "name": model["name"],
            "description": model["title"],
            "licenses": [licence],
            "components": files,
        }


def _component(kind: str, name: str, version: str, licence: str, purl: str) -> dict[str, Any]:
    return {
        "type": kind,
        "bom-ref": purl,
        "name": name,
        "version": version,
        "licenses": [{"expression": licence}],
        "purl": purl,
    }
