"""The tools that only a built-in agent has: asking, finishing, giving up.

What a model writes into them is checked here, and cut to what can be said.
"""

from __future__ import annotations

import json
from typing import Any

from vivavoce.runtime.ports import ToolDefinition

ASK, DONE, GIVE_UP = "ask_user", "done", "give_up"
_MAX_TEXT = 4_000
_MAX_ITEMS = 10
_MAX_ITEM = 300


def _strings(description: str) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "string"}, "description": description}


def _tool(name: str, description: str, required: str, **properties: Any) -> ToolDefinition:
    schema = {"type": "object", "properties": properties, "required": [required]}
    return ToolDefinition(name, description, schema, category="delegation")


_TEXT = {"type": "string"}
OWN = (
    _tool(
        ASK,
        "Ask the user one short question, and wait for the answer.",
        "question",
        question=_TEXT,
        choices=_strings("the possible answers, if they are few"),
    ),
    _tool(DONE, "The work is finished. Say what came of it.", "summary", summary=_TEXT),
    _tool(
        GIVE_UP,
        "You cannot go on. Say why, what you tried, and what the user could do.",
        "error",
        error=_TEXT,
        tried=_strings("what you attempted"),
        suggestions=_strings("what the user could do"),
    ),
)


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
