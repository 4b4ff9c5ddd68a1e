"""The state of one voice session, in four parts: `sideband`, `talk`, `work` and `clock`.

The handlers (`sideband`, `hearing`, `saying`, `calling`, `news`, `timing`) read and change it
through a `Draft`; `machine` routes events to them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from hashlib import sha256
from typing import Any, Literal

import orjson

from vivavoce.session.events import CallPlaced, News, ToolFinished
from vivavoce.session.ids import Ids
from vivavoce.session.policy import Identity, Policy, Setup
from vivavoce.session.talk import Talk
from vivavoce.wire.realtime.client import CreateItem, DeleteItem
from vivavoce.wire.realtime.facts import CallRequested, Peer
from vivavoce.wire.records.talk import Entry

MAX_STRIKES = 3
MOST_FINISHED = 20
MOST_FILES = 100  # of those that a session read or changed, as many are remembered
OUT_OF_QUOTA = "insufficient_quota"
NO_SIDEBAND = "openai_error"
EXPIRED = "session_expired"
"""The provider's session has come to its cap."""
"""What a lost sideband is called: the provider itself may be well."""
WANTED = "wanted"
"""Why another provider speaks, where nothing failed."""
_LOCKED = ("instructions", "tools", "tool_choice", "output_modalities", "max_output_tokens")
_LOCKED_AUDIO = (("input", "turn_detection"), ("input", "transcription"), ("output", "voice"))


_NOT_PLACED = CallPlaced("")


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
    CLIENT_LOST = "client lost"
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
    again: bool = False  # it is to be put once more, since something else was said after it
    answered: bool = False  # by the user; what they said is on its way to whoever waits for it

    def answered_by(self, began_ms: float, *, granted: bool) -> bool:
        """Can words that began then be meant for it? A no counts from the first sound."""
        if self.heard_ms is None or (self.until_ms is not None and began_ms >= self.until_ms):
            return False
        return began_ms >= (max(self.heard_ms, self.clear_ms) if granted else self.heard_ms)


def _canonical(value: Any) -> bytes:
    """A digest: a session keeps this for its whole life, and instructions are long."""
    return sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).digest()


def fingerprint(session: Mapping[str, Any]) -> dict[str, bytes]:
    """The fields that nobody but us may change, in a comparable form."""
    print_ = {name: _canonical(session[name]) for name in _LOCKED if name in session}
    audio = session.get("audio")
    for side, name in _LOCKED_AUDIO:
        part = audio.get(side) if isinstance(audio, Mapping) else None
        if isinstance(part, Mapping) and name in part:
            print_[f"{side}.{name}"] = _canonical(part[name])
    return print_


def _says_the_same(ordered: Mapping[str, Any], reported: Mapping[str, Any]) -> bool:
    """The essence: the same instructions and the same tools, by name.

    Providers fill in defaults, so a whole comparison waits for the first echo.
    """
    words = reported.get("instructions")
    if words is not None and words != ordered.get("instructions"):
        return False
    tools = reported.get("tools")
    if not isinstance(tools, list):
        return True
    names = [tool.get("name") for tool in tools if isinstance(tool, Mapping)]
    return names == [tool.get("name") for tool in ordered.get("tools") or ()]


class Guard:
    """Notices what somebody else did to our call: ours and not ours, configuration and items.

    The browser is a peer on the call: at some providers its data channel can send
    `session.update` and items of its own. We compare what the provider reports with what
    we ordered, and keep count; the machine reverts, and ends a call that does not stop.
    """

    def __init__(self) -> None:
        self.strikes = 0
        # Updates without an echo yet, oldest first: several may be under way at once. One that
        # matches an order is the new baseline.
        self.orders: list[tuple[str, Mapping[str, Any]]] = []
        self._baseline: dict[str, bytes] | None = None
        self.accepted: Mapping[str, Any] | None = None
        self.ours = Ids()
        """Items of ours, the microphone's or the model's."""
        self.banished: set[str] = set()
        """Never ours, however often they come back."""

    @property
    def exhausted(self) -> bool:
        return self.strikes > MAX_STRIKES

    def refused(self, event_id: str | None) -> bool:
        """The provider did not take an order of ours, so there will be no echo of it."""
        kept = [order for order in self.orders if order[0] != event_id]
        known = len(kept) < len(self.orders)
        self.orders = kept
        return known

    def foreign_configuration(self, reported: Mapping[str, Any]) -> bool:
        """Is this report of the provider something that we did not ask for?"""
        for number, (_, session) in enumerate(self.orders):
            if _says_the_same(session, reported):
                del self.orders[: number + 1]  # echoes come in the order of the orders
                self._baseline, self.accepted = fingerprint(reported), session
                return False
        known = self._baseline is None and not self.orders
        if known or fingerprint(reported) == self._baseline:
            return False
        self.strikes += 1
        return True


@dataclass(slots=True)
class Sideband:
    """The connection to the provider's call, and what it has been told."""

    call_id: str | None = None
    up: bool = False
    fresh: bool = False  # attached for the first time: tell it everything
    announced: bool = False  # `session.started` was told
    attempts: int = 0
    up_since: datetime | None = None
    lost_at: datetime | None = None  # since then nobody knows what is heard
    survived: bool = False  # we came to this call after a restart of ours
    guard: Guard = field(default_factory=Guard)
    confirmed: Setup | None = None  # the last configuration that the provider took
    sought: dict[str, str] = field(default_factory=dict)  # our frame → the item it asks for
    followers: dict[str, str] = field(default_factory=dict)  # that item → the one after it
    twice: dict[str, str | None] = field(default_factory=dict)
    """Items that were asked for when the line went, each with the one after it: they are asked for
    once more. None once that was done."""
    unsure: set[str] = field(default_factory=set)  # items that the model may have already
    unconfirmed: dict[str, CreateItem] = field(default_factory=dict)
    leaving: dict[str, DeleteItem] = field(default_factory=dict)  # items that we take out
    taken_out: set[str] = field(default_factory=set)  # our frames: whose items may be gone already
    placed: CallPlaced = _NOT_PLACED  # with what the call is to be told first
    peer: Peer | None = None  # how the client is connected, where the provider tells
    behind: bool = False  # it was away, and may have missed something
    newest: str | None = None  # the last item that it told of
    told: tuple[str, str, str | None] | None = None  # what watchers know of that

    @property
    def gone(self) -> bool:
        """The client has vanished, and may come back on another call."""
        return self.peer is not None and self.peer.state == "lost"


@dataclass(slots=True)
class Move:
    """Another call is to take the place of the one that is on, which goes on until then."""

    reason: Literal["cap", "provider"]
    provider: str = ""  # whom to, where it is another one
    next: Sideband | None = None  # once it is placed
    placed_at: datetime | None = None
    configured: bool = False
    hush: bool = False  # what the model says to the wish itself is nothing to hear
    overdue: bool = False  # it cannot wait for a pause any more
    entries: dict[str, Entry] = field(default_factory=dict)  # stored since it was placed
    results: list[tuple[CallRequested, str]] = field(default_factory=list)  # come since then

    @property
    def ready(self) -> bool:
        """Does the new call know what it has to?"""
        return self.next is not None and self.configured and not self.next.unconfirmed


@dataclass(slots=True)
class Provider:
    """Who answers, and who did not."""

    name: str = ""
    told: str = ""  # the name that those who watch know
    because: str = ""  # why it is this one
    failed: set[str] = field(default_factory=set)  # in this session: not asked again
    owed: bool = False  # its predecessor fell in the middle of something


@dataclass(slots=True)
class Work:
    """Tool calls, tasks, and what the user is to hear of them."""

    names: dict[str, str] = field(default_factory=dict)  # item of a call on its way → tool name
    open_calls: set[str] = field(default_factory=set)
    ran: Ids = field(default_factory=Ids)
    tasks: set[str] = field(default_factory=set)
    asked: dict[str, CallRequested] = field(default_factory=dict)  # of the open calls
    news: dict[str, str] = field(default_factory=dict)  # key → our item
    untold: dict[str, News] = field(default_factory=dict)  # of those, what was not heard yet
    word_for_word: dict[str, str] = field(default_factory=dict)  # key → what is said of it
    telling: dict[str, tuple[str, ...]] = field(default_factory=dict)  # response → keys
    held: dict[str, ToolFinished] = field(default_factory=dict)  # results that wait for words
    approvals: dict[str, Asked] = field(default_factory=dict)
    finished: list[str] = field(default_factory=list)  # calls and tasks that are over
    slow_tool: str = ""
    updates: dict[str, str] = field(default_factory=dict)  # key → what waits for a pause
    owned_up: bool = False  # the user was told that a tool runs for long
    files: dict[str, None] = field(default_factory=dict)  # read or changed, the newest last

    def over(self, name: str) -> None:
        """A call or a task has come to its end."""
        self.tasks.discard(name)
        self.open_calls.discard(name)
        self.finished = [*self.finished[-MOST_FINISHED + 1 :], name]

    def touched(self, files: Iterable[str]) -> None:
        for name in (one.removeprefix("./") for one in files):
            self.files.pop(name, None)
            self.files[name] = None
        for name in list(self.files)[:-MOST_FILES]:
            del self.files[name]

    def another_call(self) -> Work:
        """The new call knows nothing of the calls that run: they are tasks for it. What was put
        to the old call and not heard is told anew to this one."""
        return Work(
            names=self.names,
            ran=self.ran,
            tasks=self.tasks | self.open_calls,
            finished=self.finished,
            slow_tool=self.slow_tool,
            held=self.held,
            updates=self.updates,
            files=self.files,
        )


@dataclass(slots=True)
class Clock:
    """How long it was quiet, and what is used up."""

    started_at: datetime
    last_activity: datetime | None = None
    user_heard: datetime | None = None  # they began to speak then, or wrote
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
    provider: Provider = field(default_factory=Provider)
    move: Move | None = None
    _serial: int = 0

    @property
    def calls(self) -> tuple[str, ...]:
        """That are up, or about to be: the one that is on, and the one beside it."""
        beside = self.move.next.call_id if self.move and self.move.next else None
        return tuple(call_id for call_id in (self.sideband.call_id, beside) if call_id)

    @property
    def going_over(self) -> bool:
        """Is there a call beside the one that is on, which knows nothing of what comes now?"""
        return self.move is not None and self.move.next is not None

    @property
    def asking_who_is_there(self) -> bool:
        """The idle question was put, and nobody stirred since."""
        return self.clock.warned and self.policy.idle_question is not None

    @property
    def at_rest(self) -> bool:
        """A pause: nobody speaks, and nothing is answered, run, wished or on its way."""
        responses = self.talk.responses
        return (
            self.phase in (Phase.READY, Phase.WAITING_TASK)
            and self.sideband.up
            and not self.sideband.fresh
            and not self.sideband.unconfirmed
            and not responses.busy
            and not responses.wished
            and not responses.saying
            and self.talk.speech.sounding is None
            and not self.work.open_calls
        )

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
        self.move = None
        self.talk = self.talk.another_call()
        self.work = self.work.another_call()
