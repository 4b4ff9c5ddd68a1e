"""What others made and we use: its licences, its notices, its known faults. `make lock` locks it.

    python -m tests.supply_chain --write            locks/licences.toml and THIRD-PARTY.md
    python -m tests.supply_chain sbom               dist/vivavoce.cdx.json, as a wheel has it
    python -m tests.supply_chain audit PIP_AUDIT    known faults in what is locked

A licence is what a package says of itself. Where it says it unclearly, somebody has looked, and
`locks/licences.toml` has the answer.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageMetadata, PackageNotFoundError, metadata
from pathlib import Path
from typing import Any

import hatch_build as build

from vivavoce import __version__
from vivavoce.models.manifest import MODELS

ROOT = Path(__file__).parents[1]
LOCKS = ROOT / "locks"
LICENCES, NOTICES = LOCKS / "licences.toml", ROOT / "THIRD-PARTY.md"
SHIPPED, WORKED_WITH = ("serve", "image", "build"), ("dev", "node")

# Each lets us ship what we ship: MIT code that is installed beside it, or the page around it.
ALLOWED = frozenset(
    {
        *("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MIT-0"),
        *("PSF-2.0", "Unlicense", "Zlib"),
        *("MPL-2.0", "LGPL-2.0-or-later", "LGPL-2.1-or-later", "LGPL-3.0-only"),
    }
)
# Programs that our checks run: nothing of them is in what we ship.
ONLY_RUN = frozenset({"GPL-3.0-only"})

# Spellings of the old fields, and what they mean without a doubt.
_SPELT = {
    "Apache 2.0": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "MIT License": "MIT",
    "3-Clause BSD License": "BSD-3-Clause",
    "BSD 2-Clause License": "BSD-2-Clause",
    "GPL-3.0": "GPL-3.0-only",
    "ISC License (ISCL)": "ISC",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}


def locked(*names: str) -> dict[str, str]:
    """Every package of these locks and its version."""
    found: dict[str, str] = {}
    for name in names:
        found |= build.locked(LOCKS / f"{name}.txt")
    return dict(sorted(found.items()))


def known() -> dict[str, str]:
    found: dict[str, str] = tomllib.loads(LICENCES.read_text())["python"]
    return found


def said_by(about: PackageMetadata) -> str | None:
    """The licence as an SPDX expression, where the package says it without a doubt."""
    if "License-Expression" in about:
        return about["License-Expression"]
    old = about["License"].strip() if "License" in about else ""
    if old in _SPELT or _named(old) <= ALLOWED | ONLY_RUN:
        return _SPELT.get(old, old) or None
    named = [line.rpartition(" :: ")[2] for line in about.get_all("Classifier") or []
             if line.startswith("License :: ")]  # fmt: skip
    return _SPELT.get(named[0]) if len(named) == 1 and not old else None


def here(name: str) -> PackageMetadata | None:
    """What an installed package says of itself; None for one of another system."""
    try:
        return metadata(name)
    except PackageNotFoundError:
        return None


def problems(
    licences: Mapping[str, str], names: Sequence[str], allowed: frozenset[str]
) -> list[str]:
    """What is unknown, and what may not be used here, in words."""
    found = []
    for name in names:
        licence = licences.get(name)
        if licence is None:
            found.append(f"{name}: nobody has looked at its licence")
        elif not usable(licence, allowed):
            found.append(f"{name}: {licence} is not for us")
    return found


def usable(expression: str, allowed: frozenset[str]) -> bool:
    """One of what stands between ORs is enough; all between ANDs are needed."""
    flat = re.sub(r"\(([^()]*)\)", lambda inner: str(usable(inner[1], allowed)), expression)
    return any(
        all(part in allowed or part == "True" for part in either.split(" AND "))
        for either in flat.split(" OR ")
    )


def _named(expression: str) -> set[str]:
    return set(re.split(r" AND | OR |[()]", expression)) - {""} or {"?"}


# --- What is written ------------------------------------------------------------------------


def licence_table() -> str:
    """What packages say, and for the rest what was found out by hand."""
    by_hand = known() if LICENCES.exists() else {}
    lines = []
    for name in locked(*SHIPPED, *WORKED_WITH):
        about = here(name)
        licence = (said_by(about) if about is not None else None) or by_hand.get(name)
        if licence is None:
            raise SystemExit(f"{name}: says no licence; look, and add it to {LICENCES.name}")
        lines.append(f'{name} = "{licence}"')
    head = (
        "# The licence of every locked package: `python -m tests.supply_chain --write`.\n[python]\n"
    )
    return head + "\n".join(lines) + "\n"


def notices() -> str:
    licences = known()
    python = [f"| {n} | {v} | {licences[n]} |" for n, v in locked("image").items()]
    models = [f"| {model.name} | {model.title} | {model.licence} |" for model in MODELS]
    return "\n".join(
        [
            "# Third-party notices",
            "",
            "What others made and Vivavoce uses. This file is made by "
            "`python -m tests.supply_chain --write`; a test fails on a licence that is unknown, or "
            "not for us.",
            "",
            "## Inside the page",
            "",
            "These are part of the files that the server sends to browsers.",
            "",
            *_page_notices(),
            "## Python packages",
            "",
            "Installed beside Vivavoce, not part of it; each brings its own licence text. PyAV's "
            "wheels (`av`) contain FFmpeg with x264 and x265, which are GPL: see docs/deploy.md.",
            "",
            "| package | version | licence |",
            "|---|---|---|",
            *python,
            "",
            "## Models",
            "",
            "Downloaded on first use, not part of the package. `agents/flux/reader` and "
            "`agents/workbench/reader`, which are part of it, were trained here from "
            "all-MiniLM-L6-v2 (Apache-2.0).",
            "",
            "| model | what it is | licence |",
            "|---|---|---|",
            *models,
            "",
        ]
    )


def _page_notices() -> Iterator[str]:
    for name, about in build.bundled(ROOT).items():
        text = (ROOT / "web" / "node_modules" / name / "LICENSE").read_text().strip()
        yield from (
            f"### {name} {about['version']} ({about['license']})",
            "",
            "```",
            text,
            "```",
            "",
        )


# --- Known faults ---------------------------------------------------------------------------

_NO_WAY = "not audited, there is no way to ask from here"


def audit(pip_audit: Sequence[str], npm: Sequence[str] = ("npm",)) -> int:
    """What is known of the locked packages; 1 where that is a fault. Nobody to ask is said, and is
    no fault."""
    found = False
    for name in ("image", "dev", "tools"):
        only = ("--disable-pip", "--require-hashes", "--progress-spinner", "off", "-f", "json")
        told = _asked([*pip_audit, *only, "-r", str(LOCKS / f"{name}.txt")])
        found |= _shown(f"locks/{name}.txt", _of_pip(told))
    for folder in ("web", "tests/clients/node"):
        told = _asked([*npm, "audit", "--prefix", str(ROOT / folder), "--audit=true", "--json"])
        found |= _shown(folder, _of_npm(told))
    return int(found)


def _asked(command: Sequence[str]) -> Any:
    """The JSON that it says, if it says any."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        return json.loads(done.stdout)
    except (OSError, subprocess.TimeoutExpired, ValueError):
        return None


def _of_pip(told: Any) -> tuple[list[str], int, int] | None:
    """The faults, how many were asked about, and how many are not known there."""
    match told:
        case {"dependencies": [*packages]}:
            known = [each for each in packages if "skip_reason" not in each]
            faults = [f"{p['name']} {v['id']}" for p in known for v in p.get("vulns", ())]
            return (faults, len(known), len(packages) - len(known)) if known else None
    return None


def _of_npm(told: Any) -> tuple[list[str], int, int] | None:
    match told:
        case {"vulnerabilities": dict(faults), "metadata": {"dependencies": {"total": int(total)}}}:
            return [f"{name} {about.get('severity')}" for name, about in faults.items()], total, 0
    return None


def _shown(what: str, told: tuple[list[str], int, int] | None) -> bool:
    if told is None:
        print(f"{what}: {_NO_WAY}")
        return False
    faults, known, unknown = told
    beside = f"; {unknown} are not known there" if unknown else ""
    print(f"{what}: {len(faults) or 'no'} known faults in {known} packages{beside}")
    for fault in faults:
        print(f"  {fault}")
    return bool(faults)


def main(words: Sequence[str]) -> int:
    match list(words):
        case ["--write"]:
            LICENCES.write_text(licence_table())
            NOTICES.write_text(notices())
        case ["sbom"]:
            print(build.write_sbom(ROOT, __version__).relative_to(ROOT))
        case ["audit", *pip_audit] if pip_audit:
            return audit(pip_audit)
        case _:
            print(__doc__)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
