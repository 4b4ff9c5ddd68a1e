"""What `agent.yaml` may say, and how it is told when it says something else.

Each complaint names the line, the key, what would be right and what is there.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from vivavoce.runtime.agents.explain import explain, keys_of
from vivavoce.runtime.agents.intents import PARTS as INTENT_PARTS
from vivavoce.runtime.agents.intents import BackendFile
from vivavoce.runtime.agents.mcp import PARTS as MCP_PARTS
from vivavoce.runtime.agents.mcp import Mcp
from vivavoce.runtime.agents.work import PARTS as WORK_PARTS
from vivavoce.runtime.agents.work import Approval, Delegation
from vivavoce.runtime.agents.yaml_lines import FileProblems, YamlFile


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
    idle_question: str | None = Field(default=None, min_length=1, max_length=200)
    cap_minutes: Literal["provider"] | Annotated[float, Field(gt=0, le=24 * 60)] = "provider"


class _Limits(_Part):
    sessions_per_10_minutes: int = Field(default=20, ge=0)
    sessions_per_day: int = Field(default=0, ge=0)
    concurrent_sessions: int = Field(default=0, ge=0)
    tokens_per_day: int = Field(default=0, ge=0)
    cost_per_day: float = Field(default=0, ge=0, le=1_000_000, allow_inf_nan=False)
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
    context_type: Literal["voice", "onboarding", "goal", "task", "reschedule"] = "voice"
    orchestrator: Literal["embedded"] | BackendFile = "embedded"


def read_agent_file(path: Path) -> AgentFile:
    """Raises `FileProblems`."""
    source = YamlFile(path)
    try:
        return AgentFile.model_validate(source.value)
    except ValidationError as exc:
        raise FileProblems(explain(source, exc, _KEYS)) from None


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
    *INTENT_PARTS,
)
_KEYS = keys_of(_PARTS)
