"""One file of a hub, by the names that people know."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.models.hub import Hub as Server
from vivavoce.errors import ModelUnavailable
from vivavoce.models.checks import STAMPS
from vivavoce.models.hub import Hub, Reference, chosen, parse

DATA = b"GGUF" + b"weights" * 1000
FILES = ["README.md", "m-Q8_0.gguf", "m-Q4_K_M.gguf", "m-Q4_K_S.gguf", "big-00001-of-00002.gguf"]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("hf:me/m-GGUF/m-Q8_0.gguf", Reference("me", "m-GGUF", "m-Q8_0.gguf")),
        ("HF:me/m-GGUF/sub/m.gguf", Reference("me", "m-GGUF", "sub/m.gguf")),
        ("hf:me/m-GGUF:Q4_K_M", Reference("me", "m-GGUF", bits="Q4_K_M")),
        ("hf:me/m-GGUF", Reference("me", "m-GGUF")),
    ],
)
def test_a_reference_is_read_and_written(text: str, meant: Reference) -> None:
    assert parse(text) == meant
    assert parse(str(meant)) == meant


@pytest.mark.parametrize(
    "text",
    ["me/m", "hf:me", "hf:me/m/../../x.gguf", "hf:../m/x.gguf", "hf:me/m/x.bin", "hf:me/m?x", ""],
)
def test_what_is_none_is_not_taken_for_one(text: str) -> None:
    assert parse(text) is None


@pytest.mark.parametrize(
    ("file", "bits", "meant"),
    [
        ("m-Q8_0.gguf", "", "m-Q8_0.gguf"),
        ("", "q4_k_s", "m-Q4_K_S.gguf"),
        ("", "", "m-Q4_K_M.gguf"),
        ("big-00001-of-00002.gguf", "", "big-00001-of-00002.gguf"),
    ],
)
def test_the_file_is_the_one_that_is_meant(file: str, bits: str, meant: str) -> None:
    assert chosen(Reference("me", "m", file, bits), FILES) == meant


@pytest.mark.parametrize(("file", "bits"), [("m-Q2_K.gguf", ""), ("", "Q4_K"), ("", "Q2_K")])
def test_one_that_is_not_there_is_refused_with_those_there_are(file: str, bits: str) -> None:
    with pytest.raises(ModelUnavailable, match=r"It has: m-Q4_K_M\.gguf, m-Q4_K_S"):
        chosen(Reference("me", "m", file, bits), FILES)


def offer(server: Server, *, sha256: str | None = None) -> None:
    oid = sha256 or hashlib.sha256(DATA).hexdigest()
    tree: list[dict[str, Any]] = [
        {"type": "directory", "path": "sub"},
        {"type": "file", "path": "m-Q4_K_M.gguf", "lfs": {"oid": oid}},
        {"type": "file", "path": "README.md"},
    ]
    server.files["/api/models/me/m/tree/main?recursive=true"] = json.dumps(tree).encode()
    server.files["/me/m/resolve/main/m-Q4_K_M.gguf"] = DATA


async def test_it_is_fetched_once_and_kept(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    with Server() as server:
        offer(server)
        hub = Hub(tmp_path, url=server.url)
        path = await hub.get(Reference("me", "m"), lambda *bytes: told.append(bytes))
        assert path.read_bytes() == DATA
        assert told[-1] == (len(DATA), len(DATA))
        asked = len(server.asked)
        for reference in (Reference("me", "m"), Reference("me", "m", "m-Q4_K_M.gguf")):
            assert await hub.get(reference, lambda *_: None) == path
        assert len(server.asked) == asked
    assert {each.name for each in path.parent.iterdir()} == {"m-Q4_K_M.gguf", STAMPS}


@pytest.mark.parametrize("how", ["in place", "another file"])
async def test_what_is_not_what_it_was_is_fetched_anew(tmp_path: Path, how: str) -> None:
    with Server() as server:
        offer(server)
        hub, reference = Hub(tmp_path, url=server.url), Reference("me", "m")
        path = await hub.get(reference, lambda *_: None)
        assert hub.verify(reference) is None
        found = path.stat()
        written = path if how == "in place" else tmp_path / "other"
        written.write_bytes(DATA[::-1])
        os.utime(written, ns=(found.st_atime_ns, found.st_mtime_ns))
        written.replace(path)
        assert hub.verify(reference) == "has another sha256"
        assert await hub.get(reference, lambda *_: None) == path
        assert path.read_bytes() == DATA


async def test_it_has_its_name_only_once_it_is_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, named, sync = tmp_path / "hf" / "me" / "m" / "m-Q4_K_M.gguf", [], os.fsync

    def synced(file: int) -> None:
        named.append(target.exists())
        sync(file)

    monkeypatch.setattr(os, "fsync", synced)
    with Server() as server:
        offer(server)
        await Hub(tmp_path, url=server.url).get(Reference("me", "m"), lambda *_: None)
    assert named == [False]
    assert target.is_file()


async def test_what_is_not_what_the_hub_says_is_thrown_away(tmp_path: Path) -> None:
    with Server() as server:
        offer(server, sha256="0" * 64)
        hub = Hub(tmp_path, url=server.url)
        with pytest.raises(ModelUnavailable, match="another hash"):
            await hub.get(Reference("me", "m"), lambda *_: None)
    assert [each for each in tmp_path.rglob("*") if each.is_file()] == []


async def test_an_unknown_repository_and_a_silent_hub_are_told(tmp_path: Path) -> None:
    with Server() as server:
        url = server.url
        with pytest.raises(ModelUnavailable, match="no such repository"):
            await Hub(tmp_path, url=url).get(Reference("no", "body"), lambda *_: None)
    with pytest.raises(ModelUnavailable, match=r"no connection.*path of a GGUF file"):
        await Hub(tmp_path, url=url).get(Reference("me", "m"), lambda *_: None)
