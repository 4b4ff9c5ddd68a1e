"""The built-in agents, on whatever language model is configured: think, call, look, think again.

One agent, or several one after another with what each found handed to the
next. Every thought and every call is a recorded step, so after a restart an
agent goes over what it did without doing it, and on from there. Which model
thinks and which tools exist is given in.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from vivavoce.errors import Unavailable, VivavoceError
from vivavoce.retrying import retried
from vivavoce.runtime.ports import ToolDefinition
from vivavoce.runtime.tasks.ports import AgentCard, Done, GaveUp, StepFailed, TaskContext, Work
from vivavoce.tools.delegation import own_tools
from vivavoce.tools.delegation.briefs import clip, clip_arguments, fit, ordered
from vivavoce.tools.delegation.narration import narrate, short
from vivavoce.wire.brain import (
    Ask,
    Brain,
    Call,
    CallArguments,
    CallBegun,
    Result,
    Said,
    Tool,
    Turn,
    Words,
)
from vivavoce.wire.hints import bare
from vivavoce.wire.values import Value

FindBrain = Callable[[], Brain | None]
"""The language model, once there is one."""
READING = ("read_file", "glob", "grep", "web_fetch", "web_search")
CHANGING = (*READING, "write_file", "edit_file", "bash")


class Agent(Value):
    name: str
    description: str
    """What it is good for, as it is listed."""
    phase: str
    """What is said when its turn begins (seed 001 §4.2)."""
    duty: str
    changes: bool = False

    @property
    def tools(self) -> tuple[str, ...]:
        return CHANGING if self.changes else READING

    @property
    def prompt(self) -> str:
        return f"{self.duty}\n\n{own_tools.FILE['everybody']}"


AGENTS = {one["name"]: Agent(**one) for one in own_tools.FILE["agents"]}

TEAM = "team"
TEAM_DESCRIPTION = "For big work: plans it, does it, reviews it, one agent after another."
_TEAM = (AGENTS["planner"], AGENTS["coder"], AGENTS["reviewer"])
FOUNDATION = "foundation:"

# "Plan it, implement it and then review it", in this order: whoever says so wants all three.
_PHASES = re.compile(
    r"\b(?:plan|design)\b.{0,200}\b(?:implement|build|write|code)\b.{0,200}\breview\b",
    re.IGNORECASE | re.DOTALL,
)


def phases(agent: str, description: str) -> tuple[Agent, ...]:
    """Who does it, in order; none where nobody has the name."""
    name = agent.removeprefix(FOUNDATION)
    if name == TEAM or (name == "coder" and _PHASES.search(description)):
        return _TEAM
    return (AGENTS[name],) if name in AGENTS else ()


_WRITING = ("write_file", "edit_file")
_MAX_WORDS = 8_000
_MAX_CALLS = 8
_MAX_ARGUMENTS = 200_000
_MAX_TRIED = 10
_MAX_ERROR = 160
_NUDGE = "Use a tool to go on, or call done with a summary."
_TWICE = "You did exactly this before, with the same outcome. Try something else."


class Bounds(Value):
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
    context: TaskContext
    brain: FindBrain
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
            words, calls = await self._think(number)
            if words:
                self.turns.append(Said("assistant", words))
            if not calls:
                if words:
                    return words  # a plain answer is an end too
                self.turns.append(Said("user", _NUDGE))
            for call in calls:
                summary = await self._take(call)
                if summary is not None:
                    return summary
        raise self._gave_up(
            f"I was not done after {self.bounds.thoughts} steps",
            ("Ask for a smaller part of it", "Tell me where to begin"),
        )

    async def _think(self, number: int) -> tuple[str, Sequence[Call]]:
        """Its words and the calls it makes."""
        seen = fit(self.turns, self.bounds.context_chars)
        offered = (*self.tools, *own_tools.OWN)
        tools = tuple(Tool(one.name, one.described, bare(one.parameters)) for one in offered)

        async def think() -> dict[str, Any]:
            async with asyncio.timeout(self.bounds.think_seconds):
                return await _thought(self.brain(), Ask(self.agent.prompt, tuple(seen), tools))

        async def patiently() -> dict[str, Any]:
            # After a restart the model may still be loading; otherwise once more is worth a try.
            return await retried(think, wait)

        def wait(fault: Exception, failures: int) -> float | None:
            patience = self.bounds.patience
            worth = isinstance(fault, VivavoceError) and (failures == 1 or fault.retryable)
            return patience[failures - 1] if worth and failures <= len(patience) else None

        try:
            return _recalled(await self.context.step("think", patiently), number)
        except VivavoceError as exc:
            fault = exc.message
        except (StepFailed, TimeoutError):
            fault = "something went wrong in it"
        raise self._gave_up(f"The language model did not answer: {fault}", ("Try again later",))

    async def _take(self, call: Call) -> str | None:
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
        return await self.context.ask(question, own_tools.texts(arguments, "choices"))

    async def _use(self, call: Call, arguments: Mapping[str, Any]) -> str:
        this = (call.name, call.arguments)
        self._same = self._same + 1 if this == self._last else 0
        self._last = this
        if self._same >= 2:  # small models run in circles
            return _wrong(_TWICE)
        what = narrate(call.name, arguments)
        await self.context.progress(what, phase=self.agent.name)
        try:
            output = await self.context.call(call.name, arguments)
        except VivavoceError as exc:
            output = _wrong(exc.message)
        except StepFailed:
            output = _wrong(f"{call.name} failed.")
        fault, path = own_tools.fault(output), arguments.get("path")
        if fault is not None:
            self.tried = [*self.tried, f"{what}: {short(fault, _MAX_ERROR)}"][-_MAX_TRIED:]
        elif call.name in _WRITING and isinstance(path, str) and path not in self.files:
            self.files.append(path)
        return output

    def _learn(self, call: Call, output: str) -> None:
        longest = self.bounds.result_chars
        arguments = "{}"
        if own_tools.parsed(call.arguments) is not None:  # what is no JSON, some models refuse
            arguments = clip_arguments(call.arguments or "{}", longest)
        self.turns.append(Call(call.call_id, call.name, arguments))
        self.turns.append(Result(call.call_id, clip(output, longest)))

    def _gave_up(self, error: str, suggestions: Sequence[str], tried: Sequence[str] = ()) -> GaveUp:
        return GaveUp(error, tried=tried or self.tried, suggestions=suggestions)


async def _thought(brain: Brain | None, ask: Ask) -> dict[str, Any]:
    """One answer as a step's value, JSON, and no more of it than anybody needs."""
    if brain is None:
        raise Unavailable("The brain is not ready yet", retry_after_ms=5000)
    words, calls = "", dict[str, list[str]]()
    async with aclosing(brain.answer(ask)) as pieces:
        async for piece in pieces:
            match piece:
                case Words(text):
                    words += text
                case CallBegun(call_id, name):
                    calls[call_id] = [call_id, name, ""]
                case CallArguments(call_id, delta):
                    calls[call_id][2] += delta
                case _:
                    pass
    made = [each for each in list(calls.values())[:_MAX_CALLS] if len(each[2]) <= _MAX_ARGUMENTS]
    return {"words": words.strip()[:_MAX_WORDS], "calls": made}


def _recalled(step: Mapping[str, Any], number: int) -> tuple[str, list[Call]]:
    """Calls get ids of our own: models repeat theirs, or give none."""
    made = enumerate(step["calls"])
    return step["words"], [Call(f"call_{number}_{at}", name, a) for at, (_, name, a) in made]


def _wrong(error: str) -> str:
    """An error in the one shape that models are told errors in."""
    return json.dumps({"success": False, "error": error, "recoverable": True})


_HANDED_ON = 4_000
_MAX_FILES = 200


class BuiltInBackend:
    """A `Backend`. Nothing of it outlives `run`."""

    name = "embedded"  # as clients and stored tasks have it; elsewhere the word is the engine's

    def __init__(
        self,
        brain: FindBrain,
        tools: Callable[[], Sequence[ToolDefinition]],
        *,
        bounds: Bounds | None = None,
        why_not: Callable[[], str] = str,
    ) -> None:
        """`tools`: what the workspace offers now. `why_not`: why no work can be taken now, if
        so."""
        self._brain = brain
        self._tools = tools
        self._bounds = bounds or Bounds()
        self._why_not = why_not

    def agents(self) -> Sequence[AgentCard]:
        own = [(agent.name, agent.description) for agent in AGENTS.values()]
        named = [*own, (TEAM, TEAM_DESCRIPTION), *((FOUNDATION + n, d) for n, d in own)]
        return [
            AgentCard(name=name, description=about, backend=self.name, why_not=self._why_not())
            for name, about in named
        ]

    async def run(self, work: Work, context: TaskContext) -> Done:
        agents = phases(work.agent, work.description)
        if not agents:
            raise GaveUp(f"There is no agent named {work.agent}")
        told: list[tuple[Agent, str]] = []
        files: list[str] = []
        for at, agent in enumerate(agents):
            if len(agents) > 1:
                percentage = 100 * at // len(agents)
                await context.progress(agent.phase, percentage=percentage, phase=agent.name)
            may = agent.tools if work.tools is None else set(agent.tools) & set(work.tools)
            tools = [each for each in self._tools() if each.name in may]
            shift = Shift(agent, context, self._brain, tools, self._bounds)
            told.append((agent, await shift.work(_brief(work, told, files))))
            files += [each for each in shift.files if each not in files]
        return Done(summary=_summary(told), files_changed=tuple(files[:_MAX_FILES]))


def _brief(work: Work, told: Sequence[tuple[Agent, str]], files: Sequence[str]) -> str:
    parts = ordered(work, _HANDED_ON)
    parts += [f"From the {agent.name}:\n{clip(words, _HANDED_ON)}" for agent, words in told]
    if files:
        parts.append("Changed so far: " + ", ".join(files[:_MAX_FILES]))
    return "\n\n".join(parts)


def _summary(told: Sequence[tuple[Agent, str]]) -> str:
    """A plan was for the coder: what the user hears is what was done, and what the review found."""
    if len(told) == 1:
        return told[0][1]
    (_, done), (_, review) = told[-2:]
    return f"{done} The review says: {review}"
