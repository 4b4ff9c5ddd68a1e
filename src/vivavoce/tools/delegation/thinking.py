"""What the built-in agents ask of a language model: one small port.

Which model answers, and how its words arrive, is the business of whoever
fills it. Everything here is JSON when it is kept: a thought is a finished step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from vivavoce.runtime.ports import ToolDefinition

_MAX_WORDS = 8_000
_MAX_CALLS = 8
_MAX_ARGUMENTS = 200_000


@dataclass(frozen=True, slots=True)
class Said:
    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class Called:
    """The model called a tool; `arguments` is JSON as it was written."""

    call_id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Returned:
    """What that call gave."""

    call_id: str
    output: str


Turn = Said | Called | Returned


@dataclass(frozen=True, slots=True)
class Thought:
    """One answer of the model: words, calls, or both."""

    words: str = ""
    calls: tuple[Called, ...] = ()


class Thinker(Protocol):
    async def think(
        self, instructions: str, turns: Sequence[Turn], tools: Sequence[ToolDefinition]
    ) -> Thought:
        """Cancelling stops it. Raises errors of ours when no answer is to be had."""
        ...


def kept(thought: Thought) -> dict[str, Any]:
    """A thought as a step's value, and no more of it than anybody needs."""
    calls = [
        [each.call_id, each.name, each.arguments]
        for each in thought.calls[:_MAX_CALLS]
        if len(each.arguments) <= _MAX_ARGUMENTS
    ]
    return {"words": thought.words[:_MAX_WORDS], "calls": calls}


def recalled(value: dict[str, Any], number: int) -> Thought:
    """Calls get ids of our own: models repeat theirs, or give none."""
    calls = tuple(
        Called(f"call_{number}_{at}", name, arguments)
        for at, (_, name, arguments) in enumerate(value["calls"])
    )
    return Thought(value["words"], calls)
