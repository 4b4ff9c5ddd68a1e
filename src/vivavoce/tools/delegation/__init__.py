"""Delegated work: who carries it through crashes, and the agents that do it.

Nothing of other people's agents is imported before one is named, and none of
their packages before one is used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from vivavoce.runtime.agents.work import A2aAgent, AcpAgent, AmplifierAgent, Delegation
from vivavoce.runtime.ports import ToolDefinition
from vivavoce.runtime.tasks.ports import Backend
from vivavoce.tools.workspace.root import Workspaces


def backends_of(
    delegation: Delegation,
    workspaces: Workspaces,
    folder: Path,
    tools: Callable[[], Sequence[ToolDefinition]] = tuple,
) -> list[Backend]:
    """`folder`: the agent's, where plans are. `tools`: ours, as Amplifier is offered them."""
    named = delegation.agents.items()
    backends: list[Backend] = []
    if acp := {name: agent for name, agent in named if isinstance(agent, AcpAgent)}:
        from vivavoce.tools.delegation.acp import AcpBackend

        backends.append(AcpBackend(acp, workspaces=workspaces))
    if a2a := {name: agent for name, agent in named if isinstance(agent, A2aAgent)}:
        from vivavoce.tools.delegation.a2a.backend import A2aBackend

        backends.append(A2aBackend(a2a))
    if amplifier := {name: agent for name, agent in named if isinstance(agent, AmplifierAgent)}:
        from vivavoce.tools.delegation.amplifier import AmplifierBackend

        backends.append(
            AmplifierBackend(amplifier, workspaces=workspaces, folder=folder, tools=tools)
        )
    return backends
