"""A call: a session and, over WebRTC, the media that carry it.

Two kinds. A WebRTC call has a browser with a microphone at its other end; the
sound of a WebSocket call comes in events from the one client that joined with
the call's own secret. Anyone with a key may watch and command either.
"""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import dataclass, field
from functools import partial

from vivavoce.engine.media import peer
from vivavoce.engine.media.options import MediaOptions
from vivavoce.engine.media.peer import WebRtcPeer, answer
from vivavoce.engine.shell.session import LEFT, Session
from vivavoce.engine.shell.work import Parts
from vivavoce.engine.turn import facts
from vivavoce.engine.turn.configuration import Configuration
from vivavoce.engine.turn.state import Policy

JOIN_SECONDS = 60.0  # as long as the client's secret lasts; then the call is over
# Why a client is gone, where nobody hung up.
NEVER_CONNECTED = "never_connected"
ICE_LOST = "ice_lost"
SOCKET_RESET = "socket_reset"
CLIENT_SILENT = "client_silent"
MAX_FRAMES = 4096
MAX_BYTES = 64 * 1024 * 1024
"""Ten minutes of sound ahead of a client that plays in real time; more is nobody reading."""
_ids = itertools.count(1)


# --- Who is on it ---------------------------------------------------------------------------


class SocketClient:
    """Fills `session.Client`. Frames wait here until `next` takes them to the socket."""

    def __init__(self, *, peer: bool, locked: bool = False, ours: bool = False) -> None:
        self.id = next(_ids)
        self.peer, self.locked, self.ours = peer, locked, ours
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


@dataclass(eq=False)
class ChannelClient:
    """Fills `session.Client` for the data channel of a WebRTC call."""

    media: WebRtcPeer
    locked: bool
    peer: bool = True
    ours: bool = False
    id: int = field(default_factory=partial(next, _ids))

    def push(self, frame: bytes) -> None:
        self.media.send(frame.decode())

    def close(self, code: int, reason: str) -> None:
        """The channel closes with the call."""


# --- The call -------------------------------------------------------------------------------


class Call:
    """Fills `PeerEvents`, and passes on what the session should know."""

    def __init__(
        self, call_id: str, policy: Policy, configuration: Configuration, parts: Parts, locked: bool
    ) -> None:
        self.id = call_id
        self.session = session = Session(policy, configuration, parts)
        self.audio = session.audio
        self.playing, self.played = session.playing, session.played
        self._locked = locked
        self._media: WebRtcPeer | None = None
        self._channel: ChannelClient | None = None
        self.awaited: SocketClient | None = None
        self._joined = False
        self.over = asyncio.Event()

    async def answer(self, offer: str, options: MediaOptions) -> str:
        """The SDP for the browser. Raises `InvalidSdp` or `Unavailable`."""
        self._media, sdp = await answer(offer, self, options)
        self.session.playout, self.session.reached = self._media.playout, self._media.reached
        self.session.connection("connecting")
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
            self.session.connection("failed", reason=NEVER_CONNECTED)
            self.session.end("nobody joined the call")

    def expect(self) -> None:
        """Somebody with a microphone will come, and `join`. Who watches may have the call say
        something at once, and a quick greeting is over before a slow line is up: it waits for
        them here."""
        self.awaited = SocketClient(peer=True, locked=self._locked)
        self.session.machine.state.here = False
        self.session.connection("connecting")
        self.session.join(self.awaited, greet=True)

    def join(self, client: SocketClient) -> None:
        """The client with the microphone is greeted; who watches knows the call already."""
        if client is not self.awaited:
            self.session.join(client, greet=client.peer)
        if client.peer:
            self._joined = True
            self.session.post(facts.PeerJoined())
            self.session.connection("connected", data_channel="open")

    @property
    def spoken(self) -> bool:
        """A voice that the machine has to bear: not one that hung up and is being put away. A
        session of events may be a written one."""
        return self.session.speaks is None and not self.session.ended.is_set()

    @property
    def has_peer(self) -> bool:
        return self._media is not None or self._joined

    # --- PeerEvents: the rest is the session's ---------------------------------------------

    def message(self, text: str) -> None:
        if self._channel is not None:
            for _ in self.session.receive(self._channel, text):
                pass  # only sound takes long, and here it comes another way

    def connected(self) -> None:
        self.session.connection("connected")

    def gone(self, reason: str) -> None:
        """The media have ended, and say why."""
        match reason:
            case peer.HUNG_UP:
                self.session.connection("closed", reason=LEFT)
                self.session.end(reason)
            case peer.NEVER | peer.REFUSED:
                self.session.connection("failed", reason=NEVER_CONNECTED)
                self.session.end(reason)
            case _:
                self.session.vanish(ICE_LOST)

    def channel_open(self) -> None:
        assert self._media is not None
        self.session.connection("connected", data_channel="open")
        self._channel = ChannelClient(self._media, self._locked)
        self.session.join(self._channel, greet=True)
