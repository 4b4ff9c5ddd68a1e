"""How the server is, and what it runs with: `/health`, `/status`, `/ready` and `/metrics`
(seed 003 §6), `/config` (§7)."""

from __future__ import annotations

import asyncio
from functools import cache
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Depends
from fastapi.responses import JSONResponse, Response

from vivavoce import __version__
from vivavoce.errors import VivavoceError
from vivavoce.server.problems import errors
from vivavoce.server.schemas import status as s
from vivavoce.server.schemas.fields import data_file
from vivavoce.server.services import Here, Services, SessionPath, Sparse, User, json_only

if TYPE_CHECKING:
    import psutil

router = APIRouter(route_class=Sparse, tags=["Health"])
configuration = APIRouter(route_class=Sparse, tags=["Config"], dependencies=[Depends(json_only)])


@cache
def _process() -> psutil.Process:
    import psutil

    return psutil.Process()


@router.get(
    "/health",
    operation_id="healthCheck",
    responses=errors() | {503: {"model": s.HealthResponse, "description": "Unhealthy"}},
)
async def health(here: Here, response: Response) -> s.HealthResponse:
    """For load balancers: quick, open, and silent about anyone.

    503 where the engine inside cannot start, which `/ready` and the log say more of. While it
    still fetches or loads its models the server is healthy, and not ready.
    """
    status = _health(here)
    if status == "unhealthy":
        response.status_code = 503
    return s.HealthResponse(
        status=status,
        version=__version__,
        amplifier=s.HealthAmplifier(enabled=_tools_count(here) > 0, tools_count=_tools_count(here)),
        model=here.profile.defaults.model,
        uptime_seconds=_uptime(here),
        active_sessions=len(here.registry),
    )


@router.get("/status", operation_id="getStatus", responses=errors())
async def status(here: Here, user: User) -> s.StatusResponse:
    """Everything a dashboard wants to know."""
    total, mean = await here.store.session_totals()
    tools = here.tools.definitions(here.profile.tool_names(None))
    return s.StatusResponse(
        work=s.WorkStatus.model_validate(here.toolset.status()),
        server=s.ServerStatus(
            status=_health(here),
            version=__version__,
            uptime_seconds=_uptime(here),
            started_at=here.started_at,
        ),
        amplifier=s.AmplifierStatus(
            enabled=bool(tools),
            bundle=here.profile.agent.name,
            cwd=here.profile.defaults.workspace,
            tools_count=len(tools),
            tools=[tool.name for tool in tools],
        ),
        sessions=s.SessionsStatus(active=len(here.registry), total=total, avg_duration_ms=mean),
        openai=s.ProviderStatus(
            model=here.profile.defaults.model,
            voice=here.profile.agent.voice,
            connected=await here.provider.check(),
            last_error=here.provider.last_error,
        ),
        resources=s.ResourceStatus(
            memory_mb=round(_process().memory_info().rss / 2**20, 1),
            cpu_percent=_process().cpu_percent(interval=None),
        ),
        events=s.EventsStatus(streams=here.journal.streams, last_event_id=here.journal.position),
        engine=_engine(here),
        intents=_intents(here),
    )


def _health(here: Services) -> s.Health:
    if here.engine is not None and here.engine.failed:
        return "unhealthy"
    return "degraded" if here.provider.last_error else "healthy"


def _intents(here: Services) -> s.IntentsStatus | None:
    """Nothing, for an agent that submits nothing."""
    found = here.intents.status()
    return s.IntentsStatus.model_validate(found) if found["names"] else None


@router.get(
    "/ready",
    operation_id="readinessCheck",
    response_model=s.ReadyResponse,
    responses=errors() | {503: {"model": s.ReadyResponse, "description": "Not ready"}},
)
async def ready(here: Here) -> Response:
    """Can a session be started now? If not, what is missing."""
    openai, database = await asyncio.gather(here.provider.check(), _database(here))
    engine = _engine(here)
    checks = s.ReadyChecks(
        amplifier=_tools_count(here) > 0,
        openai=openai,
        database=database,
        engine=None if engine is None else engine.ready,
    )
    missing = []
    if not checks.amplifier:
        missing.append("The agent has no tools.")
    if not openai:
        missing.append(here.provider.last_error or "The provider cannot be reached.")
    if not database:
        missing.append("The database does not answer.")
    if engine is not None:
        missing += engine.waiting_for
    body = s.ReadyResponse(
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
        async with asyncio.timeout(5):
            await here.store.log_bounds()
    except (VivavoceError, OSError, TimeoutError):
        return False
    return True


def _engine(here: Services) -> s.EngineStatus | None:
    if here.engine is None:
        return None
    waiting = here.engine.waiting_for()
    about = {"brain": None, "speech": None, **here.engine.about()}
    told = {"waiting_for": waiting, "models": here.engine.models(), **about}
    return s.EngineStatus.of(here.engine, ready=not waiting, **told)


def _tools_count(here: Services) -> int:
    return len(here.tools.definitions(here.profile.tool_names(None)))


def _uptime(here: Services) -> int:
    return max(0, int((here.clock.now() - here.started_at).total_seconds()))


# --- Configuration


@cache
def _ways_to_end_a_turn() -> s.TurnDetectionResponse:
    return s.TurnDetectionResponse.model_validate_json(data_file("turn_detection.json"))


@configuration.get("/config", operation_id="getConfig", responses=errors())
async def config(here: Here, user: User) -> s.ConfigResponse:
    """What the server runs with. Instructions and secrets are not part of it."""
    options, profile = here.options, here.profile
    return s.ConfigResponse(
        service=s.ServiceConfig(version=__version__, host=options.host, port=options.port),
        realtime=s.RealtimeConfig(model=profile.defaults.model, voice=profile.agent.voice),
        amplifier=s.AmplifierConfig(
            bundle=profile.agent.name,
            cwd=profile.defaults.workspace,
            auto_approve=profile.agent.approval.changes == "allow",
            tool_timeout=options.tool_timeout,
            approval_policy=profile.agent.approval.changes,
        ),
    )


@configuration.patch(
    "/config/session/{session_id}",
    operation_id="updateSessionConfig",
    responses=errors(404, 409, 415),
)
async def update_session(
    here: Here,
    user: User,
    session_id: SessionPath,
    body: s.UpdateSessionConfigRequest,
) -> s.UpdateSessionConfigResponse:
    """Change a session while it runs; it reaches the provider's live session."""
    wanted: dict[str, Any] = body.model_dump(exclude_unset=True, exclude_none=True)
    told = "turn_detection" in body.model_fields_set
    if told and (isinstance(body.turn_detection, s.ManualTurns | str | None)):
        wanted["turn_detection"] = None  # manual, in whichever words
    updated, setup = await here.voice.reconfigure(session_id, user, wanted)
    session = setup.session
    return s.UpdateSessionConfigResponse(
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
async def voices(here: Here, user: User) -> s.VoicesResponse:
    """The voices of the provider's model."""
    return s.VoicesResponse.of(here.profile.capabilities)


@configuration.get(
    "/config/turn-detection",
    operation_id="getTurnDetection",
    response_model_exclude_unset=True,  # not `exclude_none`: a type of null says "manual"
    responses=errors(),
)
async def turn_detection(here: Here, user: User) -> s.TurnDetectionResponse:
    """The ways to know when somebody has finished speaking."""
    return _ways_to_end_a_turn()
