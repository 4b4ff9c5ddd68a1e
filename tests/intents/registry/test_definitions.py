"""Intents from a file: what the model is shown, what is accepted, and what is asked for instead."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vivavoce.errors import InvalidArguments
from vivavoce.intents.registry.definition import Example, IntentDefinition, Parameter
from vivavoce.intents.registry.intents import AMEND, RETRACT, IntentRegistry, load_intents
from vivavoce.intents.service import AMENDING, RETRACTING
from vivavoce.wire.hints import Slot, hint_of

FLUX = Path(__file__).resolve().parents[3] / "agents" / "flux"
TASK = "submit_new_task_intent"


def flux(name: str = TASK) -> IntentDefinition:
    found = load_intents(FLUX).get(name)
    assert found is not None
    return found


def one(**parameter: Any) -> IntentDefinition:
    made = Parameter(name="slot", **parameter)
    return IntentDefinition(name="it", route="IT", description="It.", parameters=(made,))


def refusal(intent: IntentDefinition, arguments: Any) -> InvalidArguments:
    with pytest.raises(InvalidArguments) as caught:
        intent.check(arguments)
    assert caught.value.details["tool"] == intent.name
    return caught.value


def test_flux_has_the_names_of_seed_004_and_more() -> None:
    found = {
        intent.name: (intent.route, [(p.name, p.required) for p in intent.parameters])
        for intent in load_intents(FLUX).definitions
    }
    assert list(found) == [
        "submit_goal_intent",
        TASK,
        "submit_reschedule_intent",
        "list_things",
        "complete_thing",
        "delete_thing",
        "rename_thing",
        "note_goal",
    ]
    assert found["submit_goal_intent"] == (
        "GOAL",
        [("goal_statement", True), ("timeline", False), ("context_notes", False)],
    )
    assert found[TASK] == (
        "NEW_TASK",
        [
            ("title", True),
            ("trigger_type", True),
            ("scheduled_at", False),
            ("relative_to", False),
            ("recurrence_rule", False),
            ("location_trigger", False),
        ],
    )
    assert found["submit_reschedule_intent"] == (
        "RESCHEDULE_TASK",
        [("task_id", True), ("preferred_new_time", False), ("scope", False), ("reason", False)],
    )


def test_an_agent_without_intents_has_none_and_no_tools_for_them(tmp_path: Path) -> None:
    registry = load_intents(tmp_path)
    assert registry == IntentRegistry()
    assert (registry.tools(), registry.tool_names) == ([], ())


def test_whoever_can_submit_can_correct() -> None:
    registry = load_intents(FLUX)
    assert registry.tool_names == (*registry.names, AMEND, RETRACT)
    assert (AMENDING.name, RETRACTING.name) == (AMEND, RETRACT)
    hints = [hint_of(tool.parameters) for tool in (AMENDING, RETRACTING)]
    assert [hint.does for hint in hints if hint] == ["amend", "retract"]


def test_the_model_gets_a_plain_schema_with_conditions_in_words() -> None:
    tool = load_intents(FLUX).tools()[1]
    schema = tool.function()["parameters"]
    assert set(schema) == {"type", "properties", "required", "additionalProperties"}
    assert schema["required"] == ["title", "trigger_type"]
    assert schema["additionalProperties"] is False
    assert schema["properties"]["trigger_type"]["enum"] == ["time", "location"]
    assert schema["properties"]["scheduled_at"]["description"].endswith(
        ". Required if trigger_type is time."
    )
    assert schema["properties"]["title"]["maxLength"] == 200


def test_a_led_brain_is_told_by_hints_what_each_slot_is_and_how_it_is_asked_for() -> None:
    tool = load_intents(FLUX).tools()[1]
    hint = hint_of(tool.hinted()["parameters"])
    assert hint is not None
    assert (hint.wish, hint.does) == ("remind", "act")
    assert {slot.name: slot.kind for slot in hint.slots.values()} == {
        "what": "words",
        "": "choice",
        "when": "time",
        "event": "thing",
        "place": "place",
    }
    assert hint.slots["title"].required
    # Either a time or a place: the time is asked for, as long as no place was said.
    assert hint.slots["scheduled_at"].required_when == {"location_trigger": (None,)}
    assert hint.slots["scheduled_at"].questions[0] == "Sure! When should that be?"
    assert hint.slots["trigger_type"].derived["scheduled_at"] == "time"
    assert not hint.slots["trigger_type"].required
    # A promise only where the result has one; at a place it is on the list, and no more.
    promises = [words for words in hint.confirm if "remind you" in words]
    assert promises
    assert all("{remind}" in words for words in promises)
    assert any("{" in words and "{remind}" not in words for words in hint.confirm)


def test_descriptions_have_no_words_for_machines_and_few_examples() -> None:
    for tool in load_intents(FLUX).tools():
        assert "From the user" not in tool.described
        assert "Ask for " not in tool.described
        assert tool.described.count("Example: ") <= 3
    lines = load_intents(FLUX).tools()[1].described.splitlines()
    assert lines[1] == (
        'Example: "can you remind me on Saturday at about quarter past four to collect the cake" '
        '{"title": "collect the cake", "scheduled_at": "on Saturday at about quarter past four", '
        '"trigger_type": "time"}'
    )


def test_every_intent_has_a_wish_and_slots_where_the_file_says_nothing_of_them() -> None:
    size = Parameter(name="size", enum=("s", "m"), required=True, description="How big.")
    many = Parameter(name="many", type="integer", required_when={"size": "m"})
    intent = IntentDefinition(
        name="submit_pizza_intent", route="P", description="Order it. Now.", parameters=(size, many)
    )
    hint = intent.hint()
    assert (hint.wish, hint.about) == ("pizza", "Order it")
    assert hint.slots["size"] == Slot(kind="choice", required=True, about="How big")
    assert hint.slots["many"] == Slot(kind="number", required_when={"size": ("m",)})


def test_every_type_has_its_schema() -> None:
    def shown(**parameter: Any) -> Any:
        [tool] = IntentRegistry((one(**parameter),)).tools()
        return tool.parameters["properties"]["slot"]

    assert shown(type="integer", minimum=1, maximum=5) == {
        "type": "integer",
        "description": "",
        "minimum": 1,
        "maximum": 5,
    }
    assert shown(type="array", enum=("a", "b"), min_length=1, max_length=2) == {
        "type": "array",
        "description": "",
        "items": {"type": "string", "enum": ["a", "b"]},
        "minItems": 1,
        "maxItems": 2,
    }
    assert shown(type="boolean", description="Urgent?")["type"] == "boolean"


def test_what_is_there_is_handed_on_and_nothing_else() -> None:
    given = {"title": " Call mom ", "trigger_type": "Time", "scheduled_at": "7", "reason": None}
    del given["reason"]
    assert flux().check({**given, "recurrence_rule": "", "location_trigger": None}) == {
        "title": "Call mom",
        "trigger_type": "time",
        "scheduled_at": "7",
    }


def test_what_is_missing_is_named_so_that_the_model_asks_for_just_that() -> None:
    fault = refusal(flux(), {"title": "Call mom", "trigger_type": "time"})
    assert fault.details["missing_params"] == ["scheduled_at"]
    assert "missing required parameter 'scheduled_at'" in fault.message
    assert "Ask the user for 'scheduled_at' (When, in the user's own words" in fault.message
    assert fault.details["question"] == "Sure! When should that be?"
    fault = refusal(flux(), {"title": "Call mom", "trigger_type": "location"})
    assert fault.details["missing_params"] == ["location_trigger"]
    assert refusal(flux(), {}).details["missing_params"] == ["title", "trigger_type"]


@pytest.mark.parametrize(
    "blank", ["", "  ", "\n", "\u200b", "...", "?", "null", "None", " N/A ", "unknown", None]
)
def test_a_blank_value_is_a_missing_one(blank: object) -> None:
    given = {"title": "Call mom", "trigger_type": "time", "scheduled_at": blank}
    assert refusal(flux(), given).details["missing_params"] == ["scheduled_at"]


def test_a_condition_on_several_values_holds_for_each() -> None:
    intent = IntentDefinition(
        name="it",
        route="IT",
        description="It.",
        parameters=(
            Parameter(name="urgent", type="boolean"),
            Parameter(name="size", enum=("s", "m", "l")),
            Parameter(name="why", required_when={"urgent": (True,), "size": ("m", "l")}),
        ),
    )
    assert intent.check({"urgent": True, "size": "s"}) == {"urgent": True, "size": "s"}
    assert intent.check({"urgent": False, "size": "l"})
    assert refusal(intent, {"urgent": True, "size": "L"}).details["missing_params"] == ["why"]
    [_, _, shown] = IntentRegistry((intent,)).tools()[0].parameters["properties"].values()
    assert shown["description"] == "Required if urgent is true and size is m or l."


@pytest.mark.parametrize(
    ("parameter", "value", "words"),
    [
        ({"type": "boolean"}, "true", "must be a valid boolean"),
        ({"type": "boolean"}, 1, "must be a valid boolean"),
        ({"type": "integer"}, "3", "must be a valid integer"),
        ({"type": "integer"}, True, "must be a valid integer"),
        ({"type": "integer"}, 3.5, "must be a valid integer"),
        ({"type": "number"}, math.inf, "must be a finite number"),
        ({"type": "number", "maximum": 5}, 6, "must be less than or equal to 5"),
        ({"type": "integer", "minimum": 1}, 0, "must be greater than or equal to 1"),
        ({"min_length": 3}, "ab", "must have at least 3 characters"),
        ({"max_length": 3}, "abcd", "must have at most 3 characters"),
        ({}, "x" * 2001, "must have at most 2000 characters"),
        ({}, ["a"], "must be a valid string"),
        ({"pattern": "^[a-z]+$"}, "A1", "must match ^[a-z]+$"),
        ({"enum": ("a", "b")}, "c", "must be 'a' or 'b'"),
        ({"type": "array"}, "a", "must be a valid list"),
        ({"type": "array", "max_length": 1}, ["a", "b"], "must have at most 1 items"),
        ({"type": "array", "enum": ("a",)}, ["b"], "must be 'a'"),
        ({"type": "array"}, ["a"] * 51, "must have at most 50 items"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(
    parameter: dict[str, Any], value: object, words: str
) -> None:
    fault = refusal(one(**parameter), {"slot": value})
    assert words in fault.message
    assert "missing_params" not in fault.details


@pytest.mark.parametrize(
    ("parameter", "value", "taken"),
    [
        ({"type": "integer"}, 3.0, 3),
        ({"type": "number"}, 3, 3.0),
        ({"type": "boolean"}, False, False),
        ({"type": "array"}, [" milk "], ["milk"]),
        ({"enum": ("Low", "High")}, "high", "High"),
        ({"pattern": "^[a-z]+$"}, "ab", "ab"),
    ],
)
def test_what_means_the_same_is_taken(
    parameter: dict[str, Any], value: object, taken: object
) -> None:
    assert one(**parameter).check({"slot": value}) == {"slot": taken}


def test_parameters_that_nobody_named_are_refused() -> None:
    fault = refusal(one(), {"slot": "a", "x" * 500: 1})
    assert "unknown parameter 'xxxx" in fault.message
    assert len(fault.message) < 200
    assert "must be a JSON object" in refusal(one(), ["slot"]).message


def test_a_parameter_may_be_called_whatever_a_function_allows() -> None:
    names = ("schema", "_private", "model_config", "copy", "a-b", "self")
    made = tuple(Parameter(name=name, required=True) for name in names)
    intent = IntentDefinition(name="it", route="IT", description="It.", parameters=made)
    given = dict.fromkeys(names, "word")
    assert intent.check(given) == given


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)
EVERY = IntentDefinition(
    name="it",
    route="IT",
    description="It.",
    parameters=(
        Parameter(name="a", required=True, min_length=2, pattern="^[a-z]"),
        Parameter(name="b", type="integer", minimum=0),
        Parameter(name="c", type="number", required_when={"d": (True,)}),
        Parameter(name="d", type="boolean"),
        Parameter(name="e", type="array", enum=("x", "y")),
        Parameter(name="f", enum=("x", "y")),
    ),
)


@given(st.dictionaries(st.sampled_from("abcdefg"), JSON))
@settings(max_examples=60, deadline=None)
def test_whatever_a_model_hands_over_is_a_payload_or_a_refusal(given_: dict[str, Any]) -> None:
    told = ""
    try:
        payload = EVERY.check(given_)
    except InvalidArguments as fault:
        told = fault.message
    else:
        assert EVERY.check(payload) == payload
    assert len(told.encode()) <= 2000


@pytest.mark.parametrize("kind", ["number", "integer"])
def test_numbers_that_no_database_holds_are_refused(kind: str) -> None:
    refusal(one(type=kind), {"slot": 10**400})


def test_an_example_is_a_call_where_it_says_all_that_one_needs() -> None:
    thing = Parameter(name="what_id", slot="what", kind="thing")
    when = Parameter(name="at", slot="when", required=True)
    examples = (
        Example(said="Tea at five", slots={"when": "at five"}),
        Example(said="Tea", asked="When?"),
        Example(said="Move tea to five", slots={"what": "tea", "when": "to five"}),
    )
    intent = IntentDefinition(
        name="it", route="IT", description="It.", parameters=(thing, when), examples=examples
    )
    assert [(e.description, e.arguments) for e in intent.tool().examples] == [
        ("Tea at five", {"at": "at five"})
    ]
    assert [shown.asked for shown in intent.hint().examples] == ["", "When?", ""]
