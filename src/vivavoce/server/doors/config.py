"""`/config`: what is configured, and changing a live session (seed 003 §7)."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Depends

from vivavoce import __version__
from vivavoce.server.problems import errors
from vivavoce.server.schemas import status as s
from vivavoce.server.services import Here, SessionPath, User, json_only

router = APIRouter(tags=["Config"], dependencies=[Depends(json_only)])

_VAD = [
    s.ParameterSchema(
        name="threshold",
        type="number",
        description="How sure it must be that it hears speech; higher for noisy rooms.",
        default=0.5,
        minimum=0.0,
        maximum=1.0,
    ),
    s.ParameterSchema(
        name="prefix_padding_ms",
        type="integer",
        description="Sound kept from before speech is noticed, so no syllable is lost.",
        default=300,
        minimum=0,
    ),
    s.ParameterSchema(
        name="silence_duration_ms",
        type="integer",
        description="Silence that ends a turn; longer if people are cut off.",
        default=500,
        minimum=0,
    ),
]
_EAGERNESS = s.ParameterSchema(
    name="eagerness",
    type="string",
    description="How soon it takes a pause for the end of a turn.",
    default="auto",
    options=["low", "medium", "high", "auto"],
)
TURN_DETECTION = [
    s.TurnDetectionOption(
        type="server_vad",
        name="By silence",
        description="A turn ends when it has been quiet for a while.",
        parameters=_VAD,
    ),
    s.TurnDetectionOption(
        type="semantic_vad",
        name="By meaning",
        description="A turn ends when the words sound finished.",
        parameters=[_EAGERNESS],
    ),
    s.TurnDetectionOption(
        type=None,
        name="Manual",
        description="Push to talk: the client says when a turn is over.",
        parameters=[],
    ),
]


@router.get("/config", operation_id="getConfig", responses=errors())
async def config(here: Here, user: User) -> s.ConfigResponse:
    """What the server runs with. Instructions and secrets are not part of it."""
    options, profile = here.options, here.profile
    return s.ConfigResponse(
        service=s.ServiceConfig(version=__version__, host=options.host, port=options.port),
        realtime=s.RealtimeConfig(model=profile.defaults.model, voice=profile.agent.voice),
        amplifier=s.AmplifierConfig(
            bundle=profile.agent.name,
            cwd=profile.defaults.workspace,
            auto_approve=profile.agent.permissions.changes == "allow",
            tool_timeout=options.tool_timeout,
            approval_policy=profile.agent.permissions.changes,
        ),
    )


@router.patch(
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
            "turn_detection": session["audio"]["input"]["turn_detection"],
            "tools": [tool["name"] for tool in session.get("tools") or ()],
        },
    )


@router.get(
    "/config/voices",
    operation_id="getVoices",
    response_model_exclude_none=True,
    responses=errors(),
)
async def voices(here: Here, user: User) -> s.VoicesResponse:
    """The voices of the provider's model."""
    return s.VoicesResponse(
        voices=[
            s.VoiceOption(
                id=voice.id,
                name=voice.name,
                description=voice.description,
                recommended=voice.recommended,
            )
            for voice in here.profile.capabilities.voices
        ]
    )


@router.get(
    "/config/turn-detection",
    operation_id="getTurnDetection",
    response_model_exclude_unset=True,  # not `exclude_none`: a type of null says "manual"
    responses=errors(),
)
async def turn_detection(here: Here, user: User) -> s.TurnDetectionResponse:
    """The ways to know when somebody has finished speaking."""
    return s.TurnDetectionResponse(options=TURN_DETECTION)
