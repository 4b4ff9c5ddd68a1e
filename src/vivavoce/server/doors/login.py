"""`/api/v1/login` and `/api/v1/me`: how somebody comes in, for everybody to know, and who they
are then."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, Request
from pydantic import Field

from vivavoce.server.gate.auth import AuthMode
from vivavoce.server.problems import errors
from vivavoce.server.schemas.fields import View
from vivavoce.server.services import AsRole, Here, User
from vivavoce.wire.records.work import Role

router = APIRouter(prefix="/api/v1", tags=["Login"])


class LoginProvider(View):
    """Nothing in it is secret."""

    kind: Literal["oidc", "supabase"]
    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    client_id: str
    scope: str
    audience: str | None
    token: str = Field(description="Which of the provider's tokens is the one for this server")
    end_session_endpoint: str | None
    key: str | None = Field(description="Supabase's publishable key, for its header `apikey`")
    providers: list[str] = Field(description="Of Supabase: who lets its users log in")


class LoginResponse(View):
    mode: AuthMode = Field(
        description="`off`: nobody is asked; `token`: ask for the token of this server; `jwt`: a "
        "JWT of the user's"
    )
    provider: LoginProvider | None = Field(
        description="Where to get a JWT; null where the page's users bring their own"
    )


class MeResponse(View):
    user_id: str
    role: Role
    token_name: str | None = Field(description="Of the server's token that was shown, if it was")


@router.get(
    "/login",
    operation_id="getLogin",
    responses=errors(503),
    openapi_extra={"security": []},
)
async def login(here: Here) -> LoginResponse:
    """How to come in: for a page, before anybody has."""
    way = await here.login.way()
    provider = None if way is None else LoginProvider.of(way)
    return LoginResponse(mode=here.login.mode, provider=provider)


@router.get("/me", operation_id="getMe", responses=errors())
async def me(request: Request, here: Here, user: User, role: AsRole) -> MeResponse:
    """Who you are with what you showed: to try a token, and to know what you may."""
    name = getattr(request.state, "token_name", None)
    return MeResponse(user_id=user, role=role, token_name=name)
