"""One Realtime session: the turn machine, and the hands that do what it decides.

Facts come in from clients, ears, brain, mouth and media, all on the event
loop; orders are done at once, in order. The session's tasks hang below `run`.
"""

from __future__ import annotations

import asyncio
import base64
import logging
import secrets
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
import orjson

from vivavoce.engine.media.audio import Outbound
from vivavoce.engine.media.playout import Reel
from vivavoce.engine.ports import EAR_RATE, MOUTH_RATE, Position
from vivavoce.engine.shell.hearing import Intake
from vivavoce.engine.shell.work import Parts, Work
from vivavoce.engine.turn import facts, orders
from vivavoce.engine.turn.configuration import Configuration
from vivavoce.engine.turn.machine import Machine
from vivavoce.engine.turn.state import Policy
from vivavoce.errors import Unavailable
from vivavoce.wire.realtime import server
from vivavoce.wire.realtime.client import AppendInput, BadFrame, ClearInput, CommitInput, parse
from vivavoce.wire.realtime.refusal import Refused

log = logging.getLogger(__name__)

MAX_CLIENTS = 16  # that watch one call
DELTA_MS = 200  # of sound in one `response.output_audio.delta`
_SLICE = MOUTH_RATE * 2  # a second of sound, or a few on the telephone
LEFT = "user_ended"  # somebody hung up
_SILENCE = 3  # seconds: longer than any pause in the middle of a turn
_DELTA_BYTES = MOUTH_RATE * 2 * DELTA_MS // 1000


class Client(Protocol):
    """Somebody on the call: a WebSocket, or the browser's data channel."""

    id: int
    peer: bool
    """It has the microphone; others only watch and command."""
    locked: bool
    """It may only send what `wire.realtime.client.PEER_EVENTS` names."""
    ours: bool
    """Our own server's sideband: it is told what the protocol has no words for."""

    def push(self, frame: bytes) -> None:
        """Must not block; a client that does not read is cut off."""

    def close(self, code: int, reason: str) -> None: ...


def new_id(prefix: str) -> str:
    """At most 32 characters, as clients expect of item ids."""
    return f"{prefix}_{secrets.token_hex(11)}"


class Session:
    """Fills `PeerEvents` too: the media of a call report here."""

    def __init__(self, policy: Policy, configuration: Configuration, parts: Parts) -> None:
        self.id = policy.session_id
        self.machine = Machine(policy, configuration, new_id)
        self.ended = asyncio.Event()
        self.end_reason = ""
        self.speaks: Callable[[], None] | None = None
        """Called once, at the first sound of a client; raises `Unavailable` where that is too
        much for the machine."""
        self.reached: Callable[[], Position | None] = lambda: None
        """How far a call's own media have come, as the far end can have heard it."""
        self.lost = False
        """Whoever had the microphone has vanished, and may come back on another call."""
        self._peer: server.Frame | None = None
        self._end_code = 1000
        self._paced, self._kept_seconds = policy.paced, policy.kept_seconds
        self._loop = asyncio.get_running_loop()
        self._clients: dict[int, Client] = {}
        self.playout: Reel | None = None
        """Of a call's own media; without, sound goes out in events."""
        self._facts: deque[facts.Fact] = deque()
        self._busy = False
        self._codecs: dict[str, Outbound] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._intake = Intake(
            configuration,
            parts.detector(),
            post=self.post,
            judge=lambda asked_ms: self._work.judge(asked_ms),
        )
        self.audio = self._intake.feed_track
        self._work = Work(parts, self.machine, self._intake, self.post)

    # --- Life ---------------------------------------------------------------------------------

    async def run(self, seconds: float) -> None:
        """Until `end`, at most so many seconds; leaves nothing behind."""
        async with asyncio.TaskGroup() as group:
            self._work.begin(group, self.machine.state.configuration.voice)
            self._start_timer("expiry", seconds)
            await self.ended.wait()
            for timer in self._timers.values():
                timer.cancel()
            self._timers.clear()
            self._work.end()
        self._last_words()
        for client in list(self._clients.values()):
            client.close(self._end_code, self.end_reason)
        self._clients.clear()

    def _last_words(self) -> None:
        """What is under way is told as far as it came, before everyone is let go."""
        try:
            now, position = self._loop.time(), self.position()
            for order in self.machine.receive(facts.CallOver(), now, position):
                if isinstance(order, orders.Send):
                    self._send(order.event, order.to)
        except Exception:  # the boundary of a session: its clients must still be let go
            log.exception("A session could not tell its end")

    def end(self, reason: str, code: int = 1000) -> None:
        if not self.ended.is_set():
            self.end_reason, self._end_code = reason, code
            self.ended.set()

    # --- Who is on the call -------------------------------------------------------------------

    def join(self, client: Client, *, greet: bool) -> None:
        """Raises `Unavailable` where too many watch already; the microphone always has a seat."""
        watching = sum(not one.peer for one in self._clients.values())
        if not client.peer and watching >= MAX_CLIENTS:
            raise Unavailable(f"{MAX_CLIENTS} clients watch this call already.")
        self._clients[client.id] = client
        if client.ours and self._peer is not None:
            self._send(self._peer, client.id)
        if greet:
            self._send(self.machine.greeting(), client.id)

    def leave(self, client: Client, lost: str | None = None, silent: float = 0.0) -> None:
        """With the microphone goes the session, unless it was `lost`, for that reason: then the
        call is kept for a while. `silent`: seconds since it was last heard of, where it should have
        been."""
        if self._clients.pop(client.id, None) is None or not client.peer:
            return
        if lost is not None and self._kept_seconds:
            self.vanish(lost, silent)
            return
        self.connection("closed", reason=lost or LEFT)
        self.end("the client left")

    # --- How the client is connected ------------------------------------------------------------

    def connection(
        self, state: str, *, data_channel: str | None = None, reason: str | None = None
    ) -> None:
        """Our own server is told, now and when it joins."""
        open_ = data_channel or (self._peer["data_channel"] if self._peer else "connecting")
        if state not in ("connecting", "connected"):
            open_ = "closed"
        peer = server.frame("vivavoce.peer", state=state, data_channel=open_, reason=reason)
        if peer != self._peer and not self.ended.is_set():
            self._peer = peer
            self._send(peer, orders.Audience.OURS)

    def vanish(self, reason: str, silent: float = 0.0) -> None:
        """Nobody hung up, and nobody is there: for a while they may come back. Only our own server
        knows how to bring them back, so other people's calls end."""
        if self.lost or self.ended.is_set():
            return
        if not self._kept_seconds:
            self.connection("closed", reason=reason)
            self.end("the client was lost")
            return
        self.lost = True
        self.connection("lost", reason=reason)
        self.post(facts.PeerLost(silent))
        # What was being said when it broke off is over, and not forgotten.
        self._intake.feed_track(np.zeros(_SILENCE * EAR_RATE, np.int16), EAR_RATE)
        self._start_timer("grace", self._kept_seconds)

    def receive(self, client: Client, raw: str | bytes) -> Iterator[None]:
        """A frame from a client. Whatever is in it, the session lives on.

        Five minutes of sound in one frame take a second to look through: the
        iterator stops now and then, for others to have their turn.
        """
        try:
            event = parse(raw, locked=client.locked, ours=client.ours)
        except BadFrame as bad:
            self._send(server.error(bad.fault, bad.event_id), client.id)
            return
        if isinstance(event, AppendInput):
            try:
                yield from self._append(client, event)
            except Refused as fault:
                self._send(server.error(fault, event.event_id), client.id)
            return
        if isinstance(event, CommitInput | ClearInput):
            self._intake.finish_wire()
        intake = self._intake
        self.post(facts.Request(event, client.id, intake.buffered_ms, intake.end_ms))

    def _append(self, client: Client, append: AppendInput) -> Iterator[None]:
        if self._paced or not client.peer:
            words = "Sound comes from the call's own peer here, not from this connection."
            raise Refused(words, code="not_allowed", param="type")
        if self.speaks is not None:
            speaks, self.speaks = self.speaks, None
            try:
                speaks()
            except Unavailable as full:
                self.end(full.message, 1013)
                raise Refused(full.message, code=full.code, type="server_error") from None
        pieces: list[bytes] = []
        for piece in append.sound():  # all of it first: half an append is none
            if pieces:
                yield
            pieces.append(piece)
        sound = b"".join(pieces)
        for at in range(0, len(sound), _SLICE):
            self._intake.feed_wire(sound[at : at + _SLICE])
            if at + _SLICE < len(sound):
                yield

    # --- PeerEvents ---------------------------------------------------------------------------

    def playing(self, response_id: str) -> None:
        self.post(facts.Playing(response_id))

    def played(self, response_id: str) -> None:
        self.post(facts.Played(response_id))

    def position(self) -> Position | None:
        return self.reached()

    # --- Facts in, orders out -----------------------------------------------------------------

    def post(self, fact: facts.Fact) -> None:
        """Decide and do, now. What is posted meanwhile comes right after."""
        self._facts.append(fact)
        if self._busy:
            return
        self._busy = True
        try:
            while self._facts and not self.ended.is_set():
                fact, now = self._facts.popleft(), self._loop.time()
                for order in self.machine.receive(fact, now, self.position()):
                    self._do(order)
        except Exception:  # the boundary of a session: callers are callbacks of others' loops
            log.exception("A session broke")
            fault = Refused("The server had an error.", code="internal_error", type="server_error")
            self._send(server.error(fault), orders.Audience.ALL)
            self.end("internal error")
        finally:
            self._busy = False

    def _do(self, order: orders.Order) -> None:
        match order:
            case orders.Send(event, to):
                self._send(event, to)
            case orders.Play():
                self._play(order)
            case orders.LastSound(place):
                if (codec := self._codecs.pop(place["response_id"], None)) is not None:
                    self._sound(codec.feed(b"", last=True), place)
            case orders.ClearPlaying() if self.playout is not None:
                self.playout.clear()
            case orders.Duck(quiet) if self.playout is not None:
                self.playout.duck(quiet)
            case orders.FinishPlaying(response_id) if self.playout is not None:
                self.playout.finish(response_id)
            case orders.Listen():
                self._work.listen(order)
            case orders.StopListening():
                self._work.stop_listening()
            case orders.Guess():
                self._work.guess(order)
            case orders.DropGuess():
                self._work.resume()
            case orders.Warm():
                self._work.warm()
            case orders.Answer():
                self._work.answer(order)
            case orders.Interject():
                self._work.interject(order)
            case orders.StopAnswer(response_id):
                self._work.stop(response_id)
            case orders.Transcribe(item_id, start_ms, end_ms):
                self._work.transcribe(item_id, start_ms, end_ms)
            case orders.TranscribeClip(item_id, audio):
                form = self.machine.state.configuration.input_format.type
                self._work.transcribe_clip(item_id, audio, form)
            case orders.ForgetAudio(before_ms):
                self._intake.forget(before_ms)
            case orders.RestartEars():
                self._intake.restart()
            case orders.Configure(configuration):
                self._intake.configure(configuration)
            case orders.StartTimer(name, seconds):
                self._start_timer(name, seconds)
            case orders.StopTimer(name):
                if (timer := self._timers.pop(name, None)) is not None:
                    timer.cancel()
            case orders.EndCall(reason):
                self.end(reason)

    def _start_timer(self, name: str, seconds: float) -> None:
        if (old := self._timers.pop(name, None)) is not None:
            old.cancel()
        self._timers[name] = self._loop.call_later(seconds, self._fire, name)

    def _fire(self, name: str) -> None:
        self._timers.pop(name, None)
        self.post(facts.TimerFired(name, self._intake.end_ms))

    # --- Events and sound out -----------------------------------------------------------------

    def _send(self, event: server.Frame, to: orders.Audience | int) -> None:
        peer, others = orders.Audience.PEER, orders.Audience.OBSERVERS
        clients = [
            client
            for client in self._clients.values()
            if to in (orders.Audience.ALL, client.id, peer if client.peer else others)
            or (client.ours and to is orders.Audience.OURS)
        ]
        if not clients:
            return
        frame = _encoded(event)
        for client in clients:
            if client.locked and event["type"].startswith("session."):
                # What a page on our server's call need not read: prompt and tools are the server's.
                session = {**event["session"], "instructions": "", "tools": []}
                client.push(_encoded({**event, "session": session}))
            else:
                client.push(frame)

    def _play(self, order: orders.Play) -> None:
        if self.playout is not None:
            self.playout.put(order.response_id, order.item_id, order.pcm)
            return
        codec = self._codecs.get(order.response_id)
        if codec is None:
            codec = self._codecs[order.response_id] = Outbound(order.form)
        for at in range(0, len(order.pcm), _DELTA_BYTES):
            self._sound(codec.feed(order.pcm[at : at + _DELTA_BYTES]), order.place)

    def _sound(self, sound: bytes, place: dict[str, Any]) -> None:
        if sound:
            delta = base64.b64encode(sound).decode()
            self._send(
                server.frame("response.output_audio.delta", place, delta=delta),
                orders.Audience.PEER,
            )


def _encoded(event: server.Frame) -> bytes:
    return orjson.dumps({"type": event["type"], "event_id": new_id("event"), **event})
