"""How the server is, and what it runs with: `/health`, `/status`, `/ready` and `/metrics`
(seed 003 §6), `/config` (§7); and the words of their answers, which nobody else uses.
"""

from __future__ import annotations

import asyncio
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path
from fastapi.responses import JSONResponse, Response
from pydantic import Discriminator, Field, Tag

from vivavoce import __version__
from vivavoce.errors import VivavoceError, found
from vivavoce.runtime.provider.openai import OpenAIProvider
from vivavoce.server.problems import errors
from vivavoce.server.schemas.fields import NUMBER, Name, Request, Timestamp, View, data_file
from vivavoce.server.services import (
    AsRole,
    Here,
    Services,
    SessionPath,
    Sparse,
    User,
    json_only,
    paced,
)

if TYPE_CHECKING:
    import psutil


Health = Literal["healthy", "degraded", "unhealthy"]
_PROBE_SECONDS = 3.0
"""For what a probe has to ask somebody else."""


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
    """The provider that is asked first."""

    name: str
    model: str
    voice: str
    connected: bool
    last_error: str | None = None


class FallbackStatus(View):
    """Who takes over, in this order."""

    name: str
    model: str
    sessions: int = Field(description="Live ones that it has")
    last_error: str | None = None


class ResourceStatus(View):
    memory_mb: float
    cpu_percent: float


class EventsStatus(View):
    streams: int
    last_event_id: int
    runtimes: int = Field(description="Native apps that are connected to `/conductor`")


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
    reading: bool = Field(
        description="The brain reads its instructions ahead: the first answers take longer"
    )
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


class SatelliteStatus(View):
    name: str
    state: Literal["away", "idle", "listening", "talking", "speaking"]


class WyomingStatus(View):
    """The door for Home Assistant and its satellites; absent where it is off."""

    address: str
    allowed: list[str] = Field(description="Networks that may connect besides this machine")
    connections: int
    satellites: list[SatelliteStatus]


class StatusResponse(View):
    server: ServerStatus
    amplifier: AmplifierStatus
    sessions: SessionsStatus
    openai: ProviderStatus
    fallbacks: list[FallbackStatus]
    resources: ResourceStatus
    events: EventsStatus
    work: WorkStatus
    engine: EngineStatus | None = None
    intents: IntentsStatus | None = None
    wyoming: WyomingStatus | None = None


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


class AgentConfig(View):
    name: str
    description: str
    hints: list[str] = Field(description="What one could say to it")


class ConfigResponse(View):
    service: ServiceConfig
    realtime: RealtimeConfig
    amplifier: AmplifierConfig
    agent: AgentConfig


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


router = APIRouter(route_class=Sparse, tags=["Health"])
configuration = APIRouter(
    route_class=Sparse, tags=["Config"], dependencies=[Depends(json_only), Depends(paced)]
)


@cache
def _process() -> psutil.Process:
    import psutil

    return psutil.Process()


@router.get(
    "/health",
    operation_id="healthCheck",
    responses=errors() | {503: {"model": HealthResponse, "description": "Unhealthy"}},
)
async def health(here: Here, response: Response) -> HealthResponse:
    """For load balancers: quick, open, and silent about anyone.

    503 where nothing can be served: the engine inside cannot start, the database does not answer,
    or the provider refuses us or cannot be reached; `/ready` and the log say more. While the
    engine still fetches or loads its models the server is healthy, and not ready.
    """
    status = await _health(here)
    if status == "unhealthy":
        response.status_code = 503
    return HealthResponse(
        status=status,
        version=__version__,
        amplifier=HealthAmplifier(enabled=_tools_count(here) > 0, tools_count=_tools_count(here)),
        model=here.profile.defaults.model,
        uptime_seconds=_uptime(here),
        active_sessions=len(here.registry),
    )


@router.get("/status", operation_id="getStatus", responses=errors())
async def status(here: Here, user: User) -> StatusResponse:
    """Everything a dashboard wants to know."""
    total, mean = await here.store.session_totals()
    tools = here.tools.definitions(here.profile.tool_names(None))
    return StatusResponse(
        work=WorkStatus.model_validate(here.toolset.status()),
        server=ServerStatus(
            status=await _health(here),
            version=__version__,
            uptime_seconds=_uptime(here),
            started_at=here.started_at,
        ),
        amplifier=AmplifierStatus(
            enabled=bool(tools),
            bundle=here.profile.agent.name,
            cwd=here.profile.defaults.workspace,
            tools_count=len(tools),
            tools=[tool.name for tool in tools],
        ),
        sessions=SessionsStatus(active=len(here.registry), total=total, avg_duration_ms=mean),
        openai=ProviderStatus(
            name=here.provider.name,
            model=here.profile.defaults.model,
            voice=here.profile.agent.voice,
            connected=await here.provider.check(),
            last_error=here.provider.last_error,
        ),
        fallbacks=[
            FallbackStatus(
                name=one.name,
                model=one.model,
                sessions=here.registry.at(one.name),
                last_error=one.last_error,
            )
            for one in here.providers.fallbacks
        ],
        resources=ResourceStatus(
            memory_mb=round(_process().memory_info().rss / 2**20, 1),
            cpu_percent=_process().cpu_percent(interval=None),
        ),
        events=EventsStatus(
            streams=here.journal.streams,
            last_event_id=here.journal.position,
            runtimes=here.conductor.connections,
        ),
        engine=_engine(here),
        intents=_intents(here),
        wyoming=None
        if here.hardware is None
        else WyomingStatus.model_validate(here.hardware.status()),
    )


async def _health(here: Services) -> Health:
    if here.engine is not None and here.engine.failed:
        return "unhealthy"
    database, provider = await asyncio.gather(_database(here), _reachable(here))
    if not database or not (provider or await _others(here)):
        return "unhealthy"
    return "healthy" if provider and not here.provider.last_error else "degraded"


async def _others(here: Services) -> bool:
    """Would somebody else take a session? The engine that stands by is woken for it."""
    if here.standby is not None and not here.standby.failed:
        return True
    return any([await _answers(one) for one in here.providers.fallbacks])


async def _reachable(here: Services) -> bool:
    """Of a provider elsewhere, as far as it is known at once; it is asked once in a while."""
    return here.engine is not None or await _answers(here.provider)  # loading, or ready


async def _answers(provider: OpenAIProvider) -> bool:
    try:
        async with asyncio.timeout(_PROBE_SECONDS):
            return await provider.check()
    except TimeoutError:
        return True  # nobody knows yet


def _intents(here: Services) -> IntentsStatus | None:
    """Nothing, for an agent that submits nothing."""
    found = here.intents.status()
    return IntentsStatus.model_validate(found) if found["names"] else None


@router.get(
    "/ready",
    operation_id="readinessCheck",
    response_model=ReadyResponse,
    responses=errors() | {503: {"model": ReadyResponse, "description": "Not ready"}},
)
async def ready(here: Here) -> Response:
    """Can a session be started now? If not, what is missing."""
    openai, database = await asyncio.gather(here.provider.check(), _database(here))
    engine = _engine(here)
    ways = [openai]
    if not openai and here.standby is None:
        # Somebody else would take the session. One that stands by is found out by asking it.
        ways += [await one.check() for one in here.providers.fallbacks]
    can_start = any(ways) or here.standby is not None
    checks = ReadyChecks(
        # One that shall have none lacks none.
        amplifier=_tools_count(here) > 0 or here.profile.agent.tools == (),
        openai=openai,
        database=database,
        engine=None if engine is None else engine.ready,
    )
    missing = []
    if here.instance.draining:
        missing.append("The server is shutting down; others go on with its calls.")
    if not checks.amplifier:
        missing.append("The agent has no tools.")
    if not can_start:
        missing.append(here.provider.last_error or "The provider cannot be reached.")
    if not database:
        missing.append("The database does not answer.")
    if engine is not None:
        missing += engine.waiting_for
    body = ReadyResponse(
        ready=not missing,
        checks=checks,
        message=" ".join(missing) or None,
        waiting_for=engine.waiting_for if engine is not None else None,
        failed=engine.failed if engine is not None else None,
        # Open to all: what went wrong with one, with paths and hosts, is for `/status`.
        models=[m.model_copy(update={"error": None}) for m in engine.models] if engine else None,
    )
    return JSONResponse(body.model_dump(exclude_none=True), 503 if missing else 200)


@router.get(
    "/metrics",
    operation_id="getMetrics",
    response_class=Response,
    responses=errors()
    | {
        200: {
            "description": "Prometheus",
            "content": {"text/plain": {"schema": {"type": "string"}}},
        }
    },
)
async def metrics(here: Here, user: User) -> Response:
    """For Prometheus."""
    return Response(here.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


async def _database(here: Services) -> bool:
    try:
        async with asyncio.timeout(_PROBE_SECONDS):
            await here.store.log_bounds()
    except (VivavoceError, OSError, TimeoutError):
        return False
    return True


def _engine(here: Services) -> EngineStatus | None:
    if here.engine is None:
        return None
    waiting = here.engine.waiting_for()
    about = {"brain": None, "speech": None, **here.engine.about()}
    told = {"waiting_for": waiting, "models": here.engine.models(), **about}
    return EngineStatus.of(here.engine, ready=not waiting, **told)


def _tools_count(here: Services) -> int:
    return len(here.tools.definitions(here.profile.tool_names(None)))


def _uptime(here: Services) -> int:
    return max(0, int((here.clock.now() - here.started_at).total_seconds()))


# --- Configuration


@cache
def _ways_to_end_a_turn() -> TurnDetectionResponse:
    return TurnDetectionResponse.model_validate_json(data_file("turn_detection.json"))


@configuration.get("/config", operation_id="getConfig", responses=errors())
async def config(here: Here, user: User) -> ConfigResponse:
    """What the server runs with. Instructions and secrets are not part of it."""
    options, profile = here.options, here.profile
    return ConfigResponse(
        service=ServiceConfig(version=__version__, host=options.host, port=options.port),
        realtime=RealtimeConfig(model=profile.defaults.model, voice=profile.agent.voice),
        amplifier=AmplifierConfig(
            bundle=profile.agent.name,
            cwd=profile.defaults.workspace,
            auto_approve=profile.agent.approval.changes == "allow",
            tool_timeout=options.tool_timeout,
            approval_policy=profile.agent.approval.changes,
        ),
        agent=AgentConfig.of(profile.agent),
    )


@configuration.patch(
    "/config/session/{session_id}",
    operation_id="updateSessionConfig",
    responses=errors(404, 409, 415, 429),
)
async def update_session(
    here: Here,
    user: User,
    role: AsRole,
    session_id: SessionPath,
    body: UpdateSessionConfigRequest,
) -> UpdateSessionConfigResponse:
    """Change a session while it runs; it reaches the provider's live session."""
    wanted: dict[str, Any] = body.model_dump(exclude_unset=True, exclude_none=True)
    told = "turn_detection" in body.model_fields_set
    if told and (isinstance(body.turn_detection, ManualTurns | str | None)):
        wanted["turn_detection"] = None  # manual, in whichever words
    updated, setup = await here.voice.reconfigure(session_id, user, wanted, role)
    await here.journal.audit("configuration", session_id, f"changed {', '.join(updated)}", user)
    session = setup.session
    return UpdateSessionConfigResponse(
        session_id=session_id,
        updated=updated,
        effective_config={
            "model": session.get("model"),
            "voice": setup.voice,
            "turn_detection": setup.turn_detection,
            "tools": [tool["name"] for tool in session.get("tools") or ()],
        },
    )


@configuration.get("/config/voices", operation_id="getVoices", responses=errors())
async def voices(here: Here, user: User) -> VoicesResponse:
    """The voices that are there: the embedded engine's with a sample each, or those of the
    provider's model."""
    return VoicesResponse(
        voices=[
            VoiceOption.of(
                one, sample_url=f"/config/voices/{one.id}/sample" if here.provider.ours else None
            )
            for one in here.profile.capabilities.voices
        ]
    )


class _Mp3(Response):
    media_type = "audio/mpeg"


@configuration.get(
    "/config/voices/{voice}/sample",
    operation_id="getVoiceSample",
    response_class=_Mp3,
    responses=errors(404, 502, 503),
)
async def voice_sample(
    here: Here, user: User, voice: Annotated[str, Path(max_length=64)]
) -> Response:
    """A sentence in that voice, as MP3. Only the embedded engine has samples."""
    known = {one.id: one for one in here.profile.capabilities.voices}
    sample = await here.provider.sample(found(known.get(voice), "Voice", voice))
    return _Mp3(sample, headers={"Cache-Control": "private, max-age=86400"})


@configuration.get(
    "/config/turn-detection",
    operation_id="getTurnDetection",
    response_model_exclude_unset=True,  # not `exclude_none`: a type of null says "manual"
    responses=errors(),
)
async def turn_detection(here: Here, user: User) -> TurnDetectionResponse:
    """The ways to know when somebody has finished speaking."""
    return _ways_to_end_a_turn()
