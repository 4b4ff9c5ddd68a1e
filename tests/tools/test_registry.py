"""The registry fills the Toolbox port."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from vivavoce.errors import InvalidArguments, ToolFailed, ToolNotFound
from vivavoce.runtime.ports import Toolbox, ToolContext, ToolDefinition, ToolExample
from vivavoce.tools import Registry, Tool, tool

CONTEXT = ToolContext(user_id="ann")


@tool(category="delegation", describe=lambda given: f"Asking {given['agent']}")
async def task(task: str, agent: str = "helper", tags: list[str] | None = None) -> str:
    """Delegate work."""
    return f"{agent}: {task}"


@tool()
async def ping() -> str:
    """Answers."""
    return "pong"


def registry() -> Registry:
    return Registry([task, ping])


def test_it_fills_the_port() -> None:
    box: Toolbox = registry()
    assert [d.name for d in box.definitions()] == ["task", "ping"]
    assert [d.name for d in box.definitions(["ping", "task"])] == ["task", "ping"]
    assert box.definition("ping").function() == {
        "type": "function",
        "name": "ping",
        "description": "Answers.",
        "parameters": {"additionalProperties": False, "type": "object", "properties": {}},
    }


def test_models_are_told_the_examples_of_a_tool() -> None:
    example = ToolExample("Greet me.", {"who": "me"}, "Hello!")
    greet = ToolDefinition("greet", "Greets.", {}, examples=(example,))
    assert greet.function()["description"] == 'Greets.\nExample: "Greet me." {"who": "me"}'


async def test_a_tool_is_run_by_its_name() -> None:
    assert await registry().run("task", {"task": "tidy"}, CONTEXT) == "helper: tidy"


async def test_an_unknown_tool_is_not_found_anywhere() -> None:
    box = registry()
    for ask in (box.definition, lambda n: box.check(n, {}), lambda n: box.definitions([n])):
        with pytest.raises(ToolNotFound, match="no tool 'nope'"):
            ask("nope")
    with pytest.raises(ToolNotFound):
        await box.run("nope", {}, CONTEXT)


def test_a_missing_parameter_is_told_as_in_the_specification() -> None:
    with pytest.raises(InvalidArguments) as caught:
        registry().check("task", {})
    assert caught.value.message == "Missing required parameter 'task' for tool 'task'"
    assert caught.value.details == {"tool": "task", "missing_params": ["task"]}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"task": 5}, "Parameter 'task' for tool 'task': 5 is not of type 'string'"),
        ({"task": "x", "colour": "red"}, "Unknown parameter 'colour' for tool 'task'"),
        ({"task": "x", "tags": ["a", 1]}, "Parameter 'tags.1' for tool 'task'"),
        (["x"], "must be a JSON object"),
        ("x", "must be a JSON object"),
        (None, "must be a JSON object"),
    ],
)
def test_wrong_arguments_are_told_so_that_they_can_be_mended(
    arguments: object, message: str
) -> None:
    with pytest.raises(InvalidArguments, match="for tool") as caught:
        registry().check("task", arguments)
    assert message in caught.value.message
    assert caught.value.details == {"tool": "task"}


def test_several_and_nested_missing_parameters_are_all_named() -> None:
    schema = {
        "type": "object",
        "required": ["a", "b"],
        "properties": {"a": {"type": "object", "required": ["x"]}},
    }
    box = Registry()
    box.register(ToolDefinition("t", "d", schema), _echo)
    with pytest.raises(InvalidArguments, match="parameters 'a', 'b'"):
        box.check("t", {})
    with pytest.raises(InvalidArguments) as caught:
        box.check("t", {"a": {}, "b": 1})
    assert caught.value.details["missing_params"] == ["a.x"]


def test_errors_stay_short_whatever_was_sent() -> None:
    huge = {"task": ["x" * 100_000], **{f"k{i}": i for i in range(500)}}
    with pytest.raises(InvalidArguments) as caught:
        registry().check("task", huge)
    assert len(caught.value.message) <= 300
    deep: Any = "x"
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(InvalidArguments) as caught:
        registry().check("task", {"task": deep})
    assert len(caught.value.message) <= 300


def test_a_schema_from_outside_is_never_fetched_from_the_network() -> None:
    box = Registry()
    box.register(
        ToolDefinition("t", "d", {"properties": {"a": {"$ref": "http://127.0.0.1:9/x"}}}), _echo
    )
    with pytest.raises(ToolFailed, match="refers to something"):
        box.check("t", {"a": 1})


async def _echo(arguments: Mapping[str, Any], context: ToolContext) -> str:
    return str(dict(arguments))


@pytest.mark.parametrize(
    ("name", "schema", "message"),
    [
        ("no spaces", {}, "letters, digits"),
        ("", {}, "letters, digits"),
        ("ping", {}, "already"),
        ("new", {"type": "nothing"}, "no JSON Schema"),
    ],
)
def test_a_tool_that_cannot_work_is_refused_when_it_is_registered(
    name: str, schema: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        registry().register(ToolDefinition(name, "d", schema), _echo)


def test_a_tool_can_go_again() -> None:
    box = registry()
    box.remove("ping")
    box.remove("ping")
    assert [d.name for d in box.definitions()] == ["task"]


def test_what_runs_is_described_in_words() -> None:
    box = registry()
    assert box.describe("task", {"agent": "the explorer"}) == "Asking the explorer"
    assert box.describe("ping", {}) == "Running ping"


def test_a_description_that_fails_does_not_cost_the_call() -> None:
    assert registry().describe("task", {}) == "Running task"


SEVERAL = [ping]
NOT_A_TOOL = 5


def plain() -> str:
    """Nobody decorated it."""
    return ""


def test_installed_packages_bring_tools_and_a_broken_one_is_told() -> None:
    here = "tests.tools.test_registry"
    points = [
        EntryPoint("good", f"{here}:task", "vivavoce.tools"),
        EntryPoint("missing", f"{here}:nothing", "vivavoce.tools"),
        EntryPoint("wrong", f"{here}:NOT_A_TOOL", "vivavoce.tools"),
        EntryPoint("plain", f"{here}:plain", "vivavoce.tools"),
        EntryPoint("several", f"{here}:SEVERAL", "vivavoce.tools"),
    ]
    box = Registry()
    box.load_plugins(points)
    assert [d.name for d in box.definitions()] == ["task", "ping"]
    assert [problem.split("'")[1] for problem in box.problems] == ["missing", "wrong", "plain"]
    Registry().load_plugins()


def test_a_plain_function_is_told_in_one_line_what_it_lacks(
    caplog: pytest.LogCaptureFixture,
) -> None:
    value = "tests.tools.test_registry:plain"
    for level in (logging.INFO, logging.DEBUG):
        caplog.clear()
        with caplog.at_level(level):
            Registry().load_plugins([EntryPoint("house", value, "vivavoce.tools")])
        (record,) = caplog.records
        assert record.getMessage() == (
            f"Tool plug-in 'house' ({value}): plain is not a tool: decorate it with @tool()"
        )
        assert bool(record.exc_info) is (level == logging.DEBUG)


def test_a_tool_is_a_value() -> None:
    assert isinstance(task, Tool)
