"""A call: a session and, over WebRTC, the media that carry it.

Two kinds. A WebRTC call has a browser with a microphone at its other end; the
sound of a WebSocket call comes in events from the one client that joined with
the call's own secret. Anyone with a key may watch and command either.
"""

from __future__ import annotations

import asyncio

from vivavoce.engine.media.audio import Pcm
from vivavoce.engine.media.options import MediaOptions
from vivavoce.engine.media.peer import WebRtcPeer, answer
from vivavoce.engine.shell.clients import ChannelClient, SocketClient
from vivavoce.engine.shell.session import Session
from vivavoce.engine.shell.work import Parts
from vivavoce.engine.turn.configuration import Configuration
from vivavoce.engine.turn.state import Policy

JOIN_SECONDS = 60.0  # as long as the client's secret lasts; then the call is over


class Call:
    """Fills `PeerEvents`, and passes on what the session should know."""

    def __init__(
        self, call_id: str, policy: Policy, configuration: Configuration, parts: Parts, locked: bool
    ) -> None:
        self.id = call_id
        self.session = Session(policy, configuration, parts)
        self._locked = locked
        self._media: WebRtcPeer | None = None
        self._channel: ChannelClient | None = None
        self._awaited: SocketClient | None = None
        self._joined = False
        self.over = asyncio.Event()

    async def answer(self, offer: str, options: MediaOptions) -> str:
        """The SDP for the browser. Raises `InvalidSdp` or `Unavailable`."""
        self._media, sdp = await answer(offer, self, options)
        self.session.use(self._media)
        return sdp

    async def abandon(self) -> None:
        """Before it ever ran."""
        if self._media is not None:
            await self._media.close()

    async def run(self, seconds: float) -> None:
        """Until somebody hangs up."""
        loop = asyncio.get_running_loop()
        waiting = None
        try:
            async with asyncio.TaskGroup() as group:
                if self._media is not None:
                    group.create_task(self._media.run(), name=f"media {self.id}")
                elif not self._joined:
                    waiting = loop.call_later(JOIN_SECONDS, self._nobody_came)
                await self.session.run(seconds)
                if self._media is not None:
                    await self._media.close()
        finally:
            if waiting is not None:
                waiting.cancel()

    def _nobody_came(self) -> None:
        if not self._joined:
            self.session.end("nobody joined the call")

    def expect(self, *, locked: bool) -> None:
        """Somebody with a microphone will come. Who watches may have the call say something at
        once, and a quick greeting is over before a slow line is up: it waits for them here."""
        self._awaited = SocketClient(peer=True, locked=locked)
        self.session.join(self._awaited, greet=True)

    def seat(self, *, locked: bool) -> SocketClient:
        """That of the client with the microphone, who has yet to `join`."""
        return self._awaited or SocketClient(peer=True, locked=locked)

    def join(self, client: SocketClient) -> None:
        """The client with the microphone is greeted; who watches knows the call already."""
        if client is not self._awaited:
            self.session.join(client, greet=client.peer)
        self._joined = self._joined or client.peer

    @property
    def spoken(self) -> bool:
        """A voice that the machine has to bear; a session of events may be a written one."""
        return self.session.speaks is None

    @property
    def has_peer(self) -> bool:
        return self._media is not None or self._joined

    # --- PeerEvents -----------------------------------------------------------------------

    def audio(self, pcm: Pcm, rate: int) -> None:
        self.session.audio(pcm, rate)

    def message(self, text: str) -> None:
        if self._channel is not None:
            for _ in self.session.receive(self._channel, text):
                pass  # only sound takes long, and here it comes another way

    def channel_open(self) -> None:
        assert self._media is not None
        self._channel = ChannelClient(self._media, locked=self._locked)
        self.session.join(self._channel, greet=True)

    def playing(self, response_id: str) -> None:
        self.session.playing(response_id)

    def played(self, response_id: str) -> None:
        self.session.played(response_id)

    def gone(self, reason: str) -> None:
        self.session.gone(reason)
