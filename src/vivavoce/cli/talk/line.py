"""One call whose sound goes over a WebSocket, in the Realtime API's own events.

Here the client knows what was heard, so it is the one to say so: four times a second while it
plays, for whatever may cut it off; and when somebody speaks over the assistant it stops at once
and tells the engine where. Knows nothing of the session around it.
"""

from __future__ import annotations

import asyncio
import base64
import json
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidURI
from websockets.typing import Subprotocol

from vivavoce.cli.talk.core.playing import RATE, WIDTH, Cut, Ducking, Heard
from vivavoce.cli.talk.desk import Desk
from vivavoce.cli.talk.server import AudioGrant
from vivavoce.client.link import on_this_machine

_OPEN = 10.0
_STALLED = 8.0
"""Seconds in which nothing gets through: a network that is gone closes no socket."""
_PING = 5.0
_PIECES = 25
"""Pieces of the microphone that wait on a slow line: a second. Late speech is worth less than
none, so the oldest goes."""
_BEAT = 0.05
_REPORT = 0.25
"""Seconds between two words on how far an answer is: about a word of it."""
_HUNG_UP = 1000


class NoLine(Exception):
    """The WebSocket for the sound did not open."""


class Line:
    """What goes in and out of one open socket, until it is closed."""

    def __init__(self, socket: ClientConnection, desk: Desk, notify: Callable[[], None]) -> None:
        self._socket, self._desk, self._notify = socket, desk, notify
        self._player, self._heard, self._ducking = desk.player(), Heard(), Ducking()
        self._audio: deque[bytes] = deque(maxlen=_PIECES)
        self._control: deque[str] = deque()
        self._waiting = asyncio.Event()
        self._interruptible = True
        self._sounded = False
        self.closed = False
        self.sounding = False

    async def run(self) -> None:
        """Until it is closed or lost; never raises for that."""
        self._desk.hearers.append(self._said)
        try:
            async with asyncio.TaskGroup() as group:
                others = [group.create_task(self._send()), group.create_task(self._beat())]
                try:
                    async for text in self._socket:
                        self.received(json.loads(text))
                except ConnectionClosed:
                    pass
                for other in others:
                    other.cancel()
        except* (ConnectionClosed, TimeoutError):
            pass  # what could not be sent: the line is lost
        finally:
            self._desk.hearers.remove(self._said)
            self._desk.remove(self._player)
            self._player.clear()
            self.closed, self.sounding = True, False
            self._notify()
            await self._socket.close()

    async def hang_up(self) -> None:
        """Whoever hangs up in the middle of an answer has heard it so far, and no further."""
        self._report()
        self.interrupt()
        try:
            async with asyncio.timeout(2.0):
                while self._control:
                    await self._socket.send(self._control.popleft())
                await self._socket.close(_HUNG_UP)
        except (ConnectionClosed, TimeoutError):
            pass  # it is lost already

    # --- Out ---------------------------------------------------------------------------

    def _said(self, pcm: bytes, level: float) -> None:
        self._audio.append(pcm)
        now = time.monotonic()
        self._player.ducked = self._ducking.next(level, playing=self._heard.playing, now=now)
        self._waiting.set()

    def stop(self) -> None:
        """The user wants it to be quiet."""
        self.interrupt()
        self._tell("response.cancel")

    def interrupt(self) -> None:
        """Silence at once; how far each answer came is told."""
        self._look()
        cuts = self._heard.interrupt(self._desk.latency_ms)
        self._player.clear()
        for cut in cuts:
            self._told("conversation.item.truncate", cut, content_index=0)

    def _report(self) -> None:
        self._look()
        for news in self._heard.news(self._desk.latency_ms):
            self._told("vivavoce.played", news)

    def _told(self, kind: str, cut: Cut, **more: Any) -> None:
        self._tell(kind, item_id=cut.item, audio_end_ms=cut.end_ms, **more)

    def _tell(self, kind: str, **fields: Any) -> None:
        self._control.append(json.dumps({"type": kind, **fields}))
        self._waiting.set()

    async def _send(self) -> None:
        """What is said about the sound goes before more of it."""
        while True:
            await self._waiting.wait()
            self._waiting.clear()
            while self._control or self._audio:
                if self._control:
                    text = self._control.popleft()
                else:
                    audio = base64.b64encode(self._audio.popleft()).decode()
                    text = json.dumps({"type": "input_audio_buffer.append", "audio": audio})
                async with asyncio.timeout(_STALLED):
                    await self._socket.send(text)

    async def _beat(self) -> None:
        reported = 0.0
        while True:
            await asyncio.sleep(_BEAT)
            self._look()
            if (now := time.monotonic()) - reported >= _REPORT:
                reported = now
                self._report()

    # --- In ----------------------------------------------------------------------------

    def received(self, event: Mapping[str, Any]) -> None:
        match event:
            case {"type": "response.output_audio.delta", "item_id": str(item), "delta": str(delta)}:
                pcm = base64.b64decode(delta)
                if self._heard.received(item, len(pcm) // WIDTH):  # else the tail of what was cut
                    self._player.play(item, pcm)
                    self._look()
            case {"type": "response.output_audio.done"}:
                self._player.end()
            case {"type": "session.created" | "session.updated", "session": {"audio": audio}}:
                turns = (audio.get("input") or {}).get("turn_detection") or {}
                self._interruptible = turns.get("interrupt_response") is not False
            case {"type": "input_audio_buffer.speech_started"}:
                if self._interruptible:
                    self.interrupt()
                    self._look()
            case {"type": "conversation.item.truncated", "item_id": str(item)}:
                # Somebody else on the call cut it off, and the engine knows where.
                if self._heard.unfinished(item):
                    self._heard.interrupt()
                    self._player.clear()
                    self._look()
            case _:
                pass

    def _look(self) -> None:
        for item, samples in self._player.played().items():
            self._heard.played(item, samples)
        if self._heard.playing != self.sounding:
            self.sounding = not self.sounding
            self._notify()


async def dialled(grant: AudioGrant, desk: Desk, notify: Callable[[], None]) -> Line:
    """A line that is open; whoever has it runs it. Raises `NoLine`."""
    if grant.rate != RATE:
        raise NoLine(f"The server's line wants {grant.rate} Hz, which this client does not speak.")
    host = urlsplit(grant.url).hostname or ""
    options: dict[str, Any] = {"proxy": None} if on_this_machine(host) else {}
    try:
        socket = await connect(
            grant.url,
            subprotocols=[Subprotocol(name) for name in grant.protocols],
            max_size=2**24,
            open_timeout=_OPEN,
            close_timeout=1.0,
            ping_interval=_PING,
            ping_timeout=2 * _PING,
            compression=None,
            **options,
        )
    except (OSError, TimeoutError, InvalidHandshake, InvalidURI) as fault:
        raise NoLine(f"The line for the sound was refused ({fault}).") from None
    return Line(socket, desk, notify)
