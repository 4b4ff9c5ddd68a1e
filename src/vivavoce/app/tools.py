"""What the voice can do, put together: workspace, sandbox, web, MCP servers, agents.

As `engine.py` is for the engine, this is for the tools. What each part does is
its own package's matter.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar, cast

from vivavoce.app.begin import Begin, at_once
from vivavoce.app.settings import ENV_FILE, Settings, named_values, plain
from vivavoce.brain.llama.slots import clear_kept
from vivavoce.errors import ToolFailed
from vivavoce.processes.programs import find, search_path, taken_from
from vivavoce.processes.starting import environment
from vivavoce.runtime.agents.agent import Agent
from vivavoce.runtime.agents.mcp import McpServer, resolve
from vivavoce.runtime.journal.log import Journal
from vivavoce.runtime.people.data import Files, UserData
from vivavoce.runtime.people.memory import DISCOVERIES, Place
from vivavoce.runtime.ports import Clock, Store
from vivavoce.runtime.relay import Relay
from vivavoce.runtime.tasks.ports import Backends
from vivavoce.tools.bash import bash_tool
from vivavoce.tools.builtin import Delegation, ask_user, builtins, read_output_tool, task_tools
from vivavoce.tools.delegation import backends_of, ledger
from vivavoce.tools.delegation.builtin import BuiltInBackend
from vivavoce.tools.delegation.carrier import DurableCarrier
from vivavoce.tools.mcp.servers import McpServers
from vivavoce.tools.registry import Registry
from vivavoce.tools.sandbox.ports import NoSandbox, Sandbox
from vivavoce.tools.sandbox.probe import LateSandbox, probe
from vivavoce.tools.web.tools import WebSettings, web_tools
from vivavoce.tools.workspace.changes import Bounds, Changes
from vivavoce.tools.workspace.root import HIDDEN, Workspaces
from vivavoce.tools.workspace.tools import workspace_tools
from vivavoce.wire.brain import Brain
from vivavoce.wire.records.talk import DEFAULT_USER

log = logging.getLogger(__name__)
SWEEP_SECONDS = 3600.0
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
        why_no_brain: Callable[[], str] = str,
        instance: str,
    ) -> None:
        self._settings = settings
        self._sandbox = LateSandbox()
        self._workspaces = _workspaces(settings)
        self._hidden = _hidden(settings)
        self.changes = _changes(settings)
        self.registry = _tools(
            settings, clock, self._workspaces, self._sandbox, store, self.changes
        )
        self.files: Files = self._workspaces
        self._clock = clock
        servers = _logged("MCP", resolve(agent.servers, named_values()))
        self._servers = McpServers(_found(servers, settings.workspace), self.registry)
        others = backends_of(
            _logged("Delegation", agent.delegation.filled(named_values())),
            self._workspaces,
            agent.folder,
            self.registry.definitions,
        )
        own = BuiltInBackend(find_brain, self.registry.definitions, why_not=why_no_brain)
        self.backends = Backends((own, *others))
        name = instance.replace(":", "-")
        self.carrier = DurableCarrier(
            _work_url(settings),
            self.backends,
            executor_id=name,
            lazy=True,
            began=store.own_task,
        )

    def offer_delegation(self, delegation: Delegation) -> None:
        """Once there is somebody to delegate to: the tools by which the voice uses it."""
        able = [card.name for card in self.backends.cards() if card.available]
        _offer(self.registry, delegation, able, self.backends.able)

    def place(self, user_id: str) -> Place:
        """Where a user's tools work, and what is to be remembered there; it may be nothing."""
        workspace = self._workspaces.of(user_id)
        try:
            noted = workspace.read(DISCOVERIES).decode("utf-8", "replace")
        except ToolFailed:  # no such file
            noted = ""
        return Place(str(workspace.root), noted)

    @asynccontextmanager
    async def running(self, begin: Begin = at_once) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            group = await stack.enter_async_context(asyncio.TaskGroup())
            probing = group.create_task(self._settle(begin), name="sandbox")
            sweeping = group.create_task(self._sweep(), name="changes")
            await stack.enter_async_context(self._servers.running())
            try:
                yield
            finally:
                probing.cancel()
                sweeping.cancel()

    async def _sweep(self) -> None:
        """For ever: what is too old to be taken back goes, once an hour."""
        while True:
            try:
                await asyncio.to_thread(self.changes.sweep)
            except Exception:  # the boundary of this task: it tries again in an hour
                log.exception("Old changes could not be deleted")
            await self._clock.sleep(SWEEP_SECONDS)

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
            search_path=search_path(self._settings.workspace),
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
    store, changes = cast("Store", None), _changes(settings)
    registry = _tools(settings, clock, _workspaces(settings), sandbox, store, changes)
    _offer(registry, cast("Delegation", None), ())
    return registry


class _Resting:
    """Delegated work while no server runs: only what is written down."""

    def __init__(self, url: str) -> None:
        self._url = url

    async def kept(self, task_ids: Sequence[str]) -> Sequence[dict[str, Any]]:
        return await asyncio.to_thread(lambda: list(ledger.kept(self._url, task_ids)))

    async def forget(self, user_id: str, task_ids: Sequence[str]) -> None:
        await asyncio.to_thread(ledger.forget, self._url, task_ids)


def resting_data(settings: Settings, store: Store, clock: Clock) -> UserData:
    """The users' data, for the command: no server runs, or those that do share a database with it
    and are asked to delete what each has."""

    async def nobody(user_id: str) -> int:
        return 0

    async def clear() -> None:
        clear_kept(settings.data_dir / "brain")

    files, work = _workspaces(settings), _Resting(_work_url(settings))
    audit = Journal(store, clock).audit
    kept = (files, _changes(settings), work)
    relay = Relay(store)
    return UserData(store, clock, *kept, end=nobody, audit=audit, clear=clear, relay=relay)


def _changes(settings: Settings) -> Changes:
    days = settings.retention_changes_days
    bounds = Bounds(longest=timedelta(days=days) if days else None)
    return Changes(settings.data_dir / "changes", bounds)


def _tools(
    settings: Settings,
    clock: Clock,
    workspaces: Workspaces,
    sandbox: Sandbox,
    store: Store,
    changes: Changes,
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
            *workspace_tools(workspaces, changes=changes),
            bash_tool(sandbox, workspaces, network=settings.sandbox_network),
            *web_tools(web),
            read_output_tool(store),
        )
    )


def _offer(
    registry: Registry,
    delegation: Delegation,
    names: Sequence[str],
    ready: Callable[[], bool] | None = None,
) -> None:
    for tool in (*task_tools(delegation, names, ready), ask_user):
        registry.add(tool)
    registry.load_plugins()


def _logged(what: str, found: tuple[T, Sequence[str]]) -> T:
    """With the values of the variables that it names; what is missing is told."""
    for problem in found[1]:
        log.error("%s: %s", what, problem)
    return found[0]


def _workspaces(settings: Settings) -> Workspaces:
    """A folder each, where it is known who somebody is. With `token` that is whoever came by a
    browser's key; whoever has the token has all of it."""
    return Workspaces(
        settings.workspace,
        each=settings.auth != "off",
        whole=DEFAULT_USER if settings.auth == "token" else None,
        hidden=(*HIDDEN, *_hidden(settings)),
    )


def _hidden(settings: Settings) -> tuple[Path, ...]:
    """Ours, and never shown. `serve` has made sure that it is not in the workspace; whoever puts
    the parts together otherwise may have the one inside the other."""
    root = settings.workspace.resolve()
    ours = (settings.data_dir.resolve(), Path(ENV_FILE).resolve())
    return tuple(path for path in ours if not root.is_relative_to(path))


def _found(servers: Sequence[McpServer], workspace: Path) -> tuple[McpServer, ...]:
    """Their programs by absolute paths, and nothing of them in the workspace. One that is nowhere
    is told when it is started."""
    fine: list[McpServer] = []
    for server in servers:
        if server.command is None:
            fine.append(server)
            continue
        at = find(server.command, workspace, environment(server.env).get("PATH"))
        named = Path(server.cwd or ".", server.command).resolve()
        part = taken_from(workspace, server.args, server.env, server.cwd, server.data)
        if at is None and named.is_relative_to(workspace.resolve()):
            part = "the program"
        if part is None:
            fine.append(replace(server, command=at or server.command))
        else:
            told = "MCP: %s is not started: %s is in the workspace; name it in `data` if it is that"
            log.error(told, server.name, part)
    return tuple(fine)


def _work_url(settings: Settings) -> str:
    """Delegated work has a file of its own, or its own schema in PostgreSQL (ADR 0026)."""
    if settings.database_url.startswith("sqlite"):
        return f"sqlite:///{Path(settings.data_dir) / 'work.db'}"
    return settings.database_url
