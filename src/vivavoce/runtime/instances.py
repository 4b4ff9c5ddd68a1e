"""This server among those that share its database: its name, its life there, and what it takes up
when others are gone.

A life has an epoch and a lease. The lease is renewed while the server runs; once it has run out,
any other server ends that life and claims what it looked after. By the database's clock and in
real time, whatever clock the rest of the server goes by. Knows nothing of sessions, tasks or
approvals but that there are such.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from datetime import datetime

from vivavoce.errors import Fenced, Unavailable, VivavoceError
from vivavoce.logs import fields
from vivavoce.runtime.ports import Claimed, Leases

log = logging.getLogger(__name__)

LEASE_SECONDS = 8.0
"""A server that was silent for so long is gone. The model of a brain may hold a loop up for a
second or two; whoever is mistaken for gone ends, and no harm is done but that."""
RENEWED = 4
"""Times within a lease."""
LOOK_SECONDS = 1.0
_FOR_NAME = 0.25

Take = Callable[[Claimed], Awaitable[None]]


class Instance:
    """`alone`: no other server can use the database, now or later (`listen.sole_server`)."""

    def __init__(
        self,
        store: Leases,
        name: str,
        *,
        alone: bool = False,
        lease: float = LEASE_SECONDS,
        look: float = LOOK_SECONDS,
    ) -> None:
        self._store, self.name, self.alone = store, name, alone
        self._lease, self._look = lease, look
        self.epoch = 0
        self.draining = False
        """It goes down, and takes nothing up any more."""
        self.lost = asyncio.Event()
        """Another server has ended this life."""
        self._unsure_until = 0.0
        self._rests = asyncio.Event()
        self._rests.set()
        self._settled = asyncio.Event()

    async def at_rest(self) -> None:
        """Until nothing is being taken up; while it drains, nothing more will be."""
        await self._rests.wait()

    async def join(self) -> None:
        """Raises `Unavailable` where a server of this name goes on. One that died without a word is
        waited for: until its lease has run out nobody can know."""
        if self.epoch:
            return
        seen: datetime | None = None
        until = time.monotonic() + self._lease + 2
        while not (epoch := await self._store.join(self.name, None if self.alone else self._lease)):
            held = await self._held_until()
            if time.monotonic() > until or (seen and held and held > seen):
                raise Unavailable(
                    f"another server on this database is named {self.name} and runs: "
                    "give this one a name of its own with VIVAVOCE_INSTANCE"
                )
            seen = seen or held
            await asyncio.sleep(_FOR_NAME)
        self.epoch = epoch
        log.info("Joined", extra=fields(instance=self.name, epoch=epoch))

    async def leave(self) -> None:
        """Last of all: nothing is written after it."""
        if self.epoch:
            self.epoch = 0
            await self._store.leave()

    async def settle(self, take: Take) -> None:
        """At the start: what is this server's own from before, or nobody's, a little at a time,
        since others take their share. It may be more than can be taken up within a lease, so `run`
        goes beside it."""
        while (found := await self._store.claim()) != Claimed():
            await take(found)
        self._settled.set()

    async def run(self, take: Take) -> None:
        """Until it is cancelled: stays, and takes up what others leave."""
        if self.alone:
            return
        async with asyncio.TaskGroup() as group:
            looking = group.create_task(self._watch(take), name="instance.watch")
            await self._stay()
            looking.cancel()

    async def others(self) -> list[str]:
        """Who else is there."""
        every = await self._store.instances()
        return [one.name for one in every if one.lease_until and one.name != self.name]

    async def _held_until(self) -> datetime | None:
        every = await self._store.instances()
        return next((one.lease_until for one in every if one.name == self.name), None)

    async def _stay(self) -> None:
        while True:
            await asyncio.sleep(self._lease / RENEWED)
            try:
                if await self._store.renew(self._lease):
                    continue
            except VivavoceError as fault:
                # Others may not have got through either: that they look gone proves nothing.
                self._unsure_until = time.monotonic() + self._lease
                log.warning("The lease could not be renewed: %s", fault.message)
                continue
            log.error(
                "Another server has taken over what this one looked after: it was silent for too "
                "long. It ends, and has to be started again",
                extra=fields(instance=self.name),
            )
            self.lost.set()
            return

    async def _watch(self, take: Take) -> None:
        await self._settled.wait()
        while True:
            await asyncio.sleep(self._look)
            self._rests.clear()
            try:
                # A little at a time, so that several servers share it.
                while await self._taken_up(take):
                    pass
            except Fenced:
                continue  # `_stay` finds out, and says so
            except Exception:  # the boundary of one look: the next may do better
                log.exception("What others left could not be taken up")
            finally:
                self._rests.set()

    async def _taken_up(self, take: Take) -> bool:
        """Was there anything?"""
        if self.draining or time.monotonic() < self._unsure_until:
            return False
        found = await self._store.claim()
        if found == Claimed():
            return False
        log.info(
            "Claimed what others left",
            extra=fields(
                instances=len(found.gone), sessions=len(found.sessions), tasks=len(found.tasks)
            ),
        )
        await take(found)
        return True
