"""What the voice can do, put together: workspace, sandbox, web, MCP servers, agents.

As `engine.py` is for the engine, this is for the tools. What each part does is
its own package's matter.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar, cast

from vivavoce.app.begin import Begin, at_once
from vivavoce.app.settings import Settings, named_values, plain
from vivavoce.runtime.agents.agent import Agent
from vivavoce.runtime.agents.mcp import resolve
from vivavoce.runtime.people.memory import DISCOVERIES
from vivavoce.runtime.ports import Clock, Store
from vivavoce.runtime.tasks.ports import Backends
from vivavoce.tools.bash import bash_tool
from vivavoce.tools.builtin import Delegation, ask_user, builtins, read_output_tool, task_tools
from vivavoce.tools.delegation import backends_of
from vivavoce.tools.delegation.builtin import BuiltInBackend
from vivavoce.tools.delegation.carrier import DurableCarrier
from vivavoce.tools.mcp.servers import McpServers
from vivavoce.tools.registry import Registry
from vivavoce.tools.sandbox.ports import NoSandbox, Sandbox
from vivavoce.tools.sandbox.probe import LateSandbox, probe
from vivavoce.tools.web.tools import WebSettings, web_tools
from vivavoce.tools.workspace.root import HIDDEN, Workspace
from vivavoce.tools.workspace.tools import workspace_tools
from vivavoce.wire.brain import Brain

log = logging.getLogger(__name__)
T = TypeVar("T")


class Toolset:
    """The tools of one server and what they stand on."""

    def __init__(
        self,
        settings: Settings,
        agent: Agent,
        clock: Clock,
        store: Store,
        find_brain: Callable[[], Brain | None],
        *,
        instance: str,
    ) -> None:
        self._settings = settings
        self._sandbox = LateSandbox()
        self._hidden = _inside(settings.data_dir, settings.workspace)
        self._workspace = Workspace(settings.workspace, hidden=(*HIDDEN, *self._hidden))
        self.registry = _tools(settings, clock, self._workspace, self._sandbox, store)
        servers = _logged("MCP", resolve(agent.servers, named_values()))
        self._servers = McpServers(servers, self.registry)
        others = backends_of(
            _logged("Delegation", agent.delegation.filled(named_values())),
            settings.workspace,
            agent.folder,
            self.registry.definitions,
            self._hidden,
        )
        self.backends = Backends((BuiltInBackend(find_brain, self.registry.definitions), *others))
        name = instance.replace(":", "-")
        self.carrier = DurableCarrier(
            _work_url(settings), self.backends, executor_id=name, lazy=True
        )

    def offer_delegation(self, delegation: Delegation) -> None:
        """Once there is somebody to delegate to: the tools by which the voice uses it."""
        _offer(self.registry, delegation, [c.name for c in self.backends.cards() if c.available])

    def discoveries(self) -> str:
        """What the project should remember; nothing where there is no such file."""
        try:
            return self._workspace.read(DISCOVERIES).decode("utf-8", "replace")
        except Exception:  # no such file, no such folder: then there is nothing to remember
            return ""

    @asynccontextmanager
    async def running(self, begin: Begin = at_once) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            group = await stack.enter_async_context(asyncio.TaskGroup())
            probing = group.create_task(self._settle(begin), name="sandbox")
            await stack.enter_async_context(self._servers.running())
            try:
                yield
            finally:
                probing.cancel()

    async def _settle(self, begin: Begin) -> None:
        await begin()
        try:
            await self._sandbox.settle(self._probe)
        except Exception:  # the boundary of this task: commands are off, the rest goes on
            log.exception("The sandboxes could not be tried")

    async def _probe(self) -> Sandbox:
        if not self._settings.workspace.is_dir():
            return NoSandbox(f"there is no folder {self._settings.workspace}")
        return await probe(
            self._settings.workspace,
            search_path=os.environ.get("PATH", ""),
            hidden=self._hidden,
        )

    def status(self) -> Mapping[str, Any]:
        return {
            "sandbox": self._sandbox,
            "agents": self.backends.cards(),
            "mcp": [asdict(server) for server in self._servers.status()],
        }


def known_tools(settings: Settings, clock: Clock) -> Registry:
    """Every tool that `serve` would have before its MCP servers answer; none of them can run."""
    sandbox = NoSandbox("this is only a list")
    registry = _tools(settings, clock, Workspace(settings.workspace), sandbox, cast("Store", None))
    _offer(registry, cast("Delegation", None), ())
    return registry


def _tools(
    settings: Settings, clock: Clock, workspace: Workspace, sandbox: Sandbox, store: Store
) -> Registry:
    web = WebSettings(
        allowed_hosts=settings.web_allowed_hosts,
        search_backend=settings.search_backend,
        search_url=settings.search_url or None,
        search_key=plain(settings.search_key),
    )
    return Registry(
        (
            *builtins(clock, settings.time_zone),
            *workspace_tools(workspace),
            bash_tool(sandbox, settings.workspace, network=settings.sandbox_network),
            *web_tools(web),
            read_output_tool(store),
        )
    )


def _offer(registry: Registry, delegation: Delegation, names: Sequence[str]) -> None:
    for tool in (*task_tools(delegation, names), ask_user):
        registry.add(tool)
    registry.load_plugins()


def _logged(what: str, found: tuple[T, Sequence[str]]) -> T:
    """With the values of the variables that it names; what is missing is told."""
    for problem in found[1]:
        log.error("%s: %s", what, problem)
    return found[0]


def _inside(data: Path, workspace: Path) -> tuple[Path, ...]:
    """Our own data, where it lies in the workspace; elsewhere it is out of reach anyway."""
    data, workspace = data.resolve(), workspace.resolve()
    return (data,) if data != workspace and data.is_relative_to(workspace) else ()


def _work_url(settings: Settings) -> str:
    """Delegated work has a file of its own, or its own schema in PostgreSQL (ADR 0026)."""
    if settings.database_url.startswith("sqlite"):
        return f"sqlite:///{Path(settings.data_dir) / 'work.db'}"
    return settings.database_url
