"""The agent folder: what makes one voice agent different from another, with no code.

`agent.yaml` says how it sounds, what it may use and how long it stays;
`prompt.md` is sent to the model as written. Errors name the file, the line
and what would be right. What tools and voices there are is told by others, and
`intents.yaml` is read by the package `intents`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, Field, ValidationError

from vivavoce.runtime.agents.mcp import Mcp, McpServer, servers
from vivavoce.runtime.agents.work import Backend, Delegation, Permissions, Roles, picked
from vivavoce.runtime.agents.yaml_file import (
    FileProblems,
    Part,
    YamlFile,
    did_you_mean,
    explain,
    keys_of,
    read_text,
)
from vivavoce.wire.hints import OCCASIONS, Flow, Lessons, Told
from vivavoce.wire.records.plans import SessionLimits

A = TypeVar("A")
B = TypeVar("B")
P = TypeVar("P", bound=Part)

AgentError = FileProblems
MAX_PROMPT = 64_000  # characters; a session's instructions have to leave room for the talk
_CHECKOUT = Path(__file__).resolve().parents[4] / "agents"
_PACKAGED = Path(__file__).resolve().parents[2] / "_agents"


# --- What `agent.yaml` may say


class _ServerVad(Part):
    type: Literal["server_vad"] = "server_vad"
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
    """Said word for word after `idle_minutes`; then there are `warning_seconds` to answer.
    Without one the warning comes so long before the end."""
    cap_minutes: Literal["provider"] | Annotated[float, Field(gt=0, le=24 * 60)] = "provider"


class _Limits(Part):
    sessions_per_10_minutes: int = Field(default=20, ge=0)
    sessions_per_day: int = Field(default=0, ge=0)
    concurrent_sessions: int = Field(default=0, ge=0)
    tokens_per_day: int = Field(default=0, ge=0)
    cost_per_day: float = Field(default=0, ge=0, le=1_000_000, allow_inf_nan=False)
    executions_per_minute: int = Field(default=60, ge=0)


def _occasion(name: str) -> str:
    if name in OCCASIONS:
        return name
    near = did_you_mean(get_close_matches(name, OCCASIONS, n=1))
    raise ValueError(f"be one of {', '.join(OCCASIONS)}{near}")


_Saying = Annotated[str, Field(min_length=2, max_length=300, pattern=r"^([^{}\n]|\{[a-z_]+\})*$")]
_Words = dict[
    Annotated[str, AfterValidator(_occasion)],
    Annotated[tuple[_Saying, ...], Field(min_length=1, max_length=12)],
]


class _Restore(Part):
    turns: int = Field(default=10, ge=0, le=200)


_Hint = Annotated[str, Field(min_length=2, max_length=120, pattern=r"^[^\n]*\S[^\n]*$")]
_ProviderName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,31}$")]


class AgentFile(Part):
    name: str = Field(pattern=r"^[a-z][a-z0-9_-]{0,63}$")
    description: str = ""
    voice: str = Field(default="marin", min_length=1)
    tools: Literal["*"] | tuple[str, ...] = "*"
    """The tools it may use, by name or pattern, `!` takes away."""
    greeting: str | None = None
    turn_detection: (
        Annotated[_ServerVad | _SemanticVad, Field(discriminator="type")] | Literal["manual"]
    ) = _ServerVad()
    transcription: _Transcription = _Transcription()
    timeouts: _Timeouts = _Timeouts()
    limits: _Limits = _Limits()
    restore: _Restore = _Restore()
    max_output_tokens: Annotated[int, Field(ge=1, le=4096)] | Literal["inf"] = "inf"
    approval: Permissions = Permissions()
    roles: Roles = Roles()
    """Who may use what of it, where the server knows roles."""
    delegation: Delegation = Delegation()
    mcp: Mcp = Field(default_factory=dict)
    fallbacks: tuple[_ProviderName, ...] | None = Field(default=None, max_length=8)
    """Who takes over when the provider fails, in this order; None is as the settings have it."""
    context_type: Literal["voice", "onboarding", "goal", "task", "reschedule"] = "voice"
    """Of the conversations that begin with it (seed 004 §8)."""
    orchestrator: Literal["embedded"] | Backend = "embedded"
    """`embedded` is the built-in one; elsewhere the word is the engine's."""
    hints: tuple[_Hint, ...] = Field(default=(), max_length=8)
    """What one could say to it, for those who have not said anything yet."""
    words: _Words = Field(default_factory=dict)
    """Its own sentences by occasion (`OCCASIONS`), several to vary."""


_Line = Annotated[str, Field(min_length=1, max_length=400, pattern=r"^[^\n]*$")]
_Wish = Annotated[str, Field(pattern=r"^[a-z][a-z0-9 _-]{0,63}$")]


class _Told(Part):
    said: _Line
    asked: _Line | Literal[""] = ""
    things: tuple[_Line, ...] = Field(default=(), max_length=8)
    means: _Line


class _Lessons(Part):
    """`examples.yaml`."""

    shown: tuple[_Told, ...] = Field(default=(), max_length=60)
    heard: dict[_Wish, Annotated[tuple[_Line, ...], Field(max_length=500)]] = Field(
        default={}, max_length=100
    )


def read_lessons(path: Path) -> Lessons:
    """Empty where there is no such file. Raises `FileProblems`."""
    if not path.exists():
        return Lessons()
    source = YamlFile(path)
    try:
        given = _Lessons.model_validate(source.value)
    except ValidationError as exc:
        raise FileProblems(explain(source, exc, keys_of(_Lessons))) from None
    return Lessons(shown=tuple(Told(**dict(one)) for one in given.shown), heard=given.heard)


class _Flows(Part):
    """`flows.yaml`."""

    flows: tuple[Flow, ...] = Field(max_length=100)


def read_flows(path: Path) -> tuple[Flow, ...]:
    """None where there is no such file. Raises `FileProblems`."""
    if not path.exists():
        return ()
    source = YamlFile(path)
    try:
        return _Flows.model_validate(source.value).flows
    except ValidationError as exc:
        raise FileProblems(explain(source, exc, keys_of(_Flows))) from None


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


def readers(agents_dir: Path | None = None) -> list[Path]:
    """The folders of what was trained for an agent's wishes."""
    roots = agent_roots(agents_dir)
    return [file.parent for root in roots for file in sorted(root.glob("*/reader/model.onnx"))]


def find_agent(name_or_path: str | Path, agents_dir: Path | None = None) -> Path:
    """The folder of an agent: a path as it is, a name in the usual places."""
    given = Path(name_or_path)
    if given.name != str(name_or_path) or str(name_or_path) in (".", ".."):
        return given.absolute()  # "./here" would else be a name to whoever is asked next
    for root in agent_roots(agents_dir):
        if (root / given / "agent.yaml").is_file():
            return root / given
    known = ", ".join(list_agents(agents_dir)) or "none"
    hint = f"; for the folder here, say ./{given}" if given.is_dir() else ""
    raise FileProblems([f"there is no agent '{given}'; there are: {known}{hint}"])


# --- The agent


class Agent(AgentFile):
    """One agent, ready to be used: what its files say."""

    prompt: str
    folder: Path
    lessons: Lessons = Lessons()
    """How people speak to it: its `examples.yaml`."""
    flows: tuple[Flow, ...] = ()
    """Wishes that take several calls: its `flows.yaml`."""
    intents: tuple[str, ...] = ()
    """Tools that it has because of its `intents.yaml`, whatever `tools` says, unless it takes
    them away."""

    def chosen(self, known: Sequence[str]) -> list[str] | None:
        """Its tools among those there are; None is all of them."""
        if self.tools == "*":
            return None
        return picked(self.tools, known, [name for name in self.intents if name in known])

    @property
    def turns(self) -> Mapping[str, Any] | None:
        """Its turn detection as the provider takes it; None is manual."""
        return None if self.turn_detection == "manual" else self.turn_detection.model_dump()

    @property
    def servers(self) -> tuple[McpServer, ...]:
        """MCP servers whose tools it has; what they name of the environment is not yet filled
        in."""
        return servers(self.mcp, self.folder)

    @property
    def backend(self) -> Backend | None:
        """Who acts on its intents; None is the one inside."""
        return None if isinstance(self.orchestrator, str) else self.orchestrator

    @property
    def idle_seconds(self) -> float | None:
        minutes = self.timeouts.idle_minutes
        return None if minutes is None else minutes * 60

    @property
    def cap_seconds(self) -> float | None:
        """None: as long as the provider allows."""
        minutes = self.timeouts.cap_minutes
        return None if minutes == "provider" else minutes * 60

    def session_limits(self) -> SessionLimits:
        """What one user may have of it."""
        limits = self.limits
        return SessionLimits(
            per_10_minutes=limits.sessions_per_10_minutes,
            per_day=limits.sessions_per_day,
            concurrent=limits.concurrent_sessions,
            stale_seconds=max(SessionLimits().stale_seconds, 2 * (self.cap_seconds or 0.0)),
            tokens_per_day=limits.tokens_per_day,
            cost_micros_per_day=round(limits.cost_per_day * 1_000_000),
        )


def load_agent(
    name_or_path: str | Path,
    agents_dir: Path | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Agent:
    """The agent, with what the operator set explicitly in place of what its file says.

    `overrides` are by the keys of the file, "limits.tokens_per_day". Raises `AgentError`.
    """
    folder = find_agent(name_or_path, agents_dir)
    if not folder.is_dir():
        read_agent_file(folder / "agent.yaml")  # says so, once
    said, prompt = together(
        lambda: read_agent_file(folder / "agent.yaml"), lambda: _prompt(folder / "prompt.md")
    )
    for key, value in (overrides or {}).items():
        said = _changed(said, key.split("."), value)
    taught, flows = together(
        lambda: read_lessons(folder / "examples.yaml"), lambda: read_flows(folder / "flows.yaml")
    )
    return Agent(folder=folder, prompt=prompt, lessons=taught, flows=flows, **dict(said))


def _changed(part: P, path: Sequence[str], value: Any) -> P:
    name, *rest = path
    new = _changed(getattr(part, name), rest, value) if rest else value
    return part.model_copy(update={name: new})


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
    path = agent.folder / "agent.yaml"
    source = cache(lambda: YamlFile(path))  # read again only to say where a mistake is
    wrong: list[tuple[int, str]] = []
    if voices and agent.voice not in voices:
        line = source().line(["voice"])
        where = voice_setting or f"{path}:{line}: voice"
        there = ", ".join(voices)
        wrong.append((line, f"{where}: there is no voice '{agent.voice}'; there are: {there}"))

    def missing(name: str) -> bool:
        bare = name.removeprefix("!")
        if bare.startswith(tuple(f"{server}_" for server in agent.mcp)):
            return False  # known only once its server has answered
        return not any(fnmatchcase(tool, bare) for tool in tools)

    for at, name in enumerate(() if agent.tools == "*" else agent.tools):
        if missing(name):
            line, there = source().line(["tools", at]), ", ".join(tools)
            words = f"tools: there is no tool '{name}'; there are: {there}"
            wrong.append((line, f"{path}:{line}: {words}"))
    for role in ("user", "developer"):
        key, setting = f"roles.{role}.tools", f"VIVAVOCE_{role.upper()}_TOOLS"
        for name in filter(missing, getattr(agent.roles, role).tools):
            line = source().line(["roles", role, "tools"])
            words = f"{key}, or {setting}: there is no tool '{name}'; there are: {', '.join(tools)}"
            wrong.append((line, f"{path}:{line}: {words}"))
    if wrong:
        raise AgentError([words for _, words in sorted(wrong)])


def _prompt(path: Path) -> str:
    text = read_text(path)
    if not text.strip():
        raise AgentError([f"{path}:1: the prompt is empty"])
    if len(text) > MAX_PROMPT:
        raise AgentError([f"{path}: {len(text)} characters; at most {MAX_PROMPT} are sent"])
    return text
