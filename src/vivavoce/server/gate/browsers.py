"""What a browser on a page of somebody else's gets: a key that works once, and a token for it.

The page's own backend knows who its user is, and has a token of this server. It asks for a key
(`bk_…`) for that user, for a minute, and hands it to the browser, which exchanges it for a token
(`bt_…`): signed, kept nowhere, for ten minutes, for this user as a plain one, and for pages of the
origin that exchanged it. There is no other way to such a token, nor to a longer one: whoever the
backend sends away is out within ten minutes.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import orjson

from vivavoce.errors import Forbidden, TokenExpired, Unauthorized
from vivavoce.runtime.ports import Clock
from vivavoce.server.gate.tickets import derived, parts, signed, unpadded
from vivavoce.wire.records.reach import OneTimeKey, Purpose
from vivavoce.wire.records.talk import Change, Put

KEY, TOKEN = "bk_", "bt_"
KEY_SECONDS, TOKEN_SECONDS = 60.0, 600.0
_SALT = b"vivavoce browser tokens 1"
_PURPOSE: Purpose = "browser"

Commit = Callable[[Sequence[Change]], Awaitable[object]]
Take = Callable[[str, Purpose], Awaitable[OneTimeKey | None]]


@dataclass(frozen=True, slots=True)
class Given:
    """A key or a token on its way to who asked; the only place where its value is."""

    value: str
    user_id: str
    expires_at: datetime


class BrowserKeys:
    """Keys of all servers on one database, and the tokens that they are exchanged for."""

    def __init__(
        self,
        clock: Clock,
        *,
        commit: Commit,
        take: Take,
        secret: str | None = None,
        previous: str | None = None,
    ) -> None:
        """Without a secret the tokens end with the process. What was signed with the `previous`
        one is still taken."""
        self._clock, self._commit, self._take = clock, commit, take
        self._keys = [secrets.token_bytes(32) if secret is None else derived(secret, _SALT)]
        self._keys += [] if previous is None else [derived(previous, _SALT)]

    async def make(self, user_id: str, *, origin: str | None = None) -> Given:
        """A key for a browser of this user's; with an `origin`, for its pages alone."""
        value, now = KEY + secrets.token_urlsafe(32), self._clock.now()
        until = now + timedelta(seconds=KEY_SECONDS)
        kept = OneTimeKey(
            digest=_digest(value),
            user_id=user_id,
            purpose=_PURPOSE,
            created_at=now,
            expires_at=until,
            data={"origin": origin},
        )
        await self._commit([Put(kept)])
        return Given(value, user_id, until)

    async def exchange(self, value: str | None, *, origin: str | None) -> Given:
        """The token for a key, once. `origin` is of the page that asks, where that is not ours."""
        if not (value or "").startswith(KEY):
            raise Unauthorized("Send the key as 'Authorization: Bearer bk_…'")
        key = await self._take(_digest(value or ""), _PURPOSE)
        now = self._clock.now()
        if key is None:
            raise Unauthorized("The key is not valid, or was used already")
        if now >= key.expires_at:
            raise TokenExpired("The key has expired; ask the page's own server for another")
        if key.data.get("origin") not in (None, origin):
            raise Forbidden("This key is for pages of another origin")
        until = now + timedelta(seconds=TOKEN_SECONDS)
        body = orjson.dumps([key.user_id, origin, until.timestamp()])
        token = f"{TOKEN}{unpadded(body)}.{unpadded(signed(self._keys[0], body))}"
        return Given(token, key.user_id, until)

    def verify(self, value: str, *, origin: str | None) -> str:
        """Whose it is. Raises `TokenExpired` when it lapsed, `Unauthorized` when it is not ours,
        `Forbidden` on pages of another origin."""
        body, signature = parts(value, TOKEN)
        if not any(hmac.compare_digest(signature, signed(key, body)) for key in self._keys):
            raise Unauthorized("The browser's token is not valid")
        user_id, of, until = orjson.loads(body)
        if self._clock.now() >= datetime.fromtimestamp(until, UTC):
            raise TokenExpired("The browser's token has expired; exchange another key")
        if of != origin:
            raise Forbidden("This token is for pages of another origin")
        return str(user_id)


def _digest(value: str) -> str:
    return hashlib.sha256(value.encode()).hexdigest()
