"""One file from a model hub, by what llama.cpp's users call it. The sha256 is the hub's own word.

`hf:owner/repo/file.gguf` names a file, `hf:owner/repo:Q4_K_M` how many bits it should have,
`hf:owner/repo` leaves that to us. The file lies in `<folder>/hf/owner/repo/`, and is fetched
when it is not there; nothing else of the repository is.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import quote

from vivavoce.errors import ModelUnavailable
from vivavoce.models.checks import check, note, noted, sha256_of
from vivavoce.models.gguf import PART
from vivavoce.models.manifest import SourceFailed
from vivavoce.wire.values import Value

if TYPE_CHECKING:
    import httpx

HUB = "https://huggingface.co"
PREFIX = "hf:"
USUAL = ("Q4_K_M", "Q4_K_S", "Q4_0", "Q5_K_M", "Q8_0")
"""What is taken where nobody says: small, and nearly as good."""
_FORM = re.compile(r"hf:([\w.-]+)/([\w.-]+)(?:/([\w./-]+\.gguf)|:([\w.-]+))?", re.I)
_MOST = 200 << 30

OnBytes = Callable[[int, int], None]
"""Received, and of how many."""


class Reference(Value):
    """`file` is empty where only the bits are named; `bits` may be empty too."""

    owner: str
    repo: str
    file: str = ""
    bits: str = ""

    @property
    def name(self) -> str:
        return f"{self.owner}/{self.repo}"

    def __str__(self) -> str:
        tail = f"/{self.file}" if self.file else f":{self.bits}" if self.bits else ""
        return f"{PREFIX}{self.name}{tail}"


def parse(text: str) -> Reference | None:
    """None where it is no reference, or one that would lead out of the folder."""
    if (found := _FORM.fullmatch(text)) is None:
        return None
    owner, repo, file, bits = (part or "" for part in found.groups())
    parts = PurePosixPath(owner, repo, file).parts
    if any(part.strip(".") == "" for part in parts):
        return None
    return Reference(owner, repo, file, bits)


def chosen(reference: Reference, files: Sequence[str]) -> str:
    """Which of the repository's files is meant. Raises `ModelUnavailable` with those there are."""
    models = [file for file in files if file.lower().endswith(".gguf")]
    if reference.file in models:
        return reference.file
    whole = [file for file in models if not PART.search(file) and "mmproj" not in file.lower()]
    if not reference.file:
        for bits in (reference.bits,) if reference.bits else USUAL:
            pattern = re.compile(rf"(?<![A-Za-z0-9]){re.escape(bits)}(?![A-Za-z0-9_])", re.I)
            if fitting := [file for file in whole if pattern.search(file)]:
                return min(fitting, key=len)
        if len(whole) == 1 and not reference.bits:
            return whole[0]
    there = ", ".join(sorted(whole)[:12]) or "no GGUF file in one piece"
    raise ModelUnavailable(f"{reference} is not at the hub. It has: {there}.")


class Hub:
    """`key` opens what is not for everybody."""

    def __init__(self, folder: Path, *, url: str = HUB, key: str | None = None) -> None:
        self._folder = folder / "hf"
        self._url, self._key = url.rstrip("/"), key

    def there(self, reference: Reference) -> Path | None:
        """The file, if it was fetched before. Touches no network."""
        folder = self._folder / reference.owner / reference.repo
        if reference.file:
            path = folder / reference.file
            return path if path.is_file() else None
        found = [str(path.relative_to(folder)) for path in sorted(folder.rglob("*.gguf"))]
        try:
            return folder / chosen(reference, found)
        except ModelUnavailable:
            return None

    def verify(self, reference: Reference) -> str | None:
        """What is wrong with it by the hash that the hub told, in words."""
        path = self.there(reference)
        return None if path is None else self._wrong_with(reference, path, trust_stamp=False)

    def _wrong_with(
        self, reference: Reference, path: Path, *, trust_stamp: bool = True
    ) -> str | None:
        """One whose hash the hub never told is taken as it is."""
        folder = self._folder / reference.owner / reference.repo
        known = noted(folder, path.relative_to(folder).as_posix())
        return None if known is None else check(folder, known, trust_stamp=trust_stamp)

    async def get(self, reference: Reference, on_bytes: OnBytes) -> Path:
        """The file, fetched if it is not there, or not what it was. Raises `ModelUnavailable`."""
        path = self.there(reference)
        if path is not None and await asyncio.to_thread(self._wrong_with, reference, path) is None:
            return path
        # httpx takes a while to import, and most starts have nothing to fetch.
        from vivavoce.models.download import open_client

        async with open_client() as client:
            if self._key:
                client.headers["authorization"] = f"Bearer {self._key}"
            try:
                return await self._fetched(client, reference, on_bytes)
            except SourceFailed as fault:
                raise ModelUnavailable(
                    f"{reference} could not be fetched from {self._url}: {fault}. "
                    "VIVAVOCE_BRAIN may be the path of a GGUF file instead."
                ) from None

    async def _fetched(
        self, client: httpx.AsyncClient, reference: Reference, on_bytes: OnBytes
    ) -> Path:
        from vivavoce.models.download import fetch, put

        known = await self._listed(client, reference)
        file = chosen(reference, list(known))
        target = self._folder / reference.owner / reference.repo / file
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_name(target.name + ".part")
        url = f"{self._url}/{reference.name}/resolve/main/{quote(file)}"

        def told(received: int, total: int | None) -> None:
            on_bytes(received, total or received)

        await fetch(client, url, part, told, limit=_MOST)
        if (wanted := known[file]) and await asyncio.to_thread(sha256_of, part) != wanted:
            part.unlink()
            raise SourceFailed("what came has another hash than the hub says; try again")
        await asyncio.to_thread(put, part, target)
        if wanted:
            note(self._folder / reference.owner / reference.repo, file, wanted)
        return target

    async def _listed(self, client: httpx.AsyncClient, reference: Reference) -> dict[str, str]:
        """The repository's files, and the sha256 of each where the hub tells."""
        import httpx

        url = f"{self._url}/api/models/{reference.name}/tree/main?recursive=true"
        try:
            reply = await client.get(url)
        except httpx.HTTPError as fault:
            raise SourceFailed(f"no connection ({str(fault) or type(fault).__name__})") from None
        match reply.status_code:
            case 200:
                pass
            case 401 | 403:
                raise SourceFailed("it is not for everybody; a key goes into VIVAVOCE_BRAIN_KEY")
            case 404:
                raise SourceFailed("there is no such repository")
            case status:
                raise SourceFailed(f"it answered {status}")
        try:
            return {
                str(entry["path"]): str((entry.get("lfs") or {}).get("oid", ""))
                for entry in reply.json()
                if entry.get("type") == "file"
            }
        except (ValueError, KeyError, TypeError, AttributeError):
            raise SourceFailed("its answer cannot be read") from None
