"""What the user's backend knows of them, asked for over HTTP: their profile, tasks and goals.

Signed like the messages of the outbox, bounded in time and size, no redirects. An answer is good
for a short while, and for a little longer where the backend does not answer; what it says is
checked by `runtime.people.elsewhere`.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING
from uuid import uuid4
from weakref import WeakValueDictionary

import orjson

from vivavoce import __version__
from vivavoce.errors import OrchestratorUnavailable
from vivavoce.intents.delivery.http import key_of, open_plain_client, read_bounded, signed
from vivavoce.logs import failure, fields
from vivavoce.runtime.people.elsewhere import Elsewhere, told
from vivavoce.runtime.ports import Clock

if TYPE_CHECKING:
    import httpx2

log = logging.getLogger(__name__)

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


def _object(body: bytes | None) -> dict[str, object] | None:
    try:
        value = orjson.loads(body or b"")
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None
