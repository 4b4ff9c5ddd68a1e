"""Models, their files, and where the bytes may come from: what `catalogue.toml` says.

Knows nothing of the network. A source is only a place to try: the sha256
decides what is taken.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Literal, TypeAlias

from vivavoce.wire.values import Value

Role: TypeAlias = Literal["speech detection", "end of turn", "ears", "brain", "likeness", "mouth"]


class Web(Value):
    """The file itself, at its author's."""

    url: str

    def __str__(self) -> str:
        return self.url


class Wheel(Value):
    """A file inside a wheel on the Python package index that pip is configured for."""

    project: str
    version: str
    member: str

    @property
    def archive(self) -> str:
        return f"pip-{self.project}-{self.version}.whl"

    def __str__(self) -> str:
        return f"the Python package {self.project} {self.version}"


class NpmPackage(Value):
    """A file inside a package of the registry that npm is configured for."""

    package: str
    version: str
    member: str

    @property
    def archive(self) -> str:
        return f"npm-{self.package.replace('/', '-')}-{self.version}.tgz"

    def __str__(self) -> str:
        return f"the npm package {self.package} {self.version}"


Packed: TypeAlias = Wheel | NpmPackage
"""A file inside an archive; one archive serves all that name it."""


class Joined(Value):
    """One file in several parts, in order, since packages have a largest size."""

    parts: tuple[Packed, ...]

    def __str__(self) -> str:
        return f"{len(self.parts)} parts, beginning with {self.parts[0]}"


Source: TypeAlias = Web | Wheel | NpmPackage | Joined


def packed_in(source: Source) -> Sequence[Packed]:
    match source:
        case Joined(parts):
            return parts
        case Web():
            return ()
        case packed:
            return (packed,)


class SourceFailed(Exception):
    """Why a source gave nothing, in words for the user; the next one may do.

    `stale`: bytes of an earlier pull were used, so trying it afresh may help.
    `unreachable`: nobody answered, so other files need not ask the same host.
    """

    def __init__(self, words: str, *, stale: bool = False, unreachable: bool = False) -> None:
        super().__init__(words)
        self.stale = stale
        self.unreachable = unreachable


class ModelFile(Value):
    """One file of a model; `name` is its path in the model's folder."""

    name: str
    size: int
    sha256: str
    sources: tuple[Source, ...]

    def __post_init__(self) -> None:
        path = PurePosixPath(self.name)
        if path.is_absolute() or ".." in path.parts or "\\" in self.name:
            raise ValueError(f"not a path inside a folder: {self.name!r}")

    def packed(self) -> Iterator[Packed]:
        """Every place inside an archive that may give this file or a part of it."""
        for source in self.sources:
            yield from packed_in(source)


class Model(Value):
    name: str
    role: Role
    title: str
    licence: str
    files: tuple[ModelFile, ...]

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)

    def file(self, name: str) -> ModelFile | None:
        return next((file for file in self.files if file.name == name), None)


def _sources(given: dict[str, Any]) -> Iterator[Source]:
    if url := given.get("url"):
        yield Web(url)
    for kind, name in ((Wheel, "wheel"), (NpmPackage, "npm")):
        if (package := given.get(name)) is None:
            continue
        if parts := given.get("parts"):
            numbered = ([text.format(n=n) for text in package] for n in range(1, parts + 1))
            yield Joined(tuple(kind(*each) for each in numbered))
        else:
            yield kind(*package)


def _model(files: list[dict[str, Any]], **rest: Any) -> Model:
    made = (ModelFile(f["name"], f["size"], f["sha256"], tuple(_sources(f))) for f in files)
    return Model(files=tuple(made), **rest)


_CATALOGUE = Path(__file__).with_name("catalogue.toml").read_text(encoding="utf-8")
MODELS: tuple[Model, ...] = tuple(_model(**each) for each in tomllib.loads(_CATALOGUE)["models"])
