"""The same call again: once for a model that repeats itself, again for a user who asks again."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

from tests.intents.backend import UserBackend
from tests.intents.service_bench import USER, Bench, bench
from vivavoce.wire.records.plans import Todo, TodoStatus
from vivavoce.wire.records.talk import Put, entry_id

BERLIN = ZoneInfo("Europe/Berlin")


async def _times(here: Bench) -> list[str]:
    """Of the open tasks, where the user lives; the bench begins on Saturday at 15:30."""
    found = await here.store.todos(user_id=USER, open_only=True)
    times = [t.scheduled_at.astimezone(BERLIN) for t in found if t.scheduled_at is not None]
    return [f"{at:%a %H:%M}" for at in times]


async def _oven(here: Bench, call_id: str) -> dict[str, Any]:
    await here.say("Remind me to check the oven in ten minutes")
    told = await here.task(call_id, title="Check the oven", scheduled_at="in ten minutes")
    await here.answer("Done.")
    return told


async def _milk(here: Bench, call_id: str) -> dict[str, Any]:
    return await here.task(call_id, title="Buy milk", scheduled_at="tomorrow at 8 am")


async def test_the_oven_again_is_another_ten_minutes() -> None:
    async with bench(built_in=True) as here:
        await _oven(here, "c1")
        await here.clock.advance(25 * 60)
        told = await _oven(here, "c2")
        assert "already" not in told
        assert len(await here.intents()) == 2
        assert len(await _times(here)) == 2


async def test_a_task_may_be_moved_back_to_where_it_was_moved_before() -> None:
    async with bench(built_in=True) as here:
        now = here.clock.now()
        gym = Todo(
            id=entry_id("the", "gym"),
            user_id=USER,
            title="Gym",
            trigger_type="time",
            created_at=now,
            updated_at=now,
            scheduled_at=now + timedelta(hours=5),
            time_zone="Europe/Berlin",
        )
        await here.store.commit([Put(gym)])
        seen: list[str] = []
        for words in ("Friday at 6 pm", "Sunday at 6 pm", "Friday at 6 pm"):
            await here.say(f"Move my gym to {words}")
            await here.submit(
                f"m{len(seen)}",
                "submit_reschedule_intent",
                task_id=gym.id,
                preferred_new_time=words,
            )
            seen += await _times(here)
        assert seen == ["Fri 18:00", "Sun 18:00", "Fri 18:00"]
        await here.say("And back to where it was on Sunday")
        await here.submit(
            "m3", "submit_reschedule_intent", task_id=gym.id, preferred_new_time="Sunday at 6 pm"
        )
        assert await _times(here) == ["Sun 18:00"]
        again = await here.submit(
            "m4", "submit_reschedule_intent", task_id=gym.id, preferred_new_time="Friday at 6 pm"
        )
        assert again["already"] is True, "nobody has said anything since"


async def test_what_is_spoken_of_again_and_stands_is_there_already_and_when_is_told() -> None:
    async with bench(built_in=True) as here:
        await here.say("Remind me to buy milk tomorrow at 8 am")
        first = await _milk(here, "c1")
        await here.answer("Done!")
        await here.clock.advance(600)
        await here.say("You did put down the milk for tomorrow at 8 am?")
        again = await _milk(here, "c2")
        assert (again["intent_id"], again["already"]) == (first["intent_id"], True)
        assert again["when"] == "tomorrow, Sunday, at eight in the morning"
        [todo] = await here.store.todos(user_id=USER)
        await here.store.commit([Put(_done(todo))])
        await here.say("Remind me to buy milk tomorrow at 8 am, once more")
        assert "already" not in await _milk(here, "c3"), "the first one is done"


def _done(todo: Todo) -> Todo:
    fields = {name: getattr(todo, name) for name in todo.__dataclass_fields__}
    return Todo(**fields | {"status": TodoStatus.COMPLETED})


async def test_a_recurring_task_that_is_asked_for_twice_is_one() -> None:
    async with bench(built_in=True) as here:
        for call_id in ("c1", "c2"):
            await here.say("Remind me to stretch every day at 3:40 pm")
            await here.task(call_id, title="Stretch", scheduled_at="every day at 3:40 pm")
            await here.answer("Done!")
            await here.clock.advance(900)  # its first time is over when it is said again
        assert len(await here.store.todos(user_id=USER)) == 1


async def test_a_backend_hears_of_it_again_when_the_user_asks_again_later() -> None:
    async with UserBackend().running() as backend, bench(backend) as here:
        await _oven(here, "c1")
        assert (await _oven(here, "c2"))["already"] is True, "said twice in one breath"
        await here.clock.advance(25 * 60)
        assert "already" not in await _oven(here, "c3")
        assert len(backend.done) == 2
        await here.clock.advance(25 * 60)
        await here.say("Thank you, bye")
        told = await here.task("c4", title="Check the oven", scheduled_at="in ten minutes")
        assert told["already"] is True, "nobody asked"
