"""A brain for agents at work: the language model that is configured, asked without a voice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import aclosing

from vivavoce.brain import ports as brain
from vivavoce.errors import Unavailable
from vivavoce.runtime.ports import ToolDefinition
from vivavoce.tools.delegation.thinking import Called, Returned, Said, Thought, Turn


class BrainThinker:
    """Fills the agents' `Thinker`. `find` gives the brain once there is one."""

    def __init__(self, find: Callable[[], brain.Brain | None]) -> None:
        self._find = find

    async def think(
        self, instructions: str, turns: Sequence[Turn], tools: Sequence[ToolDefinition]
    ) -> Thought:
        found = self._find()
        if found is None:
            raise Unavailable("The brain is not ready yet", retry_after_ms=5000)
        ask = brain.Ask(
            instructions=instructions,
            turns=tuple(map(_turn, turns)),
            tools=tuple(brain.Tool(t.name, t.described, t.parameters) for t in tools),
        )
        words, calls = "", dict[str, Called]()
        async with aclosing(found.answer(ask)) as pieces:
            async for piece in pieces:
                match piece:
                    case brain.Words(text):
                        words += text
                    case brain.CallBegun(call_id, name):
                        calls[call_id] = Called(call_id, name, "")
                    case brain.CallArguments(call_id, delta):
                        before = calls[call_id]
                        calls[call_id] = Called(call_id, before.name, before.arguments + delta)
                    case _:
                        pass
        return Thought(words.strip(), tuple(calls.values()))


def _turn(turn: Turn) -> brain.Turn:
    match turn:
        case Said(role, text):
            return brain.Said(role, text)
        case Called(call_id, name, arguments):
            return brain.Call(call_id, name, arguments)
        case Returned(call_id, output):
            return brain.Result(call_id, output)
