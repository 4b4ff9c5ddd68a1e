"""The user corrects himself after submission: amended or taken back, nothing doubled."""

from __future__ import annotations

from tests.intents.service_bench import USER, Bench, bench, fault_of
from vivavoce.errors import IntentRefused, InvalidArguments
from vivavoce.wire.records.plans import IntentStatus, TodoStatus


async def _milk(here: Bench) -> str:
    await here.say("Remind me to buy milk on Friday at six")
    told = await here.task("c1", title="Buy milk", scheduled_at="Friday at 6")
    await here.answer("Done! Friday at six.")
    intent_id: str = told["intent_id"]
    return intent_id


async def test_no_saturday_changes_what_is_there() -> None:
    async with bench() as here:
        intent_id = await _milk(here)
        said = await here.say("No, Saturday")
        told = await here.amend(changes={"scheduled_at": "Saturday at 6"})
        assert (told["intent_id"], told["status"]) == (intent_id, "accepted")
        [intent] = await here.intents()
        assert (intent.revision, intent.payload["scheduled_at"]) == (1, "Saturday at 6")
        assert intent.payload["title"] == "Buy milk"
        assert intent.evidence[-1] == said
        [todo] = await here.store.todos(user_id=USER)
        assert todo.scheduled_words == "Saturday at 6"
        place = await here.place()
        assert place.intent_payload is not None
        assert place.intent_payload["scheduled_at"] == "Saturday at 6"
        kind, event = (await here.told())[-1]
        assert (kind, event["revision"], event["status"]) == ("intent.submitted", 1, "accepted")


async def test_a_small_model_may_name_one_field() -> None:
    async with bench() as here:
        await _milk(here)
        await here.say("Make that oat milk")
        told = await here.amend(field="title", value="Buy oat milk")
        assert told["payload"]["title"] == "Buy oat milk"


async def test_the_same_amendment_twice_is_one() -> None:
    async with bench() as here:
        await _milk(here)
        await here.say("No, Saturday")
        await here.amend("a1", field="scheduled_at", value="Saturday")
        again = await here.amend("a2", field="scheduled_at", value="saturday")
        assert again["already"] is True
        [intent] = await here.intents()
        assert intent.revision == 1
        assert [action for action, _ in here.orchestrator.calls] == ["submit", "amend"]


async def test_an_amendment_is_checked_as_a_whole() -> None:
    async with bench() as here:
        await _milk(here)
        await here.say("When I leave home instead")
        fault = await fault_of(here.amend(field="trigger_type", value="location"))
        assert isinstance(fault, InvalidArguments)
        assert fault.details["missing_params"] == ["location_trigger"]
        fault = await fault_of(here.amend(changes={"colour": "blue"}))
        assert isinstance(fault, InvalidArguments)
        fault = await fault_of(here.amend())
        assert fault.details["missing_params"] == ["changes"]
        [intent] = await here.intents()
        assert (intent.revision, intent.status) == (0, IntentStatus.ACCEPTED)


async def test_an_amendment_that_nobody_asked_for_changes_nothing() -> None:
    async with bench() as here:
        await _milk(here)
        await here.say("Thank you very much")
        fault = await fault_of(here.amend(field="scheduled_at", value="Sunday at noon"))
        assert isinstance(fault, InvalidArguments)
        [intent] = await here.intents()
        assert intent.payload["scheduled_at"] == "Friday at 6"


async def test_an_amendment_that_is_refused_leaves_what_is_there() -> None:
    async with bench() as here:
        await _milk(here)
        await here.say("No, yesterday")
        here.orchestrator.fault = IntentRefused("That is past", suggestion="Ask again")
        fault = await fault_of(here.amend(field="scheduled_at", value="yesterday"))
        assert isinstance(fault, IntentRefused)
        [intent] = await here.intents()
        assert (intent.status, intent.revision) == (IntentStatus.ACCEPTED, 0)
        assert (await here.told())[-1][0] == "error"


async def test_never_mind_takes_it_back_once() -> None:
    async with bench() as here:
        intent_id = await _milk(here)
        await here.say("Actually, forget that")
        told = await here.retract("r1", reason="changed their mind")
        assert (told["status"], told["intent_id"]) == ("retracted", intent_id)
        again = await here.retract("r2")
        assert (again["intent_id"], again["already"]) == (intent_id, True)
        [intent] = await here.intents()
        assert intent.status is IntentStatus.RETRACTED
        [todo] = await here.store.todos(user_id=USER)
        assert todo.status is TodoStatus.RETRACTED
        kinds = [kind for kind, _ in await here.told()]
        assert kinds == ["intent.submitted", "intent.retracted"]
        action, given = here.orchestrator.calls[-1]
        assert (action, given.extra["reason"]) == ("retract", "changed their mind")


async def test_taking_back_twice_in_one_breath_spares_the_one_before() -> None:
    async with bench() as here:
        await here.say("I want to learn guitar")
        await here.goal("c0", goal_statement="learn guitar")
        await _milk(here)
        await here.say("Forget the milk")
        await here.retract("r1")
        await here.retract("r2")
        goal, milk = await here.intents()
        assert (goal.status, milk.status) == (IntentStatus.ACCEPTED, IntentStatus.RETRACTED)
        await here.say("And the guitar too")
        await here.retract("r3")
        goal, _ = await here.intents()
        assert goal.status is IntentStatus.RETRACTED


async def test_one_may_be_named_by_what_came_of_it() -> None:
    async with bench() as here:
        await here.say("I want to learn guitar")
        told = await here.goal("c0", goal_statement="learn guitar")
        await _milk(here)
        await here.say("Forget the guitar")
        gone = await here.retract(intent_id=told["goal_id"])
        assert gone["intent_id"] == told["intent_id"]


async def test_without_an_id_the_latest_that_has_the_field_is_meant() -> None:
    async with bench() as here:
        intent_id = await _milk(here)
        await here.say("And I want to learn guitar")
        goal = await here.goal("c2", goal_statement="learn guitar")
        await here.say("The milk on Saturday, please")
        told = await here.amend("a1", field="scheduled_at", value="Saturday")
        assert told["intent_id"] == intent_id
        await here.say("And make the guitar a piano")
        told = await here.amend("a2", changes={"goal_statement": "learn piano"})
        assert told["intent_id"] == goal["intent_id"]
        fault = await fault_of(here.amend("a3", field="colour", value="blue"))
        assert isinstance(fault, InvalidArguments)


async def test_what_is_not_there_cannot_be_corrected() -> None:
    async with bench() as here:
        await here.say("Forget it")
        assert isinstance(await fault_of(here.retract()), IntentRefused)
        fault = await fault_of(here.amend(intent_id="nonsense", field="title", value="x"))
        assert isinstance(fault, IntentRefused)
