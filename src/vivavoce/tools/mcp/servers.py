"""All MCP servers of an agent, side by side: what one does, the others do not notice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from vivavoce.runtime.agents.mcp_ports import McpServer
from vivavoce.tools.mcp.server import Patience, Server, ServerStatus
from vivavoce.tools.registry import Registry

__all__ = ["McpServers", "Patience", "ServerStatus"]


class McpServers:
    """`async with servers.running():` connects them in the background, and ends them."""

    def __init__(
        self, configs: Sequence[McpServer], registry: Registry, *, patience: Patience | None = None
    ) -> None:
        chosen = patience or Patience()
        self._servers = [Server(config, registry, chosen) for config in configs]

    def status(self) -> tuple[ServerStatus, ...]:
        return tuple(server.status() for server in self._servers)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        fault: Exception | None = None  # of those who use us: theirs, and not a group of ours
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(server.run(), name=f"mcp {server.status().name}")
                for server in self._servers
            ]
            try:
                yield
            except Exception as exc:
                fault = exc
            finally:
                for task in tasks:
                    task.cancel()
        if fault is not None:
            raise fault
