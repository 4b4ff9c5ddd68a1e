"""`/api/v1/keys`: how a browser on a page of somebody else's comes in (`gate/browsers.py`).

The page's backend asks for a key, the browser exchanges it.
"""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Depends
from pydantic import Field, StringConstraints
from starlette.requests import Request as HttpRequest

from vivavoce.errors import Forbidden
from vivavoce.server.gate.auth import FOREIGN_ORIGIN, bearer, named_user
from vivavoce.server.gate.jwt import OWN_USERS
from vivavoce.server.problems import errors
from vivavoce.server.schemas.fields import Request, Timestamp, View
from vivavoce.server.services import AsRole, Here, User, json_only

router = APIRouter(prefix="/api/v1/keys", tags=["Keys"])

Origin = Annotated[
    str, StringConstraints(pattern=r"^https?://[^/?#\s@*]+$", max_length=300, to_lower=True)
]


class BrowserKeyRequest(Request):
    """Without a user it is for whoever asks."""

    user_id: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._@:+-]{0,127}$",
        description="Whose browser it is. Only an operator's token may name somebody else.",
        examples=["ada"],
        json_schema_extra={"not": {"enum": [*sorted(OWN_USERS)]}},
    )
    origin: Origin | None = Field(
        default=None,
        description="Of the page; no other page can use the key then.",
        examples=["https://shop.example"],
    )


class BrowserKey(View):
    key: str = Field(description="`bk_…`: for one `POST /api/v1/keys/exchange`", examples=["bk_…"])
    expires_at: Timestamp
    user_id: str


class BrowserToken(View):
    token: str = Field(description="`bt_…`, for `Authorization: Bearer`", examples=["bt_…"])
    token_type: Literal["Bearer"] = "Bearer"  # noqa: S105
    expires_at: Timestamp
    user_id: str


@router.post(
    "",
    operation_id="createBrowserKey",
    status_code=201,
    responses=errors(400, 403, 415, 429),
    dependencies=[Depends(json_only)],
)
async def make(
    request: HttpRequest,
    here: Here,
    user: User,
    role: AsRole,
    body: BrowserKeyRequest | None = None,
) -> BrowserKey:
    """A key for one browser of one user, for a minute: what the backend of a page asks for, and
    hands to the page. It opens nothing but its exchange for a token, once."""
    body = body or BrowserKeyRequest()
    whose = user if body.user_id is None else named_user(body.user_id)
    operator = role == "operator" and (
        here.options.auth == "off" or getattr(request.state, "token_name", None) is not None
    )
    if not operator:
        here.changes.check(user)
        if whose != user:
            raise Forbidden("A key for somebody else takes an operator's token")
    given = await here.browsers.make(whose, origin=body.origin)
    await here.journal.audit("browser key", body.origin or "any allowed origin", "made", whose)
    return BrowserKey(key=given.value, expires_at=given.expires_at, user_id=whose)


@router.post(
    "/exchange",
    operation_id="exchangeBrowserKey",
    responses=errors(401, 403),
    openapi_extra={"security": [{"browserKey": []}]},
)
async def exchange(request: HttpRequest, here: Here) -> BrowserToken:
    """The token for a key, once. It lasts ten minutes, and is for pages of the origin that asked:
    a plain user's, whoever made the key. For another one, get another key."""
    origin = getattr(request.state, FOREIGN_ORIGIN, None)
    given = await here.browsers.exchange(bearer(request.headers), origin=origin)
    return BrowserToken(token=given.value, expires_at=given.expires_at, user_id=given.user_id)
