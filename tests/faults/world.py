"""A server, the provider beside it, and a proxy on every link between them.

Owns what is up, and the side effects of tools. Many cases are played in one world, one after
another, each in a session of its own: so what one leaves behind, the next one meets.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast
from unittest.mock import patch

from sqlalchemy import make_url

from tests.faults.proxy import TcpProxy, to_port, to_socket
from tests.journeys.stage import Stage, stage
from vivavoce.runtime.journal import keeping
from vivavoce.runtime.journal import log as journal
from vivavoce.runtime.provider import openai
from vivavoce.store import database
from vivavoce.testing.engine import ScriptedEars
from vivavoce.testing.provider import ScriptedProvider
from vivavoce.testing.realtime.call import ScriptedCall
from vivavoce.tools.functions import tool

QUICK: dict[str, Any] = {
    "sideband_tries": 60,
    "sideband_delay": 0.03,
    "heartbeat_seconds": 0.15,
    "grace_seconds": 3.0,
    "sessions_per_10_minutes": 0,
    "executions_per_minute": 0,
    "user_messages_per_minute": 0,
    "max_sessions": 2000,
    "recording": True,
}


@contextmanager
def quick() -> Iterator[None]:
    """What is patience in life, in hundredths of a second."""
    keepalive = {"ping_interval": 0.3, "ping_timeout": 0.3, "open_timeout": 0.5}
    with (
        patch.dict(openai.CONNECTION_OPTIONS, keepalive | {"close_timeout": 0.1}),
        patch.object(openai, "HTTP_TIMEOUT", 0.6),
        patch.object(openai, "HANG_UP_TIMEOUT", 0.5),
        patch.object(openai, "_FAILED_WAIT", 0.05),
        patch.object(keeping, "WAITS", (0.02, 0.05)),
        patch.object(journal, "_RETRY_SECONDS", 0.05),
        patch.object(database, "ANSWER_SECONDS", 1.0),
        patch.object(database, "CONNECT_SECONDS", 2),  # no less is possible
    ):
        yield


@dataclass
class World:
    """`links` by name; `runs` is how often each tool ran, by what it was told."""

    stage: Stage
    links: dict[str, TcpProxy]
    runs: Counter[str] = field(default_factory=Counter)
    ears: ScriptedEars = field(default_factory=ScriptedEars)
    """Of the engine, where that is the provider."""
    noted: Callable[[str], None] = lambda what: None

    @property
    def provider(self) -> ScriptedProvider:
        return self.stage.provider

    @property
    def url(self) -> str:
        """Of the server, by way of the proxy."""
        return f"http://127.0.0.1:{self.links['client'].port}"

    def call_of(self, known: set[str]) -> ScriptedCall | None:
        """The newest call that is not one of those."""
        fresh = [call for name, call in self.provider.calls.items() if name not in known]
        return fresh[-1] if fresh else None


@asynccontextmanager
async def world(folder: Path, postgres: str | None = None) -> AsyncIterator[World]:
    note = Note()
    more = dict(QUICK)
    async with AsyncExitStack() as stack:
        stack.enter_context(quick())
        provider = await stack.enter_async_context(ScriptedProvider())
        port = int(provider.base_url.split(":")[2].split("/")[0])
        links = {
            "sideband": TcpProxy(to_port(port), "sideband", noted=note),
            "client": TcpProxy(_nowhere, "client", noted=note),
        }
        if postgres is not None:
            where = make_url(postgres)
            path = f"{where.query['host']}/.s.PGSQL.5432"
            links["database"] = TcpProxy(to_socket(path), "database", noted=note)
        for link in links.values():
            await stack.enter_async_context(link.running())
        if postgres is not None:
            through = where.set(host="127.0.0.1", port=links["database"].port, query={})
            more["database_url"] = through.render_as_string(hide_password=False)
        more["provider_url"] = f"http://127.0.0.1:{links['sideband'].port}/v1"
        here = await stack.enter_async_context(stage(folder, cast("Any", _Lent(provider)), **more))
        links["client"].connect = to_port(int(here.url.rpartition(":")[2]))
        made = World(here, links)
        note.world = made
        made.stage.provider = provider
        counted(made)
        yield made
        for link in links.values():
            link.heal()


class Note:
    """Proxies are there before the world is."""

    world: World | None = None

    def __call__(self, what: str) -> None:
        if self.world is not None:
            self.world.noted(what)


class _Lent:
    """A provider that is up already, and stays up after the stage."""

    def __init__(self, provider: ScriptedProvider) -> None:
        self._provider = provider

    async def __aenter__(self) -> ScriptedProvider:
        return self._provider

    async def __aexit__(self, *error: object) -> None: ...


def _nowhere() -> Any:
    raise OSError("nobody listens yet")


def counted(made: World) -> None:
    """Two whose runs are counted; the second wants a yes."""

    @tool(category="test")
    async def count(what: str) -> str:
        """Count something."""
        made.runs[what] += 1
        await asyncio.sleep(0.005)
        return f"counted {what}"

    @tool(category="test", changes=True)
    async def stamp(what: str) -> str:
        """Stamp something."""
        made.runs[what] += 1
        await asyncio.sleep(0.005)
        return f"stamped {what}"

    made.stage.here.tools.add(count)  # type: ignore[attr-defined]
    made.stage.here.tools.add(stamp)  # type: ignore[attr-defined]
