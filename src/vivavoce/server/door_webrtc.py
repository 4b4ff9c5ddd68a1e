"""`/sdp` and `/ice-config`: how a browser gets its call (seed 003 §3)."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Request
from fastapi.responses import Response

from vivavoce.errors import InvalidSdp, Unauthorized, UnsupportedMedia
from vivavoce.server import schemas as s
from vivavoce.server.problems import errors
from vivavoce.server.services import Here, User
from vivavoce.wire.sdp import MAX_SDP, flaw

router = APIRouter(tags=["WebRTC"])

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


@router.post(
    "/sdp",
    operation_id="exchangeSdp",
    response_class=SdpResponse,
    responses=errors(404, 415, 502, 503)
    | {200: {"description": "The SDP answer", "content": _ANSWER}},
    openapi_extra={
        "requestBody": {"required": True, "content": _OFFER},
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
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/sdp":
        raise UnsupportedMedia("Send the offer as 'Content-Type: application/sdp'.")
    scheme, _, key = (authorization or "").partition(" ")
    if scheme.lower() != "bearer" or not key:
        raise Unauthorized("Send the key from POST /session as 'Authorization: Bearer ek_…'.")
    try:
        offer = (await request.body()).decode()
    except UnicodeDecodeError:
        raise InvalidSdp("The SDP offer is not UTF-8 text.") from None
    if wrong := flaw(offer):
        raise InvalidSdp(wrong)  # before the key is spent: the client can mend it and try again
    grant = here.tickets.redeem(key.strip())
    answer = await here.voice.connect(grant.session_id, grant.user_id, offer)
    return SdpResponse(answer)


@router.get(
    "/ice-config",
    operation_id="getIceConfig",
    response_model_exclude_none=True,
    responses=errors(),
)
async def ice_config(here: Here, user: User) -> s.IceConfigResponse:
    """ICE servers for `RTCPeerConnection`; OpenAI itself needs none."""
    servers = [s.IceServer.model_validate(server) for server in here.settings.ice_servers]
    return s.IceConfigResponse(ice_servers=servers)
