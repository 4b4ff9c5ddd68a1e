"""The state of one voice session, and the draft of what one event makes it do.

The handlers (`line`, `hearing`, `saying`, `calling`, `timing`) read and change
the state and write effects into the draft; `machine` routes events to them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from hashlib import sha256
from typing import Any

from vivavoce.session.effects import Effect, Record, Send, Tell
from vivavoce.session.guard import Guard
from vivavoce.session.policy import Identity, Policy, Setup
from vivavoce.session.responses import Responses
from vivavoce.session.speech import Speech
from vivavoce.session.tracing import Turns
from vivavoce.session.transcript import Order
from vivavoce.wire.clean import clean_text
from vivavoce.wire.events import SessionStatus, VoiceEvent
from vivavoce.wire.realtime.commands import Command, CreateItem
from vivavoce.wire.realtime.facts import Usage
from vivavoce.wire.records.talk import Entry, Kind, Modality, entry_id

IDLE = "idle"
"""The key of the question whether anybody is there."""


class Phase(StrEnum):
    DISCONNECTED = "disconnected"
    INITIALIZING = "initializing"
    READY = "ready"
    LISTENING = "listening"
    PROCESSING = "processing"
    SPEAKING = "speaking"
    EXECUTING_TOOL = "executing_tool"
    WAITING_TASK = "waiting_task"
    RECONNECTING = "reconnecting"
    TERMINATED = "terminated"


class Signal(StrEnum):
    """What moves a session from one phase to another."""

    CALL_PLACED = "call placed"
    CONFIGURED = "configured"
    SPEECH_STARTED = "speech started"
    SPEECH_STOPPED = "speech stopped"
    RESPONDING = "response created"
    SOUND_STARTED = "sound started"
    TOOL_CALLED = "tool called"
    SETTLED = "all done"
    CALLS_OPEN = "done, tools run"
    TASKS_OPEN = "done, tasks run"
    LINE_LOST = "line lost"
    LINE_BACK = "line back"
    ENDED = "ended"


@dataclass(slots=True)
class UserItem:
    """Something the user said, from the moment it joined the conversation."""

    item_id: str
    ordinal: float
    previous: str | None
    settled: bool = False  # transcribed, or known never to be


@dataclass(slots=True)
class Asked:
    """A request for a yes: which response asks it, and since when the user has heard that,
    until something else was said."""

    question: str = ""
    put: bool = False
    response_id: str = ""
    heard_ms: float | None = None
    clear_ms: float = 0.0  # by then it is clear what it is about
    until_ms: float | None = None

    def answered_by(self, began_ms: float, *, granted: bool) -> bool:
        """Can words that began then be meant for it? A no counts from the first sound."""
        if self.heard_ms is None or (self.until_ms is not None and began_ms >= self.until_ms):
            return False
        return began_ms >= (max(self.heard_ms, self.clear_ms) if granted else self.heard_ms)


@dataclass(slots=True)
class Question:
    """Something typed, and the last that was said in answer to it."""

    message: Entry
    reply: Entry | None = None
    over: bool = False


@dataclass
class State:
    """Everything a session knows; one event at a time changes it."""

    identity: Identity
    policy: Policy
    setup: Setup
    advance: Callable[[Phase, Signal], Phase]
    started_at: datetime
    phase: Phase = Phase.DISCONNECTED

    # The line to the provider
    call_id: str | None = None
    line_up: bool = False
    fresh_call: bool = False  # attached for the first time: tell it everything
    announced: bool = False  # `session.started` was told
    attempts: int = 0
    up_since: datetime | None = None
    survived: bool = False  # we came to this call after a restart of ours
    confirmed: Setup | None = None  # the last configuration that the provider took
    sought: dict[str, str] = field(default_factory=dict)  # our frame → the item it asks for
    followers: dict[str, str] = field(default_factory=dict)  # that item → the one after it
    unsure: set[str] = field(default_factory=set)  # items that the model may have already
    history: tuple[Mapping[str, Any], ...] = ()
    history_tokens: int = 0
    history_reason: str = "start"
    greeting: str | None = None
    unconfirmed: dict[str, CreateItem] = field(default_factory=dict)

    # The conversation on this call
    order: Order = field(default_factory=Order)
    guard: Guard = field(default_factory=Guard)
    responses: Responses = field(default_factory=Responses)
    speech: Speech = field(default_factory=Speech)
    heard: dict[str, UserItem] = field(default_factory=dict)
    turns: Turns = field(default_factory=Turns)
    speech_began_ms: int = 0
    typed: dict[str, Question] = field(default_factory=dict)  # our item → what came of it

    # Work
    names: dict[str, str] = field(default_factory=dict)  # item id → tool name
    open_calls: set[str] = field(default_factory=set)
    ran: set[str] = field(default_factory=set)
    tasks: set[str] = field(default_factory=set)
    news: dict[str, str] = field(default_factory=dict)  # key → our item
    telling: dict[str, tuple[str, ...]] = field(default_factory=dict)  # response → keys
    retold: set[str] = field(default_factory=set)  # news whose answer failed once
    approvals: dict[str, Asked] = field(default_factory=dict)
    began_ms: dict[str, float] = field(default_factory=dict)  # user's item → its first sound
    quiet_turn: bool = True  # nothing was said since the user's last turn
    slow_tool: str = ""

    # Time and money
    broke_at: datetime | None = None  # the budget was spent then
    last_activity: datetime | None = None
    warned: bool = False
    usage: Usage = field(default_factory=Usage)
    context_tokens: int = 0
    _serial: int = 0

    @property
    def asking_who_is_there(self) -> bool:
        """The idle question was put, and nobody stirred since."""
        return self.warned and self.policy.idle_question is not None

    def next_id(self, prefix: str) -> str:
        """Ids of our own frames: unique in the session, and the same on every replay."""
        self._serial += 1
        return f"{prefix}_{self.identity.session_id}_{self._serial}"

    def item_id(self, seed: str) -> str:
        """At most 32 characters, as OpenAI wants; the same seed, the same item."""
        digest = sha256(f"{self.identity.session_id}:{self.call_id}:{seed}".encode())
        return f"vv_{digest.hexdigest()[:28]}"

    def new_call(self, call_id: str) -> None:
        """What belonged to the old call is gone; what was said stays said."""
        self.call_id = call_id
        self.line_up = False
        self.fresh_call = True
        self.attempts = 0
        self.survived = False
        self.unconfirmed, self.unsure = {}, set()
        self.sought, self.followers = {}, {}
        self.order, self.guard = Order(), Guard()
        self.responses, self.speech = Responses(), Speech()
        self.heard, self.turns = {}, Turns()
        self.tasks |= self.open_calls  # the new call knows nothing of them
        self.open_calls = set()
        # What was put to the old call and not heard is told anew to this one.
        self.news, self.telling, self.approvals = {}, {}, {}
        self.retold = set()
        self.quiet_turn, self.began_ms = True, {}

    @property
    def voice_locked(self) -> bool:
        """After the first sound a provider does not change the voice any more."""
        return self.survived or self.speech.has_sounded


class Draft:
    """The effects of one event, in the making."""

    def __init__(self, state: State, now: datetime) -> None:
        self.state = state
        self.now = now
        self.effects: list[Effect] = []

    @property
    def now_ms(self) -> float:
        return self.now.timestamp() * 1000

    def do(self, effect: Effect) -> None:
        self.effects.append(effect)

    def tell(self, event: type[VoiceEvent], **fields: Any) -> None:
        self.do(
            Tell(event(session_id=self.state.identity.session_id, timestamp=self.now, **fields))
        )

    def send(self, command: Command, *, urgent: bool = False) -> None:
        """Nothing is sent into a line that is down: what matters is sent again when it is up."""
        if self.state.line_up:
            self.do(Send(command, urgent=urgent))

    def add_item(self, item: Mapping[str, Any]) -> None:
        """Put an item of ours into the conversation, and go on until it is there."""
        command = CreateItem(item, self.state.next_id("evt"))
        self.state.unconfirmed[command.item_id] = command
        self.state.guard.expect(command.item_id)
        self.send(command)

    def record(
        self,
        kind: Kind,
        item_id: str,
        text: str,
        *,
        ordinal: float,
        modality: Modality = "voice",
        backfill: bool = False,
        **data: Any,
    ) -> str:
        """Store what was said; the same item is the same entry, however often it comes."""
        who = self.state.identity
        key = entry_id(who.session_id, item_id)
        self.do(
            Record(
                Entry(
                    id=key,
                    conversation_id=who.conversation_id,
                    user_id=who.user_id,
                    session_id=who.session_id,
                    kind=kind,
                    text=clean_text(text),
                    created_at=self.now,
                    ordinal=ordinal,
                    modality=modality,
                    data={"item_id": item_id, "source": "sideband", **data},
                ),
                backfill=backfill,
            )
        )
        return key

    def signal(self, signal: Signal) -> None:
        """Move on, as the table says, and tell those who watch."""
        state = self.state
        before, state.phase = state.phase, state.advance(state.phase, signal)
        if state.phase is not before:
            self.tell(
                SessionStatus,
                state=str(state.phase),
                voice_session_active=state.phase is not Phase.TERMINATED and state.line_up,
                amplifier_connected=state.setup.tools_count > 0,
                pending_tasks=len(state.open_calls) + len(state.tasks),
                session_age_ms=max(0, (self.now - state.started_at) // timedelta(milliseconds=1)),
                estimated_tokens=state.context_tokens,
            )

    def active(self) -> None:
        """Somebody is there: the idle clock begins anew."""
        self.state.last_activity = self.now
        self.state.warned = False
        self.state.responses.unsay(IDLE)

    def spoke(self) -> None:
        """So did the assistant, unless all it did was to ask whether anybody is there."""
        if not self.state.asking_who_is_there:
            self.active()
