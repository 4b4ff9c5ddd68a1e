"""Going on after a loss, a timeout or a night; and polling (seed 003 §2.6, seeds 000 and 001)."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query

from vivavoce.runtime.sessions.live import Vitals
from vivavoce.server.problems import errors
from vivavoce.server.schemas import sessions as s
from vivavoce.server.schemas import views
from vivavoce.server.services import Here, Services, SessionPath, TheSession, User, json_only

router = APIRouter(tags=["Session"], dependencies=[Depends(json_only)])


@router.get("/session", operation_id="getSessionState", responses=errors(404))
async def session_state(here: Here, user: User, session_id: TheSession) -> s.SessionStateResponse:
    """Where a session stands, for clients that poll every 5 to 30 seconds."""
    session = (await here.library.summary(session_id, user)).session
    live = here.voice.live(session_id, user)
    vitals = live.vitals if live else Vitals()
    return s.SessionStateResponse(
        session_id=session.id,
        conversation_id=session.conversation_id,
        status=session.status.value,
        state=vitals.state,
        voice_session_active=vitals.line_up,
        amplifier_connected=bool(live and live.allowed_tools),
        pending_tasks=vitals.pending_tasks,
        session_age_ms=session.duration_ms(here.clock.now()),
        estimated_tokens=vitals.context_tokens,
        last_event_id=here.journal.position,
        stream_token=views.stream_token(here, session),
    )


@router.get(
    "/session/reconnect",
    operation_id="reconnectSession",
    responses=errors(404, 429, 502, 503),
)
async def reconnect(here: Here, user: User, session_id: TheSession) -> s.ReconnectResponse:
    """After a lost call: a new key for the same session while it lives, and for a new
    session of its conversation afterwards."""
    await _check_resume(here, user, session_id)
    opened = views.opened(here, await here.voice.reconnect(session_id, user))
    return s.ReconnectResponse(
        ephemeral_key=opened.client_secret.value,
        expires_at=opened.client_secret.expires_at,
        session_id=opened.session_id,
        stream_token=opened.stream_token,
        last_event_id=opened.last_event_id,
    )


@router.post(
    "/session/restore", operation_id="restoreSession", responses=errors(404, 415, 429, 502, 503)
)
async def restore(here: Here, user: User, body: s.RestoreRequest) -> s.RestoreResponse:
    """After a timeout: a new session that remembers the old one."""
    await _check_resume(here, user, body.prev_session_id)
    restored = await here.voice.restore(body.prev_session_id, user)
    # Afterwards: one that was still live has left its snapshot now.
    snapshot = await here.store.snapshot(body.prev_session_id, user_id=user)
    opened = views.opened(here, restored)
    return s.RestoreResponse(
        new_session_id=opened.session_id,
        ephemeral_key=opened.client_secret.value,
        expires_at=opened.client_secret.expires_at,
        context_summary=views.summary_of(restored.history),
        pending_tasks=list(snapshot.data.get("pending_tasks") or ()) if snapshot else [],
        stream_token=opened.stream_token,
        last_event_id=opened.last_event_id,
    )


async def _check_resume(here: Services, user: str, session_id: str) -> None:
    """Going on is no new session, but each time costs the provider one: it has its own limit."""
    await here.library.summary(session_id, user)
    here.new_sessions.check(f"{user} resumed")


@router.get("/session/pending_updates", operation_id="pendingUpdates", responses=errors(404))
async def pending_updates(
    here: Here,
    user: User,
    session_id: TheSession,
    since: Annotated[int, Query(ge=0, le=2**62, description="The last event id you have")] = 0,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
) -> s.PendingUpdatesResponse:
    """What happened while you were away; also the way to live on polling."""
    session = (await here.library.summary(session_id, user)).session
    updates = await here.library.updates(session_id, user, after=since, limit=limit)
    return views.pending(session, updates)


@router.post(
    "/sessions/{session_id}/resume",
    operation_id="resumeSession",
    response_model_exclude_none=True,
    responses=errors(404, 415, 429, 502, 503),
)
async def resume_session(
    here: Here, user: User, session_id: SessionPath, body: s.ResumeSessionRequest | None = None
) -> s.ResumeSessionResponse:
    """Go on with a conversation in a new voice session; the server tells the model the past."""
    await _check_resume(here, user, session_id)
    voice = body.voice if body else None
    resumed = await here.voice.resume(session_id, user, voice=voice)
    summary = await here.library.summary(session_id, user)
    return s.ResumeSessionResponse(
        session_id=session_id,
        session=views.session_info(summary, here.clock.now()),
        context_to_inject=[
            {k: v for k, v in item.items() if k != "id"} for item in resumed.history.items
        ],
        seeded=True,
        transcript=views.transcript(await here.library.transcript(summary)),
        realtime=views.opened(here, resumed),
    )
