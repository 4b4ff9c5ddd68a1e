"""All MCP servers of an agent, connected, listed, watched, and connected again when lost.

What one does, the others do not notice. A server's tools stay in the registry
while it is expected back, and say so when they are called; a server that does
not come back takes them along.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from vivavoce.errors import OutcomeUnknown, Unavailable
from vivavoce.logs import fields
from vivavoce.processes.threads import plain_group
from vivavoce.retrying import Backoff
from vivavoce.runtime.agents.mcp import McpServer
from vivavoce.runtime.ports import ToolContext, ToolDefinition, ToolOutput
from vivavoce.tools.functions import Tool
from vivavoce.tools.mcp import schemas
from vivavoce.tools.mcp.schemas import plain_text
from vivavoce.tools.registry import Registry
from vivavoce.wire.values import Value

if TYPE_CHECKING:
    import mcp_types as t

    from vivavoce.tools.mcp.link import Link

QUESTION_SECONDS = 180.0
"""What a question to the user may add to the time of a call."""

Caller = Callable[[str, bool, Mapping[str, Any], ToolContext], Awaitable[ToolOutput]]
"""The server's name of the tool, whether it changes anything, the arguments, who calls."""


class Listing:
    def __init__(
        self, config: McpServer, registry: Registry, call: Caller, others: Collection[str] = ()
    ) -> None:
        """`others`: the names of all servers."""
        self._config, self._registry, self._call = config, registry, call
        self._others = others
        self._ours: dict[str, ToolDefinition] = {}
        """By the server's name of the tool."""
        self.problems: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self._ours)

    def clear(self) -> None:
        for definition in self._ours.values():
            self._registry.remove(definition.name)
        self._ours.clear()

    async def update(self, found: Sequence[t.Tool], complaints: Iterable[str] = ()) -> None:
        """Make the registry say what the server says now; what stayed the same is not touched."""
        wanted = self._config.tools
        problems = dict.fromkeys(complaints)
        tools = {tool.name: tool for tool in found if wanted is None or tool.name in wanted}
        for name in wanted or ():
            if name not in tools:
                problems[f"there is no tool '{name}'"] = None
        # Off the loop: a hundred schemas take a hundred times some milliseconds.
        checked = await asyncio.to_thread(_checked, self._config, list(tools.values()), problems)
        for gone in [name for name in self._ours if name not in checked]:
            self._registry.remove(self._ours.pop(gone).name)
        for name, definition in checked.items():
            if (problem := self._put(name, definition)) is not None:
                problems[problem] = None
        self.problems = tuple(problems)

    def _put(self, tool: str, definition: ToolDefinition) -> str | None:
        old = self._ours.get(tool)
        if old is not None and replace(definition, name=old.name) == old:
            return None
        try:
            given = (self._config.name, tool, self._registry, self._others)
            name = old.name if old else schemas.tool_name(*given)
            if old is not None:
                self._registry.remove(name)
            named = replace(definition, name=name)
            self._registry.add(
                Tool(
                    named,
                    partial(self._call, tool, named.changes),
                    lambda given: f"Asking {self._config.name}: {tool[:64]}",
                    lambda given: f"use {tool[:64]} of the server {self._config.name}",
                )
            )
        except ValueError as exc:
            return str(exc)
        self._ours[tool] = named
        return None


def _checked(
    config: McpServer, tools: Sequence[t.Tool], problems: dict[str, None]
) -> dict[str, ToolDefinition]:
    """Their definitions, not yet named; those that are no good go to the problems."""
    fine: dict[str, ToolDefinition] = {}
    for tool in tools:
        try:
            fine[tool.name] = _definition(config, tool)
        except ValueError as exc:
            problems[str(exc)] = None
    return fine


def _definition(config: McpServer, tool: t.Tool) -> ToolDefinition:
    shown = schemas.plain_text(tool.name, 64)
    words = schemas.plain_text(tool.description or tool.title or shown, schemas.MAX_DESCRIPTION)
    hints = tool.annotations
    return ToolDefinition(
        name="",
        description=words,
        parameters=schemas.parameters(shown, tool.input_schema),
        category="mcp",
        timeout=config.timeout + QUESTION_SECONDS,
        # The server's own word, which counts where the configuration trusts it.
        changes=not (config.trust and hints is not None and hints.read_only_hint is True),
        server=config.name,
        trusted=config.trust,
    )


log = logging.getLogger(__name__)

State: TypeAlias = Literal["connecting", "ready", "restarting", "failed", "ended"]


class Patience(Value):
    """How long is waited for what, in seconds."""

    start: float = 60.0
    """For a server to answer for the first time; `npx` may have to fetch it."""
    first_pause: float = 0.5
    longest_pause: float = 60.0
    good_life: float = 60.0
    """A server that lived that long is not a failing one."""
    tries: int = 5
    """In vain, in a row; then it is no longer expected back, but still tried."""
    refresh: float = 1.0
    """Between two looks at a list that keeps changing."""
    check: float = 60.0
    """Between two looks at a server behind a URL, whose end nobody tells us."""


class ServerStatus(Value):
    """For `/status` and people: no address, argument or header, which may be secret."""

    name: str
    transport: Literal["stdio", "http"]
    state: State
    tools: int
    protocol: str | None
    restarts: int
    pid: int | None
    problems: tuple[str, ...]


class Server:
    def __init__(
        self,
        config: McpServer,
        registry: Registry,
        patience: Patience,
        others: Collection[str] = (),
    ) -> None:
        self._config, self._patience = config, patience
        self._listing = Listing(config, registry, self._call, others)
        self._link: Link | None = None
        self._state: State = "connecting"
        self._legacy = config.legacy
        self._restarts = 0
        self._pid: int | None = None
        self._problem: str | None = None
        self._last_words: deque[str] = deque(maxlen=5)

    def status(self) -> ServerStatus:
        problems = [self._problem] if self._problem else []
        return ServerStatus(
            name=self._config.name,
            transport="http" if self._config.url else "stdio",
            state=self._state,
            tools=len(self._listing),
            protocol=self._link.protocol if self._link else None,
            restarts=self._restarts,
            pid=self._pid,
            problems=(*problems, *self._listing.problems),
        )

    async def run(self) -> None:
        """Until cancelled. Whatever the server does, this goes on."""
        loop, patience = asyncio.get_running_loop(), self._patience
        backoff = Backoff(
            patience.first_pause, patience.longest_pause, good_life=patience.good_life
        )
        try:
            while True:
                born = loop.time()
                try:
                    await self._live()
                    why = "ended"
                except Exception as exc:  # another's program and the SDK: anything may come
                    why = _reason(exc)
                pause = backoff.after(loop.time() - born)
                self._note(why, backoff.failures)
                await asyncio.sleep(pause)
                self._restarts += 1
        finally:
            self._state = "ended"
            self._listing.clear()

    async def _live(self) -> None:
        # The first import takes the better part of a second.
        module = await asyncio.to_thread(import_module, "vivavoce.tools.mcp.link")
        self._last_words.clear()
        greeted = False
        try:
            async with module.connected(
                self._config,
                legacy=self._legacy,
                start_seconds=self._patience.start,
                started=self._started,
                heard=self._heard,
            ) as link:
                greeted = True
                await self._refresh(link)
                self._link, self._state, self._problem = link, "ready", None
                log.info(
                    "MCP server connected", extra=fields(**self._told(), tools=len(self._listing))
                )
                await self._attend(link)
        finally:
            self._link = self._pid = None
            if not greeted and self._config.url is None and not self._config.legacy:
                # One that dies of the newer greeting is tried with the older, and back.
                self._legacy = not self._legacy

    async def _attend(self, link: Link) -> None:
        seconds = self._patience.check if self._config.url else None
        while True:
            await link.news(seconds)
            if link.lost:
                return
            await self._refresh(link)
            await asyncio.sleep(self._patience.refresh)

    async def _refresh(self, link: Link) -> None:
        found = await link.tools()
        assert link.sieve is not None
        await self._listing.update(found, tuple(link.sieve.complaints))

    def _note(self, why: str, failures: int) -> None:
        words = " / ".join(self._last_words)
        self._problem = f"{why}: {words}" if words else why
        expected = failures < self._patience.tries
        if not expected:
            self._listing.clear()
        self._state = "restarting" if expected else "failed"
        level = logging.WARNING if failures <= self._patience.tries else logging.DEBUG
        log.log(level, "MCP server lost", extra=fields(**self._told(), reason=why, output=words))

    async def _call(
        self, tool: str, changes: bool, arguments: Mapping[str, Any], context: ToolContext
    ) -> ToolOutput:
        from vivavoce.tools.mcp.link import LinkLost
        from vivavoce.tools.mcp.sieve import output

        name, link = self._config.name, self._link
        if link is None:
            raise Unavailable(f"'{name}' is restarting; try again in a moment", retry_after_ms=2000)
        try:
            return output(await link.call(tool, arguments, context))
        except LinkLost:
            if changes:
                words = f"'{name}' stopped in the middle; look whether it was done before you retry"
                raise OutcomeUnknown(words) from None
            raise Unavailable(f"'{name}' stopped and is restarting", retry_after_ms=2000) from None

    def _started(self, pid: int) -> None:
        self._pid = pid

    def _heard(self, line: str) -> None:
        if words := plain_text(line, 300):
            self._last_words.append(words)
            log.debug("MCP server output", extra=fields(**self._told(), output=words))

    def _told(self) -> dict[str, Any]:
        return {"server": self._config.name, "pid": self._pid}


def _reason(exc: BaseException) -> str:
    """The innermost cause in a few words; groups are how the SDK wraps what went wrong."""
    while isinstance(exc, BaseExceptionGroup):
        exc = exc.exceptions[0]
    match exc:
        case FileNotFoundError() | PermissionError():
            return f"cannot be started ({exc.strerror})"
        case TimeoutError():
            return "gives no answer"
        case _:
            return plain_text(f"{type(exc).__name__}: {exc}", 200)


class McpServers:
    """`async with servers.running():` connects them in the background, and ends them."""

    def __init__(
        self, configs: Sequence[McpServer], registry: Registry, *, patience: Patience | None = None
    ) -> None:
        chosen = patience or Patience()
        names = [config.name for config in configs]
        self._servers = [Server(config, registry, chosen, names) for config in configs]

    def status(self) -> tuple[ServerStatus, ...]:
        return tuple(server.status() for server in self._servers)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with plain_group() as group:
            tasks = [
                group.create_task(server.run(), name=f"mcp {server.status().name}")
                for server in self._servers
            ]
            try:
                yield
            finally:
                for task in tasks:
                    task.cancel()
