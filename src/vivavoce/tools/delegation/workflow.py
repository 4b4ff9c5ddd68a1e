"""One task under way in this process: its workflow's thread, its backend on the loop, its end.

The end is told to the listener first, and recorded as over afterwards. A crash
in between tells it again, never not at all.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from dataclasses import dataclass, field

from vivavoce.logs import failure
from vivavoce.runtime.tasks.ports import GOES_ON, Backends, Done, GaveUp, Listener, Work
from vivavoce.tools.delegation.answers import Mail
from vivavoce.tools.delegation.desk import DurableDesk
from vivavoce.tools.delegation.ledger import Ledger, Stopped
from vivavoce.tools.delegation.line import Line

log = logging.getLogger(__name__)

MAX_ATTEMPTS = 100
"""Beyond these many starts the task is what brings the process down."""
_PATIENCE = (0.5, 1.0, 2.0, 5.0, 15.0, 60.0)


@dataclass(slots=True, eq=False, kw_only=True)
class Room:
    """What all tasks of a carrier share, between entering and leaving `running`."""

    listener: Listener
    backends: Backends
    ledger: Ledger
    mail: Mail
    group: asyncio.TaskGroup
    loop: asyncio.AbstractEventLoop
    context: contextvars.Context
    stopping: bool = False
    live: dict[str, Live] = field(default_factory=dict)


class Live:
    """A task under way. It is made on its workflow's thread, and lives on the loop."""

    def __init__(self, work: Work, room: Room) -> None:
        self.work = work
        self._room = room
        self._line = Line(room.loop)
        self._over: Future[str] = Future()
        self._doing: asyncio.Task[Done | GaveUp] | None = None
        self._unwanted = False
        self.run: asyncio.Task[None] | None = None

    def carry(self) -> str:
        """The workflow, on its thread: how the task ended. Raises `Stopped` when it did not."""
        room = self._room
        try:
            # In the context of `running`: in ours, DBOS takes whoever calls it for this workflow.
            room.loop.call_soon_threadsafe(self._begin, context=room.context)
        except RuntimeError:
            raise Stopped from None  # the loop is closed
        self._line.serve()
        return self._over.result()

    def stop(self) -> None:
        """The process ends, the task does not."""
        self._line.shut()
        if self._doing is not None:
            self._doing.cancel(None if self._unwanted else GOES_ON)

    def unwant(self) -> None:
        """The user does not want it any more."""
        if not self._unwanted:
            self._unwanted = True
            self.stop()

    def _begin(self) -> None:
        if self._room.stopping:
            self._leave("")
            return
        self._room.live[self.work.task_id] = self
        self.run = self._room.group.create_task(self._run())

    def _leave(self, end: str) -> None:
        if end:
            self._over.set_result(end)
        else:
            self._over.set_exception(Stopped())
        self._line.close()

    async def _run(self) -> None:
        end = ""
        try:
            self._doing = self._room.group.create_task(self._do())
            if self._room.stopping or self._unwanted:
                self.stop()
            await asyncio.wait({self._doing})
            end = await self._end(self._doing)
        finally:
            self._room.live.pop(self.work.task_id, None)
            self._leave(end)

    async def _end(self, doing: asyncio.Task[Done | GaveUp]) -> str:
        """How it ended, now that it is told; empty when it did not end here."""
        listener, task_id = self._room.listener, self.work.task_id
        if self._line.lost:
            return ""
        if self._unwanted:
            return await self._tell("cancelled", lambda: listener.cancelled(task_id))
        if not doing.cancelled():
            outcome = doing.result()
        elif self._room.stopping:
            return ""
        else:
            outcome = GaveUp("The work broke off")
        match outcome:
            case Done() as done:
                return await self._tell("finished", lambda: listener.finished(task_id, done))
            case GaveUp() as fault:
                return await self._tell("failed", lambda: listener.failed(task_id, fault))

    async def _do(self) -> Done | GaveUp:
        room, work = self._room, self.work
        try:
            seen = await asyncio.to_thread(room.ledger.see, work.task_id)
            if await room.mail.cancelled(work.task_id):
                self._unwanted = True
                raise asyncio.CancelledError
            if seen is not None and seen.attempts > MAX_ATTEMPTS:
                return GaveUp("I had to begin again too often")
            recorded = seen.steps if seen is not None else 0
            desk = DurableDesk(
                work.task_id, self._line, room.listener, room.mail, recorded=recorded
            )
            return await self._with_backend(desk)
        except GaveUp as fault:
            return fault
        except Exception as exc:  # a backend is another's code
            log.error("A task failed", extra=failure(exc, task_id=work.task_id, agent=work.agent))
            return GaveUp("Something went wrong while I was working on it")

    async def _with_backend(self, desk: DurableDesk) -> Done:
        backends, name = self._room.backends, self.work.agent
        found = backends.find(name)
        if found is None:
            names = ", ".join(card.name for card in backends.cards())
            hint = [f"Use one of these: {names}"] if names else []
            raise GaveUp(f"There is no agent named {name}", suggestions=hint)
        backend, card = found
        if not card.available:
            raise GaveUp(f"The agent {card.name} cannot work now: {card.why_not}")
        return await backend.run(self.work, desk)

    async def _tell(self, end: str, tell: Callable[[], Awaitable[None]]) -> str:
        """Until it is told: the listener's store may be away for a while."""
        attempt = 0
        while True:
            try:
                await tell()
                return end
            except Exception as exc:
                told = failure(exc, task_id=self.work.task_id, end=end, attempt=attempt)
                log.error("The end of a task could not be told", extra=told)
            if self._room.stopping:
                return ""
            await asyncio.sleep(_PATIENCE[min(attempt, len(_PATIENCE) - 1)])
            attempt += 1
