"""The page at `/`: the files that `web/` is built into, if they were.

A server without them is whole but for the page; its front door is then the
API's description. The files say nothing of anyone, so they need no token
(`auth.py`); what the page asks for, it asks for as its user.
"""

from __future__ import annotations

from os import PathLike, stat_result
from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import FileResponse, RedirectResponse
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

BUILT = Path(__file__).parent / "static"


def mount(app: FastAPI, built: Path = BUILT) -> bool:
    """Put the page at `/`. False if it was not built, and `/` leads to the API."""
    index = built / "index.html"
    if not index.is_file():
        app.add_api_route("/", _front, include_in_schema=False)
        return False

    async def page() -> FileResponse:
        # It names the files of this build, so it is asked for anew each time.
        return FileResponse(index, headers={"Cache-Control": "no-cache"})

    app.add_api_route("/", page, methods=["GET", "HEAD"], include_in_schema=False)
    app.mount("/assets", _Assets(directory=built / "assets"), name="page assets")
    return True


async def _front() -> RedirectResponse:
    """Without a page to talk to, whoever opens the address finds the API."""
    return RedirectResponse("/docs")


class _Assets(StaticFiles):
    """Their names change with their content: what has them need never ask again."""

    def file_response(
        self,
        full_path: str | PathLike[str],
        stat_result: stat_result,
        scope: Scope,
        status_code: int = 200,
    ) -> Response:
        response = super().file_response(full_path, stat_result, scope, status_code)
        response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
        return response
