"""`/session` and `/sessions`: the life of voice sessions; going on after a loss, a timeout or a
night; polling (seed 003 §2, seeds 000 and 001). `/sdp`, `/audio` and `/ice-config`: how a client
gets its call (seed 003 §3)."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import fields
from datetime import datetime
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import Response
from starlette.requests import ClientDisconnect

from vivavoce.errors import (
    Forbidden,
    InvalidSdp,
    OwnedElsewhere,
    Unauthorized,
    UnsupportedMedia,
)
from vivavoce.runtime.sessions.library import Copy
from vivavoce.runtime.sessions.options import Options, check_steering
from vivavoce.runtime.sessions.voice import Opened
from vivavoce.server.gate.auth import bearer, current_user
from vivavoce.server.problems import errors
from vivavoce.server.schemas import sessions as s
from vivavoce.server.schemas.fields import SessionStatus
from vivavoce.server.services import (
    CONNECTING_SECONDS,
    AsRole,
    Here,
    Rank,
    Services,
    SessionPath,
    Sparse,
    TheSession,
    User,
    exchanged,
    handed_out_here,
    json_only,
    paced,
    told,
)
from vivavoce.session.context import History
from vivavoce.session.events import End
from vivavoce.wire.realtime.sdp import MAX_SDP, flaw
from vivavoce.wire.records.talk import Kind, SessionSummary, Status, VoiceSession
from vivavoce.wire.records.work import Role

router = APIRouter(route_class=Sparse, tags=["Session"], dependencies=[Depends(json_only)])
webrtc = APIRouter(route_class=Sparse, tags=["WebRTC"])


@router.post("/session", operation_id="createSession", responses=errors(404, 415, 429, 502, 503))
async def create_session(
    here: Here, user: User, role: AsRole, body: s.CreateSessionRequest | None = None
) -> s.SessionResponse:
    """Create a voice session: a key for `POST /sdp`, and the tools the model has."""
    body = body or s.CreateSessionRequest()
    if body.auto_approve and not here.profile.defaults.auto_approve:
        raise Forbidden("This server always asks: auto_approve is off here.")
    wanted = body.model_dump(exclude={"context"})
    options = Options(**wanted, role=role, context=client_context(body.context))
    return _opened(here, await here.voice.create(user, options))


@router.get("/sessions", operation_id="listSessions", responses=errors())
async def list_sessions(
    here: Here,
    user: User,
    status: SessionStatus | None = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 20,
) -> s.SessionListResponse:
    """All tracked voice sessions, newest first."""
    wanted = Status(status) if status else None
    found = await here.store.sessions(user_id=user, status=wanted, limit=limit)
    now = here.clock.now()
    infos = [_info(summary, now) for summary in found]
    return s.SessionListResponse(sessions=infos, count=len(infos))


@router.post(
    "/sessions",
    operation_id="createTrackedSession",
    status_code=201,
    responses=errors(415, 429),
)
async def track_session(
    here: Here, user: User, role: AsRole, body: s.CreateTrackedSessionRequest | None = None
) -> s.CreateTrackedSessionResponse:
    """A record for transcripts, before (or without) a WebRTC connection of ours."""
    here.new_sessions.check(f"{user} tracked")
    body = body or s.CreateTrackedSessionRequest()
    summary = await here.library.track(
        user, title=body.title, metadata=body.metadata or {}, role=role
    )
    info = _info(summary, here.clock.now())
    return s.CreateTrackedSessionResponse(session_id=info.id, session=info)


@router.get(
    "/sessions/{session_id}",
    operation_id="getSession",
    response_model=s.SessionDetailResponse,
    responses=errors(404, 429),
)
async def session_details(here: Here, user: User, session_id: SessionPath) -> Response:
    """A session, the whole transcript of its conversation, and how its last turns went."""
    with here.reads.held(user):
        summary = await here.library.summary(session_id, user)
        entries = await here.library.transcript(summary)
        turns = await here.library.turns(summary)
        session = _details(summary, here.clock.now())
        return await told(
            lambda: s.SessionDetailResponse(
                session=session,
                transcript=[s.TranscriptEntry.of(entry) for entry in entries],
                turns=[s.TurnTrace.of(orjson.loads(e.data)) for e in turns],
            ),
            sparse=True,
        )


class _Metered(Sparse):
    """Who asks too often is refused before the body is read: that is the dearest part. The rest
    take turns, once their bodies are there: nobody waits for a slow sender."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def metered(request: Request) -> Response:
            library, user = request.app.state.services.library, current_user(request)
            library.may_sync(user)
            with suppress(ClientDisconnect):
                await request.body()
            async with library.one_sync(user):
                return await handle(request)

        return metered


async def sync_transcript(
    here: Here, user: User, role: AsRole, session_id: SessionPath, body: s.SyncTranscriptRequest
) -> s.SyncTranscriptResponse:
    """Store a client's copy of the transcript; the same entries again change nothing."""
    copies = [_copy(entry) for entry in body.entries]
    synced = await here.library.sync(session_id, user, copies, role)
    return s.SyncTranscriptResponse(synced=synced, session_id=session_id)


router.add_api_route(
    "/sessions/{session_id}/transcript",
    sync_transcript,
    methods=["POST"],
    operation_id="syncTranscript",
    responses=errors(404, 415, 429),
    route_class_override=_Metered,
)


_SAME = {field.name for field in fields(Copy)} - {"kind", "text", "at"}


def _copy(entry: s.TranscriptEntryIn) -> Copy:
    same = {name: getattr(entry, name) for name in _SAME}
    return Copy(kind=Kind(entry.entry_type), text=entry.text or "", at=entry.timestamp, **same)


@router.post("/sessions/{session_id}/end", operation_id="endSession", responses=errors(404, 415))
async def end_session(
    here: Here,
    user: User,
    rank: Rank,
    session_id: SessionPath,
    body: s.EndSessionRequest | None = None,
) -> s.EndSessionResponse:
    """End a session; what was said is kept. Ending twice is ending once."""
    body = body or s.EndSessionRequest()
    session = (await here.library.summary(session_id, user)).session
    check_steering(session, rank)
    if body.summary:  # the next session of the conversation begins with it
        await here.library.check_led(session, rank)
    status = Status(body.status)
    how = End("error" if status is Status.ERROR else "user_ended", status)
    if not await here.voice.end(session_id, user, how):
        await here.library.finish(session_id, user, how)
    here.tickets.revoke(session_id)
    if body.summary:
        await here.library.summarize(session_id, user, body.summary)
    info = _info(await here.library.summary(session_id, user), here.clock.now())
    return s.EndSessionResponse.of(info, session=info)


@router.post(
    "/sessions/{session_id}/provider",
    operation_id="changeProvider",
    responses=errors(404, 409, 415, 429),
    dependencies=[Depends(paced)],
)
async def change_provider(
    here: Here, user: User, rank: Rank, session_id: SessionPath, body: s.ChangeProviderRequest
) -> s.ChangeProviderResponse:
    """Have another provider speak, or the first one again.

    `call.wanted` asks the client for a call there, beside the one that is on; `provider.changed`
    says that it speaks. It stays with the one it has where the other does not take it.
    """
    speaks = await here.voice.move(session_id, user, body.provider, rank)
    await here.journal.audit("configuration", session_id, f"wants {body.provider}", user)
    return s.ChangeProviderResponse(session_id=session_id, provider=speaks, wanted=body.provider)


# --- Going on


@router.get("/session", operation_id="getSessionState", responses=errors(404, 409))
async def session_state(here: Here, user: User, session_id: TheSession) -> s.SessionStateResponse:
    """Where a session stands, for clients that poll every 5 to 30 seconds."""
    session = (await here.library.summary(session_id, user)).session
    vitals = await here.voice.vitals(session)
    return s.SessionStateResponse(
        session_id=session.id,
        conversation_id=session.conversation_id,
        status=session.status.value,
        provider=here.providers.of(session).name,
        model=session.model,
        state=vitals.state,
        voice_session_active=vitals.sideband_up,
        amplifier_connected=vitals.tools > 0,
        pending_tasks=vitals.pending_tasks,
        session_age_ms=session.duration_ms(here.clock.now()),
        estimated_tokens=vitals.context_tokens,
        last_event_id=here.journal.position,
        stream_token=stream_token(here, session),
    )


@router.get(
    "/session/reconnect",
    operation_id="reconnectSession",
    responses=errors(404, 429, 502, 503),
)
async def reconnect(
    here: Here, user: User, role: AsRole, rank: Rank, session_id: TheSession
) -> s.ReconnectResponse:
    """After a lost call: a new key for the same session while it lives, and for a new
    session of its conversation afterwards."""
    await _check_resume(here, user, rank, session_id)
    if (owner := await here.voice.owner(session_id, user)) is not None:
        with suppress(OwnedElsewhere):  # it does not answer: the session is taken over
            given = {"session": session_id, "role": role}
            wait = CONNECTING_SECONDS
            _, there = await here.relay.ask("reconnect", owner, user, given, wait=wait)
            return s.ReconnectResponse.model_validate_json(there)
    return await _reconnected(here, user, role, session_id)


async def _reconnected(
    here: Services, user: str, role: Role, session_id: str
) -> s.ReconnectResponse:
    opened = _opened(here, await here.voice.reconnect(session_id, user, role))
    key = opened.client_secret
    return s.ReconnectResponse.of(opened, ephemeral_key=key.value, expires_at=key.expires_at)


async def reconnected_there(
    here: Services, user_id: str, given: dict[str, Any], plain: str
) -> tuple[dict[str, Any], str]:
    """The same, where it was asked of another server; the key is ours."""
    answer = await _reconnected(here, user_id, given["role"], given["session"])
    return {}, answer.model_dump_json(by_alias=True)


@router.post(
    "/session/restore", operation_id="restoreSession", responses=errors(404, 415, 429, 502, 503)
)
async def restore(
    here: Here, user: User, role: AsRole, rank: Rank, body: s.RestoreRequest
) -> s.RestoreResponse:
    """After a timeout: a new session that remembers the old one."""
    await _check_resume(here, user, rank, body.prev_session_id)
    restored = await here.voice.restore(body.prev_session_id, user, role)
    # Afterwards: one that was still live has left its snapshot now.
    snapshot = await here.store.snapshot(body.prev_session_id, user_id=user)
    opened = _opened(here, restored)
    return s.RestoreResponse.of(
        opened,
        new_session_id=opened.session_id,
        ephemeral_key=opened.client_secret.value,
        expires_at=opened.client_secret.expires_at,
        context_summary=_summary_of(restored.history),
        pending_tasks=list(snapshot.data.get("pending_tasks") or ()) if snapshot else [],
    )


async def _check_resume(here: Services, user: str, rank: Role, session_id: str) -> None:
    """Going on is no new session, but each time costs the provider one: it has its own limit."""
    await here.library.check_led((await here.library.summary(session_id, user)).session, rank)
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
    return s.PendingUpdatesResponse.of(
        updates,
        session_id=session.id,
        status=session.status.value,
        queued_updates=updates.events,
        last_event_id=updates.latest,
    )


@router.post(
    "/sessions/{session_id}/resume",
    operation_id="resumeSession",
    response_model=s.ResumeSessionResponse,
    responses=errors(404, 415, 429, 502, 503),
)
async def resume_session(
    here: Here,
    user: User,
    role: AsRole,
    rank: Rank,
    session_id: SessionPath,
    body: s.ResumeSessionRequest | None = None,
) -> Response:
    """Go on with a conversation in a new voice session; the server tells the model the past."""
    await _check_resume(here, user, rank, session_id)
    voice = body.voice if body else None
    with here.reads.held(user):
        resumed = await here.voice.resume(session_id, user, voice=voice, role=role)
        summary = await here.library.summary(session_id, user)
        entries = await here.library.transcript(summary)
        session, opened = _info(summary, here.clock.now()), _opened(here, resumed)
        items = resumed.history.items
        return await told(
            lambda: s.ResumeSessionResponse(
                session_id=session_id,
                session=session,
                context_to_inject=[s.ConversationItem.model_validate(one) for one in items],
                seeded=True,
                transcript=[s.TranscriptEntry.of(entry) for entry in entries],
                realtime=opened,
            ),
            sparse=True,
        )


# --- What several answers are made of


def _info(summary: SessionSummary, now: datetime) -> s.SessionInfo:
    lasted = summary.session.duration_ms(now)
    provider = summary.session.metadata.get("provider")
    told = {"turn_count": summary.turn_count, "title": summary.title, "provider": provider}
    return s.SessionInfo.of(summary.session, duration_ms=lasted, **told)


def _details(summary: SessionSummary, now: datetime) -> s.SessionDetails:
    given = summary.session.metadata.get("custom")
    return s.SessionDetails.of(_info(summary, now), metadata=given)


def stream_token(here: Services, session: VoiceSession) -> s.ClientSecret:
    return s.ClientSecret.of(here.streams.issue(session_id=session.id, user_id=session.user_id))


def _opened(here: Services, opened: Opened) -> s.SessionResponse:
    """The answer that lets a browser connect: our key, never the provider's."""
    session = opened.session
    ticket = here.tickets.issue(session_id=session.id, user_id=session.user_id)
    return s.SessionResponse.of(
        session,
        client_secret=ticket,
        session_id=session.id,
        provider=here.providers.of(session).name,
        tools=[tool.function() for tool in opened.tools],
        stream_token=stream_token(here, session),
        last_event_id=here.journal.position,
    )


def client_context(given: s.ClientContext | None) -> dict[str, Any] | None:
    """As it is kept with the session, in JSON."""
    return None if given is None else given.model_dump(mode="json", exclude_none=True)


def _summary_of(history: History) -> str:
    """Where the conversation stood, for a person: its summary, or the last words."""
    if history.summary:
        return history.summary
    last = {
        str(item["role"]): item["content"][0]["text"]
        for item in history.items
        if item["type"] == "message"
    }
    said = [("user", "The user"), ("assistant", "The assistant")]
    return " ".join(f"{who} last said: “{last[role]}”" for role, who in said if role in last)


# --- How a client gets its call

_ANSWER = {"application/sdp": {"schema": {"type": "string"}}}
_OFFER = {
    "application/sdp": {
        "schema": {
            "type": "string",
            "pattern": "^v=0\\r?\\n([^\\r\\n]*\\r?\\n)*m=audio ",
            "maxLength": MAX_SDP,
        }
    }
}


class SdpResponse(Response):
    media_type = "application/sdp"


EXCHANGE: dict[str, Any] = {
    "response_class": SdpResponse,
    "responses": errors(404, 409, 415, 502, 503)
    | {200: {"description": "The SDP answer", "content": _ANSWER}},
    "openapi_extra": {
        "requestBody": {"required": True, "content": _OFFER},
        "security": [{"ephemeralToken": []}],
    },
}


async def _offer(request: Request) -> str:
    """The offer, read and looked at before a key is spent: who can mend it may try again."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/sdp":
        raise UnsupportedMedia("Send the offer as 'Content-Type: application/sdp'.")
    try:
        offer = (await request.body()).decode()
    except UnicodeDecodeError:
        raise InvalidSdp("The SDP offer is not UTF-8 text.") from None
    if wrong := flaw(offer):
        raise InvalidSdp(wrong)
    return offer


async def _ephemeral_key(request: Request) -> str:
    """Ours, from the header."""
    key = bearer(request.headers)
    if key is None:
        raise Unauthorized("Send the key from POST /session as 'Authorization: Bearer ek_…'.")
    return key


Key = Annotated[str, Depends(_ephemeral_key)]
Offer = Annotated[str, Depends(_offer)]


@webrtc.post(
    "/sdp",
    operation_id="exchangeSdp",
    **EXCHANGE,
)
async def exchange_sdp(here: Here, key: Key, offer: Offer) -> SdpResponse:
    """Exchange the browser's offer for the provider's answer.

    The key is the one from `POST /session`: ours, single use, at most 60
    seconds old. When it is spent get another with `GET /session/reconnect`.
    """
    return SdpResponse(await exchanged(here, key, offer))


@webrtc.post(
    "/audio",
    operation_id="openAudio",
    responses=errors(404, 409, 502, 503),
    openapi_extra={"security": [{"ephemeralToken": []}]},
)
async def open_audio(here: Here, key: Key) -> s.AudioCallResponse:
    """A call whose sound goes over a WebSocket, where WebRTC finds no way.

    The key is the one from `POST /session`, as for `/sdp`. Only the embedded
    engine has such calls; other providers answer 409. Open the WebSocket
    within a minute; it speaks the events of OpenAI's Realtime API.
    """
    await handed_out_here(here, key)
    grant = here.tickets.redeem(key)
    call = await here.voice.connector.audio(grant.session_id, grant.user_id)
    form = s.AudioFormat(type="audio/pcm", rate=24_000)
    return s.AudioCallResponse(
        url=call.path,
        protocols=["realtime", f"openai-insecure-api-key.{call.secret}"],
        input_format=form,
        output_format=form,
    )


@webrtc.get("/ice-config", operation_id="getIceConfig", responses=errors())
async def ice_config(here: Here, user: User) -> s.IceConfigResponse:
    """ICE servers for `RTCPeerConnection`; OpenAI itself needs none."""
    servers = [s.IceServer.model_validate(server) for server in here.options.ice_servers]
    policy = here.options.ice_transport_policy
    return s.IceConfigResponse(ice_servers=servers, ice_transport_policy=policy)
