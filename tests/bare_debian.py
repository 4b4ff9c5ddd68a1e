"""The image file followed in a Debian that has nothing else: by debootstrap and chroot.

Each stage that is made from a Python image has a root folder of its own, with
what such an image has and no more; so what a wheel needs of the system, and
does not bring along, is missed here as it would be there. The page is built
outside, as in `shipping.py`. Python is Debian's own (3.11; the image has 3.12).

Everything runs in a mount namespace: whatever happens, no mount is left behind.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.shipping import ROOT, Follower, Stage, copy_kept

PYTHON_IMAGE = "python:"
SUITE = "bookworm"
# What the image has beside a minimal Debian; venv stands for the pip that is in it.
PACKAGES = "ca-certificates,python3,python3-venv"
PATH = "/usr/local/pip/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_SYSTEM = ("/proc", "/dev", "/sys")


def why_not() -> str | None:
    """What is missing for it here."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "only root of a Linux machine can make a root folder and go into it"
    for tool in ("debootstrap", "chroot", "unshare"):
        if shutil.which(tool) is None:
            return f"there is no {tool} here"
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode != 0:
        return "mount namespaces are not allowed here"
    return None


@dataclass
class BareDebian:
    """The roots of the stages, below `folder`."""

    folder: Path
    bound: Mapping[Path, str] = field(default_factory=dict)
    """Folders of this machine that are seen inside, and where."""

    def make(self, stages: list[Stage]) -> None:
        self._bootstrap()
        outside = Follower(self.folder / "outside", dict(os.environ))
        for stage in stages:
            if stage.image.startswith(PYTHON_IMAGE):
                self._follow(stage, stages, outside)
            else:
                outside.follow(stage, stages)

    def root(self, stage: Stage) -> Path:
        return self.folder / (stage.name or "final")

    def command(self, stage: Stage, words: list[str], *, user: str = "0:0") -> list[str]:
        """For who starts it: `words` as if they were typed in that stage."""
        root = self.root(stage)
        lines = ["set -e"]
        for source, target in self._binds():
            lines.append(f"mount --rbind {shlex.quote(source)} {shlex.quote(f'{root}{target}')}")
        lines.append(f"exec chroot --userspec={user} {shlex.quote(str(root))} {shlex.join(words)}")
        return ["unshare", "--mount", "--propagation", "private", "sh", "-c", "\n".join(lines)]

    def _binds(self) -> Iterator[tuple[str, str]]:
        yield from ((path, path) for path in _SYSTEM)
        yield from ((path, path) for path in _package_folders())
        yield from ((str(path), inside) for path, inside in self.bound.items())

    def _bootstrap(self) -> None:
        base = self.folder / "base"
        words = ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", SUITE, str(base)]
        _run([*words, *_mirror()])
        # As in the image: `python` and `pip` by these names, pip not Debian's.
        _run(["chroot", str(base), "ln", "-s", "python3", "/usr/bin/python"])
        _run(["chroot", str(base), "python3", "-m", "venv", "/usr/local/pip"])
        for file in ("/etc/resolv.conf", "/etc/hosts", "/etc/ssl/certs/ca-certificates.crt"):
            if Path(file).exists():  # whom this machine asks for names, and whom it trusts
                shutil.copyfile(file, f"{base}{file}")
        for _, inside in self._binds():
            (base / inside.lstrip("/")).mkdir(parents=True, exist_ok=True)

    def _follow(self, stage: Stage, stages: list[Stage], outside: Follower) -> None:
        root, at = self.root(stage), Path("/")
        _run(["cp", "-a", str(self.folder / "base"), str(root)])
        for keyword, rest in stage.steps:
            match keyword:
                case "WORKDIR":
                    at = Path(rest)
                    (root / rest.lstrip("/")).mkdir(parents=True, exist_ok=True)
                case "COPY":
                    self._copy(root, at, rest, stages, outside)
                case "RUN":
                    _run(self.command(stage, ["sh", "-ec", f"cd {at} && {rest}"]), _environment())
                case "ENV" | "USER" | "VOLUME" | "EXPOSE" | "HEALTHCHECK" | "CMD":
                    pass
                case _:
                    raise AssertionError(f"{keyword} is new: teach it to this file")

    def _copy(
        self, root: Path, at: Path, rest: str, stages: list[Stage], outside: Follower
    ) -> None:
        *sources, target = rest.split()
        into = root / (at / target).as_posix().lstrip("/")
        if sources[0].startswith("--from="):
            name = sources.pop(0).removeprefix("--from=")
            other = next(each for each in stages if each.name == name)
            there = self.root(other) / sources[0].lstrip("/")
            if not other.image.startswith(PYTHON_IMAGE):
                there = outside.place(other, sources[0])
            into.parent.mkdir(parents=True, exist_ok=True)
            _run(["cp", "-a", "-T", str(there), str(into)])
            return
        for source in sources:
            copy_kept(ROOT / source, into if source.endswith("/") else into / Path(source).name)


def _run(words: list[str], environ: Mapping[str, str] | None = None) -> None:
    done = subprocess.run(words, env=environ, capture_output=True, text=True, timeout=1500)
    assert done.returncode == 0, f"{words}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"


def _mirror() -> list[str]:
    """Where this machine gets its packages; Debian's own place, where it does not say."""
    folder = Path("/etc/apt")
    files = [folder / "sources.list", *sorted((folder / "sources.list.d").glob("*"))]
    for file in files:
        text = file.read_text() if file.is_file() else ""
        found = re.search(r"^(?:deb|URIs:)\s+(?:\[.*?\]\s+)?(\S+/debian/?)(?:\s.*)?$", text, re.M)
        if found:
            return [found[1]]
    return []


def _pip_settings() -> dict[str, str]:
    """As this machine's pip has them, as variables."""
    told = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True
    ).stdout
    found = re.findall(r"^(?:global|install|:env:)\.([\w-]+)='(.*)'$", told, re.M)
    named = {f"PIP_{name.upper().replace('-', '_')}": value for name, value in found}
    return {name: value.replace("\\n", " ").strip() for name, value in named.items()}


def _package_folders() -> list[str]:
    """Folders that pip is told to look in."""
    words = " ".join(_pip_settings().values()).split()
    places = {re.sub(r"^file://|/simple/?$", "", word) for word in words if word[:1] == "/"
              or word.startswith("file://")}  # fmt: skip
    return sorted(place for place in places if Path(place).is_dir())


def _environment() -> dict[str, str]:
    kept = ("LANG", "SSL_CERT_FILE", "http_proxy", "https_proxy", "no_proxy")
    here = {name: os.environ[name] for name in kept if name in os.environ}
    return {
        **here,
        **_pip_settings(),
        "PATH": PATH,
        "HOME": "/root",
        "DEBIAN_FRONTEND": "noninteractive",
    }
