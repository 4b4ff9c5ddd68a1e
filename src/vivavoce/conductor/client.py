"""The client: does what `core.machine` orders, with a line, tasks, a clock and a file.

One task handles what happens, in order; the line, the wait, tools, speech and the stub are tasks of
one group that ends with the client.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from types import TracebackType
from typing import Any, Self, assert_never
from urllib.parse import quote, urlsplit, urlunsplit
from uuid import uuid4

import orjson

from vivavoce.conductor.core import facts, orders, seen
from vivavoce.conductor.core.calls import Entry
from vivavoce.conductor.core.machine import WAITS, App, Machine
from vivavoce.conductor.line import SENDING, Dialler, Line, LineEnded, NoLine, dial
from vivavoce.conductor.memory import Memory
from vivavoce.conductor.tools import ClientTool, ToolError, tool
from vivavoce.wire.conductor.codes import Close
from vivavoce.wire.conductor.kinds import CONFIRM, MOST_TEXT, Tool, session_id_of

log = logging.getLogger(__name__)

MOST_SEEN = 1_000
MOST_RESULT, MOST_ERROR = 200_000, 4_000
_MOST_WAITING = 256  # facts
_CONFIRM = Tool(
    name=CONFIRM,
    description="Asks the user for a yes or a no, by hand.",
    input_schema={
        "type": "object",
        "properties": {"approvalId": {"type": "string"}, "question": {"type": "string"}},
        "required": ["approvalId", "question"],
    },
)

Speak = Callable[[str], Awaitable[None]]
"""Speaks, and returns when it was heard; cancelled where the user speaks over it."""
Confirm = Callable[[str], Awaitable[bool | None]]
"""A question; None where the user said neither."""
Stub = Callable[[str], str | Awaitable[str]]
"""What to answer without a server."""


class Client:
    """A runtime of the conductor: the app's end of a conversation.

        async with Client("ws://127.0.0.1:8080/conductor", tools=[battery]) as client:
            await client.say("How full is the battery?")
            async for one in client:
                print(one)

    `key` goes in a header; `token` is asked for a short-lived one of the session before each
    connection. The `session_id` names the conversation: the same one again goes on with it.
    """

    def __init__(
        self,
        url: str,
        *,
        session_id: str | None = None,
        key: str | None = None,
        token: Callable[[str], Awaitable[str]] | None = None,
        tools: Sequence[ClientTool | Callable[..., Any]] = (),
        speak: Speak | None = None,
        confirm: Confirm | None = None,
        stub: Stub | None = None,
        memory: Memory | None = None,
        agent: str | None = None,
        clauses: bool | None = None,
        waits: Sequence[float] = WAITS,
        dial: Dialler = dial,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.session_id = session_id_of(session_id or str(uuid4()))
        self._url = url
        self._key, self._token = key, token
        self._tools = {t.told.name: t for t in map(_tool, tools)}
        self._speak, self._confirm, self._stub = speak, confirm, stub
        self._memory = memory
        self._agent, self._clauses, self._waits = agent, clauses, waits
        self._dial, self._sleep, self._clock = dial, sleep, clock
        self._machine: Machine | None = None
        self._line: Line | None = None
        self._jammed = False
        self._speaking: asyncio.Task[None] | None = None
        self._asking: dict[str, asyncio.Task[None]] = {}  # questions to the user, by call
        self._facts: asyncio.Queue[facts.Fact] = asyncio.Queue(_MOST_WAITING)
        self._owner: asyncio.TaskGroup | None = None
        self._root: asyncio.Task[None] | None = None
        self._seen: deque[seen.Seen] = deque()
        self._missed = 0
        self._news = asyncio.Event()

    # --- What the app knows -------------------------------------------------------------

    @property
    def connection(self) -> seen.ConnectionState:
        return self._machine.connection if self._machine is not None else "closed"

    @property
    def phase(self) -> seen.PhaseState:
        return self._machine.phase if self._machine is not None else "idle"

    @property
    def document(self) -> Any:
        """What is shown beside the talk."""
        return self._machine.document if self._machine is not None else None

    async def __aiter__(self) -> AsyncIterator[seen.Seen]:
        """Each change, once; it ends with the connection closed for good. One reader at a time."""
        while True:
            while not self._seen:
                self._news.clear()
                await self._news.wait()
            if self._missed:
                missed, self._missed = self._missed, 0
                yield seen.Missed(missed)
            one = self._seen.popleft()
            yield one
            if isinstance(one, seen.Connection) and one.state == "closed":
                return

    # --- What the app does ----------------------------------------------------------------

    async def say(self, text: str) -> None:
        """What the user said. It waits for the connection, if there is none now."""
        await self._facts.put(facts.Said(_sayable(text)))

    async def say_so_far(self, text: str) -> None:
        """All that the user has said so far."""
        await self._facts.put(facts.SaidSoFar(_sayable(text)))

    async def interrupt(
        self, *, position_ms: int | None = None, position_characters: int | None = None
    ) -> None:
        """The user speaks over the assistant; how far it was heard, where the app knows."""
        if min(position_ms or 0, position_characters or 0) < 0:
            raise ValueError("a position is not below 0")
        await self._facts.put(facts.Barged(position_ms, position_characters))

    async def retry(self) -> None:
        """Once more from the start, after the connection was given up."""
        await self._facts.put(facts.Begin())

    async def __aenter__(self) -> Self:
        if self._machine is not None:
            raise RuntimeError("a client begins once")
        told = [each.told for each in self._tools.values()]
        if self._confirm is not None:
            told.append(_CONFIRM)
        app = App(
            self.session_id,
            told,
            self._agent,
            self._clauses,
            speaks=self._speak is not None,
            stub=self._stub is not None,
            waits=self._waits,
        )
        self._machine = Machine(app, await self._remembered())
        self._owner = await asyncio.TaskGroup().__aenter__()
        self._root = self._owner.create_task(self._live(self._machine))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._owner is not None
        assert self._root is not None
        try:
            if not self._root.done():
                await self._facts.put(facts.Leave())
                await asyncio.wait({self._root})
        finally:
            self._root.cancel()
            if kind is None or issubclass(kind, asyncio.CancelledError):
                await self._owner.__aexit__(kind, fault, trace)
            else:  # it goes on as it is, not as one of a group
                await self._owner.__aexit__(None, None, None)

    # --- Orders -----------------------------------------------------------------------------

    async def _live(self, machine: Machine) -> None:
        fact: facts.Fact = facts.Begin()
        try:
            async with asyncio.TaskGroup() as group:
                while True:
                    for order in machine.handle(fact):
                        await self._perform(order, group)
                    if isinstance(fact, facts.Leave):
                        raise _Left
                    fact = await self._facts.get()
        except* _Left:
            pass

    async def _perform(self, order: orders.Order, group: asyncio.TaskGroup) -> None:
        match order:
            case orders.Tell(one):
                self._tell(one)
            case orders.Transmit(text):
                await self._transmit(text, group)
            case orders.Keep(entry):
                await self._keep(entry)
            case orders.Run():
                task = group.create_task(self._run(order))
                if order.name == CONFIRM:
                    self._asking[order.call_id] = task
                    task.add_done_callback(lambda _: self._asking.pop(order.call_id))
            case orders.Withdraw(call_id):
                if (asking := self._asking.get(call_id)) is not None:
                    asking.cancel()
            case orders.Speak():
                before = self._speaking
                self._speaking = group.create_task(self._speak_after(before, order))
            case orders.Hush():
                if self._speaking is not None:
                    self._speaking.cancel()
            case orders.Ask(text):
                group.create_task(self._ask(text))
            case orders.Dial():
                group.create_task(self._connect())
            case orders.Wait(seconds):
                group.create_task(self._wait(seconds))
            case orders.HangUp(code):
                if self._line is not None:
                    await self._line.close(code)
            case _:
                assert_never(order)

    def _tell(self, one: seen.Seen) -> None:
        self._seen.append(one)
        if len(self._seen) > MOST_SEEN:
            self._seen.popleft()
            self._missed += 1
        self._news.set()

    async def _remembered(self) -> Sequence[Entry]:
        if self._memory is None:
            return ()
        try:
            return await asyncio.to_thread(self._memory.load, self.session_id)
        except OSError as fault:
            self._forgets(fault)
            return ()

    async def _keep(self, entry: Entry) -> None:
        if self._memory is None:
            return
        try:
            await asyncio.to_thread(self._memory.keep, self.session_id, entry)
        except OSError as fault:
            self._forgets(fault)

    def _forgets(self, fault: OSError) -> None:
        told = f"A call cannot be remembered over a restart: {fault}"
        self._tell(seen.Fault("handler_error", told, "client"))

    async def _wait(self, seconds: float) -> None:
        await self._sleep(seconds)
        await self._facts.put(facts.Rang())

    # --- The line -----------------------------------------------------------------------------

    async def _connect(self) -> None:
        try:
            headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
            line = await self._dial(await self._address(), headers)
        except NoLine as refused:
            await self._facts.put(facts.Refused(refused.reason, refused.status))
            return
        self._line, self._jammed = line, False
        begun = self._clock()
        await self._facts.put(facts.Opened())
        try:
            while True:
                await self._facts.put(facts.Received(await line.receive()))
        except LineEnded as ended:
            code, reason = (1006, "") if self._jammed else (ended.code, ended.reason)
            self._line = None
            await self._facts.put(facts.Broke(code, reason, self._clock() - begun))

    async def _address(self) -> str:
        parts = urlsplit(self._url)
        query = [parts.query] if parts.query else []
        query.append(f"sessionId={self.session_id}")
        if self._token is not None:
            try:
                query.append(f"token={quote(await self._token(self.session_id), safe='')}")
            except Exception as fault:  # of the app: the next try asks it again
                log.exception("no token from the app")
                raise NoLine(f"The app gave no token: {fault}"[:300]) from fault
        return urlunsplit(parts._replace(query="&".join(query)))

    async def _transmit(self, text: str, group: asyncio.TaskGroup) -> None:
        line = self._line
        if line is None or self._jammed:
            return  # that it broke is about to be known, or known already
        try:
            await asyncio.wait_for(line.send(text), SENDING)
        except OSError as fault:  # a timeout is one too
            self._jammed = True
            group.create_task(line.close(Close.LEFT))
            reason = f"An event could not be sent: {str(fault) or 'the server does not read'}."
            self._tell(seen.Fault("ws_send_failed", reason, "client"))

    # --- What the app runs ----------------------------------------------------------------------

    async def _run(self, order: orders.Run) -> None:
        result, error = await self._outcome(order)
        await self._facts.put(facts.Ended(order.call_id, result, error))

    async def _outcome(self, order: orders.Run) -> tuple[str | None, str | None]:
        try:
            if order.name == CONFIRM and self._confirm is not None:
                return await _decided(self._confirm, order.arguments), None
            result = await self._tools[order.name].run(order.arguments)
        except Exception as fault:  # of the app's own code: the model is told
            return None, _words(fault)
        if len(result) > MOST_RESULT:
            return None, "The result is too long."
        return result, None

    async def _speak_after(self, before: asyncio.Task[None] | None, order: orders.Speak) -> None:
        if before is not None and not before.done():
            await asyncio.wait({before})  # one that was stopped may take a moment
        assert self._speak is not None
        error = None
        try:
            await self._speak(order.text)
        except Exception as fault:  # of the app's own code
            error = _words(fault)
        await self._facts.put(facts.Ended(order.call_id, None, error))

    async def _ask(self, text: str) -> None:
        assert self._stub is not None
        try:
            answer = self._stub(text)
            told = answer if isinstance(answer, str) else await answer
        except Exception as fault:  # of the app's own code
            await self._facts.put(facts.Answered(None, _words(fault)))
        else:
            await self._facts.put(facts.Answered(told))


class _Left(Exception):
    """The app is done."""


def _tool(given: ClientTool | Callable[..., Any]) -> ClientTool:
    return given if isinstance(given, ClientTool) else tool(given)


async def _decided(confirm: Confirm, arguments: str) -> str:
    asked = orjson.loads(arguments)
    approved = await confirm(str(asked.get("question", "")))
    if approved is None:
        raise ToolError("The user said neither yes nor no.")
    return orjson.dumps({"approvalId": asked.get("approvalId"), "approved": approved}).decode()


def _words(fault: Exception) -> str:
    """Of the app's own code; what it did not raise as such is in its log too."""
    if isinstance(fault, ToolError):
        return (str(fault) or "It failed.")[:MOST_ERROR]
    log.error("the app's code failed", exc_info=fault)
    return f"{type(fault).__name__}: {fault}"[:MOST_ERROR]


def _sayable(text: str) -> str:
    if len(text) > MOST_TEXT:
        raise ValueError(f"at most {MOST_TEXT} characters are said at once")
    text.encode()  # half a character cannot be sent
    return text
