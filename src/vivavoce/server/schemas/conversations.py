"""Sessions, conversations and messages as the Conversations API tells them (seed 004 §9)."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import (
    BeforeValidator,
    Field,
    StrictBool,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
)

from vivavoce.server.schemas.fields import NUMBER, Request, Timestamp, View
from vivavoce.server.schemas.sessions import CAN_TYPE, ClientContext, ClientSecret
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


class SearchHit(View):
    message_id: Uuid
    conversation_id: Uuid
    role: str
    created_at: Timestamp
    snippet: str = Field(description="With «…» around the words that were found")


class SearchResponse(View):
    results: list[SearchHit] = Field(description="Best first")
