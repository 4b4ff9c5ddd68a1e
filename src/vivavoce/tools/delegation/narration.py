"""What an agent is doing, as a person would say it: "Reading src/auth.py", "Running the tests"."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

_LONGEST = 80
_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\s]+")
_TESTS = re.compile(r"\b(pytest|unittest|tox|(?:npm|yarn|pnpm|cargo|go|make|mvn|gradle)\s.*test)")

Arguments = Mapping[str, Any]


def short(text: str, longest: int = _LONGEST) -> str:
    """One line of it."""
    line = _UNSEEN.sub(" ", text).strip()
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "…"


def _named(arguments: Arguments, key: str, otherwise: str) -> str:
    value = arguments.get(key)
    return short(value) if isinstance(value, str) and value.strip() else otherwise


def _bash(arguments: Arguments) -> str:
    command = _named(arguments, "command", "a command")
    return "Running the tests" if _TESTS.search(command) else f"Running {command}"


def _page(arguments: Arguments) -> str:
    url = _named(arguments, "url", "")
    try:
        host = urlsplit(url).hostname
    except ValueError:
        host = None
    return f"Reading {host or 'a web page'}"


_WORDS: dict[str, Callable[[Arguments], str]] = {
    "read_file": lambda given: f"Reading {_named(given, 'path', 'a file')}",
    "write_file": lambda given: f"Writing {_named(given, 'path', 'a file')}",
    "edit_file": lambda given: f"Editing {_named(given, 'path', 'a file')}",
    "glob": lambda given: f"Looking for {_named(given, 'pattern', 'files')}",
    "grep": lambda given: f"Searching the files for {_named(given, 'pattern', 'a text')}",
    "web_search": lambda given: f"Searching the web for {_named(given, 'query', 'it')}",
    "web_fetch": _page,
    "bash": _bash,
}


def narrate(tool: str, arguments: Arguments) -> str:
    words = _WORDS.get(tool)
    return words(arguments) if words is not None else f"Using {short(tool)}"
