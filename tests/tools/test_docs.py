"""The examples in docs/tools.md and docs/agents.md are true."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import orjson

from vivavoce.errors import ToolFailed
from vivavoce.runtime.agents.agent import AgentFile
from vivavoce.runtime.calls.outcomes import failed
from vivavoce.runtime.clock import SystemClock
from vivavoce.runtime.ports import ToolContext
from vivavoce.tools import Registry, builtins

DOCS = Path(__file__).resolve().parents[2] / "docs"


def block(language: str) -> str:
    text = (DOCS / "tools.md").read_text(encoding="utf-8")
    found = re.search(rf"```{language}\n(.*?)```", text, re.DOTALL)
    assert found
    return found[1]


async def test_the_example_tool_works_as_written() -> None:
    names: dict[str, Any] = {"__name__": "house_tools"}
    example_file = DOCS / "examples" / "house-tools" / "house_tools.py"
    exec(compile(example_file.read_text(encoding="utf-8"), str(example_file), "exec"), names)
    tools = Registry([names["temperature"]])
    (example,) = tools.definition("temperature").examples
    arguments = tools.check("temperature", dict(example.arguments))
    output = await tools.run("temperature", arguments, ToolContext(user_id="ann"))
    assert output == example.expected_output


def test_the_example_failure_is_what_the_model_gets() -> None:
    outcome = failed(ToolFailed("gone", cause="ENOENT"))
    assert orjson.loads(outcome.for_model) == orjson.loads(block("json"))


def test_every_built_in_has_its_line() -> None:
    text = (DOCS / "tools.md").read_text(encoding="utf-8")
    for tool in builtins(SystemClock()):
        assert f"| `{tool.definition.name}` |" in text


def test_every_key_of_agent_yaml_has_its_line() -> None:
    text = (DOCS / "agents.md").read_text(encoding="utf-8")
    for name in AgentFile.model_fields:
        assert f"`{name}`" in text or f"`{name}." in text, name
