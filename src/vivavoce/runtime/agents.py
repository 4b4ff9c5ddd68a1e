"""The agent folder: what makes one voice agent different from another, with no code.

`agent.yaml` says how it sounds, what it may use and how long it stays;
`prompt.md` is sent to the model as written. Errors name the file, the line
and what would be right. What tools and voices there are is told by others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

from vivavoce.runtime.agent_file import AgentFile, read_agent_file
from vivavoce.runtime.agent_mcp import servers
from vivavoce.runtime.agent_work import Delegation
from vivavoce.runtime.mcp_ports import McpServer
from vivavoce.runtime.permissions import Permissions
from vivavoce.runtime.yaml_lines import FileProblems, YamlFile, read_text

__all__ = ["Agent", "AgentError", "check_names", "find_agent", "list_agents", "load_agent"]

AgentError = FileProblems
MAX_PROMPT = 64_000  # characters; a session's instructions have to leave room for the talk

_SERVER_VAD = {
    "type": "server_vad",
    "threshold": 0.5,
    "prefix_padding_ms": 300,
    "silence_duration_ms": 500,
}

_CHECKOUT = Path(__file__).resolve().parents[3] / "agents"
_PACKAGED = Path(__file__).resolve().parents[1] / "_agents"


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
        names: dict[str, None] = {}
        for pattern in self.tools:
            fitting = [name for name in known if fnmatchcase(name, pattern.removeprefix("!"))]
            for name in fitting:
                if pattern.startswith("!"):
                    names.pop(name, None)
                else:
                    names[name] = None
        return list(names)

    greeting: str | None = None
    turn_detection: Mapping[str, Any] | None = field(default_factory=lambda: dict(_SERVER_VAD))
    """As the provider takes it; None is manual."""
    transcription_model: str = "gpt-4o-mini-transcribe"
    transcription_language: str | None = None
    transcription_keywords: tuple[str, ...] = ()
    """What people are likely to say to it, so that it is not misheard."""
    idle_seconds: float | None = 900.0
    idle_warning_seconds: float = 30.0
    cap_seconds: float | None = None
    """None: as long as the provider allows."""
    restore_turns: int = 10
    max_output_tokens: int | Literal["inf"] = "inf"
    sessions_per_10_minutes: int = 20
    executions_per_minute: int = 60
    permissions: Permissions = field(default_factory=Permissions)
    delegation: Delegation = field(default_factory=Delegation)
    mcp: tuple[McpServer, ...] = ()
    """MCP servers whose tools it has; what they name of the environment is not yet filled in."""


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
    raise AgentError([f"there is no agent '{given}'; there are: {known}{hint}"])


def load_agent(
    name_or_path: str | Path,
    agents_dir: Path | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Agent:
    """The agent, with what the operator set explicitly in place of what its file says.

    `overrides` are fields of `Agent` by name. Raises `AgentError`.
    """
    folder = find_agent(name_or_path, agents_dir)
    said = read_agent_file(folder / "agent.yaml")
    fields = _fields(said) | {"mcp": servers(said.mcp, folder)} | dict(overrides or {})
    return Agent(folder=folder, prompt=_prompt(folder / "prompt.md"), **fields)


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
        "cap_seconds": None if times.cap_minutes == "provider" else times.cap_minutes * 60,
        "restore_turns": said.restore.turns,
        "max_output_tokens": said.max_output_tokens,
        "sessions_per_10_minutes": said.limits.sessions_per_10_minutes,
        "executions_per_minute": said.limits.executions_per_minute,
        "permissions": said.approval.permissions(),
        "delegation": said.delegation,
    }
