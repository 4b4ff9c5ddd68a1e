"""What several change at once, in the profile or in the plans."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

import orjson

from vivavoce.runtime.journal.log import Journal
from vivavoce.runtime.people.plans import Agenda
from vivavoce.testing.fakes import ManualClock, MemoryStore
from vivavoce.wire.records.plans import Intent, IntentStatus, Person, Todo, TodoStatus
from vivavoce.wire.records.talk import Conversation, Put, PutConversation, new_id


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


async def test_with_the_last_of_what_was_understood_the_intent_is_taken_back_and_told_so() -> None:
    """Deleted by hand, or by voice before: once, and another's intent stays as it is."""
    store, clock = MemoryStore(), ManualClock()
    await store.open()
    now = clock.now()
    conversation = Conversation(id=new_id(), user_id="ann", created_at=now, updated_at=now)
    milk, stamps = (new_id() for _ in range(2))
    intents = [
        Intent(
            id=new_id(),
            user_id="ann",
            conversation_id=conversation.id,
            name="submit_new_task_intent",
            route="NEW_TASK",
            payload={},
            created_at=now,
            updated_at=now,
            status=IntentStatus.ACCEPTED,
            task_id=task_id,
        )
        for task_id in (milk, stamps, new_id())
    ]
    todos = [
        Todo(
            id=task_id,
            user_id="ann",
            title="Errand",
            trigger_type="location",
            location_trigger="in town",
            created_at=now,
            updated_at=now,
            status=status,
            intent_id=intent.id,
        )
        for task_id, intent, status in zip(
            (milk, stamps), intents[:2], (TodoStatus.ACTIVE, TodoStatus.RETRACTED), strict=True
        )
    ]
    await store.commit([PutConversation(conversation), *map(Put, intents), *map(Put, todos)])
    agenda = Agenda(store, Journal(store, clock), clock, check_voice=str)
    for task_id in (milk, milk, stamps):
        await agenda.drop_todo(task_id, "ann")
    found = [await store.intent(one.id, user_id="ann") for one in intents]
    assert [one.status.value for one in found if one] == ["retracted", "retracted", "accepted"]
    told = await store.events(after=0, limit=10)
    assert [(e.type, orjson.loads(e.data)["task_id"]) for e in told] == [
        ("intent.retracted", milk),
        ("intent.retracted", stamps),
    ]
