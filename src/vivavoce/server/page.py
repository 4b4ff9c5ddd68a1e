"""The page's files: which there are, how long a browser keeps them, and how they are packed.

A server without them is whole but for the page. They say nothing of anyone, so they need no token
(`gate/auth.py`); what the page asks for, it asks for as its user. Names in `assets/` change with
their content, and whoever has one need never ask again; the others are asked about each time: the
page itself, its service worker, its manifest and icons, and what pages of others load.
"""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Awaitable, Callable
from os import PathLike, stat_result
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.responses import FileResponse, RedirectResponse
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.staticfiles import NotModifiedResponse, StaticFiles
from starlette.types import Scope

from vivavoce.errors import NotFound
from vivavoce.server.gate.auth import AUTHORITY

BUILT = Path(__file__).parent / "static"
INDEX, ASSETS = "index.html", "assets"
PACKED = {"br": ".br", "gzip": ".gz"}
"""By what a browser says that it takes, the best first: files that the build left beside."""
_FOREVER = "public, max-age=31536000, immutable"
_ASK_AGAIN = "no-cache"
_KINDS = {
    ".js": "text/javascript",
    ".mjs": "text/javascript",
    ".webmanifest": "application/manifest+json",
}
_NOUGHT = re.compile(r"q=0(\.0*)?")


def mount_authority(app: FastAPI, authority: Callable[[], Path | None]) -> None:
    """What a phone installs so that it trusts the certificate that was made here."""

    async def answer() -> Response:
        file = authority()
        if file is None:
            raise NotFound("This server made no certificate.")
        return FileResponse(
            file, media_type="application/x-x509-ca-cert", headers={"Cache-Control": "no-cache"}
        )

    app.add_api_route(AUTHORITY, answer, methods=["GET", "HEAD"], include_in_schema=False)


def page_paths(built: Path = BUILT) -> frozenset[str]:
    """The addresses of the page and of what lies beside it; without the assets."""
    if not (built / INDEX).is_file():
        return frozenset({"/"})
    return frozenset({"/", *(f"/{file.name}" for file in _beside(built))})


def mount_page(app: FastAPI, built: Path = BUILT) -> bool:
    """Put the page at `/`. False if it was not built, and `/` leads to the API."""
    if not (built / INDEX).is_file():
        app.add_api_route("/", _front, include_in_schema=False)
        return False
    files = _Files(built, _ASK_AGAIN)
    names = {"/": INDEX, **{f"/{file.name}": file.name for file in _beside(built)}}
    for path, name in names.items():
        app.add_api_route(path, _one(files, name), methods=["GET", "HEAD"], include_in_schema=False)
    app.mount(f"/{ASSETS}", _Files(built / ASSETS, _FOREVER), name="page assets")
    return True


async def _front() -> RedirectResponse:
    """Without a page to talk to, whoever opens the address finds the API."""
    return RedirectResponse("/docs")


def _beside(built: Path) -> list[Path]:
    files = sorted(built.iterdir())
    return [
        file for file in files if file.is_file() and file.name != INDEX and not _is_packed(file)
    ]


def _one(files: StaticFiles, name: str) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        return await files.get_response(name, request.scope)

    return answer


class _Files(StaticFiles):
    """Of one folder; as small as whoever asks takes them."""

    def __init__(self, folder: Path, kept: str) -> None:
        super().__init__(directory=folder)
        self._kept = kept

    def lookup_path(self, path: str) -> tuple[str, stat_result | None]:
        """Of a packed file the name is no address: it would come as something to be saved."""
        return ("", None) if _is_packed(Path(path)) else super().lookup_path(path)

    def file_response(
        self,
        full_path: str | PathLike[str],
        stat_result: stat_result,
        scope: Scope,
        status_code: int = 200,
    ) -> Response:
        file, asked = Path(full_path), Headers(scope=scope)
        # A part of a file is of the file itself.
        takes = "" if "range" in asked else asked.get("accept-encoding", "")
        how = next((way for way in PACKED if _accepts(takes, way) and _packed(file, way)), None)
        shown = file if how is None else file.with_name(file.name + PACKED[how])
        kind = _KINDS.get(file.suffix) or mimetypes.guess_type(file.name)[0]
        response = FileResponse(
            shown,
            status_code,
            media_type=kind or "application/octet-stream",
            stat_result=shown.stat(),
        )
        response.headers["Cache-Control"] = self._kept
        response.headers.add_vary_header("Accept-Encoding")
        if how is not None:
            response.headers["Content-Encoding"] = how
            # Of another form another tag, or a cache would mix them.
            tag = response.headers["etag"].strip('"')
            response.headers["etag"] = f'"{tag}-{how}"'
        if self.is_not_modified(response.headers, asked):
            return NotModifiedResponse(response.headers)
        return response


def _is_packed(file: Path) -> bool:
    return file.suffix in PACKED.values()


def _packed(file: Path, how: str) -> bool:
    """Is there one that is not older than what it is made of?"""
    packed = file.with_name(file.name + PACKED[how])
    return packed.is_file() and packed.stat().st_mtime >= file.stat().st_mtime


def _accepts(header: str, how: str) -> bool:
    """RFC 9110 §12.5.3: a weight of nought is a no."""
    for part in header.lower().split(","):
        name, _, weight = part.partition(";")
        if name.strip() == how:
            return not _NOUGHT.fullmatch(weight.replace(" ", ""))
    return False
