"""Carries delegated work through crashes: each task is a DBOS workflow, each message a step.

Backends and listener run on the loop that entered `running`; DBOS keeps to its
own threads, one for each task under way. What a backend does and what becomes
of its words is none of this room's business.
"""

from __future__ import annotations

import asyncio
import contextvars
import json
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import asdict, fields

from vivavoce.errors import Unavailable
from vivavoce.logs import failure
from vivavoce.runtime.tasks.ports import Backends, Listener, Work
from vivavoce.tools.delegation.answers import Mail
from vivavoce.tools.delegation.ledger import Ledger, Stopped
from vivavoce.tools.delegation.workflow import Live, Room
from vivavoce.wire.records.work import Task

log = logging.getLogger(__name__)

LOOK_SECONDS = 1.0


class DurableCarrier:
    """A `Carrier`. One may be running in a process at a time: DBOS is a singleton."""

    def __init__(
        self, url: str, backends: Backends, *, executor_id: str, look_seconds: float = LOOK_SECONDS
    ) -> None:
        """`url`: a SQLite file of its own, or a PostgreSQL database, where it has its own schema.

        `executor_id` names this instance among those that share a PostgreSQL, and
        is the same after a restart: what it left unfinished is found by it. A file
        is one server's. `look_seconds`: how often it looks for answers that the
        others took.
        """
        self._ledger = Ledger(url, executor_id=executor_id, carry=self._carry)
        self._backends = backends
        self._look_seconds = look_seconds
        self._mail = Mail(self._ledger)
        self._room: Room | None = None

    @asynccontextmanager
    async def running(self, listener: Listener) -> AsyncGenerator[None, None]:
        fault: Exception | None = None
        async with asyncio.TaskGroup() as group:
            room = self._new_room(listener, group)
            self._room = room  # before it opens: a workflow may go on at once
            try:
                await asyncio.to_thread(self._ledger.open)
                look = group.create_task(self._look(room)) if self._ledger.shared else None
                try:
                    yield
                finally:
                    if look is not None:
                        look.cancel()
                    await self._stop(room)
            except Exception as exc:
                fault = exc  # raised outside, as it is and not in a group
            finally:
                self._room = None
        if fault is not None:
            raise fault

    async def start(self, task: Task, work: Work) -> None:
        self._open_room()
        await asyncio.to_thread(self._ledger.start, task.id, json.dumps(asdict(work)))

    async def answer(self, task_id: str, question_id: str, words: str) -> None:
        """Dropped where the question is not this task's, or the task is over."""
        self._open_room()
        if question_id.startswith(f"{task_id}:") and await self._unfinished(task_id):
            await self._mail.answer(question_id, words)

    async def cancel(self, task_id: str) -> None:
        room = self._open_room()
        if await self._unfinished(task_id):
            await self._mail.cancel(task_id)
            _unwant(room, task_id)

    async def take_over(self, executor_id: str) -> None:
        """Goes on with what an instance that will not come back left unfinished."""
        self._open_room()
        await asyncio.to_thread(self._ledger.take_over, executor_id)

    def _new_room(self, listener: Listener, group: asyncio.TaskGroup) -> Room:
        return Room(
            listener=listener,
            backends=self._backends,
            ledger=self._ledger,
            mail=self._mail,
            group=group,
            loop=asyncio.get_running_loop(),
            context=contextvars.copy_context(),
        )

    def _open_room(self) -> Room:
        if self._room is None or self._room.stopping:
            raise Unavailable("Delegated work is not being carried out now")
        return self._room

    def _carry(self, order: str) -> str:
        """The workflow, on a thread of DBOS's."""
        room = self._room
        if room is None or room.stopping:
            raise Stopped
        return Live(_read(order), room).carry()

    async def _unfinished(self, task_id: str) -> bool:
        seen = await asyncio.to_thread(self._ledger.see, task_id)
        return seen is not None and seen.live

    async def _look(self, room: Room) -> None:
        while True:
            await asyncio.sleep(self._look_seconds)
            if room.live:
                try:
                    await self._mail.look(list(room.live), lambda id_: _unwant(room, id_))
                except Exception as exc:  # the database may be away for a while
                    log.warning("Tasks' mail could not be read", extra=failure(exc))

    async def _stop(self, room: Room) -> None:
        room.stopping = True
        runs = [live.run for live in room.live.values() if live.run is not None]
        for live in list(room.live.values()):
            live.stop()
        if runs:
            await asyncio.wait(runs)
        await asyncio.to_thread(self._ledger.close)


def _read(order: str) -> Work:
    """Also one that another release wrote."""
    known = {each.name for each in fields(Work)}
    return Work(**{key: value for key, value in json.loads(order).items() if key in known})


def _unwant(room: Room, task_id: str) -> None:
    live = room.live.get(task_id)
    if live is not None:
        live.unwant()
