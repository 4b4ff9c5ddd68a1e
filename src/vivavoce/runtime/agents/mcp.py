"""The part of `agent.yaml` about MCP servers: programs to start, and addresses to call."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Discriminator, Field, Tag

from vivavoce.runtime.agents.yaml_file import Part
from vivavoce.runtime.ports import APP
from vivavoce.wire.values import Record

_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


class McpServer(Record):
    """Either a `command` to start or a `url` to call."""

    name: str
    command: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: Path | None = None
    data: tuple[str, ...] = ()
    """Places in the workspace that it is given to work on, and runs nothing of."""
    url: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    legacy: bool = False
    """Speak the protocol of before 2026-07-28 without asking for the newer one first."""
    timeout: float = 60.0
    """Seconds for one call, without those that a question to the user takes."""
    tools: tuple[str, ...] | None = None
    """Of its tools only these, by the server's own names; None is all."""
    trust: bool = False
    """What it says of its tools counts: that one only reads, above all."""


def resolve(
    servers: Sequence[McpServer], environment: Mapping[str, str]
) -> tuple[tuple[McpServer, ...], tuple[str, ...]]:
    """The servers whose references all have a value, and a complaint for each that has not.

    `$${NAME}` stays as `${NAME}`. The complaints name variables, never values.
    """
    fine: list[McpServer] = []
    problems: list[str] = []
    for server in servers:
        missing: dict[str, None] = {}
        env = {key: filled(value, environment, missing) for key, value in server.env.items()}
        headers = {k: filled(v, environment, missing) for k, v in server.headers.items()}
        if missing:
            names = ", ".join(missing)
            problems.append(f"mcp.{server.name}: the environment has no {names}")
        elif unfit := [
            key for key, value in headers.items() if not (value.isascii() and value.isprintable())
        ]:
            problems.append(f"mcp.{server.name}: header {unfit[0]} is no plain line of text")
        else:
            fine.append(replace(server, env=env, headers=headers))
    return tuple(fine), tuple(problems)


def filled(text: str, environment: Mapping[str, str], missing: dict[str, None]) -> str:
    """The text with its ${NAME}s replaced; those without a value are added to `missing`."""

    def value(found: re.Match[str]) -> str:
        if text[: found.start()].endswith("$"):
            return found[0]
        if not environment.get(found[1]):
            missing[found[1]] = None
        return environment.get(found[1], "")

    return _REFERENCE.sub(value, text).replace("$${", "${")


def _of_nobody_else(value: str) -> str:
    if value == APP:
        raise ValueError(f"be another name: what apps bring is known as '{APP}'")
    return value


_Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,31}$"), AfterValidator(_of_nobody_else)]
_Variable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
_Header = Annotated[str, Field(pattern=r"^[A-Za-z0-9-]+$")]


def http_address(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        raise ValueError("be an http or https address, without a user or a password")
    return value


class _Server(Part):
    protocol: Literal["auto", "legacy"] = "auto"
    timeout_seconds: float = Field(default=60, ge=1, le=600)
    tools: tuple[str, ...] | None = None
    trust: bool = False


class StartedServer(_Server):
    command: str = Field(min_length=1)
    args: tuple[str, ...] = ()
    env: dict[_Variable, str] = Field(default_factory=dict)
    cwd: str | None = Field(default=None, min_length=1)
    data: tuple[str, ...] = ()


class CalledServer(_Server):
    url: Annotated[str, AfterValidator(http_address)]
    headers: dict[_Header, str] = Field(default_factory=dict)


def _kind(value: Any) -> str:
    called = isinstance(value, CalledServer) or (isinstance(value, dict) and "url" in value)
    return "server_called" if called else "server_started"


Mcp = dict[
    _Name,
    Annotated[
        Annotated[StartedServer, Tag("server_started")]
        | Annotated[CalledServer, Tag("server_called")],
        Discriminator(_kind),
    ],
]


def servers(
    said: Mapping[str, StartedServer | CalledServer], folder: Path
) -> tuple[McpServer, ...]:
    """As they are used; a `cwd` is within the agent's folder unless it is absolute."""
    made = []
    for name, one in said.items():
        fields = one.model_dump(exclude={"protocol", "timeout_seconds"})
        if isinstance(one, StartedServer):
            fields["cwd"] = folder.resolve() / (one.cwd or "")
        legacy = one.protocol == "legacy"
        made.append(McpServer(name=name, legacy=legacy, timeout=one.timeout_seconds, **fields))
    return tuple(made)
