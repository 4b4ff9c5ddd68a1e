"""Progress in a person's words, whatever a model wrote into the arguments."""

from __future__ import annotations

from typing import Any

import pytest

from vivavoce.tools.delegation.narration import narrate


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("read_file", {"path": "src/auth.py"}, "Reading src/auth.py"),
        ("read_file", {"path": 7}, "Reading a file"),
        ("bash", {"command": "python -m pytest -q tests"}, "Running the tests"),
        ("bash", {"command": "npm run test"}, "Running the tests"),
        ("bash", {"command": "git status\nrm -rf x"}, "Running git status rm -rf x"),
        ("glob", {"pattern": "**/*.py"}, "Looking for **/*.py"),
        ("grep", {"pattern": "TODO"}, "Searching the files for TODO"),
        ("web_fetch", {"url": "https://user:pw@example.com/a?key=1"}, "Reading example.com"),
        ("web_fetch", {"url": "http://[bad"}, "Reading a web page"),
        ("web_search", {}, "Searching the web for it"),
        ("deploy", {}, "Using deploy"),
    ],
)
def test_it_is_said_as_a_person_would(tool: str, arguments: dict[str, Any], words: str) -> None:
    assert narrate(tool, arguments) == words


def test_it_is_one_short_line() -> None:
    words = narrate("read_file", {"path": "a\x1b]0;x\u2028" * 100})
    assert len(words) < 100
    assert words.isprintable()
