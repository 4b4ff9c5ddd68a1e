"""The profile: what several processes change at once."""

from __future__ import annotations

import asyncio

from vivavoce.runtime.agenda import Agenda
from vivavoce.runtime.journal import Journal
from vivavoce.testing.clock import ManualClock
from vivavoce.testing.memory import MemoryStore
from vivavoce.wire.agenda import Person


class Together(MemoryStore):
    """Two read before either writes."""

    def __init__(self) -> None:
        super().__init__()
        self._both = asyncio.Barrier(2)

    async def person(self, user_id: str) -> Person | None:
        found = await super().person(user_id)
        await self._both.wait()
        return found


async def test_two_processes_that_change_a_field_each_change_both() -> None:
    store, clock = Together(), ManualClock()
    await store.open()
    one, other = (Agenda(store, Journal(store, clock), clock, check_voice=str) for _ in range(2))
    await asyncio.gather(
        one.change("ann", {"name": "Ann"}), other.change("ann", {"verbosity": "brief"})
    )
    found, _ = await asyncio.gather(store.person("ann"), store.person("ann"))
    assert found is not None
    assert (found.name, found.verbosity) == ("Ann", "brief")
