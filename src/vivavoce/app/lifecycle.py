"""The life of a server: what starts with it, runs beside it, and ends with it.

Every task hangs below one group. On the way out: sessions end, streams close,
then the listener (`listen.py`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from vivavoce.app.settings import Settings
from vivavoce.server.services import Services

log = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class Server(Services):
    """What the doors see, and the settings, which they do not."""

    settings: Settings


@asynccontextmanager
async def running(here: Server) -> AsyncIterator[None]:
    """The server's life. Every task of it hangs below this group."""
    await here.store.open()
    await here.journal.open()
    async with AsyncExitStack() as stack:
        stack.push_async_callback(here.store.close)
        stack.push_async_callback(here.provider.close)
        group = await stack.enter_async_context(asyncio.TaskGroup())
        group.create_task(here.journal.run(), name="journal")
        chores = [
            group.create_task(here.library.sweep(here.settings.retention), name="retention"),
            group.create_task(here.provider.warm(), name="warm up"),
            group.create_task(here.voice.watch_budgets(), name="budgets"),
        ]
        here.background.group = group
        if here.engine is not None:
            await stack.enter_async_context(here.engine.running())
        await stack.enter_async_context(here.toolset.running())
        await stack.enter_async_context(here.intents.running())
        async with here.registry.running(), here.work.running():
            await here.approvals.recover()
            # Before anyone can ask for what is being picked up.
            written = await here.voice.recover()
            answering = here.voice.answer_left(written)
            chores.append(group.create_task(answering, name="written before"))
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
