"""The part of `agent.yaml` about MCP servers: programs to start, and addresses to call."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, Tag

from vivavoce.runtime.agents.mcp_ports import McpServer

_Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,31}$")]
_Variable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
_Header = Annotated[str, Field(pattern=r"^[A-Za-z0-9-]+$")]


def _address(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        raise ValueError("be an http or https address, without a user or a password")
    return value


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    protocol: Literal["auto", "legacy"] = "auto"
    timeout_seconds: float = Field(default=60, ge=1, le=600)
    tools: list[str] | None = None


class StartedServer(_Part):
    command: str = Field(min_length=1)
    args: list[str] = []
    env: dict[_Variable, str] = {}
    cwd: str | None = Field(default=None, min_length=1)


class CalledServer(_Part):
    url: Annotated[str, AfterValidator(_address)]
    headers: dict[_Header, str] = {}


def _kind(value: Any) -> str:
    return "server_called" if isinstance(value, dict) and "url" in value else "server_started"


Mcp = dict[
    _Name,
    Annotated[
        Annotated[StartedServer, Tag("server_started")]
        | Annotated[CalledServer, Tag("server_called")],
        Discriminator(_kind),
    ],
]

PARTS: tuple[type[BaseModel], ...] = (StartedServer, CalledServer)


def servers(
    said: Mapping[str, StartedServer | CalledServer], folder: Path
) -> tuple[McpServer, ...]:
    """As they are used; a `cwd` is within the agent's folder unless it is absolute."""
    return tuple(_server(name, one, folder) for name, one in said.items())


def _server(name: str, said: StartedServer | CalledServer, folder: Path) -> McpServer:
    common: dict[str, Any] = {
        "name": name,
        "legacy": said.protocol == "legacy",
        "timeout": said.timeout_seconds,
        "tools": None if said.tools is None else tuple(said.tools),
    }
    if isinstance(said, CalledServer):
        return McpServer(**common, url=said.url, headers=dict(said.headers))
    return McpServer(
        **common,
        command=said.command,
        args=tuple(said.args),
        env=dict(said.env),
        cwd=folder.resolve() / (said.cwd or ""),
    )
