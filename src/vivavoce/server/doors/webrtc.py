"""`/sdp`, `/audio` and `/ice-config`: how a browser gets its call (seed 003 §3)."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Request
from fastapi.responses import Response

from vivavoce.errors import InvalidSdp, Unauthorized, UnsupportedMedia
from vivavoce.server.problems import errors
from vivavoce.server.schemas import sessions as s
from vivavoce.server.services import Here, User
from vivavoce.wire.realtime.sdp import MAX_SDP, flaw

router = APIRouter(tags=["WebRTC"])

ANSWER = {"application/sdp": {"schema": {"type": "string"}}}
OFFER = {
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


@router.post(
    "/sdp",
    operation_id="exchangeSdp",
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
    authorization: Annotated[str | None, Header(include_in_schema=False)] = None,
) -> SdpResponse:
    """Exchange the browser's offer for the provider's answer.

    The key is the one from `POST /session`: ours, single use, at most 60
    seconds old. When it is spent get another with `GET /session/reconnect`.
    """
    key, offer = ephemeral_key(authorization), await offer_of(request)
    grant = here.tickets.redeem(key)
    answer = await here.voice.connect(grant.session_id, grant.user_id, offer)
    return SdpResponse(answer)


@router.post(
    "/audio",
    operation_id="openAudio",
    responses=errors(404, 409, 502, 503),
    openapi_extra={"security": [{"ephemeralToken": []}]},
)
async def open_audio(
    here: Here,
    authorization: Annotated[str | None, Header(include_in_schema=False)] = None,
) -> s.AudioCallResponse:
    """A call whose sound goes over a WebSocket, where WebRTC finds no way.

    The key is the one from `POST /session`, as for `/sdp`. Only the embedded
    engine has such calls; other providers answer 409. Open the WebSocket
    within a minute; it speaks the events of OpenAI's Realtime API.
    """
    grant = here.tickets.redeem(ephemeral_key(authorization))
    call = await here.voice.connect_audio(grant.session_id, grant.user_id)
    form = s.AudioFormat(type="audio/pcm", rate=24_000)
    return s.AudioCallResponse(
        url=call.path,
        protocols=["realtime", f"openai-insecure-api-key.{call.secret}"],
        input_format=form,
        output_format=form,
    )


async def offer_of(request: Request) -> str:
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


def ephemeral_key(authorization: str | None) -> str:
    """Ours, from the header."""
    scheme, _, key = (authorization or "").partition(" ")
    if scheme.lower() != "bearer" or not key.strip():
        raise Unauthorized("Send the key from POST /session as 'Authorization: Bearer ek_…'.")
    return key.strip()


@router.get(
    "/ice-config",
    operation_id="getIceConfig",
    response_model_exclude_none=True,
    responses=errors(),
)
async def ice_config(here: Here, user: User) -> s.IceConfigResponse:
    """ICE servers for `RTCPeerConnection`; OpenAI itself needs none."""
    servers = [s.IceServer.model_validate(server) for server in here.options.ice_servers]
    return s.IceConfigResponse(ice_servers=servers)
