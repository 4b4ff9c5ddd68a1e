"""Servers to connect to, a user who answers, and waiting for what comes."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from vivavoce.runtime.agents.mcp import McpServer
from vivavoce.runtime.ports import ToolContext, ToolOutput
from vivavoce.tools import Registry
from vivavoce.tools.mcp import McpServers, Patience, ServerStatus

SERVERS = Path(__file__).parent / "servers"
QUICK = Patience(start=30, first_pause=0.05, longest_pause=0.2, tries=3, refresh=0.05, check=0.2)
WAIT = 60.0


def raw(
    mode: str,
    name: str | None = None,
    *,
    legacy: bool = True,
    timeout: float = 60.0,
    trust: bool = False,
) -> McpServer:
    args = ("-S", "-E", str(SERVERS / "raw.py"), mode)
    return McpServer(
        name=name or mode,
        command=sys.executable,
        args=args,
        legacy=legacy,
        timeout=timeout,
        trust=trust,
    )


@dataclass
class User:
    """Hears questions and reports, and answers from a list."""

    answers: Sequence[str] = ()
    name: str = "ada"
    asked: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    reports: list[tuple[str, int | None]] = field(default_factory=list)

    async def ask(self, question: str, choices: Sequence[str] = ()) -> str:
        self.asked.append((question, tuple(choices)))
        return self.answers[len(self.asked) - 1]

    async def report(
        self,
        message: str,
        percentage: int | None = None,
        details: Mapping[str, object] | None = None,
    ) -> None:
        self.reports.append((message, percentage))

    @property
    def context(self) -> ToolContext:
        return ToolContext(self.name, report=self.report, ask=self.ask)


@dataclass
class House:
    registry: Registry
    servers: McpServers

    def status(self, name: str) -> ServerStatus:
        return next(status for status in self.servers.status() if status.name == name)

    def names(self) -> list[str]:
        return [definition.name for definition in self.registry.definitions()]

    async def ready(self, *names: str) -> None:
        for name in names:
            await self.comes_to(name, "ready")

    async def comes_to(self, name: str, state: str) -> None:
        await until(lambda: self.status(name).state == state, self.servers)

    async def run(self, tool: str, user: User | None = None, **arguments: object) -> ToolOutput:
        checked = self.registry.check(tool, arguments)
        result = await self.registry.run(tool, checked, (user or User()).context)
        assert isinstance(result, ToolOutput)
        return result


async def until(condition: Callable[[], bool], about: McpServers) -> None:
    try:
        async with asyncio.timeout(WAIT):
            while not condition():
                await asyncio.sleep(0.01)
    except TimeoutError:
        raise AssertionError(f"it never came to that: {about.status()}") from None


@asynccontextmanager
async def house(
    *configs: McpServer, registry: Registry | None = None, patience: Patience = QUICK
) -> AsyncIterator[House]:
    registry = registry or Registry()
    servers = McpServers(configs, registry, patience=patience)
    async with servers.running():
        yield House(registry, servers)
