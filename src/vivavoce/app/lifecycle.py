"""The life of a server: what starts with it, runs beside it, and ends with it.

Every task hangs below one group. On the way out: sessions end, streams close,
then the listener (`listen.py`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from vivavoce.app.begin import Begin, at_once
from vivavoce.app.engine import EmbeddedEngine
from vivavoce.app.intents import AgentIntents
from vivavoce.app.settings import Settings
from vivavoce.app.tools import Toolset
from vivavoce.runtime.sessions.summaries import Summaries
from vivavoce.server.services import Services

LISTENING_SECONDS = 2.0
HEAD_START_SECONDS = 0.05


@dataclass(slots=True, kw_only=True)
class Server(Services):
    """What the doors see, and what only the server's own life needs."""

    settings: Settings
    toolset: Toolset
    intents: AgentIntents
    summaries: Summaries
    engine: EmbeddedEngine | None = None
    standby: EmbeddedEngine | None = None
    """The engine where another provider serves: for when that fails."""
    listening: asyncio.Event = field(default_factory=asyncio.Event)
    """Set by the listener once it answers."""
    open_doors: Begin = at_once

    @property
    def inside(self) -> EmbeddedEngine | None:
        """The engine, whether it serves or stands by."""
        return self.engine or self.standby

    async def answering(self) -> None:
        """What takes long to import waits for this, and whoever knocked meanwhile is answered
        first: a thread that imports takes turns with the event loop. The doors open before it."""
        try:
            async with asyncio.timeout(LISTENING_SECONDS):
                await self.listening.wait()
        except TimeoutError:
            pass  # another listener than ours, which does not say
        await asyncio.sleep(HEAD_START_SECONDS)
        await self.open_doors()


@asynccontextmanager
async def running(here: Server) -> AsyncIterator[None]:
    """The server's life. Every task of it hangs below this group."""
    await here.store.open()
    await here.journal.open()
    async with AsyncExitStack() as stack:
        stack.push_async_callback(here.store.close)
        for provider in here.providers.every:
            stack.push_async_callback(provider.close)
        group = await stack.enter_async_context(asyncio.TaskGroup())
        group.create_task(here.journal.run(), name="journal")
        chores = [
            group.create_task(here.library.sweep(here.settings.retention), name="retention"),
            group.create_task(_warm(here), name="warm up"),
            group.create_task(here.voice.admission.watch_budgets(), name="budgets"),
            group.create_task(here.summaries.run(), name="summaries"),
        ]
        here.background.group = group
        if here.inside is not None:
            await stack.enter_async_context(here.inside.running(here.answering))
        await stack.enter_async_context(here.toolset.running(here.answering))
        await stack.enter_async_context(here.intents.running(here.answering))
        async with here.registry.running(), here.work.running():
            await here.approvals.recover()
            # Before anyone can ask for what is being picked up.
            written = await here.voice.recovery.run()
            answering = here.voice.texting.answer_left(written)
            chores.append(group.create_task(answering, name="written before"))
            chores.append(group.create_task(here.reminders.run(), name="reminders"))
            try:
                yield
            finally:
                await stop(here)
                for chore in chores:
                    chore.cancel()


async def stop(here: Server) -> None:
    """Sessions first, so that watchers see them end; then the streams."""
    await here.background.stop(here.settings.shutdown_seconds / 2)
    await here.registry.stop()
    here.journal.close()


async def _warm(here: Server) -> None:
    await here.answering()
    await here.provider.warm()
