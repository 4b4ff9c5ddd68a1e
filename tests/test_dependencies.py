"""What the package imports is what it says it needs: development packages must not hide a gap."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

ROOT = Path(__file__).parents[1]
# Of the fakes we ship for others' tests; whoever uses those has a test runner.
FOR_TESTS = {"pytest"}


def imported() -> dict[str, str]:
    """The packages of others that `src` imports anywhere, and one file that does."""
    found: dict[str, str] = {}
    for path in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                names = [node.module]
            for name in names:
                found.setdefault(name.partition(".")[0], str(path.relative_to(ROOT)))
    ours = {*sys.stdlib_module_names, "vivavoce"}
    return {name: where for name, where in found.items() if name not in ours}


def declared() -> set[str]:
    """What an install with every extra brings: the dependencies, and theirs."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    waiting = [*project["dependencies"]]
    for extra in project["optional-dependencies"].values():
        waiting += extra
    brought: set[str] = set()
    while waiting:
        line = waiting.pop()
        name = _plain(re.split(r"[\[<>=!~;( ]", line)[0])
        if name in brought or "extra ==" in line:
            continue
        brought.add(name)
        try:
            waiting += requires(name) or []
        except PackageNotFoundError:
            continue  # for another system than this one
    return brought


def test_every_import_is_a_dependency_of_the_package() -> None:
    providers, needed = packages_distributions(), declared()
    for name, where in imported().items():
        if name in FOR_TESTS:
            continue
        sources = {_plain(source) for source in providers.get(name, [name])}
        assert sources & needed, f"{where} imports {name}, which nobody would have installed"


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
