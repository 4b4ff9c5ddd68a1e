"""HTTP with the user's backend: one attempt to hand it a delivery, how its answer is read, and what
it knows of the user (their profile, tasks and goals).

What comes back is hostile: bounded in time and size, no redirects, its words are
cleaned before anyone reads them. When to try again is the outbox's. Our messages are signed
by the scheme of Standard Webhooks:

    webhook-id         the delivery, and the idempotency key
    webhook-timestamp  seconds since the epoch, of this attempt
    webhook-signature  v1,<base64 of HMAC-SHA256 over "id.timestamp.body">

What it knows of the user is asked for the same way. An answer is good for a short while, and
for a little longer where the backend does not answer; what it says is checked by
`runtime.people.elsewhere`.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hmac
import logging
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import field
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Protocol
from uuid import uuid4
from weakref import WeakValueDictionary

import orjson

from vivavoce import __version__
from vivavoce.errors import OrchestratorUnavailable
from vivavoce.logs import failure, fields
from vivavoce.runtime.people.elsewhere import Elsewhere, told
from vivavoce.runtime.ports import Clock
from vivavoce.wire.clean import clean_json, clean_line
from vivavoce.wire.records.plans import Delivery
from vivavoce.wire.records.work import Json
from vivavoce.wire.values import Value

if TYPE_CHECKING:
    import httpx2


log = logging.getLogger(__name__)

MOST_BYTES = 64 * 1024
MOST_WAIT = 24 * 3600.0
_WORDS = 300
_AGAIN = (408, 425, 429)
_ASTRAY = (401, 403, 404, 405)
"""A deployment, a rotated secret, a wrong address: of us, not of what the user wants."""
_BASE64 = "whsec_"
_NO = ("failed", "failure", "error", "rejected", "refused", "invalid", "denied")


class Delivered(Value):
    answer: Json = field(default_factory=dict)


class Refused(Value):
    """For good, in the backend's words."""

    words: str
    answer: Json = field(default_factory=dict)


class Later(Value):
    """`why` is for the log and the record; `after`: as long as the backend asked for."""

    why: str
    after: float | None = None


Verdict = Delivered | Refused | Later


class Sender(Protocol):
    async def send(self, url: str, delivery: Delivery) -> Verdict: ...
    async def close(self) -> None: ...


class HttpSender:
    """POSTs deliveries. Raises nothing of the network: that is `Later`."""

    def __init__(
        self,
        clock: Clock,
        *,
        secret: str | None = None,
        seconds: float = 10.0,
        open_client: Callable[[], httpx2.AsyncClient] | None = None,
    ) -> None:
        self._clock = clock
        self._key = key_of(secret) if secret else None
        self._seconds = seconds
        self._open_client = open_client or open_plain_client
        self._client: httpx2.AsyncClient | None = None
        self._opening = asyncio.Lock()

    async def send(self, url: str, delivery: Delivery) -> Verdict:
        client = await self._ready()
        import httpx2

        now = self._clock.now()
        body = orjson.dumps(delivery.body)
        headers = {
            "content-type": "application/json",
            "accept": "application/json",
            "user-agent": f"vivavoce/{__version__}",
        } | signed(self._key, delivery.id, now, body)
        try:
            # In all, or one that drips a byte at a time holds us for ever.
            async with (
                asyncio.timeout(self._seconds),
                client.stream("POST", url, content=body, headers=headers) as response,
            ):
                if response.status_code in _ASTRAY:
                    about = {"status": response.status_code, "delivery": delivery.id}
                    log.error("A backend does not take our messages", extra=fields(**about))
                return read_answer(
                    response.status_code, response.headers, await read_bounded(response), now
                )
        except TimeoutError:
            return Later(f"no answer within {self._seconds:g} seconds")
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as exc:
            log.info("A backend was not reached", extra=failure(exc, delivery=delivery.id))
            return Later(f"not reached ({type(exc).__name__})")

    async def _ready(self) -> httpx2.AsyncClient:
        """Importing it and reading the certificates takes half a second: off the event loop."""
        async with self._opening:
            if self._client is None:
                self._client = await asyncio.to_thread(self._open_client)
            return self._client

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()
            self._client = None


def key_of(secret: str) -> bytes:
    """A secret that begins with `whsec_` is base64 behind it; any other is its own bytes. Raises
    `ValueError` for a `whsec_` that is no base64."""
    if not secret.startswith(_BASE64):
        return secret.encode()
    try:
        return base64.b64decode(secret.removeprefix(_BASE64), validate=True)
    except binascii.Error:
        raise ValueError("a secret that begins with whsec_ has to be base64 behind it") from None


def signed(key: bytes | None, message_id: str, at: datetime, body: bytes) -> dict[str, str]:
    """The headers; without a key, all but the signature."""
    stamp = str(int(at.timestamp()))
    headers = {
        "idempotency-key": message_id,
        "webhook-id": message_id,
        "webhook-timestamp": stamp,
    }
    if key is not None:
        content = b".".join((message_id.encode(), stamp.encode(), body))
        mac = base64.b64encode(hmac.digest(key, content, "sha256")).decode()
        headers["webhook-signature"] = f"v1,{mac}"
    return headers


def open_plain_client() -> httpx2.AsyncClient:
    """One that follows nobody. Blocking: reading the certificates takes a while."""
    import httpx2

    return httpx2.AsyncClient(follow_redirects=False)


async def read_bounded(response: httpx2.Response) -> bytes | None:
    """The body, or None where it is too long to be an answer."""
    kept = b""
    async for piece in response.aiter_bytes():
        kept += piece
        if len(kept) > MOST_BYTES:
            return None
    return kept


def read_answer(
    status: int, headers: Mapping[str, str], body: bytes | None, now: datetime
) -> Verdict:
    """2xx: delivered, unless its JSON says otherwise; 4xx: refused, unless it is about us; all
    else: later."""
    raw = _object(body)
    said = None if raw is None else clean_json(raw, characters=8_000)
    if 200 <= status < 300:
        if said is None:
            # A page of some proxy is no acceptance; the key makes asking again safe.
            return Delivered() if body == b"" else Later(f"{status}, and no JSON object")
        if str(said.get("status", "")).casefold() not in _NO:
            return Delivered(said)
        return Refused(_words(said, "The backend did not accept it"), said)
    if 400 <= status < 500 and status not in (*_AGAIN, *_ASTRAY):
        return Refused(_words(said or {}, f"The backend refused it ({status})"), said or {})
    return Later(f"answered {status}", _retry_after(headers.get("retry-after"), now))


def _object(body: bytes | None) -> dict[str, Any] | None:
    try:
        value = orjson.loads(body or b"")
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


def _words(said: Mapping[str, Any], otherwise: str) -> str:
    """What it says is wrong: `message`, `error`, `detail`, or `error.message`."""
    for key in ("message", "error", "detail", "reason"):
        value = said.get(key)
        if isinstance(value, Mapping):
            value = value.get("message")
        if isinstance(value, str) and value.strip():
            return clean_line(value, _WORDS)
    return otherwise


def _retry_after(value: str | None, now: datetime) -> float | None:
    """Seconds or a date (RFC 9110 §10.2.3); nonsense is none."""
    if not value:
        return None
    if value.strip().isdecimal():
        return min(float(value.strip()[:9]), MOST_WAIT)
    try:
        seconds = (parsedate_to_datetime(value) - now).total_seconds()
    except (ValueError, TypeError):
        return None
    return min(max(0.0, seconds), MOST_WAIT)


FRESH_SECONDS = 30.0
STALE_SECONDS = 600.0
MOST_USERS = 1_000
UNREACHED = "The user's list cannot be had now"


class BackendContext:
    """Asks once at a time for each user. Raises `OrchestratorUnavailable`."""

    def __init__(
        self,
        clock: Clock,
        url: str,
        *,
        secret: str,
        seconds: float = 10.0,
        time_zone: str = "UTC",
        open_client: Callable[[], httpx2.AsyncClient] | None = None,
    ) -> None:
        self._clock, self._url, self._key, self._seconds = clock, url, key_of(secret), seconds
        self._time_zone = time_zone
        self._open_client = open_client or open_plain_client
        self._client: httpx2.AsyncClient | None = None
        self._asking: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._known: OrderedDict[str, tuple[float, Elsewhere]] = OrderedDict()

    async def of(self, user_id: str) -> Elsewhere:
        async with self._asking.setdefault(user_id, asyncio.Lock()):
            at, known = self._known.get(user_id, (float("-inf"), None))
            age = self._clock.monotonic() - at
            if known is not None and age < FRESH_SECONDS:
                return known
            found = await self._ask(user_id)
            if found is None:
                if known is not None and age < STALE_SECONDS:
                    return known
                raise OrchestratorUnavailable(UNREACHED)
            self._known[user_id] = (self._clock.monotonic(), found)
            self._known.move_to_end(user_id)
            while len(self._known) > MOST_USERS:
                self._known.popitem(last=False)
            return found

    def forget(self, user_id: str) -> None:
        """What it knew is over: something was submitted."""
        self._known.pop(user_id, None)

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _ask(self, user_id: str) -> Elsewhere | None:
        if self._client is None:
            self._client = await asyncio.to_thread(self._open_client)
        import httpx2

        now = self._clock.now()
        body = orjson.dumps({"user_id": user_id})
        headers = {
            "content-type": "application/json",
            "accept": "application/json",
            "user-agent": f"vivavoce/{__version__}",
        } | signed(self._key, f"ctx_{uuid4().hex}", now, body)
        try:
            async with (
                asyncio.timeout(self._seconds),
                self._client.stream("POST", self._url, content=body, headers=headers) as response,
            ):
                answer = await read_bounded(response)
                status = response.status_code
        except TimeoutError:
            log.info("A backend did not tell its context in time")
            return None
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as exc:
            log.info("A backend was not reached for its context", extra=failure(exc))
            return None
        said = _object(answer) if status == 200 else None
        if said is None:
            log.error("A backend's context cannot be used", extra=fields(status=status))
            return None
        return told(said, user_id=user_id, now=now, time_zone=self._time_zone)
