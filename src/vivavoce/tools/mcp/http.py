"""A server behind a URL: the SDK's streamable HTTP, with an end to what one answer may weigh."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
from mcp.client._transport import TransportStreams
from mcp.client.streamable_http import streamable_http_client

from vivavoce.runtime.agents.mcp_ports import McpServer

MAX_ANSWER = 4 * 1024 * 1024
CONNECT_SECONDS, READ_SECONDS = 10.0, 300.0


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
            server.url, http_client=client, max_sse_event_size=MAX_ANSWER
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
            if seen > MAX_ANSWER:
                raise httpx2.ReadError(f"an answer of more than {MAX_ANSWER} bytes")
            yield piece

    async def aclose(self) -> None:
        await self._inner.aclose()
