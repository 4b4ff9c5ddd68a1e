"""The context of one durable task: every message a step, ids from the task and the step.

The workflow's thread owns the order and the records; the loop does everything
else. A step is a turn of both: the loop asks for it, the thread looks whether it
is already recorded, and if not waits for the loop to do it. Cancelling the
loop's side leaves nothing recorded. Inside a step there are no further steps:
what a backend says while one runs goes straight through, and what it calls gets
an id of its own within the step. A failure is recorded as any result, so that a
backend that went on after one goes the same way after a restart.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextvars import ContextVar
from dataclasses import KW_ONLY, dataclass, field
from itertools import count
from queue import SimpleQueue
from typing import Any

from vivavoce import errors
from vivavoce.logs import failure
from vivavoce.runtime.tasks.ports import GaveUp, Listener, StepFailed, StepValue
from vivavoce.tools.delegation.ledger import Ledger, Stopped, TakenOver, run_step

log = logging.getLogger(__name__)

_MAX_NAME = 200


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
            self._tell(self.recorded if fresh else self.begun, None, exc)
            return
        if fresh:
            self._tell(self.recorded, None)
        else:
            self._tell(self.begun, value)

    def cancel(self) -> None:
        for each in (self.begun, self.recorded):
            self._soon(each.cancel)

    def _tell(
        self, future: asyncio.Future[Any], value: str | None, fault: Exception | None = None
    ) -> None:
        def tell() -> None:
            if future.done():
                return
            if fault is None:
                future.set_result(value)
            else:
                future.set_exception(fault)

        self._soon(tell)

    def _soon(self, do: Callable[[], object]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
            self._loop.call_soon_threadsafe(do)


class StepBridge:
    """One task's turns, in the order in which they were asked for."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        # At most one turn for each coroutine of a backend that waits for it.
        self._turns: SimpleQueue[_Turn | None] = SimpleQueue()
        self._shut = False
        self.lost = False
        """Another process has the task: nothing of it is ours to tell."""

    def serve(self) -> None:
        """On the workflow's thread, until the bridge is closed."""
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


def finished(value: StepValue) -> str:
    """Raises `TypeError` for what is not JSON."""
    return json.dumps({"value": value})


def failed(exc: Exception) -> str:
    match exc:
        case GaveUp():
            fault = {"error": exc.error, "tried": exc.tried, "suggestions": exc.suggestions}
            return json.dumps({"gave_up": fault})
        case errors.VivavoceError():
            return json.dumps({"ours": type(exc).__name__, "message": exc.message})
        case _:
            kind = exc.kind if isinstance(exc, StepFailed) else type(exc).__name__
            return json.dumps({"failed": kind, "message": str(exc)})


def read(kept: str) -> StepValue:
    """The value, or the failure raised."""
    match json.loads(kept):
        case {"value": value}:
            return value
        case {"gave_up": {"error": error, "tried": tried, "suggestions": suggestions}}:
            raise GaveUp(error, tried=tried, suggestions=suggestions)
        case {"ours": str() as name, "message": message}:
            raise _ours(name, message)
        case {"failed": kind, "message": message}:
            raise StepFailed(kind, message)
        case _:
            raise ValueError("no outcome of a step")


def _ours(name: str, message: str) -> Exception:
    kind: Any = getattr(errors, name, None)
    try:
        if isinstance(kind, type) and issubclass(kind, errors.VivavoceError):
            return kind(message)
    except TypeError:
        pass  # it wants to know more than words
    return StepFailed(name, message)  # or of a release that had it


_CANCEL, _ANSWER = "/cancel", "/answer"


class Mail:
    """The user's words, which may arrive long before or after they are asked for: answers by
    question, cancellations by task."""

    def __init__(self, notes: Ledger) -> None:
        self._notes = notes
        self._waiting: dict[str, asyncio.Future[str]] = {}

    async def answer(self, question_id: str, words: str) -> None:
        id_ = question_id + _ANSWER
        await asyncio.to_thread(self._notes.note, id_, words)
        # Not `words`: another answer may have been first.
        self._hand(await self._read([id_]))

    async def given(self, question_id: str) -> str | None:
        id_ = question_id + _ANSWER
        return (await self._read([id_])).get(id_)

    async def wait(self, question_id: str) -> str:
        id_ = question_id + _ANSWER
        waiting: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._waiting[id_] = waiting
        try:
            self._hand(await self._read([id_]))  # it may have come since it was last looked
            return await waiting
        finally:
            if self._waiting.get(id_) is waiting:
                del self._waiting[id_]

    async def cancel(self, task_id: str) -> None:
        await asyncio.to_thread(self._notes.note, task_id + _CANCEL, "")

    async def cancelled(self, task_id: str) -> bool:
        return bool(await self._read([task_id + _CANCEL]))

    async def look(self, tasks: list[str], unwanted: Callable[[str], None]) -> None:
        """Hands out what others took; `unwanted` is told which of the tasks are cancelled."""
        found = await self._read([*self._waiting, *(each + _CANCEL for each in tasks)])
        self._hand(found)
        for each in tasks:
            if each + _CANCEL in found:
                unwanted(each)

    async def _read(self, ids: list[str]) -> dict[str, str]:
        return await asyncio.to_thread(self._notes.notes, ids)

    def _hand(self, found: dict[str, str]) -> None:
        for id_, words in found.items():
            waiting = self._waiting.get(id_)
            if waiting is not None and not waiting.done():
                waiting.set_result(words)


@dataclass(eq=False)
class DurableContext:
    """A `TaskContext`."""

    _task_id: str
    _bridge: StepBridge
    _listener: Listener
    _answers: Mail
    _: KW_ONLY
    recorded: int
    """How many steps are finished already."""
    _taken: int = 0
    # Names what happens inside one step.
    _inside: ContextVar[Iterator[str] | None] = field(
        default_factory=lambda: ContextVar("inside", default=None)
    )

    async def progress(
        self, message: str, *, percentage: int | None = None, phase: str | None = None
    ) -> None:
        # Going over finished steps again is no news.
        if self._taken < self.recorded:
            return
        try:
            await self._listener.progressed(self._task_id, message, percentage, phase)
        except Exception as exc:  # not worth the work itself
            log.warning("Progress was lost", extra=failure(exc, task_id=self._task_id))

    async def ask(self, question: str, choices: Sequence[str] = ()) -> str:
        async def do(id_: str) -> str:
            answer = await self._answers.given(id_)
            if answer is None:
                await self._listener.asked(self._task_id, id_, question, tuple(choices))
                answer = await self._answers.wait(id_)
            return answer

        return str(await self._numbered("ask", do))

    async def approve(self, tool: str, arguments: Mapping[str, Any], question: str) -> bool:
        async def do(_: str) -> bool:
            return await self._listener.approve(self._task_id, tool, arguments, question)

        return bool(await self._numbered(f"approve {tool}", do))

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> str:
        async def do(id_: str) -> str:
            return await self._listener.call(self._task_id, id_, tool, arguments)

        return str(await self._numbered(f"call {tool}", do))

    async def step(self, name: str, do: Callable[[], Awaitable[StepValue]]) -> StepValue:
        return await self._numbered(f"step {name}", lambda _: do())

    async def _numbered(self, name: str, do: Callable[[str], Awaitable[StepValue]]) -> StepValue:
        inside = self._inside.get()
        if inside is not None:
            return await do(next(inside))
        self._taken += 1
        id_ = f"{self._task_id}:{self._taken}"

        causes: list[Exception] = []

        async def once() -> str:
            token = self._inside.set(f"{id_}.{at}" for at in count(1))
            try:
                return finished(await do(id_))
            except Exception as exc:
                causes.append(exc)
                return failed(exc)
            finally:
                self._inside.reset(token)

        kept = await self._bridge.step(name[:_MAX_NAME], once)
        try:
            return read(kept)
        except Exception as exc:
            if causes:  # it happened just now, and can say where
                raise exc from causes[0]
            raise
