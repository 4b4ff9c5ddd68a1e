"""Backends of other people's agents: those that the operator names in `agent.yaml`."""

from __future__ import annotations

import asyncio
import importlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import ClassVar, Generic, TypeVar

from vivavoce.runtime.agents.work import A2aAgent, AcpAgent, AmplifierAgent
from vivavoce.runtime.tasks.ports import AgentCard, Done, GaveUp, TaskContext, Work

A = TypeVar("A", AcpAgent, A2aAgent, AmplifierAgent)


class Named(ABC, Generic[A]):
    """A `Backend`. Nothing of it outlives `run`."""

    name: ClassVar[str]
    module: ClassVar[str]
    """Of the library behind it, which is imported when it is used."""
    package: ClassVar[str]
    """As it is installed."""

    def __init__(self, agents: Mapping[str, A]) -> None:
        self._agents: dict[str, A] = dict(agents)

    def agents(self) -> Sequence[AgentCard]:
        lacking = find_spec(self.module.partition(".")[0]) is None
        return [
            AgentCard(
                name=name,
                description=agent.description or self.described(agent),
                backend=self.name,
                why_not=f"the package {self.package} is not installed"
                if lacking
                else self.why_not(agent),
            )
            for name, agent in self._agents.items()
        ]

    async def run(self, work: Work, context: TaskContext) -> Done:
        agent = self._agents.get(work.agent)
        if agent is None:
            raise GaveUp(f"There is no agent named {work.agent}")
        # Takes a second: not on the loop.
        await asyncio.to_thread(importlib.import_module, self.module)
        return await self.work(work, agent, context)

    def why_not(self, agent: A) -> str:
        return ""

    @abstractmethod
    def described(self, agent: A) -> str: ...

    @abstractmethod
    async def work(self, work: Work, agent: A, context: TaskContext) -> Done: ...
