"""What was named decides which kind of tool can be meant."""

from __future__ import annotations

import pytest

from vivavoce.brain.llama.fitting import fitting
from vivavoce.brain.ports import Ask, Call, Result, Said, Tool


def tool(name: str, *required: str) -> Tool:
    return Tool(name, "", {"type": "object", "required": list(required)})


TOOLS = (
    tool("read_file", "path"),
    tool("glob", "pattern"),
    tool("bash", "command"),
    tool("web_search", "query"),
    tool("web_fetch", "url"),
)


def names(words: str, *tools: Tool) -> list[str]:
    ask = Ask("", (Said("user", words),), tools or TOOLS)
    return [each.name for each in fitting(ask).tools]


@pytest.mark.parametrize("words", ["Please pull up notes.txt.", "What's in src/main.py?"])
def test_a_named_file_is_no_web_page(words: str) -> None:
    assert names(words) == ["read_file", "glob", "bash", "web_search"]


@pytest.mark.parametrize("words", ["Read the page python.org/about.", "Open https://x.example"])
def test_an_address_is_no_file(words: str) -> None:
    assert names(words) == ["bash", "web_fetch"]


@pytest.mark.parametrize(
    "words", ["Run the tests.", "Save python.org to page.html.", "What is e.g. a monad?", ""]
)
def test_otherwise_all_may_be_meant(words: str) -> None:
    assert names(words) == [each.name for each in TOOLS]


def test_nothing_is_taken_away_where_no_tool_of_the_other_kind_is_there() -> None:
    assert names("Read python.org.", tool("read_file", "path")) == ["read_file"]


def test_after_a_result_all_may_be_meant() -> None:
    turns = (Said("user", "Open a.txt."), Call("1", "read_file", "{}"), Result("1", "python.org"))
    assert len(fitting(Ask("", turns, TOOLS)).tools) == len(TOOLS)
