"""Approvals, questions and tasks on a bench: a real store in memory, a notifier that notes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from vivavoce.errors import Unavailable
from vivavoce.runtime.calls.approvals import Approvals, Concern
from vivavoce.runtime.calls.outcomes import ToolOutcome, ToolRequest, answered
from vivavoce.runtime.calls.questions import Questions
from vivavoce.runtime.journal.log import Journal
from vivavoce.runtime.tasks.ports import (
    AgentCard,
    Backends,
    Done,
    Listener,
    Place,
    TaskContext,
    Work,
)
from vivavoce.runtime.tasks.service import Tasks
from vivavoce.session.events import SessionEvent
from vivavoce.testing.fakes import ManualClock, MemoryStore
from vivavoce.wire.records.talk import Change, LogEvent
from vivavoce.wire.records.work import Role, Task


class Notifier:
    def __init__(self) -> None:
        self.told: list[SessionEvent] = []
        self.now: Place | None = None

    async def tell(self, event: SessionEvent, about: Concern, role: Role = "user") -> bool:
        self.told.append(event)
        return True

    async def where(self, about: Concern) -> Place | None:
        return self.now


class Someone:
    """A backend whose work the test does by hand."""

    name = "someone"

    def agents(self) -> Sequence[AgentCard]:
        away = AgentCard(name="away", description="", backend=self.name, why_not="not installed")
        return [AgentCard(name="coder", description="", backend=self.name), away]

    async def run(self, work: Work, context: TaskContext) -> Done:
        raise AssertionError("the carrier of these tests runs nothing")


class Hands:
    """A carrier that carries nothing: the test reports in its place."""

    def __init__(self) -> None:
        self.started: list[Work] = []
        self.answers: list[tuple[str, str, str]] = []
        self.listener: Listener | None = None
        self.forgotten: list[str] = []

    @asynccontextmanager
    async def running(self, listener: Listener) -> AsyncIterator[None]:
        self.listener = listener
        yield

    async def start(self, work: Work) -> None:
        self.started.append(work)

    async def resume(self, work: Work) -> None:
        await self.start(work)

    async def answer(self, task_id: str, question_id: str, words: str) -> None:
        self.answers.append((task_id, question_id, words))

    async def cancel(self, task_id: str) -> None:
        assert self.listener is not None
        await self.listener.cancelled(task_id)

    async def kept(self, task_ids: Sequence[str]) -> list[dict[str, Any]]:
        return [{"workflow_uuid": task_id} for task_id in task_ids]

    async def forget(self, task_ids: Sequence[str]) -> None:
        self.forgotten += task_ids


class Calls:
    def __init__(self) -> None:
        self.requests: list[ToolRequest] = []
        self.begun_here: list[str] = []

    async def run(self, request: ToolRequest) -> ToolOutcome:
        self.requests.append(request)
        return answered("fine", 1)

    async def permitted(
        self, tool: str, arguments: Mapping[str, Any], question: str, task: Task
    ) -> bool:
        return tool == "allowed"

    def begun(self, task_id: str) -> None:
        self.begun_here.append(task_id)


class WorkBench:
    def __init__(self) -> None:
        self.store, self.clock, self.notifier = MemoryStore(), ManualClock(), Notifier()
        self.journal = Journal(self.store, self.clock)
        self.hands, self.calls = Hands(), Calls()
        self.approvals = self.new_approvals()
        self.questions = Questions(journal=self.journal, clock=self.clock, notifier=self.notifier)
        self.tasks = Tasks(
            store=self.store,
            journal=self.journal,
            clock=self.clock,
            notifier=self.notifier,
            carrier=self.hands,
            backends=Backends((Someone(),)),
            executor=self.calls,
            gate=cast("Any", self.calls),
            default_agent="coder",
        )

    def new_approvals(self) -> Approvals:
        return Approvals(
            store=self.store, journal=self.journal, clock=self.clock, notifier=self.notifier
        )

    async def events(self) -> list[str]:
        return [event.type for event in await self.store.events(after=0, limit=100)]


@asynccontextmanager
async def work_bench() -> AsyncIterator[WorkBench]:
    bench = WorkBench()
    await bench.store.open()
    async with bench.tasks.running():
        yield bench
    await bench.store.close()


@asynccontextmanager
async def away(bench: WorkBench, tries: int) -> AsyncIterator[None]:
    """The store cannot be reached so many times, and time passes."""
    commit, task = bench.store.commit, bench.store.task

    def reach() -> None:
        nonlocal tries
        tries -= 1
        if tries >= 0:
            raise Unavailable("The store cannot be reached.")

    async def shaky_commit(changes: Sequence[Change]) -> list[LogEvent]:
        reach()
        return await commit(changes)

    async def shaky_task(task_id: str, *, user_id: str | None) -> Task | None:
        reach()
        return await task(task_id, user_id=user_id)

    async def passing() -> None:
        while True:
            await bench.clock.advance(1.0)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bench.store, "commit", shaky_commit)
        patch.setattr(bench.store, "task", shaky_task)
        async with asyncio.TaskGroup() as group:
            time = group.create_task(passing())
            yield
            time.cancel()
    assert tries <= 0, "nobody asked the store"


async def settle() -> None:
    """Everything that can go on without us does."""
    for _ in range(20):
        await asyncio.sleep(0)
