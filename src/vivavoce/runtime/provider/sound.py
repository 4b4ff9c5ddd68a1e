"""The sound of a call by WebSocket, for clients of ours that are no pages: whoever brings a
microphone by another protocol holds the line for it, and speaks the events of the Realtime API.

Knows nothing of what is said on it.
"""

from __future__ import annotations

import base64
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import orjson
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException

from vivavoce.errors import ProviderError, ProviderRefused, Unavailable, VivavoceError

RATE = 24_000
"""Samples a second, PCM16, mono, both ways."""
# At DEBUG, websockets logs the handshake with its Authorization header, that is, the key.
_log = logging.getLogger("vivavoce.sound.wire")
_log.setLevel(logging.INFO)
_OPTIONS: dict[str, Any] = {
    "max_size": 16 * 1024 * 1024,
    "compression": None,
    "open_timeout": 10.0,
    "close_timeout": 2.0,
    "logger": _log,
}


class SoundLine:
    """One open connection."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket

    async def send(self, kind: str, **fields: Any) -> None:
        """Raises `ProviderError` when the connection is down."""
        try:
            await self._socket.send(orjson.dumps({"type": kind, **fields}).decode())
        except (WebSocketException, OSError):
            raise ProviderError("The line of a call is down.") from None

    async def append(self, pcm: bytes) -> None:
        """The next piece of what the microphone hears."""
        await self.send("input_audio_buffer.append", audio=base64.b64encode(pcm).decode())

    async def receive(self) -> dict[str, Any] | None:
        """The next event; None when the call is over."""
        try:
            event: dict[str, Any] = orjson.loads(await self._socket.recv())
        except (ConnectionClosed, OSError):
            return None
        return event


@asynccontextmanager
async def opened(address: str, key: str) -> AsyncIterator[SoundLine]:
    """Raises `ProviderError`, `Unavailable`."""
    headers = {"Authorization": f"Bearer {key}"}
    try:
        socket = await connect(address, additional_headers=headers, **_OPTIONS)
    except InvalidStatus as refusal:
        raise _refused(refusal.response.status_code, refusal.response.body) from None
    except (WebSocketException, OSError, TimeoutError):
        raise ProviderError("The line of a call could not be opened.") from None
    try:
        yield SoundLine(socket)
    finally:
        await socket.close()


def _refused(status: int, body: bytes | bytearray | None) -> VivavoceError:
    """In the engine's own words: it is full, it still loads, or it knows of no such call."""
    try:
        words = str(orjson.loads(body or b"")["error"]["message"])
    except (orjson.JSONDecodeError, KeyError, TypeError):
        words = f"The engine refused the line of a call (HTTP {status})."
    return Unavailable(words) if status == 503 else ProviderRefused(words, status=status)
