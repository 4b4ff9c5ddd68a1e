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
from collections.abc import Callable, Iterable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy.engine import make_url

from vivavoce.errors import Unavailable
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

    def take_over(self, executor_id: str) -> None:
        """Sets going here what another process left unfinished. If it lives, it loses it."""
        left = self._listed(executor_id=executor_id, status="PENDING")
        if left:
            self._dbos.resume_workflows([each.workflow_id for each in left])

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
            self._dbos.start_workflow(workflow, value)

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
    """Inside a workflow: what `do` returns, or returned when it ran the last time.

    Raises `TakenOver`.
    """
    from dbos import DBOS, error

    try:
        return DBOS.run_step({"name": name}, do)
    except (error.DBOSWorkflowConflictIDError, error.DBOSWorkflowCancelledError) as exc:
        raise TakenOver from exc


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
