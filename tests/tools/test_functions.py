"""A Python function becomes a tool: its signature the schema, its docstring the description."""

from __future__ import annotations

import asyncio
import enum
import threading
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from vivavoce.errors import InvalidArguments, Unavailable
from vivavoce.processes.threads import Threads
from vivavoce.runtime.ports import ToolContext, ToolOutput
from vivavoce.tools.functions import Tool, as_text, tool

CONTEXT = ToolContext(user_id="ann", call_id="c1")


class Size(enum.StrEnum):
    SMALL = "small"
    LARGE = "large"


class Place(BaseModel):
    title: str
    floor: int = 0


@tool(category="test", timeout=5)
async def order(
    context: ToolContext,
    item: Annotated[str, Field(description="What", min_length=2)],
    to: Place,
    on: date,
    size: Size = Size.SMALL,
) -> str:
    """Order something."""
    return f"{context.user_id}: {size.value} {item} to {to.title} on {on:%d.%m.%Y}"


def test_the_signature_is_the_schema_without_the_context() -> None:
    parameters = order.definition.parameters
    assert list(parameters["properties"]) == ["item", "to", "on", "size"]
    assert parameters["required"] == ["item", "to", "on"]
    assert parameters["additionalProperties"] is False
    assert parameters["properties"]["item"] == {
        "description": "What",
        "minLength": 2,
        "type": "string",
    }
    assert order.definition.description == "Order something."
    assert (order.definition.category, order.definition.timeout) == ("test", 5)


def test_a_parameter_may_be_called_title_though_pydantic_has_titles_of_its_own() -> None:
    place = order.definition.parameters["$defs"]["Place"]
    assert place["properties"]["title"] == {"type": "string"}
    assert "title" not in place


async def test_arguments_arrive_as_the_types_that_were_asked_for() -> None:
    given = {"item": "tea", "to": {"title": "Lab"}, "on": "2026-01-31", "size": "large"}
    assert await order.handler(given, CONTEXT) == "ann: large tea to Lab on 31.01.2026"


async def test_what_the_schema_lets_through_and_the_type_does_not_is_still_refused() -> None:
    with pytest.raises(InvalidArguments, match="'on' for tool 'order'"):
        await order.handler({"item": "tea", "to": {"title": "x"}, "on": "soon"}, CONTEXT)


async def test_a_plain_function_runs_off_the_event_loop() -> None:
    @tool()
    def where() -> str:
        """Which thread."""
        return str(threading.current_thread() is threading.main_thread())

    assert await where.handler({}, CONTEXT) == "False"


async def test_a_plain_function_raises_as_an_async_one_does() -> None:
    @tool()
    def fail() -> str:
        """Fails."""
        raise FileNotFoundError("gone")

    with pytest.raises(FileNotFoundError):
        await fail.handler({}, CONTEXT)


async def test_threads_are_few_and_a_stuck_one_keeps_its_place() -> None:
    threads, go = Threads(limit=1), threading.Event()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await threads.run(go.wait)
    with pytest.raises(Unavailable):
        await threads.run(int)
    go.set()
    async with asyncio.timeout(5):
        while True:
            try:
                assert await threads.run(int) == 0
                break
            except Unavailable:
                await asyncio.sleep(0.001)


def _bare() -> None: ...


def _starred(*items: str) -> None:
    """Takes anything."""


def _untyped(item) -> None:  # type: ignore[no-untyped-def]
    """No type."""


@pytest.mark.parametrize(
    ("function", "message"),
    [(_bare, "docstring"), (_starred, "must have a name"), (_untyped, "needs a type")],
)
def test_a_function_that_cannot_be_a_tool_is_refused_when_it_is_made(
    function: Any, message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        tool()(function)


def test_what_is_returned_becomes_text() -> None:
    @dataclass
    class Point:
        x: int

    assert as_text("as it is") == "as it is"
    assert as_text({"when": date(2026, 1, 31)}) == '{"when":"2026-01-31"}'
    assert as_text([Point(1)]) == '[{"x":1}]'
    assert as_text(None) == "Done."


def test_a_tool_may_have_another_name_than_its_function() -> None:
    made: Tool = tool(name="other-name")(order_again)
    assert made.definition.name == "other-name"


async def order_again() -> str:
    """Once more."""
    return ""


async def test_an_output_of_its_own_kind_is_handed_on_as_it_is() -> None:
    made = ToolOutput("a.py", "files", files_changed=("a.py",))

    @tool(description="Told instead of the docstring.", changes=True)
    def change() -> ToolOutput:
        """Not told."""
        return made

    assert await change.handler({}, CONTEXT) is made
    definition = change.definition
    assert definition.description == "Told instead of the docstring."
    assert definition.changes
    assert not order.definition.changes
