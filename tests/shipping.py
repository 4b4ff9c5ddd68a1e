"""The image file read and followed without a Docker engine: its stages are folders.

Knows just what our Dockerfile uses: FROM, WORKDIR, COPY, RUN and the forms of
them that stand there; anything else is an error, so that the file cannot grow
past what is tried. What only an image can do (making a user, installing a
package) is left out here, and done in `bare_debian.py`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from string import Template

ROOT = Path(__file__).resolve().parents[1]


@dataclass
class Stage:
    image: str
    name: str
    steps: list[tuple[str, str]] = field(default_factory=list)

    def all(self, keyword: str) -> list[str]:
        return [rest for word, rest in self.steps if word == keyword]


def read_stages() -> list[Stage]:
    """The Dockerfile as steps: comments gone, continued lines joined."""
    text = (ROOT / "Dockerfile").read_text()
    text = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    stages: list[Stage] = []
    for line in re.sub(r"\\\n\s*", "", text).splitlines():
        keyword, _, rest = line.partition(" ")
        if keyword == "FROM":
            image, _, name = rest.partition(" AS ")
            stages.append(Stage(image, name))
        elif keyword:
            stages[-1].steps.append((keyword, rest.strip()))
    return stages


def ignored(path: Path) -> bool:
    """Whether .dockerignore keeps a file of the checkout out; the last line that fits counts."""
    name = path.relative_to(ROOT).as_posix()
    parents = [name, *(parent.as_posix() for parent in Path(name).parents)][:-1]
    out = False
    for line in (ROOT / ".dockerignore").read_text().splitlines():
        rule = line.strip().rstrip("/")
        if not rule or rule.startswith("#"):
            continue
        pattern = rule.removeprefix("!")
        deep = pattern.removeprefix("**/") if pattern.startswith("**/") else None
        fits = any(
            fnmatch(each, pattern) or (deep is not None and fnmatch(Path(each).name, deep))
            for each in parents
            if deep is not None or "/" in pattern or each.count("/") == 0
        )
        if fits:
            out = not rule.startswith("!")
    return out


@dataclass
class Follower:
    """Follows the steps in a clean folder, with each stage's `/` below it."""

    folder: Path
    environ: dict[str, str]
    at: dict[str, str] = field(default_factory=dict)

    def root(self, stage: Stage) -> Path:
        # One `/opt` for all: a venv does not like to be moved.
        return self.folder / (stage.name or "final")

    def place(self, stage: Stage, path: str) -> Path:
        if path.startswith("/opt/"):
            return self.folder / path.lstrip("/")
        return self.root(stage) / (Path(self.at.get(stage.name, "/")) / path).as_posix().lstrip("/")

    def follow(self, stage: Stage, stages: list[Stage]) -> None:
        for keyword, rest in stage.steps:
            match keyword:
                case "WORKDIR":
                    self.at[stage.name] = rest
                    self.place(stage, rest).mkdir(parents=True, exist_ok=True)
                case "COPY":
                    self._copy(stage, rest, stages)
                case "RUN" if not rest.startswith(("useradd", "apt-get")):
                    self._run(stage, rest)
                case "RUN" | "ENV" | "USER" | "VOLUME" | "EXPOSE" | "HEALTHCHECK" | "CMD":
                    pass
                case _:
                    raise AssertionError(f"{keyword} is new: teach it to this file")

    def _copy(self, stage: Stage, rest: str, stages: list[Stage]) -> None:
        *sources, target = rest.split()
        into = self.place(stage, target)
        if sources[0].startswith("--from="):
            origin = sources.pop(0).removeprefix("--from=")
            other = next(each for each in stages if each.name == origin)
            if not target.startswith("/opt/"):
                shutil.copytree(self.place(other, sources[0]), into, dirs_exist_ok=True)
            return
        for source in sources:
            copy_kept(ROOT / source, into if source.endswith("/") else into / Path(source).name)

    def _run(self, stage: Stage, command: str) -> None:
        command = command.replace("/opt/vivavoce", str(self.folder / "opt/vivavoce"))
        (self.folder / "opt").mkdir(exist_ok=True)
        done = subprocess.run(
            ["sh", "-ec", command],
            cwd=self.place(stage, "."),
            env=self.environ,
            capture_output=True,
            text=True,
            timeout=1500,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"


def copy_kept(source: Path, target: Path) -> None:
    """What Docker would see of it."""
    assert source.exists(), f"{source.name} is not there"
    if source.is_file():
        assert not ignored(source), f".dockerignore keeps {source.name} out"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)
        return
    for folder, names, files in os.walk(source):
        names[:] = [name for name in names if not ignored(Path(folder) / name)]
        for name in files:
            path = Path(folder) / name
            if not ignored(path):
                place = target / path.relative_to(source)
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, place)


def filled(text: str, values: Mapping[str, str]) -> str:
    """What Compose makes of `${NAME}`, `${NAME:-else}` and `${NAME:?why}`, the innermost first."""

    def value(found: re.Match[str]) -> str:
        name, how, rest = found.groups()
        given = values.get(name, "")
        assert given or how != ":?", f"{name}: {rest}"
        return given or (rest if how == ":-" else "")

    while (step := re.sub(r"\$\{(\w+)(?:(:[-?])([^${}]*))?\}", value, text)) != text:
        text = step
    assert "$" not in text, text
    return text


def environment(stage: Stage, **before: str) -> dict[str, str]:
    """What ENV sets; `$NAME` is what was set before."""
    pairs = (pair.split("=", 1) for step in stage.all("ENV") for pair in step.split())
    return {name: Template(value).safe_substitute(before) for name, value in pairs}


def command(stage: Stage, keyword: str) -> list[str]:
    """The JSON form of CMD, or of the CMD in HEALTHCHECK."""
    (rest,) = stage.all(keyword)
    found: list[str] = json.loads(rest[rest.index("[") :])
    return found
