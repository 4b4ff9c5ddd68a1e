"""The packages of the source, for the documents: what each says of itself, and what it may import.

Made from the packages' docstrings and from the contracts in pyproject.toml,
which `lint-imports` checks; so the tables say what is enforced and no more.
"""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SRC = ROOT / "src" / "vivavoce"
ENTRY = "__main__"


def table() -> str:
    """For docs/architecture.md: from the one that sees most to the one that sees nothing."""
    rows = ["| package | what it is for | may import, of ours |", "|---|---|---|"]
    for name in _names():
        pure = f" {_pure(name)}" if _pure(name) else ""
        rows.append(f"| `{_path(name)}` | {_words(name)}{pure} | {_may_import(name)} |")
    return "\n".join(rows)


def the_map() -> str:
    """For the README: where everything is."""
    rows = ["| package | what it is for |", "|---|---|"]
    rows += [
        f"| [src/vivavoce/{name}/](src/vivavoce/{name}) | {_words(name)} |"
        for name in _names()
        if (SRC / name).is_dir()
    ]
    return "\n".join(rows)


def _contracts(kind: str) -> list[dict[str, Any]]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    found: list[dict[str, Any]] = settings["tool"]["importlinter"]["contracts"]
    return [contract for contract in found if contract["type"] == kind]


def _layers() -> list[list[str]]:
    (contract,) = _contracts("layers")
    return [[name.strip() for name in layer.split("|")] for layer in contract["layers"]]


def _names() -> list[str]:
    return [name for layer in _layers() for name in layer if name != ENTRY]


def _path(name: str) -> str:
    return f"{name}/" if (SRC / name).is_dir() else f"{name}.py"


def _words(name: str) -> str:
    file = SRC / name / "__init__.py" if (SRC / name).is_dir() else SRC / f"{name}.py"
    words = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return " ".join(words.partition("\n\n")[0].split())


def _below(name: str) -> list[str]:
    layers = _layers()
    at = next(at for at, layer in enumerate(layers) if name in layer)
    return [other for layer in layers[at + 1 :] for other in layer]


def _forbidden(name: str) -> list[str]:
    """What a contract takes away again, without the package's name in front."""
    return [
        module.removeprefix("vivavoce.")
        for contract in _contracts("forbidden")
        if f"vivavoce.{name}" in contract["source_modules"]
        for module in contract["forbidden_modules"]
        if module.startswith("vivavoce.")
    ]


def _may_import(name: str) -> str:
    forbidden, below = _forbidden(name), _below(name)
    if not forbidden and len(below) > 6:
        return "all below it"
    allowed = []
    for other in below:
        parts = [module.partition(".")[2] for module in forbidden if module.startswith(f"{other}.")]
        if other not in forbidden:
            without = f" (not its {', '.join(f'`{part}`' for part in parts)})" if parts else ""
            allowed.append(f"`{other}`{without}")
    return ", ".join(allowed) or "nothing"


def _pure(name: str) -> str:
    """Is it, or a part of it, kept from doing I/O?"""
    told = []
    for contract in _contracts("forbidden"):
        if "asyncio" in contract["forbidden_modules"]:
            for module in contract["source_modules"]:
                parts = module.removeprefix("vivavoce.").split(".")
                if parts[0] == name:
                    told.append(f"No I/O in `{'/'.join(parts)}`." if parts[1:] else "No I/O.")
    return " ".join(told)
