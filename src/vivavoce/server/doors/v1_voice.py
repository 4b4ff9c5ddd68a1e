"""`/api/v1/voice/session`: the voice sessions of the Conversations API (seed 004 §9)."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query, Request, Response

from vivavoce.errors import SessionNotFound
from vivavoce.server.doors import v1_events
from vivavoce.server.doors.webrtc import ANSWER, OFFER, SdpResponse, ephemeral_key, offer_of
from vivavoce.server.gate.auth import token_grant, token_session
from vivavoce.server.gate.tickets import Grant
from vivavoce.server.problems import errors
from vivavoce.server.schemas import v1 as s
from vivavoce.server.schemas import views, views_v1
from vivavoce.server.schemas.sessions import ClientSecret
from vivavoce.server.services import Here, SessionPath, User, json_only
from vivavoce.server.sse import EventStream, last_event_id

router = APIRouter(prefix="/api/v1/voice", tags=["Conversations: voice"])

_EVENT = {
    "description": "One event of the stream",
    "type": "object",
    "properties": {
        "event": {"enum": ["new_message", "intent_submitted", "error", "session_ended"]},
        "data": {"type": "string", "contentMediaType": "application/json"},
        "id": {"type": "string", "description": "Position, for `Last-Event-ID`"},
        "retry": {"type": "integer"},
    },
    "examples": [
        {
            "event": "session_ended",
            "data": '{"reason":"user_ended","duration_seconds":93}',
            "id": "57",
        }
    ],
}


@router.post(
    "/session",
    operation_id="createVoiceSession",
    responses=errors(404, 415, 429, 502, 503),
    dependencies=[Depends(json_only)],
)
async def create(
    here: Here, user: User, body: s.CreateVoiceSessionRequest | None = None
) -> s.VoiceSessionResponse:
    """Begin a voice session: of a new conversation, or of an old one, which then goes on.

    Answers with a key for `POST …/sdp`, and with what was said before. 429 with `Retry-After`
    where the user has had enough sessions.
    """
    body = body or s.CreateVoiceSessionRequest()
    visit = await here.conversations.open(
        user,
        conversation_id=str(body.conversation_id) if body.conversation_id else None,
        task_id=str(body.task_id) if body.task_id else None,
    )
    return views_v1.visit(here, visit)


@router.delete(
    "/session/{session_id}",
    operation_id="endVoiceSession",
    status_code=204,
    responses=errors(404),
)
async def end(here: Here, user: User, session_id: SessionPath) -> Response:
    """End a session; what was said is kept. Ending twice is ending once."""
    await here.conversations.end(session_id, user)
    here.tickets.revoke(session_id)
    return Response(status_code=204)


@router.post(
    "/session/{session_id}/sdp",
    operation_id="exchangeVoiceSdp",
    response_class=SdpResponse,
    responses=errors(404, 415, 502, 503)
    | {200: {"description": "The SDP answer", "content": ANSWER}},
    openapi_extra={
        "requestBody": {"required": True, "content": OFFER},
        "security": [{"ephemeralToken": []}],
    },
)
async def exchange_sdp(
    here: Here,
    request: Request,
    session_id: SessionPath,
    authorization: Annotated[str | None, Header(include_in_schema=False)] = None,
) -> SdpResponse:
    """Exchange the browser's offer for the provider's answer, with the session's own key."""
    key, offer = ephemeral_key(authorization), await offer_of(request)
    grant = here.tickets.redeem(key, session_id=session_id)
    return SdpResponse(await here.voice.connect(grant.session_id, grant.user_id, offer))


@router.post(
    "/session/{session_id}/call",
    operation_id="attachVoiceCall",
    status_code=204,
    responses=errors(404, 409, 415, 502, 503),
    dependencies=[Depends(json_only)],
)
async def attach(here: Here, user: User, session_id: SessionPath, body: s.CallRequest) -> Response:
    """A client that went to the provider itself says which call it has: we listen in on it."""
    await here.voice.attach_call(session_id, user, body.call_id)
    return Response(status_code=204)


def _own(session_id: str, bound: str | None) -> None:
    if bound not in (None, session_id):
        raise SessionNotFound(f"Session '{session_id[:64]}' not found.")


Bound = Annotated[str | None, Depends(token_session)]


@router.get(
    "/session/{session_id}/events",
    operation_id="voiceSessionEvents",
    response_class=EventStream,
    status_code=200,  # FastAPI reads it from constructors, and fails where one has none
    responses=errors(404, 503)
    | {
        200: {
            "description": "SSE stream; ids are positions",
            "content": {"text/event-stream": {"schema": _EVENT}},
        }
    },
)
async def events(
    here: Here,
    user: User,
    request: Request,
    session_id: SessionPath,
    bound: Bound,
    follow: Annotated[
        bool, Query(description="False: what is stored, then the end of the stream")
    ] = True,
    last_event_id_query: Annotated[
        int | None,
        Query(alias="last_event_id", ge=0, le=2**62, description="As `Last-Event-ID`"),
    ] = None,
    _last: Annotated[str | None, Header(alias="Last-Event-ID", max_length=32)] = None,
) -> EventStream:
    """What was said, what was submitted, what went wrong, and the end.

    Every message as soon as it is stored, with the id that it has in the conversation; an
    answer that was cut short comes again with the same id and what was heard of it. After
    `Last-Event-ID` nothing is missing and nothing comes twice. With `?token=` and the
    session's stream token where no header can be sent.
    """
    _own(session_id, bound)
    await here.library.summary(session_id, user)
    after = last_event_id(request)
    return EventStream(
        here.journal.subscribe(
            v1_events.watching(user, session_id),
            after=last_event_id_query if after is None else after,
            follow=follow,
        )
    )


@router.post(
    "/session/{session_id}/events/token",
    operation_id="renewStreamToken",
    responses=errors(404),
)
async def renew(
    here: Here,
    user: User,
    session_id: SessionPath,
    grant: Annotated[Grant | None, Depends(token_grant)],
) -> ClientSecret:
    """A fresh stream token, for who has a valid one (`?token=`) or may ask anyway.

    With nothing but the token: until ten minutes after the end of the session, and for a day at
    most.
    """
    _own(session_id, grant.session_id if grant else None)
    session = (await here.library.summary(session_id, user)).session
    if grant is None:
        return views.stream_token(here, session)
    return views.secret(here.streams.renew(grant, ended_at=session.ended_at))
