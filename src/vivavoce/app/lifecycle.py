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
from vivavoce.errors import ProviderError
from vivavoce.runtime.provider.openai import OpenAIProvider
from vivavoce.runtime.sessions.recovery import Recovery
from vivavoce.server.services import Services
from vivavoce.wire.records.talk import Conversation

log = logging.getLogger(__name__)

SWEEP_SECONDS = 3600.0


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
            group.create_task(_sweep(here), name="retention"),
            group.create_task(_warm(here), name="warm up"),
            group.create_task(here.voice.watch_budgets(), name="budgets"),
        ]
        here.background.group = group
        if here.engine is not None:
            await stack.enter_async_context(here.engine.running())
        await stack.enter_async_context(here.toolset.running())
        await stack.enter_async_context(here.intents.running())
        async with here.registry.running(), here.work.running():
            await here.approvals.recover()
            written = await _recover(here)  # before anyone can ask for what is being picked up
            chores.append(group.create_task(_answer(here, written), name="written before"))
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


async def _sweep(here: Server) -> None:
    while True:
        try:
            gone = await here.store.sweep(here.settings.retention, here.clock.now())
        except Exception:  # the boundary of this task: it tries again in an hour
            log.exception("Retention failed")
        else:
            if gone:
                log.info("Old records deleted", extra={"fields": {"rows": gone}})
        await here.clock.sleep(SWEEP_SECONDS)


async def _warm(here: Server) -> None:
    """The provider's SDK takes a second to import; not while somebody waits."""
    if isinstance(here.provider, OpenAIProvider):
        try:
            await here.provider.warm()
        except ProviderError as fault:
            log.warning("%s", fault.message)  # `/ready` says so too
        except Exception:  # the boundary of this task: it is loaded when it is needed
            log.exception("The provider's SDK could not be loaded beforehand")


async def _recover(here: Server) -> list[Conversation]:
    """Where something may have been written that nobody answered."""
    recovery = Recovery(
        store=here.store,
        journal=here.journal,
        registry=here.registry,
        voice=here.voice,
        library=here.library,
        provider=here.provider,
        tools=here.tools,
        desk=here.desk,
        profile=here.profile,
        clock=here.clock,
    )
    try:
        await recovery.run()
    except Exception:  # the boundary of this task: what cannot be picked up stays as it is
        log.exception("Recovery after a restart failed")
    return list(recovery.written)


async def _answer(here: Server, written: list[Conversation]) -> None:
    try:
        await here.voice.answer_left(written)
    except Exception:  # the boundary of this task: it is in the history all the same
        log.exception("What was written before the restart could not be answered")
