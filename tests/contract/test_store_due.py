"""What every store promises about what is due: noted by one who looks, told by one who claims."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.contract.conftest import Backend
from tests.contract.records import at, event, reminder, todo, uid
from vivavoce.errors import Conflict
from vivavoce.wire.records.plans import TodoStatus, Watch
from vivavoce.wire.records.talk import Announce, Looked, Put

WRITTEN_AT, MINUTE = at(0), timedelta(minutes=1)


def looked(seen: float = 0, coming: float | None = None, until: float = 60) -> Looked:
    after = None if coming is None else at(coming)
    return Looked(uid("td"), "ann", at(seen), after, at(until))


async def test_what_is_written_is_looked_at_at_once_and_then_at_its_time(backend: Backend) -> None:
    async with backend.store() as store:
        assert await store.next_look() is None
        await store.commit([Put(todo(scheduled_at=at(60)))])
        due = todo(scheduled_at=at(60))
        assert await store.to_look_at(before=at(-1), limit=9) == []
        assert await store.to_look_at(before=at(0), limit=9) == [
            Watch(todo=due, look_at=at(0), noted_until=at(-60))
        ]
        await store.commit([looked(coming=60, until=1)])
        assert await store.next_look() == at(60)
        assert await store.to_look_at(before=at(59), limit=9) == []
        (watch,) = await store.to_look_at(before=at(60), limit=9)
        assert (watch.look_at, watch.noted_until) == (at(60), at(1))
        await store.commit([looked(seen=60)])
        assert await store.next_look() is None


@pytest.mark.parametrize("only", [(), ("title",)])
async def test_a_look_at_what_was_written_since_counts_for_nothing(
    backend: Backend, only: tuple[str, ...]
) -> None:
    async with backend.store() as store:
        await store.commit([Put(todo(scheduled_at=at(60)))])
        await store.commit([Put(todo(scheduled_at=at(60), updated_at=at(1)), only=only)])
        with pytest.raises(Conflict):
            await store.commit([looked(), Put(reminder()), Announce(event())])
        assert await store.reminders(["ann"]) == []
        assert await store.events(after=0, limit=9) == []
        assert await store.next_look() == at(1)


async def test_of_two_who_look_one_notes_it(backend: Backend) -> None:
    async with backend.store() as store:
        await store.commit([Put(todo(scheduled_at=at(60)))])
        await store.commit([looked(), Put(reminder()), Announce(event())])
        with pytest.raises(Conflict):
            await store.commit([looked(), Put(reminder()), Announce(event())])
        assert len(await store.events(after=0, limit=9)) == 1


async def test_with_another_time_only_what_is_due_after_that_was_said_counts(
    backend: Backend,
) -> None:
    async with backend.store() as store:
        await store.commit([Put(todo(scheduled_at=at(60)))])
        await store.commit([looked(until=10)])
        renamed = todo(scheduled_at=at(60), title="Other", updated_at=at(900))
        await store.commit([Put(renamed)])
        (watch,) = await store.to_look_at(before=at(999), limit=9)
        assert watch.noted_until == at(10)
        moved = replace(renamed, scheduled_at=at(70), updated_at=at(960))
        for only in ((), ("scheduled_at",)):
            await store.commit([Put(moved, only=only)])
            (watch,) = await store.to_look_at(before=at(999), limit=9)
            assert watch.noted_until == at(900)
            moved = replace(moved, scheduled_at=at(80))


async def test_a_reminder_waits_until_it_was_told_and_stays_told(backend: Backend) -> None:
    async with backend.store() as store:
        await store.commit([Put(todo()), Put(reminder("r1", due_at=at(2))), Put(reminder("r2"))])
        await store.commit([Put(todo("other", user_id="bob"))])
        await store.commit([Put(reminder("r3", "other", user_id="bob"))])
        waiting = await store.reminders(["ann"], waiting=True)
        assert [one.id for one in waiting] == [uid("r2"), uid("r1")]
        told = replace(reminder("r2"), status="told", told_at=at(9))
        await store.commit([Put(told)])
        await store.commit([Put(replace(told, status="dropped", told_at=None))])
        assert await store.reminders_named([uid("r2"), "nothing"]) == [told]
        assert [one.id for one in await store.reminders(["ann"], waiting=True)] == [uid("r1")]
        assert len(await store.reminders(["ann", "bob"])) == 3


async def test_a_claim_is_of_one_server_until_it_ends(backend: Backend) -> None:
    async with backend.store() as store:
        await store.commit([Put(todo()), Put(reminder())])
        ids = [uid("r")]

        async def claim(by: str, now: float) -> bool:
            until = at(now + 60)
            return await store.claim_reminders(ids, by=by, now=at(now), until=until) == ids

        assert await claim("one", 0)
        assert not await claim("two", 1)
        assert await claim("one", 30)  # renewed
        assert not await claim("two", 61)
        assert await claim("two", 90)
        assert not await claim("one", 91)
        (held,) = await store.reminders(["ann"])
        assert (held.claimed_by, held.claimed_until) == ("two", at(150))
        await store.commit([Put(replace(held, status="told", told_at=at(95)))])
        assert not await claim("two", 96)


async def test_a_reminder_goes_with_its_user_and_not_with_what_was_ticked_off(
    backend: Backend,
) -> None:
    async with backend.store() as store:
        await store.commit([Put(todo()), Put(reminder())])
        await store.commit([Put(todo(status=TodoStatus.COMPLETED))])
        assert len(await store.reminders(["ann"])) == 1
        await store.forget("ann")
        assert await store.reminders(["ann"]) == []
