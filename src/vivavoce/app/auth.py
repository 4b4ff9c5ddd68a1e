"""The authentication that the settings ask for: which parts, and which secret signs."""

from __future__ import annotations

from pydantic import SecretStr

from vivavoce.app.settings import Settings
from vivavoce.runtime.ports import Clock
from vivavoce.server.gate.auth import Authenticator
from vivavoce.server.gate.jwks import Jwks
from vivavoce.server.gate.jwt import JwtRules, JwtVerifier
from vivavoce.server.gate.tickets import StreamTokens


def stream_tokens(settings: Settings, clock: Clock) -> StreamTokens:
    """Signed with what every process of this server knows, where there is such a thing."""
    if settings.auth == "off":
        return StreamTokens(clock)
    return StreamTokens(clock, secret=_plain(settings.jwt_secret or settings.auth_token))


def authenticator(settings: Settings, streams: StreamTokens, clock: Clock) -> Authenticator:
    """Raises `Unavailable` where the packages for it are not installed."""
    jwt = _verifier(settings, clock) if settings.auth == "jwt" else None
    return Authenticator(settings.auth, token=_plain(settings.auth_token), jwt=jwt, streams=streams)


def _verifier(settings: Settings, clock: Clock) -> JwtVerifier:
    rules = JwtRules(
        issuer=settings.jwt_issuer,
        audience=settings.jwt_audience,
        algorithms=settings.signatures,
    )
    if settings.jwt_secret is not None:
        return JwtVerifier(rules, secret=_plain(settings.jwt_secret))
    keys = Jwks(settings.jwt_jwks_url, algorithms=settings.signatures, clock=clock)
    return JwtVerifier(rules, keys=keys)


def _plain(secret: SecretStr | None) -> str | None:
    return secret.get_secret_value() if secret is not None else None
