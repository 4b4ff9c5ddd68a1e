"""The companion WebSocket of one call, as raw frames.

Owns one connection of the SDK. It never reconnects and never parses what it
receives: the session decides about both.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import orjson
from websockets.exceptions import ConnectionClosed, WebSocketException

from vivavoce.errors import ProviderError
from vivavoce.runtime.ports import Closed

if TYPE_CHECKING:
    from openai.resources.realtime.realtime import AsyncRealtimeConnection

MAX_FRAME = 16 * 1024 * 1024

# At DEBUG, websockets logs the handshake with its Authorization header, that is, the key.
_wire_log = logging.getLogger("vivavoce.sideband.wire")
_wire_log.setLevel(logging.INFO)

CONNECTION_OPTIONS: dict[str, Any] = {
    "max_size": MAX_FRAME,
    "compression": None,  # deflate costs more CPU than loopback or a data centre's line saves
    "open_timeout": 10.0,
    "close_timeout": 2.0,
    "logger": _wire_log,
}


class OpenAISideband:
    """Fills `ports.Sideband`. A dead line is noticed by the keepalive, within 40 s."""

    def __init__(self, connection: AsyncRealtimeConnection) -> None:
        self._connection = connection

    async def send(self, payload: Mapping[str, Any]) -> None:
        try:
            await self._connection.send_raw(orjson.dumps(payload).decode())
        except (WebSocketException, OSError):
            raise ProviderError("The line to the provider is down.") from None

    async def receive(self) -> bytes | Closed:
        try:
            return await self._connection.recv_bytes()
        except ConnectionClosed as end:
            return _closed(end)
        except OSError as error:
            return Closed(1006, type(error).__name__)

    async def close(self) -> None:
        try:
            await self._connection.close()
        except (WebSocketException, OSError):
            return  # it was closed already, which is all we want


def _closed(end: ConnectionClosed) -> Closed:
    if end.rcvd is None:  # nothing was said: the line broke, or we gave up on it
        return Closed(1006, end.sent.reason if end.sent is not None else "")
    # A close frame without a code (1005) is as deliberate as one that says 1000.
    return Closed(1000 if end.rcvd.code == 1005 else int(end.rcvd.code), end.rcvd.reason)
