"""How many sessions are too many: pure, for every store alike.

Knows neither SQL nor clocks; whoever counts gives what there was.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from vivavoce.errors import RateLimited
from vivavoce.wire.records.plans import SessionLimits

TEN_MINUTES = timedelta(minutes=10)
LONGEST = timedelta(days=1)
WHILE_ANOTHER_RUNS = timedelta(seconds=5)  # nobody knows when it ends: ask again soon


@dataclass(frozen=True, slots=True)
class Past:
    """A session that was there before."""

    conversation_id: str
    created_at: datetime
    active: bool
    counted: bool
    tokens: int
    cost_micros: int
    opened: bool = False
    """Was a call offered for it? Also one that took over another cost a key."""


def refusal(
    limits: SessionLimits,
    past: Sequence[Past],
    *,
    at: datetime,
    conversation_id: str,
    counted: bool,
) -> RateLimited | None:
    """Why a session that begins at this time may not, or None. `past` is of the same user."""
    opened = [each.created_at for each in past if each.opened or each.counted]
    new = [each.created_at for each in past if each.counted]
    for what, limit, window, began in (
        # Whoever takes over his own session again and again takes no day's share, but a rate.
        ("per_10_minutes", limits.per_10_minutes, TEN_MINUTES, opened),
        ("per_day", limits.per_day if counted else 0, LONGEST, new),
    ):
        if limit and (room := _room(began, limit, at - window)):
            return _refused(what, limit, room + window - at)
    if limits.concurrent:
        fresh = at - timedelta(seconds=limits.stale_seconds)
        live = [
            each
            for each in past
            if each.active and each.conversation_id != conversation_id and each.created_at > fresh
        ]
        if len(live) >= limits.concurrent:
            return _refused("concurrent", limits.concurrent, WHILE_ANOTHER_RUNS)
    for what, limit, took in (
        ("tokens_per_day", limits.tokens_per_day, [(e.created_at, e.tokens) for e in past]),
        ("cost_micros_per_day", limits.cost_micros_per_day, _costs(past)),
    ):
        if limit and (room := _affordable(took, limit, at - LONGEST)):
            return _refused(what, limit, room + LONGEST - at)
    return None


def _costs(past: Sequence[Past]) -> list[tuple[datetime, int]]:
    return [(each.created_at, each.cost_micros) for each in past]


def _room(began: Iterable[datetime], limit: int, since: datetime) -> datetime | None:
    """The one that has to leave the window before there is room again; None where there is."""
    within = sorted((each for each in began if each > since), reverse=True)
    return within[limit - 1] if len(within) >= limit else None


def _affordable(
    took: Iterable[tuple[datetime, int]], limit: int, since: datetime
) -> datetime | None:
    within = sorted(each for each in took if each[0] > since)
    left = sum(amount for _, amount in within)
    if left < limit:
        return None
    for began, amount in within:
        left -= amount
        if left < limit:
            return began
    raise AssertionError("with nothing left there is room")


_WORDS = {
    "per_10_minutes": "That is enough new sessions for ten minutes.",
    "per_day": "That is enough sessions for one day.",
    "concurrent": "Another session is still open.",
    "tokens_per_day": "What may be said in one day has been said.",
    "cost_micros_per_day": "What may be spent in one day has been spent.",
}


def _refused(what: str, limit: int, wait: timedelta) -> RateLimited:
    milliseconds = max(1, round(wait.total_seconds() * 1000))
    return RateLimited(_WORDS[what], retry_after_ms=milliseconds, what=what, limit=limit)
