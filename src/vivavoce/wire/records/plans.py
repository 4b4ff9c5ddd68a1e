"""What people plan, and the intents it came from (seed 004): people, goals, to-dos, deliveries;
and the tokens of those who run the server.

Records are values, written with the changes of `wire.records`. A `Todo` is a
row of seed 004's table `tasks`; delegated work is another thing (`records.work`).
"""

from __future__ import annotations

from dataclasses import field
from datetime import datetime
from enum import StrEnum
from typing import Literal

from vivavoce.wire.records.work import Json, Role
from vivavoce.wire.values import Record

Verbosity = Literal["brief", "normal", "detailed"]


class Person(Record):
    """Who a user is and what they prefer: a row of `users`. Hours are "HH:MM" where they live."""

    id: str
    created_at: datetime
    updated_at: datetime
    name: str | None = None
    time_zone: str | None = None
    chronotype: str | None = None
    """When they are at their best: "early", "late", "neutral"."""
    work_start: str | None = None
    work_end: str | None = None
    sleep_start: str | None = None
    sleep_end: str | None = None
    voice: str | None = None
    verbosity: Verbosity = "normal"
    auto_approve: bool = False
    role: Role = "operator"
    """The least of those who wrote it."""


class AccessToken(Record):
    """A bearer token of an operator, by its name. The secret is kept nowhere: its hash is."""

    name: str
    digest: str
    role: Role
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None

    def works(self, now: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


class GoalStatus(StrEnum):
    ACTIVE = "active"
    COMPLETED = "completed"
    RETRACTED = "retracted"


class Goal(Record):
    """`timeline` is in the user's words; `target_at` the instant they mean, where there is one."""

    id: str
    user_id: str
    statement: str
    created_at: datetime
    updated_at: datetime
    timeline: str | None = None
    target_at: datetime | None = None
    context_notes: str | None = None
    status: GoalStatus = GoalStatus.ACTIVE
    conversation_id: str | None = None
    intent_id: str | None = None
    role: Role = "operator"
    """The least of those who wrote it: several tokens may be one user."""


class Milestone(Record):
    """A step of a goal; `position` says which comes first."""

    id: str
    goal_id: str
    user_id: str
    title: str
    position: int
    created_at: datetime
    due_at: datetime | None = None
    completed_at: datetime | None = None


class TodoStatus(StrEnum):
    ACTIVE = "active"
    RESCHEDULED = "rescheduled"  # still to be done, at another time (seed 004 §5.6)
    COMPLETED = "completed"
    RETRACTED = "retracted"

    @property
    def open(self) -> bool:
        return self in (TodoStatus.ACTIVE, TodoStatus.RESCHEDULED)


class Todo(Record):
    """Something to be done at a time or at a place. The user's words stay beside what they mean."""

    id: str
    user_id: str
    title: str
    trigger_type: Literal["time", "location"]
    created_at: datetime
    updated_at: datetime
    scheduled_at: datetime | None = None
    """The next (or only) instant."""
    scheduled_words: str | None = None
    recurrence_rule: str | None = None
    """RFC 5545, without DTSTART: "FREQ=WEEKLY;BYDAY=MO,WE"."""
    recurrence_words: str | None = None
    recurs_from: datetime | None = None
    """The anchor that the rule counts from ("every other week"); None is `scheduled_at`."""
    moved_from: datetime | None = None
    """The occurrence that was moved to `scheduled_at`, this once; None where none was."""
    time_zone: str = "UTC"
    """Where the clock hangs by which it recurs."""
    location_trigger: str | None = None
    status: TodoStatus = TodoStatus.ACTIVE
    reason: str | None = None
    """Why it was moved, where the user said so."""
    goal_id: str | None = None
    conversation_id: str | None = None
    intent_id: str | None = None
    role: Role = "operator"
    """The least of those who wrote it."""


ReminderStatus = Literal["waiting", "told", "dropped"]
"""Dropped: before it could be told, the to-do was moved, ticked off or deleted."""


class Reminder(Record):
    """A to-do that came due, at this time of its: a row of `reminders`, one for each time."""

    id: str
    """Made of the to-do and its time: the same time is one row."""
    user_id: str
    task_id: str
    title: str
    due_at: datetime
    created_at: datetime
    status: ReminderStatus = "waiting"
    told_at: datetime | None = None
    """When the user heard of it."""
    claimed_by: str | None = None
    """The server that is about to tell it, and has it for itself until then."""
    claimed_until: datetime | None = None


class Watch(Record):
    """A to-do as whoever waits for its times knows it."""

    todo: Todo
    look_at: datetime
    """When to look at it next: at once, if it was written since."""
    noted_until: datetime
    """What was due up to then is noted, or was over before somebody wanted it."""


class IntentStatus(StrEnum):
    PENDING = "pending"  # kept, and on its way to the backend
    ACCEPTED = "accepted"
    FAILED = "failed"  # refused for good; the payload is kept
    RETRACTED = "retracted"


class Intent(Record):
    """One submission, with the entries it came from."""

    id: str
    user_id: str
    conversation_id: str
    name: str
    """The function the model called: "submit_goal_intent"."""
    route: str
    """Where it goes: "GOAL"."""
    payload: Json
    created_at: datetime
    updated_at: datetime
    status: IntentStatus = IntentStatus.PENDING
    session_id: str | None = None
    call_id: str | None = None
    evidence: tuple[str, ...] = ()
    """Ids of the entries that it came from."""
    revision: int = 0
    """How often it was amended."""
    goal_id: str | None = None
    task_id: str | None = None
    error: str | None = None
    previous: Json | None = None
    """What a retraction or an amendment has to put back: as the orchestrator left it."""


DeliveryStatus = Literal["pending", "delivered", "refused"]


class Delivery(Record):
    """A message to the user's backend, kept until it is answered: a row of the outbox.

    The id is the idempotency key. Deliveries of one intent go out in their order.
    """

    id: str
    intent_id: str
    user_id: str
    action: Literal["submit", "amend", "retract", "due"]
    body: Json
    created_at: datetime
    updated_at: datetime
    due_at: datetime
    status: DeliveryStatus = "pending"
    attempts: int = 0
    last_error: str | None = None
    answer: Json | None = None


NEVER_BEGAN = "never_began"
"""How a session ended that came to nothing while it was made: no limit counts it."""


class SessionLimits(Record):
    """How many sessions one user may have; 0 is no limit. Checked where they are stored."""

    per_10_minutes: int = 0
    per_day: int = 0
    concurrent: int = 0
    stale_seconds: float = 2 * 3600
    """An active session older than this is one that nobody closed: it does not count as one."""
    tokens_per_day: int = 0
    cost_micros_per_day: int = 0
    one_of_many: bool = False
    """Several with roles of their own are this user. Refused with `Forbidden` where a session of
    the conversation has a higher role, whichever server stored that a moment ago."""


class Spent(Record):
    """What a user's sessions took, over some time. Money is millionths of a dollar."""

    sessions: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_micros: int = 0
    since: datetime | None = None
    """The oldest of them: when it leaves the window, there is room again."""


class ConversationSummary(Record):
    """A conversation as a list shows it (seed 004 §9). `messages` counts what was said."""

    id: str
    context_type: str
    created_at: datetime
    title: str | None = None
    last_message_at: datetime | None = None
    ended_at: datetime | None = None
    extracted_intent: str | None = None
    preview: str | None = None
    messages: int = 0


class Hit(Record):
    """A message that a search found. `snippet` marks the words with «…»."""

    message_id: str
    conversation_id: str
    role: str
    created_at: datetime
    snippet: str
    score: float = 0.0
    parts: tuple[tuple[str, bool], ...] = ()
    """The snippet in pieces, each with whether it is one of the words: a text may have marks like
    ours itself."""
    title: str | None = None
    """Of its conversation, and with the next what kind that is."""
    context_type: str = "voice"


class Submission(Record):
    """What the orchestrator is given: {intent: route, payload: validated arguments}."""

    intent_id: str
    user_id: str
    conversation_id: str
    route: str
    payload: Json
    now: datetime
    time_zone: str
    session_id: str | None = None
    evidence: tuple[str, ...] = ()
    said: str = ""
    """What the user said last, in their own words."""
    hours: Json = field(default_factory=dict)
    """Of the user's day, as far as known: `wake`, `sleep`, `work_start`, `work_end`, "HH:MM"."""
    extra: Json = field(default_factory=dict)
