"""Answers of health, status and configuration (seed 003 §6 and §7)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from vivavoce.server.schemas.fields import NUMBER, Name, Request, Timestamp, View

Health = Literal["healthy", "degraded", "unhealthy"]


class HealthAmplifier(View):
    enabled: bool
    tools_count: int


class HealthResponse(View):
    status: Health
    version: str
    amplifier: HealthAmplifier
    model: str
    uptime_seconds: int
    active_sessions: int


class ServerStatus(View):
    status: Health
    version: str
    uptime_seconds: int
    started_at: Timestamp


class AmplifierStatus(View):
    """The tool bridge, whatever is behind it."""

    enabled: bool
    bundle: str
    cwd: str
    tools_count: int
    tools: list[str]


class SessionsStatus(View):
    active: int
    total: int
    avg_duration_ms: float


class ProviderStatus(View):
    model: str
    voice: str
    connected: bool
    last_error: str | None = None


class ResourceStatus(View):
    memory_mb: float
    cpu_percent: float


class EventsStatus(View):
    streams: int
    last_event_id: int


class ModelStatus(View):
    """A model of the embedded engine: how far it is."""

    name: str
    state: Literal["missing", "fetching", "verifying", "ready", "failed"]
    received: int = Field(description="Bytes on disk")
    total: int = Field(description="Bytes in all")
    error: str | None = None


class BrainStatus(View):
    """Who thinks. The figures are a local model's, once they were measured."""

    name: str
    device: str | None = Field(default=None, description="`cpu`, or the GPUs by their names")
    size: int | None = Field(default=None, description="Bytes of its file")
    context: int | None = Field(default=None, description="Tokens of one question, in all")
    reads_per_second: float | None = Field(default=None, description="Tokens")
    writes_per_second: float | None = Field(default=None, description="Tokens")


class SpeechStatus(View):
    ears: str
    mouth: str
    device: str = Field(description="`cpu`, or the name of onnxruntime's provider")


class EngineStatus(View):
    """The embedded engine; absent where the provider is another."""

    ready: bool
    failed: bool = Field(description="Its models cannot be had for now; it tries again by itself")
    calls: int
    waiting_for: list[str]
    models: list[ModelStatus]
    brain: BrainStatus | None = Field(default=None, description="Once it is loaded")
    speech: SpeechStatus | None = Field(default=None, description="Once it is loaded")


class SandboxStatus(View):
    name: str
    why_not: str | None = Field(default=None, description="Why `bash` is off, where it is")
    holds: list[str] = Field(default=[], description="What is in force, as its trial has shown")
    notes: list[str] = Field(default=[], description="What it holds less tightly than others")


class WorkerStatus(View):
    name: str
    backend: str
    available: bool


class WorkStatus(View):
    """What the tools stand on."""

    sandbox: SandboxStatus
    agents: list[WorkerStatus]
    mcp: list[dict[str, Any]]


class IntentsStatus(View):
    """What the agent submits. `ready`: its backend is configured; `waiting` for its answer."""

    names: list[str]
    orchestrator: Literal["embedded", "http"]
    ready: bool
    waiting: int


class StatusResponse(View):
    server: ServerStatus
    amplifier: AmplifierStatus
    sessions: SessionsStatus
    openai: ProviderStatus
    resources: ResourceStatus
    events: EventsStatus
    work: WorkStatus
    engine: EngineStatus | None = None
    intents: IntentsStatus | None = None


class ReadyChecks(View):
    amplifier: bool
    openai: bool
    database: bool
    engine: bool | None = None


class ReadyResponse(View):
    ready: bool
    checks: ReadyChecks
    message: str | None = None
    waiting_for: list[str] | None = None
    failed: bool | None = Field(
        default=None, description="The engine's models cannot be had for now; it tries again"
    )
    models: list[ModelStatus] | None = None


class ServiceConfig(View):
    version: str
    host: str
    port: int


class RealtimeConfig(View):
    model: str
    voice: str


class AmplifierConfig(View):
    bundle: str
    cwd: str
    auto_approve: bool
    tool_timeout: float
    approval_policy: str


class ConfigResponse(View):
    service: ServiceConfig
    realtime: RealtimeConfig
    amplifier: AmplifierConfig


Milliseconds = Annotated[int, Field(ge=0, le=60_000), NUMBER]


class ServerVad(Request):
    """A turn ends with silence."""

    type: Literal["server_vad"]
    threshold: Annotated[float, Field(ge=0.0, le=1.0), NUMBER] | None = None
    silence_duration_ms: Milliseconds | None = None
    prefix_padding_ms: Milliseconds | None = None


class SemanticVad(Request):
    """A turn ends when the words sound finished."""

    type: Literal["semantic_vad"]
    eagerness: Literal["low", "medium", "high", "auto"] | None = None


class ManualTurns(Request):
    """The client says when a turn is over."""

    type: Literal["manual"] | None


def _kind(value: Any) -> str | None:
    told = value.get("type", "") if isinstance(value, dict) else getattr(value, "type", "")
    return "manual" if told is None else str(told) or None


TurnDetectionConfig = Annotated[
    Annotated[ServerVad, Tag("server_vad")]
    | Annotated[SemanticVad, Tag("semantic_vad")]
    | Annotated[ManualTurns, Tag("manual")],
    Discriminator(_kind),
]


class UpdateSessionConfigRequest(Request):
    voice: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    instructions: Annotated[str, Field(min_length=1, max_length=32_000)] | None = None
    turn_detection: TurnDetectionConfig | Literal["manual"] | None = Field(
        default=None, description='`null`, `"manual"` and `{"type": null}` all mean manual turns.'
    )
    tools_enabled: Annotated[list[Name], Field(max_length=128)] | None = None


class UpdateSessionConfigResponse(View):
    session_id: str
    updated: list[str]
    effective_config: dict[str, Any]


class VoiceOption(View):
    id: str
    name: str
    description: str
    recommended: bool
    sample_url: str | None = None


class VoicesResponse(View):
    voices: list[VoiceOption]


class ParameterSchema(View):
    name: str
    type: str
    description: str
    default: Any = None
    minimum: float | None = None
    maximum: float | None = None
    options: list[str] | None = None


class TurnDetectionOption(View):
    type: Literal["server_vad", "semantic_vad"] | None
    name: str
    description: str
    parameters: list[ParameterSchema]


class TurnDetectionResponse(View):
    options: list[TurnDetectionOption]
