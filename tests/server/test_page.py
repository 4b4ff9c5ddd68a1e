"""The page at `/`: its files, their headers, and the types it was written with."""

from __future__ import annotations

import gzip
import json
import os
import re
import struct
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from tests import page_types
from tests.server.standing import Standing, standing
from vivavoce.errors import SPOKEN, VivavoceError
from vivavoce.runtime.provider.known_models import local_voices
from vivavoce.server.page import BUILT, mount_page, page_paths
from vivavoce.server.problems import CODES

ROOT = Path(__file__).resolve().parents[2]
TOKEN = "a-token-that-is-long-enough"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> object:
    assert (BUILT / "index.html").is_file(), "build the page first: make page"
    with standing(tmp_path_factory.mktemp("page"), auth="token", auth_token=TOKEN) as standing_up:
        yield standing_up


def test_the_page_and_all_its_files_need_no_token_and_no_other_host(server: Standing) -> None:
    with httpx.Client(base_url=server.url) as http:
        answer = http.get("/")
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/html")
        assert answer.headers["cache-control"] == "no-cache"
        loaded = re.findall(r"""(?:src|href)=["']([^"']+)["']""", answer.text)
        assert loaded
        for address in loaded:
            assert address.startswith("./")  # so it works behind a proxy's path too
            asset = http.get(address.removeprefix("."))
            assert asset.status_code == 200, address
            kept = "immutable" if address.startswith("./assets/") else "no-cache"
            assert kept in asset.headers["cache-control"]
        assert http.get("/session", params={"session_id": "vs_x"}).status_code == 401


def test_every_file_of_the_build_is_served_with_a_type_that_browsers_run(server: Standing) -> None:
    kinds = {".js": "javascript", ".css": "text/css", ".svg": "image/svg+xml"}
    files = [one for one in sorted((BUILT / "assets").iterdir()) if one.suffix in kinds]
    assert files
    with httpx.Client(base_url=server.url) as http:
        for file in files:
            answer = http.get(f"/assets/{file.name}")
            assert answer.status_code == 200
            assert kinds[file.suffix] in answer.headers["content-type"]


@pytest.mark.parametrize("name", ["element.js", "worklets.js"])
def test_what_pages_of_others_load_is_one_file_that_needs_no_token(
    server: Standing, name: str
) -> None:
    with httpx.Client(base_url=server.url) as http:
        answer = http.get(f"/{name}")
        assert answer.status_code == 200
        assert "javascript" in answer.headers["content-type"]
        assert answer.headers["cache-control"] == "no-cache"
        again = http.get(f"/{name}", headers={"if-none-match": answer.headers["etag"]})
        assert again.status_code == 304
        elsewhere = http.get(f"/{name}", headers={"origin": "https://shop.example"})
        assert elsewhere.status_code == 403
    text = answer.text
    assert not re.search(r"""\b(?:from|import)\s*\(?["']""", text), "it loads nothing more"
    assert "eval(" not in text
    assert "new Function" not in text


def test_the_element_is_small() -> None:
    assert len(gzip.compress((BUILT / "element.js").read_bytes())) <= 60_000


def test_the_policy_holds_and_the_page_keeps_to_it(server: Standing) -> None:
    with httpx.Client(base_url=server.url) as http:
        answer = http.get("/")
    said = [
        one.strip().split(" ", 1) for one in answer.headers["content-security-policy"].split(";")
    ]
    policy = {one[0]: one[1] for one in said}
    # Scripts, worklets, requests and sockets: of this server only, and nothing inline.
    assert policy["default-src"] == "'none'"
    for kind in ("script", "style", "connect", "worker", "manifest", "font"):
        assert policy[f"{kind}-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"
    for open_wide in ("unsafe", "http:", "https:", "*"):
        assert open_wide not in answer.headers["content-security-policy"]
    assert answer.headers["cross-origin-opener-policy"] == "same-origin"
    assert "microphone=(self)" in answer.headers["permissions-policy"]
    assert not re.search(r"<script(?![^>]*\bsrc=)", answer.text)
    assert not re.search(r"<style|\bstyle=|\bon\w+=", answer.text)


def test_the_page_can_be_installed_and_keeps_itself_for_when_there_is_no_network(
    server: Standing,
) -> None:
    with httpx.Client(base_url=server.url) as http:
        answer = http.get("/manifest.webmanifest")
        assert answer.headers["content-type"] == "application/manifest+json"
        manifest = answer.json()
        for name in ("id", "start_url", "scope"):
            assert manifest[name] == "./"  # behind a proxy's path too
        assert manifest["display"] == "standalone"
        purposes = {(icon["sizes"], icon.get("purpose", "any")) for icon in manifest["icons"]}
        assert purposes >= {("192x192", "any"), ("512x512", "any"), ("512x512", "maskable")}
        for icon in manifest["icons"]:
            picture = http.get(f"/{icon['src']}")
            assert picture.headers["content-type"] == "image/png"
            wide, high = struct.unpack(">II", picture.content[16:24])
            assert f"{wide}x{high}" == icon["sizes"]
        worker = http.get("/sw.js")
        assert "javascript" in worker.headers["content-type"]
        assert worker.headers["cache-control"] == "no-cache"
        # What it keeps is there under the names that it asks for, the page at its own address.
        kept = re.findall(r'"url":"([^"]+)"', worker.text)
        assert "./" in kept
        assert "index.html" not in kept
        for name in kept:
            assert http.get(f"/{name.removeprefix('./')}").status_code == 200, name
        loaded = re.findall(r'(?:src|href)="\./(assets/[^"]+)"', http.get("/").text)
        assert set(loaded) <= set(kept)


def a_page(folder: Path) -> FastAPI:
    """Files as a build leaves them."""
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<title>Hello</title>")
    (folder / "worker.js").write_text("self.skipWaiting()")
    (folder / "manifest.json").write_text("{}")
    script = folder / "assets" / "index-abc.js"
    script.write_text("let words = 'words words words words words words words words words words';")
    (folder / "assets" / "index-abc.js.gz").write_bytes(gzip.compress(script.read_bytes()))
    (folder / "assets" / "index-abc.js.br").write_bytes(b"brotli")
    app = FastAPI()
    assert mount_page(app, folder)
    return app


TAKES = [
    ("gzip, deflate, br, zstd", "br"),
    ("gzip", "gzip"),
    ("br;q=0, gzip;q=0.5", "gzip"),
    ("gzip;q=0.0", None),
    ("identity", None),
    ("", None),
]


@pytest.mark.parametrize(("takes", "packed"), TAKES)
async def test_a_file_comes_as_small_as_its_reader_takes_it(
    tmp_path: Path, takes: str, packed: str | None
) -> None:
    transport = httpx.ASGITransport(a_page(tmp_path / "static"))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
        path, headers = "/assets/index-abc.js", {"accept-encoding": takes}
        async with http.stream("GET", path, headers=headers) as answer:
            raw = b"".join([piece async for piece in answer.aiter_raw()])
        assert answer.headers.get("content-encoding") == packed
        assert answer.headers["content-type"].startswith("text/javascript")
        assert answer.headers["vary"] == "Accept-Encoding"
        assert "immutable" in answer.headers["cache-control"]
        assert int(answer.headers["content-length"]) == len(raw)
        same = headers | {"if-none-match": answer.headers["etag"]}
        assert (await http.get(path, headers=same)).status_code == 304
        other = {"accept-encoding": "br" if packed != "br" else "gzip"}
        other["if-none-match"] = answer.headers["etag"]
        async with http.stream("GET", path, headers=other) as changed:
            assert changed.status_code == 200, "another form has another tag"


async def test_a_part_of_a_file_is_of_the_file_itself(tmp_path: Path) -> None:
    transport = httpx.ASGITransport(a_page(tmp_path / "static"))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
        headers = {"accept-encoding": "gzip", "range": "bytes=4-8"}
        answer = await http.get("/assets/index-abc.js", headers=headers)
        assert (answer.status_code, answer.text) == (206, "words")
        assert "content-encoding" not in answer.headers


async def test_what_is_packed_is_no_page_of_its_own_and_an_old_one_is_not_sent(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "static"
    transport = httpx.ASGITransport(a_page(folder))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
        for name in ("index-abc.js.br", "index-abc.js.gz"):
            assert (await http.get(f"/assets/{name}")).status_code == 404
        script = folder / "assets" / "index-abc.js"
        later = script.stat().st_mtime + 60
        os.utime(script, (later, later))
        answer = await http.get("/assets/index-abc.js", headers={"accept-encoding": "gzip"})
        assert "content-encoding" not in answer.headers


async def test_what_lies_beside_the_page_is_asked_about_each_time(tmp_path: Path) -> None:
    folder = tmp_path / "static"
    app = a_page(folder)
    assert page_paths(folder) == {"/", "/worker.js", "/manifest.json"}
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
        for path in ("/", "/worker.js", "/manifest.json"):
            answer = await http.get(path)
            assert answer.status_code == 200
            assert answer.headers["cache-control"] == "no-cache"
            again = await http.get(path, headers={"if-none-match": answer.headers["etag"]})
            assert (again.status_code, again.content) == (304, b"")
        assert (await http.get("/index.html")).status_code == 404


def test_a_page_that_is_known_is_not_sent_again(server: Standing) -> None:
    with httpx.Client(base_url=server.url) as http:
        script = re.findall(r'src="\.(/assets/[^"]+)"', http.get("/").text)[0]
        tag = http.get(script).headers["etag"]
        assert http.get(script, headers={"if-none-match": tag}).status_code == 304


@pytest.mark.parametrize("path", ["/assets/nothing.js", "/assets/", "/assets/%2e%2e/page.py"])
def test_what_is_not_of_the_page_is_not_found(server: Standing, path: str) -> None:
    with httpx.Client(base_url=server.url) as http:
        answer = http.get(path)
        assert answer.status_code == 404
        assert answer.json()["error"]["code"] == "not_found"


async def test_without_a_build_the_front_door_is_the_description_of_the_api(tmp_path: Path) -> None:
    app = FastAPI()
    assert not mount_page(app, tmp_path)
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
        answer = await http.get("/")
    assert (answer.status_code, answer.headers["location"]) == (307, "/docs")


def test_the_types_of_the_page_are_those_of_the_server() -> None:
    stale = "run `npm run types` in web/"
    assert page_types.FILE.read_text(encoding="utf-8") == page_types.text(), stale


def test_the_lock_file_names_versions_and_hashes_but_no_place_to_get_them() -> None:
    lock = json.loads((ROOT / "web" / "package-lock.json").read_text(encoding="utf-8"))
    packages = {name: found for name, found in lock["packages"].items() if name}
    assert all("resolved" not in found for found in packages.values())
    # What comes inside another package has that one's hash.
    assert all("integrity" in found or found.get("inBundle") for found in packages.values())


def test_the_page_has_words_of_its_own_for_every_fault_of_the_server() -> None:
    """By its code, or by the sentence: a page in another language shows no English for it."""
    known = (ROOT / "web" / "src" / "words" / "known.ts").read_text(encoding="utf-8")
    table = known[known.index("const CODES") :].partition("};")[0]
    of_codes = set(re.findall(r"^  (\w+): ", table, re.MULTILINE))
    sentences = {json.loads(one) for one in re.findall(r"/\*i18n\*/ (\"(?:[^\"\\]|\\.)*\")", known)}
    ours = {one for one in _tree(VivavoceError) if one.__module__.startswith("vivavoce.")}
    codes = {fault.code for fault in ours} | set(CODES.values())
    assert codes <= of_codes, codes - of_codes
    spoken = {words for row in SPOKEN.values() for words in (row.message, row.last) if words}
    assert spoken <= sentences, spoken - sentences
    described = {voice.description for voice in local_voices(["af_heart", "bm_george"])}
    plain = {words.partition(": ")[0] for words in described}
    assert plain <= sentences, plain - sentences


def _tree(root: type[VivavoceError]) -> set[type[VivavoceError]]:
    return {root}.union(*(_tree(one) for one in root.__subclasses__()))
