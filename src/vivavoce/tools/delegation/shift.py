"""One embedded agent at one piece of work: think, call, look, think again.

Every thought and every call is a step of the desk, so after a restart it goes
over what it did without doing it, and on from there. Which model thinks and
which tools exist is given in.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from vivavoce.errors import VivavoceError
from vivavoce.runtime.ports import ToolDefinition
from vivavoce.runtime.tasks.ports import Desk, GaveUp, StepFailed
from vivavoce.tools.delegation import own_tools
from vivavoce.tools.delegation.agents import Agent
from vivavoce.tools.delegation.narration import narrate, short
from vivavoce.tools.delegation.recall import clip, clip_arguments, fit
from vivavoce.tools.delegation.thinking import (
    Called,
    Returned,
    Said,
    Thinker,
    Thought,
    Turn,
    kept,
    recalled,
)

_WRITING = ("write_file", "edit_file")
_MAX_TRIED = 10
_MAX_ERROR = 160
_NUDGE = "Use a tool to go on, or call done with a summary."
_TWICE = "You did exactly this before, with the same outcome. Try something else."


@dataclass(frozen=True, slots=True)
class Bounds:
    """Of one agent's work."""

    thoughts: int = 40
    context_chars: int = 24_000
    result_chars: int = 4_000
    think_seconds: float = 600.0
    patience: tuple[float, ...] = (1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
    """How long to wait, and how often, for a model that does not answer."""


@dataclass(slots=True)
class Shift:
    """What one agent knows while it works."""

    agent: Agent
    desk: Desk
    thinker: Thinker
    tools: Sequence[ToolDefinition]
    """The workspace's tools that this agent may use."""
    bounds: Bounds
    turns: list[Turn] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    tried: list[str] = field(default_factory=list)
    _last: tuple[str, str] | None = None
    _same: int = 0

    async def work(self, brief: str) -> str:
        """The summary it ends with. Raises `GaveUp`."""
        self.turns.append(Said("user", brief))
        for number in range(self.bounds.thoughts):
            thought = await self._think(number)
            if thought.words:
                self.turns.append(Said("assistant", thought.words))
            if not thought.calls:
                if thought.words:
                    return thought.words  # a plain answer is an end too
                self.turns.append(Said("user", _NUDGE))
            for call in thought.calls:
                summary = await self._take(call)
                if summary is not None:
                    return summary
        raise self._gave_up(
            f"I was not done after {self.bounds.thoughts} steps",
            ("Ask for a smaller part of it", "Tell me where to begin"),
        )

    async def _think(self, number: int) -> Thought:
        seen = fit(self.turns, self.bounds.context_chars)
        tools = (*self.tools, *own_tools.OWN)

        async def think() -> dict[str, Any]:
            async with asyncio.timeout(self.bounds.think_seconds):
                return kept(await self.thinker.think(self.agent.prompt, seen, tools))

        async def patiently() -> dict[str, Any]:
            # After a restart the model may still be loading; otherwise once more is worth a try.
            for attempt, pause in enumerate(self.bounds.patience):
                try:
                    return await think()
                except VivavoceError as exc:
                    if attempt and not exc.retryable:
                        raise
                    await asyncio.sleep(pause)
            return await think()

        try:
            return recalled(await self.desk.step("think", patiently), number)
        except VivavoceError as exc:
            fault = exc.message
        except (StepFailed, TimeoutError):
            fault = "something went wrong in it"
        raise self._gave_up(f"The language model did not answer: {fault}", ("Try again later",))

    async def _take(self, call: Called) -> str | None:
        """The summary, when the call was `done`."""
        arguments = own_tools.parsed(call.arguments)
        if arguments is None:
            self._learn(call, _wrong(f"The arguments of {call.name} are not a JSON object."))
            return None
        match call.name:
            case own_tools.DONE:
                return own_tools.text(arguments, "summary") or "It is done."
            case own_tools.GIVE_UP:
                error = own_tools.text(arguments, "error") or "I could not do it"
                tried = own_tools.texts(arguments, "tried")
                raise self._gave_up(error, own_tools.texts(arguments, "suggestions"), tried)
            case own_tools.ASK:
                self._learn(call, await self._ask(arguments))
            case name if any(each.name == name for each in self.tools):
                self._learn(call, await self._use(call, arguments))
            case name:
                names = ", ".join(each.name for each in (*self.tools, *own_tools.OWN))
                self._learn(call, _wrong(f"There is no tool {short(name)}. You have: {names}."))
        return None

    async def _ask(self, arguments: dict[str, Any]) -> str:
        question = own_tools.text(arguments, "question")
        if not question:
            return _wrong("There is no question to ask.")
        return await self.desk.ask(question, own_tools.texts(arguments, "choices"))

    async def _use(self, call: Called, arguments: Mapping[str, Any]) -> str:
        this = (call.name, call.arguments)
        self._same = self._same + 1 if this == self._last else 0
        self._last = this
        if self._same >= 2:  # small models run in circles
            return _wrong(_TWICE)
        what = narrate(call.name, arguments)
        await self.desk.progress(what, phase=self.agent.name)
        try:
            output = await self.desk.call(call.name, arguments)
        except VivavoceError as exc:
            output = _wrong(exc.message)
        except StepFailed:
            output = _wrong(f"{call.name} failed.")
        fault = _fault(output)
        if fault is not None:
            self._remember(f"{what}: {short(fault, _MAX_ERROR)}")
        elif call.name in _WRITING and isinstance(arguments.get("path"), str):
            self._changed(arguments["path"])
        return output

    def _learn(self, call: Called, output: str) -> None:
        longest = self.bounds.result_chars
        arguments = "{}"
        if own_tools.parsed(call.arguments) is not None:  # what is no JSON, some models refuse
            arguments = clip_arguments(call.arguments or "{}", longest)
        self.turns.append(Called(call.call_id, call.name, arguments))
        self.turns.append(Returned(call.call_id, clip(output, longest)))

    def _changed(self, path: str) -> None:
        if path not in self.files:
            self.files.append(path)

    def _remember(self, attempt: str) -> None:
        self.tried = [*self.tried, attempt][-_MAX_TRIED:]

    def _gave_up(self, error: str, suggestions: Sequence[str], tried: Sequence[str] = ()) -> GaveUp:
        return GaveUp(error, tried=tried or self.tried, suggestions=suggestions)


def _wrong(error: str) -> str:
    """An error in the one shape that models are told errors in."""
    return json.dumps({"success": False, "error": error, "recoverable": True})


def _fault(output: str) -> str | None:
    if not output.startswith("{"):
        return None
    value = own_tools.parsed(output)
    if value is None or value.get("success") is not False:
        return None
    return str(value.get("error", "failed"))
