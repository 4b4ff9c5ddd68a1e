"""Questions to a brain, and its answers put together."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass, field
from typing import Any

from vivavoce.brain.script.brain import ScriptedBrain
from vivavoce.brain.script.script import Rule, Script
from vivavoce.wire.brain import (
    Ask,
    Brain,
    Call,
    CallArguments,
    CallBegun,
    CallEnded,
    Finished,
    Piece,
    Result,
    Said,
    Tool,
    Turn,
    Words,
)


def ask(*turns: Turn | str, tools: tuple[str | Tool, ...] = (), **more: Any) -> Ask:
    """Plain text is what the user said."""
    said = tuple(Said("user", turn) if isinstance(turn, str) else turn for turn in turns)
    given = tuple(Tool(tool) if isinstance(tool, str) else tool for tool in tools)
    return Ask("", said, given, **more)


def returned(name: str, output: str, call_id: str = "call_0") -> tuple[Turn, ...]:
    return (Call(call_id, name, "{}"), Result(call_id, output))


def brain(*rules: Rule, script: Script | None = None, **more: Any) -> ScriptedBrain:
    numbers = itertools.count(1)
    return ScriptedBrain(
        script or Script(rules=rules), new_call_id=lambda: f"call_{next(numbers)}", **more
    )


@dataclass
class Answer:
    pieces: list[Piece] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self.pieces if isinstance(piece, Words))

    @property
    def calls(self) -> list[tuple[str, Any]]:
        """Whole calls only."""
        names = {p.call_id: p.name for p in self.pieces if isinstance(p, CallBegun)}
        ended = [p.call_id for p in self.pieces if isinstance(p, CallEnded)]
        return [(names[call_id], json.loads(self.arguments(call_id))) for call_id in ended]

    def arguments(self, call_id: str) -> str:
        deltas = (p for p in self.pieces if isinstance(p, CallArguments))
        return "".join(p.delta for p in deltas if p.call_id == call_id)

    @property
    def end(self) -> Finished:
        last = self.pieces[-1]
        assert isinstance(last, Finished)
        assert sum(isinstance(piece, Finished) for piece in self.pieces) == 1
        return last


async def answer(thinker: Brain, question: Ask) -> Answer:
    return Answer([piece async for piece in thinker.answer(question)])
