"""The settings that say who may: a part of `Settings`, which alone reads the environment.

Owns the three ways to ask who somebody is and what belongs to each. A wrong
combination is refused at the start, in words; what a token says is checked in
`server/gate/jwt.py`.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode

from vivavoce.server.gate import MIN_TOKEN_LENGTH

# RFC 7518 §3.2: "A key of the same size as the hash output … or larger MUST be used".
SECRET_BYTES = {"HS256": 32, "HS384": 48, "HS512": 64}
SIGNED_BY_KEY = (
    "ES256",
    "RS256",
    "EdDSA",
    "ES384",
    "ES512",
    "RS384",
    "RS512",
    "PS256",
    "PS384",
    "PS512",
)
_USUAL_KEYS = SIGNED_BY_KEY[:3]
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


_HOST = re.compile(r"\*|(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?|[0-9A-Fa-f:.]+")
_ORIGIN = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#\s@*]+/?")


def _split(value: object) -> object:
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


def _lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


Words = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)]
"""Comma-separated."""
LOWER = BeforeValidator(_lower)
"""Of a name that may be written in capitals."""


class AuthSettings(BaseSettings):
    """Who may."""

    auth: Annotated[Literal["off", "token", "jwt"], LOWER] = Field(
        default="off",
        description="`off` trusts this machine; `token` asks for `VIVAVOCE_AUTH_TOKEN`; `jwt` "
        "asks each user for a JWT, such as Supabase's.",
    )
    auth_token: SecretStr | None = Field(
        default=None,
        description="The bearer token, at least 16 characters. With `jwt` it is the operator's: "
        "for `/status`, `/metrics` and the engine's `/v1`.",
    )
    jwt_secret: SecretStr | None = Field(
        default=None,
        description="Secret that JWTs are signed with (HS256), at least 32 characters; "
        "Supabase's JWT secret.",
    )
    jwt_jwks_url: str = Field(
        default="",
        description="In place of a secret, where the issuer's public keys are, such as "
        "`https://….supabase.co/auth/v1/.well-known/jwks.json`.",
    )
    jwt_issuer: str = Field(
        default="",
        description="Who must have issued a JWT, such as `https://….supabase.co/auth/v1`.",
    )
    jwt_audience: str = Field(
        default="authenticated", description="Whom a JWT must be meant for: its `aud`."
    )
    jwt_algorithms: Words = Field(
        default=(),
        json_schema_extra={"shown": "`HS256`, or `ES256,RS256,EdDSA` with a JWKS URL"},
        description="Signatures that count, comma-separated.",
    )

    allowed_hosts: Words = Field(
        default=(), description="Host names it answers to besides loopback, comma-separated."
    )
    allowed_origins: Words = Field(
        default=(), description="Web origins that may call it besides its own, comma-separated."
    )

    @field_validator("auth_token")
    @classmethod
    def _long_enough(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and len(value.get_secret_value()) < MIN_TOKEN_LENGTH:
            raise ValueError(f"should have at least {MIN_TOKEN_LENGTH} characters")
        return value

    @field_validator("jwt_secret")
    @classmethod
    def _a_secret(cls, value: SecretStr | None) -> SecretStr | None:
        if value is None:
            return None
        if "-----BEGIN" in value.get_secret_value():
            # Whoever knows a public key could sign with it: the classic confusion.
            raise ValueError("should be a shared secret, not a key; VIVAVOCE_JWT_JWKS_URL has keys")
        if len(value.get_secret_value().encode()) < SECRET_BYTES["HS256"]:
            raise ValueError("should have at least 32 characters")
        return value

    @field_validator("jwt_jwks_url")
    @classmethod
    def _keys_by_a_safe_way(cls, value: str) -> str:
        if not value:
            return ""
        url = urlsplit(value)
        _ = url.port  # a ValueError where it is none
        host = url.hostname or ""
        # Keys that can be swapped on the way are none; one word is a name on our own network.
        near = host in _LOOPBACK or (host and "." not in host and ":" not in host)
        if not host or url.scheme not in ("https", "http") or (url.scheme == "http" and not near):
            raise ValueError("should begin with https://, or http:// on this machine or network")
        if url.username is not None or url.password is not None or url.fragment:
            raise ValueError("should be a plain URL, without a password or a fragment")
        return value

    @field_validator("jwt_algorithms")
    @classmethod
    def _known_algorithms(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for name in value:
            if name not in SECRET_BYTES and name not in SIGNED_BY_KEY:
                known = ", ".join((*SECRET_BYTES, *SIGNED_BY_KEY))
                raise ValueError(f"should be some of {known}, and has {name!r}")
        return value

    @field_validator("allowed_hosts")
    @classmethod
    def _host_names(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for host in value:
            if not _HOST.fullmatch(host):
                raise ValueError(f"should be host names such as voice.example, and has {host!r}")
        return value

    @field_validator("allowed_origins")
    @classmethod
    def _web_origins(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for origin in value:
            if not _ORIGIN.fullmatch(origin):
                raise ValueError(f"should be origins such as https://a.example, and has {origin!r}")
        return value

    @model_validator(mode="after")
    def _what_the_mode_needs(self) -> AuthSettings:
        if self.auth == "token" and self.auth_token is None:
            raise ValueError("VIVAVOCE_AUTH_TOKEN: is needed with VIVAVOCE_AUTH=token")
        if self.auth == "jwt":
            self._what_jwt_needs()
        else:
            for name in ("jwt_secret", "jwt_jwks_url", "jwt_issuer", "jwt_algorithms"):
                if getattr(self, name):  # or somebody believes that it protects them
                    raise ValueError(f"VIVAVOCE_{name.upper()}: is for VIVAVOCE_AUTH=jwt")
        return self

    def _what_jwt_needs(self) -> None:
        if (self.jwt_secret is None) == (not self.jwt_jwks_url):
            raise ValueError(
                "VIVAVOCE_AUTH: jwt needs either VIVAVOCE_JWT_SECRET or VIVAVOCE_JWT_JWKS_URL, "
                f"and has {'neither' if self.jwt_secret is None else 'both'}"
            )
        if not self.jwt_issuer:
            raise ValueError("VIVAVOCE_JWT_ISSUER: is needed with VIVAVOCE_AUTH=jwt")
        kinds = SIGNED_BY_KEY if self.jwt_secret is None else tuple(SECRET_BYTES)
        for name in self.jwt_algorithms:
            if name not in kinds:
                source = "VIVAVOCE_JWT_JWKS_URL" if self.jwt_secret is None else "a secret"
                raise ValueError(
                    f"VIVAVOCE_JWT_ALGORITHMS: with {source} should be some of "
                    f"{', '.join(kinds)}, and has {name!r}"
                )
        if self.jwt_secret is not None:
            needed = max(SECRET_BYTES[name] for name in self.signatures)
            if len(self.jwt_secret.get_secret_value().encode()) < needed:
                raise ValueError(
                    f"VIVAVOCE_JWT_SECRET: should have at least {needed} characters "
                    f"for {', '.join(self.signatures)}"
                )

    @property
    def signatures(self) -> tuple[str, ...]:
        """The algorithms that count: never what a token says of itself."""
        return self.jwt_algorithms or (_USUAL_KEYS if self.jwt_secret is None else ("HS256",))
