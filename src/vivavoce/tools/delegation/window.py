"""Where a library's own tasks speak with the step that is under way, and work that is one step.

Libraries run our callbacks in tasks of theirs, which know nothing of the step
and outlive it. Here they hand in what they want; it is done in the step's
name, and whoever still waits when the window closes is sent away. What another's
program asks for, and in which order, is never the same twice, so all of it is one
step, begun anew after a crash at another number: its calls get ids of their own
and are not taken for those of the attempt that died.
"""

from __future__ import annotations

import asyncio
import contextvars
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from vivavoce.processes.threads import plain_group
from vivavoce.runtime.tasks.ports import GaveUp, StepValue, TaskContext
from vivavoce.wire.clean import clean_line

MAX_ATTEMPTS = 20
_STEP = "attempt"


async def attempted(
    context: TaskContext,
    begin: Callable[[Sequence[StepValue]], Awaitable[StepValue]],
    work: Callable[[StepValue], Awaitable[StepValue]],
) -> StepValue:
    """What `work` gave, now or before a restart.

    `begin` is told what it gave in the attempts that died, oldest first, and
    gives what the next one should know; `work` is handed what `begin` gave in
    this process.
    """
    mine = secrets.token_hex(8)
    died: list[StepValue] = []

    async def start() -> dict[str, Any]:
        return {"run": mine, "begun": await begin(died)}

    async def finish() -> dict[str, Any]:
        return {"done": await work(begun)}

    while len(died) < MAX_ATTEMPTS:
        # All steps have one name: which of them begins and which ends is known from its value.
        kept = await context.step(_STEP, start)
        if "done" in kept:
            return kept["done"]
        begun = kept["begun"]
        if kept["run"] == mine:
            return (await context.step(_STEP, finish))["done"]
        died.append(begun)
    raise GaveUp("The work was interrupted too often", suggestions=["Start it again"])


T = TypeVar("T")

_QUEUED = 32
_LONGEST = 200


class Closed(Exception):
    """The work is over, or being stopped: nothing is answered any more."""


_News = tuple[str, int | None, str | None]
"""The message, how far it is, and the agent at work."""


class Window:
    """Open while the step runs; `say` may be called at any time."""

    def __init__(self, context: TaskContext) -> None:
        self._task = context
        # Of many lines at once the newest are worth telling.
        self._queue: asyncio.Queue[_News | None] = asyncio.Queue(_QUEUED)
        self._last: _News | None = None
        self._group: asyncio.TaskGroup | None = None
        self._context = contextvars.copy_context()
        self._waiting: dict[asyncio.Future[Any], asyncio.Task[None]] = {}

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        self._context = contextvars.copy_context()
        async with plain_group() as group:
            self._group = group
            teller = group.create_task(self._tell())
            try:
                yield
                await self._queue.put(None)
                await teller
            finally:
                self.dismiss()
                teller.cancel()

    def dismiss(self) -> None:
        """Nobody is heard any more, and whoever waits is sent away."""
        self._group = None
        for future, task in list(self._waiting.items()):
            task.cancel()
            _settle(future, Closed())

    def say(self, message: str, percentage: int | None = None, phase: str | None = None) -> None:
        line = (clean_line(message, _LONGEST), percentage, phase)
        if not line[0] or line == self._last:
            return
        self._last = line
        if self._queue.full():
            self._queue.get_nowait()
        self._queue.put_nowait(line)

    async def ask(self, question: str, choices: Sequence[str] = ()) -> str:
        return await self._through(lambda: self._task.ask(question, choices))

    async def approve(self, tool: str, arguments: Mapping[str, Any], question: str) -> bool:
        return await self._through(lambda: self._task.approve(tool, arguments, question))

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> str:
        return await self._through(lambda: self._task.call(tool, arguments))

    async def _through(self, do: Callable[[], Awaitable[T]]) -> T:
        if self._group is None:
            raise Closed
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        task = self._group.create_task(self._do(do, future), context=self._context.copy())
        self._waiting[future] = task
        try:
            return await future
        finally:
            self._waiting.pop(future, None)
            task.cancel()

    async def _do(self, do: Callable[[], Awaitable[T]], future: asyncio.Future[T]) -> None:
        try:
            value = await do()
        except Exception as exc:  # theirs to handle, who asked for it
            _settle(future, exc)
        except asyncio.CancelledError:
            _settle(future, Closed())
            raise
        else:
            if not future.done():
                future.set_result(value)

    async def _tell(self) -> None:
        while (line := await self._queue.get()) is not None:
            message, percentage, phase = line
            await self._task.progress(message, percentage=percentage, phase=phase)


def _settle(future: asyncio.Future[Any], exc: Exception) -> None:
    if not future.done():
        future.set_exception(exc)
        future.exception()  # marks it as seen: whoever waited may be gone
