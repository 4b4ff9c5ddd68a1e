"""The part of `agent.yaml` about what an agent may do by itself, and whom it may delegate to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, field_validator

from vivavoce.runtime.agents.mcp import filled
from vivavoce.runtime.agents.yaml_file import Part
from vivavoce.runtime.calls.permissions import Decision, Permissions, Rule
from vivavoce.wire.records.talk import Origin

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_:-]{0,63}$")]


class ApprovalRule(Part):
    """The first that fits decides."""

    tool: str = Field(default="*", min_length=1, max_length=128)
    arguments: dict[str, str] = Field(default_factory=dict)
    origins: list[Origin] = Field(default_factory=list)
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


class Approval(Part):
    changes: Decision = "ask"
    timeout_seconds: float = Field(default=60, ge=5, le=600)
    rules: list[ApprovalRule] = Field(default_factory=list)

    def permissions(self) -> Permissions:
        return Permissions(
            changes=self.changes,
            timeout=self.timeout_seconds,
            rules=tuple(
                Rule(
                    decision=rule.decision,
                    tool=rule.tool,
                    arguments=rule.arguments,
                    origins=frozenset(rule.origins),
                )
                for rule in self.rules
            ),
        )


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
