"""Submitting an intent: checked, grounded, with its evidence, once."""

from __future__ import annotations

from tests.intents.service_bench import PLACE, USER, bench, fault_of
from vivavoce.errors import (
    IntentRefused,
    InvalidArguments,
    InvalidRequest,
    NotFound,
    OrchestratorUnavailable,
    ToolNotFound,
)
from vivavoce.wire.records.plans import IntentStatus


async def test_goal_intent_function_call() -> None:
    """Valid goal payload forwarded to the orchestrator, stored with all that came of it."""
    async with bench() as here:
        said = await here.say("I want to run a marathon in six months")
        told = await here.goal("c1", goal_statement="run a marathon", timeline="6 months")
        [intent] = await here.intents()
        assert told == {
            "status": "accepted",
            "goal_id": intent.goal_id,
            "intent_id": intent.id,
        }
        assert intent.status is IntentStatus.ACCEPTED
        assert intent.evidence == (said,)
        assert intent.previous == {"made": True}
        assert (intent.session_id, intent.call_id) == ("vs_1", "c1")
        assert await here.store.goal(intent.goal_id or "", user_id=USER) is not None
        place = await here.place()
        assert place.extracted_intent == "GOAL"
        assert place.intent_payload == {"goal_statement": "run a marathon", "timeline": "6 months"}
        assert place.linked_goal_id == intent.goal_id
        [(kind, event)] = await here.told()
        assert kind == "intent.submitted"
        assert (event["status"], event["intent"], event["revision"]) == ("accepted", "GOAL", 0)
        [(action, given)] = here.orchestrator.calls
        assert (action, given.route, given.time_zone) == ("submit", "GOAL", "Europe/Berlin")
        assert given.said == "I want to run a marathon in six months"


async def test_task_intent_function_call() -> None:
    async with bench() as here:
        await here.say("Remind me to call my mom this evening around 7")
        told = await here.task("c1", title="Call mom", scheduled_at="this evening at 19:00")
        assert told["status"] == "accepted"
        assert told["when"] == "then"
        assert (await here.place()).linked_task_id == told["task_id"]


async def test_invalid_function_call() -> None:
    """The model is told what to ask for, the stream hears of it, and nothing is stored."""
    async with bench() as here:
        await here.say("Remind me to call my mom")
        fault = await fault_of(here.task("c1", title="Call mom"))
        assert isinstance(fault, InvalidArguments)
        assert fault.details["missing_params"] == ["scheduled_at"]
        assert await here.intents() == []
        [(kind, event)] = await here.told()
        assert (kind, event["code"], event["recoverable"]) == ("error", "intent_invalid", True)


async def test_a_required_value_that_nobody_said_is_refused_and_asked_for() -> None:
    async with bench() as here:
        await here.say("Remind me to call my mom")
        fault = await fault_of(here.task("c1", title="Call mom", scheduled_at="tomorrow at 9 AM"))
        assert isinstance(fault, InvalidArguments)
        assert "has not said" in fault.message
        assert fault.details["missing_params"] == ["scheduled_at"]
        assert here.orchestrator.calls == []
        await here.answer("When should I remind you?")
        await here.say("Tomorrow at nine")
        told = await here.task("c2", title="Call mom", scheduled_at="tomorrow at 9 AM")
        assert told["status"] == "accepted"


async def test_an_optional_value_that_nobody_said_is_left_out_and_the_model_knows() -> None:
    async with bench() as here:
        await here.say("I want to learn the guitar")
        told = await here.goal("c1", goal_statement="learn guitar", timeline="next summer")
        assert told["left_out"] == ["timeline"]
        [intent] = await here.intents()
        assert intent.payload == {"goal_statement": "learn guitar"}


async def test_a_clients_form_means_what_it_says() -> None:
    async with bench() as here:
        arguments = {"goal_statement": "sail around the world"}
        context = here.context("c1", origin="http")
        await here.service.submit("submit_goal_intent", arguments, context)
        [intent] = await here.intents()
        assert intent.status is IntentStatus.ACCEPTED


async def test_evidence_is_what_was_said_since_the_last_intent_with_the_questions_between() -> None:
    async with bench() as here:
        await here.answer("Hello! What would you like to set up?")
        first = await here.say("I want to start running and remind me to buy running shoes")
        asked = await here.answer("First, running. Any target like a 5K?")
        second = await here.say("I want to run a 5K in 2 months")
        await here.goal("c1", goal_statement="Run a 5K", timeline="2 months")
        await here.answer("Goal set! Now the shoes: Saturday or Sunday?")
        third = await here.say("Saturday morning")
        await here.task("c2", title="Buy running shoes", scheduled_at="Saturday morning")
        goal, task = await here.intents()
        assert goal.evidence == (first, asked, second)
        assert third in task.evidence
        assert first in task.evidence, "the shoes were spoken of before the goal was submitted"
        assert asked not in task.evidence


async def test_a_refused_intent_does_not_take_the_words_from_the_next() -> None:
    async with bench() as here:
        first = await here.say("Remind me to call mom at 7")
        here.orchestrator.fault = IntentRefused("7 in the morning or evening?", suggestion="Ask")
        await fault_of(here.task("c1", title="Call mom", scheduled_at="7"))
        here.orchestrator.fault = None
        second = await here.say("In the evening")
        await here.task("c2", title="Call mom", scheduled_at="7 in the evening")
        refused, accepted = await here.intents()
        assert refused.status is IntentStatus.FAILED
        assert {first, second} <= set(accepted.evidence)


async def test_the_same_call_again_after_a_crash_is_the_same_intent() -> None:
    """Killed between the commit and the answer: asked again with the same call id."""
    async with bench() as here:
        await here.say("I want to learn guitar")
        first = await here.goal("c1", goal_statement="learn guitar")
        async with bench(store=here.store, later=60) as after:
            again = await after.goal("c1", goal_statement="learn guitar")
            assert (again["intent_id"], again["goal_id"]) == (first["intent_id"], first["goal_id"])
            assert after.orchestrator.calls == []
        assert len(await here.store.goals(user_id=USER)) == 1


async def test_the_same_payload_in_another_call_gets_the_same_answer() -> None:
    async with bench() as here:
        await here.say("I want to learn guitar")
        first = await here.goal("c1", goal_statement="learn guitar")
        again = await here.goal("c2", goal_statement="Learn  Guitar")
        assert (again["intent_id"], again["already"]) == (first["intent_id"], True)
        assert len(here.orchestrator.calls) == 1
        assert len(await here.intents()) == 1


async def test_the_same_words_another_day_are_another_intent() -> None:
    async with bench() as here:
        await here.say("Remind me to buy milk tomorrow at 8")
        await here.task("c1", title="Buy milk", scheduled_at="tomorrow at 8")
        await here.clock.advance(24 * 3600)
        await here.say("Remind me to buy milk tomorrow at 8")
        await here.task("c2", title="Buy milk", scheduled_at="tomorrow at 8")
        assert len(await here.intents()) == 2


async def test_a_retracted_one_may_be_submitted_again() -> None:
    async with bench() as here:
        await here.say("I want to learn guitar")
        await here.goal("c1", goal_statement="learn guitar")
        await here.say("Forget it")
        await here.retract()
        await here.say("No wait, I do want to learn guitar")
        told = await here.goal("c2", goal_statement="learn guitar")
        assert (told["status"], len(await here.intents())) == ("accepted", 2)


async def test_what_the_orchestrator_refuses_is_told_and_kept() -> None:
    async with bench() as here:
        await here.say("Remind me to call mom at the usual time, every day")
        here.orchestrator.fault = IntentRefused("That time is not clear", suggestion="Ask when")
        fault = await fault_of(here.task("c1", title="Call mom", scheduled_at="the usual time"))
        assert isinstance(fault, IntentRefused)
        [intent] = await here.intents()
        assert (intent.status, intent.error) == (IntentStatus.FAILED, "That time is not clear")
        assert intent.payload["title"] == "Call mom"
        assert [kind for kind, _ in await here.told()] == ["error"]


async def test_an_orchestrator_that_breaks_is_trouble_and_the_payload_is_kept() -> None:
    async with bench() as here:
        await here.say("I want to learn guitar")
        here.orchestrator.fault = RuntimeError("secrets of the inside")
        fault = await fault_of(here.goal("c1", goal_statement="learn guitar"))
        assert isinstance(fault, OrchestratorUnavailable)
        assert "secrets" not in fault.message
        [intent] = await here.intents()
        assert intent.status is IntentStatus.FAILED
        assert intent.payload == {"goal_statement": "learn guitar"}
        [(kind, event)] = await here.told()
        assert (kind, event["code"]) == ("error", "orchestrator_error")
        here.orchestrator.fault = None
        assert (await here.goal("c2", goal_statement="learn guitar"))["status"] == "accepted"
        assert len(await here.store.goals(user_id=USER)) == 1


async def test_a_late_transcript_is_waited_for() -> None:
    """Some providers call before the words of the user have been written down."""
    async with bench() as here:
        await here.answer("Hello! What would you like to set up?")

        async def late(seconds: float) -> None:
            here.clock.sleep = sleep  # type: ignore[method-assign]
            await here.say("I want to learn guitar")

        sleep, here.clock.sleep = here.clock.sleep, late  # type: ignore[method-assign]
        told = await here.goal("c1", goal_statement="learn guitar")
        assert told["status"] == "accepted"
        [intent] = await here.intents()
        assert len(intent.evidence) == 1


async def test_an_intent_needs_a_conversation_of_its_user() -> None:
    async with bench() as here:
        arguments = {"goal_statement": "learn guitar"}
        submit = here.service.submit
        nowhere = here.context("c1", place=None)  # type: ignore[arg-type]
        assert isinstance(
            await fault_of(submit("submit_goal_intent", arguments, nowhere)), InvalidRequest
        )
        elsewhere = here.context("c1", place=PLACE[::-1])
        assert isinstance(
            await fault_of(submit("submit_goal_intent", arguments, elsewhere)), NotFound
        )
        unknown = submit("submit_wish_intent", arguments, here.context("c1"))
        assert isinstance(await fault_of(unknown), ToolNotFound)
