"""`/api/v1/push`: notices to browsers whose page is closed (`docs/push.md`)."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends
from fastapi.responses import Response
from pydantic import ConfigDict, Field
from starlette.requests import Request as HttpRequest

from vivavoce.errors import Unavailable
from vivavoce.runtime.push.service import Action, Push
from vivavoce.server.gate.auth import named_token
from vivavoce.server.problems import errors
from vivavoce.server.schemas.fields import NUMBER, Request, Timestamp, View
from vivavoce.server.services import AsRole, Here, Services, User, json_only, paced
from vivavoce.wire.records.reach import PushSubscription

router = APIRouter(prefix="/api/v1/push", tags=["Notices"], dependencies=[Depends(json_only)])


class Browser(View):
    id: str = Field(json_schema_extra={"format": "uuid"})
    device: str
    created_at: Timestamp
    updated_at: Timestamp


class PushResponse(View):
    public_key: str = Field(description="`applicationServerKey` of the browser's `subscribe`")
    browsers: list[Browser] = Field(description="Yours that take notices, the oldest first")


class PushKeys(Request):
    p256dh: str = Field(max_length=128)
    auth: str = Field(max_length=64)


class SubscribeRequest(Request):
    """A browser's `PushSubscription.toJSON()`, and what you call it."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    endpoint: str = Field(max_length=2000)
    keys: PushKeys
    expiration_time: Annotated[float | None, NUMBER] = Field(default=None, alias="expirationTime")
    device: str = Field(default="", max_length=100)


class NoticeActionRequest(Request):
    key: str = Field(max_length=128, description="The notice's own: it works once")
    action: Action


class NoticeActionResponse(View):
    action: Action
    said: str = Field(description="For the user, where there is something to say")
    at: Timestamp | None = Field(description="Until when it was put off")


def _push(here: Services) -> Push:
    if here.push is None:
        raise Unavailable(
            "This server sends no notices: VIVAVOCE_PUSH is off, or packages are missing "
            "(pip install 'vivavoce[push]')."
        )
    return here.push


def _shown(one: PushSubscription) -> Browser:
    return Browser.of(one)


@router.get("", operation_id="getPush", responses=errors(503))
async def push(here: Here, user: User) -> PushResponse:
    """What a browser needs to subscribe, and which of yours have. 503 where there are no
    notices."""
    service = _push(here)
    found = await service.devices(user)
    return PushResponse(
        public_key=await service.public_key(), browsers=[_shown(one) for one in found]
    )


@router.post(
    "/subscriptions",
    operation_id="subscribeToPush",
    status_code=201,
    responses=errors(400, 409, 415, 429, 503),
    dependencies=[Depends(paced)],
)
async def subscribe(
    request: HttpRequest, here: Here, user: User, role: AsRole, body: SubscribeRequest
) -> Browser:
    """This browser takes notices from now on: of what is due, asked, or done, while you are in no
    call. Once more is the same subscription, with your role as it is now."""
    made = await _push(here).subscribe(
        user,
        body.endpoint,
        body.keys.p256dh,
        body.keys.auth,
        device=body.device,
        role=role,
        token=named_token(request),
    )
    return _shown(made)


@router.delete(
    "/subscriptions/{subscription_id}",
    operation_id="unsubscribeFromPush",
    status_code=204,
    responses=errors(404, 503),
    dependencies=[Depends(paced)],
)
async def unsubscribe(here: Here, user: User, subscription_id: UUID) -> Response:
    """That browser takes no more notices."""
    await _push(here).unsubscribe(str(subscription_id), user)
    return Response(status_code=204)


@router.post(
    "/actions",
    operation_id="actOnNotice",
    responses=errors(400, 401, 404, 409, 415, 503),
    openapi_extra={"security": []},
)
async def act(here: Here, body: NoticeActionRequest) -> NoticeActionResponse:
    """What a button of a notice does, with the page closed: the key in the notice is the
    authentication, and works once. `seen` says that the user has read it, or pushed it away."""
    return NoticeActionResponse.of(await _push(here).act(body.key, body.action))
