"""The talk that a small model goes on from."""

from __future__ import annotations

import json

import pytest

from vivavoce.brain.llama.prompt import described, examples, parted
from vivavoce.wire.brain import Call, Result, Said, Tool, Turn


def _tool(name: str, count: int) -> Tool:
    lines = [f'Example: "{name} number {n}?" {{"n": {n}}}' for n in range(count)]
    return Tool(name, "\n".join([f"Does {name}.", *lines]))


def _uses(*tools: Tool) -> list[tuple[str, str]]:
    """Of these tools, in their order."""
    names = {tool.name for tool in tools}
    calls = [turn for turn in examples(tools) if isinstance(turn, Call)]
    return [(call.name, call.arguments) for call in calls if call.name in names]


def _called(turns: tuple[Turn, ...]) -> set[str]:
    return {turn.name for turn in turns if isinstance(turn, Call)}


def test_tools_are_used_in_rounds_each_as_its_description_says() -> None:
    assert _uses(_tool("a", 2), _tool("b", 1), _tool("c", 3)) == [
        ("a", '{"n": 0}'), ("b", '{"n": 0}'), ("c", '{"n": 0}'),
        ("a", '{"n": 1}'), ("c", '{"n": 1}'), ("c", '{"n": 2}'),
    ]  # fmt: skip


def test_each_use_follows_what_the_user_said_for_it() -> None:
    turns = examples((_tool("a", 1),))
    at = turns.index(Call("", "a", '{"n": 0}'))
    assert turns[at - 1] == Said("user", "a number 0?")


def test_small_talk_comes_between_them_and_all_of_it_at_any_number() -> None:
    for count in (1, 2, 5, 6, 11, 40):
        turns = examples([_tool(f"t{n}", 4) for n in range(count)])
        said = [turn.text for turn in turns if isinstance(turn, Said)]
        assert "Jupiter." in said
        assert "Careful with money." in said
        assert said[-1] == "You're welcome."
        mine = [turn for turn in turns if isinstance(turn, Call) and turn.name != "distance"]
        assert len(mine) == min(32, 4 * count)


def test_a_tool_with_many_examples_shows_a_few_and_many_tools_are_not_all_shown() -> None:
    assert len(_uses(_tool("a", 50))) == 6
    many = [_tool(f"t{n}", 3) for n in range(40)]
    assert [name for name, _ in _uses(*many)] == [f"t{n}" for n in range(32)]


def test_where_tools_bring_none_the_tools_are_imaginary() -> None:
    turns = examples((Tool("bash", "Run."),))
    assert len(_called(turns)) > 1
    assert "bash" not in _called(turns)
    assert "set_timer" not in _called(examples((_tool("a", 1),)))


def test_where_there_are_no_tools_none_is_used() -> None:
    turns = examples(())
    assert turns
    assert not any(isinstance(turn, Call | Result) for turn in turns)


def test_what_a_tool_does_is_told_without_them() -> None:
    assert described(_tool("a", 3)) == "Does a."
    tool = Tool("a", 'One.\r\nExample: "x" {"y": "z"}\r\n  Two\tthree.\nExample: "x" {} ')
    assert described(tool) == "One. Two three."


def test_arguments_may_hold_braces_and_quotes() -> None:
    arguments = json.dumps({"code": 'f("{x}") {', "deep": {"a": [{"b": "}"}]}})
    tool = Tool("a", f'Example: "Say "hi" to {{Ann}}." {arguments}')
    assert _uses(tool) == [("a", arguments)]


@pytest.mark.parametrize(
    "line",
    [
        'Example: "x" {not json}',
        'Example: "x" {"a": 1} and {"b": 2}',
        'Example: "x" {',
        'Example: "x" }',
        'Example: "" {}',
        'Example: "x"{}',
        'Example: "x" ["a"]',
        'Example: {"a": 1}',
        'See Example: "x" {"a": 1}',
        'Example: "x\n" {"a": 1}',
        'Example: "x" {"a":\n1}',
        'Example: "x" {"a": ' + "[" * 100_000 + "]" * 100_000 + "}",
        'Example: "' + "x" * 1_000 + '" {}',
    ],
)
def test_what_is_no_short_and_whole_example_is_not_used(line: str) -> None:
    assert _uses(Tool("a", line)) == []


@pytest.mark.parametrize(
    "line", ['Example: "' + '" {' * 300_000, 'Example: "' * 200_000, 'Example: "a" {' + "}" * 10**6]
)
def test_a_hostile_description_costs_no_more_than_its_length(line: str) -> None:
    # With a pattern that tries again at every brace, this would not end today.
    tool = Tool("a", "\n".join([line, line + "x", 'Example: "b" {"c": 1}']))
    assert _uses(tool) == [("a", '{"c": 1}')]
    assert not described(tool).endswith('{"c": 1}')


def test_an_example_may_be_a_talk() -> None:
    tool = Tool("alarm", 'Example: "Set an alarm." > "For when?" > "For six." {"at": "six"}')
    turns = examples((tool,))
    at = turns.index(Call("", "alarm", '{"at": "six"}'))
    assert turns[at - 3 : at] == (
        Said("user", "Set an alarm."),
        Said("assistant", "For when?"),
        Said("user", "For six."),
    )


def test_talks_in_the_instructions_take_the_place_of_small_talk() -> None:
    rest, talks = parted('Be kind.\n- "Who won?" > "I only garden."\n- "Not a talk"\nBe brief.')
    assert rest == 'Be kind.\n- "Not a talk"\nBe brief.'
    turns = examples((_tool("a", 2),), talks)
    said = [turn.text for turn in turns if isinstance(turn, Said)]
    assert "I only garden." in said
    assert "Jupiter." not in said
    assert _called(turns) == {"a"}


def test_instructions_without_talks_are_as_they_were() -> None:
    text = 'Say "a" > "b".\n- "x" > \n- "one" > "two" > "three"'
    assert parted(text) == (text, ())


def test_an_example_may_tell_what_is_said_when_it_is_done() -> None:
    line = 'Example: "Save it." {"to": "a"} "Saved it as a."'
    turns = examples(
        [Tool("save", f"Saves.\n{line}")], [(Said("user", "Hi"), Said("assistant", "Hello"))]
    )
    assert turns[1:4] == (
        Call("", "save", '{"to": "a"}'),
        Result("", '{"status": "accepted"}'),
        Said("assistant", "Saved it as a."),
    )
