"""How often something may be done: a sliding window a key, in bounded memory; and what one user
may have of what all share.

Pure but for the clock. Who the key stands for (a user, a session, an address)
is the caller's business. What has to hold at several servers is counted by the store.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter, OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from vivavoce.errors import RateLimited
from vivavoce.runtime.ports import Clock
from vivavoce.wire.records.plans import SessionLimits
from vivavoce.wire.records.talk import Within
from vivavoce.wire.values import Value


class Shares(Value):
    """Of one user; 0 is no limit."""

    streams: int = 0
    sessions: int = 0
    seats: int = 0
    conversations: int = 0
    megabytes: int = 0
    syncs_per_minute: int = 0
    messages_per_minute: int = 30
    changes_per_minute: int = 0
    calls: int = 0
    reads: int = 0
    approvals: int = 20

    def of_sessions(self, limits: SessionLimits) -> SessionLimits:
        """An agent's limits, with our own number at once where that is less."""
        at_once = [most for most in (limits.concurrent, self.sessions) if most]
        return replace(limits, concurrent=min(at_once, default=0))

    def more(self, user_id: str, *, conversation: bool = False) -> list[Within]:
        """For a commit by which this user has more stored, maybe a conversation."""
        conversations = self.conversations if conversation else 0
        if not conversations and not self.megabytes:
            return []
        return [Within(user_id, conversations=conversations, megabytes=self.megabytes)]


class AtOnce:
    """At most `limit` of one key at a time; a limit of 0 allows everything."""

    def __init__(self, limit: int, *, what: str) -> None:
        self.limit, self._what = limit, what
        self._held = Counter[str]()

    def take(self, key: str) -> None:
        """Until `give`. Raises `RateLimited`."""
        if 0 < self.limit <= self._held[key]:
            raise RateLimited(
                f"{self.limit} {self._what} of yours are under way, as many as one user may have.",
                what=self._what,
                limit=self.limit,
                retry_after_ms=1000,
            )
        self._held[key] += 1

    def give(self, key: str) -> None:
        self._held[key] -= 1
        if self._held[key] <= 0:
            del self._held[key]

    @contextmanager
    def held(self, key: str) -> Iterator[None]:
        self.take(key)
        try:
            yield
        finally:
            self.give(key)


class Window:
    """At most `limit` times in any `seconds`; a limit of 0 allows everything.

    Exact: the time of each use is kept while it counts. Keys whose uses have
    all lapsed go first when there are too many, then those unused longest.
    """

    def __init__(
        self,
        limit: int,
        seconds: float,
        *,
        clock: Clock,
        what: str = "requests",
        max_keys: int = 10_000,
    ) -> None:
        self.limit = limit
        self.seconds = seconds
        self._clock = clock
        self._what = what
        self._max_keys = max_keys
        self._uses: OrderedDict[str, list[float]] = OrderedDict()

    def check(self, key: str, *, counts: bool = True) -> None:
        """Counts a use, or raises `RateLimited`. What is refused does not count."""
        if self.limit <= 0:
            return
        now = self._clock.monotonic()
        uses = self._current(key, now)
        if len(uses) >= self.limit:
            wait = max(1, math.ceil((uses[0] + self.seconds - now) * 1000))
            raise RateLimited(
                f"Too many {self._what}: at most {self.limit} in {self.seconds:g} seconds",
                retry_after_ms=wait,
                limit=self.limit,
            )
        if not counts:
            return
        uses.append(now)
        self._uses[key] = uses
        self._uses.move_to_end(key)
        if len(self._uses) > self._max_keys:
            self._make_room(now)

    def __len__(self) -> int:
        return len(self._uses)

    def _current(self, key: str, now: float) -> list[float]:
        uses = self._uses.get(key)
        if uses is None:
            return []
        del uses[: bisect_right(uses, now - self.seconds)]
        if not uses:
            del self._uses[key]
        return uses

    def _make_room(self, now: float) -> None:
        # Ordered by last use, so the lapsed ones are all in front.
        while self._uses:
            key, uses = next(iter(self._uses.items()))
            if uses[-1] > now - self.seconds and len(self._uses) <= self._max_keys:
                return
            del self._uses[key]


class Pace:
    """So much of one key in a second, and so much more at once. Nothing is refused: whoever has had
    more waits, the longer the more it was."""

    def __init__(
        self, a_second: float, at_once: float, *, clock: Clock, max_keys: int = 10_000
    ) -> None:
        self._rate, self._most, self._clock = a_second, at_once, clock
        self._max_keys = max_keys
        self._full: OrderedDict[str, float] = OrderedDict()
        """When all of it may be had again."""

    def take(self, key: str, amount: float) -> float:
        """Counts it; the seconds that are to be waited now."""
        now = self._clock.monotonic()
        full = max(now, self._full.pop(key, now)) + amount / self._rate
        self._full[key] = full
        while len(self._full) > self._max_keys:
            self._full.popitem(last=False)
        return max(0.0, full - now - self._most / self._rate)

    def __len__(self) -> int:
        return len(self._full)
