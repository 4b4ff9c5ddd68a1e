"""The real context over a ledger in memory: what a restart keeps is kept, and no more."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from tests.tools.delegation.stage import Remembering
from vivavoce.runtime.tasks.ports import Work
from vivavoce.tools.delegation.context import DurableContext, Mail, StepBridge


@dataclass
class Deciding(Remembering):
    """Says no to tools by name, and leaves some questions unanswered."""

    refuse: frozenset[str] = frozenset()
    unanswered: frozenset[str] = frozenset()
    asked_for: list[tuple[str, dict[str, Any], str]] = field(default_factory=list)

    async def approve(
        self, task_id: str, tool: str, arguments: Mapping[str, Any], question: str
    ) -> bool:
        self.asked_for.append((tool, dict(arguments), question))
        self.changed.set()
        if tool in self.unanswered:
            await asyncio.Event().wait()
        return tool not in self.refuse


@dataclass
class Ledger:
    """Steps by their order, as the real one; a step within a step would never end there."""

    kept: list[tuple[str, str]] = field(default_factory=list)
    answers: dict[str, str] = field(default_factory=dict)
    _at: int = 0
    _busy: bool = False

    def context(self, listener: Remembering) -> DurableContext:
        """As after a restart."""
        self._at, self._busy = 0, False
        line, mail = cast("StepBridge", self), cast("Mail", self)
        return DurableContext("task_1", line, listener, mail, recorded=len(self.kept))

    async def step(self, name: str, do: Callable[[], Awaitable[str]]) -> str:
        assert not self._busy, f"{name} while another step was under way"
        if self._at < len(self.kept):
            known, value = self.kept[self._at]
            assert known == name
        else:
            self._busy = True
            value = await do()
            self.kept.append((name, value))
            self._busy = False
        self._at += 1
        return value

    async def given(self, question_id: str) -> str | None:
        return self.answers.get(question_id, "yes")

    async def wait(self, question_id: str) -> str:
        return self.answers[question_id]


def order(agent: str, description: str, context: str = "") -> Work:
    return Work(
        task_id="task_1", user_id="ann", description=description, agent=agent, context=context
    )
