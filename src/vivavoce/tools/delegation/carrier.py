"""Carries delegated work through crashes: each task is a DBOS workflow, each message a step.

Backends and listener run on the loop that entered `running`; DBOS keeps to its
own threads, one for each task under way. The end is told to the listener first,
and recorded as over afterwards: a crash in between tells it again, never not at
all. What users said to tasks, and cancellations, are notes in the ledger; where
several processes share one, each looks from time to time.
"""

from __future__ import annotations

import asyncio
import contextvars
import json
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from vivavoce.errors import Unavailable, VivavoceError
from vivavoce.logs import failure
from vivavoce.processes.threads import plain_group
from vivavoce.retrying import doubling, retried
from vivavoce.runtime.tasks.ports import GOES_ON, Backends, Done, GaveUp, Listener, Work
from vivavoce.tools.delegation.context import DurableContext, Mail, StepBridge
from vivavoce.tools.delegation.ledger import Ledger, Stopped

log = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
MAX_ATTEMPTS = 100
"""Beyond these many starts the task is what brings the process down."""
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 60.0


Began = Callable[[str], Awaitable[None]]


async def _nobody(task_id: str) -> None:
    """For whom nobody else could carry it out."""


@dataclass(slots=True, eq=False, kw_only=True)
class Shared:
    """What all tasks of a carrier share, between entering and leaving `running`."""

    listener: Listener
    backends: Backends
    ledger: Ledger
    mail: Mail
    group: asyncio.TaskGroup
    loop: asyncio.AbstractEventLoop
    context: contextvars.Context
    began: Began
    opening: asyncio.Task[VivavoceError | None] | None = None
    look: asyncio.Task[None] | None = None
    stopping: bool = False
    live: dict[str, Live] = field(default_factory=dict)


class Live:
    """A task under way. It is made on its workflow's thread, and lives on the loop."""

    def __init__(self, work: Work, shared: Shared) -> None:
        self.work = work
        self._shared = shared
        self._bridge = StepBridge(shared.loop)
        self._over: Future[str] = Future()
        self._doing: asyncio.Task[Done | GaveUp] | None = None
        self._unwanted = False
        self.run: asyncio.Task[None] | None = None

    def carry(self) -> str:
        """The workflow, on its thread: how the task ended. Raises `Stopped` when it did not."""
        shared = self._shared
        try:
            # In the context of `running`: in ours, DBOS takes whoever calls it for this workflow.
            shared.loop.call_soon_threadsafe(self._begin, context=shared.context)
        except RuntimeError:
            raise Stopped from None  # the loop is closed
        self._bridge.serve()
        return self._over.result()

    def stop(self) -> None:
        """The process ends, the task does not."""
        self._bridge.shut()
        if self._doing is not None:
            self._doing.cancel(None if self._unwanted else GOES_ON)

    def unwant(self) -> None:
        """The user does not want it any more."""
        if not self._unwanted:
            self._unwanted = True
            self.stop()

    def _begin(self) -> None:
        if self._shared.stopping:
            self._leave("")
            return
        self._shared.live[self.work.task_id] = self
        self.run = self._shared.group.create_task(self._run())

    def _leave(self, end: str) -> None:
        if end:
            self._over.set_result(end)
        else:
            self._over.set_exception(Stopped())
        self._bridge.close()

    async def _run(self) -> None:
        end = ""
        try:
            self._doing = self._shared.group.create_task(self._do())
            if self._shared.stopping or self._unwanted:
                self.stop()
            await asyncio.wait({self._doing})
            end = await self._end(self._doing)
        finally:
            self._shared.live.pop(self.work.task_id, None)
            self._leave(end)

    async def _end(self, doing: asyncio.Task[Done | GaveUp]) -> str:
        """How it ended, now that it is told; empty when it did not end here."""
        listener, task_id = self._shared.listener, self.work.task_id
        if self._bridge.lost:
            return ""
        if self._unwanted:
            return await self._tell("cancelled", lambda: listener.cancelled(task_id))
        if not doing.cancelled():
            outcome = doing.result()
        elif self._shared.stopping:
            return ""
        else:
            outcome = GaveUp("The work broke off")
        match outcome:
            case Done() as done:
                return await self._tell("finished", lambda: listener.finished(task_id, done))
            case GaveUp() as fault:
                return await self._tell("failed", lambda: listener.failed(task_id, fault))

    async def _do(self) -> Done | GaveUp:
        shared, work = self._shared, self.work
        try:
            await shared.began(work.task_id)
            seen = await asyncio.to_thread(shared.ledger.see, work.task_id)
            if await shared.mail.cancelled(work.task_id):
                self._unwanted = True
                raise asyncio.CancelledError
            if seen is not None and seen.attempts > MAX_ATTEMPTS:
                return GaveUp("I had to begin again too often")
            recorded = seen.steps if seen is not None else 0
            context = DurableContext(
                work.task_id, self._bridge, shared.listener, shared.mail, recorded=recorded
            )
            return await self._with_backend(context)
        except GaveUp as fault:
            return fault
        except Exception as exc:  # a backend is another's code
            log.error("A task failed", extra=failure(exc, task_id=work.task_id, agent=work.agent))
            return GaveUp("Something went wrong while I was working on it")

    async def _with_backend(self, context: DurableContext) -> Done:
        backends, name = self._shared.backends, self.work.agent
        found = backends.find(name)
        if found is None:
            names = ", ".join(card.name for card in backends.cards())
            hint = [f"Use one of these: {names}"] if names else []
            raise GaveUp(f"There is no agent named {name}", suggestions=hint)
        backend, card = found
        if not card.available:
            raise GaveUp(f"The agent {card.name} cannot work now: {card.why_not}")
        return await backend.run(self.work, context)

    async def _tell(self, end: str, tell: Callable[[], Awaitable[None]]) -> str:
        """Until it is told: the listener's store may be away for a while."""

        def wait(exc: Exception, failures: int) -> float | None:
            told = failure(exc, task_id=self.work.task_id, end=end, attempt=failures)
            log.error("The end of a task could not be told", extra=told)
            return None if self._shared.stopping else doubling(failures, _FIRST_WAIT, _LONGEST_WAIT)

        try:
            await retried(tell, wait)
        except Exception:  # it is in the log, and the next process tells it
            return ""
        return end


class DurableCarrier:
    """A `Carrier`. One may be running in a process at a time: DBOS is a singleton."""

    def __init__(
        self,
        url: str,
        backends: Backends,
        *,
        executor_id: str,
        look_seconds: float = LOOK_SECONDS,
        lazy: bool = False,
        began: Began = _nobody,
    ) -> None:
        """`url`: a SQLite file of its own, or a PostgreSQL database, where it has its own schema.

        `executor_id` names this instance among those that share a PostgreSQL, and
        is the same after a restart: what it left unfinished is found by it. A file
        is one server's. `look_seconds`: how often it looks for answers that the
        others took. `lazy`: DBOS is opened when it is first wanted. `began` hears of every task
        that is carried out here, also of one that another was to carry out.
        """
        self._ledger = Ledger(url, executor_id=executor_id, carry=self._carry)
        self._backends = backends
        self._look_seconds, self._lazy, self._began = look_seconds, lazy, began
        self._mail = Mail(self._ledger)
        self._shared: Shared | None = None

    @asynccontextmanager
    async def running(self, listener: Listener) -> AsyncGenerator[None, None]:
        async with plain_group() as group:
            shared = self._shared = Shared(
                listener=listener,
                backends=self._backends,
                ledger=self._ledger,
                mail=self._mail,
                group=group,
                loop=asyncio.get_running_loop(),
                context=contextvars.copy_context(),
                began=self._began,
            )
            try:
                if not self._lazy:
                    await self._opened()
                yield
            finally:
                await self._stop(shared)
                self._shared = None

    async def start(self, work: Work) -> None:
        await self._opened()
        await asyncio.to_thread(self._ledger.start, work.task_id, json.dumps(asdict(work)))

    async def answer(self, task_id: str, question_id: str, words: str) -> None:
        """Dropped where the question is not this task's, or the task is over."""
        await self._opened()
        if question_id.startswith(f"{task_id}:") and await self._unfinished(task_id):
            await self._mail.answer(question_id, words)

    async def cancel(self, task_id: str) -> None:
        shared = await self._opened()
        if await self._unfinished(task_id):
            await self._mail.cancel(task_id)
            _unwant(shared, task_id)

    async def kept(self, task_ids: Sequence[str]) -> list[dict[str, Any]]:
        return await asyncio.to_thread(self._ledger.kept, task_ids)

    async def forget(self, task_ids: Sequence[str]) -> None:
        """Ends those that are under way here first, so that none of them writes any more."""
        shared = self._shared
        live = [] if shared is None else [shared.live.get(each) for each in task_ids]
        runs = []
        for each in filter(None, live):
            each.unwant()
            runs += [each.run] if each.run is not None else []
        if runs:
            await asyncio.wait(runs)
        await asyncio.to_thread(self._ledger.forget, task_ids)

    async def resume(self, work: Work) -> None:
        """Goes on with what somebody who will not come back left unfinished; the same id is the
        same task, so what was stored and never begun begins."""
        await self._opened()
        if not await asyncio.to_thread(self._ledger.resume, work.task_id):
            await self.start(work)

    async def _opened(self) -> Shared:
        shared = self._shared
        if shared is None or shared.stopping:
            raise Unavailable("Delegated work is not being carried out now")
        if shared.opening is None:
            shared.opening = shared.group.create_task(
                self._open(shared), context=shared.context.copy()
            )
        if (fault := await asyncio.shield(shared.opening)) is not None:
            raise fault
        return shared

    async def _open(self, shared: Shared) -> VivavoceError | None:
        """Why it cannot be, if so: the server goes on without it."""
        try:
            await asyncio.to_thread(self._ledger.open)
        except VivavoceError as fault:
            return fault
        except ImportError:
            return Unavailable("Delegated work needs more packages: pip install 'vivavoce[tools]'")
        except Exception:  # the boundary of this task
            log.exception("Delegated work cannot be carried out")
            return Unavailable("Delegated work cannot be carried out now")
        if self._ledger.shared:
            shared.look = shared.group.create_task(self._look(shared))
        return None

    def _carry(self, order: str) -> str:
        """The workflow, on a thread of DBOS's."""
        shared = self._shared
        if shared is None or shared.stopping:
            raise Stopped
        return Live(_read(order), shared).carry()

    async def _unfinished(self, task_id: str) -> bool:
        seen = await asyncio.to_thread(self._ledger.see, task_id)
        return seen is not None and seen.live

    async def _look(self, shared: Shared) -> None:
        while True:
            await asyncio.sleep(self._look_seconds)
            if shared.live:
                try:
                    await self._mail.look(list(shared.live), lambda id_: _unwant(shared, id_))
                except Exception as exc:  # the database may be away for a while
                    log.warning("Tasks' mail could not be read", extra=failure(exc))

    async def _stop(self, shared: Shared) -> None:
        shared.stopping = True
        if shared.opening is None or await shared.opening is not None:
            return  # it never opened
        if shared.look is not None:
            shared.look.cancel()
        runs = [live.run for live in shared.live.values() if live.run is not None]
        for live in list(shared.live.values()):
            live.stop()
        if runs:
            await asyncio.wait(runs)
        await asyncio.to_thread(self._ledger.close)


def _read(order: str) -> Work:
    """Also one that another release wrote."""
    known = {each.name for each in fields(Work)}
    return Work(**{key: value for key, value in json.loads(order).items() if key in known})


def _unwant(shared: Shared, task_id: str) -> None:
    live = shared.live.get(task_id)
    if live is not None:
        live.unwant()
