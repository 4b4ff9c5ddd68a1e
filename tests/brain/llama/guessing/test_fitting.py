"""What was named decides which kind of tool can be meant."""

from __future__ import annotations

import pytest

from vivavoce.brain.llama.guessing.shaping import fitting, variants
from vivavoce.wire.brain import Ask, Call, Result, Said, Tool


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
    assert names(words) == ["read_file", "glob", "bash"]


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


GLOB = Tool(
    "glob",
    'Lists.\nExample: "List the Rust files." {"pattern": "*.rs"}',
    {"type": "object", "required": ["pattern"]},
)
GREP = Tool(
    "grep",
    'Finds.\nExample: "Find the text disk full in the code." {"pattern": "disk full"}',
    {"type": "object", "required": ["pattern"]},
)


def test_of_two_that_take_the_same_the_one_whose_examples_are_clearly_nearer_is_meant() -> None:
    assert names("Find the text to do in the source folder.", GLOB, GREP) == ["grep"]
    assert names("List all Python files.", GLOB, GREP) == ["glob"]
    assert names("Tell me a story.", GLOB, GREP) == ["glob", "grep"]


def test_every_set_of_tools_that_may_be_left_is_known_beforehand() -> None:
    tools = (*TOOLS[:1], GLOB, GREP, *TOOLS[2:])
    known = {tuple(t.name for t in ask.tools) for ask in variants(Ask("", (), tools))}
    for words in ("List all files.", "Find the text a.txt in the code.", "Read python.org."):
        assert tuple(names(words, *tools)) in known
