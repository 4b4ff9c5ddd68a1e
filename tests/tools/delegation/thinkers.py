"""A thinker that says what a test wrote down, a context without a ledger, and the tools' names."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.tools.delegation.stage import Remembering
from vivavoce.runtime.ports import ToolDefinition
from vivavoce.runtime.tasks.ports import Value
from vivavoce.tools.delegation.builtin import CHANGING
from vivavoce.tools.delegation.thinking import Called, Thought, Turn

TOOLS = [ToolDefinition(name, name, {"type": "object"}) for name in (*CHANGING, "task")]


def tools() -> list[ToolDefinition]:
    return TOOLS


def calls(*named: tuple[str, dict[str, Any] | str], words: str = "") -> Thought:
    """Arguments as a string are sent as they are, JSON or not."""
    return Thought(
        words,
        tuple(
            Called("c1", name, given if isinstance(given, str) else json.dumps(given))
            for name, given in named
        ),
    )


def done(summary: str) -> Thought:
    return calls(("done", {"summary": summary}))


@dataclass
class Scripted:
    """One line a thought; what it was shown is kept."""

    lines: list[Thought | Exception]
    shown: list[tuple[str, list[Turn], list[str]]] = field(default_factory=list)

    async def think(
        self, instructions: str, turns: Sequence[Turn], tools: Sequence[ToolDefinition]
    ) -> Thought:
        self.shown.append((instructions, list(turns), [each.name for each in tools]))
        line = self.lines[min(len(self.shown), len(self.lines)) - 1]
        if isinstance(line, Exception):
            raise line
        return line


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

    async def step(self, name: str, do: Callable[[], Awaitable[Value]]) -> Value:
        return json.loads(json.dumps(await do()))

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> str:
        return await self.listener.call("task_1", "c", tool, arguments)
