"""`/session` and `/sessions`: the life of voice sessions (seed 003 §2, seeds 000 and 001)."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query

from vivavoce.runtime.sessions.library import Copy
from vivavoce.runtime.sessions.options import Wishes
from vivavoce.server.problems import errors
from vivavoce.server.schemas import sessions as s
from vivavoce.server.schemas import views
from vivavoce.server.schemas.fields import SessionStatus
from vivavoce.server.services import Here, Services, SessionPath, User, json_only
from vivavoce.wire.records.talk import Kind, SessionSummary, Status

router = APIRouter(tags=["Session"], dependencies=[Depends(json_only)])


@router.post("/session", operation_id="createSession", responses=errors(404, 415, 429, 502, 503))
async def create_session(
    here: Here, user: User, body: s.CreateSessionRequest | None = None
) -> s.SessionResponse:
    """Create a voice session: a key for `POST /sdp`, and the tools the model has."""
    body = body or s.CreateSessionRequest()
    tools = None if body.tools_filter is None else tuple(body.tools_filter)
    wishes = Wishes(
        voice=body.voice,
        instructions=body.instructions,
        tools_filter=tools,
        auto_approve=body.auto_approve,
    )
    return views.opened(here, await here.voice.create(user, wishes))


@router.get(
    "/sessions",
    operation_id="listSessions",
    response_model_exclude_none=True,
    responses=errors(),
)
async def list_sessions(
    here: Here,
    user: User,
    status: Annotated[SessionStatus | None, Query()] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 20,
) -> s.SessionListResponse:
    """All tracked voice sessions, newest first."""
    wanted = Status(status) if status else None
    found = await here.library.sessions(user, status=wanted, limit=limit)
    now = here.clock.now()
    infos = [views.session_info(summary, now) for summary in found]
    return s.SessionListResponse(sessions=infos, count=len(infos))


@router.post(
    "/sessions",
    operation_id="createTrackedSession",
    status_code=201,
    response_model_exclude_none=True,
    responses=errors(415, 429),
)
async def track_session(
    here: Here, user: User, body: s.CreateTrackedSessionRequest | None = None
) -> s.CreateTrackedSessionResponse:
    """A record for transcripts, before (or without) a WebRTC connection of ours."""
    here.new_sessions.check(f"{user} tracked")
    body = body or s.CreateTrackedSessionRequest()
    summary = await here.library.track(user, title=body.title, metadata=body.metadata or {})
    info = views.session_info(summary, here.clock.now())
    return s.CreateTrackedSessionResponse(session_id=info.id, session=info)


@router.get(
    "/sessions/{session_id}",
    operation_id="getSession",
    response_model_exclude_none=True,
    responses=errors(404),
)
async def session_details(
    here: Here, user: User, session_id: SessionPath
) -> s.SessionDetailResponse:
    """A session, the whole transcript of its conversation, and how its last turns went."""
    summary = await here.library.summary(session_id, user)
    return s.SessionDetailResponse(
        session=views.session_info(summary, here.clock.now()),
        transcript=views.transcript(await here.library.transcript(summary)),
        turns=views.turns(await here.library.turns(summary)),
    )


@router.post(
    "/sessions/{session_id}/transcript", operation_id="syncTranscript", responses=errors(404, 415)
)
async def sync_transcript(
    here: Here, user: User, session_id: SessionPath, body: s.SyncTranscriptRequest
) -> s.SyncTranscriptResponse:
    """Store a client's copy of the transcript; the same entries again change nothing."""
    copies = [_copy(entry) for entry in body.entries]
    synced = await here.library.sync(session_id, user, copies)
    return s.SyncTranscriptResponse(synced=synced, session_id=session_id)


def _copy(entry: s.TranscriptEntryIn) -> Copy:
    return Copy(
        kind=Kind(entry.entry_type),
        text=entry.text or "",
        id=entry.id,
        at=entry.timestamp,
        tool_name=entry.tool_name,
        tool_call_id=entry.tool_call_id,
        tool_arguments=entry.tool_arguments,
        tool_result=entry.tool_result,
        audio_duration_ms=entry.audio_duration_ms,
    )


@router.post(
    "/sessions/{session_id}/end",
    operation_id="endSession",
    response_model_exclude_none=True,
    responses=errors(404, 415),
)
async def end_session(
    here: Here, user: User, session_id: SessionPath, body: s.EndSessionRequest | None = None
) -> s.EndSessionResponse:
    """End a session; what was said is kept. Ending twice is ending once."""
    body = body or s.EndSessionRequest()
    summary = await _end(here, user, session_id, body)
    now = here.clock.now()
    return s.EndSessionResponse(
        session=views.session_info(summary, now),
        duration_ms=summary.session.duration_ms(now),
        turn_count=summary.turn_count,
    )


async def _end(
    here: Services, user: str, session_id: str, body: s.EndSessionRequest
) -> SessionSummary:
    await here.library.summary(session_id, user)
    status = Status(body.status)
    reason = "error" if status is Status.ERROR else "user_ended"
    if not await here.voice.end(session_id, user, status=status, reason=reason):
        await here.library.finish(session_id, user, status=status, reason=reason)
    here.tickets.revoke(session_id)
    if body.summary:
        await here.library.summarize(session_id, user, body.summary)
    return await here.library.summary(session_id, user)
