"""What a client decides. Facts in, orders out, in the order in which they are to be done.

One machine is one client for as long as its app runs: connections come and go under it. What must
not be lost (what the user said, what came of a call) it keeps until the server has it; what is
renewed anyway (what is being said, a state) it does not.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, assert_never, get_args
from uuid import uuid4

import orjson

from vivavoce.conductor.core import facts, orders, seen
from vivavoce.conductor.core.calls import Calls, Entry
from vivavoce.wire.conductor.codes import INTERRUPTED, RECONNECT, Close
from vivavoce.wire.conductor.event import Unreadable, made, read, write
from vivavoce.wire.conductor.kinds import (
    CONFIRM,
    SET_STATE,
    SPEAK,
    AssistantSpeechFinal,
    AssistantSpeechPartial,
    AssistantUIPatch,
    Error,
    Kind,
    SessionStart,
    Tool,
    ToolCall,
    ToolResult,
    UserAudioTranscriptFinal,
    UserAudioTranscriptPartial,
)
from vivavoce.wire.conductor.patch import PatchFailed, applied
from vivavoce.wire.values import Value

WAITS = (1.0, 2.0, 4.0, 8.0, 16.0)
STEADY = 16.0
"""A line that lasted so long was a good one: the tries are counted from the first again."""
MOST_SAID, MOST_RUNNING = 32, 64
_RETRIED = frozenset({408, 425, 429})  # of HTTP's 4xx: the same again may well be let in
_OK = '{"ok":true}'
_SILENT = '{"spoken":false,"shown":true}'
_SPOKEN = '{"spoken":true}'
_CUT_OFF = '{"spoken":false,"interrupted":true}'
_BY_HAND = "The user has answered by hand."
_ELSEWHERE = "The user has answered elsewhere, or it was too late."


class App(Value):
    """What it can do."""

    session_id: str
    tools: Sequence[Tool] = ()
    agent: str | None = None
    clauses: bool | None = None
    speaks: bool = False
    stub: bool = False
    waits: Sequence[float] = WAITS


class _Question(Value):
    """To the user, by hand."""

    approval_id: str
    text: str


class _Sentence:
    """Of the user's, until the server has it for sure: `heard` when it was thinking after it."""

    def __init__(self, text: str, event_id: str, message: str) -> None:
        self.text, self.event_id, self.message = text, event_id, message
        self.heard = False


class Machine:
    def __init__(self, app: App, kept: Iterable[Entry] = ()) -> None:
        self.connection: seen.ConnectionState = "closed"
        self.phase: seen.PhaseState = "idle"
        self.document: Any = {"cards": []}
        self._app = app
        self._names = {tool.name for tool in app.tools}
        self._calls = Calls(kept)
        self._running: dict[str, str] = {}  # call → the tool's name
        self._questions: dict[str, _Question] = {}  # by call, while it runs
        self._asked: set[str] = set()  # on this line, and not answered
        self._attempt = 0
        self._ever = False  # was there a line, since the app began?
        self._said: deque[_Sentence] = deque()
        self._speech: deque[tuple[str, str]] = deque()  # call, text: the first is being spoken
        self._asking = False
        self._orders: list[orders.Order] = []

    def handle(self, fact: facts.Fact) -> list[orders.Order]:
        self._take(fact)
        done, self._orders = self._orders, []
        return done

    def _take(self, fact: facts.Fact) -> None:
        match fact:
            case facts.Begin():
                self._begin()
            case facts.Opened():
                self._opened()
            case facts.Refused():
                self._refused(fact)
            case facts.Received():
                self._received(fact)
            case facts.Broke():
                self._broke(fact)
            case facts.Rang():
                self._rang()
            case facts.Said():
                self._user_said(fact)
            case facts.SaidSoFar():
                self._user_says(fact)
            case facts.Barged():
                self._barged(fact)
            case facts.Ended():
                self._ended(fact)
            case facts.Answered():
                self._answered(fact)
            case facts.Leave():
                self._leave()
            case _:
                assert_never(fact)

    # --- The line -----------------------------------------------------------------------

    def _begin(self) -> None:
        if self.connection in ("local", "closed"):
            self._attempt, self._ever = 0, False
            self._dial()

    def _dial(self) -> None:
        self._connection("connecting", attempt=self._attempt)
        self._do(orders.Dial())

    def _opened(self) -> None:
        if self.connection != "connecting":
            return
        self._ever = True
        self._asked.clear()
        app = self._app
        told: dict[str, Any] = {"session_id": app.session_id, "tools": list(app.tools)}
        if app.agent is not None:
            told["agent"] = app.agent
        if app.clauses is not None:
            told["clauses"] = app.clauses
        self._send(SessionStart(**told))
        for sentence in self._said:  # the same id: once more is the same sentence
            self._do(orders.Transmit(sentence.message))
        self._connection("connected", attempt=self._attempt)

    def _refused(self, fact: facts.Refused) -> None:
        if self.connection != "connecting":
            return
        status = fact.status
        self._fault("ws_error" if self._ever else "ws_connect_failed", fact.reason)
        if status is not None and 400 <= status < 500 and status not in _RETRIED:
            self._close(status, fact.reason)
        else:
            self._later()

    def _broke(self, fact: facts.Broke) -> None:
        if self.connection != "connected":
            return
        if fact.lasted >= STEADY:
            self._attempt = 0
        if fact.code != Close.LEFT:
            words = f"{fact.code}: {fact.reason}" if fact.reason else str(fact.code)
            self._fault("ws_error", f"The connection broke ({words}).")
        if fact.code in RECONNECT:
            self._later()
        else:
            self._close(fact.code, fact.reason)

    def _later(self) -> None:
        if self._attempt < len(self._app.waits):
            seconds = self._app.waits[self._attempt]
            self._attempt += 1
            self._connection("waiting", attempt=self._attempt, seconds=seconds)
            self._do(orders.Wait(seconds))
            return
        self._fault("reconnect_failed", f"{self._attempt} tries to connect again have failed.")
        if self._app.stub:
            self._connection("local")
            self._ask()
        else:
            self._close(None, "The server cannot be reached.")

    def _rang(self) -> None:
        if self.connection == "waiting":
            self._dial()

    def _leave(self) -> None:
        if self.connection == "closed":
            return
        if self.connection == "connected":
            self._do(orders.HangUp(Close.LEFT))
        self._hush()
        self._close(Close.LEFT, "")

    def _close(self, code: int | None, reason: str) -> None:
        self._connection("closed", code=code, reason=reason)

    def _connection(self, state: seen.ConnectionState, **more: Any) -> None:
        self.connection = state
        self._tell(seen.Connection(state, **more))

    # --- What the user says ---------------------------------------------------------------

    def _user_said(self, fact: facts.Said) -> None:
        if self.connection == "closed":
            self._fault("ws_send_failed", "The connection is closed.")
            return
        event = made(UserAudioTranscriptFinal(text=fact.text))
        sentence = _Sentence(fact.text, event.id, write(event))
        self._said.append(sentence)
        if len(self._said) > MOST_SAID:
            lost = self._said.popleft()
            if not lost.heard:
                self._fault("ws_send_failed", "Too much waits to be sent: the oldest is dropped.")
        if self.connection == "connected":
            self._do(orders.Transmit(sentence.message))
        elif self.connection == "local":
            self._ask()

    def _user_says(self, fact: facts.SaidSoFar) -> None:
        if self.connection == "connected":  # else the next one has all of it
            self._send(UserAudioTranscriptPartial(text=fact.text))

    def _barged(self, fact: facts.Barged) -> None:
        call_id = self._speech[0][0] if self._speech else None
        self._tell(seen.Interrupted(call_id, fact.position_ms, fact.position_characters))
        told: dict[str, Any] = {"code": INTERRUPTED, "message": "The user spoke."}
        if call_id is not None:
            told["call_id"] = call_id
            if fact.position_ms is not None:
                told["position_ms"] = fact.position_ms
            if fact.position_characters is not None:
                told["position_characters"] = fact.position_characters
        if self._speech:
            self._hush(Error(**told).model_dump(by_alias=True, exclude_unset=True))
        elif self.connection == "connected":
            self._send(Error(**told))
        if self.connection == "local":
            self._show("listening")
            self._ask()

    def _hush(self, cut: dict[str, Any] | None = None) -> None:
        """What is being spoken, and all that waits behind it."""
        for at, (call_id, _) in enumerate(list(self._speech)):
            if at == 0:
                self._do(orders.Hush(call_id))
            self._over(Entry(call_id, True, _CUT_OFF, None, cut if at == 0 else None))
        self._speech.clear()

    # --- What the server says ---------------------------------------------------------------

    def _received(self, fact: facts.Received) -> None:
        if self.connection != "connected":
            return
        try:
            if isinstance(fact.message, bytes):
                raise Unreadable("invalid_json", "The message is no text.")
            event = read(fact.message)
        except Unreadable as wrong:
            if not wrong.unknown:
                self._fault("decode_error", wrong.message)
            return
        self._attempt = 0
        match event.kind:
            case AssistantSpeechPartial(text=text):
                self._hears()
                self._tell(seen.Speech(text, final=False))
            case AssistantSpeechFinal(text=text):
                self._answers()
                self._tell(seen.Speech(text, final=True))
            case AssistantUIPatch(patch=patch):
                self._patched(patch)
            case ToolCall() as call:
                self._called(call)
            case Error() as told:
                self._said = deque(s for s in self._said if s.event_id != told.event_id)
                self._tell(seen.Fault(told.code, told.message, "server"))
            case _:
                pass  # a client's own kind: not for us

    def _hears(self) -> None:
        for sentence in self._said:
            sentence.heard = True

    def _answers(self) -> None:
        """What it had heard when it began is not sent again; what came later may be on its way."""
        self._said = deque(s for s in self._said if not s.heard)
        self._hears()

    def _patched(self, patch: str) -> None:
        try:
            self.document = applied(self.document, orjson.loads(patch))
        except PatchFailed as wrong:
            self._fault("decode_error", f"The patch cannot be applied: {wrong}.")
        else:
            self._tell(seen.Document(self.document))
            self._withdraw()

    def _withdraw(self) -> None:
        """Questions whose cards say that they are over."""
        cards = self.document.get("cards") if isinstance(self.document, dict) else None
        there = [card for card in cards or () if isinstance(card, dict)]
        states = {card.get("id"): card.get("status") for card in there}
        for call_id, question in list(self._questions.items()):
            if states.get(f"approval:{question.approval_id}", "pending") != "pending":
                self._do(orders.Withdraw(call_id))
                self._ended(facts.Ended(call_id, None, _ELSEWHERE))

    def _called(self, call: ToolCall) -> None:
        self._asked.add(call.call_id)
        known = self._calls.known(call.call_id)
        if known is not None:
            self._tell(seen.Repeated(call.call_id))
            if known.over:
                self._answer(known)
        elif call.name == SET_STATE:
            self._calls.begin(call.call_id)
            moved = self._moved(call)
            self._calls.end(moved)  # not kept: the same state once more does no harm
            self._answer(moved)
        elif call.name == SPEAK:
            self._answers()
            self._read_out(call)
        else:
            self._run(call)

    def _moved(self, call: ToolCall) -> Entry:
        state = orjson.loads(call.arguments).get("state")
        if state not in get_args(seen.PhaseState):
            return Entry(call.call_id, True, error="There is no such state.")
        if state in ("thinking", "speaking"):
            self._hears()
        else:
            self._said = deque(s for s in self._said if not s.heard)
        self._show(state)
        return Entry(call.call_id, True, _OK)

    def _show(self, state: seen.PhaseState) -> None:
        self.phase = state
        self._tell(seen.Phase(state))

    # --- Calls ------------------------------------------------------------------------------

    def _run(self, call: ToolCall) -> None:
        call_id = call.call_id
        if call.name not in self._names:
            self._calls.begin(call_id)
            self._over(Entry(call_id, True, error=f"There is no tool '{call.name}' here."))
        elif len(self._running) >= MOST_RUNNING:
            self._calls.begin(call_id)
            self._over(Entry(call_id, True, error="Too many tools run at once."))
        else:
            self._running[call_id] = call.name
            if call.name == CONFIRM:
                given = orjson.loads(call.arguments)
                asked = str(given.get("approvalId")), str(given.get("question", ""))
                self._questions[call_id] = _Question(*asked)
            self._do(orders.Keep(self._calls.begin(call_id)))
            self._tell(seen.Called(call_id, call.name, call.arguments))
            self._do(orders.Run(call_id, call.name, call.arguments))

    def _read_out(self, call: ToolCall) -> None:
        text = orjson.loads(call.arguments).get("text")
        begun = self._calls.begin(call.call_id)
        if not isinstance(text, str):
            self._over(Entry(call.call_id, True, error="There is no text to speak."))
        elif not self._app.speaks:
            self._tell(seen.Speaking(call.call_id, text))
            self._over(Entry(call.call_id, True, _SILENT))
        else:
            self._do(orders.Keep(begun))
            self._speak(call.call_id, text)

    def _speak(self, call_id: str, text: str) -> None:
        """One after the other, as they came."""
        self._speech.append((call_id, text))
        if len(self._speech) == 1:
            self._begin_speech(call_id, text)

    def _begin_speech(self, call_id: str, text: str) -> None:
        self._tell(seen.Speaking(call_id, text))
        self._do(orders.Speak(call_id, text))

    def _ended(self, fact: facts.Ended) -> None:
        call_id, result, error = fact.call_id, fact.result, fact.error
        if (name := self._running.pop(call_id, None)) is not None:
            self._tell(seen.Returned(call_id, name, result, error))
            self._over(Entry(call_id, True, result, error))
            question = self._questions.pop(call_id, None)
            if question is not None and error is None:
                self._unsay(question.text)
        elif self._speech and self._speech[0][0] == call_id:
            self._speech.popleft()
            self._over(Entry(call_id, True, _SPOKEN if error is None else None, error))
            if self._speech:
                self._begin_speech(*self._speech[0])
            elif self.connection == "local":
                self._rest()

    def _unsay(self, question: str) -> None:
        """What was answered by hand need not be read out to its end."""
        first = self._speech[0] if self._speech else None
        gone = [one for one in self._speech if one[1].strip() in question]
        self._speech = deque(one for one in self._speech if one not in gone)
        if first in gone:
            self._do(orders.Hush(first[0]))
        for call_id, _ in gone:
            self._over(Entry(call_id, True, error=_BY_HAND))
        if first in gone and self._speech:
            self._begin_speech(*self._speech[0])

    def _over(self, entry: Entry) -> None:
        """Kept before it is told: whoever asks again, after whatever happens, gets the same."""
        if self._calls.end(entry) is not None:
            self._do(orders.Keep(entry))
            self._answer(entry)

    def _answer(self, entry: Entry) -> None:
        """Where the line is another than it was asked on, the server asks again."""
        if self.connection != "connected" or entry.call_id not in self._asked:
            return
        self._asked.remove(entry.call_id)
        if entry.cut is not None:
            self._send(Error.model_validate(dict(entry.cut)))
        self._send(ToolResult(call_id=entry.call_id, result=entry.result, error=entry.error))

    # --- Without a server -------------------------------------------------------------------

    def _ask(self) -> None:
        if self._said and not self._asking and not self._speech:
            self._asking = True
            self._show("thinking")
            self._do(orders.Ask(self._said[0].text))

    def _answered(self, fact: facts.Answered) -> None:
        self._asking = False
        if self.connection != "local" or not self._said:
            return  # the server has the question now
        self._said.popleft()
        if fact.text is None:
            self._fault("handler_error", f"The local stub failed: {fact.error}")
        else:
            self._tell(seen.Speech(fact.text, final=True))
        if fact.text is not None and self._app.speaks:
            self._show("speaking")
            self._speak(f"local-{uuid4()}", fact.text)
        else:
            self._rest()

    def _rest(self) -> None:
        self._show("idle")
        self._ask()

    # --- Orders -----------------------------------------------------------------------------

    def _do(self, order: orders.Order) -> None:
        self._orders.append(order)

    def _tell(self, one: seen.Seen) -> None:
        self._do(orders.Tell(one))

    def _send(self, kind: Kind) -> None:
        self._do(orders.Transmit(write(made(kind))))

    def _fault(self, code: str, message: str) -> None:
        self._tell(seen.Fault(code, message, "client"))
