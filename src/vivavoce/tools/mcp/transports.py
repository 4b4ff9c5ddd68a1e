"""The two ways to a server: JSON lines to a child process, and HTTP to a URL. Both have bounds."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio
import httpx2
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client._transport import TransportStreams
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from vivavoce.processes.piped import Piped, piped
from vivavoce.runtime.agents.mcp_ports import McpServer
from vivavoce.tools.mcp.sieve import Flooded, Pace

MAX_MESSAGE = 4 * 1024 * 1024
CONNECT_SECONDS, READ_SECONDS = 10.0, 300.0


@asynccontextmanager
async def over_stdio(
    server: McpServer, *, started: Callable[[int], None], heard: Callable[[str], None]
) -> AsyncIterator[TransportStreams]:
    """`heard` is told each line of its stderr. Raises `OSError` where it cannot be started."""
    assert server.command is not None
    async with piped(
        server.command,
        server.args,
        env=server.env,
        cwd=server.cwd,
        heard=heard,
        longest=MAX_MESSAGE,
    ) as pipes:
        started(pipes.pid)
        to_us, inbox = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        outbox, from_us = anyio.create_memory_object_stream[SessionMessage](0)
        async with anyio.create_task_group() as group:
            group.start_soon(_read, pipes, to_us, heard)
            group.start_soon(_write, pipes, from_us)
            try:
                yield inbox, outbox
            finally:
                group.cancel_scope.cancel()
                for stream in (to_us, inbox, outbox, from_us):
                    stream.close()


async def _read(
    pipes: Piped,
    to_us: MemoryObjectSendStream[SessionMessage | Exception],
    heard: Callable[[str], None],
) -> None:
    pace = Pace()
    with to_us:  # closing it is how the session learns of the end
        while (line := await pipes.line()) is not None:
            try:
                message = jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValueError:
                # Banners and prints: passed over, but one may explain a failure.
                with contextlib.suppress(Flooded):
                    if pace.fits():
                        heard(line[:200].decode(errors="replace"))
                    continue
                return heard("sends more than anyone can read")
            try:
                await to_us.send(SessionMessage(message))
            except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                return None
    return None


async def _write(pipes: Piped, from_us: MemoryObjectReceiveStream[SessionMessage]) -> None:
    with from_us, contextlib.suppress(OSError):
        async for item in from_us:
            await pipes.send(
                item.message.model_dump_json(by_alias=True, exclude_unset=True).encode()
            )


@asynccontextmanager
async def over_http(server: McpServer) -> AsyncIterator[TransportStreams]:
    assert server.url is not None
    client = httpx2.AsyncClient(
        headers=dict(server.headers),
        timeout=httpx2.Timeout(CONNECT_SECONDS, read=READ_SECONDS),
        event_hooks={"response": [_bound]},
    )
    async with (
        client,
        streamable_http_client(
            server.url, http_client=client, max_sse_event_size=MAX_MESSAGE
        ) as streams,
    ):
        yield streams


async def _bound(response: httpx2.Response) -> None:
    if not response.headers.get("content-type", "").startswith("text/event-stream"):
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Bounded(response.stream)


class _Bounded(httpx2.AsyncByteStream):
    """Event streams have no end, and a bound for each event; all else is read as a whole."""

    def __init__(self, inner: httpx2.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        seen = 0
        async for piece in self._inner:
            seen += len(piece)
            if seen > MAX_MESSAGE:
                raise httpx2.ReadError(f"an answer of more than {MAX_MESSAGE} bytes")
            yield piece

    async def aclose(self) -> None:
        await self._inner.aclose()
