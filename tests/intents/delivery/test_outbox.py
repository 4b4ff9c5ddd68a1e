"""The outbox: nothing is lost when the backend or we are down, and nothing is doubled."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta

import orjson
import pytest

from tests.intents.backend import ACCEPTED, Answer, UserBackend
from tests.intents.service_bench import USER, Bench, bench, fault_of
from vivavoce.errors import IntentRefused, OrchestratorUnavailable, Unavailable
from vivavoce.intents.delivery.outbox import LONGEST_WAIT, backoff
from vivavoce.runtime.calls.outcomes import failed
from vivavoce.wire.records.plans import Delivery, Intent, IntentStatus
from vivavoce.wire.records.talk import Put

DOWN: Answer = (503, {}, b"")


async def _until(found: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(10):
        while not await found():
            await asyncio.sleep(0.01)


async def _status(here: Bench, status: IntentStatus) -> None:
    async def reached() -> bool:
        return (await here.intents())[0].status is status

    await _until(reached)


async def _milk(here: Bench, call_id: str = "c1") -> dict[str, object]:
    await here.say("Remind me to buy milk tomorrow at 8")
    return await here.task(call_id, title="Buy milk", scheduled_at="tomorrow at 8")


async def _only(here: Bench) -> tuple[Intent, list[Delivery]]:
    [intent] = await here.intents()
    return intent, await here.store.deliveries(intent.id)


async def test_a_backend_that_is_down_is_trouble_for_the_model_and_the_intent_is_kept() -> None:
    async with UserBackend(usual=DOWN).running() as backend, bench(backend) as here:
        fault = await fault_of(_milk(here))
        assert isinstance(fault, OrchestratorUnavailable)
        assert orjson.loads(failed(fault).for_model)["status"] == "pending"
        intent, [delivery] = await _only(here)
        assert (intent.status, intent.payload["title"]) == (IntentStatus.PENDING, "Buy milk")
        assert (delivery.status, delivery.attempts, delivery.last_error) == (
            "pending",
            1,
            "answered 503",
        )
        told = await here.told()
        assert [kind for kind, _ in told] == ["intent.submitted", "error"]
        assert (told[0][1]["status"], told[1][1]["code"]) == ("pending", "orchestrator_error")


async def test_it_is_delivered_by_itself_when_the_backend_is_back() -> None:
    backend = UserBackend(answers=[DOWN, "drop", (429, {"retry-after": "60"}, b"")])
    async with backend.running(), bench(backend) as here:
        await fault_of(_milk(here))
        async with here.outbox.running():
            await here.clock.waiting()
            await here.clock.advance(3)  # the second attempt, which is dropped
            await _until(lambda: _seen(backend, 2))
            await here.clock.waiting()
            await here.clock.advance(6)  # the third, which is asked to wait
            await _until(lambda: _seen(backend, 3))
            await here.clock.waiting()
            await here.clock.advance(50)
            assert len(backend.seen) == 3, "a minute was asked for"
            await here.clock.waiting()
            await here.clock.advance(15)
            await _status(here, IntentStatus.ACCEPTED)
        assert len(backend.done) == 1, "one key, however often"
        intent, [delivery] = await _only(here)
        assert (intent.task_id, delivery.status, delivery.attempts) == ("T-1", "delivered", 4)
        kinds = [(kind, event.get("status")) for kind, event in await here.told()]
        assert kinds == [
            ("intent.submitted", "pending"),
            ("error", None),
            ("intent.submitted", "accepted"),
        ]


async def _seen(backend: UserBackend, count: int) -> bool:
    return len(backend.seen) >= count


async def test_a_process_that_dies_with_one_pending_leaves_it_to_the_next() -> None:
    backend = UserBackend()
    async with backend.running():
        pass  # there was one, and its port is known; now it is down
    async with bench(backend) as here:
        await fault_of(_milk(here))
    async with backend.running(), bench(backend, here.store, later=3600) as after:
        async with after.outbox.running():
            await _status(after, IntentStatus.ACCEPTED)
        assert len(backend.seen) == 1
        assert backend.seen[0].key == (await _only(after))[1][0].id


async def test_one_that_died_between_the_answer_and_its_commit_asks_again_with_the_key() -> None:
    async with UserBackend().running() as backend, bench(backend) as here:
        commit, here.store.commit = here.store.commit, _dying(here)  # type: ignore[method-assign, assignment]
        fault = await fault_of(_milk(here))
        assert isinstance(fault, Unavailable)
        here.store.commit = commit  # type: ignore[method-assign]
        assert len(backend.seen) == 1
        async with bench(backend, here.store, later=3600) as after:
            async with after.outbox.running():
                await _status(after, IntentStatus.ACCEPTED)
            assert (len(backend.seen), len(backend.done)) == (2, 1)


def _dying(here: Bench) -> Callable[..., Awaitable[object]]:
    commit = here.store.commit

    async def dying(changes: list[object]) -> object:
        for change in changes:
            if isinstance(change, Put) and getattr(change.record, "status", "") == "delivered":
                raise Unavailable("The store went away")
        return await commit(changes)  # type: ignore[arg-type]

    return dying


async def test_try_again_is_the_same_delivery() -> None:
    async with UserBackend(answers=[DOWN]).running() as backend, bench(backend) as here:
        await fault_of(_milk(here))
        await here.say("Yes, try again")
        told = await here.task("c2", title="Buy milk", scheduled_at="tomorrow at 8")
        assert told["status"] == "accepted"
        assert (len(backend.seen), len(backend.done)) == (2, 1)
        assert len(await here.intents()) == 1


async def test_what_the_backend_refuses_goes_back_in_its_words() -> None:
    refusal: Answer = (422, {}, b'{"message": "Milk is sold out"}')
    async with UserBackend(answers=[refusal]).running() as backend, bench(backend) as here:
        fault = await fault_of(_milk(here))
        assert isinstance(fault, IntentRefused)
        assert fault.message == "Milk is sold out"
        intent, [delivery] = await _only(here)
        assert (intent.status, intent.error) == (IntentStatus.FAILED, "Milk is sold out")
        assert delivery.status == "refused"
        told = await _milk(here, "c2")
        assert (told["status"], len(backend.done)) == ("accepted", 2)


async def test_a_backend_that_hangs_is_left_after_its_time() -> None:
    async with UserBackend(answers=["hang"]).running() as backend, bench(backend) as here:
        assert isinstance(await fault_of(_milk(here)), OrchestratorUnavailable)
        _, [delivery] = await _only(here)
        assert delivery.last_error == "no answer within 1 seconds"


async def test_a_correction_goes_out_after_what_it_corrects() -> None:
    async with UserBackend(answers=[DOWN, DOWN]).running() as backend, bench(backend) as here:
        await fault_of(_milk(here))
        await here.say("No, on Saturday")
        await fault_of(here.amend(field="scheduled_at", value="Saturday"))
        await here.say("Forget it altogether")
        told = await here.retract()
        assert told["status"] == "retracted"
        actions = [seen.body["action"] for seen in backend.seen]
        assert actions == ["submit", "submit", "submit", "amend", "retract"]
        amended = backend.seen[3].body
        assert (amended["payload"]["scheduled_at"], amended["revision"]) == ("Saturday", 1)
        assert amended["previous"]["scheduled_at"] == "tomorrow at 8"
        intent, deliveries = await _only(here)
        assert (intent.status, intent.task_id) == (IntentStatus.RETRACTED, "T-1")
        assert {delivery.status for delivery in deliveries} == {"delivered"}
        assert (await here.told())[-1][0] == "intent.retracted"


async def test_an_amendment_reaches_the_backend_once() -> None:
    async with UserBackend(answers=[ACCEPTED, DOWN]).running() as backend, bench(backend) as here:
        await _milk(here)
        await here.say("No, on Saturday")
        await fault_of(here.amend("a1", field="scheduled_at", value="Saturday"))
        assert (await here.intents())[0].status is IntentStatus.PENDING
        told = await here.amend("a2", field="scheduled_at", value="Saturday")
        assert (told["status"], told["payload"]["scheduled_at"]) == ("accepted", "Saturday")
        assert [seen.body["action"] for seen in backend.seen] == ["submit", "amend", "amend"]
        assert len(backend.done) == 2


async def test_a_refused_amendment_leaves_what_was_accepted() -> None:
    refusal: Answer = (409, {}, b'{"error": "It is done already"}')
    async with UserBackend(answers=[ACCEPTED, refusal]).running() as backend, bench(backend) as b:
        await _milk(b)
        await b.say("No, on Saturday")
        fault = await fault_of(b.amend(field="scheduled_at", value="Saturday"))
        assert fault.message == "It is done already"
        intent, _ = await _only(b)
        assert (intent.status, intent.payload["scheduled_at"]) == (
            IntentStatus.ACCEPTED,
            "tomorrow at 8",
        )
        await b.say("Then Sunday")
        told = await b.amend("a2", field="scheduled_at", value="Sunday")
        assert told["payload"]["scheduled_at"] == "Sunday"


async def test_after_two_refused_amendments_the_record_is_what_the_backend_holds() -> None:
    down: list[Answer] = [DOWN] * 2
    async with (
        UserBackend(answers=[ACCEPTED, *down]).running() as backend,
        bench(backend) as here,
    ):
        await _milk(here)
        await here.say("No, at 9")
        await fault_of(here.amend("a1", field="scheduled_at", value="tomorrow at 9"))
        await here.say("No, at 10")
        await fault_of(here.amend("a2", field="scheduled_at", value="tomorrow at 10"))
        taken: Answer = (422, {}, b'{"message": "That is taken"}')
        backend.answers = [taken, taken]
        assert isinstance(
            await fault_of(here.amend("a3", field="scheduled_at", value="tomorrow at 10")),
            IntentRefused,
        )
        intent, _ = await _only(here)
        assert (intent.status, intent.payload["scheduled_at"]) == (
            IntentStatus.ACCEPTED,
            "tomorrow at 8",
        )


async def test_what_is_asked_for_again_after_a_retraction_that_waits_is_not_lost() -> None:
    async with UserBackend(usual=DOWN).running() as backend, bench(backend) as here:
        await fault_of(_milk(here))
        await here.say("Forget it")
        await fault_of(here.retract("r1"))
        backend.usual = ACCEPTED
        told = await _milk(here, "c2")
        assert told["status"] == "accepted"
        async with here.outbox.running():
            await here.clock.waiting()
            await here.clock.advance(120)
            await _status(here, IntentStatus.RETRACTED)
        assert [i.status.value for i in await here.intents()] == ["retracted", "accepted"]


async def test_a_refused_retraction_may_be_asked_for_again() -> None:
    refusal: Answer = (409, {}, b'{"error": "Not now"}')
    async with UserBackend(answers=[ACCEPTED, refusal]).running() as backend, bench(backend) as b:
        await _milk(b)
        await b.say("Forget it")
        assert isinstance(await fault_of(b.retract("r1")), IntentRefused)
        assert (await b.intents())[0].status is IntentStatus.ACCEPTED
        assert (await b.retract("r2"))["status"] == "retracted"
        assert len(backend.done) == 3


async def test_a_retraction_that_waits_is_one() -> None:
    async with UserBackend(answers=[ACCEPTED, DOWN]).running() as backend, bench(backend) as here:
        await _milk(here)
        await here.say("Forget it")
        assert isinstance(await fault_of(here.retract("r1")), OrchestratorUnavailable)
        assert (await here.intents())[0].status is IntentStatus.ACCEPTED, "it is not yet undone"
        assert (await here.retract("r2"))["status"] == "retracted"
        assert len(backend.done) == 2


async def test_after_a_week_it_is_given_up_and_told() -> None:
    async with UserBackend(usual=DOWN).running() as backend, bench(backend) as here:
        await fault_of(_milk(here))
        async with bench(backend, here.store, later=8 * 86400) as after:
            async with after.outbox.running():
                await _status(after, IntentStatus.FAILED)
            intent, [delivery] = await _only(after)
            assert delivery.status == "refused"
            assert "7 days" in (intent.error or "")


async def test_several_servers_on_one_database_do_not_double() -> None:
    async with UserBackend(answers=[DOWN]).running() as backend, bench(backend) as here:
        await fault_of(_milk(here))
        async with (
            bench(backend, here.store, later=3600) as one,
            bench(backend, here.store, later=3600) as other,
            one.outbox.running(),
            other.outbox.running(),
        ):
            await _status(one, IntentStatus.ACCEPTED)
        assert len(backend.done) == 1
        assert len(await here.store.intents(user_id=USER)) == 1


async def test_a_store_that_is_away_does_not_end_the_worker(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with UserBackend(answers=[DOWN]).running() as backend, bench(backend) as here:
        await fault_of(_milk(here))
        await here.store.close()
        async with here.outbox.running():
            await here.clock.waiting()
            await here.store.open()
            await here.clock.advance(10)
            await _status(here, IntentStatus.ACCEPTED)
        assert "outbox" in caplog.text


async def test_one_without_an_address_waits_for_one() -> None:
    async with bench() as here:
        await _milk(here)
        [intent] = await here.intents()
        now = here.clock.now()
        delivery = Delivery(
            id="d1",
            intent_id=intent.id,
            user_id=USER,
            action="submit",
            body={"name": "gone"},
            created_at=now,
            updated_at=now,
            due_at=now,
        )
        await here.store.commit([Put(replace(delivery))])
        with pytest.raises(OrchestratorUnavailable):
            await here.outbox.flush(intent.id, USER)
        [kept] = await here.store.deliveries(intent.id)
        assert (kept.status, kept.last_error) == ("pending", "no address for it in this agent")


async def test_another_agents_messages_do_not_stand_in_the_way_of_ours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("vivavoce.intents.delivery.outbox._LOOKED_AT", 2)
    async with bench() as here:
        await _milk(here)
        [intent] = await here.intents()
        now = here.clock.now()
        late = Delivery(
            id="ours",
            intent_id=intent.id,
            user_id=USER,
            action="submit",
            body={},
            created_at=now,
            updated_at=now,
            due_at=now,
        )
        early = replace(late, body={"to": "another"}, created_at=now - timedelta(days=1))
        theirs = [replace(early, id=f"d{n}", intent_id=f"i{n}") for n in range(5)]
        await here.store.commit([*map(Put, theirs), Put(late)])
        here.outbox._url_of = lambda d: None if "to" in d.body else "http://127.0.0.1:9/"
        assert await here.outbox._due(now) == ([late], 5)


def test_waits_grow_to_a_quarter_of_an_hour_and_differ() -> None:
    waits = [backoff(attempts, 1.0) for attempts in range(1, 100)]
    assert waits[:3] == [2.0, 4.0, 8.0]
    assert max(waits) == LONGEST_WAIT
    assert backoff(3, 0.0) == 4.0


async def test_what_was_deleted_while_the_backend_thought_does_not_come_back() -> None:
    backend = UserBackend(usual=ACCEPTED)
    async with backend.running(), bench(backend) as here:
        real = here.outbox._sender.send

        async def meanwhile(url: str, delivery: Delivery) -> object:
            verdict = await real(url, delivery)
            await here.store.forget(USER)
            return verdict

        here.outbox._sender.send = meanwhile  # type: ignore[method-assign, assignment]
        await _milk(here)
        assert [name async for name, _ in here.store.rows_of(USER)] == []
