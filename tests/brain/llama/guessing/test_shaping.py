"""What a call may look like follows from what was said."""

from __future__ import annotations

import json
from typing import Any

from tests.brain.llama.flux import FOOD, GYM, asked
from vivavoce.brain.llama.grammar import grammar
from vivavoce.brain.llama.guessing.descriptions import AFTER
from vivavoce.brain.llama.guessing.shaping import Shape, shapes
from vivavoce.wire.brain import Ask, Call, Result, Said, Tool, Turn


def user(text: str) -> Said:
    return Said("user", text)


def shape(name: str, *turns: Turn, tool_choice: str = "auto") -> Shape:
    ask = asked(*turns, tool_choice=tool_choice)
    return next(one for one in shapes(ask, ask.tools) if one.tool.name == name)


def schema(name: str, *turns: Turn, tool_choice: str = "auto") -> dict[str, Any]:
    found = shape(name, *turns, tool_choice=tool_choice)
    assert found.missing is None
    return dict(found.tool.parameters or {})


def test_without_a_time_or_a_place_what_is_missing_is_asked_for() -> None:
    assert shape("add_task", user("Remind me to call mom.")).missing == "due"


def test_a_greeting_asks_for_nothing() -> None:
    ask = asked(Said("system", "Greet the user."))
    assert shapes(ask, ask.tools) == ()


def test_a_time_makes_it_required_and_leaves_no_place() -> None:
    made = schema("add_task", user("Remind me to call mom at seven."))
    assert made["required"] == ["title", "kind", "due"]
    assert list(made["properties"]) == ["title", "kind", "due"]
    assert made["properties"]["kind"] == {"const": "timed"}


def test_a_place_makes_it_placed() -> None:
    made = schema("add_task", user("Remind me to buy milk when I leave home."))
    assert made["required"] == ["title", "kind", "spot"]
    assert made["properties"]["kind"] == {"const": "placed"}


def test_where_both_were_said_either_may_be() -> None:
    made = schema("add_task", user("When I get home tonight, remind me to rest."))
    assert [one["required"][-1] for one in made["anyOf"]] == ["due", "spot"]


def test_what_repeats_may_be_written_when_it_was_said() -> None:
    made = schema("add_task", user("Every weekday at six, remind me to run."))
    assert "rule" in made["properties"]


def test_days_that_are_open_are_asked_for_once() -> None:
    wish = user("I want to meditate every morning at six.")
    assert shape("add_task", wish).missing == "rule"
    question = Said("assistant", "Every day, or only on some days?")
    for said in ("Weekdays only.", "I don't mind."):
        assert "rule" in schema("add_task", wish, question, user(said))["properties"]
    assert shape("add_task", user("Remind me to call mom at six.")).missing is None


def test_what_is_worth_a_question_is_asked_for_once() -> None:
    wish = user("I want to learn Spanish.")
    assert shape("add_goal", wish).missing == "until"
    question = Said("assistant", "Do you have a target date?")
    made = schema("add_goal", wish, question, user("No, not really."))
    assert list(made["properties"]) == ["goal"]
    made = schema("add_goal", wish, question, user("In three months."))
    assert list(made["properties"]) == ["goal", "until"]


def test_an_id_is_one_of_those_that_are_meant() -> None:
    made = schema("move_task", user("Move the gym to Friday."))
    assert made["properties"]["task_id"]["enum"] == [GYM]
    made = schema("move_task", user("Move the gym or the groceries to Friday."))
    assert made["properties"]["task_id"]["enum"] == [GYM, FOOD]


def test_an_id_of_nothing_there_is_asked_for() -> None:
    assert shape("move_task", user("Move my piano lesson to Friday.")).missing == "task_id"


def test_who_demands_a_call_gets_one() -> None:
    made = schema("add_task", user("Remind me to call mom."), tool_choice="required")
    assert "due" in made["properties"]


def test_tools_that_leave_nothing_to_the_user_are_left_alone() -> None:
    tool = Tool("bash", "Runs.", {"type": "object", "properties": {"command": {}}})
    assert shapes(Ask("", (user("Run it."),), (tool,)), (tool,)) == (Shape(tool),)


def test_a_grammar_has_a_question_in_place_of_the_arguments() -> None:
    rules = grammar(asked(user("Remind me to call mom.")))
    assert json.dumps("add_task due? ") in rules
    assert '"add_task " %json' not in rules
    assert "| ask" in rules
    rules = grammar(asked(user("Remind me to call mom at seven.")))
    assert '"add_task " %json' in rules


def test_what_corrects_is_offered_once_there_is_something_to_correct() -> None:
    tool = Tool("amend", "Changes it.\nOnly after another tool has done something.")
    turns: tuple[Turn, ...] = (user("Remind me at six."), Call("1", "add_task", "{}"))
    assert shapes(Ask("", turns, (tool,)), (tool,)) == ()
    failed = (*turns, Result("1", '{"success": false, "error": "no"}'))
    assert shapes(Ask("", failed, (tool,)), (tool,)) == ()
    assert "@" not in grammar(Ask("", failed, (tool,))).splitlines()[1]
    done = (*turns, Result("1", '{"status": "accepted"}'))
    assert shapes(Ask("", done, (tool,)), (tool,)) == (Shape(tool),)


_ASKING = 'Plans.\nFrom the user\'s words: due (time, asked for)\nAsk for due: "Lovely! By when?"'
_PLAN = Tool("plan", _ASKING, {"type": "object", "properties": {"due": {"type": "string"}}})
_NOTE = Tool(
    "note",
    "Notes.\nFrom the user's words: at (time); days (repeat)",
    {"type": "object", "properties": {"at": {"type": "string"}, "days": {"type": "string"}}},
)
_MEND = Tool("mend", f"Mends.\n{AFTER}", {"type": "object", "properties": {}})
_DONE = (Call("1", "note", "{}"), Result("1", '{"status": "accepted"}'), Said("assistant", "Done!"))


def _names(*turns: Turn) -> list[str]:
    tools = (_PLAN, _NOTE, _MEND)
    return [shape.tool.name for shape in shapes(Ask("", turns, tools), tools)]


def test_the_answer_to_a_question_is_for_the_tool_that_asked() -> None:
    asked = Said("user", "I want to paint"), Said("assistant", "Lovely! By when?")
    assert _names(*asked, Said("user", "By June")) == ["plan"]
    assert _names(*asked, Said("user", "No, nothing")) == ["plan", "note"]


def test_how_a_tool_asks_is_said_word_for_word() -> None:
    first, _ = shapes(Ask("", (Said("user", "I want to paint"),), (_PLAN, _NOTE)), (_PLAN, _NOTE))
    assert (first.missing, first.question) == ("due", "Lovely! By when?")


def test_a_correction_of_what_was_just_done_is_not_done_a_second_time() -> None:
    said = Said("user", "Note it at seven")
    assert _names(said, *_DONE, Said("user", "No, at half past seven")) == ["mend"]
    assert "note" in _names(said, *_DONE, Said("user", "Also note the milk at eight"))


def test_after_a_never_mind_nothing_is_submitted() -> None:
    asked = Said("user", "I want to paint"), Said("assistant", "Lovely! By when?")
    assert _names(*asked, Said("user", "Oh, never mind.")) == []
    assert _names(Said("user", "Note it at ten"), *_DONE, Said("user", "Forget it.")) == ["mend"]


def test_a_repetition_is_for_a_tool_that_has_room_for_it_and_is_not_left_out() -> None:
    (only,) = shapes(
        Ask("", (Said("user", "Note it every day at six"),), (_PLAN, _NOTE)), (_PLAN, _NOTE)
    )
    assert only.tool.name == "note"
    assert only.tool.parameters is not None
    assert "days" in only.tool.parameters["required"]
