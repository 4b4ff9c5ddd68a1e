"""What models are told of our tools: `wording.json`, plain data in which nothing runs.

In one place, since a small model chooses by these words alone: the benchmark
of its choice and the tools that ship must not differ in a letter. The examples
are what people say, spelled as ears write it ("notes.txt" and "notes dot txt"
both), and show what is easily mixed up: names of files (glob) and text inside
them (grep), a page whose address is given (web_fetch) and anything else online
(web_search). Every example costs half a second of reading, once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import yaml

from vivavoce.runtime.ports import ToolExample
from vivavoce.tools.functions import DEFAULT_TIMEOUT, Describe, Tool, tool
from vivavoce.wire.hints import KEY

try:
    from yaml import CSafeLoader as Loader
except ImportError:  # without libyaml it takes ten times as long
    from yaml import SafeLoader as Loader  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class Wording:
    description: str
    examples: tuple[ToolExample, ...]
    category: str
    timeout: float = DEFAULT_TIMEOUT
    changes: bool = False
    parameters: Mapping[str, str] = field(default_factory=dict)
    """What is told of those whose name does not say it."""


def _read(words: dict[str, Any]) -> Wording:
    return Wording(**words | {"examples": tuple(ToolExample(*one) for one in words["examples"])})


_FILE = json.loads(Path(__file__).with_name("wording.json").read_text(encoding="utf-8"))
WORDING: Mapping[str, Wording] = {name: _read(words) for name, words in _FILE["measured"].items()}
"""Of the workbench's tools: small models were measured with these."""
WISHES: Mapping[str, Any] = yaml.load(
    Path(__file__).with_name("wishes.yaml").read_text(encoding="utf-8"), Loader
)
"""What people wish for that the tools do: hints for brains that are led (`wire.hints`)."""
_ALL = {**WORDING, **{name: _read(words) for name, words in _FILE["others"].items()}}


def worded(
    describe: Describe, timeout: float | None = None, wants: Describe | None = None
) -> Callable[[Callable[..., Any]], Tool]:
    """Makes a `Tool` of the function below it, told in the words there are for its name."""

    def decorate(function: Callable[..., Any]) -> Tool:
        words = _ALL[function.__name__]
        made = tool(
            description=words.description,
            category=words.category,
            timeout=timeout or words.timeout,
            examples=words.examples,
            describe=describe,
            wants=wants,
            changes=words.changes,
        )(function)
        if (hint := WISHES.get(function.__name__)) is not None:
            # Also the mapping that the definition holds: it is this tool's own, made just now.
            cast("dict[str, Any]", made.definition.parameters)[KEY] = hint
        properties = made.definition.parameters["properties"]
        for name, about in words.parameters.items():
            properties[name] = dict(sorted((properties[name] | {"description": about}).items()))
        return made

    return decorate
