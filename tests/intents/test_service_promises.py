""" "I'll remind you" is said of what somebody will remind the user of, and of nothing else."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.intents.backend import Answer, UserBackend
from tests.intents.service_bench import SECRET, USER, bench, flux
from vivavoce.brain.dialogue.state import Deed, State, Wish, World
from vivavoce.brain.dialogue.wording import outcome
from vivavoce.intents.delivery.http import key_of, signed
from vivavoce.intents.delivery.outside import due
from vivavoce.testing.fakes import EPOCH
from vivavoce.wire.hints import Thing, hint_of
from vivavoce.wire.records.plans import Reminder, Todo
from vivavoce.wire.records.talk import Put, iso

NAME = "submit_new_task_intent"


def worded(result: dict[str, Any]) -> set[str]:
    """Every way in which flux says it."""
    [tool] = [one for one in flux().tools() if one.name == NAME]
    hint = hint_of(tool.hinted()["parameters"])
    assert hint is not None
    world = World(hints={NAME: hint}, now=EPOCH)
    wish = Wish(number=1, tool=NAME)
    things = tuple(Thing(**one) for one in result["things"])
    deed = Deed(wish=wish, tool=NAME, arguments={}, ok=True, result=result, things=things)
    return {outcome([deed], State(turn=turn), world) for turn in range(len(hint.confirm))}


async def test_what_has_a_time_and_somebody_who_watches_it_is_promised() -> None:
    async with bench(built_in=True, reminds=True) as here:
        await here.say("Remind me to call my mom tomorrow at seven in the evening")
        told = await here.task("c1", title="Call my mom", scheduled_at="tomorrow at 7 pm")
        assert told["remind"] == told["summary"]
        said = worded(told)
        assert f"I'll remind you: {told['summary']}." in said
        assert f"It is on your list: {told['summary']}." in said


async def test_without_somebody_who_watches_there_is_no_promise() -> None:
    async with bench(built_in=True) as here:
        await here.say("Remind me to call my mom tomorrow at seven in the evening")
        told = await here.task("c1", title="Call my mom", scheduled_at="tomorrow at 7 pm")
        assert "remind" not in told
        assert not any("remind you" in words for words in worded(told))


async def test_at_a_place_it_is_on_the_list_and_no_more() -> None:
    async with bench(built_in=True, reminds=True) as here:
        await here.say("Remind me to buy milk when I leave home")
        told = await here.task(
            "c1", title="Buy milk", trigger_type="location", location_trigger="when I leave home"
        )
        assert "remind" not in told
        said = worded(told)
        assert said
        assert not any("remind you" in words for words in said)


@pytest.mark.parametrize("reminds", [True, False])
async def test_of_a_backend_elsewhere_only_what_it_says_itself(reminds: bool) -> None:
    answer = b'{"status":"accepted","title":"Call","when":"tomorrow at seven","reminds":%s}'
    answered: Answer = (200, {}, answer % (b"true" if reminds else b"false"))
    async with (
        UserBackend(usual=answered).running() as backend,
        bench(backend, reminds=True) as here,
    ):
        await here.say("Remind me to call my mom tomorrow at seven in the evening")
        told = await here.task("c1", title="Call my mom", scheduled_at="tomorrow at 7 pm")
        assert told.get("remind") == ("Call, tomorrow at seven" if reminds else None)


async def test_a_backend_hears_signed_of_what_came_due_and_once() -> None:
    async with UserBackend().running() as backend, bench(backend) as here:
        now = here.clock.now()
        todo = Todo(
            id="0b5e7bb6-8f6c-4d8e-9a53-c28a4a9a3e10",
            user_id=USER,
            title="Call mum",
            trigger_type="time",
            created_at=now,
            updated_at=now,
            scheduled_at=now,
        )
        reminder = Reminder(
            id="6f1c2d1e-4c58-4c8f-8a0c-0d5a6f7b8c9d",
            user_id=USER,
            task_id=todo.id,
            title=todo.title,
            due_at=now,
            created_at=now,
        )
        await here.store.commit([Put(due(reminder, todo, "flux"))])
        async with here.outbox.running():
            await here.clock.waiting()
            await here.clock.advance(100)
            await here.clock.waiting()
        [message] = backend.seen
        stamp = datetime.fromtimestamp(int(message.headers["webhook-timestamp"]), UTC)
        expected = signed(key_of(SECRET), message.key, stamp, message.raw)
        assert message.headers["webhook-signature"] == expected["webhook-signature"]
        assert (message.body["action"], message.body["event"]) == ("due", "task.due")
        assert (message.body["task_id"], message.body["title"]) == (todo.id, "Call mum")
        assert message.body["due_at"] == iso(now)
        [kept] = await here.store.deliveries(f"due:{reminder.id}")
        assert (kept.status, kept.attempts) == ("delivered", 1)
