"""The same over SQLite, whose guards are the last word on what may change."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.contract.conftest import FullStore
from tests.intents.backend import ACCEPTED, Answer, UserBackend
from tests.intents.service_bench import USER, bench, fault_of
from vivavoce.store import open_store
from vivavoce.wire.records.plans import IntentStatus, TodoStatus

DOWN: Answer = (503, {}, b"")


@asynccontextmanager
async def _sqlite(folder: Path) -> AsyncIterator[FullStore]:
    store = open_store(f"sqlite:///{folder}/vivavoce.db")
    await store.open()
    try:
        yield store
    finally:
        await store.close()


async def test_submitted_amended_and_taken_back(tmp_path: Path) -> None:
    async with _sqlite(tmp_path) as store, bench(store=store, fresh=True) as here:
        await here.say("Remind me to buy milk on Friday at six")
        first = await here.task("c1", title="Buy milk", scheduled_at="Friday at 6")
        again = await here.task("c2", title="Buy milk", scheduled_at="Friday at 6")
        assert again["intent_id"] == first["intent_id"]
        assert (await here.place()).linked_task_id == first["task_id"]
        said = await here.say("No, Saturday")
        await here.amend(field="scheduled_at", value="Saturday")
        [intent] = await here.intents()
        assert (intent.revision, intent.payload["scheduled_at"]) == (1, "Saturday")
        assert said in intent.evidence
        await here.say("Forget it")
        await here.retract()
        [intent] = await here.intents()
        [todo] = await store.todos(user_id=USER)
        assert (intent.status, todo.status) == (IntentStatus.RETRACTED, TodoStatus.RETRACTED)


async def test_to_a_backend_that_is_down_and_back(tmp_path: Path) -> None:
    answers = [DOWN, DOWN, ACCEPTED, ACCEPTED, DOWN]
    async with UserBackend(answers=answers).running() as backend, _sqlite(tmp_path) as store:
        async with bench(backend, store, fresh=True) as here:
            await here.say("Remind me to buy milk tomorrow at 8")
            await fault_of(here.task("c1", title="Buy milk", scheduled_at="tomorrow at 8"))
            [intent] = await here.intents()
            assert intent.status is IntentStatus.PENDING
            await here.say("No, Saturday")
            await fault_of(here.amend("a1", field="scheduled_at", value="Saturday"))
            told = await here.amend("a2", field="scheduled_at", value="Saturday")
            assert (told["status"], told["task_id"]) == ("accepted", "T-1")
            await here.say("Forget it")
            await fault_of(here.retract("r1"))
            assert (await here.intents())[0].status is IntentStatus.ACCEPTED
            assert (await here.retract("r2"))["status"] == "retracted"
            [intent] = await here.intents()
            assert (intent.status, intent.revision) == (IntentStatus.RETRACTED, 1)
            deliveries = await store.deliveries(intent.id)
            assert [d.action for d in deliveries] == ["submit", "amend", "retract"]
            assert {d.status for d in deliveries} == {"delivered"}
            assert await store.due_deliveries(before=here.clock.now()) == []
        assert len(backend.done) == 3
