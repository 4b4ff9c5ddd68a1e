"""A carrier that costs nothing until somebody delegates.

Its machinery takes a second to start; most servers, and most starts of one,
never need it. Tasks that a crash left open are begun again by whoever keeps
them, and that starts it too.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from vivavoce.errors import Unavailable, VivavoceError
from vivavoce.runtime.tasks.ports import Carrier, Listener, Work
from vivavoce.wire.records.work import Task

log = logging.getLogger(__name__)


class LazyCarrier:
    """A `Carrier` in front of another, which it starts when it is wanted."""

    def __init__(self, inner: Carrier) -> None:
        self._inner = inner
        self._wanted, self._stop = asyncio.Event(), asyncio.Event()
        self._ready: asyncio.Future[None] | None = None

    @asynccontextmanager
    async def running(self, listener: Listener) -> AsyncGenerator[None, None]:
        self._wanted, self._stop = asyncio.Event(), asyncio.Event()
        self._ready = asyncio.get_running_loop().create_future()
        async with asyncio.TaskGroup() as group:
            host = group.create_task(self._host(listener, self._ready))
            try:
                yield
            finally:
                self._stop.set()
                if not self._wanted.is_set():
                    host.cancel()
                self._ready = None

    async def _host(self, listener: Listener, ready: asyncio.Future[None]) -> None:
        """Enters and leaves the inner one: both must be the same task's doing."""
        await self._wanted.wait()
        try:
            async with self._inner.running(listener):
                if not ready.done():
                    ready.set_result(None)
                await self._stop.wait()
        except VivavoceError as fault:
            if ready.done():
                raise
            ready.set_exception(fault)
        except ImportError:
            words = "Delegated work needs more packages: pip install 'vivavoce[tools]'"
            ready.set_exception(Unavailable(words))
        except Exception:  # the boundary of this task: the server goes on without it
            if ready.done():
                raise
            log.exception("Delegated work cannot be carried out")
            ready.set_exception(Unavailable("Delegated work cannot be carried out now"))

    async def _started(self) -> Carrier:
        if self._ready is None:
            raise Unavailable("Delegated work is not being carried out now")
        self._wanted.set()
        await asyncio.shield(self._ready)
        return self._inner

    async def start(self, task: Task, work: Work) -> None:
        await (await self._started()).start(task, work)

    async def answer(self, task_id: str, question_id: str, words: str) -> None:
        await (await self._started()).answer(task_id, question_id, words)

    async def cancel(self, task_id: str) -> None:
        await (await self._started()).cancel(task_id)
