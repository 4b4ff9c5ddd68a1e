"""A brain that answers from a script, as a language model would: piece by piece.

For tests, for demonstrations, and until a language model is configured. It
obeys the question as a model must: the tools that are offered, the choice that
is forced, the length that is allowed. It owns no clock: who wants it slow gives
it a `pause`.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from typing import Any

from vivavoce.brain.script.script import Plan, Script, decide, last_words
from vivavoce.errors import BrainError
from vivavoce.wire.brain import (
    Ask,
    Budget,
    Call,
    CallArguments,
    CallBegun,
    CallEnded,
    Finished,
    Piece,
    Result,
    Said,
    Tool,
    Words,
)

Pause = Callable[[float], Awaitable[None]]
_PIECE = re.compile(r"\s*\S+|\s+$")


def _new_call_id() -> str:
    return f"call_{secrets.token_hex(8)}"


class ScriptedBrain:
    """Fills `Brain`. A token is a word, so that limits are easy to foresee."""

    def __init__(
        self,
        script: Script,
        *,
        pause: Pause | None = None,
        first_delay: float = 0.0,
        word_delay: float = 0.0,
        new_call_id: Callable[[], str] = _new_call_id,
        name: str = "scripted",
    ) -> None:
        if pause is None and (first_delay or word_delay):
            raise ValueError("delays need a pause, such as asyncio.sleep")
        self._script = script
        self._pause = pause
        self._first_delay = first_delay
        self._word_delay = word_delay
        self._new_call_id = new_call_id
        self._name = name

    @property
    def name(self) -> str:
        return self._name

    @property
    def budget(self) -> Budget:
        return Budget(aside="never")  # its lines are for the talk

    def fixed(self, instructions: str, tools: Sequence[Tool]) -> int:
        return self.count(instructions)  # tools it knows from its script

    async def warm(self, ask: Ask) -> None:
        pass  # a script is read already

    def forget(self, live: str) -> None:
        pass  # and remembers nobody

    def count(self, text: str) -> int:
        return len(_PIECE.findall(text))

    async def answer(self, ask: Ask) -> AsyncGenerator[Piece, None]:
        plan = obeying(decide(self._script, ask), ask)
        budget = ask.max_tokens if ask.max_tokens is not None else 10**9
        asked, made = self._size(ask), 0
        await self._wait(self._first_delay)
        for piece, cost in self._pieces(plan):
            if made + cost > budget:
                yield Finished("length", input_tokens=asked, output_tokens=made)
                return
            if made:
                await self._wait(self._word_delay * cost)
            made += cost
            yield piece
        if plan.fails is not None:
            raise BrainError(plan.fails)
        yield Finished("stop", input_tokens=asked, output_tokens=made)

    def _pieces(self, plan: Plan) -> list[tuple[Piece, int]]:
        """Each with its tokens."""
        pieces: list[tuple[Piece, int]] = [(Words(word), 1) for word in _PIECE.findall(plan.say)]
        for name, arguments in plan.calls:
            call_id = self._new_call_id()
            pieces.append((CallBegun(call_id, name), 1))
            written = _PIECE.findall(json.dumps(arguments, ensure_ascii=False))
            pieces += [(CallArguments(call_id, delta), 1) for delta in written]
            pieces.append((CallEnded(call_id), 0))
        return pieces

    async def _wait(self, seconds: float) -> None:
        if self._pause is not None and seconds > 0:
            await self._pause(seconds)

    def _size(self, ask: Ask) -> int:
        total = self.count(ask.instructions)
        for turn in ask.turns:
            match turn:
                case Said(_, text):
                    total += self.count(text)
                case Call(_, name, arguments):
                    total += self.count(name) + self.count(arguments)
                case Result(_, output):
                    total += self.count(output)
        return total


# --- Obeying the choice of tools


def obeying(plan: Plan, ask: Ask) -> Plan:
    """The plan with no more calls than allowed, and with one where one is demanded.

    `decide` calls only what is offered, and nothing where the choice is `none`.
    """
    if plan.fails is not None:
        return plan
    calls = plan.calls
    if (wanted := ask.forced) is not None:
        calls = tuple(call for call in calls if call[0] == wanted) or (_made_up(wanted, ask),)
    elif ask.tool_choice == "required" and not calls:
        if not ask.tools:
            raise BrainError("A call is required, and there is no tool to call.")
        calls = (_made_up(ask.tools[0].name, ask),)
    if not ask.parallel_calls:
        calls = calls[:1]
    # Who must call does not chat: what the script would have said answers something else.
    say = plan.say if calls == plan.calls or not ask.demanded else ""
    return Plan(say, calls)


def _made_up(name: str, ask: Ask) -> tuple[str, Mapping[str, Any]]:
    tool = next((tool for tool in ask.tools if tool.name == name), None)
    if tool is None:
        raise BrainError(f"There is no tool '{name}' to call.")
    return name, least_arguments(tool, last_words(ask) or "")


def least_arguments(tool: Tool, text: str) -> Mapping[str, Any]:
    """Something for every field that the tool requires, as its schema has it."""
    schema = tool.parameters or {}
    properties = schema.get("properties", {})
    return {name: _least(properties.get(name, {}), text) for name in schema.get("required", ())}


def _least(schema: Any, text: str) -> Any:
    if not isinstance(schema, Mapping):
        return text
    if "default" in schema:
        return schema["default"]
    if schema.get("enum"):
        return schema["enum"][0]
    match schema.get("type"):
        case "number" | "integer":
            return schema.get("minimum", 0)
        case "boolean":
            return False
        case "array":
            return []
        case "object":
            return {}
        case _:
            return text
