"""What the model may write. That llama.cpp takes it is shown in `test_local.py`."""

from __future__ import annotations

import json
import re

import pytest

from tests.brain.asking import ask
from vivavoce.brain.llama.grammar import grammar, schema_of
from vivavoce.errors import BrainError
from vivavoce.wire.brain import Tool

_READ = Tool("read_file", "Read.", {"type": "object", "properties": {"path": {"type": "string"}}})
_RUN = Tool("bash", "Run.", {"type": "object", "properties": {"command": {"type": "string"}}})


def _start(text: str) -> str:
    return text.splitlines()[1]


def test_words_or_a_call_or_words_and_a_call() -> None:
    assert _start(grammar(ask("hi", tools=(_READ,)))) == "start: (WORDS | WORDS call+ | call+) END"


def test_without_parallel_calls_there_is_one_at_most() -> None:
    assert _start(grammar(ask("hi", tools=(_READ,), parallel_calls=False))).count("call+") == 0


def test_a_required_call_leaves_no_room_for_words() -> None:
    rules = grammar(ask("hi", tools=(_READ,), tool_choice="required"))
    assert _start(rules) == "start: call+ END"


def test_a_forced_tool_is_the_only_one_there_is() -> None:
    rules = grammar(ask("hi", tools=(_READ, _RUN), tool_choice="function:bash"))
    assert _start(rules) == "start: call+ END"
    assert "bash" in rules
    assert "read_file" not in rules


@pytest.mark.parametrize("question", [ask("hi"), ask("hi", tools=(_READ,), tool_choice="none")])
def test_where_nothing_may_be_called_there_are_words_only(question: object) -> None:
    assert _start(grammar(question)) == "start: WORDS END"  # type: ignore[arg-type]


def _words() -> re.Pattern[str]:
    rule = next(line for line in grammar(ask("hi")).splitlines() if line.startswith("WORDS: "))
    return re.compile(rule.removeprefix("WORDS: /").removesuffix("/"))


@pytest.mark.parametrize("said", ["Hello.", "It's 3 + 4 = 7, isn't it?", "Ünïcode… 你好", "7"])
def test_words_are_a_line(said: str) -> None:
    assert _words().fullmatch(said)


@pytest.mark.parametrize(
    "said",
    [
        *("", " x", "a\nb", "a\n", "\na", "a\r\nb", "a\rb", "> a", "= a", "# a", "@a {}"),
        *("a @b {}", "a <|im_end|>", "a > b", "`ls`", "**a**", "a # b", '{"a": 1}'),
    ],
)
def test_words_are_never_more_than_a_line_nor_look_like_anothers(said: str) -> None:
    assert not _words().fullmatch(said)


def test_an_answer_ends_with_its_line() -> None:
    rules = grammar(ask("hi", tools=(_READ,))).splitlines()
    assert "END: /\\n/" in rules
    assert _start("\n".join(rules)).endswith(" END")


@pytest.mark.parametrize("choice", ["function:fly", "required"])
def test_a_call_of_a_tool_that_is_not_there_cannot_be_forced(choice: str) -> None:
    with pytest.raises(BrainError):
        grammar(ask("hi", tool_choice=choice))


def test_a_name_with_quotes_cannot_break_the_grammar() -> None:
    rules = grammar(ask("hi", tools=(Tool('a" | /.*/ "', ""),)))
    assert re.search(r'"a\\" \| /\.\*/ \\" " %json', rules)


def test_arguments_have_only_what_the_schema_names() -> None:
    schema = {
        "type": "object",
        "properties": {
            "mode": {"enum": ["a", "b"], "title": "Mode"},
            "count": {"type": "integer", "minimum": 1, "default": 2},
            "where": {"$ref": "#/$defs/Where"},
            "either": {"oneOf": [{"type": "null"}, {"type": "string", "format": "date"}]},
        },
        "required": ["mode", "ghost"],
        "$defs": {"Where": {"type": "object", "properties": {"x": {"type": "number"}}}},
    }
    held = schema_of(Tool("t", "", schema))
    assert held["required"] == ["mode"]
    assert held["additionalProperties"] is False
    assert held["properties"]["mode"] == {"enum": ["a", "b"]}
    assert held["properties"]["count"] == {"type": "integer", "minimum": 1}
    assert held["properties"]["where"]["additionalProperties"] is False
    assert held["properties"]["either"]["anyOf"][0] == {"type": "null"}
    assert "format" not in json.dumps(held)


def test_a_schema_that_refers_to_itself_comes_to_an_end() -> None:
    tree = {"type": "object", "properties": {"child": {"$ref": "#"}}}
    assert json.dumps(schema_of(Tool("t", "", tree))).count("child") < 10


@pytest.mark.parametrize("parameters", [None, {}, {"type": "string"}, {"$ref": "elsewhere"}])
def test_a_tool_without_a_usable_schema_takes_an_empty_object(parameters: object) -> None:
    held = schema_of(Tool("t", "", parameters))  # type: ignore[arg-type]
    assert held == {"type": "object", "properties": {}, "additionalProperties": False}


def test_it_is_one_rule_a_line_since_a_bracket_ends_with_its_line() -> None:
    lines = grammar(ask("hi", tools=(_READ, _RUN))).splitlines()
    assert [line.partition(" ")[0] for line in lines] == [
        "%llguidance",
        "start:",
        "WORDS:",
        "END:",
        "call:",
    ]
