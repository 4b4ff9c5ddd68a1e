"""`/sdp` and `/ice-config`: how a browser gets its call (seed 003 §3)."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Request
from fastapi.responses import Response

from vivavoce.errors import InvalidSdp, Unauthorized, UnsupportedMedia
from vivavoce.server import schemas as s
from vivavoce.server.problems import errors
from vivavoce.server.services import Here

router = APIRouter(tags=["WebRTC"])

_SDP = {"application/sdp": {"schema": {"type": "string", "examples": ["v=0\r\n…"]}}}


class SdpResponse(Response):
    media_type = "application/sdp"


@router.post(
    "/sdp",
    operation_id="exchangeSdp",
    response_class=SdpResponse,
    responses=errors(404, 415, 502, 503)
    | {200: {"description": "The SDP answer", "content": _SDP}},
    openapi_extra={
        "requestBody": {"required": True, "content": _SDP},
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
    seconds old. After a refusal get another with `GET /session/reconnect`.
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
    grant = here.tickets.redeem(key.strip())
    answer = await here.voice.connect(grant.session_id, grant.user_id, offer)
    return SdpResponse(answer)


@router.get("/ice-config", operation_id="getIceConfig", responses=errors())
async def ice_config(here: Here) -> s.IceConfigResponse:
    """ICE servers for `RTCPeerConnection`; OpenAI itself needs none."""
    servers = [s.IceServer.model_validate(server) for server in here.settings.ice_servers]
    return s.IceConfigResponse(ice_servers=servers)
