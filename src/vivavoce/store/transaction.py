"""What happens inside one transaction of the writer. Knows no threads and no futures.

Writers queue up at one row, also those of other processes: what is counted here
(`limits`) is counted of everything that was written before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import groupby
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError

from vivavoce.errors import Conflict, InternalError, Unavailable, VivavoceError
from vivavoce.store import dropping
from vivavoce.store.codec.talk import Plan, event_row
from vivavoce.store.limits import LONGEST, Past, refusal
from vivavoce.store.prepared import Prepared
from vivavoce.store.queries import history, talk
from vivavoce.store.queries.history import SAID
from vivavoce.store.rows import Fields
from vivavoce.store.upserts.talk import RANK, Write, fields_of, person_fields, writes_for
from vivavoce.wire.records.plans import SessionLimits
from vivavoce.wire.records.talk import LogEvent


class Performer:
    """Writes the plans of a batch; `sender` names us to those who listen."""

    def __init__(self, dialect: str, sender: str) -> None:
        self._writes = writes_for(dialect)
        self._prepared: dict[Write | None, Prepared] = {}
        self._notify = dialect == "postgresql"
        self._sender = sender

    def perform(self, connection: Connection, plans: Sequence[Plan]) -> list[list[LogEvent]]:
        """All plans in one transaction; the announced events of each, with positions."""
        count = sum(len(plan.events) for plan in plans)
        # First of all, even with nothing to announce: writers that queue up at
        # one row in the same order cannot deadlock on the others.
        head = connection.execute(talk.ADVANCE_LOG, {"count": count}).scalar_one()
        self._write(connection, plans)
        placed = _place(plans, head - count)
        rows = [event_row(event) for events in placed for event in events]
        if rows:
            self._insert(connection, None, rows)
            if self._notify:
                message = {"channel": talk.CHANNEL, "sender": self._sender}
                connection.execute(talk.NOTIFY, message)
        return placed

    def _write(self, connection: Connection, plans: Sequence[Plan]) -> None:
        """Runs of the same write go as one executemany; the order within a table stays."""
        writes = [write for plan in plans for write in plan.writes]
        writes.sort(key=lambda write: RANK[write[0]])
        limits = {name: held for plan in plans for name, held in plan.limits.items()}
        for kind, run in groupby(writes, key=itemgetter(0)):
            rows = [row for _, row in run]
            match kind:
                case Write.NEW_SESSION:
                    for row in rows:
                        _hold(connection, row, limits.get(row["id"]))
                        self._new_session(connection, row)
                case Write.SESSION:
                    self._insert(connection, kind, rows)
                    if ended := _ended(rows):
                        connection.execute(history.DURATION, ended)
                case Write.PERSON_FIELDS:
                    for row in rows:
                        statement = person_fields(connection.dialect.name, row["only"])
                        connection.execute(statement, row["row"])
                case Write.GOAL_FIELDS | Write.MILESTONE_FIELDS | Write.TODO_FIELDS:
                    for row in rows:
                        connection.execute(fields_of(kind, row["row"], row["only"]))
                case Write.DROP_MILESTONE:
                    connection.execute(history.DROP_MILESTONE, rows)
                case Write.DROP_CONVERSATION:
                    for row in rows:
                        dropping.drop_own(connection, row)
                case Write.LINK:
                    connection.execute(history.LINK, rows)
                case Write.ENTRY | Write.ENTRY_IF_ABSENT:
                    self._insert(connection, kind, rows)
                    if spoken := _newest(rows):
                        connection.execute(history.TOUCH, spoken)
                case _:
                    self._insert(connection, kind, rows)

    def _insert(self, connection: Connection, kind: Write | None, rows: list[Fields]) -> None:
        """Rows of one kind all have the same columns; None is the log."""
        if kind not in self._prepared:
            statement = talk.APPEND_EVENTS if kind is None else self._writes[kind]
            self._prepared[kind] = Prepared(statement, list(rows[0]), connection.dialect)
        self._prepared[kind].run(connection, rows)

    def _new_session(self, connection: Connection, row: Fields) -> None:
        if connection.execute(self._writes[Write.NEW_SESSION], row).first() is None:
            raise Conflict("This session id is taken.", session_id=row["id"])
        names: dict[str, Any] = {"of": row["conversation_id"], "session_id": row["id"]}
        connection.execute(talk.NAME_VOICE_SESSION, names)


def _hold(connection: Connection, row: Fields, limits: SessionLimits | None) -> None:
    """Raises where the user has had enough."""
    if limits is None:
        return
    at = row["created_at"]
    since = at - max(LONGEST, timedelta(seconds=limits.stale_seconds))
    found = connection.execute(history.PAST, {"user_id": row["user_id"], "since": since})
    past = [Past(*each) for each in found]
    gone = connection.execute(history.PAST_DROPPED, {"user_id": row["user_id"], "since": since})
    past += [Past(conversation_id="", active=False, **each._mapping) for each in gone]
    fault = refusal(
        limits, past, at=at, conversation_id=row["conversation_id"], counted=row["counted"]
    )
    if fault is not None:
        raise fault


def _ended(rows: Sequence[Fields]) -> list[Mapping[str, Any]]:
    """The conversations of which a session is over."""
    over = {(r["conversation_id"], r["user_id"]) for r in rows if r["ended_at"] is not None}
    return [{"of": of, "owner": owner} for of, owner in sorted(over)]


def _newest(rows: Sequence[Fields]) -> list[Mapping[str, Any]]:
    """When something was last said in each conversation."""
    newest: dict[tuple[str, str], datetime] = {}
    for row in rows:
        if row["role"] in SAID:
            key = (row["conversation_id"], row["user_id"])
            newest[key] = max(newest.get(key, row["created_at"]), row["created_at"])
    return [{"of": of, "owner": owner, "at": at} for (of, owner), at in newest.items()]


def _place(plans: Sequence[Plan], before: int) -> list[list[LogEvent]]:
    """The events of each plan with the positions after `before`."""
    placed: list[list[LogEvent]] = []
    for plan in plans:
        placed.append(
            [replace(event, position=before + i) for i, event in enumerate(plan.events, 1)]
        )
        before += len(plan.events)
    return placed


def broken(error: BaseException) -> bool:
    """Did the connection die under us? The next one is new."""
    return isinstance(error, DBAPIError) and error.connection_invalidated


def lost(error: BaseException) -> bool:
    """Is there no way to the database now? Then it says nothing about what was written."""
    if not isinstance(error, DBAPIError):
        return False
    # A server that answered gives a state; a refused or broken connection has none,
    # and neither has SQLite's locked file or full disk.
    silent = isinstance(error, OperationalError) and not getattr(error.orig, "sqlstate", None)
    return broken(error) or silent


def explain(error: BaseException) -> VivavoceError:
    """What a submitter is told; the inside stays in `__cause__`."""
    if isinstance(error, VivavoceError):
        return error
    told: VivavoceError
    if lost(error):
        told = Unavailable("The store cannot be reached.")
    elif isinstance(error, IntegrityError):
        told = InternalError("The store refused a record that belongs to nothing it knows.")
    else:
        told = InternalError("The store could not do this.")
    told.__cause__ = error
    return told
