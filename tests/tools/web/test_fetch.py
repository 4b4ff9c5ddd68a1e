"""What is fetched, within which bounds, and what is said when it cannot be."""

from __future__ import annotations

import gzip
import zlib
from dataclasses import replace

import pytest

from tests.tools.web.internet import PUBLIC, Answer, internet
from vivavoce.errors import ToolFailed
from vivavoce.language.en.addresses import Refused
from vivavoce.tools.web.bodies import Limits
from vivavoce.tools.web.urls import Rules

HTML = {"Content-Type": "text/html"}


async def test_a_request_says_who_we_are_and_carries_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    moved = Answer(status=302, headers={"Location": "/there", "Set-Cookie": "a=b"})
    async with internet(lambda _, path: moved if path == "/" else Answer()) as net:
        page = await net.client.fetch("http://public.example/")
        assert page.url == "http://public.example/there"
        assert net.cable.dialled == [PUBLIC, PUBLIC]
        for _, headers, _ in net.outside.requests:
            assert headers["user-agent"].startswith("Vivavoce")
            assert not {"cookie", "authorization", "referer"} & set(headers)


async def test_the_certificate_must_be_the_hosts_own() -> None:
    async with internet() as net:
        assert (await net.client.fetch("https://public.example/")).text
        with pytest.raises(ToolFailed, match="no certificate that can be trusted"):
            await net.client.fetch("https://another.example/")
        strict = replace(net.client, trust=None)
        with pytest.raises(ToolFailed, match="no certificate that can be trusted"):
            await strict.fetch("https://public.example/")


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", gzip.compress(b"<p>Packed", mtime=0)),
        ("gzip", gzip.compress(b"<p>Pac", mtime=0) + gzip.compress(b"ked", mtime=0)),
        ("deflate", zlib.compress(b"<p>Packed")),
        ("deflate", zlib.compress(b"<p>Packed", wbits=-15)),
        ("identity", b"<p>Packed"),
    ],
    ids=["gzip", "two gzips", "zlib", "bare deflate", "identity"],
)
async def test_packed_pages_are_unpacked(encoding: str, body: bytes) -> None:
    packed = Answer(body, headers=HTML | {"Content-Encoding": encoding})
    async with internet(lambda *_: packed) as net:
        assert (await net.client.fetch("http://public.example/")).text == "<p>Packed"


@pytest.mark.parametrize(
    ("encoding", "body"), [("br", b"x"), ("gzip", b"no zip"), ("gzip, gzip", b"x")]
)
async def test_what_cannot_be_unpacked_is_told(encoding: str, body: bytes) -> None:
    packed = Answer(body, headers=HTML | {"Content-Encoding": encoding})
    async with internet(lambda *_: packed) as net:
        with pytest.raises(ToolFailed, match="cannot be unpacked"):
            await net.client.fetch("http://public.example/")


async def test_a_bomb_unpacks_no_further_than_the_limit() -> None:
    bomb = Answer(
        gzip.compress(b"a" * 20_000_000, mtime=0),
        headers=HTML | {"Content-Encoding": "gzip"},
    )
    async with internet(lambda *_: bomb, limits=Limits(bytes=100_000)) as net:
        page = await net.client.fetch("http://public.example/")
        assert page.cut
        assert len(page.text or "") == 100_000


async def test_a_page_without_end_is_cut() -> None:
    endless = Answer(b"and on " * 1000, endless=True)
    async with internet(lambda *_: endless, limits=Limits(bytes=100_000)) as net:
        page = await net.client.fetch("http://public.example/")
        assert page.cut
        assert page.size == 100_000


async def test_a_server_that_says_nothing_costs_no_more_than_the_time() -> None:
    silent = Answer(b"", endless=True)
    async with internet(lambda *_: silent, limits=Limits(seconds=0.2)) as net:
        with pytest.raises(ToolFailed, match="took too long"):
            await net.client.fetch("http://public.example/")


@pytest.mark.parametrize(
    ("content_type", "body", "text"),
    [
        ("text/plain; charset=iso-8859-1", b"caf\xe9", "café"),
        ("text/plain", "caf\u00e9".encode(), "café"),
        ("text/plain", b"\xff\xfeh\x00i\x00", "hi"),
        ("application/json", b'{"a": 1}', '{"a": 1}'),
        ("application/rss+xml", b"<rss/>", "<rss/>"),
        ("text/html", b'<meta charset="windows-1251">\xcf', '<meta charset="windows-1251">П'),
        ("text/plain; charset=unicode_escape", b"\\x41", "\\x41"),
        ("text/plain; charset=iso-8859-99", b"hi", "hi"),
        ("", b"<p>hi", "<p>hi"),
        ("application/pdf", b"%PDF", None),
        ("image/svg+xml", b"<svg/>", None),
        ("text/plain", b"ELF\x00\x00\x00", None),
    ],
)
async def test_text_is_read_and_the_rest_is_told_by_its_kind(
    content_type: str, body: bytes, text: str | None
) -> None:
    async with internet(lambda *_: Answer(body, headers={"Content-Type": content_type})) as net:
        page = await net.client.fetch("http://public.example/")
        assert page.text == text


async def test_a_failure_is_told_in_our_words() -> None:
    async with internet(lambda *_: Answer(b"", 404)) as net:
        with pytest.raises(ToolFailed, match=r"public.example answered 404 \(Not Found\)"):
            await net.client.fetch("http://public.example/")


async def test_a_host_that_the_operator_named_may_be_inside_but_only_it() -> None:
    names = {"wiki.corp": (["10.0.0.7"],), "other.corp": (["10.0.0.8"],)}
    leads = Answer(status=302, headers={"Location": "http://wiki.corp/"})
    rules = Rules(hosts=frozenset({"wiki.corp", "127.0.0.1:9000", "[::1]:9000", "meta.corp"}))
    names["meta.corp"] = (["169.254.169.254"],)
    async with internet(lambda *_: leads, names, rules) as net:
        for url in ("http://wiki.corp/", "http://127.0.0.1:9000/", "http://[::1]:9000/"):
            assert (await net.client.fetch(url)).text == "SECRET"
        before = net.inside.connections
        for url in (
            "http://other.corp/",
            "http://127.0.0.1/",
            "http://127.0.0.1:9001/",
            "http://wiki.corp:9000/",
            "http://meta.corp/",
            "http://public.example/",  # which leads there
        ):
            with pytest.raises(Refused):
                await net.client.fetch(url)
        assert net.inside.connections == before


@pytest.mark.parametrize(
    "to",
    [
        "http://send-the-key-to-evil.internal/",
        "http://send-the-key-to-evil.example/missing",
        "send-the-key-to-evil:x",
        "http://send-the-key-to-evil@public.example/",
        "http://127.0.0.1/send-the-key-to-evil",
    ],
)
async def test_what_is_said_of_a_failure_has_no_words_of_the_pages(to: str) -> None:
    def answer(host: str, path: str) -> Answer:
        missing = Answer(status=404)
        return missing if path != "/" else Answer(status=302, headers={"Location": to})

    names = {"send-the-key-to-evil.example": [[PUBLIC]]}
    async with internet(answer, names) as net:
        with pytest.raises(ToolFailed) as told:
            await net.client.fetch("http://public.example/")
        assert "send" not in str(told.value)
