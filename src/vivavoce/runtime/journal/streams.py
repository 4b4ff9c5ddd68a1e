"""One reader of the event log: what it wants, what waits for it, how it catches up.

A `Subscription` owns a bounded queue of encoded frames and a cursor into the
log. It knows nothing of HTTP, and of the journal only the `Log` below.

Resuming after `Last-Event-ID` and falling behind are one thing here: the
queue does not continue from the cursor, so the stored log is read in pages up
to a goal while live frames gather behind it.

    live      queue continues from cursor            take() gives the queue
    lost      queue overflowed, or a resume begins   take() sets the goal
    replay    cursor < goal                          take() gives a page
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from vivavoce.errors import InvalidRequest
from vivavoce.runtime.ports import LogBounds
from vivavoce.wire.events import CATALOGUE
from vivavoce.wire.records.talk import LogEvent
from vivavoce.wire.values import Value

_PATTERN = re.compile(r"\*|[a-z_]+(\.[a-z_]+)*(\.\*)?")
_MAX_PATTERNS = 64


def encode(event: LogEvent) -> bytes:
    """The frame of seed 003 §5.1. Ephemeral events have no position, and so no id:
    the client's `Last-Event-ID` stays at the last durable one."""
    if event.position:
        return b"event: %b\ndata: %b\nid: %d\n\n" % (
            event.type.encode(),
            event.data,
            event.position,
        )
    return b"event: %b\ndata: %b\n\n" % (event.type.encode(), event.data)


Tell = Callable[[LogEvent], bytes]
"""The frame of an event in some vocabulary; empty where it has no word for it. Heartbeats and
resets, which have no position, go through it too."""


def patterns(text: str | None) -> tuple[str, ...]:
    """`tool.*,session.*` as the filter takes it (seed 003 §5.3); nothing means all."""
    parts = tuple(part.strip() for part in (text or "*").split(",") if part.strip())
    if len(parts) > _MAX_PATTERNS:
        raise InvalidRequest(f"Subscribe to at most {_MAX_PATTERNS} event types")
    for part in parts:
        if not _PATTERN.fullmatch(part):
            raise InvalidRequest(
                "An event type is a name such as tool.started, a group such as tool.*, or *",
                parameter="subscribe",
            )
        # A type that never comes would be a stream that is silent for ever.
        if not any(map(Filter("", types=(part,)).accepts, CATALOGUE)):
            raise InvalidRequest(f"There is no event '{part}'", parameter="subscribe")
    return parts or ("*",)


class Filter(Value):
    """Whose events, and which. Without a session: all sessions of the user."""

    user_id: str
    session_id: str | None = None
    types: tuple[str, ...] = ("*",)
    tell: Tell = encode
    """Another door may tell the same log in other words."""

    def accepts(self, kind: str) -> bool:
        return any(
            pattern in ("*", kind) or (pattern.endswith(".*") and kind.startswith(pattern[:-1]))
            for pattern in self.types
        )


class Log(Protocol):
    """What a subscription needs of the journal."""

    @property
    def position(self) -> int: ...
    async def bounds(self) -> LogBounds: ...
    async def page(self, only: Filter, *, after: int, upto: int) -> tuple[Sequence[LogEvent], int]:
        """Events, and the position up to which they are complete."""
        ...

    def reset(self, only: Filter, requested: int, bounds: LogBounds) -> bytes: ...
    def forget(self, subscription: Subscription) -> None: ...


class Subscription:
    """A stream of frames. `take()` until it gives nothing, then it is over."""

    def __init__(
        self, log: Log, only: Filter, *, after: int | None, follow: bool, limit: int
    ) -> None:
        self.only = only
        self.ended = asyncio.Event()
        self._over = False
        self._log = log
        self._follow = follow
        self._limit = limit
        self._everything = "*" in only.types
        self._queue: deque[bytes] = deque()
        self._waiter: asyncio.Future[None] | None = None
        # Nobody has seen position 0: who asks from there wants all that is kept.
        self._from_oldest = after == 0 or (after is None and not follow)
        self._lost = after is not None or not follow
        self._cursor = log.position if after is None else after
        self._goal = self._cursor

    @property
    def opening(self) -> bytes:
        """Comes first, so that clients know they are connected. The id without data is no
        event, but a connection that breaks before the first one resumes from here."""
        place = b"" if self._lost else b"id: %d\n" % self._cursor
        return b": connected\nretry: 2000\n" + place + b"\n"

    def wants(self, kind: str) -> bool:
        return self._everything or self.only.accepts(kind)

    def offer(self, frame: bytes) -> None:
        """Never waits: who does not keep up reads the log instead."""
        if self._lost:
            return
        if len(self._queue) >= self._limit:
            self._queue.clear()
            self._lost = True
        else:
            self._queue.append(frame)
        if self._waiter is not None:
            self._wake()

    async def take(self) -> list[bytes]:
        """Everything there is by now, at least one frame; empty at the end of the stream."""
        while not self._over:
            if self._lost:
                frames = await self._find_place()
            elif self._cursor < self._goal:
                frames = await self._replay()
            elif self._queue:
                return self._drain()
            elif self._follow:
                # Here and not in a method: this is the path of every delivery.
                self._waiter = asyncio.get_running_loop().create_future()
                await self._waiter
                continue
            else:
                self.close()
                break
            if frames:
                return frames
        return self._last_words()

    def close(self) -> None:
        """Ends the stream. What is queued can still be taken."""
        if not self._over:
            self._over = True
            self.ended.set()
            self._log.forget(self)
            self._wake()

    def _drain(self) -> list[bytes]:
        # All that was published has passed through the queue, wanted or not.
        self._cursor = self._goal = self._log.position
        frames = list(self._queue)
        self._queue.clear()
        return frames

    def _last_words(self) -> list[bytes]:
        # In the middle of a replay the queue lies beyond a gap: giving it would move the
        # client's Last-Event-ID past what it has not seen.
        behind = self._lost or self._cursor < self._goal
        frames = [] if behind else list(self._queue)
        self._queue.clear()
        return frames

    async def _find_place(self) -> list[bytes]:
        bounds = await self._log.bounds()
        # No await from here on: live frames gather from this goal, without a gap.
        self._lost = False
        self._goal = self._log.position
        if self._from_oldest:
            self._from_oldest = False
            self._cursor = bounds.oldest - 1
        if bounds.oldest - 1 <= self._cursor <= self._goal:
            return []
        return self._start_anew(bounds)

    async def _replay(self) -> list[bytes]:
        events, complete = await self._log.page(self.only, after=self._cursor, upto=self._goal)
        bounds = await self._log.bounds()
        if self._cursor < bounds.oldest - 1:  # swept away while this reader was at it
            return self._start_anew(bounds)
        self._cursor = complete
        told = (self.only.tell(event) for event in events if self.wants(event.type))
        return [frame for frame in told if frame]

    def _start_anew(self, bounds: LogBounds) -> list[bytes]:
        requested, self._cursor = self._cursor, self._goal
        latest = LogBounds(oldest=bounds.oldest, latest=self._goal)
        return [self._log.reset(self.only, requested, latest)]

    def _wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)
