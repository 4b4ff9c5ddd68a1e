"""Between a workflow's thread, where steps are recorded, and the loop, where work is done.

The thread owns the order and the records; the loop does everything else. A
step is a turn of both: the loop asks for it, the thread looks whether it is
already recorded, and if not waits for the loop to do it. Cancelling the loop's
side leaves nothing recorded.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any

from vivavoce.tools.delegation.ledger import Stopped, TakenOver, run_step


class _Turn:
    def __init__(self, name: str, loop: asyncio.AbstractEventLoop) -> None:
        self.name = name
        self._loop = loop
        self.begun: asyncio.Future[str | None] = loop.create_future()
        """What is recorded, or None: it is to be done."""
        self.result: Future[str] = Future()
        self.recorded: asyncio.Future[None] = loop.create_future()

    def take(self) -> None:
        """On the workflow's thread."""
        fresh = False

        def wait_for_it() -> str:
            nonlocal fresh
            fresh = True
            self._tell(self.begun, None)
            return self.result.result()

        try:
            value = run_step(self.name, wait_for_it)
        except TakenOver:
            raise
        except Stopped:
            return  # by the loop's side, which knows
        except Exception as exc:
            # Not the step's own failure, which is a result too: the ledger's.
            self._fail(self.recorded if fresh else self.begun, exc)
            return
        if fresh:
            self._tell(self.recorded, None)
        else:
            self._tell(self.begun, value)

    def cancel(self) -> None:
        for each in (self.begun, self.recorded):
            self._soon(each.cancel)

    def _tell(self, future: asyncio.Future[Any], value: str | None) -> None:
        def tell() -> None:
            if not future.done():
                future.set_result(value)

        self._soon(tell)

    def _fail(self, future: asyncio.Future[Any], exc: Exception) -> None:
        def fail() -> None:
            if not future.done():
                future.set_exception(exc)

        self._soon(fail)

    def _soon(self, do: Callable[[], object]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
            self._loop.call_soon_threadsafe(do)


class Line:
    """One task's turns, in the order in which they were asked for."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        # At most one turn for each coroutine of a backend that waits for it.
        self._turns: SimpleQueue[_Turn | None] = SimpleQueue()
        self._shut = False
        self.lost = False
        """Another process has the task: nothing of it is ours to tell."""

    def serve(self) -> None:
        """On the workflow's thread, until the line is closed."""
        while (turn := self._turns.get()) is not None:
            try:
                turn.take()
            except TakenOver:
                self.lost = True
                turn.cancel()

    def shut(self) -> None:
        """The work is being stopped. What it does while it cleans up would be recorded in the
        place of what it does when it goes on."""
        self._shut = True

    def close(self) -> None:
        self._shut = True
        self._turns.put(None)

    async def step(self, name: str, do: Callable[[], Awaitable[str]]) -> str:
        if self._shut:
            raise asyncio.CancelledError("the work is being stopped")
        turn = _Turn(name, self._loop)
        self._turns.put(turn)
        try:
            recorded = await turn.begun
            if recorded is not None:
                return recorded
            value = await do()
            turn.result.set_result(value)
            await turn.recorded
        finally:
            # However it went wrong here, the thread must not wait for ever.
            if not turn.result.done():
                turn.result.set_exception(Stopped())
        return value
