"""The HTTP client an A2A agent is reached by: one origin, bounded answers, no redirects.

The address is the operator's choice and may be private. But a card is the
agent's own words: the key in our headers goes where the operator said, not
where a card points.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING

import httpx

from vivavoce.tools.delegation.a2a.words import origin

if TYPE_CHECKING:
    from a2a.client import Client

MAX_ANSWER = 32 * 1024 * 1024
READ_SECONDS = 600.0
"""A stream may be silent while the agent works; it is taken up again when it breaks."""
_HANG_UP = 1.0
_ROUNDS = 25
"""Turns of the loop in which generators one within the other are closed."""
_WELL_KNOWN = "/.well-known/agent-card.json"


class _Counted(httpx.AsyncByteStream):
    def __init__(self, stream: httpx.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        try:
            async for piece in self._stream:
                size += len(piece)
                if size <= MAX_ANSWER:
                    yield piece
                else:
                    await self._stream.aclose()  # so that reading on ends, all the way down
        except Exception:
            if size <= MAX_ANSWER:
                raise
        if size > MAX_ANSWER:
            raise httpx.ReadError(f"it sent more than {MAX_ANSWER} bytes")

    async def aclose(self) -> None:
        await self._stream.aclose()


class Line(httpx.AsyncBaseTransport):
    """To one origin only."""

    def __init__(self, url: str) -> None:
        self._allowed = origin(url)
        self._inner = httpx.AsyncHTTPTransport()
        self._last: _Counted | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        wanted = origin(str(request.url))
        if wanted != self._allowed:
            raise httpx.ConnectError(f"its card points to {wanted}, not to {self._allowed}")
        response = await self._inner.handle_async_request(request)
        assert isinstance(response.stream, httpx.AsyncByteStream)
        response.stream = self._last = _Counted(response.stream)
        return response

    async def hang_up(self, stream: AsyncIterator[object]) -> None:
        """Ends what is being streamed. A generator of the SDK's that is merely closed leaves those
        within it to the garbage collector; read to its end, it leaves nothing."""
        with contextlib.suppress(Exception):
            async with asyncio.timeout(_HANG_UP):
                if self._last is not None:
                    await self._last.aclose()
                async for _ in stream:
                    pass
        for _ in range(_ROUNDS):  # after a message the SDK leaves off by itself, with the same end
            await asyncio.sleep(0)

    async def aclose(self) -> None:
        await self._inner.aclose()

    def web(self, headers: Mapping[str, str]) -> httpx.AsyncClient:
        return httpx.AsyncClient(
            transport=self,
            headers=dict(headers),
            timeout=httpx.Timeout(30.0, read=READ_SECONDS),
            follow_redirects=False,
            trust_env=False,
        )


async def client(url: str, http: httpx.AsyncClient) -> Client:
    """By its card: at the address itself if that is a file, else at the well-known place below.

    Raises the SDK's errors, and `ValueError` for a card we have no way to speak with.
    """
    from a2a.client import ClientConfig, ClientFactory

    config = ClientConfig(
        streaming=True,
        polling=True,  # it answers at once, and we follow the task
        httpx_client=http,
        supported_protocol_bindings=["JSONRPC", "HTTP+JSON"],
    )
    path = httpx.URL(url).path
    if path.endswith(".json"):
        base, card = origin(url), path
    else:
        base, card = url, _WELL_KNOWN
    return await ClientFactory(config).create_from_url(base, relative_card_path=card)
