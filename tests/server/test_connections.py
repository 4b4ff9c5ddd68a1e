"""What a connection may do before anyone is known: clocks, a cap, and room for probes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from starlette.types import Receive, Scope, Send
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from tests.server.serving import Served, request, serving, until
from vivavoce.app.listen import MAX_HEAD, BoundedConfig, Bounds

PATIENT = 60.0  # seconds that no test waits for
HURRIED = 0.05
Line = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class App:
    """Answers at once, holds `/hold` until told, reads bodies, and has a lot to say at `/much`."""

    def __init__(self) -> None:
        self.go_on = asyncio.Event()
        self.held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.accept"})
            return
        while (await receive()).get("more_body", False):
            pass
        if scope["path"] == "/hold":
            self.held += 1
            await self.go_on.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        if scope["path"] == "/much":
            for _ in range(1000):
                chunk = {"type": "http.response.body", "body": bytes(65_536), "more_body": True}
                await send(chunk)
        await send({"type": "http.response.body", "body": b"ok"})


@asynccontextmanager
async def bounded(app: App, **bounds: float) -> AsyncIterator[Served]:
    given = {"header_seconds": PATIENT, "stall_seconds": PATIENT, **bounds}
    async with serving(app, bounds=Bounds(**given), graceful=1) as served:  # type: ignore[arg-type]
        try:
            yield served
        finally:
            app.go_on.set()


@asynccontextmanager
async def dialled(served: Served, sent: bytes = b"") -> AsyncIterator[Line]:
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    writer.write(sent)
    try:
        yield reader, writer
    finally:
        writer.close()


async def closed(line: Line) -> bytes:
    """What was said before the connection was closed by the other side."""
    async with asyncio.timeout(10):
        try:
            return await line[0].read()
        except ConnectionResetError:
            return b""


def known(served: Served) -> int:
    return len(served.server.server_state.connections)


async def test_a_head_that_does_not_come_to_its_end_is_cut_off_with_408() -> None:
    async with (
        bounded(App(), header_seconds=HURRIED) as served,
        dialled(served, b"GET / HTTP/1.1\r\nHost: a\r\nX-Slow: ") as line,
    ):
        answer = await closed(line)
        head, _, body = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 408 ")
        assert b"connection: close" in head
        assert json.loads(body)["error"]["code"] == "timeout"
        await until(lambda: known(served) == 0)


async def test_bytes_now_and_then_do_not_keep_it_open() -> None:
    async with (
        bounded(App(), header_seconds=HURRIED) as served,
        dialled(served, b"GET / HTTP/1.1\r\n") as line,
    ):

        def gone() -> bool:
            line[1].write(b"X: y\r\n")
            return known(served) == 0

        await until(gone)


async def test_who_says_nothing_at_all_is_let_go_without_a_word() -> None:
    async with (
        bounded(App(), header_seconds=HURRIED) as served,
        dialled(served) as line,
    ):
        assert await closed(line) == b""


async def test_the_second_request_of_a_connection_has_the_same_time() -> None:
    async with (
        bounded(App(), header_seconds=HURRIED) as served,
        dialled(served, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n") as line,
    ):
        await line[0].readuntil(b"0\r\n\r\n")
        line[1].write(b"GET / HTTP/1.1\r\n")
        assert (await closed(line)).startswith(b"HTTP/1.1 408 ")


async def test_a_request_that_takes_long_to_answer_is_not_one_that_is_late() -> None:
    app = App()
    async with (
        bounded(app, header_seconds=HURRIED) as served,
        dialled(served) as silent,
        dialled(served, b"GET /hold HTTP/1.1\r\nHost: a\r\n\r\n") as line,
    ):
        await until(lambda: app.held)
        await closed(silent)  # the time is up for whoever had nothing to say
        app.go_on.set()
        assert (await line[0].readline()).startswith(b"HTTP/1.1 200 ")


async def test_a_head_has_an_end() -> None:
    async with bounded(App()) as served, dialled(served, b"GET / HTTP/1.1\r\nX: ") as line:
        line[1].write(b"x" * (2 * MAX_HEAD))
        answer = bytearray()
        async with asyncio.timeout(10):
            while not answer.startswith(b"HTTP/1.1 413 "):
                line[1].write(b"x" * 65_536)
                answer += await line[0].read(100)


UPGRADE = (
    b"Host: here\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
)


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"GET /?" + b"x" * 9000 + b" HTTP/1.1\r\n" + UPGRADE, b"413"),
        (b"GET / HTTP/1.1\r\n" + UPGRADE + b"X: " + b"x" * 9000 + b"\r\n", b"413"),
        (b"GET / HTTP/1.1\r\n" + UPGRADE + b"X: x\r\n" * 130, b"413"),
        (b"GET / HTTP/1.1\r\n" + UPGRADE + b"Content-Length: 5\r\n", b"400"),
    ],
)
async def test_what_cannot_become_a_websocket_is_answered_and_let_go(
    head: bytes, status: bytes
) -> None:
    async with bounded(App()) as served, dialled(served, head + b"\r\n") as line:
        assert (await closed(line)).startswith(b"HTTP/1.1 " + status)
        await until(lambda: known(served) == 0)


async def test_who_does_not_read_the_answer_is_cut_off() -> None:
    async with (
        bounded(App(), stall_seconds=HURRIED) as served,
        dialled(served, b"GET /much HTTP/1.1\r\nHost: a\r\n\r\n"),
    ):
        await until(lambda: served.server.server_state.tasks)
        await until(lambda: known(served) == 0)


async def test_nor_does_another_request_behind_it_give_more_time_to_read() -> None:
    asked = b"GET /much HTTP/1.1\r\nHost: a\r\n\r\n"
    async with bounded(App(), stall_seconds=HURRIED) as served, dialled(served, asked) as line:
        await until(lambda: served.server.server_state.tasks)
        line[1].write(asked)
        await until(lambda: known(served) == 0)


async def test_half_open_connections_make_room_for_one_that_asks() -> None:
    async with bounded(App(), connections=8) as served:
        lines = [await asyncio.open_connection("127.0.0.1", served.port) for _ in range(40)]
        for _, writer in lines:
            writer.write(b"GET / HTTP/1.1\r\n")
        await until(lambda: known(served) == 8)
        async with request(served, "/anything") as answer:
            assert answer.status == 200
        assert known(served) <= 8
        assert await closed(lines[0]) == b""  # the longest wait ended first
        for _, writer in lines:
            writer.close()


async def test_where_all_are_at_work_there_is_room_for_probes_and_a_clear_word_for_others() -> None:
    app = App()
    async with bounded(app, connections=3, spare=2) as served:
        asked = b"GET /hold HTTP/1.1\r\nHost: a\r\n\r\n"
        async with dialled(served, asked), dialled(served, asked), dialled(served, asked):
            await until(lambda: app.held == 3)
            for path in ("/health", "/ready"):
                async with request(served, path) as answer:
                    assert answer.status == 200
                    assert answer.headers["connection"] == "close"
            async with request(served, "/status") as answer:
                assert answer.status == 503
                assert answer.headers["retry-after"] == "5"
                assert (await answer.error())["details"]["limit"] == 3
            with pytest.raises(InvalidStatus) as refused:
                await connect(f"ws://127.0.0.1:{served.port}/v1/realtime")
            assert refused.value.response.status_code == 503


async def test_beyond_the_spare_ones_nobody_is_let_in() -> None:
    app = App()
    asked = b"GET /hold HTTP/1.1\r\nHost: a\r\n\r\n"
    probing = asked.replace(b"/hold", b"/health")

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        await app({**scope, "path": "/hold"}, receive, send)

    async with bounded(app, connections=1, spare=1) as served:
        served.server.config.loaded_app = slow
        async with dialled(served, asked), dialled(served, probing):
            await until(lambda: app.held == 2)
            async with dialled(served, probing) as third:
                assert await closed(third) == b""


async def test_a_client_that_does_not_read_makes_room_too() -> None:
    async with (
        bounded(App(), connections=1) as served,
        dialled(served, b"GET /much HTTP/1.1\r\nHost: a\r\n\r\n"),
    ):
        config = served.server.config
        assert isinstance(config, BoundedConfig)
        await until(lambda: served.server.server_state.tasks and config.waited_for)
        async with request(served, "/anything") as answer:
            assert answer.status == 200


async def test_a_body_that_is_not_sent_makes_room_too() -> None:
    async with (
        bounded(App(), connections=1) as served,
        dialled(served, b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n"),
    ):
        await until(lambda: served.server.server_state.tasks)
        async with request(served, "/anything") as answer:
            assert answer.status == 200


@pytest.mark.parametrize(
    "head",
    [
        b"POST /tools HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 10\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /hold HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /tools\x00 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    ],
)
async def test_a_head_that_can_be_read_in_two_ways_is_read_in_none(head: bytes) -> None:
    app = App()
    async with bounded(app) as served, dialled(served, head) as line:
        assert (await closed(line)).startswith(b"HTTP/1.1 400 ")
    assert app.held == 0
