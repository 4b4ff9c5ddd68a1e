"""The part of `Settings` that is about how a page's users log in where they have JWTs."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field
from pydantic_settings import BaseSettings

from vivavoce.app.settings.parts import LOWER, Words, check_safe_url


def _safe(value: str) -> str:
    return check_safe_url(value.rstrip("/")) if value else ""


class LoginSettings(BaseSettings):
    """Where users log in."""

    oidc_client_id: str = Field(default="", max_length=500)
    """With `jwt`: the page's client id at the OpenID provider, registered as a public client
    (authorization code with PKCE, no secret). The page then leads its users there."""
    oidc_issuer: Annotated[str, AfterValidator(_safe)] = Field(
        default="", json_schema_extra={"shown": "`VIVAVOCE_JWT_ISSUER`"}
    )
    """The provider, whose `/.well-known/openid-configuration` says the rest."""
    oidc_scopes: Words = ("openid", "profile", "email")
    """What the page asks for, comma-separated; with `offline_access` some providers give it a token
    to renew with."""
    oidc_audience: str = Field(default="", max_length=500)
    """Whom the token is to be meant for, where the provider wants that asked (`audience`)."""
    oidc_token: Annotated[Literal["access_token", "id_token"], LOWER] = "access_token"  # noqa: S105
    """Which of the provider's tokens is the JWT for this server. For `id_token`
    `VIVAVOCE_JWT_AUDIENCE` is the client id."""
    supabase_key: str = Field(default="", max_length=1000)
    """With `jwt` and Supabase as its issuer: the project's publishable key (anon). The page then
    logs its users in at that project."""
    supabase_providers: Words = ()
    """Who Supabase lets log in, such as `google,github`, comma-separated, besides by e-mail and
    password."""
