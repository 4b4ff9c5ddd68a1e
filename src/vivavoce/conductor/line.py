"""The line to a server: a WebSocket, by the library `websockets`."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Protocol
from urllib.parse import urlsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException

MOST_BYTES = 4 * 1024 * 1024
OPENING, SENDING, CLOSING = 10.0, 10.0, 2.0


class NoLine(Exception):
    """`status` is of HTTP, where a server answered."""

    def __init__(self, reason: str, status: int | None = None) -> None:
        super().__init__(reason)
        self.reason, self.status = reason, status


class LineEnded(Exception):
    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code, self.reason = code, reason


class Line(Protocol):
    async def send(self, text: str) -> None:
        """Raises `OSError` where it cannot be sent."""
        ...

    async def receive(self) -> str | bytes:
        """Raises `LineEnded`."""
        ...

    async def close(self, code: int) -> None: ...


class Dialler(Protocol):
    async def __call__(self, url: str, headers: Mapping[str, str]) -> Line:
        """Raises `NoLine`."""
        ...


class Socket:
    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection

    async def send(self, text: str) -> None:
        try:
            await self._connection.send(text)
        except ConnectionClosed as ended:
            raise OSError("the connection is closed") from ended

    async def receive(self) -> str | bytes:
        try:
            return await self._connection.recv()
        except ConnectionClosed as ended:
            told = ended.rcvd or ended.sent  # ours where the server broke the protocol, or is quiet
            raise LineEnded(*((told.code, told.reason) if told else (1006, ""))) from None

    async def close(self, code: int) -> None:
        await self._connection.close(code)


async def dial(url: str, headers: Mapping[str, str]) -> Line:
    try:
        connection = await connect(
            url,
            additional_headers=dict(headers),
            compression=None,
            max_size=MOST_BYTES,
            open_timeout=OPENING,
            close_timeout=CLOSING,
            proxy=None if _is_loopback(url) else True,
            process_exception=lambda fault: fault,
        )
    except InvalidStatus as refused:
        status = refused.response.status_code
        raise NoLine(f"The server refused with HTTP {status}.", status) from None
    except TimeoutError:
        raise NoLine("The server did not answer in time.") from None
    except (OSError, WebSocketException, EOFError) as fault:
        raise NoLine(f"No connection: {fault}"[:300]) from None
    return Socket(connection)


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
