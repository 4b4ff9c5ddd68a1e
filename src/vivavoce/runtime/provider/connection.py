"""The WebSocket of a sideband: that of `websockets`, which keeps less. A module of its own, because
it takes a while to load, and the start of a server need not wait for that."""

from __future__ import annotations

from typing import Any

from websockets.asyncio.client import ClientConnection


class Connection(ClientConnection):
    async def handshake(self, *given: Any, **more: Any) -> None:
        """Nobody asks for its headers afterwards. They are 4 KiB of each session, and the key is
        among them."""
        await super().handshake(*given, **more)
        for told in (self.request, self.response):
            if told is not None:
                told.headers.clear()
