"""How a client gets its call: `/sdp`, `/audio` and `/ice-config` (seed 003 §3), and the voice
sessions of the Conversations API, `/api/v1/voice/session` (seed 004 §9)."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from vivavoce.errors import InvalidSdp, Unauthorized, UnsupportedMedia
from vivavoce.runtime.sessions.options import Options
from vivavoce.server.doors.sessions import client_context, stream_token
from vivavoce.server.gate.auth import bearer
from vivavoce.server.problems import errors
from vivavoce.server.schemas import conversations as c
from vivavoce.server.schemas import sessions as s
from vivavoce.server.services import Here, SessionPath, Sparse, User, json_only
from vivavoce.wire.realtime.sdp import MAX_SDP, flaw

router = APIRouter(route_class=Sparse, tags=["WebRTC"])
v1 = APIRouter(prefix="/api/v1/voice", tags=["Conversations: voice"])

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


_EXCHANGE: dict[str, Any] = {
    "response_class": SdpResponse,
    "responses": errors(404, 415, 502, 503)
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


def _ephemeral_key(request: Request) -> str:
    """Ours, from the header."""
    key = bearer(request.headers)
    if key is None:
        raise Unauthorized("Send the key from POST /session as 'Authorization: Bearer ek_…'.")
    return key


Key = Annotated[str, Depends(_ephemeral_key)]
Offer = Annotated[str, Depends(_offer)]


@router.post(
    "/sdp",
    operation_id="exchangeSdp",
    **_EXCHANGE,
)
async def exchange_sdp(here: Here, key: Key, offer: Offer) -> SdpResponse:
    """Exchange the browser's offer for the provider's answer.

    The key is the one from `POST /session`: ours, single use, at most 60
    seconds old. When it is spent get another with `GET /session/reconnect`.
    """
    grant = here.tickets.redeem(key)
    return SdpResponse(await here.voice.connector.sdp(grant.session_id, grant.user_id, offer))


@router.post(
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
    grant = here.tickets.redeem(key)
    call = await here.voice.connector.audio(grant.session_id, grant.user_id)
    form = s.AudioFormat(type="audio/pcm", rate=24_000)
    return s.AudioCallResponse(
        url=call.path,
        protocols=["realtime", f"openai-insecure-api-key.{call.secret}"],
        input_format=form,
        output_format=form,
    )


@router.get("/ice-config", operation_id="getIceConfig", responses=errors())
async def ice_config(here: Here, user: User) -> s.IceConfigResponse:
    """ICE servers for `RTCPeerConnection`; OpenAI itself needs none."""
    servers = [s.IceServer.model_validate(server) for server in here.options.ice_servers]
    return s.IceConfigResponse(ice_servers=servers)


# --- Of the Conversations API


@v1.post(
    "/session",
    operation_id="createVoiceSession",
    responses=errors(404, 415, 429, 502, 503),
    dependencies=[Depends(json_only)],
)
async def create(
    here: Here, user: User, body: c.CreateVoiceSessionRequest | None = None
) -> c.VoiceSessionResponse:
    """Begin a voice session: of a new conversation, or of an old one, which then goes on.

    Answers with a key for `POST …/sdp`, and with what was said before. 429 with `Retry-After`
    where the user has had enough sessions.
    """
    body = body or c.CreateVoiceSessionRequest()
    opened, prior = await here.library.open(
        user,
        Options(
            task_id=str(body.task_id) if body.task_id else None,
            can_type=body.can_type,
            context=client_context(body.context),
        ),
        conversation_id=str(body.conversation_id) if body.conversation_id else None,
    )
    session = opened.session
    ticket = here.tickets.issue(session_id=session.id, user_id=session.user_id)
    return c.VoiceSessionResponse(
        session_id=session.id,
        conversation_id=session.conversation_id,
        ephemeral_key=ticket.value,
        prior_messages=[c.PriorMessage.of(entry) for entry in prior],
        expires_at=int(ticket.expires_at.timestamp()),
        stream_token=stream_token(here, session),
        last_event_id=here.journal.position,
    )


@v1.delete(
    "/session/{session_id}",
    operation_id="endVoiceSession",
    status_code=204,
    responses=errors(404),
)
async def end(here: Here, user: User, session_id: SessionPath) -> Response:
    """End a session; what was said is kept. Ending twice is ending once."""
    await here.library.end(session_id, user)
    here.tickets.revoke(session_id)
    return Response(status_code=204)


@v1.post(
    "/session/{session_id}/sdp",
    operation_id="exchangeVoiceSdp",
    **_EXCHANGE,
)
async def exchange_session_sdp(
    here: Here, session_id: SessionPath, key: Key, offer: Offer
) -> SdpResponse:
    """Exchange the browser's offer for the provider's answer, with the session's own key."""
    grant = here.tickets.redeem(key, session_id=session_id)
    return SdpResponse(await here.voice.connector.sdp(grant.session_id, grant.user_id, offer))


@v1.post(
    "/session/{session_id}/call",
    operation_id="attachVoiceCall",
    status_code=204,
    responses=errors(404, 409, 415, 502, 503),
    dependencies=[Depends(json_only)],
)
async def attach(here: Here, user: User, session_id: SessionPath, body: c.CallRequest) -> Response:
    """A client that went to the provider itself says which call it has: we listen in on it."""
    await here.voice.connector.attach(session_id, user, body.call_id)
    return Response(status_code=204)
