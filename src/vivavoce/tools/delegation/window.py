"""The window of a desk: where a library's own tasks speak with the step that is under way.

Libraries run our callbacks in tasks of theirs, which know nothing of the step
and outlive it. Here they hand in what they want; it is done in the step's
name, and whoever still waits when the window closes is sent away.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from vivavoce.runtime.tasks.ports import Desk
from vivavoce.wire.clean import clean_line

T = TypeVar("T")

_LINES = 32
_LONGEST = 200


class Closed(Exception):
    """The work is over, or being stopped: nothing is answered any more."""


@asynccontextmanager
async def plain_group() -> AsyncIterator[asyncio.TaskGroup]:
    """Out of it the body's own exception comes as it is. The body ends the tasks it began."""
    fault: Exception | None = None
    async with asyncio.TaskGroup() as group:
        try:
            yield group
        except Exception as exc:
            fault = exc
    if fault is not None:
        raise fault


@dataclass(frozen=True, slots=True)
class _Line:
    message: str
    percentage: int | None
    phase: str | None


class Window:
    """Open while the step runs; `say` may be called at any time."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        # Of many lines at once the newest are worth telling.
        self._lines: asyncio.Queue[_Line | None] = asyncio.Queue(_LINES)
        self._last: _Line | None = None
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
                await self._lines.put(None)
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
        line = _Line(clean_line(message, _LONGEST), percentage, phase)
        if not line.message or line == self._last:
            return
        self._last = line
        if self._lines.full():
            self._lines.get_nowait()
        self._lines.put_nowait(line)

    async def ask(self, question: str, choices: Sequence[str] = ()) -> str:
        return await self._through(lambda: self._desk.ask(question, choices))

    async def approve(self, tool: str, arguments: Mapping[str, Any], question: str) -> bool:
        return await self._through(lambda: self._desk.approve(tool, arguments, question))

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> str:
        return await self._through(lambda: self._desk.call(tool, arguments))

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
        while (line := await self._lines.get()) is not None:
            await self._desk.progress(line.message, percentage=line.percentage, phase=line.phase)


def _settle(future: asyncio.Future[Any], exc: Exception) -> None:
    if not future.done():
        future.set_exception(exc)
        future.exception()  # marks it as seen: whoever waited may be gone
