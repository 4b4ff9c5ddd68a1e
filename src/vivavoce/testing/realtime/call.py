"""One call at the scripted provider, driven by a script or by hand, and its sidebands.

Who says what is made as the events a Realtime provider sends, in the order of
recorded traffic. What a client sends is answered, when no script says otherwise
(`reply`), as strictly as by the real service, so that a test fails here and not on
someone's bill. Connections are made and broken by the provider.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, Concatenate, Final, Literal, ParamSpec, TypeVar

from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from vivavoce.runtime.ports import Clock
from vivavoce.testing.realtime.faults import (
    BadJson,
    CallFault,
    Close,
    Delay,
    Drop,
    Garbage,
    Reorder,
)
from vivavoce.testing.realtime.ledger import MS_PER_WORD, Json, Ledger, pieces
from vivavoce.testing.realtime.response import Assistant, ToolUse
from vivavoce.wire.realtime import client, server
from vivavoce.wire.realtime.items import (
    ROOT,
    FunctionCallOutput,
    Message,
    Part,
    item_object,
    read_item,
)
from vivavoce.wire.realtime.refusal import Refused, reading, refused
from vivavoce.wire.realtime.response import ResponseCreate
from vivavoce.wire.realtime.session import RealtimeSession

Transcript = Literal["now", "during", "late", "failed"]
"""When a user's transcript comes: at once, within the next response (as recorded),
after the next response, or not at all because it failed."""


_DELTA: Final = "conversation.item.input_audio_transcription.delta"
_COMPLETED: Final = "conversation.item.input_audio_transcription.completed"


class Conversation:
    """The provider's side of one call."""

    def __init__(self, session: Mapping[str, Any], *, webrtc: bool) -> None:
        self.ledger = Ledger(session, webrtc=webrtc)
        self.assistant = Assistant(self.ledger)
        self.audio_appended = False
        self._speech: str | None = None
        self._clock_ms = 1000
        self._waiting: list[tuple[Transcript, str, str]] = []

    # --- The user -----------------------------------------------------------------------

    def user_starts(self, *, heard_ms: int | None = None) -> list[Json]:
        """Speech begins; where the session allows it, that interrupts the assistant."""
        self._speech = self.ledger.new_id("item")
        where: Json = {"audio_start_ms": self._clock_ms, "item_id": self._speech}
        started = self.ledger.event("input_audio_buffer.speech_started", where)
        turns = self.ledger.session["audio"]["input"]["turn_detection"]
        if turns is None or not turns["interrupt_response"]:
            return [started]
        return [started, *self._interrupted(heard_ms)]

    def user_stops(self, text: str, transcript: Transcript = "now") -> list[Json]:
        """Speech ends and is committed; the transcript comes when `transcript` says."""
        assert self._speech is not None, "nobody speaks"
        item_id, self._speech = self._speech, None
        self._clock_ms += MS_PER_WORD * max(1, len(text.split()))
        where: Json = {"audio_end_ms": self._clock_ms, "item_id": item_id}
        stopped = self.ledger.event("input_audio_buffer.speech_stopped", where)
        self._waiting.append((transcript, item_id, text))
        return [stopped, *self.commit(item_id), *self.transcripts("now", "failed")]

    def user_says(
        self, text: str, *, transcript: Transcript = "now", heard_ms: int | None = None
    ) -> list[Json]:
        return self.user_starts(heard_ms=heard_ms) + self.user_stops(text, transcript)

    def commit(self, item_id: str) -> list[Json]:
        """What was heard becomes an item."""
        before = self.ledger.last_item
        where = {"previous_item_id": before, "item_id": item_id}
        committed = self.ledger.event("input_audio_buffer.committed", where)
        item = item_object(Message(item_id, "user", (Part("input_audio"),)))
        return [committed, *self.ledger.add_item(item)]

    def transcripts(self, *due: Transcript) -> list[Json]:
        """Those that are due, or all that are still to come."""
        ready = [one for one in self._waiting if not due or one[0] in due]
        self._waiting = [one for one in self._waiting if one not in ready]
        return [event for one in ready for event in self._transcript(*one)]

    # --- The assistant --------------------------------------------------------------------

    def assistant_starts(self, text: str) -> list[Json]:
        """A message that stays open, as when someone is about to interrupt."""
        events = self.assistant.begin() + self.assistant.speak(text)
        return events + self.transcripts("during")

    def assistant_finishes(self, *, played: bool = True) -> list[Json]:
        """`played=False` leaves the audio in the buffer, until `playback_ends`."""
        events = self.assistant.end()
        if played:
            events += self.playback_ends()
        return events + self.transcripts("late")

    def assistant_says(self, text: str, *, played: bool = True) -> list[Json]:
        return self.assistant_starts(text) + self.assistant_finishes(played=played)

    def calls_tools(self, *calls: ToolUse, saying: str | None = None) -> list[Json]:
        """One response with all these calls, after a message where `saying` has one."""
        events = self.assistant.begin()
        if saying is not None:
            events += self.assistant.speak(saying) + self.assistant.end_message()
        events += self.transcripts("during")
        for call in calls:
            events += self.assistant.call_tool(call)
        return events + self.assistant_finishes()

    def response_fails(self, code: str = "server_error", message: str = "It failed.") -> list[Json]:
        error = {"type": "server_error", "code": code, "message": message}
        details = {"type": "failed", "error": error}
        return self.assistant.begin() + self.assistant.end("failed", details)

    def playback_ends(self) -> list[Json]:
        return self.assistant.stop_audio()

    # --- Pieces ---------------------------------------------------------------------------

    def _interrupted(self, heard_ms: int | None) -> list[Json]:
        """Over WebRTC the server itself clears what is playing and truncates to what was heard."""
        events, playing = self.assistant.cancel("turn_detected"), self.assistant.playing
        if playing is None:
            return events
        _, item_id = playing
        whole = self.ledger.audio_ms[item_id]
        heard = whole // 2 if heard_ms is None else min(heard_ms, whole)
        self.ledger.audio_ms[item_id] = heard
        truncated = self.ledger.event(
            "conversation.item.truncated", item_id=item_id, content_index=0, audio_end_ms=heard
        )
        return [*events, *self.assistant.stop_audio(cleared=True), truncated]

    def _transcript(self, when: Transcript, item_id: str, text: str) -> list[Json]:
        event = self.ledger.event
        if when == "failed":
            return [event(server.transcript_failed(item_id, "It could not be transcribed."))]
        usage = server.transcription_usage(max(1, len(text.split()) * MS_PER_WORD // 1000))
        where = {"item_id": item_id, "content_index": 0}
        deltas = [event(_DELTA, where, delta=part) for part in pieces(text)]
        return [*deltas, event(_COMPLETED, where, transcript=text, usage=usage)]


# --- Answers to what a client sends ---------------------------------------------------------


def reply(conversation: Conversation, frame: Mapping[str, Any]) -> list[Json]:
    """The answer to one event of a client, or one `error`."""
    try:
        return _answer(conversation, client.read(dict(frame)))
    except Refused as fault:
        return [conversation.ledger.event(server.error(fault, frame.get("event_id")))]


def _answer(c: Conversation, event: client.ClientEvent) -> list[Json]:
    ledger = c.ledger
    match event:
        case client.UpdateSession(session):
            if session.get("type") != "realtime":
                raise refused("missing_required_parameter", "session.type")
            reading(RealtimeSession.model_validate, session, "session")
            return ledger.session_updated(session)
        case client.CreateItem():
            return _create(c, event)
        case client.DeleteItem(item_id):
            _known(c, item_id, "delete")
            del ledger.items[item_id]
            return [ledger.event("conversation.item.deleted", item_id=item_id)]
        case client.RetrieveItem(item_id):
            _known(c, item_id, "retrieve")
            return [ledger.event("conversation.item.retrieved", item=ledger.items[item_id])]
        case client.Truncate(item_id, end):
            _known(c, item_id, "truncate")
            if end > (have := ledger.audio_ms.get(item_id, 0)):
                words = f"Audio content of {have}ms is already shorter than {end}ms"
                raise Refused(words, code="invalid_value", param="audio_end_ms")
            ledger.audio_ms[item_id] = end
            where = {"item_id": item_id, "content_index": event.content_index}
            return [ledger.event("conversation.item.truncated", where, audio_end_ms=end)]
        case client.CreateResponse(_, params):
            # It begins; what it says is the test's to decide.
            reading(ResponseCreate.model_validate, params or {}, "response")
            if (active := c.assistant.active) is not None:
                raise Refused(
                    f"Conversation already has an active response in progress: {active.id}. "
                    "Wait until the response is finished before creating a new one.",
                    code="conversation_already_has_active_response",
                )
            return c.assistant.begin()
        case client.CancelResponse():
            if c.assistant.active is None:
                words = "Cancellation failed: no active response found"
                raise Refused(words, code="response_cancel_not_active")
            return c.assistant.cancel("client_cancelled")
        case client.AppendInput():
            c.audio_appended = True
            return []
        case client.CommitInput():
            if not c.audio_appended:
                words = "Error committing input audio buffer: buffer too small."
                raise Refused(words, code="input_audio_buffer_commit_empty")
            c.audio_appended = False
            return c.commit(ledger.new_id("item"))
        case client.ClearInput():
            c.audio_appended = False
            return [ledger.event("input_audio_buffer.cleared")]
        case client.ClearOutput():
            return c.assistant.stop_audio(cleared=True)


def _create(c: Conversation, event: client.CreateItem) -> list[Json]:
    items, item, previous = c.ledger.items, read_item(event.item), event.previous_item_id
    if item.id in items:
        words = f"Item with ID '{item.id}' already exists in the conversation."
        raise Refused(words, code="item_create_duplicate_item_id", param="item.id")
    if isinstance(item, FunctionCallOutput):
        calls = {one.get("call_id") for one in items.values() if one["type"] == "function_call"}
        if item.call_id not in calls:
            words = f"Tool call ID '{item.call_id}' not found in conversation."
            raise Refused(words, code="invalid_tool_call_id", param="item.call_id")
    if previous not in (None, ROOT) and previous not in items:
        words = f"Previous item with ID '{previous}' not found."
        code = "item_create_invalid_previous_item_id"
        raise Refused(words, code=code, param="previous_item_id")
    return c.ledger.add_item(event.item, previous)


def _known(c: Conversation, item_id: str, verb: str) -> None:
    if item_id not in c.ledger.items:
        words = f"Error in item.{verb}: item with ID '{item_id}' does not exist."
        raise Refused(words, code=f"item_{verb}_invalid_item_id", param="item_id")


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
        fits = where if callable(where) else lambda frame: _contains(frame, where)

        def match() -> Json | None:
            for frame in self._unmatched:
                if frame.get("type") == kind and (where is None or fits(frame)):
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
