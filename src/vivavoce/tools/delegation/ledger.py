"""DBOS, and everything this house asks of it: workflows, their steps, and notes beside them.

Knows no task, backend or event loop: all of it blocks, and belongs into
threads. DBOS is one per process, and half a second to import, so it is
imported when a ledger opens.

A *note* is a value that is written once, under an id, and can be read at any
time: an answer, a cancellation. It is a workflow that only has its input, since
DBOS's own messages cannot be looked at without taking them.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.engine import URL, make_url

from vivavoce.errors import Unavailable
from vivavoce.language.en.numbers import redact_encoded
from vivavoce.wire.values import Value

if TYPE_CHECKING:
    from dbos import DBOS, DBOSConfig, WorkflowStatus

VERSION = "1"
"""Of the order of our own steps. DBOS's default is a hash of the source: then every release would
leave behind what the one before it began."""
SCHEMA = "vivavoce_tasks"
KEPT = timedelta(days=7)
"""How long what is over stays known, so that the same id is not begun again."""

_CARRY = "vivavoce.task"
_NOTE = "vivavoce.note"
_LIVE = frozenset({"PENDING", "ENQUEUED", "DELAYED"})
_JOIN_SECONDS = 5.0
_LEAVE_SECONDS = 3.0
_RECENT = 64
_WORKFLOW = "workflow_uuid"
_BUSY_MS = 10_000
_only_one = threading.Lock()


class Stopped(BaseException):
    """The process ends, the work does not: leaves a workflow so that it goes on next time.

    Not an `Exception`, which DBOS would record as how the workflow ended.
    """


class TakenOver(Stopped):
    """Another process has the workflow now."""


class Seen(Value):
    """What is recorded of a workflow."""

    live: bool
    steps: int
    """How many are finished."""
    attempts: int
    """How often it was set going, the first time included."""


class Ledger:
    """One open DBOS. Every method blocks."""

    def __init__(self, url: str, *, executor_id: str, carry: Callable[[str], str]) -> None:
        """`carry` is the workflow: it takes the order it was begun with, on a thread of its own."""
        self._url = make_url(url)
        # A file is one server's: whoever opens it goes on with everything in it.
        self._executor_id = executor_id if self.shared else "file"
        self._carry = carry
        self._dbos: type[DBOS]
        self._begin: Callable[[str], str] = carry
        self._note: Callable[[str], None] = _nothing()
        self._leaving: deque[str] = deque(maxlen=_RECENT)

    @property
    def shared(self) -> bool:
        """Whether other processes may write to it too."""
        return self._url.get_backend_name() != "sqlite"

    def open(self) -> None:
        """Also sets going again what this executor left unfinished."""
        from dbos import DBOS

        if not _only_one.acquire(blocking=False):
            raise Unavailable("delegated work is carried by another server in this process")
        self._dbos = DBOS
        try:
            self._launch()
        except BaseException:
            self._destroy()
            _only_one.release()
            raise

    def close(self) -> None:
        """No thread of it is left behind."""
        try:
            self._let_leave()
            self._destroy()
        finally:
            _only_one.release()

    def start(self, id_: str, order: str) -> None:
        """Recorded when this returns. An id that is known stays as it is."""
        self._start(id_, self._begin, order)

    def kept(self, ids: Sequence[str]) -> list[dict[str, Any]]:
        return list(kept(self._url, ids))

    def forget(self, ids: Sequence[str]) -> None:
        """Everything of these workflows, which are over, and their notes."""
        if _only_one.locked():
            self._let_leave()
        forget(self._url, ids)

    def resume(self, id_: str) -> bool:
        """Sets going here what another process left unfinished; if it lives, it loses it. What was
        this one's own before a restart goes on by itself. False where it was never begun."""
        found = self._listed(workflow_ids=[id_])
        if found and found[0].status == "PENDING" and found[0].executor_id != self._executor_id:
            self._dbos.resume_workflow(id_)
        return bool(found)

    def see(self, id_: str) -> Seen | None:
        found = self._listed(workflow_ids=[id_])
        if not found:
            return None
        live = found[0].status in _LIVE
        steps = len(self._dbos.list_workflow_steps(id_, load_output=False)) if live else 0
        return Seen(live, steps, found[0].recovery_attempts or 0)

    def _listed(self, **which: Any) -> list[WorkflowStatus]:
        return self._dbos.list_workflows(load_input=False, load_output=False, **which)

    def note(self, id_: str, value: str) -> None:
        """The first under an id stays."""
        self._start(id_, self._note, value)

    def _start(self, id_: str, workflow: Callable[[str], object], value: str) -> None:
        from dbos import SetWorkflowID

        with SetWorkflowID(id_):
            self._dbos.start_workflow(workflow, redact_encoded(value))

    def notes(self, ids: Iterable[str]) -> dict[str, str]:
        """Those that are written."""
        wanted = list(ids)
        if not wanted:
            return {}
        found = self._dbos.list_workflows(workflow_ids=wanted, load_output=False)
        return {each.workflow_id: str(each.input["args"][0]) for each in found if each.input}

    def _launch(self) -> None:
        from dbos import DBOSPortableJSONSerializer

        if not self.shared:
            _prepare(self._url.database)
        # Without a handler of its own it would make one, and our logging never hear of it.
        logging.getLogger("dbos").addHandler(logging.NullHandler())
        config: DBOSConfig = {
            "name": "vivavoce",
            "system_database_url": self._url.render_as_string(hide_password=False),
            "dbos_system_schema": SCHEMA,
            "executor_id": self._executor_id,
            "application_version": VERSION,
            "serializer": DBOSPortableJSONSerializer(),  # the default is pickle
            "log_level": "WARNING",
            "sys_db_pool_size": 8,
            # We use none of its messages: no connection that listens, and few looks.
            "use_listen_notify": False,
            "notification_listener_polling_interval_sec": 0.2,
        }
        self._dbos(config=config)

        def carry(order: str) -> str:  # a new one each time: DBOS leaves its marks on it
            end = self._carry(order)
            self._leaving.append(str(self._dbos.workflow_id))
            return end

        self._begin = self._dbos.workflow(name=_CARRY, max_recovery_attempts=None)(carry)
        self._note = self._dbos.workflow(name=_NOTE, max_recovery_attempts=None)(_nothing())
        self._dbos.launch()
        self._forget_old()

    def _let_leave(self) -> None:
        """DBOS writes down the end after the workflow returned: not to be cut off there."""
        until = time.monotonic() + _LEAVE_SECONDS
        recent = list(self._leaving)
        while recent and time.monotonic() < until:
            left = self._listed(workflow_ids=recent, status="PENDING")
            recent = [each.workflow_id for each in left]
            if recent:
                time.sleep(0.01)

    def _forget_old(self) -> None:
        before = (datetime.now(UTC) - KEPT).isoformat()
        over = ["SUCCESS", "ERROR", "CANCELLED"]
        old = self._listed(status=over, completed_before=before, limit=10_000)
        if old:
            self._dbos.delete_workflows([each.workflow_id for each in old])

    def _destroy(self) -> None:
        self._dbos.destroy(destroy_registry=True)
        for thread in threading.enumerate():
            # It only tells them to end.
            if thread.name.startswith(("dbos-executor-", "queue-worker-")):
                thread.join(_JOIN_SECONDS)


def run_step(name: str, do: Callable[[], str]) -> str:
    """Inside a workflow: what `do` returns, or returned when it ran the last time, but for the
    secrets in it: these are not kept.

    Raises `TakenOver`.
    """
    from dbos import DBOS, error

    fresh: list[str] = []

    def kept() -> str:
        fresh.append(do())
        return redact_encoded(fresh[0])

    try:
        recorded = DBOS.run_step({"name": name}, kept)
        return fresh[0] if fresh else recorded
    except (error.DBOSWorkflowConflictIDError, error.DBOSWorkflowCancelledError) as exc:
        raise TakenOver from exc


# --- What is kept of somebody: also where no DBOS is open -----------------------------------
# By its tables, which we know: opening it would set going what was left unfinished.


def kept(url: str | URL, ids: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The rows of these workflows and of their notes, each with the name of its table."""
    with _tables(url) as (connection, tables):
        if connection is None:
            return
        for table in tables:
            for some in _some(ids):
                for row in connection.execute(sa.select(table).where(_of(table, some))).mappings():
                    yield {"table": table.name, **{str(name): row[name] for name in row}}


def forget(url: str | URL, ids: Sequence[str]) -> None:
    """Out of the file as well, where it is one."""
    with _tables(url) as (connection, tables):
        if connection is None or not ids:
            return
        for table in reversed(tables):
            for some in _some(ids):
                connection.execute(sa.delete(table).where(_of(table, some)))
        connection.commit()
        if connection.dialect.name == "sqlite":
            driver = connection.connection.driver_connection
            assert driver is not None
            driver.isolation_level = None
            driver.execute("VACUUM")  # DBOS's own connections leave what they delete in the file
            driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


@contextmanager
def _tables(url: str | URL) -> Iterator[tuple[sa.Connection | None, list[sa.Table]]]:
    """None where nothing was ever delegated."""
    where = make_url(url)
    file = where.get_backend_name() == "sqlite"
    if file and not Path(str(where.database)).exists():
        yield None, []
        return
    if not file:
        where = where.set(drivername="postgresql+psycopg")
    engine = sa.create_engine(where, poolclass=sa.NullPool, hide_parameters=True)
    try:
        found = sa.MetaData()
        found.reflect(engine, schema=None if file else SCHEMA)
        tables = [t for t in found.sorted_tables if _WORKFLOW in t.c]
        with engine.connect() as connection:
            if file:
                connection.exec_driver_sql(f"PRAGMA busy_timeout = {_BUSY_MS}")
                connection.exec_driver_sql("PRAGMA secure_delete = ON")
            yield connection, tables
    finally:
        engine.dispose()


def _some(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    for begin in range(0, len(ids), 100):
        yield ids[begin : begin + 100]


def _of(table: sa.Table, ids: Sequence[str]) -> sa.ColumnElement[bool]:
    """Notes have the name of their task before their own."""
    name = table.c[_WORKFLOW]
    notes = (f"{each}{mark}" for each in ids for mark in ":/")
    return sa.or_(name.in_(ids), *(name.startswith(note, autoescape=True) for note in notes))


def _nothing() -> Callable[[str], None]:
    def note(value: str) -> None:
        """A note is its input."""

    return note


def _prepare(database: str | None) -> None:
    """The file holds what people asked for: it is theirs only. With a write-ahead log a step
    costs one wait for the disk, not three."""
    if not database:
        raise ValueError("delegated work needs a file: in memory it would not outlive the process")
    path = Path(database)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
