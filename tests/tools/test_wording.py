"""What models are told of the workbench's tools."""

from __future__ import annotations

import pytest
from bench.tool_choice.fresh import FRESH
from bench.tool_choice.requests import REQUESTS, TOOLS, plain

from vivavoce.brain.llama.prompt import described, examples
from vivavoce.tools.wording import WORDING
from vivavoce.wire.brain import Call, Tool

_TOOLS = [Tool(name, description, schema) for name, description, schema in TOOLS]
_SCHEMAS = {name: schema for name, _, schema in TOOLS}


def test_the_benchmark_asks_with_the_words_that_ship() -> None:
    assert {tool.name: described(tool) for tool in _TOOLS} == {
        name: wording.description for name, wording in WORDING.items()
    }


def test_a_small_model_sees_every_example() -> None:
    shown = [turn.name for turn in examples(_TOOLS) if isinstance(turn, Call)]
    assert {name: shown.count(name) for name in WORDING} == {
        name: len(wording.examples) for name, wording in WORDING.items()
    }


@pytest.mark.parametrize("name", WORDING)
def test_examples_and_parameters_are_those_of_the_tool(name: str) -> None:
    schema = _SCHEMAS[name]
    assert WORDING[name].parameters.keys() <= schema["properties"].keys()
    for example in WORDING[name].examples:
        assert set(schema["required"]) <= example.arguments.keys() <= schema["properties"].keys()
        assert example.expected_output


def test_no_example_gives_the_answer_to_a_request() -> None:
    requests = {plain(request.said) for request in (*REQUESTS, *FRESH)}
    said = [plain(e.description) for wording in WORDING.values() for e in wording.examples]
    assert not requests & set(said)
    assert len(set(said)) == len(said)
