"""How many sessions are too many, counted in the transaction that writes one more."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Any

from sqlalchemy import Connection, Select, Table, bindparam, false, func, literal, select

from vivavoce.errors import RateLimited
from vivavoce.store.rows import Fields
from vivavoce.store.schema import spent_sessions, voice_sessions
from vivavoce.wire.records.plans import NEVER_BEGAN, SessionLimits

TEN_MINUTES = timedelta(minutes=10)
LONGEST = timedelta(days=1)
WHILE_ANOTHER_RUNS = timedelta(seconds=5)  # nobody knows when it ends: ask again soon

# Without a voice it is typed, or somebody else's call that we only keep: nobody waits for it.
_ACTIVE = (
    (voice_sessions.c.status == "active")
    & voice_sessions.c.ended_at.is_(None)
    & (voice_sessions.c.voice != "")
)
OPENED = (voice_sessions.c.voice != "") & (
    func.coalesce(voice_sessions.c.end_reason, "") != NEVER_BEGAN
)


def _past(table: Table, conversation_id: Any, active: Any, opened: Any) -> Select[Any]:
    tokens = table.c.input_tokens + table.c.output_tokens
    took = (table.c.counted, tokens, table.c.cost_micros)
    return select(conversation_id, table.c.created_at, active, *took, opened).where(
        table.c.user_id == bindparam("user_id"), table.c.created_at > bindparam("since")
    )


PAST = _past(voice_sessions, voice_sessions.c.conversation_id, _ACTIVE, OPENED)
# Those of conversations that were deleted since.
PAST_DROPPED = _past(spent_sessions, literal(""), false(), spent_sessions.c.opened)


def hold(connection: Connection, row: Fields, limits: SessionLimits | None) -> None:
    """Raises where the user has had enough."""
    if limits is None:
        return
    at = row["created_at"]
    since = at - max(LONGEST, timedelta(seconds=limits.stale_seconds))
    given = {"user_id": row["user_id"], "since": since}
    past = [
        Past(*row) for query in (PAST, PAST_DROPPED) for row in connection.execute(query, given)
    ]
    fault = refusal(
        limits, past, at=at, conversation_id=row["conversation_id"], counted=row["counted"]
    )
    if fault is not None:
        raise fault


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
        if limit and (blocker := _blocking(began, limit, at - window)):
            return _refused(what, limit, blocker + window - at)
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
        ("tokens_per_day", limits.tokens_per_day, attrgetter("tokens")),
        ("cost_micros_per_day", limits.cost_micros_per_day, attrgetter("cost_micros")),
    ):
        if limit and (blocker := _blocking_amount(past, took, limit, at - LONGEST)):
            return _refused(what, limit, blocker + LONGEST - at)
    return None


def _blocking(began: Iterable[datetime], limit: int, since: datetime) -> datetime | None:
    """The one that has to leave the window before another may begin; None where one may now."""
    within = sorted((each for each in began if each > since), reverse=True)
    return within[limit - 1] if len(within) >= limit else None


def _blocking_amount(
    past: Iterable[Past], took: Callable[[Past], int], limit: int, since: datetime
) -> datetime | None:
    within = sorted((each.created_at, took(each)) for each in past if each.created_at > since)
    left = sum(amount for _, amount in within)
    if left < limit:
        return None
    for began, amount in within:
        left -= amount
        if left < limit:
            return began
    raise AssertionError("with nothing left one may begin")


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
