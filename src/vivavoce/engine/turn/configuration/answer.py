"""The parts of a configuration about answers: tools, limits, voice. What each holds, how it
is read, how it is shown.

The same for a session and for one response. Which part stands where is their
business.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from vivavoce.engine.turn.configuration import checks as check
from vivavoce.engine.turn.faults import missing, unsupported, wrong_type, wrong_value

Json = dict[str, Any]

# --- Tools ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FunctionTool:
    """A function the model may call; `parameters` is a JSON Schema of an object."""

    name: str
    description: str | None = None
    parameters: Mapping[str, Any] | None = None

    def shown(self) -> Json:
        said: Json = {"type": "function", "name": self.name}
        if self.description is not None:
            said["description"] = self.description
        if self.parameters is not None:
            said["parameters"] = dict(self.parameters)
        return said


_MOST_TOOLS, _MOST_SCHEMA, _MOST_DESCRIPTION = 128, 64_000, 16_000


def read_tools(raw: Any, where: str) -> tuple[FunctionTool, ...]:
    entries = check.listing(raw, where, most=_MOST_TOOLS)
    tools = tuple(_read_tool(entry, f"{where}[{i}]") for i, entry in enumerate(entries))
    seen: set[str] = set()
    for i, tool in enumerate(tools):
        if tool.name in seen:
            raise wrong_value(f"{where}[{i}].name", f"there is a '{tool.name}' already.")
        seen.add(tool.name)
    return tools


def _read_tool(raw: Any, where: str) -> FunctionTool:
    if isinstance(raw, Mapping) and raw.get("type") == "mcp":
        raise unsupported(
            f"{where}.type", "MCP servers are not supported by this engine yet; give functions."
        )
    said = check.fields(raw, where, ("type", "name", "description", "parameters"))
    check.choice(check.required(said, "type", where), f"{where}.type", ("function",))
    description, parameters = said.get("description"), said.get("parameters")
    if description is not None:
        check.text(description, f"{where}.description", most=_MOST_DESCRIPTION)
    if parameters is not None:
        _check_schema(parameters, f"{where}.parameters")
    named = check.name(check.required(said, "name", where), f"{where}.name")
    return FunctionTool(named, description, parameters)


def _check_schema(raw: Any, where: str) -> None:
    if not isinstance(raw, Mapping):
        raise wrong_type(where, "an object", raw)
    if raw.get("type", "object") != "object":
        raise wrong_value(where, "a function's parameters are a schema of type 'object'.")
    if not isinstance(raw.get("properties", {}), Mapping):
        raise wrong_type(f"{where}.properties", "an object", raw["properties"])
    check.bounded_json(raw, where, most=_MOST_SCHEMA)


FORCED = "function:"
"""A choice of one function is `function:NAME`, as the brain takes it."""


def read_tool_choice(raw: Any, where: str) -> str:
    if not isinstance(raw, Mapping):
        return check.choice(raw, where, ("auto", "none", "required"))
    if raw.get("type") == "mcp":
        raise unsupported(f"{where}.type", "MCP servers are not supported by this engine yet.")
    said = check.fields(raw, where, ("type", "name"))
    check.choice(check.required(said, "type", where), f"{where}.type", ("function",))
    return FORCED + check.name(check.required(said, "name", where), f"{where}.name")


def shown_tool_choice(choice: str) -> str | Json:
    if choice.startswith(FORCED):
        return {"type": "function", "name": choice.removeprefix(FORCED)}
    return choice


def check_choice(choice: str, tools: Sequence[FunctionTool], where: str) -> None:
    wanted = choice.removeprefix(FORCED)
    if wanted != choice and wanted not in {tool.name for tool in tools}:
        raise wrong_value(f"{where}.name", f"there is no tool '{wanted}'.")


# --- Limits, form and voice --------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RetentionRatio:
    """When the conversation is cut, it is cut to this share of the limit."""

    retention_ratio: float
    post_instructions: int | None = None

    def shown(self) -> Json:
        said: Json = {"type": "retention_ratio", "retention_ratio": self.retention_ratio}
        if self.post_instructions is not None:
            said["token_limits"] = {"post_instructions": self.post_instructions}
        return said


Truncation = Literal["auto", "disabled"] | RetentionRatio


def read_truncation(raw: Any, where: str) -> Truncation:
    if not isinstance(raw, Mapping):
        known = check.choice(raw, where, ("auto", "disabled"))
        return "auto" if known == "auto" else "disabled"
    said = check.fields(raw, where, ("type", "retention_ratio", "token_limits"))
    check.choice(check.required(said, "type", where), f"{where}.type", ("retention_ratio",))
    share = check.required(said, "retention_ratio", where)
    ratio = check.number(share, f"{where}.retention_ratio", 0.0, 1.0)
    if said.get("token_limits") is None:
        return RetentionRatio(ratio)
    inside = f"{where}.token_limits"
    limits = check.fields(said["token_limits"], inside, ("post_instructions",))
    if "post_instructions" not in limits:
        return RetentionRatio(ratio)
    most = check.whole(limits["post_instructions"], f"{inside}.post_instructions", 0, 10**9)
    return RetentionRatio(ratio, most)


def read_max_output_tokens(raw: Any, where: str) -> int | Literal["inf"]:
    return "inf" if raw == "inf" else check.whole(raw, where, 1, 4096)


def read_modalities(raw: Any, where: str) -> Literal["audio", "text"]:
    said = check.listing(raw, where, most=10)
    kinds = [check.choice(kind, f"{where}[{i}]", ("audio", "text")) for i, kind in enumerate(said)]
    if len(kinds) != 1:
        raise wrong_value(where, "exactly one of ['audio'] and ['text'] is allowed.")
    return "text" if kinds == ["text"] else "audio"


def read_voice(raw: Any, where: str, voices: Sequence[str]) -> str:
    if isinstance(raw, Mapping):
        raise unsupported(where, "custom voices are not supported by this engine yet.")
    if raw is None:
        raise missing(where)
    return check.choice(raw, where, voices)
