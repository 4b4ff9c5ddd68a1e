"""The desk of one durable task: every message a step, every id from the task and the step's number.

Knows the ports and the line, not what carries them. Inside a step there are no
further steps: what a backend says while one runs goes straight through, and
what it calls gets an id of its own within the step.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, Protocol

from vivavoce.logs import failure
from vivavoce.runtime.tasks.ports import Listener, Value
from vivavoce.tools.delegation import outcomes
from vivavoce.tools.delegation.line import Line

log = logging.getLogger(__name__)

_MAX_NAME = 200


class Answers(Protocol):
    """Where the user's words arrive, perhaps long before or after they are asked for."""

    async def wait(self, question_id: str) -> str: ...

    async def given(self, question_id: str) -> str | None: ...


class _Numbers:
    """Names what happens inside one step."""

    def __init__(self, base: str) -> None:
        self._base = base
        self._count = 0

    def next(self) -> str:
        self._count += 1
        return f"{self._base}.{self._count}"


class DurableDesk:
    """A `Desk`."""

    def __init__(
        self, task_id: str, line: Line, listener: Listener, answers: Answers, *, recorded: int
    ) -> None:
        """`recorded`: how many steps are finished already."""
        self._task_id = task_id
        self._line = line
        self._listener = listener
        self._answers = answers
        self._recorded = recorded
        self._taken = 0
        self._inside: ContextVar[_Numbers | None] = ContextVar("inside", default=None)

    async def progress(
        self, message: str, *, percentage: int | None = None, phase: str | None = None
    ) -> None:
        # Going over finished steps again is no news.
        if self._taken < self._recorded:
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

    async def step(self, name: str, do: Callable[[], Awaitable[Value]]) -> Value:
        return await self._numbered(f"step {name}", lambda _: do())

    async def _numbered(self, name: str, do: Callable[[str], Awaitable[Value]]) -> Value:
        inside = self._inside.get()
        if inside is not None:
            return await do(inside.next())
        self._taken += 1
        id_ = f"{self._task_id}:{self._taken}"

        causes: list[Exception] = []

        async def once() -> str:
            token = self._inside.set(_Numbers(id_))
            try:
                return outcomes.finished(await do(id_))
            except Exception as exc:
                causes.append(exc)
                return outcomes.failed(exc)
            finally:
                self._inside.reset(token)

        kept = await self._line.step(name[:_MAX_NAME], once)
        try:
            return outcomes.read(kept)
        except Exception as exc:
            if causes:  # it happened just now, and can say where
                raise exc from causes[0]
            raise
