"""One frozen `Settings`, and the only reader of the environment.

Each field is one variable, `VIVAVOCE_` and its name; an empty value is the
same as none. `docs/settings.md` and `.env.example` are made from what
stands below each field, here and in `parts.py`.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from dotenv import dotenv_values
from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict
from pydantic_settings.exceptions import SettingsError as SourceError

from vivavoce.app.settings.https import HttpsSettings
from vivavoce.app.settings.login import LoginSettings
from vivavoce.app.settings.parts import (
    BRAINS,
    EMBEDDED,
    LOWER,
    OPENAI_MODEL,
    OPENAI_URL,
    AbsolutePath,
    AuthSettings,
    ConductorSettings,
    EngineSettings,
    RoleSettings,
    ShareSettings,
    Words,
    check_safe_url,
)
from vivavoce.app.settings.push import PushSettings
from vivavoce.app.settings.wyoming import WyomingSettings
from vivavoce.app.settings.wyoming import check as check_wyoming
from vivavoce.runtime.ports import Retention

__all__ = [
    "BRAINS",
    "EMBEDDED",
    "ENV_FILE",
    "OPENAI_MODEL",
    "OPENAI_URL",
    "Settings",
    "SettingsError",
    "default_workspace",
    "load_settings",
    "named_values",
    "plain",
    "unknown_variables",
    "variable",
]

PREFIX = "VIVAVOCE_"
ENV_FILE = ".env"
_PROGRAM = Path(__file__).resolve().parent


class SettingsError(Exception):
    """What is wrong with the settings, a line each: `VIVAVOCE_PORT: …`. Never a secret."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


def _at_home(path: str, otherwise: str) -> Path:
    try:
        return Path.home() / path
    except RuntimeError:  # a container's user without a home
        return Path(otherwise).absolute()


def default_workspace() -> Path:
    """A clone in one's home is called so, too: then the workspace is beside it, not around it."""
    usual = _at_home("vivavoce", "vivavoce")
    if _PROGRAM.is_relative_to(usual.resolve()):
        return usual.with_name("vivavoce-workspace")
    return usual


def _system_zone() -> str:
    """The machine's time zone by name, where it tells; UTC otherwise."""
    linked = os.path.realpath("/etc/localtime").partition("zoneinfo/")[2]
    for name in (os.environ.get("TZ", "").lstrip(":"), linked):
        if name and _is_zone(name):
            return name
    return "UTC"


def _is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (ValueError, OSError, KeyError):  # unknown, a folder, a path out of them
        return False
    return True


class PlaceSettings(BaseSettings):
    """Where it listens, what it writes where, and who is served."""

    host: str = "127.0.0.1"
    """Address to listen on. Anything but loopback needs authentication."""
    port: int = Field(default=8080, ge=0, le=65535)
    """Port; 0 takes a free one."""
    data_dir: AbsolutePath = Field(
        default_factory=partial(_at_home, ".vivavoce", ".vivavoce"),
        json_schema_extra={"shown": "~/.vivavoce"},
    )
    """Folder for everything that is written."""
    database_url: str = Field(
        default_factory=lambda given: f"sqlite:///{given['data_dir'] / 'vivavoce.db'}",
        repr=False,  # it may hold a password
        json_schema_extra={"shown": "vivavoce.db in the data folder"},
    )
    """Where conversations are kept: `sqlite:////path/to.db` or `postgresql://…`."""
    models_dir: AbsolutePath = Field(
        default_factory=partial(_at_home, ".cache/vivavoce/models", ".vivavoce/models"),
        json_schema_extra={"shown": "~/.cache/vivavoce/models"},
    )
    """Folder for the models, which several servers may share."""
    workspace: AbsolutePath = Field(
        default_factory=default_workspace, json_schema_extra={"shown": "~/vivavoce"}
    )
    """The one folder in which its tools read, write and run commands; made where it is not there.
    With `VIVAVOCE_AUTH=jwt` each user has a folder in it. Nothing of the server may lie in it:
    where it runs from a clone in `~/vivavoce`, the default is `~/vivavoce-workspace`."""
    time_zone: str = Field(
        default_factory=_system_zone, json_schema_extra={"shown": "the machine's"}
    )
    """IANA time zone of the user, such as `Europe/Berlin`."""

    # --- The agent
    agent: str = "workbench"
    """Agent to serve: a name, or the path of its folder."""
    agents_dir: AbsolutePath | None = None
    """A folder of your own agents, looked in first."""

    @field_validator("time_zone")
    @classmethod
    def _known_zone(cls, value: str) -> str:
        if not _is_zone(value):
            raise ValueError("should be an IANA time zone such as Europe/Berlin")
        return value

    @field_validator("agents_dir")
    @classmethod
    def _there(cls, value: Path | None) -> Path | None:
        if value is not None and not value.is_dir():
            raise ValueError("should be a folder that is there")
        return value


class Settings(
    ConductorSettings,
    WyomingSettings,
    PushSettings,
    HttpsSettings,
    LoginSettings,
    ShareSettings,
    RoleSettings,
    AuthSettings,
    EngineSettings,
    PlaceSettings,
):
    """Everything an operator can set. Values are final once the server starts.

    The parts have their fields in files of their own; the last one comes first in lists.
    """

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_file=ENV_FILE,
        env_ignore_empty=True,
        extra="ignore",
        frozen=True,
        populate_by_name=True,
        hide_input_in_errors=True,
    )

    # --- What the voice can do
    sandbox_network: bool = False
    """Whether `bash` may use the network, loopback included; a command that only reads, and is not
    asked about, never does. Off is safe."""
    auto_approve: bool = True
    """Whether a session or a user may have everything allowed that would be asked. Off: what
    the policy asks is asked, whoever says otherwise."""
    web_allowed_hosts: Words = ()
    """Hosts on a private network that `web_fetch` may read, as `name` or `name:port`,
    comma-separated."""
    search_backend: Literal["searxng", "brave", "tavily", "wikipedia", "none"] = "searxng"
    """Who answers `web_search`: `searxng`, `brave`, `tavily`, or `wikipedia`, which is asked too
    where SearXNG has no address; `none` is no search."""
    search_url: str = ""
    """Its address, such as `http://localhost:8888`; empty is the service's own."""
    search_key: SecretStr | None = None
    """Key for the search service, where it wants one."""
    intent_secret: SecretStr | None = None
    """Signs what goes to the `url` of an intent, where the agent has no orchestrator with a secret
    of its own."""

    # --- How much
    max_body_bytes: int = Field(default=1024 * 1024, ge=1024)
    """Largest request body, in bytes."""
    max_sessions: int = Field(default=100, ge=1)
    """Live voice sessions at once."""
    sessions_per_10_minutes: int = Field(default=20, ge=0)
    """New sessions a user may start, in place of the agent's limit; 0 is no limit. Without
    authentication, with the embedded engine, there is none unless this is set."""
    executions_per_minute: int = Field(default=60, ge=0)
    """Tool calls a session may make, and a user twice as many, in place of the agent's limit; 0 is
    no limit."""
    tool_timeout: float = Field(default=60.0, gt=0, le=3600)
    """Seconds `/execute` gives a tool by default."""
    event_queue: int = Field(default=256, ge=16, le=100_000)
    """Events kept for a slow reader of `/events`."""
    max_streams: int = Field(default=1000, ge=1)
    """Open `/events` streams at once."""
    session_inbox: int = Field(default=1024, ge=64, le=100_000)
    """Events waiting for one session's loop."""

    # --- How long
    heartbeat_seconds: float = Field(default=30.0, gt=0, le=600)
    """Between heartbeats on `/events`."""
    retention_snapshots_hours: float = Field(default=24.0, ge=0)
    """How long recovery snapshots are kept; 0 is for ever."""
    recording: bool = True
    """Whether it is recorded what a session goes through (what the provider reported, without
    sound and without secrets), for `vivavoce replay`."""
    retention_recordings_hours: float = Field(default=24.0, ge=0)
    """How long those recordings are kept; 0 is for ever."""
    retention_log_days: float = Field(default=7.0, ge=0)
    """How long the event log is kept; 0 is for ever."""
    retention_conversations_days: float = Field(default=0.0, ge=0)
    """How long conversations are kept; 0 is for ever."""
    retention_audit_days: float = Field(default=365.0, ge=0)
    """How long the audit trail is kept; 0 is for ever."""
    retention_changes_days: float = Field(default=7.0, ge=0)
    """How long it is kept what files were before tools changed them, for "undo that"; 0 is for
    ever. At most 50 changes and 16 MB of each user are kept in any case."""
    shutdown_seconds: float = Field(default=5.0, gt=0, le=300)
    """Time for an orderly end after Ctrl-C."""
    drain_seconds: float = Field(default=10.0, ge=0, le=600)
    """Where other servers share the database: time that a server which is told to end gives calls
    to come to a pause before another takes them over."""
    instance: str = Field(default="", max_length=100)
    """Name of this server among those that share a database; empty is its host and port. It stays
    the same over restarts, and no two have the same."""

    # --- Logs
    log_level: Annotated[Literal["debug", "info", "warning", "error"], LOWER] = "info"
    """`debug`, `info`, `warning` or `error`."""
    log_format: Annotated[Literal["console", "json"], LOWER] = "console"
    """`console` for people, `json` for machines."""
    log_private: bool = False
    """Whether logs may contain what people said and tools got."""

    @model_validator(mode="after")
    def _somewhere_to_log_in(self) -> Settings:
        for name in ("oidc_client_id", "supabase_key"):
            if getattr(self, name) and self.auth != "jwt":
                raise ValueError(f"{variable(name)}: is for VIVAVOCE_AUTH=jwt")
        if self.oidc_client_id and self.supabase_key:
            raise ValueError("VIVAVOCE_SUPABASE_KEY: is in place of VIVAVOCE_OIDC_CLIENT_ID")
        if self.oidc_client_id or self.supabase_key:
            try:
                check_safe_url(self.oidc_issuer or self.jwt_issuer)
            except ValueError as fault:
                raise ValueError(f"VIVAVOCE_JWT_ISSUER: {fault}") from None
        return self

    @model_validator(mode="after")
    def _no_open_door(self) -> Settings:
        if self.sandbox_network and self.auth == "off":
            # A command could call our own doors, and say yes to itself.
            raise ValueError("VIVAVOCE_SANDBOX_NETWORK: needs VIVAVOCE_AUTH=token or jwt")
        check_wyoming(
            self.wyoming, self.provider_url, self.auth, self.wyoming_user, self.sandbox_network
        )
        return self

    @property
    def retention(self) -> Retention:
        """The retention settings as the store takes them."""
        return Retention(
            snapshots=self.retention_snapshots_hours * 3600 or None,
            recordings=self.retention_recordings_hours * 3600 or None,
            log=self.retention_log_days * 86_400 or None,
            conversations=self.retention_conversations_days * 86_400 or None,
            audit=self.retention_audit_days * 86_400 or None,
        )

    def agent_overrides(self) -> dict[str, Any]:
        """What the operator set and stands in an agent's file too: the operator wins."""
        names = {
            "voice": "voice",
            "transcription_model": "transcription.model",
            "sessions_per_10_minutes": "limits.sessions_per_10_minutes",
            "executions_per_minute": "limits.executions_per_minute",
            "fallbacks": "fallbacks",
            "user_tools": "roles.user.tools",
            "user_agents": "roles.user.agents",
            "developer_tools": "roles.developer.tools",
            "developer_agents": "roles.developer.agents",
        }
        told = {names[name]: getattr(self, name) for name in names if name in self.model_fields_set}
        if self.auth == "off" and self.provider_url == EMBEDDED:
            # One's own machine, where a session costs nothing: who works on it opens many.
            told.setdefault("limits.sessions_per_10_minutes", 0)
        return told


def plain(secret: SecretStr | None) -> str | None:
    return None if secret is None else secret.get_secret_value()


def variable(name: str) -> str:
    """The environment variable of a field."""
    return PREFIX + name.upper()


def load_settings(**given: Any) -> Settings:
    """From the command line, the environment and `.env`, in that order.

    `given` values of None count as not given. Raises `SettingsError`.
    """
    try:
        return Settings(**{name: value for name, value in given.items() if value is not None})
    except ValidationError as exc:
        problems = [_problem(error) for error in exc.errors(include_url=False)]
        raise SettingsError([line for line in problems if line]) from None
    except SourceError as exc:
        # 'error parsing value for field "ice_servers" from source "EnvSettingsSource"'
        name = next((n for n in Settings.model_fields if f'"{n}"' in str(exc)), "settings")
        raise SettingsError([f"{variable(name)}: should be JSON"]) from None


def named_values() -> dict[str, str]:
    """What `${NAME}` in an agent's file may stand for: the environment, and `.env` behind it."""
    kept = dotenv_values(ENV_FILE) if Path(ENV_FILE).is_file() else {}
    return {name: value for name, value in kept.items() if value} | dict(os.environ)


def unknown_variables(environ: Iterable[str] = os.environ) -> list[str]:
    """A line for each `VIVAVOCE_…` that is no setting, here or in `.env`; most likely misspelt."""
    lines = _unknown(environ)
    if Path(ENV_FILE).is_file():
        lines += [f"{ENV_FILE}: {line}" for line in _unknown(dotenv_values(ENV_FILE))]
    return lines


def _unknown(names: Iterable[str]) -> list[str]:
    known = list(Settings.model_fields)
    lines = []
    for name in sorted(names):
        # Case does not matter, as for the settings themselves.
        bare = name.lower().removeprefix(PREFIX.lower())
        if bare != name.lower() and bare not in known:
            near = difflib.get_close_matches(bare, known, n=1)
            hint = f"; did you mean {variable(near[0])}?" if near else ""
            lines.append(f"{name} is no setting{hint}")
    return lines


def _problem(error: Any) -> str | None:
    if error["type"] == "default_factory_not_called":  # follows from another problem
        return None
    message: str = error["msg"].removeprefix("Value error, ").removeprefix("Input ")
    message = message.replace("a valid tuple", "a list").split(", unable to ")[0]
    if not error["loc"]:
        return message
    name = str(error["loc"][0]).lower().removeprefix(PREFIX.lower())
    field = Settings.model_fields.get(name)
    where = variable(name) if field is not None else str(error["loc"][0])
    secret = field is not None and "Secret" in str(field.annotation)
    value = error.get("input")
    hidden = secret or not isinstance(value, str | int | float) or "@" in str(value)
    shown = "" if hidden else f", and is {value!r}"  # a URL with an @ may hold a password
    return f"{where}: {message[:1].lower()}{message[1:]}{shown}"
