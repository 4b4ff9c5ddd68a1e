"""The data channel of a call: server events out within a bound, client events in."""

from __future__ import annotations

import logging

from aiortc import RTCDataChannel, RTCSctpTransport
from aiortc.rtcsctptransport import DataChunk

from vivavoce.engine.ports import PeerEvents

log = logging.getLogger(__name__)


_OVERDRAWN = 1024 * 1024


class BoundedSctp(RTCSctpTransport):
    """aiortc's, with a bound on what is held for a peer that never ends its messages.

    aiortc tells its window and then takes whatever comes past it. Honest
    peers stay inside; of one that is a whole window beyond, no more is taken.
    """

    async def _receive_data_chunk(self, chunk: DataChunk) -> None:
        await super()._receive_data_chunk(chunk)
        if self._advertised_rwnd < -_OVERDRAWN:
            log.warning("data channel closed", extra={"reason": "the peer overran its window"})
            await self.stop()


class EventChannel:
    """The first channel that the browser opens; any other is closed.

    Until it opens nothing can be sent: the session tells its state when it
    hears `channel_open`.
    """

    def __init__(self, events: PeerEvents, limit: int) -> None:
        self._events = events
        self._limit = limit
        self._channel: RTCDataChannel | None = None
        self._dropped = 0

    def attach(self, sctp: RTCSctpTransport) -> None:
        sctp.on("datachannel", self._opened)

    def send(self, text: str) -> None:
        channel = self._channel
        if channel is None or channel.readyState != "open":
            return
        if channel.bufferedAmount + len(text) > self._limit:
            self._drop("the peer does not read its data channel")
            return
        try:
            channel.send(text)
        except ValueError:
            self._drop("the event is longer than the peer takes")

    def _drop(self, reason: str) -> None:
        self._dropped += 1
        if self._dropped == 1:  # once a call; the rest would only repeat it
            log.warning("server event dropped", extra={"reason": reason})

    def _opened(self, channel: RTCDataChannel) -> None:
        if self._channel is not None:
            channel.close()
            return
        self._channel = channel
        channel.on("message", self._message)
        self._events.channel_open()

    def _message(self, data: str | bytes) -> None:
        if isinstance(data, str):
            self._events.message(data)
