"""An agent folder with everything in it: what `serve` begins with and `agent check` tells.

Here since it takes both `runtime` (agent and prompt) and `intents`, which do not know each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from vivavoce.app.settings import named_values
from vivavoce.intents.delivery.http import key_of
from vivavoce.intents.orchestrator.builtin import known_routes
from vivavoce.intents.registry.definition import IntentDefinition, Parameter
from vivavoce.intents.registry.intents import (
    IntentRegistry,
    check_routes,
    check_tools,
    load_intents,
)
from vivavoce.runtime.agents.agent import Agent, check_names, find_agent, load_agent, together
from vivavoce.runtime.agents.source import AgentSource
from vivavoce.runtime.agents.work import Backend
from vivavoce.tools.registry import Registry


def open_agent(
    name_or_path: str | Path,
    agents_dir: Path | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> AgentSource[IntentRegistry]:
    """Raises `FileProblems` with what is wrong in any of its files."""
    folder = find_agent(name_or_path, agents_dir)
    return AgentSource(partial(load_agent, folder, None, overrides), load_intents, folder=folder)


def check_agent(
    agent: Agent,
    intents: IntentRegistry,
    *,
    voices: Sequence[str],
    tools: Registry,
    voice_setting: str | None = None,
) -> None:
    """Is there what it names? Raises `FileProblems`."""
    routes = known_routes() if agent.backend is None else None
    # Those of everybody: the intents' own are the folder's.
    known = [tool.name for tool in tools.known() if tool.category != "intents"]
    together(
        lambda: check_names(
            agent,
            voices=voices,
            tools=[*known, *intents.tool_names],
            voice_setting=voice_setting,
        ),
        lambda: together(
            lambda: check_tools(intents, agent.folder, known),
            lambda: check_routes(intents, agent.folder, routes),
        ),
    )


def filled(backend: Backend) -> tuple[Backend | None, list[str]]:
    """With its secret; or why it cannot be used yet. That is no mistake of the folder: the
    environment may be another one where it is served."""
    found, problems = backend.filled(named_values())
    if found is not None:
        try:
            key_of(found.secret)
        except ValueError as exc:
            return None, [f"orchestrator.secret: {exc}"]
    return found, problems


def described(agent: Agent, intents: IntentRegistry, tools: Sequence[str]) -> Iterator[str]:
    """What `agent check` shows of one that is fine. `tools` are those that it has."""
    count = len(tools)
    yield f"{agent.name}: fine ({count} tools, a prompt of {len(agent.prompt)} characters)"
    yield f"  voice: {agent.voice}"
    own = [name for name in tools if name not in intents.tool_names]
    yield f"  tools: {', '.join(own) or 'none but its intents'}"
    if agent.backend is not None:
        yield f"  orchestrator: {agent.backend.url}"
        for problem in filled(agent.backend)[1]:
            yield f"  warning: {problem}: nothing will be sent, and all of it kept"
    for one in intents.definitions:
        yield f"  intent {one.name} → {one.url or one.route}: {_needed(one)}"


def _needed(intent: IntentDefinition) -> str:
    needed = [one.name for one in intent.parameters if one.required]
    needed += [f"{one.name} if {_when(one)}" for one in intent.parameters if one.required_when]
    return f"needs {', '.join(needed)}" if needed else "needs nothing"


def _when(one: Parameter) -> str:
    return " and ".join(
        f"{name} is {' or '.join(map(str, values))}" for name, values in one.conditions.items()
    )
