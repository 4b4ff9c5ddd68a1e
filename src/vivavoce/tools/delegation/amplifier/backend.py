"""The Amplifier backend: sessions of `amplifier-core` in our own process, one for each task.

A session is made from a mount plan in the agent folder, or from a bundle of
foundation's where that is installed. Its modules are the operator's choice and
run with our rights; what its tools do passes the context.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path

from vivavoce.runtime.agents.work import AmplifierAgent
from vivavoce.runtime.ports import ToolDefinition
from vivavoce.runtime.tasks.ports import Done, GaveUp, StepValue, TaskContext, Work
from vivavoce.tools.delegation.amplifier.plan import Approvals, Display, plan_file, read_plan
from vivavoce.tools.delegation.amplifier.session import Wiring, Worker, equipped, opened, uncut
from vivavoce.tools.delegation.briefs import brief, told
from vivavoce.tools.delegation.named import Named
from vivavoce.tools.delegation.window import Window, attempted
from vivavoce.tools.workspace.root import Workspaces

NOT_OFFERED = frozenset({"task", "ask_user", "cancel_task", "list_tasks"})
"""Nobody delegates what was delegated to them; a question of theirs goes its own way."""
WORK_SECONDS = 4 * 3600.0


class AmplifierBackend(Named[AmplifierAgent]):
    name, module, package = "amplifier", "amplifier_core", "amplifier-core"

    def __init__(
        self,
        agents: Mapping[str, AmplifierAgent],
        *,
        workspaces: Workspaces,
        folder: Path,
        tools: Callable[[], Sequence[ToolDefinition]],
    ) -> None:
        """`folder`: where the plans are. `tools`: what the workspace offers now."""
        super().__init__(agents)
        self._workspaces = workspaces
        self._folder = folder
        self._tools = tools

    def described(self, agent: AmplifierAgent) -> str:
        return "An Amplifier session"

    def why_not(self, agent: AmplifierAgent) -> str:
        if agent.bundle and find_spec("amplifier_foundation") is None:
            return (
                f"the bundle {agent.bundle} needs amplifier-foundation, "
                "which is installed from its repository"
            )
        if not agent.bundle and not agent.config:
            return "it names neither a config nor a bundle"
        if agent.config and plan_file(self._folder, agent.config) is None:
            return f"there is no {agent.config} in the agent's folder"
        return ""

    async def work(self, work: Work, agent: AmplifierAgent, context: TaskContext) -> Done:
        async def begin(died: Sequence[StepValue]) -> StepValue:
            return {"again": bool(died)}

        async def do(begun: StepValue) -> StepValue:
            return await self._work(work, agent, Window(context), again=begun["again"])

        end = await attempted(context, begin, do)
        return Done(summary=end["summary"], files_changed=tuple(end["files"]))

    async def _work(
        self, work: Work, agent: AmplifierAgent, window: Window, *, again: bool
    ) -> StepValue:
        offered = [tool for tool in self._tools() if tool.name not in NOT_OFFERED]
        workspace = await asyncio.to_thread(self._workspaces.of, work.user_id)
        wiring = Wiring(window, offered, workspace.root, self._folder)
        if agent.bundle:
            ready = _from_bundle(agent.bundle, wiring, work.agent)
        else:
            plan = await asyncio.to_thread(read_plan, self._folder, agent.config)
            ready = opened(plan, wiring, work.agent)
        try:
            async with (
                asyncio.timeout(WORK_SECONDS),
                window.open(),
                ready as worker,
            ):
                answer = await worker.execute(brief(work, again=again))
        except TimeoutError:
            raise GaveUp(f"The agent {work.agent} did not finish in time") from None
        return {"summary": told(answer, "It is done."), "files": wiring.files}


@asynccontextmanager
async def _from_bundle(bundle: str, wiring: Wiring, phase: str) -> AsyncIterator[Worker]:
    """Foundation makes it, with all that a bundle brings; then it is wired as any other."""
    foundation = await asyncio.to_thread(importlib.import_module, "amplifier_foundation")
    try:
        prepared = await (await foundation.load_bundle(bundle)).prepare()
        session = await uncut(
            prepared.create_session(
                approval_system=Approvals(wiring.window, phase),
                display_system=Display(wiring.window, phase),
                session_cwd=wiring.workspace,
            )
        )
    except Exception as exc:  # another's code, and the network's
        why = told(str(exc), type(exc).__name__, 300)
        raise GaveUp(f"The bundle {bundle} could not be set up: {why}") from None
    try:
        yield Worker(session, await equipped(session.coordinator, wiring, phase))
    finally:
        with contextlib.suppress(Exception):
            await session.cleanup()
