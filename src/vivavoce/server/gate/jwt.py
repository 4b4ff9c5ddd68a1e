"""A user by his JWT: whose signature counts, for whom it was made, and until when.

Owns what a token must say, and the issuer's public keys: fetched, kept, and
fetched again when they rotate. Nothing that a token says of itself decides how
it is checked: the algorithm is the key's or the operator's choice, never the
header's (RFC 8725 §3.1). Needs the packages of `vivavoce[auth]`, and asks for
them when it is made.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from vivavoce.errors import TokenExpired, Unauthorized, Unavailable
from vivavoce.runtime.ports import Clock
from vivavoce.wire.records.talk import DEFAULT_USER
from vivavoce.wire.records.work import ROLES, Role

if TYPE_CHECKING:
    import httpx
    from jwt import PyJWK

log = logging.getLogger(__name__)

MAX_TOKEN = 8192  # characters; Supabase's have about a thousand
LEEWAY_SECONDS = 30.0  # two machines' clocks
MAX_KID = 256
_REQUIRED = ("exp", "sub", "aud", "iss")
USER_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@:+-]{0,127}")
OPERATOR = "operator"  # who has a token of the server's, where users have JWTs
OWN_USERS = frozenset({DEFAULT_USER, OPERATOR})
"""Users that this server has by itself, with what is theirs: nobody becomes one by being called
so elsewhere."""


@dataclass(frozen=True, slots=True)
class JwtRules:
    """What is asked of every token, and what it says of its user's role."""

    issuer: str
    audience: str
    algorithms: tuple[str, ...]
    max_age: float | None = None
    """Seconds since it was issued, whenever it lapses."""
    role_claim: str = "vivavoce_role"
    """A name, or a path with dots to what is inside a claim."""
    roles: Mapping[str, Role] = field(default_factory=dict)
    """By the values of that claim. Any other, and none, is a plain user."""


@dataclass(frozen=True, slots=True)
class Claimed:
    """Who somebody is, as their token says."""

    user_id: str
    role: Role


class _Seen(NamedTuple):
    """A token that was good a moment ago. By its digest: the token itself is kept nowhere."""

    claimed: Claimed
    until: float
    kid: str | None
    key: PyJWK | None
    """The issuer's; one that it has withdrawn since, or replaced, is another."""


SEEN_SECONDS = 30.0
_MOST_SEEN = 5_000


class JwtVerifier:
    """Takes a token, gives its user. With a shared secret, or with the issuer's keys."""

    def __init__(
        self,
        rules: JwtRules,
        *,
        secret: str | None = None,
        previous: str | None = None,
        keys: Jwks | None = None,
    ) -> None:
        """`previous` is the secret before this one: its tokens are good until they lapse."""
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
        self._secrets = tuple(given.encode() for given in (secret, previous) if given is not None)
        self._keys = keys
        self._seen: dict[bytes, _Seen] = {}

    @property
    def role_claim(self) -> str:
        return self._rules.role_claim

    async def user(self, token: str) -> str:
        """As `who`, without the role."""
        return (await self.who(token)).user_id

    async def who(self, token: str) -> Claimed:
        """Raises `Unauthorized`, `TokenExpired`, or `Unavailable` where keys cannot be had."""
        if len(token) > MAX_TOKEN:
            raise Unauthorized("The token is too long")
        digest = hashlib.sha256(token.encode(errors="surrogateescape")).digest()
        seen = self._seen.get(digest)
        if seen is not None and time.time() < seen.until and await self._still_good(seen):
            return seen.claimed
        kid, key = self._key_id(token), None
        if self._keys is None:
            claims = self._checked(token, self._secrets, self._rules.algorithms)
        else:
            key = await self._keys.key(kid)
            if key is None:
                raise Unauthorized("The token is signed with a key that its issuer does not have")
            claims = self._checked(token, (key,), (key.algorithm_name,))
        claimed = Claimed(claims["sub"], self._role(claims))
        if len(self._seen) >= _MOST_SEEN:
            self._seen.clear()
        self._seen[digest] = _Seen(claimed, self._until(claims), kid, key)
        return claimed

    async def _still_good(self, seen: _Seen) -> bool:
        return self._keys is None or await self._keys.key(seen.kid) is seen.key

    def _until(self, claims: Mapping[str, Any]) -> float:
        """For how long nobody need look at it again: never beyond its own time."""
        until = min(time.time() + SEEN_SECONDS, int(claims["exp"]))
        if self._rules.max_age is not None:
            until = min(until, claims["iat"] + self._rules.max_age)
        return float(until)

    def _key_id(self, token: str) -> str | None:
        """The one thing that is read before the signature: a name to look up, no more."""
        try:
            header: dict[str, Any] = self._jwt.get_unverified_header(token)
        except (self._jwt.InvalidTokenError, ValueError, RecursionError):
            raise Unauthorized("The token is no valid JWT") from None
        kid = header.get("kid")
        return kid if isinstance(kid, str) and len(kid) <= MAX_KID else None

    def _checked(
        self, token: str, keys: Sequence[PyJWK | bytes], algorithms: tuple[str, ...]
    ) -> dict[str, Any]:
        """What a valid one says."""
        jwt = self._jwt
        try:
            claims = self._decoded(token, keys, algorithms)
        except jwt.ExpiredSignatureError:
            raise TokenExpired("The token has expired; sign in again") from None
        except jwt.InvalidAudienceError:
            raise Unauthorized("The token is not meant for this server (its audience)") from None
        except jwt.InvalidIssuerError:
            raise Unauthorized("The token is from another issuer") from None
        except (jwt.PyJWTError, ValueError, TypeError, OverflowError, RecursionError):
            raise Unauthorized("The token is not valid") from None
        self._check_age(claims)
        user_id = claims["sub"]
        # Refused rather than mended: two names must never become one user.
        fine = isinstance(user_id, str) and USER_ID.fullmatch(user_id) is not None
        if not fine or user_id in OWN_USERS:
            raise Unauthorized("The token names no user that we can take (its subject)")
        return claims

    def _decoded(
        self, token: str, keys: Sequence[PyJWK | bytes], algorithms: tuple[str, ...]
    ) -> dict[str, Any]:
        for key in keys:
            try:
                claims: dict[str, Any] = self._jwt.decode(
                    token,
                    key,
                    algorithms=list(algorithms),
                    audience=self._rules.audience,
                    issuer=self._rules.issuer,
                    leeway=LEEWAY_SECONDS,
                    options={"require": list(_REQUIRED)},
                )
                return claims
            except self._jwt.InvalidSignatureError:
                continue
        raise Unauthorized("The token is not valid")

    def _check_age(self, claims: Mapping[str, Any]) -> None:
        if self._rules.max_age is None:
            return
        issued = claims.get("iat")
        if isinstance(issued, bool) or not isinstance(issued, int | float):
            raise Unauthorized(
                "The token does not say when it was issued: its issuer has to add 'iat', or the "
                "operator sets VIVAVOCE_JWT_MAX_AGE_HOURS to 0"
            )
        if time.time() - issued > self._rules.max_age + LEEWAY_SECONDS:
            hours = self._rules.max_age / 3600
            raise TokenExpired(f"The token is older than {hours:g} hours; sign in again")

    def _role(self, claims: Mapping[str, Any]) -> Role:
        said: Any = claims.get(self._rules.role_claim)
        if said is None:  # a name may have dots of its own
            said = claims
            for name in self._rules.role_claim.split("."):
                said = said.get(name) if isinstance(said, Mapping) else None
        values = said if isinstance(said, list) else [said]
        found = [self._rules.roles.get(each, "user") for each in values if isinstance(each, str)]
        return max(found, key=ROLES.index, default="user")


# --- The issuer's keys
#
# A token with a key id that nobody knows asks the issuer at most once in a while, whoever sends
# it; an issuer that is away costs a warning and not the users: the last good keys stay.

FRESH_SECONDS = 600.0  # a key that was withdrawn is out by then
AGAIN_SECONDS = 30.0  # between two tries, whatever tokens say
FETCH_SECONDS = 5.0
MAX_BYTES = 256 * 1024
MAX_KEYS = 64

Fetch = Callable[[str], Awaitable[bytes]]


async def fetched(url: str) -> bytes:
    """The document. Redirects are not followed: the address is the one that was configured."""
    made = await asyncio.to_thread(_client)
    async with (
        asyncio.timeout(FETCH_SECONDS),
        made as client,
        client.stream("GET", url, headers={"accept": "application/json"}) as response,
    ):
        if response.status_code != 200:
            raise ValueError(f"the issuer answered {response.status_code}")
        body = b""
        async for piece in response.aiter_bytes():
            body += piece
            if len(body) > MAX_BYTES:
                raise ValueError("the key set is too large")
        return body


def _client() -> httpx.AsyncClient:
    """In a thread: the import and the list of certificate authorities take a while."""
    import httpx

    return httpx.AsyncClient(timeout=FETCH_SECONDS, follow_redirects=False)


def read_keys(document: bytes, algorithms: Iterable[str]) -> dict[str | None, PyJWK]:
    """The keys that may sign, by id. What we cannot use is left out; ValueError if none is left.

    A key has one algorithm, its own: a token cannot choose another for it.
    """
    import orjson
    from jwt import PyJWK
    from jwt.exceptions import PyJWTError

    allowed = frozenset(algorithms)
    parsed: Any = orjson.loads(document)
    listed = parsed.get("keys") if isinstance(parsed, dict) else None
    if not isinstance(listed, list):
        raise ValueError("there is no list of keys")
    found: dict[str | None, PyJWK] = {}
    for data in listed[:MAX_KEYS]:
        if not isinstance(data, dict) or data.get("use", "sig") != "sig":
            continue
        if data.get("kty") == "oct" or "d" in data:  # a secret, or somebody's private key
            continue
        kid = data.get("kid")
        if kid is not None and not isinstance(kid, str):
            continue
        try:
            key = PyJWK(data)
        except (PyJWTError, ValueError, TypeError, AttributeError):
            continue
        if key.algorithm_name in allowed:
            found[kid] = key
    if not found:
        raise ValueError("it has no key that we could use")
    return found


class Jwks:
    """Keys by their id."""

    def __init__(
        self, url: str, *, algorithms: Iterable[str], clock: Clock, fetch: Fetch = fetched
    ) -> None:
        self._url = url
        self._algorithms = tuple(algorithms)
        self._clock = clock
        self._fetch = fetch
        self._keys: dict[str | None, PyJWK] = {}
        self._got_at: float | None = None
        self._tried_at: float | None = None
        self._asking = asyncio.Lock()

    async def key(self, kid: str | None) -> PyJWK | None:
        """None where there is no such key. Raises `Unavailable` while there are none at all."""
        known = self._find(kid)
        if known is not None and (self._fresh() or self._asking.locked()):
            return known  # somebody else is asking for fresh ones: nobody has to wait
        async with self._asking:
            settled = self._fresh() and self._find(kid) is not None
            if not settled and not self._within(self._tried_at, AGAIN_SECONDS):
                await self._refresh()
        if not self._keys:
            raise Unavailable(
                "The issuer of the tokens cannot be reached",
                retry_after_ms=int(AGAIN_SECONDS * 1e3),
            )
        return self._find(kid)

    def _find(self, kid: str | None) -> PyJWK | None:
        if kid is None and len(self._keys) == 1:  # no id is needed where there is no choice
            return next(iter(self._keys.values()))
        return self._keys.get(kid)

    def _fresh(self) -> bool:
        return self._within(self._got_at, FRESH_SECONDS)

    def _within(self, since: float | None, seconds: float) -> bool:
        return since is not None and self._clock.monotonic() - since < seconds

    async def _refresh(self) -> None:
        self._tried_at = self._clock.monotonic()
        try:
            self._keys = read_keys(await self._fetch(self._url), self._algorithms)
        except asyncio.CancelledError:
            self._tried_at = None  # whoever asked has left; the next one may
            raise
        except Exception as exc:  # the boundary: whatever is wrong there, the old keys hold
            log.warning(
                "The issuer's keys could not be fetched",
                extra={"fields": {"error_type": type(exc).__name__, "kept": len(self._keys)}},
            )
        else:
            self._got_at = self._clock.monotonic()
