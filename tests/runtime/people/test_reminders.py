"""To-dos come due once, at their time, whatever happens between two steps and however many servers
look."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import orjson
import pytest

from vivavoce.runtime.journal.log import Journal
from vivavoce.runtime.people import due
from vivavoce.runtime.people.plans import Agenda
from vivavoce.runtime.people.reminders import CLAIM, Reminders
from vivavoce.session.events import News
from vivavoce.testing.fakes import EPOCH, ManualClock, MemoryStore
from vivavoce.wire.records.plans import Delivery, Reminder, Todo, TodoStatus
from vivavoce.wire.records.talk import Change, LogEvent, Put, new_id

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


class Ears:
    """The sessions of one server: who is there hears what is told, and has heard it at once."""

    def __init__(self, *users: str, deaf: bool = False) -> None:
        self.users, self.deaf = users, deaf
        self.heard: list[News] = []
        self.reminders: Reminders

    def there(self) -> Sequence[str]:
        return self.users

    async def remind(self, user_id: str) -> None:
        keys = {news.key for news in self.heard}
        for news in await self.reminders.waiting_for(user_id, keys):
            self.heard.append(news)
            if not self.deaf:
                await self.reminders.told(news.key, user_id)

    @property
    def said(self) -> list[str]:
        return [news.say or "" for news in self.heard]


class Bench:
    def __init__(self, store: MemoryStore, clock: ManualClock) -> None:
        self.store, self.clock = store, clock
        self.journal = Journal(store, clock)

    def server(self, ears: Ears, name: str = "one", **more: Any) -> Reminders:
        made = Reminders(
            store=self.store,
            journal=self.journal,
            clock=self.clock,
            sessions=ears,
            instance=name,
            time_zone="UTC",
            **more,
        )
        ears.reminders = made
        return made

    async def todo(self, at: datetime | None = None, **more: Any) -> Todo:
        now = self.clock.now()
        given: dict[str, Any] = {
            "id": new_id(),
            "user_id": "ann",
            "title": "Call mum",
            "trigger_type": "time",
            "created_at": now,
            "updated_at": now,
            "scheduled_at": at,
        }
        todo = Todo(**given | more)
        await self.store.commit([Put(todo)])
        return todo

    async def change(self, todo: Todo, **changes: Any) -> Todo:
        todo = replace(todo, **changes, updated_at=self.clock.now())
        await self.store.commit([Put(todo)])
        return todo

    async def events(self) -> list[dict[str, Any]]:
        found: list[LogEvent] = await self.store.events(after=0, limit=100)
        return [orjson.loads(one.data) for one in found if one.type == "task.due"]


@asynccontextmanager
async def bench() -> AsyncIterator[Bench]:
    store = MemoryStore()
    await store.open()
    yield Bench(store, ManualClock())
    await store.close()


async def test_what_is_due_is_announced_and_told_at_its_time_and_not_before() -> None:
    async with bench() as st:
        ears = Ears("ann")
        server = st.server(ears)
        todo = await st.todo(EPOCH + HOUR)
        await server.round()
        await st.clock.advance(3599)
        assert await server.round() == pytest.approx(1.0)
        assert await st.events() == []
        await st.clock.advance(1)
        await server.round()
        (event,) = await st.events()
        assert (event["task_id"], event["title"], event["late"]) == (todo.id, "Call mum", False)
        assert ears.said == ["Here is your reminder: Call mum."]


async def test_it_is_told_once_however_often_somebody_looks() -> None:
    async with bench() as st:
        ears = Ears("ann")
        server = st.server(ears)
        await st.todo(EPOCH + MINUTE)
        for _ in range(5):
            await st.clock.advance(60)
            await server.round()
        assert len(ears.heard) == len(await st.events()) == 1


async def test_who_is_not_there_is_told_when_they_are_with_the_time_it_was_due() -> None:
    async with bench() as st:
        away, here = Ears(), Ears("ann")
        await st.todo(EPOCH + MINUTE)
        await st.clock.advance(60)
        await st.server(away).round()
        assert len(await st.events()) == 1
        await st.clock.advance(3600)
        await st.server(here).round()
        assert here.said == ["This was due today at two thirty-one in the afternoon: Call mum."]


MOVES: dict[str, dict[str, Any]] = {
    "moved": {"scheduled_at": EPOCH + DAY, "status": TodoStatus.RESCHEDULED},
    "ticked off": {"status": TodoStatus.COMPLETED},
    "deleted": {"status": TodoStatus.RETRACTED},
    "put at a place": {
        "trigger_type": "location",
        "location_trigger": "at home",
        "scheduled_at": None,
    },
}


@pytest.mark.parametrize("how", MOVES)
async def test_what_was_changed_before_its_time_is_not_told_for_it(how: str) -> None:
    async with bench() as st:
        ears = Ears("ann")
        server = st.server(ears)
        todo = await st.todo(EPOCH + MINUTE)
        await server.round()
        await st.change(todo, **MOVES[how])
        await st.clock.advance(120)
        await server.round()
        assert ears.heard == await st.events() == []


@pytest.mark.parametrize("how", MOVES)
async def test_what_was_changed_before_anyone_could_be_told_is_not_told(how: str) -> None:
    async with bench() as st:
        todo = await st.todo(EPOCH + MINUTE)
        await st.clock.advance(60)
        await st.server(Ears()).round()
        await st.change(todo, **MOVES[how])
        ears = Ears("ann")
        await st.server(ears).round()
        assert ears.heard == []
        assert [one.status for one in await st.store.reminders(["ann"])] == ["dropped"]


async def test_what_is_ticked_off_while_it_waits_for_a_pause_need_not_be_said() -> None:
    async with bench() as st:
        ears = Ears("ann", deaf=True)
        server = st.server(ears)
        todo = await st.todo(EPOCH + MINUTE)
        await st.clock.advance(60)
        await server.round()
        keys = [news.key for news in ears.heard]
        assert await server.dropped(keys) == []
        await st.change(todo, status=TodoStatus.COMPLETED)
        await server.round()
        assert await server.dropped([*keys, "task:t1"]) == keys


async def test_one_that_is_snoozed_is_told_again_at_its_new_time() -> None:
    async with bench() as st:
        ears = Ears("ann")
        server = st.server(ears)
        todo = await st.todo(EPOCH + MINUTE)
        await st.clock.advance(60)
        await server.round()
        await st.clock.advance(20)
        later = st.clock.now() + 10 * MINUTE
        await st.change(todo, scheduled_at=later, status=TodoStatus.RESCHEDULED)
        await server.round()
        await st.clock.advance(599)
        await server.round()
        assert len(ears.heard) == 1
        await st.clock.advance(1)
        await server.round()
        assert len(ears.heard) == 2


async def test_taking_a_snooze_back_does_not_tell_it_again() -> None:
    async with bench() as st:
        ears = Ears("ann")
        server = st.server(ears)
        todo = await st.todo(EPOCH + MINUTE)
        await st.clock.advance(60)
        await server.round()
        moved = await st.change(todo, scheduled_at=EPOCH + HOUR)
        await server.round()
        await st.change(moved, scheduled_at=EPOCH + MINUTE)
        await server.round()
        assert len(ears.heard) == len(await st.events()) == 1


async def test_what_is_written_with_a_time_that_is_past_is_no_reminder() -> None:
    async with bench() as st:
        ears = Ears("ann")
        await st.todo(EPOCH - HOUR)
        moved = await st.todo(EPOCH + DAY)
        await st.change(moved, scheduled_at=EPOCH - DAY)
        await st.server(ears).round()
        assert ears.heard == []


async def test_one_that_is_renamed_at_its_time_is_told_by_its_new_name() -> None:
    async with bench() as st:
        todo = await st.todo(EPOCH + MINUTE)
        await st.server(Ears()).round()
        await st.clock.advance(61)
        await st.change(todo, title="Call dad")
        ears = Ears("ann")
        await st.server(ears).round()
        assert ears.said == ["Here is your reminder: Call dad."]


async def test_each_time_of_one_that_recurs_is_told() -> None:
    async with bench() as st:
        ears = Ears("ann")
        server = st.server(ears)
        await st.todo(EPOCH + HOUR, recurrence_rule="FREQ=DAILY")
        for _ in range(4):
            await server.round()
            await st.clock.advance(12 * 3600)
        await server.round()
        due = [one["due_at"] for one in await st.events()]
        assert due == ["2026-01-31T15:30:22.000Z", "2026-02-01T15:30:00.000Z"]
        assert len(ears.heard) == 2


async def test_of_one_that_recurs_the_time_that_was_moved_is_told_where_it_is_now() -> None:
    async with bench() as st:
        server = st.server(Ears())
        first = EPOCH + HOUR
        todo = await st.todo(first, recurrence_rule="FREQ=DAILY")
        moved = {"recurs_from": first, "moved_from": first, "scheduled_at": first + 2 * HOUR}
        await st.change(todo, **moved)
        for _ in range(28):
            await server.round()
            await st.clock.advance(3600)
        due = [one["due_at"][5:16] for one in await st.events()]
        assert due == ["01-31T17:30", "02-01T15:30"]


async def test_what_came_due_while_nobody_ran_is_told_once_and_what_is_old_in_one_sentence() -> (
    None
):
    async with bench() as st:
        await st.todo(EPOCH + HOUR)
        await st.todo(EPOCH + DAY, title="Dentist")
        await st.todo(EPOCH + 4 * DAY, title="Choir")
        await st.clock.advance(4 * 86_400 + 3 * 3600)
        ears = Ears("ann")
        server = st.server(ears)
        await server.round()
        await server.round()
        assert ears.said == [
            "These were due: Dentist, on Sunday the first of February at half past two in the "
            "afternoon; and Call mum, on Saturday the thirty-first of January at half past three "
            "in the afternoon.",
            "This was due today at half past two in the afternoon: Choir.",
        ]
        assert [event["late"] for event in await st.events()] == [True, True, True]
        assert await st.store.reminders(["ann"], waiting=True) == []


async def test_after_a_month_away_one_that_recurs_daily_is_not_told_thirty_times() -> None:
    async with bench() as st:
        await st.todo(EPOCH + HOUR, recurrence_rule="FREQ=DAILY")
        await st.clock.advance(30 * 86_400)
        ears = Ears("ann")
        await st.server(ears).round()
        assert len(ears.heard) == 2  # yesterday's, and the last of those before


# --- Several servers, and one that dies ---------------------------------------------------


async def test_of_two_servers_one_announces_and_one_tells() -> None:
    async with bench() as st:
        one, two = Ears("ann", deaf=True), Ears("ann", deaf=True)
        servers = [st.server(one, "one"), st.server(two, "two")]
        await st.todo(EPOCH + MINUTE)
        await st.clock.advance(60)
        for server in servers * 3:
            await server.round()
        assert len(await st.events()) == 1
        assert len(one.heard) + len(two.heard) == 1


async def test_a_claim_ends_and_another_server_tells_what_the_first_never_did() -> None:
    async with bench() as st:
        deaf, other = Ears("ann", deaf=True), Ears("ann")
        await st.todo(EPOCH + MINUTE)
        await st.clock.advance(60)
        await st.server(deaf, "one").round()
        assert len(deaf.heard) == 1
        survivor = st.server(other, "two")
        await st.clock.advance(CLAIM.total_seconds() - 1)
        await survivor.round()
        assert other.heard == []
        await st.clock.advance(2)
        await survivor.round()
        assert other.said == ["Here is your reminder: Call mum."]
        assert len(await st.events()) == 1


async def test_the_same_server_tells_after_its_death_what_it_had_claimed() -> None:
    async with bench() as st:
        deaf, again = Ears("ann", deaf=True), Ears("ann")
        await st.todo(EPOCH + MINUTE)
        await st.clock.advance(60)
        await st.server(deaf, "one").round()
        await st.server(again, "one").round()
        await st.server(again, "one").round()
        assert len(again.heard) == 1
        assert len(await st.events()) == 1


class Dying(MemoryStore):
    """Dies before, or after, the commit that notes what is due; another time it goes well."""

    def __init__(self, *, after: bool) -> None:
        super().__init__()
        self.after, self.dead = after, False

    async def commit(self, changes: Sequence[Change]) -> list[LogEvent]:
        notes = any(isinstance(one, Put) and isinstance(one.record, Reminder) for one in changes)
        if self.dead or not notes:
            return await super().commit(changes)
        self.dead = True
        if self.after:
            await super().commit(changes)
        raise ConnectionError("kill -9")


@pytest.mark.parametrize("after", [True, False])
async def test_a_server_that_dies_before_or_after_it_noted_it_announces_it_once(
    after: bool,
) -> None:
    store = Dying(after=after)
    await store.open()
    st, ears = Bench(store, ManualClock()), Ears("ann")
    await st.todo(EPOCH + MINUTE)
    await st.clock.advance(60)
    with pytest.raises(ConnectionError):
        await st.server(ears).round()
    await st.server(ears).round()
    assert len(await st.events()) == len(ears.heard) == 1


class Moving(MemoryStore):
    """Whoever reads what is to be looked at finds it moved by voice right after."""

    moves = True

    async def to_look_at(self, *, before: datetime, limit: int) -> Any:
        found = await super().to_look_at(before=before, limit=limit)
        if found and self.moves:
            self.moves = False
            todo = found[0].todo
            later = replace(todo, scheduled_at=before + DAY, updated_at=before + MINUTE / 60)
            await self.commit([Put(later)])
        return found


async def test_what_is_moved_at_the_very_moment_is_not_told_for_its_old_time() -> None:
    store = Moving()
    await store.open()
    st, ears = Bench(store, ManualClock()), Ears("ann")
    await st.todo(EPOCH + MINUTE)
    await st.clock.advance(60)
    server = st.server(ears)
    await server.round()
    await st.clock.advance(5)
    await server.round()
    assert await st.events() == []
    await st.clock.advance(86_400)
    await server.round()
    assert len(await st.events()) == 1


async def test_one_that_nobody_can_count_does_not_stand_in_the_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counted = due.fell_due

    def fell_due(todo: Todo, *rest: Any) -> list[datetime]:
        if todo.title == "Broken":
            raise OverflowError
        return counted(todo, *rest)

    monkeypatch.setattr(due, "fell_due", fell_due)
    async with bench() as st:
        ears = Ears("ann")
        await st.todo(EPOCH + MINUTE, title="Broken")
        await st.todo(EPOCH + MINUTE)
        await st.clock.advance(60)
        await st.server(ears).round()
        assert ears.said == ["Here is your reminder: Call mum."]
        assert await st.store.next_look() is None


async def test_nobody_is_asked_about_who_has_nothing_to_hear() -> None:
    async with bench() as st:
        ears, asked = Ears("ann", "bob"), list[str]()
        remind = ears.remind

        async def noted(user_id: str) -> None:
            asked.append(user_id)
            await remind(user_id)

        ears.remind = noted  # type: ignore[method-assign]
        await st.todo(EPOCH + MINUTE)
        await st.clock.advance(60)
        await st.server(ears).round()
        await st.server(ears).round()
        assert asked == ["ann"]


# --- Elsewhere ----------------------------------------------------------------------------


async def test_a_backend_gets_a_message_in_the_same_commit() -> None:
    sent: list[str] = []

    def deliver(reminder: Reminder, todo: Todo) -> Delivery:
        now = reminder.created_at
        return Delivery(
            id=f"dl_{reminder.id}",
            intent_id=f"due:{reminder.id}",
            user_id=todo.user_id,
            action="due",
            body={"event": "task.due"},
            created_at=now,
            updated_at=now,
            due_at=now,
        )

    async with bench() as st:
        woken: list[bool] = []
        server = st.server(Ears(), deliver=deliver, delivered=lambda: woken.append(True))
        await st.todo(EPOCH + MINUTE)
        await st.clock.advance(60)
        await server.round()
        await server.round()
        sent = [one.id for one in await st.store.due_deliveries(before=st.clock.now())]
        assert len(sent) == len(woken) == 1


async def test_goals_are_no_reminders_and_other_users_hear_nothing() -> None:
    async with bench() as st:
        ears = Ears("bob")
        agenda = Agenda(st.store, st.journal, st.clock, check_voice=str)
        await agenda.add_goal("ann", {"statement": "Run", "target_at": EPOCH + MINUTE})
        await st.todo(EPOCH + MINUTE)
        await st.clock.advance(60)
        await st.server(ears).round()
        assert ears.heard == []
        assert [one["title"] for one in await st.events()] == ["Call mum"]
