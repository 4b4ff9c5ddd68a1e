"""The scripted brain answers as a model would, and obeys as a model must."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.brain.asking import answer, ask, brain, returned
from vivavoce.brain.script.brain import ScriptedBrain, least_arguments
from vivavoce.brain.script.script import Plan, Rule, Script, ToolUse, decide
from vivavoce.errors import BrainError
from vivavoce.wire.brain import Brain, Call, CallBegun, CallEnded, Result, Said, Tool, Words

CLOCK = Rule(when="time", say="Let me look.", calls=(ToolUse("current_time"),))
BOTH = Rule(when="both", calls=(ToolUse("one", {"n": 1}), ToolUse("two", {"n": 2})))

# --- What it says -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("turns", "words"),
    [
        (("Good morning.",), "You said: Good morning."),
        (("",), "Sorry, I didn't catch that."),
        (("...",), "Sorry, I didn't catch that."),
        ((), "Hello."),
        (("Hi.", Said("assistant", "Hello.")), "I'm still here."),
        (("Hi.", Said("system", "It is late.")), "You said: Hi."),
        ((Said("system", "It is late."),), "Hello."),
        (("Hi.", Said("assistant", "Hello."), "Bye!"), "You said: Bye."),
        (returned("look", "Found it."), "Found it."),
    ],
)
async def test_without_rules_it_repeats_what_it_heard(turns: Any, words: str) -> None:
    assert (await answer(brain(), ask(*turns))).text == words


async def test_the_first_rule_that_fits_decides_and_fills_in_the_groups() -> None:
    thinker = brain(
        Rule(when=r"call me (\w+)", say="Hello, {1}."),
        Rule(when=r"call me (?P<name>.+)", say="Never {name}."),
        Rule(when="", say="Anything: {text}."),
    )

    assert (await answer(thinker, ask("CALL ME Ann!"))).text == "Hello, Ann."
    assert (await answer(thinker, ask("Whatever?"))).text == "Anything: Whatever."


async def test_a_rule_whose_template_cannot_be_filled_in_does_not_fit() -> None:
    thinker = brain(Rule(when=r"count to (.+)", say="{1:counting}"))

    assert (await answer(thinker, ask("Count to three."))).text == "1, 2, 3"
    assert (await answer(thinker, ask("Count to the moon."))).text.startswith("You said")


async def test_it_speaks_word_by_word() -> None:
    said = await answer(brain(Rule(when="", say="One two, three.")), ask("Go."))

    assert said.pieces[:-1] == [Words("One"), Words(" two,"), Words(" three.")]


# --- Tools ------------------------------------------------------------------------


async def test_it_calls_a_tool_that_is_offered() -> None:
    said = await answer(brain(CLOCK), ask("What time is it?", tools=("current_time",)))

    assert (said.text, said.calls) == ("Let me look.", [("current_time", {})])
    assert said.end.reason == "stop"


@pytest.mark.parametrize(
    "more", [{}, {"tools": ("other",)}, {"tools": ("current_time",), "tool_choice": "none"}]
)
async def test_it_calls_nothing_that_is_not_offered_or_not_allowed(more: dict[str, Any]) -> None:
    said = await answer(brain(CLOCK), ask("What time is it?", **more))

    assert said.calls == []
    assert said.text.startswith("You said")


async def test_it_can_call_several_tools_in_one_answer() -> None:
    question = ask("Both!", tools=("one", "two"))

    assert (await answer(brain(BOTH), question)).calls == [("one", {"n": 1}), ("two", {"n": 2})]


async def test_it_calls_one_at_a_time_where_it_must() -> None:
    question = ask("Both!", tools=("one", "two"), parallel_calls=False)

    assert (await answer(brain(BOTH), question)).calls == [("one", {"n": 1})]


async def test_arguments_are_filled_in_with_their_types() -> None:
    rule = Rule(
        when=r"(\w+) (\w+)",
        calls=(ToolUse("t", {"n": "{1:number}", "all": ["{2}", 3, {"deep": "<{2}>"}]}),),
    )

    said = await answer(brain(rule), ask("Twelve apples.", tools=("t",)))

    assert said.calls == [("t", {"n": 12, "all": ["apples", 3, {"deep": "<apples>"}]})]


NEEDY = Tool(
    "book",
    "",
    {
        "type": "object",
        "properties": {
            "what": {"type": "string"},
            "seats": {"type": "integer", "minimum": 1},
            "class": {"type": "string", "enum": ["first", "second"]},
            "quiet": {"type": "boolean"},
            "with": {"type": "array"},
            "extra": {"type": "object"},
            "when": {"type": "string", "default": "now"},
            "note": {"type": "string"},
        },
        "required": ["what", "seats", "class", "quiet", "with", "extra", "when"],
    },
)
BOOKED = {
    "what": "A seat",
    "seats": 1,
    "class": "first",
    "quiet": False,
    "with": [],
    "extra": {},
    "when": "now",
}


@pytest.mark.parametrize("choice", ["required", "function:book"])
async def test_a_demanded_call_is_made_though_no_rule_makes_it(choice: str) -> None:
    said = await answer(brain(), ask("A seat.", tools=(NEEDY, "other"), tool_choice=choice))

    assert (said.text, said.calls) == ("", [("book", BOOKED)])
    assert least_arguments(Tool("bare"), "") == {}


async def test_a_demanded_call_is_the_scripts_own_where_it_has_one() -> None:
    question = ask("Both!", tools=("one", "two"), tool_choice="function:two")

    assert (await answer(brain(BOTH), question)).calls == [("two", {"n": 2})]


@pytest.mark.parametrize("choice", ["required", "function:book"])
async def test_a_demand_that_cannot_be_met_is_a_fault(choice: str) -> None:
    with pytest.raises(BrainError):
        await answer(brain(), ask("A seat.", tool_choice=choice))


# --- Results ----------------------------------------------------------------------

RESULTS = (
    Rule(result_of="*", when=r'"success": ?false', say="No: {output.error}"),
    Rule(result_of="look", when=r"(\d+) files", say="{1} of them."),
    Rule(result_of="look", say="Looked: {output.found.first}{output.found.nothing}."),
    Rule(when="files", say="not about words"),
)


@pytest.mark.parametrize(
    ("name", "output", "words"),
    [
        ("look", "12 files", "12 of them."),
        ("look", '{"found": {"first": 1}}', "Looked: 1."),
        ("look", "not JSON", "Looked: ."),
        ("run", '{"success": false, "error": "Too late."}', "No: Too late."),
        ("run", "12 files", "12 files"),
    ],
)
async def test_it_speaks_about_what_a_tool_returned(name: str, output: str, words: str) -> None:
    assert (await answer(brain(*RESULTS), ask("Go.", *returned(name, output)))).text == words


async def test_it_speaks_about_all_results_that_wait() -> None:
    turns = (
        Call("a", "look", "{}"),
        Call("b", "run", "{}"),
        Result("a", "2 files"),
        Said("system", "Be quick."),
        Result("b", "Ran."),
    )

    assert (await answer(brain(*RESULTS), ask("Go.", *turns))).text == "2 of them. Ran."


async def test_a_result_that_was_spoken_about_is_history() -> None:
    turns = (*returned("look", "2 files"), Said("assistant", "2 of them."), "And now?")

    assert (await answer(brain(*RESULTS), ask(*turns))).text == "You said: And now."


async def test_a_result_may_lead_to_the_next_call() -> None:
    rule = Rule(result_of="look", calls=(ToolUse("open", {"file": "{output}"}),))

    said = await answer(brain(rule), ask("Go.", *returned("look", "a.txt"), tools=("open",)))

    assert said.calls == [("open", {"file": "a.txt"})]


async def test_a_note_at_the_end_has_rules_of_its_own() -> None:
    thinker = brain(Rule(note=True, when="said nothing", say="Hello?"))
    silence = Said("system", "(The user said nothing.)")

    assert (await answer(thinker, ask("Hi.", Said("assistant", "Yes?"), silence))).text == "Hello?"
    assert (await answer(thinker, ask(silence, "I said nothing."))).text.startswith("You said")


# --- Length, delay, faults --------------------------------------------------------


async def test_it_stops_at_the_length_that_is_allowed() -> None:
    said = await answer(brain(Rule(when="", say="One two three")), ask("Go.", max_tokens=2))

    assert said.text == "One two"
    assert (said.end.reason, said.end.output_tokens, said.end.input_tokens) == ("length", 2, 1)


async def test_a_call_that_is_cut_never_ends() -> None:
    rule = Rule(when="", calls=(ToolUse("t", {"a": 1, "b": 2}),))

    said = await answer(brain(rule), ask("Go.", tools=("t",), max_tokens=3))

    assert said.calls == []
    assert said.pieces[0] == CallBegun("call_1", "t")
    assert said.arguments("call_1") == '{"a": 1,'
    assert said.end.reason == "length"


@settings(max_examples=50)
@given(st.text(" ab,.", max_size=30), st.integers(0, 12))
def test_words_put_together_are_the_text_and_never_more_than_allowed(words: str, most: int) -> None:
    thinker = ScriptedBrain(Script(otherwise=words))

    whole = asyncio.run(answer(thinker, ask("Go.")))
    cut = asyncio.run(answer(thinker, ask("Go.", max_tokens=most)))

    assert whole.text == words
    assert whole.end.output_tokens == thinker.count(words)
    assert whole.text.startswith(cut.text)
    assert cut.end.output_tokens == min(most, thinker.count(words))
    assert cut.end.reason == ("length" if most < thinker.count(words) else "stop")


async def test_it_breaks_on_demand_after_what_it_said() -> None:
    thinker: Brain = brain(Rule(when="break", say="Well, I", fails="The model is gone."))
    pieces = aiter(thinker.answer(ask("Break!")))

    assert [await anext(pieces), await anext(pieces)] == [Words("Well,"), Words(" I")]
    with pytest.raises(BrainError, match="gone"):
        await anext(pieces)


async def test_it_is_as_slow_as_it_is_told() -> None:
    waits: list[float] = []

    async def pause(seconds: float) -> None:
        waits.append(seconds)

    thinker = brain(
        Rule(when="", say="One two", calls=(ToolUse("t"),)),
        pause=pause,
        first_delay=3,
        word_delay=0.5,
    )
    said = await answer(thinker, ask("Go.", tools=("t",)))

    assert waits == [3, 0.5, 0.5, 0.5]
    assert isinstance(said.pieces[-2], CallEnded)
    with pytest.raises(ValueError, match="pause"):
        ScriptedBrain(Script(), word_delay=1)


async def test_two_calls_never_have_the_same_name() -> None:
    thinker = ScriptedBrain(Script(rules=(BOTH,)))
    said = await answer(thinker, ask("Both!", tools=("one", "two")))

    assert len({piece.call_id for piece in said.pieces if isinstance(piece, CallBegun)}) == 2
    assert thinker.name == "scripted"


def test_a_decision_is_plain_data() -> None:
    assert decide(Script(rules=(CLOCK,)), ask("The time?", tools=("current_time",))) == Plan(
        "Let me look.", (("current_time", {}),)
    )
