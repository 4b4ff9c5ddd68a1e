"""Which servers are there, and what each looks after: joining, staying, leaving, and claiming what
nobody looks after any more.

A server holds one lease, that of its name, and not one for each session: staying is one row every
few seconds, however many sessions there are. Whoever claims from a server whose lease has run out
first ends that server's life: from then on its writes are refused (`transaction.fence`), so that
nothing is looked after by two. All of it happens under the lock that every writer takes first, and
by the database's clock: those of the servers may differ.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, TypeVar

import sqlalchemy as sa

from vivavoce.runtime.ports import Asked, Claimed, InstanceSeen
from vivavoce.store import rows
from vivavoce.store.changes import inserter
from vivavoce.store.schema import (
    OVER,
    approvals,
    asks,
    delegated_tasks,
    instances,
    voice_sessions,
)
from vivavoce.store.transaction import Held, fence

FOR_EVER = datetime(9999, 1, 1, tzinfo=UTC)

R = TypeVar("R")
Job = Callable[[sa.Connection], R]

_held = instances.alias("held")


def _is_held(table: sa.Table) -> sa.ColumnElement[bool]:
    """Is the life that looks after the row still going on?"""
    return sa.exists().where(
        _held.c.name == table.c.owner,
        _held.c.epoch == table.c.epoch,
        _held.c.lease_until.is_not(None),
    )


_OPEN = {
    voice_sessions: voice_sessions.c.status == "active",
    delegated_tasks: delegated_tasks.c.status.not_in(OVER),
    approvals: approvals.c.status == "pending",
}
LEFT = {table: (goes_on, ~_is_held(table)) for table, goes_on in _OPEN.items()}

_clock = sa.bindparam("now", type_=instances.c.started_at.type)


@cache
def looks(dialect: str) -> sa.Select[Any]:
    """A row, where there is anything to claim; `now` is a file's only clock. Asked often, and
    without the writers' lock."""
    now = sa.func.clock_timestamp() if dialect == "postgresql" else _clock
    late = sa.exists().where(_late(now))
    left = [sa.exists().where(*conditions) for conditions in LEFT.values()]
    return sa.select(sa.literal(1).label("found")).where(sa.or_(late, *left))


def lying(table: sa.Table) -> sa.Select[Any]:
    return sa.select(table).where(*LEFT[table]).order_by(table.c.id)


IS_THERE = sa.select(instances.c.lease_until).where(
    instances.c.name == sa.bindparam("name"), instances.c.epoch == sa.bindparam("epoch")
)


def join(name: str, lease: timedelta | None) -> Job[int]:
    """The epoch of a new life of this name; 0 where one goes on. Without an end to the lease there
    is nobody else, and never will be: what any other left is left."""

    def step(connection: sa.Connection) -> int:
        now = _now(connection)
        known = connection.execute(
            sa.select(instances.c.epoch, instances.c.lease_until).where(instances.c.name == name)
        ).first()
        if lease is None:
            connection.execute(sa.update(instances).values(lease_until=None))
        elif known is not None and known.lease_until is not None and known.lease_until > now:
            return 0
        epoch = 1 if known is None else known.epoch + 1
        until = FOR_EVER if lease is None else now + lease
        new = {"epoch": epoch, "lease_until": until, "started_at": now}
        make = inserter(connection.dialect.name)(instances).values(name=name, **new)
        connection.execute(make.on_conflict_do_update(index_elements=["name"], set_=new))
        return int(epoch)

    return step


def renew(held: Held, lease: timedelta) -> Job[int]:
    """None are written where another has ended this life."""

    def step(connection: sa.Connection) -> int:
        until = {"lease_until": _now(connection) + lease}
        goes_on = instances.c.lease_until.is_not(None)
        return connection.execute(_life(held).where(goes_on).values(until)).rowcount

    return step


def leave(held: Held) -> Job[int]:
    """What it still looked after is anybody's, and nothing more is written in its name."""
    return lambda connection: (
        connection.execute(_life(held).values(lease_until=None, epoch=held.epoch + 1)).rowcount
    )


def release(held: Held, session_id: str) -> Job[int]:
    """One session: another may have it at once."""
    mine = (voice_sessions.c.owner == held.name, voice_sessions.c.epoch == held.epoch)
    let_go = sa.update(voice_sessions).values(owner=None, epoch=None)
    this = let_go.where(voice_sessions.c.id == session_id, *mine)
    return lambda connection: connection.execute(this).rowcount


def own_task(held: Held, task_id: str) -> Job[int]:
    """It is this life that carries it out now."""
    this = sa.update(delegated_tasks).where(delegated_tasks.c.id == task_id)

    def step(connection: sa.Connection) -> int:
        fence(connection, held)
        return connection.execute(this.values(owner=held.name, epoch=held.epoch)).rowcount

    return step


def claim(held: Held, limit: int) -> Job[Claimed]:
    """At most so many of each kind, so that several who look at the same time share them."""

    def step(connection: sa.Connection) -> Claimed:
        fence(connection, held)
        gone = _end_late(connection)
        return Claimed(
            gone=gone,
            sessions=_take(connection, voice_sessions, rows.SESSIONS, held, limit),
            tasks=_take(connection, delegated_tasks, rows.TASKS, held, limit),
            approvals=_take(connection, approvals, rows.APPROVALS, held, limit),
        )

    return step


def _end_late(connection: sa.Connection) -> tuple[str, ...]:
    """Ends the lives whose lease has run out: whoever was only slow is refused from now on."""
    late = sa.select(instances.c.name).where(_late(_now(connection)))
    names = list(connection.execute(late.with_for_update(skip_locked=True)).scalars())
    over = {"lease_until": None, "epoch": instances.c.epoch + 1}
    if names:
        connection.execute(sa.update(instances).where(instances.c.name.in_(names)).values(over))
    return tuple(names)


def _take(
    connection: sa.Connection, table: sa.Table, of: rows.Rows[R], held: Held, limit: int
) -> tuple[R, ...]:
    """As they were, with the one who left them as their owner; ours from now on. What somebody
    else is at (past the server, since servers queue up) is left for the next look."""
    left = lying(table).limit(limit)
    found = connection.execute(left.with_for_update(skip_locked=True)).all()
    if found:
        ids = [row.id for row in found]
        ours = {"owner": held.name, "epoch": held.epoch}
        connection.execute(sa.update(table).where(table.c.id.in_(ids)).values(ours))
    return tuple(of.record(row) for row in found)


# --- What one asks another ----------------------------------------------------------

WAITING_FOR_US = (
    sa.select(asks)
    .where(
        asks.c.owner == sa.bindparam("name"),
        asks.c.epoch == sa.bindparam("epoch"),
        asks.c.answer.is_(None),
    )
    .order_by(asks.c.asked_at)
    .limit(50)
)
ANSWERED = sa.select(asks).where(asks.c.id == sa.bindparam("id"), asks.c.answer.is_not(None))
FORGOTTEN = timedelta(minutes=2)
"""Nobody waits for an answer so long: whoever asked is gone."""


def ask(asked: Asked) -> Job[None]:
    def step(connection: sa.Connection) -> None:
        now = _now(connection)
        connection.execute(sa.delete(asks).where(asks.c.asked_at < now - FORGOTTEN))
        row = {name: getattr(asked, name) for name in ("id", "user_id", "owner", "epoch", "what")}
        row |= {"given": asked.given, "plain": asked.plain, "asked_at": now}
        connection.execute(sa.insert(asks).values(row))

    return step


def answer(held: Held, ask_id: str, answer: str, plain: str) -> Job[None]:
    def step(connection: sa.Connection) -> None:
        fence(connection, held)
        mine = (asks.c.id == ask_id, asks.c.owner == held.name)
        connection.execute(sa.update(asks).where(*mine).values(answer=answer, plain=plain))

    return step


def drop_ask(ask_id: str) -> Job[None]:
    def step(connection: sa.Connection) -> None:
        connection.execute(sa.delete(asks).where(asks.c.id == ask_id))

    return step


def read_ask(row: sa.Row[Any]) -> Asked:
    found = row._mapping
    return Asked(
        **{name: found[name] for name in ("id", "user_id", "owner", "epoch", "what", "given")},
        plain=found["plain"],
        answer=found["answer"],
    )


EVERY = sa.select(instances).order_by(instances.c.name)


def seen(row: sa.Row[Any]) -> InstanceSeen:
    return InstanceSeen(row.name, row.epoch, row.lease_until)


def _life(held: Held) -> sa.Update:
    mine = (instances.c.name == held.name, instances.c.epoch == held.epoch)
    return sa.update(instances).where(*mine)


def _late(now: Any) -> sa.ColumnElement[bool]:
    return sa.and_(instances.c.lease_until.is_not(None), instances.c.lease_until <= now)


def _now(connection: sa.Connection) -> datetime:
    """Not that of the transaction's beginning: it may have waited since."""
    if connection.dialect.name != "postgresql":
        return datetime.now(UTC)
    now: datetime = connection.execute(sa.select(sa.func.clock_timestamp())).scalar_one()
    return now
