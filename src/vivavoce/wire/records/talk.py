"""What is kept: conversations, voice sessions, entries, tool calls, the event log.

Records are values. The store writes them as a list of `Change`s in one
transaction and gives them back; nobody else knows how they lie on disk.
"""

from __future__ import annotations

import uuid
from dataclasses import field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Literal

from vivavoce.wire.records.plans import (
    AccessToken,
    Delivery,
    Goal,
    Intent,
    Milestone,
    Person,
    Reminder,
    SessionLimits,
    Todo,
)
from vivavoce.wire.records.reach import OneTimeKey, PushMessage, PushSubscription
from vivavoce.wire.records.work import Approval, AuditLine, Json, Role, Task
from vivavoce.wire.values import Record, Value

DEFAULT_USER = "local"


class Status(StrEnum):
    """Of a voice session, as clients see it."""

    ACTIVE = "active"
    COMPLETED = "completed"
    CANCELLED = "cancelled"
    ERROR = "error"


class Kind(StrEnum):
    """Of an entry (seed 003 §2.4)."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    SYSTEM = "system"


Modality = Literal["voice", "text"]


class Conversation(Record):
    """The durable thing: it may span many voice sessions, days and providers."""

    id: str
    user_id: str
    created_at: datetime
    updated_at: datetime
    context_type: str = "voice"
    title: str | None = None
    summary: str | None = None
    """In a client's words."""
    gist: Json | None = None
    """What the server gathered of it (`language.en.gist`)."""
    ended_at: datetime | None = None
    metadata: Json = field(default_factory=dict)
    # The latest intent (seed 004 §8); all of them are records of their own.
    extracted_intent: str | None = None
    intent_payload: Json | None = None
    linked_goal_id: str | None = None
    linked_task_id: str | None = None


ESTIMATED = "usage_estimated"
"""In a session's metadata: not all of its tokens were told."""


class VoiceSession(Record):
    """One live connection of a conversation to a provider (or a tracked one without)."""

    id: str
    conversation_id: str
    user_id: str
    agent: str
    created_at: datetime
    updated_at: datetime
    status: Status = Status.ACTIVE
    model: str = ""
    voice: str = ""
    call_id: str | None = None
    ended_at: datetime | None = None
    end_reason: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    cost_micros: int = 0
    """Millionths of a dollar, by the prices of the model."""
    counted: bool = True
    """Does it count as a new session? One that took over a live one does not."""
    role: Role = "operator"
    """Of whoever asked for it: what was said in it counts for nobody with a higher one. Stays as
    it was when the session began."""
    metadata: Json = field(default_factory=dict)
    owner: str | None = None
    """The instance that runs it. This and its epoch are the store's to say: it stamps new rows."""
    epoch: int | None = None

    @property
    def estimated(self) -> bool:
        """Is some of what it took reckoned?"""
        return bool(self.metadata.get(ESTIMATED))

    def duration_ms(self, now: datetime) -> int:
        return max(0, round(((self.ended_at or now) - self.created_at).total_seconds() * 1000))


class SessionSummary(Record):
    """A voice session as a list shows it, with what its conversation knows."""

    session: VoiceSession
    turn_count: int
    title: str | None


class Entry(Record):
    """One thing said, called or returned.

    `text` is what was said or *heard*; what the assistant generated beyond
    that is in `data["generated"]`. `ordinal` is the place in the conversation:
    milliseconds since the epoch at which the item joined it, nudged so that a
    predecessor always comes first, however late its transcript arrives.
    """

    id: str
    conversation_id: str
    user_id: str
    kind: Kind
    text: str
    created_at: datetime
    ordinal: float
    session_id: str | None = None
    modality: Modality = "voice"
    data: Json = field(default_factory=dict)

    @property
    def spoken(self) -> bool:
        """By the user, aloud. Without a text nobody could make it out."""
        return self.kind is Kind.USER and self.modality == "voice"


Origin = Literal["model", "http", "webhook", "task"]
"""Who asks for a tool: the voice's model, a client, a client that relays, delegated work."""


class CallStatus(StrEnum):
    STARTED = "started"
    COMPLETED = "completed"
    FAILED = "failed"
    UNKNOWN = "unknown"  # started, and the process died before the outcome was known


class ToolCall(Record):
    """A call of a tool, recorded before it runs and again when its outcome is known."""

    id: str
    user_id: str
    tool: str
    started_at: datetime
    arguments: Json = field(default_factory=dict)
    conversation_id: str | None = None
    session_id: str | None = None
    origin: Origin = "model"
    status: CallStatus = CallStatus.STARTED
    output: str = ""
    error: str | None = None
    truncated: bool = False
    progress: str | None = None
    finished_at: datetime | None = None
    duration_ms: int | None = None


class ToolStats(Record):
    total_calls: int = 0
    avg_duration_ms: float = 0.0
    success_rate: float = 0.0
    last_called: datetime | None = None


class LogEvent(Record):
    """One event of the log. `position` is 0 until it is stored, and for ephemeral ones."""

    type: str
    data: bytes
    user_id: str
    at: datetime
    conversation_id: str | None = None
    session_id: str | None = None
    position: int = 0


class Snapshot(Record):
    """What brings a session back after a timeout or a loss (seed 000 §7.3)."""

    session_id: str
    user_id: str
    saved_at: datetime
    data: Json


class Recording(Record):
    """A part of what a session went through, as its machine was told it (`session.replay`)."""

    session_id: str
    user_id: str
    number: int
    """The parts of a session rise, also over a restart; the first of each process has how its
    machine began."""
    saved_at: datetime
    data: bytes
    """Lines of JSON."""


# --- Changes: the only way to write -------------------------------------------


class PutConversation(Value):
    """A title, a summary, a gist or a latest intent of None leaves what is there."""

    conversation: Conversation


class PutSession(Value):
    """`new` refuses an id that is taken, so that two processes never share one."""

    session: VoiceSession
    new: bool = False
    only: tuple[str, ...] = ()
    """The fields to change, of one that is there; none is all of them."""
    limits: SessionLimits | None = None
    """For a new one: refused with `RateLimited`, in the same transaction, where the user has
    had enough. Sessions of the same conversation are not in its way: it takes them over."""


class PutEntry(Value):
    """`replace=False` keeps what is there: a client's copy never overwrites ours."""

    entry: Entry
    replace: bool = True


AnyRecord = (
    ToolCall
    | Snapshot
    | Recording
    | Task
    | Approval
    | Person
    | Goal
    | Milestone
    | Todo
    | Reminder
    | Intent
    | Delivery
    | AccessToken
    | OneTimeKey
    | PushSubscription
    | PushMessage
)


class Put(Value):
    """A record as it is now.

    How a task ended does not change, and what was told stays told. Only a pending approval can
    be settled: the first answer counts. An intent moves only forward: a later `revision`, or the
    same one with a new status. A delivery that is delivered or refused stays so.
    """

    record: AnyRecord | Conversation
    only: tuple[str, ...] = ()
    """The fields to change of a person, a plan or a conversation, and one of these that is gone is
    left alone; none is all of them. A whole conversation is put by `PutConversation`."""


class Settle(Value):
    """An answer to what waits for one. Refuses the whole commit with `Conflict` where it waits no
    longer: only whoever wins the row may act on it."""

    record: Approval


class Looked(Value):
    """Somebody has looked at the times of this to-do: the next time is `look_at`, None is never.

    Refuses the whole commit with `Conflict` where it was written, or looked at by somebody else,
    since it was read with `seen_at`: of several servers one notes what is due, and none what was
    moved meanwhile.
    """

    todo_id: str
    user_id: str
    seen_at: datetime
    look_at: datetime | None
    noted_until: datetime


class DropMilestone(Value):
    """One that is not there is no error."""

    id: str


class DropPush(Value):
    """A browser takes no more notices; those on their way to it go too. One that is not there, or
    not this user's, is no error."""

    subscription_id: str
    user_id: str


class DropConversation(Value):
    """Deletes a conversation of this user, and what was said, called and asked for in it.

    Last in its commit; one that is not there, or not theirs, is no error. Its events in the log
    are emptied where they lie. Goals, to-dos and delegated work go on without it, what a backend
    waits for is still delivered, and what its sessions took still counts today. End its live
    sessions first: one that goes on writes its conversation anew, or fails.
    """

    conversation_id: str
    user_id: str


class Announce(Value):
    """Append to the event log; the position is given at the commit."""

    event: LogEvent


class Within(Value):
    """Refuses the whole commit where the user would have more than this with it, whichever server
    wrote the rest; 0 is no limit. `RateLimited`, or `PayloadTooLarge` for the megabytes of
    entries, calls and conversations. Only for a commit that adds to what it names."""

    user_id: str
    conversations: int = 0
    megabytes: int = 0
    approvals: int = 0
    """Questions that wait for an answer and have not lapsed."""


class Audited(Value):
    """Append to the audit trail; the place in its chain is given at the commit."""

    line: AuditLine


Change = (
    PutConversation
    | PutSession
    | PutEntry
    | Put
    | Settle
    | Looked
    | DropMilestone
    | DropPush
    | DropConversation
    | Announce
    | Within
    | Audited
)


# --- Small helpers that everyone who makes records needs ------------------------


def utc_now() -> datetime:
    return datetime.now(UTC)


def iso(at: datetime) -> str:
    """ISO 8601 in UTC with milliseconds and a Z, as all our wires write time."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def new_id() -> str:
    return str(uuid.uuid4())


def entry_id(scope: str, name: str) -> str:
    """The id of what `name` calls within `scope`: the same words, the same entry.

    An item of the provider, a call id or a client's own id all become one
    UUID this way, so writing twice is writing once. A name that is a UUID
    already still goes through the scope: ids of another conversation must
    not collide with ours.
    """
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"vivavoce:{scope}:{name}"))
