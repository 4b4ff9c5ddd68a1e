"""A user by his JWT: whose signature counts, for whom it was made, and until when.

Owns what a token must say; `jwks.py` has the issuer's keys. Nothing that a
token says of itself decides how it is checked: the algorithm is the key's or
the operator's choice, never the header's (RFC 8725 §3.1). Needs the packages
of `vivavoce[auth]`, and asks for them when it is made.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from vivavoce.errors import TokenExpired, Unauthorized, Unavailable

if TYPE_CHECKING:
    from jwt import PyJWK

MAX_TOKEN = 8192  # characters; Supabase's have about a thousand
LEEWAY_SECONDS = 30.0  # two machines' clocks
MAX_KID = 256
_REQUIRED = ("exp", "sub", "aud", "iss")
USER_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@:+-]{0,127}")


class Keys(Protocol):
    """The issuer's public keys."""

    async def key(self, kid: str | None) -> PyJWK | None: ...


@dataclass(frozen=True, slots=True)
class JwtRules:
    """What is asked of every token."""

    issuer: str
    audience: str
    algorithms: tuple[str, ...]


class JwtVerifier:
    """Takes a token, gives its user. With a shared secret, or with the issuer's keys."""

    def __init__(
        self, rules: JwtRules, *, secret: str | None = None, keys: Keys | None = None
    ) -> None:
        if (secret is None) == (keys is None):
            raise ValueError("Either a secret or keys")
        by_secret = {name.startswith("HS") for name in rules.algorithms}
        if by_secret != {secret is not None}:
            # A public key that passes for a secret would let anyone sign.
            raise ValueError("Algorithms of secrets and of keys do not mix")
        try:
            import cryptography  # noqa: F401 # PyJWT is quiet about its absence until it is needed
            import jwt
        except ImportError:
            raise Unavailable(
                "VIVAVOCE_AUTH=jwt needs more packages: pip install 'vivavoce[auth]'"
            ) from None
        self._jwt = jwt
        self._rules = rules
        self._secret = secret.encode() if secret is not None else None
        self._keys = keys

    async def user(self, token: str) -> str:
        """Raises `Unauthorized`, `TokenExpired`, or `Unavailable` where keys cannot be had."""
        if len(token) > MAX_TOKEN:
            raise Unauthorized("The token is too long")
        kid = self._key_id(token)
        if self._keys is None:
            assert self._secret is not None
            return self._checked(token, self._secret, self._rules.algorithms)
        key = await self._keys.key(kid)
        if key is None:
            raise Unauthorized("The token is signed with a key that its issuer does not have")
        return self._checked(token, key, (key.algorithm_name,))

    def _key_id(self, token: str) -> str | None:
        """The one thing that is read before the signature: a name to look up, no more."""
        try:
            header: dict[str, Any] = self._jwt.get_unverified_header(token)
        except (self._jwt.InvalidTokenError, ValueError, RecursionError):
            raise Unauthorized("The token is no valid JWT") from None
        kid = header.get("kid")
        return kid if isinstance(kid, str) and len(kid) <= MAX_KID else None

    def _checked(self, token: str, key: PyJWK | bytes, algorithms: tuple[str, ...]) -> str:
        jwt = self._jwt
        try:
            claims: dict[str, Any] = jwt.decode(
                token,
                key,
                algorithms=list(algorithms),
                audience=self._rules.audience,
                issuer=self._rules.issuer,
                leeway=LEEWAY_SECONDS,
                options={"require": list(_REQUIRED)},
            )
        except jwt.ExpiredSignatureError:
            raise TokenExpired("The token has expired; sign in again") from None
        except jwt.InvalidAudienceError:
            raise Unauthorized("The token is not meant for this server (its audience)") from None
        except jwt.InvalidIssuerError:
            raise Unauthorized("The token is from another issuer") from None
        except (jwt.PyJWTError, ValueError, TypeError, OverflowError, RecursionError):
            raise Unauthorized("The token is not valid") from None
        user_id = claims["sub"]
        # Refused rather than mended: two names must never become one user.
        if not isinstance(user_id, str) or not USER_ID.fullmatch(user_id):
            raise Unauthorized("The token names no user that we can take (its subject)")
        return user_id
