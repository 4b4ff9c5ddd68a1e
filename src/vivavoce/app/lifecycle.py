"""The life of a server: what starts with it, runs beside it, and ends with it.

Every task hangs below one group. On the way out: sessions end, streams close,
then the listener (`listen.py`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial

from vivavoce.app.begin import Begin, at_once
from vivavoce.app.engine import EmbeddedEngine
from vivavoce.app.intents import AgentIntents
from vivavoce.app.settings import Settings
from vivavoce.app.tools import Toolset
from vivavoce.errors import VivavoceError
from vivavoce.runtime.ports import Claimed
from vivavoce.runtime.sessions.summaries import Summaries
from vivavoce.server.services import Services
from vivavoce.wire.conductor.codes import Close

log = logging.getLogger(__name__)

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
    async with AsyncExitStack() as stack:
        stack.push_async_callback(here.store.close)
        await here.instance.join()
        stack.push_async_callback(here.instance.leave)
        await here.journal.open()
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
        async with here.registry.running(), here.work.running(), here.conductor.running():
            take = partial(_take, here, group, chores)
            chores.append(group.create_task(here.instance.run(take), name="instance"))
            # Before anyone can ask for what is being picked up.
            await here.instance.settle(take)
            if not here.instance.alone:
                chores.append(group.create_task(here.relay.run(), name="relay"))
            chores.append(group.create_task(here.reminders.run(), name="reminders"))
            if here.push is not None:
                chores.append(group.create_task(here.push.run(), name="notices"))
            if here.hardware is not None:
                door = here.hardware.run(here.answering)
                chores.append(group.create_task(door, name="hardware"))
            try:
                yield
            finally:
                await stop(here)
                for chore in chores:
                    chore.cancel()


async def _take(
    here: Server, group: asyncio.TaskGroup, chores: list[asyncio.Task[None]], found: Claimed
) -> None:
    """What is this server's from now on: its own from before, or another's that is gone."""
    for taking in (here.approvals.lapse(found.approvals), here.work.take_over(found.tasks)):
        try:
            await taking
        except (
            Exception
        ):  # whatever it is, the calls must not wait for it: nobody claims them again
            log.exception("Not all that was claimed could be taken up")
    if written := await here.voice.recovery.take(found.sessions):
        answering = here.voice.texting.answer_left(written)
        chores.append(group.create_task(answering, name="written before"))


async def stop(here: Server) -> None:
    """Sessions first, so that watchers see them end; then the streams."""
    if not here.instance.draining:
        here.instance.draining = True
        here.registry.close()
        await _drain(here)
    here.conductor.close(Close.RESTART)
    await here.background.stop(here.settings.shutdown_seconds / 2)
    await here.registry.stop()
    here.journal.close()


async def _drain(here: Server) -> None:
    """Calls go on without us where somebody else can look after them, and only then."""
    try:
        if here.instance.lost.is_set():
            await here.registry.abandon()
            return
        if not await here.instance.others():
            return
        loop = asyncio.get_running_loop()
        until = loop.time() + here.settings.drain_seconds
        with suppress(TimeoutError):  # what was just being picked up is handed over with the rest
            async with asyncio.timeout_at(until):
                await here.instance.at_rest()
        await here.voice.hand_over(max(0.0, until - loop.time()))
    except VivavoceError as fault:
        log.warning("Calls could not be handed over: %s", fault.message)


async def _warm(here: Server) -> None:
    await here.answering()
    await here.login.warm()
    await here.provider.warm()
