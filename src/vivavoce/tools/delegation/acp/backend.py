"""The ACP backend: local coding agents (Claude Code, Codex, Gemini CLI and others), each a command.

An agent is the operator's choice and runs with the operator's rights, in the
workspace; what it asks for passes the desk. How it is given work is in `acp_visit`.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from importlib.util import find_spec
from pathlib import Path

from vivavoce.runtime.agents.work import AcpAgent
from vivavoce.runtime.tasks.ports import AgentCard, Desk, Done, GaveUp, Work
from vivavoce.tools.delegation.acp.visit import Bounds, Visit, found
from vivavoce.tools.delegation.attempts import attempted
from vivavoce.tools.delegation.window import Window
from vivavoce.tools.workspace.root import HIDDEN, Workspace


class AcpBackend:
    """A `Backend`."""

    def __init__(
        self,
        agents: Mapping[str, AcpAgent],
        *,
        workspace: Path,
        hidden: Iterable[Path] = (),
        bounds: Bounds | None = None,
    ) -> None:
        """`hidden`: what of the workspace is not for agents, beside what never is."""
        self._agents = dict(agents)
        self._workspace = Workspace(workspace, hidden=(*HIDDEN, *hidden))
        self._bounds = bounds or Bounds()

    @property
    def name(self) -> str:
        return "acp"

    def agents(self) -> Sequence[AgentCard]:
        return [self._card(name, agent) for name, agent in self._agents.items()]

    def _card(self, name: str, agent: AcpAgent) -> AgentCard:
        why_not = ""
        if find_spec("acp") is None:
            why_not = "the package agent-client-protocol is not installed"
        elif found(agent) is None:
            why_not = f"there is no command {agent.command} here"
        return AgentCard(
            name=name,
            description=agent.description or f"A coding agent: {Path(agent.command).name}",
            backend=self.name,
            available=not why_not,
            why_not=why_not,
        )

    async def run(self, work: Work, desk: Desk) -> Done:
        agent = self._agents.get(work.agent)
        if agent is None:
            raise GaveUp(f"There is no agent named {work.agent}")
        # Its models take a second to import: not on the loop.
        await asyncio.to_thread(importlib.import_module, "acp")
        async with AsyncExitStack() as stack:
            visit = Visit(work, agent, Window(desk), self._workspace, self._bounds, stack)
            end = await attempted(desk, visit.begin, visit.work)
        return Done(summary=end["summary"], files_changed=tuple(end["files"]))

    async def close(self) -> None:
        """Nothing of it outlives `run`."""
