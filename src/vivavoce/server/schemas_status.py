"""Answers of health, status and configuration (seed 003 §6 and §7)."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, model_validator

from vivavoce.server.schemas import Name, Request


class HealthAmplifier(BaseModel):
    enabled: bool
    tools_count: int


class HealthResponse(BaseModel):
    status: Literal["healthy", "degraded", "unhealthy"]
    version: str
    amplifier: HealthAmplifier
    model: str
    uptime_seconds: int
    active_sessions: int


class ServerStatus(BaseModel):
    status: Literal["healthy", "degraded", "unhealthy"]
    version: str
    uptime_seconds: int
    started_at: datetime


class AmplifierStatus(BaseModel):
    """The tool bridge, whatever is behind it."""

    enabled: bool
    bundle: str
    cwd: str
    tools_count: int
    tools: list[str]


class SessionsStatus(BaseModel):
    active: int
    total: int
    avg_duration_ms: float


class ProviderStatus(BaseModel):
    model: str
    voice: str
    connected: bool
    last_error: str | None = None


class ResourceStatus(BaseModel):
    memory_mb: float
    cpu_percent: float


class EventsStatus(BaseModel):
    streams: int
    last_event_id: int


class StatusResponse(BaseModel):
    server: ServerStatus
    amplifier: AmplifierStatus
    sessions: SessionsStatus
    openai: ProviderStatus
    resources: ResourceStatus
    events: EventsStatus


class ReadyChecks(BaseModel):
    amplifier: bool
    openai: bool
    database: bool


class ReadyResponse(BaseModel):
    ready: bool
    checks: ReadyChecks
    message: str | None = None


class ServiceConfig(BaseModel):
    version: str
    host: str
    port: int


class RealtimeConfig(BaseModel):
    model: str
    voice: str


class AmplifierConfig(BaseModel):
    bundle: str
    cwd: str
    auto_approve: bool
    tool_timeout: float
    approval_policy: str


class ConfigResponse(BaseModel):
    service: ServiceConfig
    realtime: RealtimeConfig
    amplifier: AmplifierConfig


class TurnDetectionConfig(Request):
    """`type` null is manual: the client says when a turn is over."""

    type: Literal["server_vad", "semantic_vad"] | None
    threshold: float | None = Field(default=None, ge=0.0, le=1.0, description="server_vad")
    eagerness: Literal["low", "medium", "high", "auto"] | None = Field(
        default=None, description="semantic_vad"
    )
    silence_duration_ms: int | None = Field(default=None, ge=0, le=60_000, description="server_vad")
    prefix_padding_ms: int | None = Field(default=None, ge=0, le=60_000, description="server_vad")

    @model_validator(mode="after")
    def _fits_its_type(self) -> TurnDetectionConfig:
        given = {k for k, v in self if v is not None and k != "type"}
        allowed: dict[str | None, set[str]] = {
            "server_vad": {"threshold", "silence_duration_ms", "prefix_padding_ms"},
            "semantic_vad": {"eagerness"},
            None: set(),
        }
        if wrong := sorted(given - allowed[self.type]):
            raise ValueError(f"{', '.join(wrong)} is not for {self.type or 'manual turns'}")
        return self

    def as_session(self) -> dict[str, Any] | None:
        return None if self.type is None else self.model_dump(exclude_none=True)


class UpdateSessionConfigRequest(Request):
    voice: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    instructions: Annotated[str, Field(min_length=1, max_length=32_000)] | None = None
    turn_detection: TurnDetectionConfig | None = None
    tools_enabled: Annotated[list[Name], Field(max_length=128)] | None = None


class UpdateSessionConfigResponse(BaseModel):
    session_id: str
    updated: list[str]
    effective_config: dict[str, Any]


class VoiceOption(BaseModel):
    id: str
    name: str
    description: str
    recommended: bool
    sample_url: str | None = None


class VoicesResponse(BaseModel):
    voices: list[VoiceOption]


class ParameterSchema(BaseModel):
    name: str
    type: str
    description: str
    default: Any = None
    minimum: float | None = None
    maximum: float | None = None
    options: list[str] | None = None


class TurnDetectionOption(BaseModel):
    type: Literal["server_vad", "semantic_vad"] | None
    name: str
    description: str
    parameters: list[ParameterSchema]


class TurnDetectionResponse(BaseModel):
    options: list[TurnDetectionOption]
