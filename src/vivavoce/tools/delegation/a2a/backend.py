"""The A2A backend: remote agents, by the address of their card.

Each turn of the conversation is a step: what was sent, how it stood, what the
user answered. So after a restart the remote task is followed on, not begun
again. A crash between sending and noting the id is the one gap: the message's
own id is the same then, for agents that look at it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vivavoce.runtime.agents.work import A2aAgent
from vivavoce.runtime.tasks.ports import GOES_ON, Done, GaveUp, StepValue, TaskContext, Work
from vivavoce.tools.delegation.a2a.words import Bounds, origin
from vivavoce.tools.delegation.briefs import brief, told
from vivavoce.tools.delegation.named import Named
from vivavoce.tools.delegation.window import Window

if TYPE_CHECKING:
    from vivavoce.tools.delegation.a2a.client import Talk

_MAX_TURNS = 50
_MAX_STARTS = 3


class A2aBackend(Named[A2aAgent]):
    name, module, package = "a2a", "a2a.client", "a2a-sdk"

    def __init__(self, agents: Mapping[str, A2aAgent], *, bounds: Bounds | None = None) -> None:
        super().__init__(agents)
        self._bounds = bounds or Bounds()

    def described(self, agent: A2aAgent) -> str:
        return f"A remote agent at {origin(agent.url)}"

    async def work(self, work: Work, agent: A2aAgent, context: TaskContext) -> Done:
        from vivavoce.tools.delegation.a2a.client import Talk  # needs what may not be installed

        async with Talk(work.agent, agent, Window(context), self._bounds) as talk:
            return await _Errand(work, context, talk).run()


@dataclass
class _Errand:
    _order: Work
    _task: TaskContext
    _talk: Talk
    _sent: int = 0

    async def run(self) -> Done:
        for start in range(_MAX_STARTS):
            task = await self._send(brief(self._order, again=start > 0))
            if "reply" in task:
                return Done(summary=told(task["reply"], "It is done."))
            try:
                end = await self._to_its_end(task)
            except asyncio.CancelledError as exc:
                if GOES_ON not in exc.args:
                    await self._talk.cancel(task["task"])
                raise
            if end is not None:
                return end
        raise GaveUp(f"The agent {self._order.agent} stopped the work again and again")

    async def _send(self, text: str, task: StepValue = None) -> StepValue:
        self._sent += 1
        message_id = f"{self._order.task_id}-{self._sent}"
        return await self._task.step("send", lambda: self._talk.send(text, message_id, task))

    async def _to_its_end(self, task: StepValue) -> Done | None:
        """None where it was stopped while nobody here could have wished so: it starts again."""
        name = self._order.agent
        for _ in range(_MAX_TURNS):
            now = await self._task.step("follow", lambda: self._talk.follow(task["task"]))
            words = told(now["words"], "")
            match now["state"]:
                case "completed":
                    return Done(summary=told(now["result"], words or "It is done."))
                case "input_required":
                    answer = await self._task.ask(words or f"{name} needs to know more.")
                    reply = await self._send(answer, task)
                    if "reply" in reply:
                        return Done(summary=told(reply["reply"], "It is done."))
                case "auth_required":
                    hint = f"Give {name} access, in its headers in agent.yaml or on its own side"
                    error = f"The agent {name} needs to be let in first"
                    raise GaveUp(f"{error}: {words}" if words else error, suggestions=[hint])
                case "canceled" if not now["known"]:
                    return None
                case state:
                    how = {"rejected": "did not take the task", "canceled": "stopped the work"}
                    error = f"The agent {name} {how.get(state, 'failed')}"
                    raise GaveUp(f"{error}: {words}" if words else error)
        raise GaveUp(f"The agent {name} asked more than {_MAX_TURNS} times")
