"""The parts of `agent.yaml` about what an agent may do by itself, what of it which role may use,
whom it may delegate to, and where its intents go."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, field_validator
from pydantic_core import PydanticCustomError

from vivavoce.runtime.agents.mcp import filled, http_address
from vivavoce.runtime.agents.yaml_file import UNTOLD, Part
from vivavoce.wire.records.talk import Origin
from vivavoce.wire.records.work import Role

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_:-]{0,63}$")]
Address = Annotated[str, Field(max_length=2000), AfterValidator(http_address)]
Host = Annotated[str, Field(pattern=r"^[A-Za-z0-9*][A-Za-z0-9.*-]{0,252}$")]
Decision = Literal["allow", "ask", "ask_once", "deny"]
"""`ask_once`: one yes is for the same call in the rest of the session."""
_LONGEST = 4_096
"""Characters of an argument that a pattern looks at. A longer one fits no pattern."""


class Rule(Part):
    """`tool` is a name, with * and ?; `arguments` are patterns that must match as a whole.

    For a `deny` it is enough that a pattern is found anywhere: what is forbidden
    must not be let through by a word in front of it. Where that of an `ask` is found
    somewhere, a later `allow` is not enough.
    """

    tool: str = Field(default="*", min_length=1, max_length=128)
    arguments: dict[str, str] = Field(default_factory=dict)
    origins: frozenset[Origin] = frozenset()
    decision: Decision

    @field_validator("arguments")
    @classmethod
    def _patterns(cls, value: dict[str, str]) -> dict[str, str]:
        for name, pattern in value.items():
            try:
                re.compile(pattern)
            except re.error as exc:
                raise ValueError(f"be a regular expression for '{name}' ({exc})") from None
        return value

    def fits(self, tool: str, arguments: Mapping[str, Any], origin: Origin) -> bool:
        matches = _found if self.decision == "deny" else _whole
        return self._about(tool, origin) and self._all(matches, arguments)

    def touches(self, tool: str, arguments: Mapping[str, Any], origin: Origin) -> bool:
        """Is it about something that must be asked, among other things?"""
        asks = self.decision in ("ask", "ask_once") and self._about(tool, origin)
        return asks and self._all(_found, arguments)

    def _about(self, tool: str, origin: Origin) -> bool:
        return fnmatchcase(tool, self.tool) and (not self.origins or origin in self.origins)

    def _all(self, matches: Callable[[str, str], bool], arguments: Mapping[str, Any]) -> bool:
        return all(matches(_text(arguments.get(name)), p) for name, p in self.arguments.items())


def _text(value: object) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def _found(text: str, pattern: str) -> bool:
    return re.search(pattern, text[:_LONGEST]) is not None or len(text) > _LONGEST


def _whole(text: str, pattern: str) -> bool:
    return len(text) <= _LONGEST and re.fullmatch(pattern, text) is not None


class Permissions(Part):
    """An agent's policy: the first rule that fits decides. So many seconds without a yes are
    a no."""

    changes: Decision = "ask"
    outside: Literal["allow", "ask", "deny"] = "ask"
    """What is sent or written after words from outside were read, and was not said by the user."""
    hosts: tuple[Host, ...] = ()
    """What `web_fetch` may call all the same."""
    timeout_seconds: float = Field(default=60, ge=5, le=600)
    rules: tuple[Rule, ...] = ()

    def decide(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        changes: bool,
        origin: Origin,
        auto_approve: bool = False,
    ) -> Decision:
        """`auto_approve` is the user's own policy: whatever would be asked is allowed.
        What is denied stays denied."""
        decision: Decision = self.changes if changes else "allow"
        wary = False
        for rule in self.rules:
            if rule.fits(tool, arguments, origin):
                decision = rule.decision
                break
            wary = wary or rule.touches(tool, arguments, origin)
        if wary and decision == "allow":
            decision = "ask"
        return "allow" if decision in ("ask", "ask_once") and auto_approve else decision


class Grants(Part):
    """What a role has besides what it has anyway, by name or pattern; `!` takes away."""

    tools: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    """Of those that work is delegated to."""


class Roles(Part):
    """An operator has everything."""

    user: Grants = Grants()
    developer: Grants = Grants()

    def of(self, role: Role) -> Grants:
        return {"user": self.user, "developer": self.developer}.get(role, Grants())


def picked(patterns: Sequence[str], known: Sequence[str], begin: Iterable[str]) -> list[str]:
    """Those of `begin`, with what the patterns add and take away, one after another."""
    names = dict.fromkeys(begin)
    for pattern in patterns:
        fitting = [name for name in known if fnmatchcase(name, pattern.removeprefix("!"))]
        for name in fitting:
            if pattern.startswith("!"):
                names.pop(name, None)
            else:
                names[name] = None
    return list(names)


class AcpAgent(Part):
    """A local coding agent that speaks the Agent Client Protocol, as a command."""

    type: Literal["acp"]
    command: str = Field(min_length=1)
    args: list[str] = Field(default_factory=list)
    env: dict[str, str] = Field(default_factory=dict)
    description: str = ""


class A2aAgent(Part):
    """A remote agent that speaks A2A, by the address of its card."""

    type: Literal["a2a"]
    url: str = Field(pattern=r"^https?://")
    headers: dict[str, str] = Field(default_factory=dict)
    description: str = ""


class AmplifierAgent(Part):
    """An Amplifier session of its own, from a mount plan or a bundle of foundation's."""

    type: Literal["amplifier"]
    config: str = Field(default="", description="A YAML file in the agent folder")
    bundle: str = ""
    description: str = ""


Delegate = Annotated[AcpAgent | A2aAgent | AmplifierAgent, Field(discriminator="type")]


class Delegation(Part):
    default: Name = "coder"
    agents: dict[Name, Delegate] = Field(default_factory=dict)

    def filled(self, environment: Mapping[str, str]) -> tuple[Delegation, list[str]]:
        """With ${NAME} replaced in `env` and `headers`; an agent that names one that is not
        there is left out, and told. The complaints name variables, never values."""
        agents: dict[str, AcpAgent | A2aAgent | AmplifierAgent] = {}
        problems: list[str] = []
        for name, agent in self.agents.items():
            missing: dict[str, None] = {}
            changes = {
                key: {k: filled(v, environment, missing) for k, v in getattr(agent, key).items()}
                for key in ("env", "headers")
                if hasattr(agent, key)
            }
            if missing:
                names = ", ".join(missing)
                problems.append(f"delegation.agents.{name}: the environment has no {names}")
            else:
                agents[name] = agent.model_copy(update=changes)
        return self.model_copy(update={"agents": agents}), problems


# --- Where its intents go: they are read by the package `intents`, which the runtime does not know


def _named(value: object) -> object:
    if isinstance(value, str) and re.fullmatch(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}", value):
        return value
    # A type of its own: the reader of the file shows no value with it.
    raise PydanticCustomError(
        UNTOLD, "be ${NAME}, a variable of the environment, and never the secret itself"
    )


class Backend(Part):
    """`orchestrator:` where it is the user's own, behind HTTP: where it is, and what its messages
    are signed with."""

    url: Address
    secret: Annotated[str, BeforeValidator(_named)] = Field(repr=False)
    """Named, never written: ${NAME} is of the environment, until `filled`."""
    timeout_seconds: float = Field(default=10, ge=1, le=60)
    context_url: Address | None = None
    """Where it tells what it knows of a user: their profile, tasks and goals."""

    def filled(self, environment: Mapping[str, str]) -> tuple[Backend | None, list[str]]:
        """With the secret in place; or why not, which names variables and never values."""
        missing: dict[str, None] = {}
        secret = filled(self.secret, environment, missing)
        if missing:
            return None, [f"orchestrator.secret: the environment has no {', '.join(missing)}"]
        return self.model_copy(update={"secret": secret}), []
