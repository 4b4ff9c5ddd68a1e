"""The state of one voice session, and the draft of what one event makes it do.

The state has four parts: `sideband`, `talk`, `work` and `clock`. The handlers (`sideband`,
`hearing`, `saying`, `calling`, `news`, `timing`) read and change it and write effects into
the draft; `machine` routes events to them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from hashlib import sha256
from typing import Any

from vivavoce.session import turns
from vivavoce.session.effects import Effect, Record, Send, StartTimer, Tell
from vivavoce.session.guard import Guard
from vivavoce.session.policy import Identity, Policy, Setup
from vivavoce.session.talk import Talk
from vivavoce.wire.clean import clean_text
from vivavoce.wire.events import ErrorOccurred, SessionStatus, TurnTraced, VoiceEvent
from vivavoce.wire.realtime.client import CancelResponse, ClientEvent, CreateItem
from vivavoce.wire.records.talk import Entry, Kind, Modality, Status, entry_id

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
    SIDEBAND_LOST = "sideband lost"
    SIDEBAND_BACK = "sideband back"
    ENDED = "ended"


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
class Sideband:
    """The connection to the provider's call, and what it has been told."""

    call_id: str | None = None
    up: bool = False
    fresh: bool = False  # attached for the first time: tell it everything
    announced: bool = False  # `session.started` was told
    attempts: int = 0
    up_since: datetime | None = None
    survived: bool = False  # we came to this call after a restart of ours
    guard: Guard = field(default_factory=Guard)
    confirmed: Setup | None = None  # the last configuration that the provider took
    sought: dict[str, str] = field(default_factory=dict)  # our frame → the item it asks for
    followers: dict[str, str] = field(default_factory=dict)  # that item → the one after it
    unsure: set[str] = field(default_factory=set)  # items that the model may have already
    unconfirmed: dict[str, CreateItem] = field(default_factory=dict)
    history: tuple[Mapping[str, Any], ...] = ()
    history_tokens: int = 0
    history_reason: str = "start"
    greeting: str | None = None


@dataclass(slots=True)
class Work:
    """Tool calls, tasks, and what the user is to hear of them."""

    names: dict[str, str] = field(default_factory=dict)  # item id → tool name
    open_calls: set[str] = field(default_factory=set)
    ran: set[str] = field(default_factory=set)
    tasks: set[str] = field(default_factory=set)
    news: dict[str, str] = field(default_factory=dict)  # key → our item
    telling: dict[str, tuple[str, ...]] = field(default_factory=dict)  # response → keys
    retold: set[str] = field(default_factory=set)  # news whose answer failed once
    approvals: dict[str, Asked] = field(default_factory=dict)
    slow_tool: str = ""

    def another_call(self) -> Work:
        """The new call knows nothing of the calls that run: they are tasks for it. What was put
        to the old call and not heard is told anew to this one."""
        return Work(
            names=self.names,
            ran=self.ran,
            tasks=self.tasks | self.open_calls,
            slow_tool=self.slow_tool,
        )


@dataclass(slots=True)
class Clock:
    """How long it was quiet, and what is used up."""

    started_at: datetime
    last_activity: datetime | None = None
    warned: bool = False
    broke_at: datetime | None = None  # the budget was spent then
    context_tokens: int = 0

    def age_ms(self, now: datetime) -> int:
        return max(0, (now - self.started_at) // timedelta(milliseconds=1))


@dataclass(slots=True)
class State:
    """Everything a session knows; one event at a time changes it."""

    identity: Identity
    policy: Policy
    setup: Setup
    advance: Callable[[Phase, Signal], Phase]
    clock: Clock
    phase: Phase = Phase.DISCONNECTED
    sideband: Sideband = field(default_factory=Sideband)
    talk: Talk = field(default_factory=Talk)
    work: Work = field(default_factory=Work)
    _serial: int = 0

    @property
    def asking_who_is_there(self) -> bool:
        """The idle question was put, and nobody stirred since."""
        return self.clock.warned and self.policy.idle_question is not None

    @property
    def voice_locked(self) -> bool:
        """After the first sound a provider does not change the voice any more."""
        return self.sideband.survived or self.talk.speech.has_sounded

    def next_id(self) -> str:
        """Ids of our own frames: unique in the session, and the same on every replay."""
        self._serial += 1
        return f"evt_{self.identity.session_id}_{self._serial}"

    def item_id(self, seed: str) -> str:
        """At most 32 characters, as OpenAI wants; the same seed, the same item."""
        digest = sha256(f"{self.identity.session_id}:{self.sideband.call_id}:{seed}".encode())
        return f"vv_{digest.hexdigest()[:28]}"

    def new_call(self, call_id: str) -> None:
        """What belonged to the old call is gone; what was said stays said."""
        old = self.sideband
        self.sideband = Sideband(
            call_id=call_id,
            fresh=True,
            announced=old.announced,
            up_since=old.up_since,
            confirmed=old.confirmed,
        )
        self.talk = self.talk.another_call()
        self.work = self.work.another_call()


class Draft:
    """The effects of one event, in the making."""

    def __init__(self, state: State, now: datetime) -> None:
        self.state = state
        self.now = now
        self.effects: list[Effect] = []
        self.ending: tuple[str, Status] | None = None

    @property
    def now_ms(self) -> float:
        return self.now.timestamp() * 1000

    def do(self, effect: Effect) -> None:
        self.effects.append(effect)

    def tell(self, event: type[VoiceEvent], **fields: Any) -> None:
        self.do(
            Tell(event(session_id=self.state.identity.session_id, timestamp=self.now, **fields))
        )

    def send(self, command: ClientEvent, *, urgent: bool = False) -> None:
        """Nothing is sent while the sideband is down: what matters is sent again when it is up."""
        if self.state.sideband.up:
            self.do(Send(command, urgent=urgent))

    def add_item(self, item: Mapping[str, Any]) -> None:
        """Put an item of ours into the conversation, and go on until it is there."""
        command = CreateItem(item, self.state.next_id())
        sideband = self.state.sideband
        sideband.unconfirmed[command.item_id] = command
        sideband.guard.expect(command.item_id)
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
                voice_session_active=state.phase is not Phase.TERMINATED and state.sideband.up,
                amplifier_connected=state.setup.tools_count > 0,
                pending_tasks=len(state.work.open_calls) + len(state.work.tasks),
                session_age_ms=state.clock.age_ms(self.now),
                estimated_tokens=state.clock.context_tokens,
            )

    def active(self) -> None:
        """Somebody is there: the idle clock begins anew."""
        self.state.clock.last_activity = self.now
        self.state.clock.warned = False
        self.state.talk.responses.unsay(IDLE)

    def spoke(self) -> None:
        """So did the assistant, unless all it did was to ask whether anybody is there."""
        if not self.state.asking_who_is_there:
            self.active()

    def complain(self, code: str, message: str, *, recoverable: bool = True) -> None:
        self.tell(ErrorOccurred, code=code, message=message, recoverable=recoverable)

    def reject(self, message: str) -> bool:
        """Somebody else did something to our call: stop what it caused, and say so. False where
        that does not stop, and the session is over."""
        guard = self.state.sideband.guard
        if self.state.talk.responses.active:
            self.send(CancelResponse(self.state.next_id()), urgent=True)
        self.complain("forbidden", message, recoverable=not guard.exhausted)
        if guard.exhausted:
            self.end("error", Status.ERROR)
        return not guard.exhausted

    def end(self, reason: str, status: Status) -> None:
        """The session is over, once this event has been dealt with."""
        self.ending = (reason, status)

    def trace(self) -> None:
        """Tell the turns that are over, and when to look at the others."""
        told = self.state.talk.turns
        if not told.open:
            return
        over, due = told.take(self.now)
        for turn in over:
            self.tell(TurnTraced, **turn.report())
        if due is not None and due != told.wake:
            told.wake = due
            self.do(StartTimer(turns.TIMER, max(0.02, (due - self.now).total_seconds())))

    def cut_turns(self) -> None:
        """The sideband is lost or the call ends: every turn is told as far as it came."""
        self.state.talk.turns.cut_all(self.now)
        self.trace()
