"""The tools that only a built-in agent has: asking, finishing, giving up.

What a model writes into them is checked here, and cut to what can be said.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from vivavoce.runtime.ports import ToolDefinition

ASK, DONE, GIVE_UP = "ask_user", "done", "give_up"
_MAX_TEXT = 4_000
_MAX_ITEMS = 10
_MAX_ITEM = 300


FILE = tomllib.loads(Path(__file__).with_name("agents.toml").read_text(encoding="utf-8"))


def _tool(name: str, description: str, **schema: Any) -> ToolDefinition:
    return ToolDefinition(name, description, {"type": "object", **schema}, category="delegation")


OWN = tuple(_tool(**one) for one in FILE["tools"])


def parsed(arguments: str) -> dict[str, Any] | None:
    """None for what is no JSON object."""
    try:
        value = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def text(arguments: dict[str, Any], key: str) -> str:
    value = arguments.get(key)
    return value.strip()[:_MAX_TEXT] if isinstance(value, str) else ""


def texts(arguments: dict[str, Any], key: str) -> tuple[str, ...]:
    value = arguments.get(key)
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list):
        return ()
    strings = (each.strip()[:_MAX_ITEM] for each in value if isinstance(each, str))
    return tuple([each for each in strings if each][:_MAX_ITEMS])


def fault(output: str) -> str | None:
    """Why a call of a tool came to nothing, if so, by the one shape of errors."""
    value = parsed(output) if output.startswith("{") else None
    if value is None or value.get("success") is not False:
        return None
    return str(value.get("error", "failed"))
