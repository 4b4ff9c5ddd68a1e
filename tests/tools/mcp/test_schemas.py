"""A schema of a stranger's is a bounded amount of work: to look at, and with each call."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from vivavoce.errors import InvalidArguments
from vivavoce.tools.checks import Checker
from vivavoce.tools.mcp.schemas import parameters

Schema = dict[str, Any]
A_MOMENT = 2.0
"""Seconds of CPU, on a slow machine that has other things to do; what is tried takes hours."""


def of(x: Any, **more: Any) -> Schema:
    return {"type": "object", "properties": {"x": x}, **more}


def twice(name: Callable[[int], str]) -> Schema:
    """Forty definitions, each of which is the next one, twice."""
    made: Schema = {f"d{at}": {"allOf": [{"$ref": name(at + 1)}] * 2} for at in range(40)}
    return of({"$ref": name(0)}, **{"$defs": {**made, "d40": {}}})


def named() -> Schema:
    schema = twice(lambda at: f"#a{at}")
    for at in range(41):
        schema["$defs"][f"d{at}"]["$anchor"] = f"a{at}"
    return schema


def listed() -> Schema:
    some = [{"allOf": [{"$ref": f"#/$defs/l/anyOf/{at + 1}"}] * 2} for at in range(40)]
    return of({"$ref": "#/$defs/l/anyOf/0"}, **{"$defs": {"l": {"anyOf": [*some, {}]}}})


def behind_a_name() -> Schema:
    """In a field that is called as definitions are."""
    schema = twice(lambda at: f"#/$defs/d{at}")
    return {**schema, "properties": {"definitions": schema["properties"]["x"]}}


@pytest.mark.parametrize(
    "schema",
    [
        twice(lambda at: f"#/$defs/d{at}"),
        twice(lambda at: f"#/%24defs/d{at}"),
        twice(lambda at: f"#/$defs/d{at}".replace("d", "%64")),
        named(),
        listed(),
        behind_a_name(),
        of({"$dynamicRef": "#/$defs/a"}, **{"$defs": {"a": {}}}),
        of({"$ref": "https://example.org/schema"}),
        of({"$ref": "#/$defs/none"}, **{"$defs": {}}),
        # Out of values nothing is taken: a regular expression there would be run.
        of({"$ref": "#/properties/x/default", "default": {"pattern": "(a+)+$"}}),
    ],
)
def test_references_that_double_or_are_no_plain_pointers_are_refused(schema: Schema) -> None:
    began = time.process_time()
    with pytest.raises(ValueError, match="its schema"):
        parameters("poke", schema)
    assert time.process_time() - began < A_MOMENT


@pytest.mark.parametrize(
    "reference",
    ["#/$defs/a", "#/%24defs/a", "#/definitions/a~1b", "#/properties/y", "#/properties/z/anyOf/1"],
)
def test_a_plain_pointer_to_a_schema_is_followed(reference: str) -> None:
    whole = {"type": "integer"}
    schema = of(
        {"$ref": reference},
        **{"$defs": {"a": whole}, "definitions": {"a/b": whole}},
    )
    schema["properties"] |= {"y": whole, "z": {"anyOf": [{"type": "string"}, whole]}}
    checker = Checker("poke", parameters("poke", schema))
    assert checker.check({"x": 1}) == {"x": 1}
    with pytest.raises(InvalidArguments, match="'x' for tool 'poke'"):
        checker.check({"x": "one"})


def nested(levels: int) -> Any:
    value: Any = {}
    for _ in range(levels):
        value = {"x": value}
    return value


CIRCLE = {"properties": {"x": {"$ref": "#/$defs/a"}}}
CIRCLES: Schema = {
    "type": "object",
    "$ref": "#/$defs/a",
    "$defs": {"a": {**CIRCLE, "allOf": [CIRCLE, CIRCLE]}},
}


@pytest.mark.parametrize(
    ("schema", "arguments"),
    [
        (CIRCLES, nested(30)),
        ({"type": "object", "$ref": "#"}, {}),
        (of({"anyOf": [{"type": "integer"}] * 500}), {"x": "a" * 1_000_000}),
        (of({"type": "array", "items": {"enum": list(range(2_000))}}), {"x": [-1] * 100_000}),
        (of({"type": "array", "items": {f"k{at}": 1 for at in range(900)}}), {"x": [1] * 100_000}),
    ],
)
def test_arguments_that_are_too_much_work_are_refused_in_time(
    schema: Schema, arguments: Any
) -> None:
    checker = Checker("poke", parameters("poke", schema))
    began = time.process_time()
    with pytest.raises(InvalidArguments, match=r"too much to check|nested too deeply"):
        checker.check(arguments)
    assert time.process_time() - began < A_MOMENT


def test_things_that_are_to_differ_are_looked_at_once_each() -> None:
    checker = Checker("poke", parameters("poke", of({"type": "array", "uniqueItems": True})))
    many = [{"a": at} for at in range(8_000)]
    began = time.process_time()
    assert checker.check({"x": many})
    assert time.process_time() - began < A_MOMENT
    assert checker.check({"x": [1, True, 0, False, "1", [1], [True]]})
    for same in ([1, 1.0], [{"a": 1, "b": 2}, {"b": 2, "a": 1.0}], [[True], [True]]):
        with pytest.raises(InvalidArguments, match="two of the same"):
            checker.check({"x": same})


def test_a_schema_that_is_too_long_or_too_deep_is_refused_before_it_is_read() -> None:
    deep: Schema = {}
    for _ in range(20_000):
        deep = {"not": deep}
    for schema in (of(deep), of({"enum": list(range(200_000))})):
        began = time.process_time()
        with pytest.raises(ValueError, match=r"nested too deeply|longer than"):
            parameters("poke", schema)
        assert time.process_time() - began < A_MOMENT


def test_an_ordinary_list_of_a_thousand_objects_is_checked() -> None:
    one = {
        "type": "object",
        "properties": {name: {"type": "string"} for name in "abcde"},
        "required": ["a", "b"],
        "additionalProperties": False,
    }
    checker = Checker("poke", parameters("poke", of({"type": "array", "items": one})))
    assert checker.check({"x": [dict.fromkeys("abcde", "word") for _ in range(1_000)]})
