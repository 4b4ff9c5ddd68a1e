"""One runtime at one conversation: what it is told, what it is asked, what waits for its answer.

A link outlives connections. What a connection that broke was asked is asked again by the next,
once, under the same id. It stands beside the live session of its conversation (`Companion`), if
there is one: events of that become the runtime's, and pieces to be read out become calls.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Literal

import orjson

from vivavoce.errors import InvalidArguments, ToolFailed, ToolNotFound
from vivavoce.runtime.calls.outcomes import ToolOutcome, ToolRequest
from vivavoce.runtime.conductor.line import Line
from vivavoce.runtime.ids import is_call_id
from vivavoce.runtime.ports import ClientTools, Store, ToolOutput
from vivavoce.runtime.sessions.live import LiveSession
from vivavoce.session import effects as fx
from vivavoce.session.events import ApprovalSettled, Interrupted, Overheard, Spoken
from vivavoce.wire.conductor import confirm
from vivavoce.wire.conductor.codes import ServerCode
from vivavoce.wire.conductor.confirm import Click
from vivavoce.wire.conductor.event import fault
from vivavoce.wire.conductor.kinds import (
    CONFIRM,
    SET_STATE,
    SPEAK,
    AssistantSpeechFinal,
    Error,
    Kind,
    Tool,
    ToolCall,
    ToolResult,
)
from vivavoce.wire.events import (
    ErrorOccurred,
    SessionStatus,
    TranscriptionCompleted,
    TranscriptionDelta,
    VoiceEvent,
)
from vivavoce.wire.records.talk import entry_id, new_id
from vivavoce.wire.records.work import Role
from vivavoce.wire.values import Value

Shown = Literal["listening", "thinking", "speaking", "idle"]
_SHOWN: dict[str, Shown] = {
    "listening": "listening",
    "processing": "thinking",
    "executing_tool": "thinking",
    "speaking": "speaking",
    "waiting_task": "idle",
    "ready": "idle",
}
_REMEMBERED = 256  # of our own calls that are over: a late answer to one is no mistake
_WORKING = ("thinking", "speaking")
_STATE, _SPEAK = "state-", "speak-"
_OUR_CALLS = (_STATE, _SPEAK, confirm.CALL)


class Asked(Value):
    """A call that the runtime has, and has not answered."""

    name: str
    arguments: str


Over = Callable[[Spoken | Interrupted], Awaitable[None]]
"""Hears what became of a piece that was read out."""


class Reading(Value):
    """What of which answer is being read out."""

    call_id: str
    item_id: str
    start: int
    over: Over


class Unread(Value):
    """An answer of which nobody knows how much was heard."""

    entry_id: str
    item_id: str
    text: str
    over: Over


class Link:
    def __init__(
        self,
        user_id: str,
        conversation_id: str,
        role: Role,
        *,
        store: Store,
        confirmed: Callable[[Link, str, Click], Awaitable[bool]],
        gone: Callable[[Link, LiveSession], None],
    ) -> None:
        self.user_id, self.conversation_id, self.role = user_id, conversation_id, role
        self.tools: ClientTools | None = None
        self.wanted: Sequence[Tool] | None = None
        """What the runtime said of them."""
        self.line: Line | None = None
        self.live: LiveSession | None = None
        self.sentences = False
        self.known = False
        """Was anything said here before this connection?"""
        self.catching_up = False
        """Is what a restart left being brought to its end?"""
        self.inbox = asyncio.Lock()
        self.hearing = 0  # sentences that are being taken in
        self._store, self._confirmed, self._gone = store, confirmed, gone
        self._shown: Shown = "idle"
        self._phase: Shown = "idle"
        self._expecting = False  # something was said, and the session does not show it yet
        self._saying: dict[str, str] = {}  # item → its words so far
        self._said: OrderedDict[str, None] = OrderedDict()
        self._asked: dict[str, Asked] = {}  # in order: what is sent again
        self._answers: dict[str, asyncio.Future[ToolResult]] = {}
        self._reading: Reading | None = None
        self._confirming: dict[str, confirm.Asked] = {}  # by call
        self._over: OrderedDict[str, None] = OrderedDict()
        self._names: set[str] = set()  # call ids that models gave themselves

    @property
    def away(self) -> bool:
        on_its_way = self.hearing or self.catching_up or self._asked or self._reading is not None
        return self.line is None and not on_its_way

    # --- Sending ----------------------------------------------------------------------

    def push(self, kind: Kind) -> None:
        if self.line is not None:
            self.line.push(kind)

    def refuse(self, code: ServerCode, message: str, event_id: str | None = None) -> None:
        self.push(fault(code, message, event_id))

    def show(self, state: Shown) -> None:
        """The state, where it is another than the runtime has."""
        if state != self._shown:
            self._shown = state
            self._tell_state()

    def _tell_state(self) -> None:
        call_id = f"{_STATE}{new_id()}"
        self._finish(call_id)  # whatever comes of it, nobody waits for it
        arguments = orjson.dumps({"state": self._shown}).decode()
        self.push(ToolCall(call_id=call_id, name=SET_STATE, arguments=arguments))

    def _ask(self, call_id: str, name: str, arguments: str, *, tell: bool = True) -> None:
        self._asked[call_id] = Asked(name, arguments)
        if tell:
            self.push(ToolCall(call_id=call_id, name=name, arguments=arguments))

    def _finish(self, call_id: str) -> None:
        self._asked.pop(call_id, None)
        self._over[call_id] = None
        while len(self._over) > _REMEMBERED:
            self._over.popitem(last=False)

    def again(self) -> None:
        """For a connection that takes the place of another: the state, and what waits."""
        if self._reading is not None and self._shown != "listening":
            self._shown = "speaking"
        self._tell_state()
        for call_id, asked in self._asked.items():
            self.push(ToolCall(call_id=call_id, name=asked.name, arguments=asked.arguments))

    # --- Said by the runtime ------------------------------------------------------------

    def expect(self) -> None:
        """The user said something."""
        self._expecting = True
        self.show("thinking")

    def settled(self) -> None:
        """Nothing comes of it, or it has come already."""
        self._expecting = False
        if self._reading is None:
            self.show(self._phase)

    def resume(self, unread: Unread | None, *, owing: bool) -> None:
        """As it is found after a restart; `again` tells of it."""
        if unread is not None:
            self.read_out(unread.entry_id, unread.text, unread.item_id, 0, unread.over, tell=False)
        self._expecting = owing
        self._shown = "thinking" if owing else "idle"

    async def answer(self, told: ToolResult) -> bool:
        """False where no such call waits."""
        call_id = told.call_id
        reading = self._reading
        if reading is not None and reading.call_id == call_id:
            self._reading = None
            self._finish(call_id)
            failed = told.error is not None
            await reading.over(Spoken(reading.item_id, reading.start, failed))
            if self.live is None:  # nobody else says so
                self.show("thinking" if self._expecting else "idle")
        elif (asked := self._confirming.pop(call_id, None)) is not None:
            self._finish(call_id)
            click = confirm.meant(asked, told, self.user_id)
            if isinstance(click, Click):
                settled = await self._confirmed(self, asked.approval_id, click)
                if self.live is not None:  # a hand has answered: nobody is about to speak
                    if settled:  # nor is it to be asked again, if it was spoken over
                        await self.live.post(ApprovalSettled(asked.approval_id))
                    await self.live.post(Overheard(over=True))
            elif click != "failed":
                self.refuse("invalid_event", _NO_CLICK)
        elif (answer := self._answers.get(call_id)) is not None and not answer.done():
            answer.set_result(told)
        else:
            return call_id in self._over
        return True

    async def interrupted(self, told: Error) -> None:
        """The user spoke over what is being read out."""
        reading = self._reading
        if told.call_id is not None and (reading is None or reading.call_id != told.call_id):
            return  # of one that is over
        item_id = "" if reading is None else reading.item_id
        event = Interrupted(item_id, told.position_characters, told.position_ms)
        if reading is not None:
            self._reading = None
            self._finish(reading.call_id)
            await reading.over(event)
        elif self.live is not None:
            await self.live.post(event)
        if self.live is None:
            self.show("listening")

    # --- The client's tools -------------------------------------------------------------

    async def call(self, call_id: str, name: str, arguments: str) -> str | ToolOutput:
        """Run by the runtime; whoever calls decides how long that may take."""
        answer: asyncio.Future[ToolResult] = asyncio.get_running_loop().create_future()
        self._answers[call_id] = answer
        self._ask(call_id, name, arguments)
        try:
            told = await answer
        finally:
            del self._answers[call_id]
            self._asked.pop(call_id, None)
        if told.error is None:
            return told.result or "null"
        if not told.result:
            raise ToolFailed(told.error[:4_000])
        return ToolOutput(told.result, failed=told.error[:4_000])

    # --- Beside a session (`Companion`) ---------------------------------------------------

    def told(self, event: VoiceEvent) -> None:
        match event:
            case TranscriptionDelta(role="assistant", item_id=item_id):
                said = self._saying[item_id] = self._saying.get(item_id, "") + event.delta
                if self.line is not None:
                    self.line.partial(said)
            case TranscriptionCompleted(role="assistant", item_id=item_id):
                self._saying.pop(item_id, None)
                if item_id not in self._said and event.transcript.strip():
                    self._remember(item_id)
                    # While another answer is read out no phase says that this one was made.
                    self._expecting = False
                    self.push(AssistantSpeechFinal(text=event.transcript))
            case SessionStatus(state=state) if state in _SHOWN:
                self._move(_SHOWN[state])
            case ErrorOccurred():
                self._expecting = False
                self.refuse("bedrock_error", event.message)
            case _:
                pass

    def _remember(self, item_id: str) -> None:
        self._said[item_id] = None
        while len(self._said) > _REMEMBERED:
            self._said.popitem(last=False)

    def _move(self, phase: Shown) -> None:
        """As the session moves. `tts.speak` says by itself that the assistant speaks; where it
        comes in parts, nothing says so between them."""
        self._phase = phase
        if phase in _WORKING:
            self._expecting = False
        if self._expecting or (phase == "speaking" and not self.sentences):
            return
        self.show(phase)

    def speak(self, piece: fx.Speak) -> None:
        live = self.live
        assert live is not None
        named = entry_id(live.id, piece.item_id)
        self.read_out(named, piece.text, piece.item_id, piece.start, live.post)

    def read_out(
        self,
        named: str,
        text: str,
        item_id: str,
        start: int,
        over: Over,
        *,
        tell: bool = True,
    ) -> None:
        """The same piece of the same answer has the same id, after a restart too."""
        call_id = f"{_SPEAK}{named}" + (f"-{start}" if start else "")
        self._reading = Reading(call_id, item_id, start, over)
        self._ask(call_id, SPEAK, orjson.dumps({"text": text}).decode(), tell=tell)

    def confirm(self, wanted: fx.Confirm) -> None:
        """Once each, whoever wants it."""
        asked = confirm.Asked(wanted.approval_id, self.user_id, wanted.question or "")
        call_id = asked.call_id
        if wanted.question is None:
            if self._confirming.pop(call_id, None) is not None:
                self._finish(call_id)
        elif call_id in self._confirming or call_id in self._over:
            pass
        elif self.tools is not None and CONFIRM in self.tools.reserved:
            self._confirming[call_id] = asked
            call = confirm.call_of(asked)
            self._ask(call_id, call.name, call.arguments)

    async def asked(self, request: ToolRequest) -> ToolRequest:
        tools = self.tools
        if tools is None:
            return request
        given = request.arguments
        inner = tools.unwrapped(request.name, given) if isinstance(given, str) else None
        if inner is not None:
            free = await self._free(inner.call_id)
            call_id = inner.call_id if free else request.call_id
            request = replace(request, name=inner.name, arguments=inner.arguments, call_id=call_id)
        ours = request.name in {*tools.names, *(one.name for one in tools.offered)}
        if ours or inner is not None:
            # What is in the wrapper was not offered by its own name.
            allowed = None if request.name in tools.names else request.allowed
            return replace(request, tools=tools, allowed=allowed)
        return replace(request, beside=tools)

    async def _free(self, call_id: str) -> bool:
        """May the model's own name for a call be its name? What the server itself asks the runtime
        has names of its own, and an answer is known by them."""
        if not is_call_id(call_id) or call_id.startswith(_OUR_CALLS):
            return False
        if call_id in self._names or call_id in self._over:
            return False
        if await self._store.tool_call(call_id, user_id=self.user_id) is not None:
            return False
        self._names.add(call_id)
        return True

    def answered(self, request: ToolRequest, outcome: ToolOutcome) -> None:
        wrong = outcome.fault
        ours = request.tools is not None
        if isinstance(wrong, ToolNotFound) or (ours and isinstance(wrong, InvalidArguments)):
            self.refuse("invalid_tool_call", wrong.message)

    def over(self, live: LiveSession) -> None:
        """The session is: the next word opens another."""
        if self.live is not live:
            return
        self.live = None
        self._saying.clear()
        self._expecting = False
        self._phase = "idle"
        if self._reading is not None:
            self._finish(self._reading.call_id)
            self._reading = None
        self.show("idle")
        self._gone(self, live)


_NO_CLICK = (
    'That is neither a yes nor a no to this request: {"approvalId": …, "approved": true} is one.'
)
