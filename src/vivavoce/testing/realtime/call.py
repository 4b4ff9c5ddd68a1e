"""One call at the scripted provider, driven by a script or by hand, and its sidebands.

What to say and how to answer comes from `conversation`; connections are made
and broken by the provider.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, Concatenate, ParamSpec, TypeVar

from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from vivavoce.runtime.ports import Clock
from vivavoce.testing.realtime.conversation import Conversation, Transcript, reply
from vivavoce.testing.realtime.faults import (
    BadJson,
    CallFault,
    Close,
    Delay,
    Drop,
    Garbage,
    Reorder,
)
from vivavoce.testing.realtime.ledger import Json
from vivavoce.testing.realtime.response import ToolUse

P = ParamSpec("P")
T = TypeVar("T")

Where = Mapping[str, Any] | Callable[[Json], bool]
"""A part that the frame must contain, or a question about it."""

MAX_FRAMES = 10_000
TIMEOUT = 5.0


@dataclass(eq=False, slots=True)
class Connection:
    """One attached sideband; `abort` cuts it without a close frame."""

    socket: WebSocket
    abort: Callable[[], None]

    async def send(self, frame: str | bytes) -> None:
        """To one that is closed already, nothing is sent, as in life."""
        try:
            async with asyncio.timeout(TIMEOUT):
                if isinstance(frame, str):
                    await self.socket.send_text(frame)
                else:
                    await self.socket.send_bytes(frame)
        except (WebSocketDisconnect, RuntimeError):
            return

    async def close(self, code: int, reason: str) -> None:
        if self.socket.application_state is WebSocketState.CONNECTED:
            try:
                await self.socket.close(code, reason)
            except (WebSocketDisconnect, RuntimeError):
                return

    async def next(self) -> Json | None:
        """What the client sent, or None once it has ended."""
        try:
            frame: Json = json.loads(await self.socket.receive_text())
        except (WebSocketDisconnect, RuntimeError):
            return None
        return frame


class Outbox:
    """Sends every event to every sideband, in order, unless it was told to misbehave."""

    def __init__(self, clock: Clock) -> None:
        self.attached: list[Connection] = []
        self.emitted: deque[Json] = deque(maxlen=MAX_FRAMES)
        self._clock = clock
        self._sending = asyncio.Lock()
        self._late: tuple[float, int] = (0.0, 0)
        self._hold = 0
        self._held: list[Json] = []

    async def broadcast(self, event: Json) -> None:
        async with self._sending:  # two that speak at once must not mix their events
            seconds, count = self._late
            if count:
                self._late = (seconds, count - 1)
                await self._clock.sleep(seconds)
            self._held.append(event)
            if len(self._held) < self._hold:
                return
            ready, self._held, self._hold = self._held[::-1], [], 0
            for one in ready:
                self.emitted.append(one)
                await self._to_all(json.dumps(one))

    async def misbehave(self, fault: CallFault) -> None:
        match fault:
            case Drop():
                for one in self.attached:
                    one.abort()
            case Close(code, reason):
                for one in list(self.attached):
                    await one.close(code, reason)
            case BadJson():
                await self._to_all('{"type": "session.upd')
            case Garbage():
                await self._to_all(b"\x00\xff\xfe\x80garbage")
            case Delay(seconds, events):
                self._late = (seconds, events)
            case Reorder(events):
                self._hold = events

    async def _to_all(self, frame: str | bytes) -> None:
        for one in list(self.attached):
            await one.send(frame)


class Inbox:
    """What came in, and the wait for what has not come yet."""

    def __init__(self, name: str) -> None:
        self.received: deque[Json] = deque(maxlen=MAX_FRAMES)
        self._name = name
        self._unmatched: deque[Json] = deque(maxlen=MAX_FRAMES)
        self._changed = asyncio.Condition()

    async def put(self, frame: Json) -> None:
        self.received.append(frame)
        self._unmatched.append(frame)
        await self.look()

    async def look(self) -> None:
        """Something has changed: whoever waits looks again."""
        async with self._changed:
            self._changed.notify_all()

    async def take(self, kind: str, where: Where | None, timeout: float) -> Json:
        def match() -> Json | None:
            for frame in self._unmatched:
                if frame.get("type") == kind and _fits(frame, where):
                    self._unmatched.remove(frame)
                    return frame
            return None

        wanted = kind if where is None or callable(where) else f"{kind} with {dict(where)}"
        return await self.until(match, timeout, wanted)

    async def until(self, answer: Callable[[], T | None], timeout: float, wanted: str) -> T:
        """The first answer that is not None."""
        try:
            async with asyncio.timeout(timeout), self._changed:
                while (found := answer()) is None:
                    await self._changed.wait()
                return found
        except TimeoutError:
            frames = [f"  {n}. {_short(frame)}" for n, frame in enumerate(self.received, 1)]
            listing = "\n".join(frames[-40:]) or "  nothing"
            message = f"{self._name}: expected {wanted} within {timeout} s; received:\n{listing}"
            raise AssertionError(message) from None


def _fits(frame: Json, where: Where | None) -> bool:
    if where is None:
        return True
    return where(frame) if callable(where) else _contains(frame, where)


def _contains(have: object, want: object) -> bool:
    """Mappings by the keys that are wanted, all else by equality."""
    if isinstance(want, Mapping):
        return isinstance(have, Mapping) and all(
            key in have and _contains(have[key], value) for key, value in want.items()
        )
    return have == want


def _short(frame: Json) -> str:
    text = json.dumps(frame, ensure_ascii=False)
    return text if len(text) <= 200 else text[:199] + "…"


def _emitted(
    say: Callable[Concatenate[Conversation, P], list[Json]],
) -> Callable[Concatenate[ScriptedCall, P], Coroutine[Any, Any, None]]:
    """What the conversation says, sent."""

    async def emit(call: ScriptedCall, /, *args: P.args, **kwargs: P.kwargs) -> None:
        await call.emit(*say(call.conversation, *args, **kwargs))

    emit.__name__, emit.__doc__ = say.__name__, say.__doc__
    return emit


class ScriptedCall:
    """`offer` is the SDP it was created with, `authorised_by` "key" or "secret"."""

    def __init__(
        self,
        call_id: str,
        session: Mapping[str, Any],
        *,
        clock: Clock,
        offer: str = "",
        authorised_by: str = "key",
        webrtc: bool = True,
        defaults: bool = True,
        timeout: float = TIMEOUT,
    ) -> None:
        self.id = call_id
        self.offer = offer
        self.authorised_by = authorised_by
        self.conversation = Conversation(session, webrtc=webrtc)
        self.over = False
        self._defaults = defaults
        self._timeout = timeout
        self._inbox = Inbox(f"call {call_id}")
        self._outbox = Outbox(clock)

    @property
    def received(self) -> list[Json]:
        """What clients sent, over all sidebands."""
        return list(self._inbox.received)

    @property
    def emitted(self) -> list[Json]:
        """What the sidebands were sent."""
        return list(self._outbox.emitted)

    @property
    def session(self) -> Json:
        """The configuration in force."""
        return self.conversation.ledger.session

    # --- Waiting ------------------------------------------------------------------------

    async def attached(self, sidebands: int = 1, *, timeout: float = TIMEOUT) -> None:
        """Return once this many sidebands are attached."""
        attached = self._outbox.attached
        wanted = f"{sidebands} sideband(s) attached"
        await self._inbox.until(
            lambda: True if len(attached) >= sidebands else None, timeout, wanted
        )

    async def detached(self, *, timeout: float = TIMEOUT) -> None:
        """Return once no sideband is left."""
        attached = self._outbox.attached
        await self._inbox.until(lambda: None if attached else True, timeout, "no sideband left")

    async def ended(self, *, timeout: float = TIMEOUT) -> None:
        """Return once someone has hung up."""
        await self._inbox.until(lambda: True if self.over else None, timeout, "a hang-up")

    async def expect(
        self, kind: str, where: Where | None = None, *, timeout: float | None = None
    ) -> Json:
        """The first frame of this type that fits; each frame is matched once at most."""
        return await self._inbox.take(kind, where, self._timeout if timeout is None else timeout)

    # --- Saying -------------------------------------------------------------------------

    async def emit(self, *events: Mapping[str, Any]) -> None:
        """Send to every sideband; what nobody is attached to hear is lost, as in life."""
        for given in events:
            event = dict(given)
            event.setdefault("event_id", self.conversation.ledger.new_id("event"))
            await self._outbox.broadcast(event)

    async def session_updated(self, patch: Mapping[str, Any] | None = None) -> None:
        await self.emit(*self.conversation.ledger.session_updated(patch))

    async def user_says(
        self, text: str, *, transcript: Transcript = "now", heard_ms: int | None = None
    ) -> str:
        """The id of the new item. Interrupts the assistant, who was heard for `heard_ms`."""
        said = self.conversation.user_says(text, transcript=transcript, heard_ms=heard_ms)
        await self.emit(*said)
        return str(said[0]["item_id"])

    user_starts = _emitted(Conversation.user_starts)
    user_stops = _emitted(Conversation.user_stops)
    transcripts_arrive = _emitted(Conversation.transcripts)
    assistant_says = _emitted(Conversation.assistant_says)
    assistant_starts = _emitted(Conversation.assistant_starts)
    assistant_finishes = _emitted(Conversation.assistant_finishes)
    playback_ends = _emitted(Conversation.playback_ends)
    calls_tools = _emitted(Conversation.calls_tools)
    response_fails = _emitted(Conversation.response_fails)

    async def calls_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | str = "{}",
        call_id: str | None = None,
        *,
        saying: str | None = None,
    ) -> None:
        """One response with one call; `arguments` may be a string that is no JSON."""
        await self.calls_tools(ToolUse(name, arguments, call_id), saying=saying)

    async def peer_sends(self, event: Mapping[str, Any]) -> list[Json]:
        """The browser sends over its data channel; what the provider answered it."""
        answers = reply(self.conversation, event)
        await self.emit(*(one for one in answers if one["type"] != "error"))
        return answers

    async def browser_hangs_up(self) -> None:
        """As `hang_up`, which is what the provider makes of it."""
        await self.hang_up()

    async def hang_up(self, code: int = 1000) -> None:
        """The call is over: its sidebands are closed, and there is nothing to attach to."""
        self.over = True
        await self._inbox.look()
        await self.inject(Close(code))

    async def inject(self, fault: CallFault) -> None:
        """Misbehave, now or with the next events."""
        await self._outbox.misbehave(fault)

    # --- For the provider ---------------------------------------------------------------

    async def serve(self, connection: Connection) -> None:
        """Listen to one sideband until it ends."""
        if not self.conversation.ledger.webrtc:
            for event in self.conversation.ledger.session_created():
                await connection.send(json.dumps(event))
        self._outbox.attached.append(connection)
        await self._inbox.look()
        try:
            while (frame := await connection.next()) is not None:
                await self._inbox.put(frame)
                if self._defaults:
                    await self._answer(frame, connection)
        finally:
            self._outbox.attached.remove(connection)
            await self._inbox.look()

    async def _answer(self, frame: Json, connection: Connection) -> None:
        for event in reply(self.conversation, frame):
            if event["type"] == "error":  # only who erred is told
                self._outbox.emitted.append(event)
                await connection.send(json.dumps(event))
            else:
                await self._outbox.broadcast(event)
