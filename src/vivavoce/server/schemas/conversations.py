"""What the Conversations API takes and tells (seed 004): sessions, conversations and messages (§9);
goals, tasks, intents, profile and usage (§6 and §8).
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import (
    BeforeValidator,
    Field,
    StrictBool,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from vivavoce.runtime.people.plans import Account, Plan
from vivavoce.server.schemas.fields import NUMBER, Moment, Request, Timestamp, View
from vivavoce.server.schemas.sessions import CAN_TYPE, ClientContext, ClientSecret
from vivavoce.wire.records.plans import Person, SessionLimits, Spent
from vivavoce.wire.records.talk import Entry, Kind

Uuid = Annotated[str, WithJsonSchema({"type": "string", "format": "uuid"})]
ContextType = Literal["onboarding", "goal", "task", "reschedule", "voice"]
Role = Literal["user", "assistant", "system", "function"]
InputModality = Literal["voice", "text"]

INAUDIBLE = "[inaudible]"
_FUNCTION = (Kind.TOOL_CALL, Kind.TOOL_RESULT)


def shown(content: str, role: str) -> str:
    """What nobody could make out is told as such (seed 004 §5.9)."""
    return INAUDIBLE if role == "user" and not content.strip() else content


def _role(kind: object) -> object:
    return "function" if kind in _FUNCTION else kind


class CreateVoiceSessionRequest(Request):
    """Nothing begins a new conversation."""

    conversation_id: UUID | None = Field(
        default=None, description="A conversation to go on with; null begins a new one."
    )
    task_id: UUID | None = Field(
        default=None, description="A task to talk about: the one that a notification named."
    )
    can_type: StrictBool = Field(default=False, description=CAN_TYPE)
    context: ClientContext | None = None


class PriorMessage(View):
    id: Uuid
    role: Annotated[Role, BeforeValidator(_role)] = Field(validation_alias="kind")
    content: str = Field(
        validation_alias="text", description="What was said, or what was heard of it"
    )
    input_modality: InputModality = Field(validation_alias="modality")
    created_at: Timestamp

    @field_validator("content")
    @classmethod
    def _heard(cls, value: str, info: ValidationInfo) -> str:
        return shown(value, info.data["role"])


class Message(PriorMessage):
    metadata: dict[str, Any] = Field(
        validation_alias="data",
        description="`interrupted` and `generated` of an answer that was cut short; "
        "`tool_name`, `tool_arguments` and `tool_result` of a `function` message.",
    )

    @classmethod
    def of(cls, record: object, /, **more: Any) -> Self:
        message = super().of(record, **more)
        if isinstance(record, Entry) and record.kind in _FUNCTION:
            message.metadata = {**message.metadata, "entry_kind": record.kind.value}
        return message


class VoiceSessionResponse(View):
    session_id: str
    conversation_id: Uuid
    ephemeral_key: str = Field(description="For `POST …/sdp`: ours, single use, 60 seconds.")
    prior_messages: list[PriorMessage] = Field(description="The last 100, oldest first")
    expires_at: int = Field(description="Of the key, in seconds since 1970")
    stream_token: ClientSecret = Field(description="For `GET …/events?token=…`")
    last_event_id: int = Field(description="A stream from here misses nothing of this session.")


class CallRequest(Request):
    call_id: str = Field(
        min_length=1,
        max_length=200,
        pattern=r"^[A-Za-z0-9_-]+$",
        description="From the `Location` header of the provider's answer",
    )


class ConversationInfo(View):
    id: Uuid
    context_type: str
    title: str | None
    created_at: Timestamp
    last_message_at: Timestamp | None
    ended_at: Timestamp | None
    extracted_intent: str | None = Field(description="The latest")
    preview: str | None = Field(description="The beginning of the last message")
    message_count: int = Field(validation_alias="messages")


class ConversationListResponse(View):
    conversations: list[ConversationInfo]
    total: int


class CreateConversationRequest(Request):
    context_type: ContextType = "voice"
    title: str | None = Field(default=None, max_length=200)


class ConversationChange(Request):
    title: str = Field(min_length=1, max_length=200, pattern=r"\S", description="Its new title")


class MessageListResponse(View):
    messages: list[Message] = Field(description="Oldest first")
    has_more: bool = Field(description="There are older ones: `before` the first of these.")


class SendMessageRequest(Request):
    content: str = Field(min_length=1, max_length=8000, pattern=r"\S")
    wait_seconds: Annotated[float, Field(ge=0, le=60), NUMBER] = Field(
        default=30, description="How long to wait for the answer; it is kept in any case."
    )


class SendMessageResponse(View):
    message: Message
    reply: Message | None = Field(description="Null: not there yet. It comes as a message.")
    session_id: str = Field(description="The session that answers, live or written")
    stream_token: ClientSecret = Field(
        description="For `GET /api/v1/voice/session/{session_id}/events?token=…`"
    )


class SnippetPart(View):
    text: str
    found: bool = Field(description="Is it one of the words?")


class SearchHit(View):
    message_id: Uuid
    conversation_id: Uuid
    role: str
    created_at: Timestamp
    snippet: str = Field(description="With «…» around the words that were found")
    parts: list[SnippetPart] = Field(
        description="The snippet in pieces: a text may have marks like these itself"
    )
    conversation_title: str | None = Field(validation_alias="title")
    context_type: str

    @field_validator("parts", mode="before")
    @classmethod
    def _pieces(cls, value: object) -> object:
        pairs = value if isinstance(value, tuple) else ()
        return [{"text": text, "found": hit} for text, hit in pairs]


class SearchResponse(View):
    results: list[SearchHit] = Field(description="Best first")


Clock = Annotated[str, Field(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$", examples=["09:00"])]
Verbosity = Literal["brief", "normal", "detailed"]


class MilestoneView(View):
    id: Uuid
    title: str
    position: int
    due_at: Timestamp | None
    completed_at: Timestamp | None


class GoalView(View):
    """`timeline` is in the user's words, `target_at` what they mean, where that is a time."""

    id: Uuid
    statement: str
    timeline: str | None
    target_at: Timestamp | None
    context_notes: str | None
    status: Literal["active", "completed", "retracted"]
    milestones: list[MilestoneView]
    conversation_id: Uuid | None
    intent_id: Uuid | None
    created_at: Timestamp
    updated_at: Timestamp

    @classmethod
    def of_plan(cls, plan: Plan) -> Self:
        return cls.of(plan.goal, milestones=plan.milestones)


def _no_default(schema: dict[str, Any]) -> None:
    schema.pop("default", None)


LEFT_OUT: Any = Field(default=None, json_schema_extra=_no_default)
"""Never null: a field that is left out stays as it is."""
Timeline = Annotated[str, Field(min_length=1, max_length=200, examples=["in three months"])]
Notes = Annotated[str, Field(max_length=2000)]
Title = Annotated[str, Field(min_length=1, max_length=200, examples=["Water the plants"])]
Statement = Annotated[str, Field(min_length=3, max_length=500, examples=["Learn Spanish"])]
Rule = Annotated[str, Field(min_length=1, max_length=200, examples=["FREQ=WEEKLY;BYDAY=MO"])]
InWords = Annotated[
    str,
    Field(
        min_length=1,
        max_length=160,
        description="The time in words, in English, instead of `scheduled_at`",
        examples=["every weekday at 6am"],
    ),
]


class NewGoal(Request):
    """`timeline` is in words, and dated where it can be; `target_at` is more exact."""

    statement: Statement
    timeline: Timeline | None = None
    target_at: Moment | None = None
    context_notes: Notes | None = None


class _Change(Request):
    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.model_fields_set:
            raise ValueError("should name what changes")
        return self


class GoalChange(_Change):
    """What is left out stays; null takes it away."""

    statement: Statement = LEFT_OUT
    timeline: Timeline | None = None
    target_at: Moment | None = None
    context_notes: Notes | None = None
    status: Literal["active", "completed"] = LEFT_OUT


class NewTask(Request):
    """At a time, by `scheduled_at` or `when`, or at a place."""

    title: Title
    scheduled_at: Moment | None = None
    when: InWords | None = None
    recurrence_rule: Rule | None = Field(default=None, description="RFC 5545, without DTSTART")
    location_trigger: Title | None = None
    goal_id: UUID | None = Field(default=None, description="The goal that it is for")


class TaskChange(_Change):
    """What is left out stays; null takes it away. A place takes the time away, and a time the
    place. Of one that recurs another time is of all of it."""

    title: Title = LEFT_OUT
    scheduled_at: Moment | None = None
    when: InWords | None = None
    recurrence_rule: Rule | None = None
    location_trigger: Title | None = None
    goal_id: UUID | None = None
    status: Literal["active", "completed"] = LEFT_OUT


class TaskMove(Request):
    """To another time, this once."""

    to: Moment
    of: Moment | None = Field(default=None, description="Which of its times; null: the next")


class DoneChange(Request):
    """Is it done, or still to be done?"""

    status: Literal["active", "completed"]


class GoalListResponse(View):
    goals: list[GoalView] = Field(description="Newest first")


class TodoView(View):
    """The user's words stay beside what they mean."""

    id: Uuid
    title: str
    trigger_type: Literal["time", "location"]
    scheduled_at: Timestamp | None = Field(description="The next or only time")
    scheduled_words: str | None
    recurrence_rule: str | None = Field(description="RFC 5545, without DTSTART")
    recurrence_words: str | None
    time_zone: str
    location_trigger: str | None
    status: Literal["active", "rescheduled", "completed", "retracted"]
    reason: str | None = Field(description="Why it was moved")
    goal_id: Uuid | None
    conversation_id: Uuid | None
    intent_id: Uuid | None
    created_at: Timestamp
    updated_at: Timestamp


class TodoListResponse(View):
    tasks: list[TodoView] = Field(description="By the time they are due")


class ReminderView(View):
    """A task that came due, at this time."""

    id: Uuid
    task_id: Uuid
    title: str
    due_at: Timestamp
    status: Literal["waiting", "told", "dropped"] = Field(
        description="Dropped: the task was moved, ticked off or deleted before it could be told"
    )
    told_at: Timestamp | None = Field(description="When you heard of it")


class ReminderListResponse(View):
    reminders: list[ReminderView] = Field(
        description="The latest first; those that wait, the oldest first"
    )


class IntentView(View):
    id: Uuid
    conversation_id: Uuid
    session_id: str | None
    name: str = Field(description="The function that the model called")
    intent: str = Field(validation_alias="route")
    payload: dict[str, Any]
    status: Literal["pending", "accepted", "failed", "retracted"]
    revision: int = Field(description="How often it was amended")
    evidence: list[Uuid] = Field(description="The messages that it came from")
    goal_id: str | None = Field(description="A UUID, or as the user's backend names it")
    task_id: str | None = Field(description="Likewise")
    error: str | None
    created_at: Timestamp
    updated_at: Timestamp


class IntentListResponse(View):
    intents: list[IntentView] = Field(description="Newest first")


class Hours(Request):
    """From one time of day to another, where the user lives; over midnight if it must be."""

    start: Clock
    end: Clock


class ProfileResponse(View):
    user_id: str
    name: str | None
    time_zone: str | None = Field(description="Null: the server's")
    chronotype: str | None
    work_hours: Hours | None
    sleep_window: Hours | None

    @classmethod
    def of_person(cls, person: Person) -> Self:
        work = _hours(person.work_start, person.work_end)
        sleep = _hours(person.sleep_start, person.sleep_end)
        return cls.of(person, user_id=person.id, work_hours=work, sleep_window=sleep)


def _hours(start: str | None, end: str | None) -> Hours | None:
    return Hours(start=start, end=end) if start and end else None


class ProfileChange(Request):
    """What is left out stays; null takes it away."""

    name: str | None = Field(default=None, max_length=200)
    time_zone: str | None = Field(default=None, max_length=64, examples=["Europe/Berlin"])
    chronotype: str | None = Field(
        default=None, max_length=40, examples=["early", "night owl, slow before ten"]
    )
    work_hours: Hours | None = None
    sleep_window: Hours | None = None


class PreferencesResponse(View):
    voice: str | None = Field(description="Null: the agent's")
    verbosity: Verbosity
    auto_approve: bool
    may_auto_approve: bool = Field(description="Would this server, for somebody with your role?")


class PreferencesChange(Request):
    """What is left out stays. They hold from the next session on."""

    voice: str | None = Field(
        default=None, min_length=1, max_length=64, description="One of `GET /config/voices`"
    )
    verbosity: Verbosity = "normal"
    auto_approve: StrictBool = Field(
        default=False, description="Allow without asking whatever the policy would ask about."
    )


def _dollars(micros: int) -> float:
    return micros / 1_000_000


class Consumption(View):
    input_tokens: int
    output_tokens: int
    cost_usd: Annotated[float, BeforeValidator(_dollars)] = Field(validation_alias="cost_micros")


class PeriodUsage(Consumption):
    since: Timestamp
    sessions: int


class SessionUsage(Consumption):
    session_id: str = Field(validation_alias="id")
    conversation_id: Uuid
    model: str
    created_at: Timestamp
    ended_at: Timestamp | None
    estimated: bool = Field(
        default=False,
        description="Some of it is reckoned: a provider's answer ended while the server was away",
    )


class Budget(View):
    """Of 24 hours; null is no limit. Below zero: what the last session took beyond it."""

    tokens_per_day: int | None
    tokens_left: int | None
    cost_usd_per_day: float | None
    cost_usd_left: float | None
    sessions_per_day: int | None
    sessions_left: int | None

    @classmethod
    def left(cls, limits: SessionLimits, spent: Spent) -> Self:
        tokens = spent.input_tokens + spent.output_tokens
        micros = limits.cost_micros_per_day
        return cls(
            tokens_per_day=limits.tokens_per_day or None,
            tokens_left=limits.tokens_per_day - tokens if limits.tokens_per_day else None,
            cost_usd_per_day=_dollars(micros) if micros else None,
            cost_usd_left=_dollars(micros - spent.cost_micros) if micros else None,
            sessions_per_day=limits.per_day or None,
            sessions_left=max(0, limits.per_day - spent.sessions) if limits.per_day else None,
        )


class UsageResponse(View):
    today: PeriodUsage = Field(description="The last 24 hours")
    budget: Budget
    sessions: list[SessionUsage] = Field(description="The latest, newest first")

    @classmethod
    def of_account(cls, account: Account) -> Self:
        return cls(
            today=PeriodUsage.of({**asdict(account.spent), "since": account.since}),
            budget=Budget.left(account.limits, account.spent),
            sessions=[SessionUsage.of(summary.session) for summary in account.sessions],
        )


class DeletedResponse(View):
    """What of a user went."""

    sessions_ended: int
    rows: dict[str, int] = Field(description="How many, by the table they were in")
    files: int = Field(description="Of a workspace of their own")
    workspace_kept: bool = Field(
        description="It is the operator's own folder, or shared: nothing in it was touched"
    )
    not_reached: list[str] = Field(
        description="Servers that did not answer: ask again, they still have files of the user"
    )
