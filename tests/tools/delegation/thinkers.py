"""A thinker that says what a test wrote down, a context without a ledger, and the tools' names."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.tools.delegation.stage import Remembering
from vivavoce.brain.script.brain import ScriptedBrain
from vivavoce.brain.script.script import Script
from vivavoce.runtime.ports import ToolDefinition
from vivavoce.runtime.tasks.ports import StepValue
from vivavoce.tools.delegation.builtin import CHANGING
from vivavoce.wire.brain import (
    Ask,
    Call,
    CallArguments,
    CallBegun,
    CallEnded,
    Finished,
    Piece,
    Turn,
    Words,
)

TOOLS = [ToolDefinition(name, name, {"type": "object"}) for name in (*CHANGING, "task")]


@dataclass(frozen=True)
class Thought:
    """One answer of the model: words, calls, or both."""

    words: str = ""
    calls: tuple[Call, ...] = ()


def tools() -> list[ToolDefinition]:
    return TOOLS


def calls(*named: tuple[str, dict[str, Any] | str], words: str = "") -> Thought:
    """Arguments as a string are sent as they are, JSON or not."""
    return Thought(
        words,
        tuple(
            Call("c1", name, given if isinstance(given, str) else json.dumps(given))
            for name, given in named
        ),
    )


def done(summary: str) -> Thought:
    return calls(("done", {"summary": summary}))


class Scripted(ScriptedBrain):
    """One line a thought; what it was shown is kept."""

    def __init__(self, lines: Sequence[Thought | Exception]) -> None:
        super().__init__(Script())
        self.lines = lines
        self.shown: list[tuple[str, list[Turn], list[str]]] = []

    async def answer(self, ask: Ask) -> AsyncGenerator[Piece, None]:
        names = [each.name for each in ask.tools]
        self.shown.append((ask.instructions, list(ask.turns), names))
        line = self.lines[min(len(self.shown), len(self.lines)) - 1]
        if isinstance(line, Exception):
            raise line
        yield Words(line.words)
        for at, call in enumerate(line.calls):
            yield CallBegun(f"{call.call_id}_{at}", call.name)
            yield CallArguments(f"{call.call_id}_{at}", call.arguments)
            yield CallEnded(f"{call.call_id}_{at}")
        yield Finished()


@dataclass
class PlainDesk:
    """Straight to the listener, and nothing remembered."""

    listener: Remembering
    words: str = "yes"

    async def progress(
        self, message: str, *, percentage: int | None = None, phase: str | None = None
    ) -> None:
        await self.listener.progressed("task_1", message, percentage, phase)

    async def ask(self, question: str, choices: Sequence[str] = ()) -> str:
        await self.listener.asked("task_1", "q", question, choices)
        return self.words

    async def approve(self, tool: str, arguments: Mapping[str, Any], question: str) -> bool:
        return await self.listener.approve("task_1", tool, arguments, question)

    async def step(self, name: str, do: Callable[[], Awaitable[StepValue]]) -> StepValue:
        return json.loads(json.dumps(await do()))

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> str:
        return await self.listener.call("task_1", "c", tool, arguments)
