"""Events as they come and go on one connection, and what a stranger may send on it.

The package's own reader takes a header line, a `data` and a payload of any
length and waits for ever, so this is another reader of the same events.
Knows nothing of what they mean.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

import orjson
from wyoming.event import Event, Eventable, async_write_event

from vivavoce.errors import InvalidRequest
from vivavoce.wire.values import Value

T = TypeVar("T")

MAX_HEADER = 16 * 1024
_TYPE_LENGTH = 64
_BURST = 100
"""Events that are read without a look at the clock."""


class Bounds(Value):
    """Of one connection."""

    data: int = 64 * 1024
    payload: int = 512 * 1024
    """Bytes: sixteen seconds of what microphones send, and three of the richest sound."""
    event_seconds: float = 10.0
    """For the rest of an event that has begun."""
    idle_seconds: float = 60.0
    """Between events."""
    stall_seconds: float = 10.0
    """For what is written to be read."""
    events_per_second: int = 400
    """Microphones send a hundred at most. Who sends more is read no faster than this."""


class Broken(Exception):
    """The other side broke the protocol, or a limit; said in words."""


class Line:
    """One connection, either way round."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        bounds: Bounds,
    ) -> None:
        """`reader` has `MAX_HEADER` as its limit."""
        self._reader, self._writer, self._bounds = reader, writer, bounds
        self._writing = asyncio.Lock()
        self._read, self._since = 0, 0.0
        peer = writer.get_extra_info("peername")
        self.address: str = peer[0] if isinstance(peer, tuple) else "local"

    # --- In -----------------------------------------------------------------------------

    async def read(self, patience: float | None = None) -> Event | None:
        """The next event; None once the other side has hung up. Raises `Broken`, and
        `TimeoutError` if nothing comes for so long."""
        await self._steady()
        try:
            async with asyncio.timeout(patience or self._bounds.idle_seconds):
                first = await self._reader.readexactly(1)
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        try:
            async with asyncio.timeout(self._bounds.event_seconds):
                return await self._event(first)
        except TimeoutError:
            raise Broken("An event did not arrive in time.") from None
        except asyncio.LimitOverrunError:
            raise Broken(f"A header has at most {MAX_HEADER} bytes.") from None
        except (asyncio.IncompleteReadError, ConnectionError):
            return None

    async def _event(self, first: bytes) -> Event:
        header = _object(first + await self._reader.readuntil(b"\n"), "header")
        kind, data = header.get("type"), header.get("data") or {}
        if not isinstance(kind, str) or not 0 < len(kind) <= _TYPE_LENGTH:
            raise Broken("An event's type is a short string.")
        if not isinstance(data, dict):
            raise Broken("An event's data is an object.")
        if size := _length(header, "data_length", self._bounds.data):
            data = data | _object(await self._reader.readexactly(size), "data")
        payload = None
        if size := _length(header, "payload_length", self._bounds.payload):
            payload = await self._reader.readexactly(size)
        return Event(kind, data, payload)

    async def _steady(self) -> None:
        """A reader whose buffer is full never waits, and so nobody else would get a turn."""
        self._read += 1
        if self._read % _BURST == 0:
            now = asyncio.get_running_loop().time()
            due = self._since + _BURST / self._bounds.events_per_second
            self._since = max(now, due)
            await asyncio.sleep(max(0.0, due - now))

    # --- Out ----------------------------------------------------------------------------

    async def write(self, *events: Eventable) -> None:
        """Raises `Broken` where nobody reads, `ConnectionError` where nobody is there."""
        try:
            async with self._writing, asyncio.timeout(self._bounds.stall_seconds):
                for event in events:
                    await async_write_event(event.event(), self._writer)
        except TimeoutError:
            raise Broken("What is sent is not read.") from None

    async def close(self) -> None:
        """What was written is delivered if it can be; nobody waits long for it."""
        self._writer.close()
        try:
            async with asyncio.timeout(1.0):
                await self._writer.wait_closed()
        except (TimeoutError, OSError):
            self._writer.transport.abort()


def said(read: Callable[[Event], T], event: Event) -> T:
    """An event as the package reads it, which trusts that its fields are there. Raises `Broken`."""
    try:
        return read(event)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise Broken(f"An event '{event.type}' lacks what belongs to it.") from None


def words(value: object, what: str, most: int) -> str:
    """A string that somebody sent. Raises `InvalidRequest`."""
    if not isinstance(value, str) or len(value) > most:
        raise InvalidRequest(f"{what} is a string of at most {most:,} characters.", field=what)
    return value


def _object(raw: bytes, what: str) -> dict[str, Any]:
    try:
        told = orjson.loads(raw)
    except orjson.JSONDecodeError:
        raise Broken(f"The {what} of an event is not JSON.") from None
    if not isinstance(told, dict):
        raise Broken(f"The {what} of an event is not an object.")
    return told


def _length(header: dict[str, Any], name: str, most: int) -> int:
    size = header.get(name)
    if size is None:
        return 0
    if type(size) is not int or not 0 <= size <= most:
        raise Broken(f"'{name}' is a number from 0 to {most}.")
    return size
