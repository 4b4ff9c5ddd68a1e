"""Taking single files out of wheels and npm packages, which are not to be trusted.

Only members that were asked for are written, only to the paths that were
given, and never more bytes than expected. Nothing is installed or run.
"""

from __future__ import annotations

import gzip
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from vivavoce.models.faults import SourceFailed

MAX_UNPACKED = 8 * 2**30
"""What an archive may hold in all: reading past other members takes time too."""

_CHUNK = 2**20


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
