"""The agent folder: what makes one voice agent different from another, with no code.

`agent.yaml` says how it sounds, what it may use and how long it stays;
`prompt.md` is sent to the model as written. Errors name the file, the line
and what would be right. What tools and voices there are is told by others, and
`intents.yaml` is read by the package `intents`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, ValidationError

from vivavoce.runtime.agents.intents import Backend, BackendFile
from vivavoce.runtime.agents.mcp import Mcp, McpServer, servers
from vivavoce.runtime.agents.work import Approval, Delegation
from vivavoce.runtime.agents.yaml_file import (
    FileProblems,
    Part,
    YamlFile,
    explain,
    keys_of,
    read_text,
)
from vivavoce.runtime.calls.permissions import Permissions
from vivavoce.wire.records.plans import SessionLimits

A = TypeVar("A")
B = TypeVar("B")

AgentError = FileProblems
MAX_PROMPT = 64_000  # characters; a session's instructions have to leave room for the talk
_CHECKOUT = Path(__file__).resolve().parents[4] / "agents"
_PACKAGED = Path(__file__).resolve().parents[2] / "_agents"


# --- What `agent.yaml` may say


class _ServerVad(Part):
    type: Literal["server_vad"]
    threshold: float = Field(default=0.5, ge=0, le=1)
    prefix_padding_ms: int = Field(default=300, ge=0, le=5000)
    silence_duration_ms: int = Field(default=500, ge=0, le=10_000)


class _SemanticVad(Part):
    type: Literal["semantic_vad"]
    eagerness: Literal["low", "medium", "high", "auto"] = "auto"


_Keyword = Annotated[str, Field(min_length=2, max_length=40, pattern=r"^[^,;\n]*$")]
"""They are sent in one line, with commas between them."""


class _Transcription(Part):
    model: str = Field(default="gpt-4o-mini-transcribe", min_length=1)
    language: str | None = Field(default=None, pattern=r"^[a-z]{2,3}$")
    keywords: tuple[_Keyword, ...] = Field(default=(), max_length=200)


class _Timeouts(Part):
    idle_minutes: float | None = Field(default=15, gt=0, le=24 * 60)
    warning_seconds: float = Field(default=30, ge=0, le=600)
    idle_question: str | None = Field(default=None, min_length=1, max_length=200)
    cap_minutes: Literal["provider"] | Annotated[float, Field(gt=0, le=24 * 60)] = "provider"


class _Limits(Part):
    sessions_per_10_minutes: int = Field(default=20, ge=0)
    sessions_per_day: int = Field(default=0, ge=0)
    concurrent_sessions: int = Field(default=0, ge=0)
    tokens_per_day: int = Field(default=0, ge=0)
    cost_per_day: float = Field(default=0, ge=0, le=1_000_000, allow_inf_nan=False)
    executions_per_minute: int = Field(default=60, ge=0)


class _Restore(Part):
    turns: int = Field(default=10, ge=0, le=200)


class AgentFile(Part):
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
    mcp: Mcp = Field(default_factory=dict)
    context_type: Literal["voice", "onboarding", "goal", "task", "reschedule"] = "voice"
    orchestrator: Literal["embedded"] | BackendFile = "embedded"


def read_agent_file(path: Path) -> AgentFile:
    """Raises `FileProblems`."""
    source = YamlFile(path)
    try:
        return AgentFile.model_validate(source.value)
    except ValidationError as exc:
        raise FileProblems(explain(source, exc, keys_of(AgentFile))) from None


# --- Where the folders are


def agent_roots(agents_dir: Path | None = None) -> list[Path]:
    """Where agents are looked for, first come first served."""
    return [root for root in (agents_dir, _CHECKOUT, _PACKAGED) if root is not None]


def list_agents(agents_dir: Path | None = None) -> list[str]:
    found = {
        file.parent.name: None
        for root in agent_roots(agents_dir)
        for file in sorted(root.glob("*/agent.yaml"))
    }
    return list(found)


def find_agent(name_or_path: str | Path, agents_dir: Path | None = None) -> Path:
    """The folder of an agent: a path as it is, a name in the usual places."""
    given = Path(name_or_path)
    if given.name != str(name_or_path) or str(name_or_path) in (".", ".."):
        return given
    for root in agent_roots(agents_dir):
        if (root / given / "agent.yaml").is_file():
            return root / given
    known = ", ".join(list_agents(agents_dir)) or "none"
    hint = f"; for the folder here, say ./{given}" if given.is_dir() else ""
    raise FileProblems([f"there is no agent '{given}'; there are: {known}{hint}"])


# --- The agent


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """One agent, ready to be used. Seconds throughout; None is "no limit of its own"."""

    name: str
    prompt: str
    folder: Path
    description: str = ""
    voice: str = "marin"
    tools: tuple[str, ...] | None = None
    """The tools it may use, by name or pattern, `!` takes away; None is all there are."""

    def chosen(self, known: Sequence[str]) -> list[str] | None:
        """Its tools among those there are; None is all of them."""
        if self.tools is None:
            return None
        names = dict.fromkeys(name for name in self.intents if name in known)
        for pattern in self.tools:
            fitting = [name for name in known if fnmatchcase(name, pattern.removeprefix("!"))]
            for name in fitting:
                if pattern.startswith("!"):
                    names.pop(name, None)
                else:
                    names[name] = None
        return list(names)

    greeting: str | None = None
    turn_detection: Mapping[str, Any] | None = field(
        default_factory=lambda: _ServerVad(type="server_vad").model_dump()
    )
    """As the provider takes it; None is manual."""
    transcription_model: str = "gpt-4o-mini-transcribe"
    transcription_language: str | None = None
    transcription_keywords: tuple[str, ...] = ()
    """What people are likely to say to it, so that it is not misheard."""
    idle_seconds: float | None = 900.0
    idle_warning_seconds: float = 30.0
    idle_question: str | None = None
    """Said word for word after `idle_seconds`; then there are `idle_warning_seconds` to answer.
    Without one the warning comes so long before the end."""
    cap_seconds: float | None = None
    """None: as long as the provider allows."""
    restore_turns: int = 10
    max_output_tokens: int | Literal["inf"] = "inf"
    sessions_per_10_minutes: int = 20
    sessions_per_day: int = 0
    concurrent_sessions: int = 0
    tokens_per_day: int = 0
    cost_per_day: float = 0.0
    """Dollars."""
    executions_per_minute: int = 60
    permissions: Permissions = field(default_factory=Permissions)
    delegation: Delegation = field(default_factory=Delegation)
    mcp: tuple[McpServer, ...] = ()
    """MCP servers whose tools it has; what they name of the environment is not yet filled in."""
    context_type: str = "voice"
    """Of the conversations that begin with it (seed 004 §8)."""
    orchestrator: Backend | None = None
    """Who acts on its intents; None is the one inside."""
    intents: tuple[str, ...] = ()
    """Tools that it has because of its `intents.yaml`, whatever `tools` says, unless it takes
    them away."""

    def session_limits(self) -> SessionLimits:
        """What one user may have of it."""
        return SessionLimits(
            per_10_minutes=self.sessions_per_10_minutes,
            per_day=self.sessions_per_day,
            concurrent=self.concurrent_sessions,
            stale_seconds=max(SessionLimits().stale_seconds, 2 * (self.cap_seconds or 0.0)),
            tokens_per_day=self.tokens_per_day,
            cost_micros_per_day=round(self.cost_per_day * 1_000_000),
        )


def load_agent(
    name_or_path: str | Path,
    agents_dir: Path | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Agent:
    """The agent, with what the operator set explicitly in place of what its file says.

    `overrides` are fields of `Agent` by name. Raises `AgentError`.
    """
    folder = find_agent(name_or_path, agents_dir)
    if not folder.is_dir():
        read_agent_file(folder / "agent.yaml")  # says so, once
    said, prompt = together(
        lambda: read_agent_file(folder / "agent.yaml"), lambda: _prompt(folder / "prompt.md")
    )
    fields = _fields(said) | {"mcp": servers(said.mcp, folder)} | dict(overrides or {})
    return Agent(folder=folder, prompt=prompt, **fields)


def together(one: Callable[[], A], other: Callable[[], B]) -> tuple[A, B]:
    """Both, or the problems of both: who mends a folder wants to know them all."""
    try:
        first = one()
    except FileProblems as exc:
        try:
            other()
        except FileProblems as more:
            raise FileProblems([*exc.problems, *more.problems]) from None
        raise
    return first, other()


def check_names(
    agent: Agent,
    *,
    voices: Sequence[str],
    tools: Sequence[str],
    voice_setting: str | None = None,
) -> None:
    """Does what the agent names exist? No voices is "not known". Raises `AgentError`.

    `voice_setting` names what the operator set the voice with, if not the file.
    """
    source = YamlFile(agent.folder / "agent.yaml")
    wrong: list[tuple[int, str]] = []
    if voices and agent.voice not in voices:
        line = source.line(["voice"])
        where = voice_setting or f"{source.path}:{line}: voice"
        there = ", ".join(voices)
        wrong.append((line, f"{where}: there is no voice '{agent.voice}'; there are: {there}"))
    for at, name in enumerate(agent.tools or ()):
        if name.removeprefix("!").startswith(tuple(f"{server.name}_" for server in agent.mcp)):
            continue  # known only once its server has answered
        if not any(fnmatchcase(tool, name.removeprefix("!")) for tool in tools):
            line, there = source.line(["tools", at]), ", ".join(tools)
            words = f"tools: there is no tool '{name}'; there are: {there}"
            wrong.append((line, f"{source.path}:{line}: {words}"))
    if wrong:
        raise AgentError([words for _, words in sorted(wrong)])


def _prompt(path: Path) -> str:
    text = read_text(path)
    if not text.strip():
        raise AgentError([f"{path}:1: the prompt is empty"])
    if len(text) > MAX_PROMPT:
        raise AgentError([f"{path}: {len(text)} characters; at most {MAX_PROMPT} are sent"])
    return text


def _fields(said: AgentFile) -> dict[str, Any]:
    times = said.timeouts
    detection = said.turn_detection
    return {
        "name": said.name,
        "description": said.description,
        "voice": said.voice,
        "tools": None if said.tools == "*" else tuple(said.tools),
        "greeting": said.greeting,
        "turn_detection": None if detection == "manual" else detection.model_dump(),
        "transcription_model": said.transcription.model,
        "transcription_language": said.transcription.language,
        "transcription_keywords": said.transcription.keywords,
        "idle_seconds": None if times.idle_minutes is None else times.idle_minutes * 60,
        "idle_warning_seconds": times.warning_seconds,
        "idle_question": times.idle_question,
        "cap_seconds": None if times.cap_minutes == "provider" else times.cap_minutes * 60,
        "restore_turns": said.restore.turns,
        "max_output_tokens": said.max_output_tokens,
        **said.limits.model_dump(),
        "permissions": said.approval.permissions(),
        "delegation": said.delegation,
        "context_type": said.context_type,
        "orchestrator": None if said.orchestrator == "embedded" else said.orchestrator.backend(),
    }
