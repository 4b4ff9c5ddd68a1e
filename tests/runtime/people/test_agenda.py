"""What several change at once, in the profile or in the plans."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

from vivavoce.runtime.journal.log import Journal
from vivavoce.runtime.people.plans import Agenda
from vivavoce.testing.fakes import ManualClock, MemoryStore
from vivavoce.wire.records.plans import Person, Todo, TodoStatus
from vivavoce.wire.records.talk import Put, new_id


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


class Moving(MemoryStore):
    """Whoever reads a task finds it moved by voice right after."""

    async def todo(self, todo_id: str, *, user_id: str) -> Todo | None:
        found = await super().todo(todo_id, user_id=user_id)
        if found is not None and found.scheduled_at is not None:
            later = found.scheduled_at + timedelta(hours=1)
            await self.commit([Put(replace(found, scheduled_at=later))])
        return found


async def test_a_task_that_is_ticked_off_while_it_is_moved_is_both() -> None:
    store, clock = Moving(), ManualClock()
    await store.open()
    now = clock.now()
    gym = Todo(
        id=new_id(),
        user_id="ann",
        title="Gym",
        trigger_type="time",
        scheduled_at=now,
        created_at=now,
        updated_at=now,
    )
    await store.commit([Put(gym)])
    agenda = Agenda(store, Journal(store, clock), clock, check_voice=str)
    await agenda.change_todo(gym.id, "ann", {"status": "completed"})
    found = await MemoryStore.todo(store, gym.id, user_id="ann")
    assert found is not None
    assert (found.status, found.scheduled_at) == (TodoStatus.COMPLETED, now + timedelta(hours=1))
