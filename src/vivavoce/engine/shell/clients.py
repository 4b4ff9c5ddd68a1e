"""Those on a call: a WebSocket with a queue of its own, or the browser's data channel."""

from __future__ import annotations

import asyncio
import itertools

from vivavoce.engine.ports import Peer

_ids = itertools.count(1)

MAX_FRAMES = 4096
MAX_BYTES = 64 * 1024 * 1024
"""Ten minutes of sound ahead of a client that plays in real time; more is nobody reading."""


class SocketClient:
    """Fills `session.Client`. Frames wait here until `next` takes them to the socket."""

    def __init__(self, *, peer: bool, locked: bool = False) -> None:
        self.id = next(_ids)
        self.peer, self.locked = peer, locked
        self.closed: tuple[int, str] | None = None
        self._frames: asyncio.Queue[bytes | None] = asyncio.Queue(MAX_FRAMES + 1)
        self._bytes = 0

    def push(self, frame: bytes) -> None:
        if self.closed is not None:
            return
        if self._frames.qsize() >= MAX_FRAMES or self._bytes + len(frame) > MAX_BYTES:
            self.close(1013, "The client does not read what it is sent.")
            return
        self._bytes += len(frame)
        self._frames.put_nowait(frame)

    def close(self, code: int, reason: str) -> None:
        """What waits is still delivered; then the socket closes."""
        if self.closed is None:
            self.closed = (code, reason)
            self._frames.put_nowait(None)

    async def next(self) -> bytes | None:
        """The next frame; None when it is over and `closed` says how."""
        frame = await self._frames.get()
        if frame is not None:
            self._bytes -= len(frame)
        return frame


class ChannelClient:
    """Fills `session.Client` for the data channel of a WebRTC call."""

    def __init__(self, peer: Peer, *, locked: bool) -> None:
        self.id = next(_ids)
        self.peer, self.locked = True, locked
        self._channel = peer

    def push(self, frame: bytes) -> None:
        self._channel.send(frame.decode())

    def close(self, code: int, reason: str) -> None:
        """The channel closes with the call."""
