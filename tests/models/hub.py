"""A model hub and two package registries on loopback, with the faults that real ones have."""

from __future__ import annotations

import hashlib
import io
import json
import random
import re
import tarfile
import threading
import zipfile
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any

from vivavoce.models.manifest import Model, ModelFile, NpmPackage, Source, Web, Wheel
from vivavoce.models.registries import Registries, Tools
from vivavoce.models.store import ModelStore

NO_TOOLS = Tools(pip=("no-such-pip",), npm=())


class Hub:
    """Serves `files` by path. `asked` is every request: its path and its range."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.types: dict[str, str] = {}
        self.cut: dict[str, int] = {}
        """Break off after so many bytes, once."""
        self.stall: dict[str, int] = {}
        """Say no more after so many bytes, until the hub closes."""
        self.fail: dict[str, int] = {}
        """Answer 503 so many times."""
        self.ranges = True
        self.asked: list[tuple[str, str | None]] = []
        self._closing = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Hub:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    # --- What it has

    def web(self, path: str, data: bytes) -> Web:
        self.files[path] = data
        return Web(self.url + path)

    def wheel(self, project: str, members: Mapping[str, bytes]) -> None:
        """Version 1.0 of a project, with its page of the Simple API."""
        name = f"{project.replace('-', '_')}-1.0-py3-none-any.whl"
        self.files[f"/files/{name}"] = wheel_of(members)
        page = f'<a href="../../files/{name}#sha256=abc">{name}</a>'
        self.files[f"/simple/{project}/"] = page.encode()

    def npm(self, package: str, members: Mapping[str, bytes]) -> None:
        """Version 1.0 of a package, with its description."""
        path = f"/npm/{package}/-/it-1.0.tgz"
        self.files[path] = tarball_of(members)
        about = {"dist": {"tarball": self.url + path}}
        self.files[f"/npm/{package.replace('/', '%2F')}/1.0"] = json.dumps(about).encode()

    def registries(self) -> Registries:
        return Registries(NO_TOOLS, python=[f"{self.url}/simple"], npm=f"{self.url}/npm")

    def store(self, folder: Path, *models: Model) -> ModelStore:
        return ModelStore(folder, models=models, registries=self.registries())

    def times(self, path: str) -> int:
        return sum(asked == path for asked, _ in self.asked)

    # --- How it answers

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                hub.answer(self)

            def log_message(self, *args: Any) -> None:
                pass

        return Handler

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        path, asked = request.path, request.headers.get("Range")
        self.asked.append((path, asked))
        if self.fail.get(path, 0) > 0:
            self.fail[path] -= 1
            return _head(request, 503, 0)
        data = self.files.get(path)
        if data is None:
            return _head(request, 404, 0)
        start = 0
        if asked and self.ranges:
            start = int(re.fullmatch(r"bytes=(\d+)-", asked)[1])  # type: ignore[index]
            if start >= len(data):
                return _head(request, 416, 0, f"bytes */{len(data)}")
            where = f"bytes {start}-{len(data) - 1}/{len(data)}"
            _head(request, 206, len(data) - start, where)
        else:
            _head(request, 200, len(data), kind=self.types.get(path, "text/html"))
        self._body(request, data[start:])
        return None

    def _body(self, request: BaseHTTPRequestHandler, data: bytes) -> None:
        stall = self.stall.get(request.path)
        cut = self.cut.pop(request.path, None)
        end = stall if stall is not None else cut
        request.wfile.write(data[:end])
        request.wfile.flush()
        if stall is not None:
            self._closing.wait()
        if end is not None:
            request.close_connection = True


def _head(
    request: BaseHTTPRequestHandler,
    status: int,
    length: int,
    where: str | None = None,
    kind: str = "application/octet-stream",
) -> None:
    request.send_response(status)
    request.send_header("Content-Length", str(length))
    request.send_header("Content-Type", kind)
    if where:
        request.send_header("Content-Range", where)
    request.end_headers()


def some_bytes(size: int, seed: int = 1) -> bytes:
    return random.Random(seed).randbytes(size)


def model(name: str, files: Mapping[str, tuple[bytes, tuple[Source, ...]]]) -> Model:
    return Model(
        name=name,
        role="ears",
        title=name,
        licence="MIT",
        files=tuple(
            ModelFile(file, len(data), hashlib.sha256(data).hexdigest(), sources)
            for file, (data, sources) in files.items()
        ),
    )


def in_wheel(project: str, member: str) -> Wheel:
    return Wheel(project, "1.0", member)


def in_npm(package: str, member: str) -> NpmPackage:
    return NpmPackage(package, "1.0", member)


def wheel_of(members: Mapping[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return made.getvalue()


def tarball_of(members: Mapping[str, bytes], links: Mapping[str, str] | None = None) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for name, target in (links or {}).items():
            link = tarfile.TarInfo(f"package/{name}")
            link.type, link.linkname = tarfile.SYMTYPE, target
            archive.addfile(link)
        for name, data in members.items():
            info = tarfile.TarInfo(f"package/{name}")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return made.getvalue()
