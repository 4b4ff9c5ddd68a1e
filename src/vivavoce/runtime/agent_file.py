"""What `agent.yaml` may say, and how it is told when it says something else.

Each complaint names the line, the key, what would be right and what is there.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from vivavoce.runtime.agent_mcp import PARTS as MCP_PARTS
from vivavoce.runtime.agent_mcp import Mcp
from vivavoce.runtime.agent_work import PARTS as WORK_PARTS
from vivavoce.runtime.agent_work import Approval, Delegation
from vivavoce.runtime.yaml_lines import FileProblems, YamlFile


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _ServerVad(_Part):
    type: Literal["server_vad"]
    threshold: float = Field(default=0.5, ge=0, le=1)
    prefix_padding_ms: int = Field(default=300, ge=0, le=5000)
    silence_duration_ms: int = Field(default=500, ge=0, le=10_000)


class _SemanticVad(_Part):
    type: Literal["semantic_vad"]
    eagerness: Literal["low", "medium", "high", "auto"] = "auto"


_Keyword = Annotated[str, Field(min_length=2, max_length=40, pattern=r"^[^,;\n]*$")]
"""They are sent in one line, with commas between them."""


class _Transcription(_Part):
    model: str = Field(default="gpt-4o-mini-transcribe", min_length=1)
    language: str | None = Field(default=None, pattern=r"^[a-z]{2,3}$")
    keywords: tuple[_Keyword, ...] = Field(default=(), max_length=200)


class _Timeouts(_Part):
    idle_minutes: float | None = Field(default=15, gt=0, le=24 * 60)
    warning_seconds: float = Field(default=30, ge=0, le=600)
    cap_minutes: Literal["provider"] | Annotated[float, Field(gt=0, le=24 * 60)] = "provider"


class _Limits(_Part):
    sessions_per_10_minutes: int = Field(default=20, ge=0)
    executions_per_minute: int = Field(default=60, ge=0)


class _Restore(_Part):
    turns: int = Field(default=10, ge=0, le=200)


class AgentFile(_Part):
    name: str = Field(pattern=r"^[a-z][a-z0-9_-]{0,63}$")
    description: str = ""
    voice: str = Field(default="marin", min_length=1)
    tools: Literal["*"] | list[str] = "*"
    greeting: str | None = None
    turn_detection: (
        Annotated[_ServerVad | _SemanticVad, Field(discriminator="type")] | Literal["manual"]
    ) = _ServerVad(type="server_vad")
    transcription: _Transcription = _Transcription()
    timeouts: _Timeouts = _Timeouts()
    limits: _Limits = _Limits()
    restore: _Restore = _Restore()
    max_output_tokens: Annotated[int, Field(ge=1, le=4096)] | Literal["inf"] = "inf"
    approval: Approval = Approval()
    delegation: Delegation = Delegation()
    mcp: Mcp = {}


def read_agent_file(path: Path) -> AgentFile:
    """Raises `FileProblems`."""
    source = YamlFile(path)
    try:
        return AgentFile.model_validate(source.value)
    except ValidationError as exc:
        raise FileProblems(_explain(source, exc)) from None


_PARTS: tuple[type[BaseModel], ...] = (
    AgentFile,
    _ServerVad,
    _SemanticVad,
    _Transcription,
    _Timeouts,
    _Limits,
    _Restore,
    *WORK_PARTS,
    *MCP_PARTS,
)
_KEYS = sorted({key for part in _PARTS for key in part.model_fields})


def _explain(source: YamlFile, exc: ValidationError) -> list[str]:
    """One line a place; where every alternative failed, their reasons in one line."""
    told: dict[tuple[str, ...], list[Any]] = {}
    for error in exc.errors(include_url=False):
        told.setdefault(_key(source, error["loc"]), []).append(error)
    lines = [
        (source.line(key), ".".join(key) or "the file", _reasons(errors))
        for key, errors in told.items()
        # A complaint about a part says more than one about the whole that it is in.
        if not any(other[: len(key)] == key for other in told if other != key)
    ]
    return [f"{source.path}:{line}: {key}: {reason}" for line, key, reason in sorted(lines)]


def _key(source: YamlFile, loc: Sequence[str | int]) -> tuple[str, ...]:
    """The path as it is in the file, without Pydantic's names for alternatives."""
    value, parts = source.value, []
    for part in loc:
        inside = isinstance(value, list) and isinstance(part, int)
        if inside or (isinstance(value, dict) and part in value):
            value = value[part]
        elif not (isinstance(value, dict) and part in _KEYS):
            continue
        parts.append(str(part))
    return tuple(parts)


def _reasons(errors: Sequence[Any]) -> str:
    first = errors[0]
    match first["type"]:
        case "missing":
            return "is missing"
        case "extra_forbidden":
            near = difflib.get_close_matches(str(first["loc"][-1]), _KEYS, n=1)
            return "there is no such key" + (f"; did you mean '{near[0]}'?" if near else "")
    wanted = " or ".join(dict.fromkeys(map(_wanted, errors)))
    return f"should {wanted}, and is {_short(first['input'])}"


def _wanted(error: Any) -> str:
    context = error.get("ctx", {})
    match error["type"]:
        case "string_pattern_mismatch":
            return f"match {context['pattern']}"
        case "literal_error":
            return f"be {context['expected']}"
        case "union_tag_invalid":
            return f"have as its type {context['expected_tags'].replace(', ', ' or ')}"
        case "union_tag_not_found":
            return "have a type, server_vad or semantic_vad"
        case "model_type" | "model_attributes_type" | "dict_type":
            return "be keys and values"
        case "list_type":
            return "be a list"
        case _:
            said: str = error["msg"]
            for opening in ("Input should ", "String should ", "Value error, "):
                said = said.removeprefix(opening)
            return said


def _short(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:59]}…"
