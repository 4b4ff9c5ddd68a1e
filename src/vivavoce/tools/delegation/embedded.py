"""The embedded backend: our own agents, on whatever language model is configured.

One agent, or several one after another with what each found handed to the
next. How an agent works is in `shift`, who they are in `agents`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from vivavoce.runtime.ports import ToolDefinition
from vivavoce.runtime.tasks.ports import AgentCard, Desk, Done, GaveUp, Work
from vivavoce.tools.delegation.agents import (
    AGENTS,
    FOUNDATION,
    TEAM,
    TEAM_DESCRIPTION,
    Agent,
    phases,
)
from vivavoce.tools.delegation.recall import clip
from vivavoce.tools.delegation.shift import Bounds, Shift
from vivavoce.tools.delegation.thinking import Thinker

_HANDED_ON = 4_000
_MAX_FILES = 200


class EmbeddedBackend:
    """A `Backend`."""

    def __init__(
        self,
        thinker: Thinker,
        tools: Callable[[], Sequence[ToolDefinition]],
        *,
        bounds: Bounds | None = None,
        why_not: str = "",
    ) -> None:
        """`tools`: what the workspace offers now. `why_not`: why no work can be taken, if so."""
        self._thinker = thinker
        self._tools = tools
        self._bounds = bounds or Bounds()
        self._why_not = why_not

    @property
    def name(self) -> str:
        return "embedded"

    def agents(self) -> Sequence[AgentCard]:
        own = [(agent.name, agent.description) for agent in AGENTS.values()]
        named = [*own, (TEAM, TEAM_DESCRIPTION), *((FOUNDATION + n, d) for n, d in own)]
        return [
            AgentCard(
                name=name,
                description=description,
                backend=self.name,
                available=not self._why_not,
                why_not=self._why_not,
            )
            for name, description in named
        ]

    async def run(self, work: Work, desk: Desk) -> Done:
        agents = phases(work.agent, work.description)
        if not agents:
            raise GaveUp(f"There is no agent named {work.agent}")
        told: list[tuple[Agent, str]] = []
        files: list[str] = []
        for at, agent in enumerate(agents):
            if len(agents) > 1:
                percentage = 100 * at // len(agents)
                await desk.progress(agent.phase, percentage=percentage, phase=agent.name)
            shift = Shift(agent, desk, self._thinker, self._for(agent), self._bounds)
            told.append((agent, await shift.work(_brief(work, told, files))))
            files += [each for each in shift.files if each not in files]
        return Done(summary=_summary(told), files_changed=tuple(files[:_MAX_FILES]))

    async def close(self) -> None:
        """Nothing of it outlives `run`."""

    def _for(self, agent: Agent) -> list[ToolDefinition]:
        return [each for each in self._tools() if each.name in agent.tools]


def _brief(work: Work, told: Sequence[tuple[Agent, str]], files: Sequence[str]) -> str:
    parts = [clip(work.description, 2 * _HANDED_ON)]
    if work.context:
        parts.append(f"What was said before:\n{clip(work.context, _HANDED_ON)}")
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
