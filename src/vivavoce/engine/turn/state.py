"""The state of one Realtime session, and the draft of what one fact makes it do.

`listening`, `answering` and `requests` read and change the state and write
orders into the draft; `machine` routes facts to them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from vivavoce.engine.ports import Position
from vivavoce.engine.turn.configuration import Configuration, ResponseSettings, session_object
from vivavoce.engine.turn.conversation import Conversation, clip_of
from vivavoce.engine.turn.facts import AllSpoken, AnswerFailed, Spoken, Thought
from vivavoce.engine.turn.manners import Manners
from vivavoce.engine.turn.orders import Audience, Order, Send
from vivavoce.wire.brain import Awaited, Finished, Said, Tool
from vivavoce.wire.realtime.items import Item, Status, item_object
from vivavoce.wire.realtime.server import EventType, OwnEventType, frame
from vivavoce.wire.realtime.session import ServerVad
from vivavoce.wire.values import Value

SILENCE = "(The user has said nothing for a while.)"
UNHEARD = "(The user said something that could not be understood.)"


class Phase(StrEnum):
    """Who has the floor. "Answering" lasts until the last sound was played."""

    QUIET = "quiet"
    HEARING = "hearing"
    ANSWERING = "answering"
    OVERLAP = "overlap"


class Signal(StrEnum):
    SPEECH_STARTED = "speech started"
    SPEECH_STOPPED = "speech stopped"
    ANSWER_BEGUN = "answer begun"
    ANSWER_OVER = "answer over"


class Policy(Value):
    """What does not change during a session."""

    session_id: str
    conversation_id: str
    voices: frozenset[str]
    expires_at: int  # Unix time, as clients are told it
    paced: bool = False
    """The sound goes out at the speed it is heard (WebRTC), so we know what was played."""
    backchannel: frozenset[str] = frozenset()
    """Words that do not take the floor from the assistant; none: every word does."""
    yield_seconds: float = 0.8
    """Whoever speaks over the assistant for so long means it, whatever the words."""
    responses_per_minute: int | None = None
    context_tokens: int = 8_000
    result_chars: int = 4_000
    """Of one tool's result that the brain reads."""
    speculate: bool = True
    """Get ready while the user still speaks."""
    kept_seconds: float = 0.0
    """So long the call waits for a client that vanished; only our own server's calls do."""
    accounts: bool = False
    """Our own server's call: its sideband is told how far every answer was heard."""
    manners: Manners | None = None
    """What is said without asking the brain, in a session that wants it; None: in none."""
    count: Callable[[str], int] = lambda text: len(text) // 4 + 1
    """How many tokens a text is to the brain."""
    fixed: Callable[[str, Sequence[Tool]], int] | None = None
    """How many tokens instructions and tools are to it; None: no more than their text."""


@dataclass(slots=True)
class Speech:
    """The user is speaking. `held`: over the assistant, and perhaps only "uh-huh"."""

    item_id: str
    start_ms: int
    held: bool = False
    end_ms: int = 0
    """Once it is over."""


@dataclass(slots=True)
class OpenTurn:
    """A turn that was taken, and is taken back if the user goes on."""

    item_id: str
    start_ms: int
    response_id: str
    unheard: int
    """Turns in a row that nobody understood, before this one."""
    silent: bool
    """Nothing of the answer may be heard yet."""
    facts: list[Thought | Spoken | AllSpoken | AnswerFailed] = field(default_factory=list)
    """What came of the answer meanwhile: all of it while `silent`, then from the first call on."""
    orders: list[Order] = field(default_factory=list)
    """What is not told before it is certain: the words of an item that may go again."""
    due: set[str] = field(default_factory=set)
    """Timers that fired while somebody seemed to speak."""


@dataclass(slots=True)
class Sound:
    """What of an assistant's item has become sound: its clauses, and how long each is."""

    response_id: str
    clauses: list[tuple[str, int]] = field(default_factory=list)
    cut: bool = False
    """It was truncated: whatever is still made of it, nobody hears."""
    until: float = 0.0
    """When the last of it will have been played, where the client plays it."""
    generated: str = ""
    """All that the brain wrote of it."""
    certain: bool = False
    """The client itself said how far it is, or where it stopped."""
    played: int | None = None
    """Milliseconds, by the client that plays it; None: it has not said yet."""
    looked: int | None = None
    """How far that was when by the clock it was over."""
    told: tuple[str, int, str] | None = None
    """How far it was heard when that was last told."""

    @property
    def ms(self) -> int:
        return sum(ms for _, ms in self.clauses)

    @property
    def text(self) -> str:
        return "".join(text for text, _ in self.clauses)


@dataclass(slots=True)
class Output:
    """One item that a response makes: a message, or a call (`name`)."""

    id: str
    index: int
    text: str = ""  # the words, or the arguments
    call_id: str = ""
    name: str = ""
    status: Status | None = None  # once it is closed


@dataclass(slots=True)
class Response:
    """An answer under way."""

    id: str
    settings: ResponseSettings
    waiting: set[str] = field(default_factory=set)
    """Items whose transcript the brain needs first."""
    asked: bool = False
    outputs: list[Output] = field(default_factory=list)
    finished: Finished | None = None
    all_spoken: bool = False
    input_tokens: int = 0
    input_seconds: float = 0.0
    """What the brain was asked, for the usage of an answer that was cut short."""

    @property
    def in_conversation(self) -> bool:
        return self.settings.conversation == "auto"

    @property
    def spoken(self) -> bool:
        return self.settings.speaks

    @property
    def message(self) -> Output | None:
        """The one that is being said; the only one, where it is spoken."""
        return next((output for output in reversed(self.outputs) if not output.name), None)


@dataclass(slots=True)
class State:
    policy: Policy
    configuration: Configuration
    new_id: Callable[[str], str]
    phase: Phase = Phase.QUIET
    conversation: Conversation = field(default_factory=Conversation)
    transcripts: dict[str, str | None] = field(default_factory=dict)
    """Of user audio; None while the ears are at it."""
    seconds: dict[str, float] = field(default_factory=dict)
    """How long the user's sound was, by item."""
    notes: dict[str, str] = field(default_factory=dict)
    """What the brain is told in place of an item that has no words."""
    speech: Speech | None = None
    shown: dict[str, str] = field(default_factory=dict)
    """What clients have seen of transcripts that are not whole yet."""
    unheard: int = 0
    """Turns in a row that nobody understood."""
    acknowledged: bool = False
    """The user was told, in this turn, that it takes a moment."""
    acknowledgements: int = 0
    probes: dict[str, Speech] = field(default_factory=dict)
    """Speech over the assistant that ended soon: the ears say whether it was a word at all."""
    committed_ms: int = 0
    open: OpenTurn | None = None
    suspected: bool = False
    """Something sounds like speech, and nobody knows yet."""
    awaits: Awaited | None = None
    """What the assistant asked for last, where the brain said so."""
    responses: dict[str, Response] = field(default_factory=dict)
    spent: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What the last answers took, for a sideband that was away."""
    active: str | None = None
    """The response that writes to the conversation; one at most."""
    turn_waits: bool = False
    """A turn ended while the assistant was answering, and wants an answer of its own."""
    sounds: dict[str, Sound] = field(default_factory=dict)
    playing: dict[str, bool] = field(default_factory=dict)
    """Responses with sound on its way, and whether its beginning was told."""
    play_until: float = 0.0
    here: bool = True
    """Has who plays the sound joined?"""
    lost: bool = False
    """They were there, and have vanished."""
    audio_started: bool = False
    begun: deque[float] = field(default_factory=deque)
    left_out: tuple[tuple[object, ...], Said] | None = None
    """Which turns were left out of the last question, and what was told in their place."""

    @property
    def clip_bytes(self) -> int:
        """Sound inside items that the ears are still at."""
        waiting = [item_id for item_id, text in self.transcripts.items() if text is None]
        found = [self.conversation.get(i) for i in waiting if i in self.conversation]
        return sum(len(clip_of(item) or b"") for item in found)

    @property
    def answering(self) -> bool:
        return self.active is not None or bool(self.playing)

    def shown_session(self) -> dict[str, Any]:
        policy = self.policy
        return session_object(
            self.configuration, session_id=policy.session_id, expires_at=policy.expires_at
        )

    @property
    def manners(self) -> Manners | None:
        """None on other people's sessions that did not ask for them."""
        manners = self.policy.manners if self.configuration.manners else None
        if manners is None or self.configuration.courtesies is None:
            return manners
        return manners.worded(self.configuration.courtesies)

    def understood(self, text: str, confidence: float) -> bool:
        manners = self.manners
        return bool(text.strip()) if manners is None else manners.understood(text, confidence)

    @property
    def server_vad(self) -> ServerVad | None:
        detection = self.configuration.turn_detection
        return detection if isinstance(detection, ServerVad) else None


@dataclass(slots=True)
class Draft:
    """What one fact leads to."""

    state: State
    now: float
    advance: Callable[[Phase, Signal], Phase]
    position: Position | None = None
    orders: list[Order] = field(default_factory=list)

    def order(self, *orders: Order) -> None:
        self.orders.extend(orders)

    def send(
        self,
        kind: EventType | OwnEventType,
        place: Mapping[str, Any] | None = None,
        *,
        to: Audience | int = Audience.ALL,
        **fields: Any,
    ) -> None:
        self.orders.append(Send(frame(kind, place, **fields), to))

    def tell_item(self, item: Item, previous: str | None) -> None:
        """It is in the conversation, and whole."""
        shown = item_object(item)
        self.send("conversation.item.added", previous_item_id=previous, item=shown)
        self.send("conversation.item.done", previous_item_id=previous, item=shown)

    def tell_playing(self, kind: EventType, response_id: str) -> None:
        """Over a WebSocket the client paces its own sound; those who only watch are told."""
        watchers = Audience.ALL if self.state.policy.paced else Audience.OBSERVERS
        self.send(kind, response_id=response_id, to=watchers)

    def signal(self, signal: Signal) -> None:
        self.state.phase = self.advance(self.state.phase, signal)

    def new_id(self, prefix: str) -> str:
        return self.state.new_id(prefix)
