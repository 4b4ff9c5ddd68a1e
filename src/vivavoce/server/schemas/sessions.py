"""Requests and answers of sessions (seed 003 §2 and §3, and what 000 and 001 add)."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

import orjson
from pydantic import AliasChoices, AliasPath, BeforeValidator, Field, StrictBool

from vivavoce.server.schemas.fields import (
    NUMBER,
    EntryType,
    Moment,
    Name,
    Request,
    SessionStatus,
    Timestamp,
    View,
)
from vivavoce.server.schemas.tools import ToolDefinition


def _seconds(at: object) -> object:
    return int(at.timestamp()) if isinstance(at, datetime) else at


def _parsed(data: object) -> object:
    return orjson.loads(data) if isinstance(data, bytes) else data


def _in(*path: str) -> Any:
    """A field that lies deeper in the record, or may be missing there."""
    return Field(default=None, validation_alias=AliasPath(*path))


class ClientSecret(View):
    """Ours, never the provider's: single use, for one session, 60 seconds."""

    value: str
    expires_at: Annotated[int, BeforeValidator(_seconds)]


class ClientProfile(Request):
    name: str | None = Field(default=None, max_length=200)
    time_zone: str | None = Field(default=None, max_length=64, examples=["Europe/Berlin"])


_Own = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_.:-]+$")]
_Named = Annotated[str, Field(min_length=1, max_length=200)]


class ClientTask(Request):
    id: _Own = Field(description="As the backend calls it; it is sent back as it is")
    title: _Named
    scheduled_at: Moment | None = None
    recurrence_rule: str | None = Field(default=None, max_length=200)
    location_trigger: str | None = Field(default=None, max_length=200)


class ClientGoal(Request):
    id: _Own
    statement: _Named
    target_at: Moment | None = None
    context_notes: str | None = Field(default=None, max_length=1_000)


class ClientContext(Request):
    """What the client knows of its user. Tasks and goals are for agents whose orchestrator is a
    backend: its own ids are what it is sent."""

    profile: ClientProfile | None = None
    tasks: list[ClientTask] | None = Field(default=None, max_length=60)
    goals: list[ClientGoal] | None = Field(default=None, max_length=30)


CAN_TYPE = "Whether there is a place to write in: only then is it offered aloud."


class CreateSessionRequest(Request):
    voice: str | None = Field(default=None, min_length=1, max_length=64, examples=["marin"])
    instructions: str | None = Field(default=None, min_length=1, max_length=32_000)
    tools_filter: tuple[Name, ...] | None = Field(default=None, max_length=128)
    auto_approve: StrictBool = Field(
        default=False, description="Allow without asking whatever the policy would ask about."
    )
    can_type: StrictBool = Field(default=False, description=CAN_TYPE)
    context: ClientContext | None = None


class SessionResponse(View):
    client_secret: ClientSecret
    session_id: str = Field(examples=["vs_20260131_143022_a3f2"])
    model: str
    provider: str | None = Field(default=None, description="Who answers", examples=["openai"])
    voice: str
    tools: list[ToolDefinition]
    conversation_id: str
    stream_token: ClientSecret = Field(
        description="For `GET /events?session_id=…&token=…`, where no header can be sent."
    )
    last_event_id: int = Field(description="A stream from here misses nothing of this session.")


class SessionInfo(View):
    id: str
    status: SessionStatus
    created_at: Timestamp
    updated_at: Timestamp
    duration_ms: int
    turn_count: int
    title: str | None = None
    conversation_id: str
    provider: str | None = Field(default=None, description="Who answers, or did last")


class SessionDetails(SessionInfo):
    metadata: dict[str, Any] | None = Field(
        default=None, description="As it was given to `POST /sessions`"
    )


class SessionListResponse(View):
    sessions: list[SessionInfo]
    count: int


class CreateTrackedSessionRequest(Request):
    title: str | None = Field(default=None, max_length=500)
    metadata: dict[str, Any] | None = None


class CreateTrackedSessionResponse(View):
    session_id: str
    session: SessionInfo


class TranscriptEntryIn(Request):
    id: str | None = Field(default=None, min_length=1, max_length=200)
    entry_type: EntryType
    timestamp: Moment | None = None
    text: str | None = Field(default=None, max_length=100_000)
    tool_name: str | None = Field(default=None, max_length=200)
    tool_call_id: str | None = Field(default=None, min_length=1, max_length=200)
    tool_arguments: dict[str, Any] | None = None
    tool_result: dict[str, Any] | None = None
    audio_duration_ms: Annotated[int, Field(ge=0, le=86_400_000), NUMBER] | None = None
    item_id: str | None = Field(
        default=None,
        min_length=1,
        max_length=256,
        description="The provider's id of what was said: an item is stored once, whoever tells it.",
    )
    # What we know better ourselves, so that an entry can be sent back as it was read.
    interrupted: StrictBool | None = Field(default=None, description="Ignored.")
    generated_text: str | None = Field(default=None, max_length=100_000, description="Ignored.")
    heard_estimated: StrictBool | None = Field(default=None, description="Ignored.")


class TranscriptEntry(View):
    """`text` is what was said or heard, of an answer that still sounds what was heard so far;
    `generated_text` what the assistant meant to say. `heard_estimated`: how far it was heard is
    reckoned by the clock, since nobody who plays it tells."""

    id: str = Field(validation_alias=AliasChoices(AliasPath("data", "client_id"), "id"))
    entry_type: EntryType = Field(validation_alias="kind")
    timestamp: Timestamp = Field(validation_alias="created_at")
    text: str | None = None
    tool_name: str | None = _in("data", "tool_name")
    tool_call_id: str | None = _in("data", "tool_call_id")
    tool_arguments: dict[str, Any] | None = _in("data", "tool_arguments")
    tool_result: dict[str, Any] | None = _in("data", "tool_result")
    audio_duration_ms: int | None = _in("data", "audio_duration_ms")
    item_id: str | None = _in("data", "item_id")
    interrupted: bool | None = _in("data", "interrupted")
    generated_text: str | None = _in("data", "generated")
    heard_estimated: bool | None = _in("data", "estimated")


class TurnTrace(View):
    """How long a turn took: milliseconds after `speech_end`, without what never came."""

    began_with: Literal["speech", "text", "request"]
    outcome: Literal["completed", "interrupted", "incomplete", "failed"]
    speech_end: Timestamp
    end_of_turn_ms: int | None = None
    transcript_ms: int | None = None
    first_token_ms: int | None = None
    first_clause_ms: int | None = None
    first_sound_ms: int | None = None
    last_sound_ms: int | None = None
    response_ids: list[str]
    item_ids: list[str]
    tools: list[str]


class SessionDetailResponse(View):
    session: SessionDetails
    transcript: list[TranscriptEntry]
    turns: list[TurnTrace] = Field(
        description="How the last 100 turns of this session went, newest last."
    )


class SyncTranscriptRequest(Request):
    entries: list[TranscriptEntryIn] = Field(max_length=1000)


class SyncTranscriptResponse(View):
    synced: int
    session_id: str


class ResumeSessionRequest(Request):
    voice: str | None = Field(default=None, min_length=1, max_length=64)


class ContentPart(View):
    type: Literal["input_text", "output_text"]
    text: str


class ConversationItem(View):
    """As the Realtime protocol has it: what was said, a call, or what came of one."""

    type: Literal["message", "function_call", "function_call_output"]
    role: Literal["user", "assistant", "system"] | None = None
    content: list[ContentPart] | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: str | None = Field(default=None, description="A string that contains JSON")
    output: str | None = None


class ResumeSessionResponse(View):
    session_id: str
    session: SessionInfo
    context_to_inject: list[ConversationItem]
    seeded: bool = Field(description="The server tells the model itself; nothing to inject.")
    transcript: list[TranscriptEntry]
    realtime: SessionResponse


class EndSessionRequest(Request):
    summary: str | None = Field(default=None, max_length=4000)
    status: Literal["completed", "cancelled", "error"] = "completed"


class EndSessionResponse(View):
    session: SessionInfo
    duration_ms: int
    turn_count: int


class ChangeProviderRequest(Request):
    provider: str = Field(min_length=1, max_length=64, examples=["openai", "embedded"])


class ChangeProviderResponse(View):
    session_id: str
    provider: str = Field(description="Who answers now")
    wanted: str


class SessionStateResponse(View):
    """Where a session stands, for clients that poll."""

    session_id: str
    conversation_id: str
    status: SessionStatus
    provider: str = Field(description="Who answers", examples=["openai", "embedded"])
    model: str
    state: str
    voice_session_active: bool
    amplifier_connected: bool
    pending_tasks: int
    session_age_ms: int
    estimated_tokens: int
    last_event_id: int
    stream_token: ClientSecret


class ReconnectResponse(View):
    ephemeral_key: str
    expires_at: int
    session_id: str
    stream_token: ClientSecret
    last_event_id: int


class RestoreRequest(Request):
    prev_session_id: str = Field(min_length=1, max_length=64)


class RestoreResponse(View):
    new_session_id: str
    ephemeral_key: str
    expires_at: int
    context_summary: str
    pending_tasks: list[str]
    stream_token: ClientSecret
    last_event_id: int


class QueuedUpdate(View):
    id: int = Field(validation_alias="position")
    event: str = Field(validation_alias="type")
    data: Annotated[dict[str, Any], BeforeValidator(_parsed)]


class PendingUpdatesResponse(View):
    session_id: str
    status: SessionStatus
    queued_updates: list[QueuedUpdate]
    last_event_id: int
    has_more: bool
    reset: bool = Field(
        description="The position asked for is gone: read the session anew, then go on."
    )


class AudioFormat(View):
    type: Literal["audio/pcm"]
    rate: int


class AudioCallResponse(View):
    """Where to open the WebSocket of a call, with which subprotocols, and the sound on it."""

    url: str = Field(description="Path on this server, with its query")
    protocols: list[str] = Field(description="Subprotocols to offer, the secret among them")
    input_format: AudioFormat
    output_format: AudioFormat


class IceServer(View):
    urls: list[str]
    username: str | None = None
    credential: str | None = None


class IceConfigResponse(View):
    ice_servers: list[IceServer]
    ice_transport_policy: Literal["all", "relay"] = "all"
