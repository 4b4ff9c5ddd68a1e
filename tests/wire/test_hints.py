"""Hints in a tool's schema: read if they are right, never a reason to fail, kept from others."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from vivavoce.wire.hints import KEY, Briefing, Thing, bare, bare_tools, briefed, hint_of

SCHEMA: dict[str, Any] = {"type": "object", "properties": {}}


def tool(name: str, hint: Any = None) -> dict[str, Any]:
    parameters = SCHEMA if hint is None else {**SCHEMA, KEY: hint}
    return {"type": "function", "name": name, "parameters": parameters}


def test_a_hint_is_read_with_what_it_leaves_out() -> None:
    hint = hint_of({**SCHEMA, KEY: {"wish": "remind", "slots": {"at": {"kind": "time"}}}})
    assert hint is not None
    assert (hint.wish, hint.does, hint.slots["at"].required) == ("remind", "act", False)


@pytest.mark.parametrize(
    "hint", [5, "x", [], {"wish": ["x"]}, {"wish": "a", "slots": {"at": {"kind": "soon"}}}]
)
def test_a_hint_that_is_wrong_is_none(hint: object) -> None:
    assert hint_of({**SCHEMA, KEY: hint}) is None
    assert hint_of(SCHEMA) is hint_of(None) is None


def test_others_are_given_the_schema_alone() -> None:
    hinted = tool("a", {"wish": "a"})
    assert bare(hinted["parameters"]) == SCHEMA
    assert bare_tools([hinted, {"type": "mcp"}]) == [tool("a"), {"type": "mcp"}]
    assert KEY in hinted["parameters"]  # what was there is left alone


def test_the_first_tool_that_has_hints_carries_what_is_known_and_the_last_word_counts() -> None:
    tools = [tool("plain"), tool("a", {"wish": "a"}), tool("b", {"wish": "b"})]
    at = datetime(2026, 11, 18, 9, tzinfo=UTC)
    first = briefed(tools, Briefing(user="Ann", things=(Thing(id="1", title="Run", at=at),)))
    second = briefed(first, Briefing(user="Ann"))
    hints = [hint_of(one["parameters"]) for one in second]
    assert [hint.briefing is not None for hint in hints if hint] == [True, False]
    read = hint_of(first[1]["parameters"])
    assert read is not None
    assert read.briefing is not None
    assert read.briefing.things == (Thing(id="1", title="Run", at=at),)
    assert hints[1] is not None
    assert hints[1].briefing == Briefing(user="Ann")
    assert briefed([tool("plain")], Briefing(user="Ann")) == [tool("plain")]
