"""Requests and answers of the Voice API (seed 003), as Pydantic models."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Name = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_.:-]+$")]
SessionStatus = Literal["active", "completed", "cancelled", "error"]
EntryType = Literal["user", "assistant", "tool_call", "tool_result", "system"]


class Request(BaseModel):
    """What a client sends: a field that we do not know is told, not ignored."""

    model_config = ConfigDict(extra="forbid")


class ToolDefinition(BaseModel):
    type: Literal["function"] = "function"
    name: str
    description: str
    parameters: dict[str, Any]


class ClientSecret(BaseModel):
    """Ours, never the provider's: single use, for one session, 60 seconds."""

    value: str
    expires_at: int


class CreateSessionRequest(Request):
    voice: str | None = Field(default=None, min_length=1, max_length=64, examples=["marin"])
    instructions: str | None = Field(default=None, min_length=1, max_length=32_000)
    tools_filter: list[Name] | None = Field(default=None, max_length=128)


class SessionResponse(BaseModel):
    client_secret: ClientSecret
    session_id: str = Field(examples=["vs_20260131_143022_a3f2"])
    model: str
    voice: str
    tools: list[ToolDefinition]
    conversation_id: str
    stream_token: ClientSecret = Field(
        description="For `GET /events?session_id=…&token=…`, where no header can be sent."
    )


class SessionInfo(BaseModel):
    id: str
    status: SessionStatus
    created_at: datetime
    updated_at: datetime
    duration_ms: int
    turn_count: int
    title: str | None = None
    conversation_id: str


class SessionListResponse(BaseModel):
    sessions: list[SessionInfo]
    count: int


class CreateTrackedSessionRequest(Request):
    title: str | None = Field(default=None, max_length=500)
    metadata: dict[str, Any] | None = None


class CreateTrackedSessionResponse(BaseModel):
    session_id: str
    session: SessionInfo


class TranscriptEntryIn(Request):
    id: str | None = Field(default=None, min_length=1, max_length=200)
    entry_type: EntryType
    timestamp: datetime | None = None
    text: str | None = Field(default=None, max_length=100_000)
    tool_name: str | None = Field(default=None, max_length=200)
    tool_call_id: str | None = Field(default=None, min_length=1, max_length=200)
    tool_arguments: dict[str, Any] | None = None
    tool_result: dict[str, Any] | None = None
    audio_duration_ms: int | None = Field(default=None, ge=0, le=86_400_000)


class TranscriptEntry(BaseModel):
    """`text` is what was said or heard; `generated_text` what the assistant meant to say."""

    id: str
    entry_type: EntryType
    timestamp: datetime
    text: str | None = None
    tool_name: str | None = None
    tool_call_id: str | None = None
    tool_arguments: dict[str, Any] | None = None
    tool_result: dict[str, Any] | None = None
    audio_duration_ms: int | None = None
    item_id: str | None = None
    interrupted: bool | None = None
    generated_text: str | None = None


class SessionDetailResponse(BaseModel):
    session: SessionInfo
    transcript: list[TranscriptEntry]


class SyncTranscriptRequest(Request):
    entries: list[TranscriptEntryIn] = Field(max_length=1000)


class SyncTranscriptResponse(BaseModel):
    synced: int
    session_id: str


class ResumeSessionRequest(Request):
    voice: str | None = Field(default=None, min_length=1, max_length=64)


class ResumeSessionResponse(BaseModel):
    session_id: str
    session: SessionInfo
    context_to_inject: list[dict[str, Any]]
    seeded: bool = Field(description="The server tells the model itself; nothing to inject.")
    transcript: list[TranscriptEntry]
    realtime: SessionResponse


class EndSessionRequest(Request):
    summary: str | None = Field(default=None, max_length=4000)
    status: Literal["completed", "cancelled", "error"] = "completed"


class EndSessionResponse(BaseModel):
    session: SessionInfo
    duration_ms: int
    turn_count: int


class SessionStateResponse(BaseModel):
    """Where a session stands (seed 000 §8.2), for clients that poll."""

    session_id: str
    conversation_id: str
    status: SessionStatus
    state: str
    voice_session_active: bool
    amplifier_connected: bool
    pending_tasks: int
    session_age_ms: int
    estimated_tokens: int
    last_event_id: int
    stream_token: ClientSecret


class ReconnectResponse(BaseModel):
    ephemeral_key: str
    expires_at: int
    session_id: str
    stream_token: ClientSecret


class RestoreRequest(Request):
    prev_session_id: str = Field(min_length=1, max_length=64)


class RestoreResponse(BaseModel):
    new_session_id: str
    ephemeral_key: str
    expires_at: int
    context_summary: str
    pending_tasks: list[str]
    stream_token: ClientSecret


class QueuedUpdate(BaseModel):
    id: int
    event: str
    data: dict[str, Any]


class PendingUpdatesResponse(BaseModel):
    session_id: str
    status: SessionStatus
    queued_updates: list[QueuedUpdate]
    last_event_id: int
    has_more: bool


class TaskResponse(BaseModel):
    task_id: str
    tool_name: str
    status: Literal["started", "completed", "failed", "unknown"]
    progress: str | None = None
    output: str | None = None
    error: str | None = None
    started_at: datetime
    finished_at: datetime | None = None
    duration_ms: int | None = None
    session_id: str | None = None


class IceServer(BaseModel):
    urls: list[str]
    username: str | None = None
    credential: str | None = None


class IceConfigResponse(BaseModel):
    ice_servers: list[IceServer]
    ice_transport_policy: Literal["all", "relay"] = "all"


class ToolCategory(BaseModel):
    name: str
    tools: list[str]


class ToolListResponse(BaseModel):
    tools: list[ToolDefinition]
    count: int
    categories: list[ToolCategory]


class ExecutionStats(BaseModel):
    total_calls: int
    avg_duration_ms: float
    success_rate: float
    last_called: datetime | None = None


class ToolExample(BaseModel):
    description: str
    arguments: dict[str, Any]
    expected_output: str


class ToolDetailResponse(BaseModel):
    tool: ToolDefinition
    execution_stats: ExecutionStats
    examples: list[ToolExample]


class ExecuteToolRequest(Request):
    arguments: dict[str, Any]
    call_id: str | None = Field(
        default=None, min_length=1, max_length=128, pattern=r"^[\x21-\x7e]+$"
    )
    timeout_ms: int | None = Field(default=None, ge=1, le=600_000, description="Default 60000.")


class ExecuteToolResponse(BaseModel):
    success: bool
    output: str
    error: str | None = None
    duration_ms: int
    truncated: bool
    call_id: str | None = None


class ToolCallWebhook(Request):
    call_id: str = Field(min_length=1, max_length=128, pattern=r"^[\x21-\x7e]+$")
    name: str = Field(min_length=1, max_length=64)
    arguments: str = Field(max_length=262_144, description="JSON, as the model wrote it.")


class WebhookResponse(BaseModel):
    accepted: bool = True
    call_id: str
    task_id: str = Field(description="For `GET /tasks/{id}`; the result comes on `/events` too.")
