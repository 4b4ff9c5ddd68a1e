"""What others made and we use: its licences, its notices, its known faults. `make lock` locks it.

    python -m tests.supply_chain --write            locks/licences.toml and THIRD-PARTY.md
    python -m tests.supply_chain sbom               dist/vivavoce.cdx.json, as a wheel has it
    python -m tests.supply_chain audit PIP_AUDIT    hashes, licences, known faults of what is locked

`audit` ends with 0 if all was asked and nothing is wrong, 1 if something is, and 3 if nothing wrong
was found but somebody could not be asked, as offline.

A licence is what a package says of itself. Where it says it unclearly, somebody has looked, and
`locks/licences.toml` has the answer.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib.metadata import PackageMetadata, PackageNotFoundError, distribution, metadata
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
        *("BlueOak-1.0.0", "OFL-1.1", "PSF-2.0", "Unlicense", "Zlib"),
        *("MPL-2.0", "LGPL-2.0-or-later", "LGPL-2.1-or-later", "LGPL-3.0-only"),
        "OFL-1.1",  # the page's letters, which go with it as they are
    }
)
# What our checks and builds run or look up: nothing of it is in what we ship.
ONLY_RUN = frozenset({"CC-BY-4.0", "GPL-3.0-only"})

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


def known(of: str = "python") -> dict[str, str]:
    found: dict[str, str] = tomllib.loads(LICENCES.read_text())[of]
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
    by_hand = known()
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
    looked = ["", "# Of npm, where a package names none: looked up by hand, and kept.", "[npm]"]
    looked += [f'{name} = "{licence}"' for name, licence in known("npm").items()]
    return head + "\n".join([*lines, *looked]) + "\n"


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
        text = _licence_of(ROOT / "web" / "node_modules" / name, about["license"])
        yield from (
            f"### {name} {about['version']} ({about['license']})",
            "",
            "```",
            text,
            "```",
            "",
        )


def _licence_of(package: Path, named: str) -> str:
    files = (file for file in sorted(package.iterdir()) if file.stem.lower() in _LICENCE_FILES)
    found = next(files, None)
    if found is None:
        return f"It brings no text of its licence, and says that it is {named}."
    return found.read_text(encoding="utf-8").strip()


# --- What can be checked here -----------------------------------------------------------------


def checked_here() -> list[str]:
    """What is wrong, in words, with what needs nobody else: hashes and licences. Says what it
    looked at."""
    wrong: list[str] = []

    def say(what: str, found: list[str]) -> None:
        print(f"{what}: {'fine' if not found else f'{len(found)} wrong'}")
        for each in found[:_MOST]:
            print(f"  {each}")
        wrong.extend(found)

    names = sorted(each.stem for each in LOCKS.glob("*.txt"))
    say(f"hashes in the locks of {', '.join(names)}", [x for n in names for x in _unhashed(n)])
    for folder in NPM:
        packages = npm_packages(folder)
        bare = [f"{name} has no hash" for name, each in packages.items() if not _hashed(each)]
        say(f"hashes of {len(packages)} packages in {folder}/package-lock.json", bare)
    installed, files, changed = _installed()
    say(f"{files} files of {installed} installed packages, by hash as they were installed", changed)
    licences, shipped = known(), list(locked(*SHIPPED))
    others = [name for name in locked(*WORKED_WITH) if name not in shipped]
    forbidden = problems(licences, shipped, ALLOWED)
    forbidden += problems(licences, others, ALLOWED | ONLY_RUN)
    forbidden += npm_problems()
    say("licences of all that is locked", forbidden)
    return wrong


def npm_problems() -> list[str]:
    """The licences of the packages of npm: of those in the page, and of those that make it."""
    shipped = {f"node_modules/{name}" for name in build.bundled(ROOT)}
    wrong: list[str] = []
    for folder in NPM:
        told = npm_licences(folder)
        inside = [name for name in told if name in shipped]
        wrong += problems(told, inside, ALLOWED)
        wrong += problems(told, [name for name in told if name not in shipped], ALLOWED | ONLY_RUN)
    return wrong


def npm_packages(folder: str) -> dict[str, dict[str, Any]]:
    told = json.loads((ROOT / folder / "package-lock.json").read_text())["packages"]
    return {name: each for name, each in told.items() if name}


def npm_licences(folder: str) -> dict[str, str]:
    by_hand = known("npm")
    return {
        name: str(each.get("license") or by_hand.get(name.rpartition("node_modules/")[2]))
        for name, each in npm_packages(folder).items()
    }


def _hashed(package: Mapping[str, Any]) -> bool:
    """What comes inside another package is in the hash of that one."""
    return (
        bool(package.get("inBundle"))
        or bool(package.get("link"))
        or str(package.get("integrity")).startswith("sha512-")
    )


def _unhashed(name: str) -> list[str]:
    text = (LOCKS / f"{name}.txt").read_text()
    entries = re.split(r"\n(?=\S)", text.strip())
    return [
        f"{entry.split()[0]} of locks/{name}.txt has no hash"
        for entry in entries
        if not re.search(r"--hash=sha256:[0-9a-f]{64}", entry)
    ]


def _installed() -> tuple[int, int, list[str]]:
    """Of the locked packages that are installed: how many packages and files, and what is not as it
    was locked and installed. pip compared the archives with the locks; this is about since then."""
    packages = files = 0
    changed: list[str] = []
    for name, version in locked(*SHIPPED, *WORKED_WITH).items():
        try:
            found = distribution(name)
        except PackageNotFoundError:  # of another system, or not needed here
            continue
        packages += 1
        if found.version != version:
            changed.append(f"{name}: {found.version} is installed, and {version} is locked")
        for file in found.files or ():
            if file.hash is None:
                continue
            files += 1
            try:
                with open(str(file.locate()), "rb") as content:
                    digest = hashlib.file_digest(content, file.hash.mode).digest()
            except OSError as fault:
                changed.append(f"{name}: {file}: {fault.strerror}")
                continue
            if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != file.hash.value:
                changed.append(f"{name}: {file} was changed since")
    return packages, files, changed


# --- Known faults ---------------------------------------------------------------------------

_LICENCE_FILES = {"license", "licence"}
NPM = ("web", "site", "tests/clients/node")
_MOST = 20
NOT_ASKED = 3
"""How it ends where nobody could be asked about something: nothing wrong was found, and that is
no all-clear."""


class NobodyToAsk(Exception):
    """In words, why."""


def audit(pip_audit: Sequence[str], npm: Sequence[str] = ("npm",)) -> int:
    """1 where something is wrong or has a known fault, else `NOT_ASKED` where somebody could not
    be asked, else 0."""
    print("What can be checked here, without a network:")
    found = bool(checked_here())
    print("\nWhat others know of it:")
    unasked: list[str] = []
    questions: list[tuple[str, str, Callable[[], Known]]] = []
    for name in ("image", "dev", "tools"):
        only = ("--disable-pip", "--require-hashes", "--progress-spinner", "off", "-f", "json")
        words = [*pip_audit, *only, "-r", str(LOCKS / f"{name}.txt")]
        questions.append((f"locks/{name}.txt", "pip-audit", partial(_of_pip, words)))
    for folder in NPM:
        words = [*npm, "audit", "--prefix", str(ROOT / folder), "--audit=true", "--json"]
        questions.append((folder, "npm audit", partial(_of_npm, words)))
    for what, who, ask in questions:
        try:
            found |= _shown(what, ask())
        except NobodyToAsk as why:
            print(f"{what}: NOT AUDITED. {who} could not ask: {why}")
            unasked.append(what)
    if unasked:
        print(
            f"\nNot audited: {', '.join(unasked)}. Whether these have known faults is not known. "
            "Run `make audit` where the registries can be reached."
        )
    return 1 if found else NOT_ASKED if unasked else 0


Known = tuple[list[str], int, int]
"""The faults, how many packages were asked about, and how many are not known there."""


def _asked(command: Sequence[str]) -> Any:
    """The JSON that it says. Raises `NobodyToAsk`."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    except OSError as fault:
        raise NobodyToAsk(f"{command[0]} is not here ({fault.strerror})") from None
    except subprocess.TimeoutExpired:
        raise NobodyToAsk("no answer within five minutes") from None
    try:
        return json.loads(done.stdout)
    except ValueError:
        lines = [line.strip() for line in (done.stderr or done.stdout).splitlines()]
        raise NobodyToAsk(([*filter(None, lines)] or ["it said nothing"])[-1][:_LINE]) from None


_LINE = 300


def _of_pip(command: Sequence[str]) -> Known:
    match _asked(command):
        case {"dependencies": [*packages]}:
            known = [each for each in packages if "skip_reason" not in each]
            faults = [f"{p['name']} {v['id']}" for p in known for v in p.get("vulns", ())]
            if known:
                return faults, len(known), len(packages) - len(known)
            raise NobodyToAsk("none of the packages is known there")
    raise NobodyToAsk("the answer is none")


def _of_npm(command: Sequence[str]) -> Known:
    match _asked(command):
        case {"vulnerabilities": dict(faults), "metadata": {"dependencies": {"total": int(total)}}}:
            return [f"{name} {about.get('severity')}" for name, about in faults.items()], total, 0
        case {"message": str(why)} | {"error": {"summary": str(why)}} if why:
            raise NobodyToAsk(why[:_LINE])
        case {"error": {"code": str(why)}}:
            raise NobodyToAsk(why)
    raise NobodyToAsk("the answer is none")


def _shown(what: str, told: Known) -> bool:
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
