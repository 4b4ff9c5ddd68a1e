"""A carrier over real DBOS on a file, a backend from a function, and a listener that remembers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vivavoce.runtime.tasks.ports import (
    AgentCard,
    Backend,
    Backends,
    Done,
    GaveUp,
    TaskContext,
    Work,
)
from vivavoce.tools.delegation.carrier import DurableCarrier

PATIENCE = 15.0


@dataclass
class Remembering:
    """A `Listener` of a test."""

    progress: list[tuple[str, str | None]] = field(default_factory=list)
    questions: list[tuple[str, str, tuple[str, ...]]] = field(default_factory=list)
    ends: list[tuple[str, str, Any]] = field(default_factory=list)
    calls: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)
    approvals: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    replies: dict[str, str | Exception] = field(default_factory=dict)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def progressed(
        self, task_id: str, message: str, percentage: int | None, phase: str | None
    ) -> None:
        self.progress.append((message, phase))
        self.changed.set()

    async def asked(
        self, task_id: str, question_id: str, question: str, choices: Sequence[str]
    ) -> None:
        self.questions.append((question_id, question, tuple(choices)))
        self.changed.set()

    async def finished(self, task_id: str, done: Done) -> None:
        self._end(task_id, "finished", done)

    async def failed(self, task_id: str, fault: GaveUp) -> None:
        self._end(task_id, "failed", fault)

    async def cancelled(self, task_id: str) -> None:
        self._end(task_id, "cancelled", None)

    async def approve(
        self, task_id: str, tool: str, arguments: Mapping[str, Any], question: str
    ) -> bool:
        self.approvals.append((tool, dict(arguments)))
        return True

    async def call(
        self, task_id: str, call_id: str, tool: str, arguments: Mapping[str, Any]
    ) -> str:
        self.calls.append((call_id, tool, dict(arguments)))
        reply = self.replies.get(tool, "done")
        if isinstance(reply, Exception):
            raise reply
        return reply

    def _end(self, task_id: str, how: str, what: Any) -> None:
        self.ends.append((task_id, how, what))
        self.changed.set()

    async def until(self, condition: Callable[[], object]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not condition():
                self.changed.clear()
                await self.changed.wait()

    async def end(self) -> tuple[str, str, Any]:
        await self.until(lambda: self.ends)
        return self.ends[-1]


@dataclass
class Doing:
    """A backend that does what a function says."""

    do: Callable[[Work, TaskContext], Awaitable[Done]]
    name: str = "doing"

    def agents(self) -> Sequence[AgentCard]:
        return [
            AgentCard(name="doer", description="does", backend=self.name),
            AgentCard(name="away", description="", backend=self.name, why_not="no key"),
        ]

    async def run(self, work: Work, context: TaskContext) -> Done:
        return await self.do(work, context)


def work(task_id: str = "task_1", agent: str = "doer", description: str = "do it") -> Work:
    return Work(task_id=task_id, user_id="ann", description=description, agent=agent)


def url(folder: Path) -> str:
    return f"sqlite:///{folder / 'tasks.db'}"


@asynccontextmanager
async def carried(
    at: str, backend: Backend, listener: Remembering, *, executor_id: str = "one"
) -> AsyncGenerator[DurableCarrier, None]:
    carrier = DurableCarrier(at, Backends((backend,)), executor_id=executor_id, look_seconds=0.2)
    async with carrier.running(listener):
        yield carrier


async def begin(carrier: DurableCarrier, of: Work) -> None:
    await carrier.start(of)
