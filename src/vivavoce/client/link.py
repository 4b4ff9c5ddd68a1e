"""Requests to a Vivavoce server, and its event streams: how it is asked, and what its failures are.

Knows no door of the API. An answer that is no JSON of ours comes from another server.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

import httpx2

Token = str | Callable[[], str | Awaitable[str]]
"""A token, or what gives a fresh one: asked before each request."""

_PATIENCE = 20.0
_CONNECT = 5.0
_SILENCE = 75.0
"""Seconds without a word on a stream: it has a heartbeat every 30."""


class NoServer(Exception):
    """Nobody answers there, or somebody else does."""


class Refusal(Exception):
    """The server said no; `passing` if it is worth asking again. `retry_after` is in seconds."""

    def __init__(
        self, status: int, code: str, message: str, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message
        self.retry_after = retry_after

    @property
    def passing(self) -> bool:
        return self.status in (0, 408, 429) or self.status >= 500


@dataclass(frozen=True, slots=True)
class Frame:
    """One event of a stream; without a name it is only a place to go on from."""

    name: str
    data: Mapping[str, Any]
    position: int | None


class Link:
    """One server, by its address."""

    def __init__(self, client: httpx2.AsyncClient, url: str, token: Token | None = None) -> None:
        self._client, self.url, self._token = client, url, token

    async def ask(self, method: str, path: str, **more: Any) -> Any:
        """The JSON of the answer. Raises `Refusal` or `NoServer`."""
        body = _json(await self.send(method, path, **more))
        if body is None:
            raise NoServer(f"What answers at {self.url} is no Vivavoce server.")
        return body

    async def send(
        self,
        method: str,
        path: str,
        *,
        fine: tuple[int, ...] = (),
        headers: Mapping[str, str] | None = None,
        patience: float = _PATIENCE,
        **more: Any,
    ) -> httpx2.Response:
        """The answer, if it is a good one or has a status that is `fine`."""
        try:
            response = await self._client.request(
                method,
                path,
                headers=await self._headers(headers),
                timeout=httpx2.Timeout(patience, connect=_CONNECT),
                **more,
            )
        except httpx2.HTTPError as fault:
            raise self._unreachable(fault) from None
        if response.is_success or response.status_code in fine:
            return response
        raise self._refusal(response)

    @asynccontextmanager
    async def frames(
        self, path: str, *, headers: Mapping[str, str] | None = None, **params: Any
    ) -> AsyncIterator[AsyncIterator[Frame]]:
        """An event stream; it is up when this is entered."""
        request = self._client.build_request(
            "GET",
            path,
            headers=await self._headers({"accept": "text/event-stream", **(headers or {})}),
            params={name: value for name, value in params.items() if value is not None},
            timeout=httpx2.Timeout(_PATIENCE, connect=_CONNECT, read=_SILENCE),
        )
        try:
            response = await self._client.send(request, stream=True)
        except httpx2.HTTPError as fault:
            raise self._unreachable(fault) from None
        try:
            if not response.is_success:
                await response.aread()
                raise self._refusal(response)
            yield self._read(response)
        finally:
            await response.aclose()

    async def _read(self, response: httpx2.Response) -> AsyncIterator[Frame]:
        name, data, position = "message", "", None
        try:
            async for line in response.aiter_lines():
                field, _, value = line.partition(":")
                value = value.removeprefix(" ")
                if field == "event":
                    name = value
                elif field == "data":
                    data += value
                elif field == "id" and value.isdecimal():
                    position = int(value)
                elif not line:
                    if data:
                        yield Frame(name, json.loads(data), position)
                    elif position is not None:
                        yield Frame("", {}, position)  # only a place to go on from
                    name, data, position = "message", "", None
        except httpx2.HTTPError as fault:
            raise self._unreachable(fault) from None
        except ValueError:
            raise Refusal(0, "unreadable", "The server's events cannot be read.") from None

    async def _headers(self, given: Mapping[str, str] | None) -> dict[str, str]:
        headers = dict(given or {})
        if self._token is not None and "authorization" not in headers:
            token = self._token if isinstance(self._token, str) else self._token()
            headers["authorization"] = (
                f"Bearer {await token if inspect.isawaitable(token) else token}"
            )
        return headers

    def _unreachable(self, fault: httpx2.HTTPError) -> Refusal:
        if isinstance(fault, httpx2.ConnectError | httpx2.ConnectTimeout):
            words = f"No server answers at {self.url}."
        else:
            words = f"The server at {self.url} gave no answer ({type(fault).__name__})."
        return Refusal(0, "unreachable", words)

    def _refusal(self, response: httpx2.Response) -> Refusal:
        body, status = _json(response), response.status_code
        error = body.get("error") if isinstance(body, dict) else None
        if not isinstance(error, dict) or "message" not in error:
            words = f"What answers at {self.url} says {status}, and is no Vivavoce server."
            return Refusal(status, "unknown", words)
        details = error.get("details") or {}
        exact, header = details.get("retry_after_ms"), response.headers.get("retry-after", "")
        wait = exact / 1000 if isinstance(exact, int | float) else None
        if wait is None and header.isdecimal():
            wait = float(header)
        return Refusal(status, str(error.get("code")), str(error["message"]), wait)


def _json(response: httpx2.Response) -> Any:
    try:
        return response.json()
    except ValueError:
        return None


def quoted(name: str) -> str:
    """As a part of a path."""
    return quote(name, safe="")


def on_this_machine(host: str) -> bool:
    return host in ("localhost", "::1") or host.startswith("127.")


@asynccontextmanager
async def connected(
    url: str, agent: str, transport: httpx2.AsyncBaseTransport | None = None
) -> AsyncIterator[httpx2.AsyncClient]:
    """The connections to a server; `agent` is who asks."""
    async with httpx2.AsyncClient(
        base_url=url,
        headers={"user-agent": agent},
        timeout=httpx2.Timeout(_PATIENCE, connect=_CONNECT),
        transport=transport,
        # A proxy has no business between us and a server on this machine.
        trust_env=not on_this_machine(urlsplit(url).hostname or ""),
    ) as client:
        yield client
