"""Delegated work at its seams: who does it, what they may say, who carries it through a crash.

A `Backend` does the work and knows nothing of stores, sessions or restarts. It
is handed a `TaskContext` with four messages (progress, question, approval, result)
and a memory for finished steps. A `Carrier` runs backends so that a task
outlives its call and the process.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from vivavoce.runtime.calls.approvals import Concern, Notifier
from vivavoce.wire.values import Record

StepValue: TypeAlias = Any
"""JSON: what a finished step leaves behind."""


GOES_ON = "the process ends, the task does not"
"""The message of a cancellation that is a shutdown: work elsewhere may simply go on."""


class Work(Record):
    """What is to be done."""

    task_id: str
    user_id: str
    description: str
    agent: str
    context: str = ""
    """What was said before, in a few lines, so that "it" and "there" mean something."""
    tools: tuple[str, ...] | None = None
    """What its user may use, where that is not everything. Others are refused in any case; whoever
    offers tools to a model offers it none of them."""


class Done(Record):
    """How it ended well. `summary` is what the user is told."""

    summary: str
    files_changed: tuple[str, ...] = ()


class GaveUp(Exception):
    """The work failed: why, what was tried, and what the user might do about it."""

    def __init__(
        self, error: str, *, tried: Sequence[str] = (), suggestions: Sequence[str] = ()
    ) -> None:
        super().__init__(error)
        self.error = error
        self.tried = tuple(tried)
        self.suggestions = tuple(suggestions)


class StepFailed(Exception):
    """A step raised something that is neither ours nor `GaveUp`. The original is its cause, until
    a restart: then only the kind and the words are left."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class TaskContext(Protocol):
    """What a backend at work may say, and how it remembers."""

    async def progress(
        self, message: str, *, percentage: int | None = None, phase: str | None = None
    ) -> None:
        """Shown, and kept for those who come later. `phase` is the agent now at work."""
        ...

    async def ask(self, question: str, choices: Sequence[str] = ()) -> str:
        """The user's words. Waits as long as it takes: the question outlives the process."""
        ...

    async def approve(self, tool: str, arguments: Mapping[str, Any], question: str) -> bool:
        """Asked as any other approval, with the same policy before it."""
        ...

    async def step(self, name: str, do: Callable[[], Awaitable[StepValue]]) -> StepValue:
        """Run it once: after a restart a finished step gives its old value and does not run.

        Steps are known by their order, so a backend must take them in the same
        order each time. One that was under way when the process died runs again:
        what changes the world goes through `call`. What it raises is kept too, and
        raised again: errors of ours and `GaveUp` as they are, all else as
        `StepFailed`. A deadline belongs inside the step, not around it.
        """
        ...

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """One of our own tools, through the same executor, policy and records as any call.

        A step of its own; what the model may read of the outcome, good or bad.
        A call whose outcome a crash swallowed is not run again: it says so.
        """
        ...


class AgentCard(Record):
    """An agent that can be named: `coder`, `foundation:explorer`."""

    name: str
    description: str
    backend: str
    why_not: str = ""
    """Why it cannot work now, if so."""

    @property
    def available(self) -> bool:
        return not self.why_not


class Backend(Protocol):
    """One way to get work done."""

    @property
    def name(self) -> str: ...

    def agents(self) -> Sequence[AgentCard]: ...

    async def run(self, work: Work, context: TaskContext) -> Done:
        """Raises `GaveUp`; cancelling it stops the work, and everything it started."""
        ...


class Listener(Protocol):
    """Where a carrier reports: stores it, tells it, asks it. Calls are idempotent:
    after a crash the last one may come again."""

    async def progressed(
        self, task_id: str, message: str, percentage: int | None, phase: str | None
    ) -> None: ...

    async def asked(
        self, task_id: str, question_id: str, question: str, choices: Sequence[str]
    ) -> None: ...

    async def finished(self, task_id: str, done: Done) -> None: ...

    async def failed(self, task_id: str, fault: GaveUp) -> None: ...

    async def cancelled(self, task_id: str) -> None: ...

    async def approve(
        self, task_id: str, tool: str, arguments: Mapping[str, Any], question: str
    ) -> bool: ...

    async def call(
        self, task_id: str, call_id: str, tool: str, arguments: Mapping[str, Any]
    ) -> str: ...


class Carrier(Protocol):
    """Runs tasks to their end, whatever happens to the process in between."""

    def running(self, listener: Listener) -> AbstractAsyncContextManager[None]:
        """While entered, tasks run."""
        ...

    async def start(self, work: Work) -> None:
        """Returns once it will be carried out even if the process dies now. The same id twice
        is one task."""
        ...

    async def resume(self, work: Work) -> None:
        """Goes on with what somebody who will not come back left unfinished, or begins it."""
        ...

    async def answer(self, task_id: str, question_id: str, words: str) -> None: ...

    async def cancel(self, task_id: str) -> None:
        """Stops it; `Listener.cancelled` follows. One that is over stays as it is."""
        ...

    async def kept(self, task_ids: Sequence[str]) -> list[dict[str, Any]]:
        """What is written down of these."""
        ...

    async def forget(self, task_ids: Sequence[str]) -> None:
        """Ends these, and keeps nothing of them."""
        ...


@dataclass(frozen=True, slots=True)
class Backends:
    """All of them, by agent's name. The first that has it is it."""

    backends: tuple[Backend, ...] = ()

    def cards(self) -> list[AgentCard]:
        return [card for backend in self.backends for card in backend.agents()]

    def able(self) -> bool:
        """Can any of them work now?"""
        return any(card.available for card in self.cards())

    def find(self, agent: str) -> tuple[Backend, AgentCard] | None:
        for backend in self.backends:
            for card in backend.agents():
                if card.name == agent:
                    return backend, card
        return None


class Place(Record):
    """A session that goes on, and its conversation."""

    session_id: str
    conversation_id: str


class Reaches(Notifier, Protocol):
    """Reaches the user, and knows where they are."""

    async def where(self, about: Concern) -> Place | None:
        """The session in which its user is now, where that is not the one it came from."""
        ...
