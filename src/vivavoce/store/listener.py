"""Hears when another process has appended to the log: LISTEN on PostgreSQL.

A thread with a connection of its own, which comes back after a loss. It only
says "look": what is new is a query of the log. Knows nothing of events.
"""

from __future__ import annotations

import logging
import selectors
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from sqlalchemy import Connection, Engine, select, text

from vivavoce.store.schema import log_head
from vivavoce.store.transaction import CHANNEL

if TYPE_CHECKING:
    from psycopg import Connection as Driver

LISTEN = text(f"LISTEN {CHANNEL}")
LOG_POSITION = select(log_head.c.position)

log = logging.getLogger(__name__)


class CommitListener:
    """`wake` is called in the thread; notifications of `own` are not for us."""

    def __init__(self, engine: Engine, own: str, wake: Callable[[], None], poll: float) -> None:
        self._engine = engine
        self._own = own
        self._wake = wake
        self._poll = poll
        self._stopped, self._stop = socket.socketpair()
        self._thread = threading.Thread(target=self._run, name="store-listener", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Returns at once; the thread ends soon after."""
        with suppress(OSError):  # stopped before
            self._stop.send(b".")

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def join(self) -> None:
        self._thread.join()

    def _run(self) -> None:
        with selectors.DefaultSelector() as pause:
            pause.register(self._stopped, selectors.EVENT_READ)
            while True:
                try:
                    with self._engine.connect() as connection:
                        self._listen(connection)
                except Exception as error:  # the thread's boundary: come back whatever it was
                    fields = {"error": type(error).__name__}
                    log.warning("lost the store's notifications; reconnecting", extra=fields)
                if pause.select(self._poll):
                    break
        self._stopped.close()
        self._stop.close()

    def _listen(self, connection: Connection) -> None:
        """Until told to stop, or until the connection is lost."""
        connection.execute(LISTEN)
        seen = connection.execute(LOG_POSITION).scalar_one()
        self._wake()  # something may have happened before we listened
        driver = cast("Driver[Any]", connection.connection.dbapi_connection)
        with selectors.DefaultSelector() as ready:
            ready.register(driver.fileno(), selectors.EVENT_READ)
            ready.register(self._stopped, selectors.EVENT_READ)
            while True:
                found = [key.fileobj for key, _ in ready.select(self._poll)]
                if self._stopped in found:
                    return
                if found:
                    if self._foreign(driver):
                        self._wake()
                    continue
                # Now and then look for ourselves: a proxy may swallow notifications.
                head = connection.execute(LOG_POSITION).scalar_one()
                if head != seen:
                    seen = head
                    self._wake()

    def _foreign(self, driver: Driver[Any]) -> bool:
        """Take in what has arrived. True when any of it comes from another process."""
        driver.pgconn.consume_input()
        foreign = False
        while (notice := driver.pgconn.notifies()) is not None:
            foreign = foreign or notice.extra.decode() != self._own
        return foreign
