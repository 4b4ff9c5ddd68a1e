"""An MCP server as an agent folder names it, ready to be started or called.

Plain data, and one pure function that puts the environment's values in place
of `${NAME}`: secrets are named in `agent.yaml`, never written there. Who reads
the environment, and who connects, is the business of others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class McpServer:
    """Either a `command` to start or a `url` to call."""

    name: str
    command: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: Path | None = None
    url: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    legacy: bool = False
    """Speak the protocol of before 2026-07-28 without asking for the newer one first."""
    timeout: float = 60.0
    """Seconds for one call, without those that a question to the user takes."""
    tools: tuple[str, ...] | None = None
    """Of its tools only these, by the server's own names; None is all."""


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
        elif unfit := [key for key, value in headers.items() if not _one_line(value)]:
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


def _one_line(value: str) -> bool:
    return value.isascii() and value.isprintable()
