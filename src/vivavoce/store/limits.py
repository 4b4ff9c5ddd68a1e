"""How many sessions are too many, counted in the transaction that writes one more; and how much
of anything one user may have, counted when it is written.

What a user has stored is summed up by triggers of the database, so that it is right whoever
writes or deletes: reading it is reading one row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from operator import attrgetter
from typing import Any

from sqlalchemy import Connection, Select, Table, bindparam, false, func, literal, select

from vivavoce.errors import Forbidden, PayloadTooLarge, RateLimited, VivavoceError
from vivavoce.store.rows import Fields
from vivavoce.store.schema import (
    approvals,
    conversations,
    delegated_tasks,
    goals,
    intents,
    messages,
    milestones,
    reminders,
    spent_sessions,
    stored,
    tasks,
    tool_calls,
    voice_sessions,
)
from vivavoce.wire.records.plans import NEVER_BEGAN, SessionLimits
from vivavoce.wire.records.talk import Within
from vivavoce.wire.records.work import at_least

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
    if limits.one_of_many and not all(
        at_least(row["role"], its) for its in connection.execute(LED, row).scalars()
    ):
        told = "This conversation was led with a higher role meanwhile."
        raise Forbidden(told, role=row["role"])
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


LED = (
    select(voice_sessions.c.role)
    .distinct()
    .where(
        voice_sessions.c.conversation_id
        == bindparam("conversation_id", type_=voice_sessions.c.conversation_id.type)
    )
)


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
    words = _WORDS[what]
    if what == "concurrent" and limit > 1:
        words = f"{limit} sessions are open, as many as one user may have."
    return RateLimited(words, retry_after_ms=milliseconds, what=what, limit=limit)


# --- How much of anything ---------------------------------------------------------------

MEGABYTE = 1_000_000
ROW_BYTES = 200
"""Of a row with nothing in it: its ids, times and places in indexes."""

_mine: Any = bindparam("user_id")
STORED = select(stored.c.bytes).where(stored.c.user_id == _mine)


def _more_than(table: Table, *conditions: Any) -> Select[Any]:
    """Is there one behind the last that may be? Never reads more than these."""
    there = select(literal(1)).select_from(table).where(table.c.user_id == _mine, *conditions)
    return there.offset(bindparam("most")).limit(1)


CONVERSATIONS = _more_than(conversations)
_latest = approvals.alias("latest")
# One that has lapsed by the time of the latest was left by a server that is gone.
WAITING = _more_than(
    approvals,
    approvals.c.status == "pending",
    approvals.c.expires_at
    > select(func.max(_latest.c.requested_at))
    .where(_latest.c.user_id == _mine, _latest.c.status == "pending")
    .scalar_subquery(),
)


def check(connection: Connection, held: Within) -> None:
    """Raises where the user has more than that."""

    def there(query: Select[Any], most: int) -> bool:
        given = {"user_id": held.user_id, "most": most}
        return most > 0 and connection.execute(query, given).first() is not None

    fault: VivavoceError | None = None
    if there(CONVERSATIONS, held.conversations):
        words = f"You have {held.conversations} conversations, as many as one user may have."
        words += " Delete some to begin others."
        fault = RateLimited(words, what="conversations", limit=held.conversations)
    elif there(WAITING, held.approvals):
        words = f"{held.approvals} questions wait for a yes already. Answer some of them first."
        fault = RateLimited(words, what="approvals", limit=held.approvals, retry_after_ms=5000)
    elif held.megabytes:
        taken = connection.execute(STORED, {"user_id": held.user_id}).scalar() or 0
        if taken > held.megabytes * MEGABYTE:
            words = f"What you may have stored is {held.megabytes} megabytes, and that is taken."
            words += " Delete conversations to make room."
            fault = PayloadTooLarge(words, what="megabytes", limit=held.megabytes)
    if fault is not None:
        raise fault


_COUNTED: dict[Table, tuple[str, ...]] = {
    messages: ("content", "metadata"),
    tool_calls: ("arguments", "output"),
    conversations: ("title", "summary", "metadata", "gist"),
    goals: ("statement", "timeline", "context_notes"),
    milestones: ("title",),
    tasks: ("title", "scheduled_words", "recurrence_words", "location_trigger", "reason"),
    reminders: ("title",),
    intents: ("payload", "evidence", "error", "previous"),
    delegated_tasks: ("title", "description", "result", "error", "tried", "suggestions"),
}


def install(connection: Connection) -> None:
    """The triggers that keep `stored`. Change what they count, and a migration has to count anew
    in the databases there are (`count_anew`); the one before needs to do so no more."""
    postgres = connection.dialect.name == "postgresql"
    for table, columns in _COUNTED.items():
        for statement in (_postgres if postgres else _sqlite)(table.name, columns):
            connection.exec_driver_sql(statement)


def count(connection: Connection) -> None:
    """Into `stored`, which is empty: what is there already."""
    postgres = connection.dialect.name == "postgresql"
    sizes = {t.name: _size(t.name, c, postgres=postgres) for t, c in _COUNTED.items()}
    each = " UNION ALL ".join(
        f"SELECT user_id, {size} AS bytes FROM {name}"  # noqa: S608
        for name, size in sizes.items()
    )
    total = f"SELECT user_id, sum(bytes) FROM ({each}) AS rows_of GROUP BY user_id"  # noqa: S608
    connection.exec_driver_sql(f"INSERT INTO stored (user_id, bytes) {total}")


def count_anew(connection: Connection) -> None:
    """Where other triggers were, or none."""
    run = connection.exec_driver_sql
    for table in _COUNTED:
        if connection.dialect.name == "postgresql":
            run(f"DROP FUNCTION IF EXISTS vivavoce_stored_{table.name}() CASCADE")
            continue
        for name in ("stored", "stored_anew", "not_stored"):
            run(f"DROP TRIGGER IF EXISTS {table.name}_{name}")
    run("DELETE FROM stored")
    count(connection)
    install(connection)


def _size(row: str, columns: Sequence[str], *, postgres: bool) -> str:
    size = "octet_length({}::text)" if postgres else "length(CAST({} AS BLOB))"
    sizes = (f"coalesce({size.format(f'{row}.{column}')}, 0)" for column in columns)
    return " + ".join((str(ROW_BYTES), *sizes))


def _sqlite(table: str, columns: Sequence[str]) -> Iterable[str]:
    size = partial(_size, columns=columns, postgres=False)
    change = "UPDATE stored SET bytes = bytes"
    yield f"""CREATE TRIGGER {table}_stored AFTER INSERT ON {table} BEGIN
    INSERT INTO stored (user_id, bytes) VALUES (new.user_id, {size("new")})
    ON CONFLICT (user_id) DO UPDATE SET bytes = bytes + excluded.bytes;
    END"""  # noqa: S608 # names of ours
    yield f"""CREATE TRIGGER {table}_stored_anew AFTER UPDATE OF {", ".join(columns)} ON {table}
    BEGIN {change} + ({size("new")}) - ({size("old")}) WHERE user_id = new.user_id; END"""
    yield f"""CREATE TRIGGER {table}_not_stored AFTER DELETE ON {table} BEGIN
    {change} - ({size("old")}) WHERE user_id = old.user_id;
    DELETE FROM stored WHERE user_id = old.user_id AND bytes <= 0;
    END"""  # noqa: S608


def _postgres(table: str, columns: Sequence[str]) -> Iterable[str]:
    size = partial(_size, columns=columns, postgres=True)
    # As its owner: whoever writes past the server (`migrate.ACCESS`) may not write to `stored`.
    yield f"""CREATE FUNCTION vivavoce_stored_{table}() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path FROM CURRENT AS $$
    BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO stored (user_id, bytes) VALUES (new.user_id, {size("new")})
        ON CONFLICT (user_id) DO UPDATE SET bytes = stored.bytes + excluded.bytes;
    ELSIF TG_OP = 'UPDATE' THEN
        UPDATE stored SET bytes = bytes + ({size("new")}) - ({size("old")})
        WHERE user_id = new.user_id;
    ELSE
        UPDATE stored SET bytes = bytes - ({size("old")}) WHERE user_id = old.user_id;
        DELETE FROM stored WHERE user_id = old.user_id AND bytes <= 0;
    END IF;
    RETURN NULL;
    END $$"""  # noqa: S608
    yield f"""CREATE TRIGGER {table}_stored AFTER INSERT OR DELETE OR UPDATE OF
    {", ".join(columns)} ON {table} FOR EACH ROW EXECUTE FUNCTION vivavoce_stored_{table}()"""
