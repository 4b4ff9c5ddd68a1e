"""Dependencies are locked with hashes, their licences are known, and a wheel says what is in it."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import socket
import subprocess
import sys
import tomllib
from pathlib import Path

import hatch_build as build
import pytest

from tests import supply_chain as chain
from tests.shipping import ROOT, read_stages

LOCKED = ("build", "serve", "dev", "image", "node", "tools", "clients")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = {
    "serve": ("engine", "tools", "auth", "https", "intents", "push", "wyoming"),
    "dev": (
        "engine",
        "tools",
        "auth",
        "https",
        "intents",
        "push",
        "wyoming",
        "delegation",
        "amplifier",
    ),
    "image": (
        "engine",
        "tools",
        "auth",
        "https",
        "intents",
        "push",
        "wyoming",
        "delegation",
        "postgres",
    ),
}


def plain(requirement: str) -> str:
    name = re.split(r"[\[<>=!~;( ]", requirement)[0]
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.parametrize("name", LOCKED)
def test_every_package_of_a_lock_is_pinned_with_hashes_and_from_nowhere_in_particular(
    name: str,
) -> None:
    text = (chain.LOCKS / f"{name}.txt").read_text()
    for entry in re.split(r"\n(?=\S)", text.strip()):
        first, *hashes = entry.replace("\\\n", "\n").splitlines()
        assert re.match(r"[\w.-]+==[\w.!+]+", first), first
        assert hashes, f"{first} has no hash"
        assert all(re.fullmatch(r"    --hash=sha256:[0-9a-f]{64} ?", line) for line in hashes)
    assert "://" not in text
    assert "--index" not in text


@pytest.mark.parametrize("name", EXTRAS)
def test_a_lock_has_all_that_its_extras_ask_for_in_the_versions_of_the_constraints(
    name: str,
) -> None:
    wanted = list(PROJECT["project"]["dependencies"])
    for extra in EXTRAS[name]:
        wanted += PROJECT["project"]["optional-dependencies"][extra]
    wanted += PROJECT["dependency-groups"]["dev"] if name == "dev" else []
    there = chain.locked(name)
    assert {plain(each) for each in wanted} <= set(there), "run `make lock`"
    pinned = build.locked(ROOT / "constraints.txt")
    assert {n: v for n, v in there.items() if pinned.get(n, v) != v} == {}, "run `make lock`"


def test_what_builds_the_package_is_locked_where_it_is_installed_without_isolation() -> None:
    for name in ("build", "serve", "dev"):
        assert {"hatchling", "editables"} <= set(chain.locked(name))


def test_a_lock_is_for_every_system_and_not_only_for_ours() -> None:
    """One wheel of numpy would be enough here: others need theirs."""
    text = (chain.LOCKS / "serve.txt").read_text()
    (entry,) = re.findall(r"^numpy==.*\n(?:    .*\n)+", text, re.M)
    assert entry.count("--hash") > 20
    assert "colorama" in chain.locked("serve")


def test_nothing_is_installed_into_the_image_but_by_its_hash() -> None:
    for stage in read_stages():
        for step in " && ".join(stage.all("RUN")).split("&&"):
            if "pip install" in step:
                assert "--no-deps" in step
                assert "--require-hashes -r locks/" in step or "file://" in step, step
            if "pip wheel" in step:
                assert "--no-build-isolation" in step


def test_pip_refuses_a_file_with_another_hash(tmp_path: Path) -> None:
    """The same words as `make setup` uses."""
    (words,) = re.findall(r"^LOCKED := (.*) -r$", (ROOT / "Makefile").read_text(), re.M)
    wheel = tmp_path / "here-1.0-py3-none-any.whl"
    wheel.write_bytes(b"not what was locked")
    lock = tmp_path / "lock.txt"
    lock.write_text(f"here==1.0 --hash=sha256:{'0' * 64}\n")
    pip = [sys.executable, "-m", "pip", "--isolated", "install", "--disable-pip-version-check"]
    where = ["--no-index", "--find-links", str(tmp_path), "--target", str(tmp_path / "target")]
    done = subprocess.run(
        [*pip, *where, *words.split(), "-r", lock], capture_output=True, text=True
    )
    assert done.returncode != 0
    assert "DO NOT MATCH THE HASHES" in done.stderr.upper()


# --- Licences -------------------------------------------------------------------------------


def test_every_licence_is_known_and_allowed() -> None:
    licences = chain.known()
    shipped = list(chain.locked(*chain.SHIPPED))
    assert chain.problems(licences, shipped, chain.ALLOWED) == []
    others = [name for name in chain.locked(*chain.WORKED_WITH) if name not in shipped]
    assert chain.problems(licences, others, chain.ALLOWED | chain.ONLY_RUN) == []


def test_every_package_says_the_licence_that_was_noted() -> None:
    """A version that changed it is seen."""
    licences = chain.known()
    for name in chain.locked(*chain.SHIPPED, *chain.WORKED_WITH):
        about = chain.here(name)
        said = chain.said_by(about) if about is not None else None
        assert said in (None, licences[name]), f"{name} says {said}"


def test_every_package_of_npm_has_an_allowed_licence() -> None:
    assert chain.npm_problems() == []


def test_an_unknown_or_a_forbidden_licence_is_a_problem() -> None:
    licences = {"a": "AGPL-3.0-only", "b": "MIT AND GPL-3.0-only", "c": "MIT OR GPL-3.0-only",
                "d": "MPL-2.0 AND (Apache-2.0 OR SSPL-1.0)", "e": ""}  # fmt: skip
    assert chain.problems(licences, ["a", "b", "c", "d", "e", "f"], chain.ALLOWED) == [
        "a: AGPL-3.0-only is not for us",
        "b: MIT AND GPL-3.0-only is not for us",
        "e:  is not for us",
        "f: nobody has looked at its licence",
    ]


def test_the_notices_name_all_that_is_shipped() -> None:
    if not (ROOT / "web" / "node_modules").exists():
        pytest.skip("the page's packages are not here")
    assert chain.NOTICES.read_text() == chain.notices(), (
        "run `python -m tests.supply_chain --write`"
    )


# --- What a wheel says ----------------------------------------------------------------------


def test_the_bill_of_materials_has_packages_page_and_models_with_their_licences() -> None:
    bill = build.sbom(ROOT, "1.2.3")
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    assert bill["metadata"]["component"]["purl"] == "pkg:pypi/vivavoce@1.2.3"
    parts = {part["bom-ref"]: part for part in bill["components"]}
    assert len(parts) == len(bill["components"])
    for name, version in chain.locked("image").items():
        assert parts[f"pkg:pypi/{name}@{version}"]["licenses"]
    assert any(ref.startswith("pkg:npm/react@") for ref in parts)
    kokoro = parts["model:kokoro"]
    assert all(len(file["hashes"][0]["content"]) == 64 for file in kokoro["components"])
    assert bill["dependencies"][0]["dependsOn"] == list(parts)
    assert build.sbom(ROOT, "1.2.3") == bill


# --- Known faults ---------------------------------------------------------------------------


def speaking(tmp_path: Path, name: str, said: str, code: int) -> list[str]:
    """A program that says this and ends so."""
    script = tmp_path / name
    script.write_text(f"import sys; print({said!r}); sys.exit({code})")
    return [sys.executable, str(script)]


def report(**packages: str | None) -> str:
    """As pip-audit writes it: names, with a fault, none, or not known."""
    known = [{"name": n, "vulns": [{"id": f}] if f else []} for n, f in packages.items()]
    return json.dumps({"dependencies": [*known, {"name": "x", "skip_reason": "not found"}]})


def test_offline_the_audit_says_so_and_claims_no_success(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], checked: list[str]
) -> None:
    refused = "ConnectionError: Name or service not known"
    pip = speaking(tmp_path, "pip.py", refused, 1)
    npm = speaking(tmp_path, "npm.py", '{"error": {"code": "ENOTFOUND"}}', 1)
    nothing = speaking(tmp_path, "nothing.py", report(), 0)  # a mirror that knows no package
    for asked, why in (
        (pip, refused),
        (nothing, "none of the packages is known there"),
        (["no-such-program"], "no-such-program is not here"),
    ):
        assert chain.audit(asked, npm) == chain.NOT_ASKED != 0
        told = capsys.readouterr().out
        for lock in ("image", "dev", "tools"):
            assert f"locks/{lock}.txt: NOT AUDITED. pip-audit could not ask: {why}" in told
        assert "web: NOT AUDITED. npm audit could not ask: ENOTFOUND" in told
        assert "no known faults" not in told
    checked.append("something is wrong")
    assert chain.audit(pip, npm) == 1, "that is known, whoever could be asked"


def test_npm_itself_says_that_its_registry_cannot_be_reached(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], checked: list[str]
) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    registry = f"http://127.0.0.1:{port}"
    for name, value in (("registry", registry), ("fetch_retries", "0"), ("offline", "false")):
        monkeypatch.setenv(f"npm_config_{name}", value)
    asking = (sys.executable, "-c", ASKS, registry)
    assert chain.audit(asking) == chain.NOT_ASKED
    told = capsys.readouterr().out
    for folder in chain.NPM:
        assert re.search(rf"{folder}: NOT AUDITED\. npm audit could not ask: .*{port}", told), told
    assert told.count("pip-audit could not ask: ") == 3
    assert "refused" in told
    assert "Whether these have known faults is not known." in told


ASKS = "import sys, urllib.request; urllib.request.urlopen(sys.argv[1])"
"""In the place of pip-audit, which is installed by `make audit` alone: it asks there, and fails."""


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is wrong here. Hashing all that is installed takes seconds, and has its own test."""
    wrong: list[str] = []
    monkeypatch.setattr(chain, "checked_here", lambda: wrong)
    return wrong


@pytest.mark.full
def test_what_is_installed_is_what_was_locked_and_the_audit_says_what_it_looked_at(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert chain.checked_here() == []
    told = capsys.readouterr().out
    for line in (
        r"hashes in the locks of build, clients, dev, image, node, serve, tools: fine",
        r"hashes of \d{2,} packages in web/package-lock.json: fine",
        r"\d{4,} files of \d{2,} installed packages, by hash as they were installed: fine",
        r"licences of all that is locked: fine",
    ):
        assert re.search(f"^{line}$", told, re.M), told


def test_a_file_that_was_changed_since_it_was_installed_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    about = tmp_path / "there-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: there\nVersion: 1.0\n")
    digest = base64.urlsafe_b64encode(hashlib.sha256(b"good").digest()).rstrip(b"=").decode()
    lines = [f"{name},sha256={digest},4" for name in ("good.py", "bad.py", "gone.py")]
    (about / "RECORD").write_text("\n".join([*lines, "there-1.0.dist-info/RECORD,,"]))
    (tmp_path / "good.py").write_bytes(b"good")
    (tmp_path / "bad.py").write_bytes(b"evil")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(chain, "locked", lambda *names: {"there": "1.1"})
    monkeypatch.setattr(chain, "known", lambda: {"there": "MIT"})
    monkeypatch.setattr(chain, "NPM", ())
    assert chain.checked_here() == [
        "there: 1.0 is installed, and 1.1 is locked",
        "there: bad.py was changed since",
        "there: gone.py: No such file or directory",
    ]
    assert "3 files of 1 installed packages, by hash as they were installed: 3 wrong" in (
        capsys.readouterr().out
    )


def test_a_known_fault_fails_the_audit_and_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], checked: list[str]
) -> None:
    npm = {"vulnerabilities": {}, "metadata": {"dependencies": {"total": 96}}}
    fine = speaking(tmp_path, "npm.py", json.dumps(npm), 0)
    clean = speaking(tmp_path, "clean.py", report(aiohttp=None), 0)
    assert chain.audit(clean, fine) == 0
    assert "web: no known faults in 96 packages" in capsys.readouterr().out
    bad = speaking(tmp_path, "bad.py", report(aiohttp="GHSA-1", idna=None), 1)
    assert chain.audit(bad, fine) == 1
    told = capsys.readouterr().out
    assert "locks/dev.txt: 1 known faults in 2 packages; 1 are not known there" in told
    assert "  aiohttp GHSA-1" in told
    worse = speaking(
        tmp_path, "w.py", json.dumps(npm | {"vulnerabilities": {"vite": {"severity": "high"}}}), 1
    )
    assert chain.audit(clean, worse) == 1
    assert "  vite high" in capsys.readouterr().out


@pytest.mark.parametrize("folder", chain.NPM)
def test_a_lock_of_npm_has_every_package_that_its_packages_name_for_other_systems(
    folder: str,
) -> None:
    """A release that a registry has for one system only makes `npm ci` refuse the lock."""
    packages = chain.npm_packages(folder)
    there = {name.rpartition("node_modules/")[2] for name in packages}
    for name, each in packages.items():
        lacking = set(each.get("optionalDependencies", ())) - there
        assert not lacking, f"{folder}: {name} names {sorted(lacking)}"
