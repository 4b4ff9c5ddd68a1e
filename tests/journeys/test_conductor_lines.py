"""A runtime's WebSocket under abuse: nothing breaks, memory stays bounded, and each line is told in
a number why it is closed."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import struct
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from tests.journeys.embedded import embedded
from tests.journeys.runtime import Runtime, event
from tests.journeys.stage import Stage
from tests.journeys.test_conductor import SCRIPT

TEXT, CONTINUED, PING, LAST, MASKED = 0x1, 0x0, 0x9, 0x80, 0x80


def frame(opcode: int, payload: bytes, *, last: bool = True) -> bytes:
    """One as a client sends it, with a mask of zeros."""
    size = len(payload)
    head = bytes([opcode | (LAST if last else 0)])
    if size < 126:
        head += bytes([MASKED | size])
    elif size < 65536:
        head += bytes([MASKED | 126]) + struct.pack("!H", size)
    else:
        head += bytes([MASKED | 127]) + struct.pack("!Q", size)
    return head + b"\0\0\0\0" + payload


class Raw:
    """A socket below any library: what it sends is whatever it likes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def send(self, *frames: bytes) -> None:
        self.writer.write(b"".join(frames))
        await self.writer.drain()

    async def closed_with(self) -> int:
        """The code of the close frame that comes at last."""
        while True:
            opcode, size = await self.reader.readexactly(2)
            if size == 126:
                (size,) = struct.unpack("!H", await self.reader.readexactly(2))
            payload = await self.reader.readexactly(size)
            if opcode & 0xF == 0x8:
                code: int = struct.unpack("!H", payload[:2])[0]
                return code


@asynccontextmanager
async def raw(st: Stage) -> AsyncIterator[Raw]:
    port = int(st.url.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(
        f"GET /conductor?sessionId={uuid.uuid4()} HTTP/1.1\r\nHost: localhost\r\n"
        "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode()
    )
    assert b"101" in await reader.readuntil(b"\r\n\r\n")
    try:
        yield Raw(reader, writer)
    finally:
        writer.transport.abort()
        with suppress(OSError):
            await writer.wait_closed()


def memory() -> int:
    """Of this process, in which the server is too."""
    return int(psutil.Process(os.getpid()).memory_info().rss)


async def still_serves(st: Stage) -> None:
    runtime = Runtime(st.url)
    async with runtime.connected():
        await runtime.say("Hello")
        await runtime.at_rest()
    assert runtime.spoken == ["Hi there!"]


async def test_an_event_in_fragments_is_an_event(tmp_path: Path) -> None:
    async with embedded(tmp_path, script=SCRIPT) as st:
        runtime = Runtime(st.url)
        async with runtime.connected():
            assert runtime._socket is not None
            text = json.dumps(event("userAudioTranscriptFinal", {"text": "Hello"}))
            await runtime._socket.send([text[at : at + 7] for at in range(0, len(text), 7)])
            await runtime.at_rest()
        assert runtime.spoken == ["Hi there!"]


async def test_nothing_is_compressed_so_that_a_line_is_cheap(tmp_path: Path) -> None:
    async with embedded(tmp_path, script=SCRIPT) as st:
        address = st.url.replace("http", "ws", 1) + f"/conductor?sessionId={uuid.uuid4()}"
        async with connect(address, compression="deflate") as socket:
            assert socket.protocol.extensions == []


async def test_fragments_without_end_are_refused_though_they_are_empty(tmp_path: Path) -> None:
    async with embedded(tmp_path, script=SCRIPT) as st:
        async with raw(st) as line:
            empty = frame(CONTINUED, b"", last=False) * 1000
            await line.send(frame(TEXT, b"{", last=False))
            for _ in range(20):
                with suppress(OSError):
                    await line.send(empty)
            async with asyncio.timeout(5):
                assert await line.closed_with() == 1008
        await still_serves(st)


async def test_bytes_that_are_no_text_close_the_line(tmp_path: Path) -> None:
    async with embedded(tmp_path, script=SCRIPT) as st:
        async with raw(st) as line:
            await line.send(frame(TEXT, b"\xff\xfe{"))
            async with asyncio.timeout(5):
                assert await line.closed_with() == 1007
        await still_serves(st)


async def test_a_message_that_is_too_large_closes_the_line_before_it_is_read(
    tmp_path: Path,
) -> None:
    async with embedded(tmp_path, script=SCRIPT, conductor_message_bytes=20_000) as st:
        async with raw(st) as line:
            await line.send(frame(TEXT, b"x" * 20_001))
            async with asyncio.timeout(5):
                assert await line.closed_with() == 1009
        async with raw(st) as line:  # in pieces, too
            await line.send(frame(TEXT, b"x" * 15_000, last=False))
            await line.send(frame(CONTINUED, b"x" * 15_000, last=False))
            async with asyncio.timeout(5):
                assert await line.closed_with() == 1009
        await still_serves(st)


async def test_messages_that_are_none_are_told_and_then_the_line_is_closed(tmp_path: Path) -> None:
    async with embedded(tmp_path, script=SCRIPT) as st:
        runtime = Runtime(st.url)
        async with runtime.connected():
            with suppress(ConnectionClosed):
                for _ in range(60):
                    await runtime.raw("{")
                await runtime.raw(b"\0\1\2")
            await runtime.until(lambda: runtime.closed is not None)
        assert set(runtime.errors) == {"invalid_json"}
        assert len(runtime.errors) == 51
        assert runtime.closed is not None
        assert runtime.closed[0] == 1008
        await still_serves(st)


async def test_a_flood_of_events_closes_the_line(tmp_path: Path) -> None:
    async with embedded(tmp_path, script=SCRIPT) as st:
        runtime = Runtime(st.url)
        async with runtime.connected():
            text = json.dumps(event("userAudioTranscriptPartial", {"text": "Hello"}))
            with suppress(ConnectionClosed):
                for _ in range(2000):
                    await runtime.raw(text)
            await runtime.until(lambda: runtime.closed is not None)
        assert runtime.closed is not None
        assert runtime.closed[0] == 1008
        await still_serves(st)


async def test_so_does_a_flood_of_events_that_nobody_knows(tmp_path: Path) -> None:
    async with embedded(tmp_path, script=SCRIPT) as st:
        runtime = Runtime(st.url)
        async with runtime.connected():
            text = json.dumps(event("somethingNew", {"x": 1}))
            with suppress(ConnectionClosed):
                for _ in range(2000):
                    await runtime.raw(text)
            await runtime.until(lambda: runtime.closed is not None)
        assert runtime.closed is not None
        assert runtime.closed[0] == 1008
        assert len(runtime.all("error")) <= 250
        await still_serves(st)


async def test_who_comes_with_other_tools_again_and_again_waits_and_nobody_else_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vivavoce.runtime.conductor.service.SCHEMAS_A_SECOND", 2_000.0)
    monkeypatch.setattr("vivavoce.runtime.conductor.service.SCHEMAS_AT_ONCE", 2_000.0)

    def tools(number: int) -> list[dict[str, Any]]:
        fields = {f"field_{number}_{at}": {"type": "string"} for at in range(60)}
        return [{"name": "form", "inputSchema": {"type": "object", "properties": fields}}]

    async with embedded(tmp_path, script=SCRIPT) as st:
        many, other = Runtime(st.url), Runtime(st.url, tools=tools(0))
        other.headers = {"x-user-id": "ada"}
        async with many.connected():
            began = time.monotonic()
            for number in (1, 1, 1, 2, 3):  # about 2,000 characters each; the same cost nothing
                await many.send("sessionStart", sessionId=many.session_id, tools=tools(number))
            await many.result("unknown", 1)
            async with other.connected():
                await other.result("unknown", 1)
                await other.until(lambda: bool(other.seen))
            assert not many.seen
            await many.until(lambda: bool(many.seen))
            assert 1.5 < time.monotonic() - began < 10


async def test_a_schema_that_is_nested_too_deeply_is_told_and_is_no_fault_of_ours(
    tmp_path: Path,
) -> None:
    deep: dict[str, Any] = {"type": "object", "properties": {}}
    for _ in range(150):
        deep = {"type": "object", "properties": {"a": deep}}
    async with embedded(tmp_path, script=SCRIPT) as st:
        runtime = Runtime(st.url, tools=[{"name": "form", "inputSchema": deep}])
        async with runtime.connected():
            await runtime.until(lambda: bool(runtime.errors))
            assert runtime.errors == ["invalid_event"]


async def test_who_reads_nothing_is_let_go_of_and_keeps_no_memory(tmp_path: Path) -> None:
    async with embedded(tmp_path, script=SCRIPT, stall_seconds=0.5) as st:
        async with raw(st) as line:
            before = memory()
            wrong = frame(TEXT, b"[]") + frame(PING, b"x" * 125) * 200
            with suppress(OSError):
                async with asyncio.timeout(10):
                    while True:  # pings as fast as they go out, and no answer is ever read
                        await line.send(wrong)
            assert memory() - before < 64 * 1024 * 1024
        await still_serves(st)


async def test_tiny_frames_by_the_hundred_thousand_are_only_work(tmp_path: Path) -> None:
    async with embedded(tmp_path, script=SCRIPT) as st:
        async with raw(st) as line:
            before = memory()
            with suppress(OSError):
                for _ in range(50):
                    await line.send(frame(TEXT, b"") * 2000)
            with suppress(OSError, asyncio.IncompleteReadError):
                async with asyncio.timeout(10):
                    assert await line.closed_with() == 1008
            assert memory() - before < 64 * 1024 * 1024
        await still_serves(st)


@pytest.mark.timeout(180)
@pytest.mark.parametrize("many", [150, pytest.param(1000, marks=pytest.mark.full)])
async def test_many_lines_that_say_nothing_are_closed_and_whoever_speaks_is_served(
    many: int, tmp_path: Path
) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < 3 * many + 500:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 3 * many + 500), hard))
    bounds: dict[str, Any] = {
        "conductor_connections": 0,
        "conductor_user_connections": 0,
        "conductor_start_seconds": 8.0,
        "max_connections": many + 100,
    }
    async with embedded(tmp_path, script=SCRIPT, **bounds) as st:
        await still_serves(st)
        before = memory()

        async def silent() -> ClientConnection:
            address = st.url.replace("http", "ws", 1) + f"/conductor?sessionId={uuid.uuid4()}"
            return await connect(address, compression=None, open_timeout=60)

        lines = [await silent() for _ in range(many)]
        await still_serves(st)
        assert (memory() - before) / many < 300 * 1024  # theirs and ours: both ends are here
        for line in lines:
            async with asyncio.timeout(60):
                await line.wait_closed()
        assert {line.close_code for line in lines} == {4408}
        assert st.here.conductor.connections == 0


async def test_more_than_there_may_be_are_told_so(tmp_path: Path) -> None:
    async with embedded(tmp_path, script=SCRIPT, conductor_user_connections=1) as st:
        one, other = Runtime(st.url), Runtime(st.url)
        async with one.connected():
            await one.until(lambda: st.here.conductor.connections == 1)
            async with other.connected(start=False):
                await other.until(lambda: other.closed is not None)
        assert other.errors == ["conductor_error"]
        assert other.closed is not None
        assert other.closed[0] == 1013
