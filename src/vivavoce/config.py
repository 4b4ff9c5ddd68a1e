"""One frozen `Settings`, and the only reader of the environment.

Each field is one variable, `VIVAVOCE_` and its name; an empty value is the
same as none. `docs/settings.md` is made from the descriptions here.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable
from ipaddress import IPv4Address
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit, urlunsplit
from zoneinfo import ZoneInfo

from dotenv import dotenv_values
from pydantic import (
    AliasChoices,
    Field,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict
from pydantic_settings.exceptions import SettingsError as SourceError

from vivavoce.runtime.ports import Retention

PREFIX = "VIVAVOCE_"
EMBEDDED = "embedded"
OPENAI_URL = "https://api.openai.com/v1"
OPENAI_MODEL = "gpt-realtime-2.1"
_MODELS = {EMBEDDED: "vivavoce"}
BRAINS = ("qwen-1.5b", "qwen-0.5b", "scripted")
ENV_FILE = ".env"
_HOST = re.compile(r"\*|(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?|[0-9A-Fa-f:.]+")
_ORIGIN = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#\s@*]+/?")


class SettingsError(Exception):
    """What is wrong with the settings, a line each: `VIVAVOCE_PORT: …`. Never a secret."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


def _data_dir() -> Path:
    try:
        return Path.home() / ".vivavoce"
    except RuntimeError:  # a container's user without a home
        return Path(".vivavoce").absolute()


def _models_dir() -> Path:
    try:
        return Path.home() / ".cache" / "vivavoce" / "models"
    except RuntimeError:
        return Path(".vivavoce").absolute() / "models"


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


def _chat_url(value: str) -> str:
    """The base URL of a chat server: `/v1`, where every one of them has it, may be left out."""
    url = urlsplit(value)
    _ = url.port  # a ValueError where it is none
    if url.scheme not in ("http", "https") or not url.hostname:
        raise ValueError(f"should be {', '.join(BRAINS)}, or begin with http:// or https://")
    if url.username is not None or url.password is not None:
        raise ValueError("should hold no password; a key goes into VIVAVOCE_BRAIN_KEY")
    if url.query or url.fragment:
        raise ValueError("should be a base URL, with nothing after its path")
    path = url.path.rstrip("/").removesuffix("/chat/completions") or "/v1"
    return urlunsplit((url.scheme, url.netloc, path, "", ""))


Words = Annotated[tuple[str, ...], NoDecode]
"""Comma-separated."""


class Settings(BaseSettings):
    """Everything an operator can set. Values are final once the server starts."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_file=ENV_FILE,
        env_ignore_empty=True,
        extra="ignore",
        frozen=True,
        populate_by_name=True,
        hide_input_in_errors=True,
    )

    # --- Where
    host: str = Field(
        default="127.0.0.1",
        description="Address to listen on. Anything but loopback needs authentication.",
    )
    port: int = Field(default=8080, ge=0, le=65535, description="Port; 0 takes a free one.")
    data_dir: Path = Field(
        default_factory=_data_dir,
        json_schema_extra={"shown": "~/.vivavoce"},
        description="Folder for everything that is written.",
    )
    database_url: str = Field(
        default_factory=lambda given: f"sqlite:///{given['data_dir'] / 'vivavoce.db'}",
        repr=False,  # it may hold a password
        json_schema_extra={"shown": "vivavoce.db in the data folder"},
        description="Where conversations are kept: `sqlite:////path/to.db` or `postgresql://…`.",
    )
    models_dir: Path = Field(
        default_factory=_models_dir,
        json_schema_extra={"shown": "~/.cache/vivavoce/models"},
        description="Folder for the models, which several servers may share.",
    )
    workspace: Path = Field(
        default_factory=Path.cwd,
        json_schema_extra={"shown": "where it was started"},
        description="The one folder in which its tools read, write and run commands.",
    )
    time_zone: str = Field(
        default_factory=_system_zone,
        json_schema_extra={"shown": "the machine's"},
        description="IANA time zone of the user, such as `Europe/Berlin`.",
    )

    # --- The agent
    agent: str = Field(
        default="workbench", description="Agent to serve: a name, or the path of its folder."
    )
    agents_dir: Path | None = Field(
        default=None, description="A folder of your own agents, looked in first."
    )

    # --- The provider
    provider_url: str = Field(
        default=EMBEDDED,
        description="Who answers: `embedded` (our own engine, offline), `openai`, or the base "
        "URL of any server that speaks the Realtime protocol.",
    )
    api_key: SecretStr | None = Field(
        default=None,
        validation_alias=AliasChoices("VIVAVOCE_API_KEY", "OPENAI_API_KEY"),
        description="Key for the provider; `OPENAI_API_KEY` works too.",
    )
    model: str = Field(
        default_factory=lambda given: _MODELS.get(given.get("provider_url"), OPENAI_MODEL),
        min_length=1,
        json_schema_extra={"shown": "`vivavoce`, or `gpt-realtime-2.1` at a provider"},
        description="The provider's Realtime model.",
    )
    voice: str = Field(
        default="marin", min_length=1, description="Voice, in place of the one the agent names."
    )
    transcription_model: str = Field(
        default="gpt-4o-mini-transcribe",
        min_length=1,
        description="Who writes down what the user said, in place of the agent's choice.",
    )
    sideband_tries: int = Field(
        default=5, ge=1, le=100, description="Tries to get a lost sideband back."
    )
    sideband_delay: float = Field(
        default=3.0, ge=0, le=60, description="Seconds between those tries."
    )
    peer_text: Literal["deny", "allow"] = Field(
        default="deny",
        description="Whether text that the browser itself puts on the call is accepted.",
    )
    ice_servers: tuple[dict[str, Any], ...] = Field(
        default=(),
        repr=False,  # it may hold credentials
        description='ICE servers for `GET /ice-config`, as JSON: `[{"urls": ["stun:…"]}]`.',
    )

    # --- The embedded engine
    script: Path | None = Field(
        default=None,
        description="A YAML script for the scripted brain, in place of the one that ships. "
        "Choosing one chooses that brain.",
    )
    brain: str = Field(
        default_factory=lambda given: "scripted" if given.get("script") else BRAINS[0],
        json_schema_extra={"shown": "`qwen-1.5b`"},
        description="Who thinks: `qwen-1.5b`, the quicker and simpler `qwen-0.5b`, `scripted`, or "
        "the base URL of any server that speaks OpenAI's chat completions, such as "
        "`http://localhost:11434/v1`.",
    )
    brain_model: str = Field(
        default="",
        description="Model to ask for at that URL; may be left out where the server has but one.",
    )
    brain_key: SecretStr | None = Field(
        default=None, description="Key for that URL, where it wants one."
    )
    ears: Literal["moonshine-base", "moonshine-tiny", "whisper-small"] = Field(
        default="moonshine-base",
        description="Who writes down what was said: `moonshine-base`, the quicker "
        "`moonshine-tiny`, or `whisper-small`, which is exact and slow.",
    )
    mouth: Literal["kokoro", "piper-joe"] = Field(
        default="kokoro",
        description="Who speaks: `kokoro`, or the much quicker and plainer `piper-joe`.",
    )
    noise_reduction: Literal["off", "near_field", "far_field"] = Field(
        default="off",
        description="Noise taken out of the user's sound where a session does not say: `off`, "
        "`near_field` for a microphone at the mouth, `far_field` for one across the room. "
        "Browsers do it themselves.",
    )
    speculation: bool = Field(
        default=True,
        description="Whether the engine gets ready while the user still speaks, and throws away "
        "what was for nothing. Off: less work, slower answers.",
    )
    manners: bool = Field(
        default=True,
        description="Whether the assistant says that a slow answer is coming, and asks again when "
        "it did not understand.",
    )
    engine_sessions: int = Field(
        default=8, ge=1, le=1000, description="Calls of the embedded engine at once."
    )
    engine_responses_per_minute: int = Field(
        default=0, ge=0, description="Answers a call may ask for in a minute; 0 is no limit."
    )
    backchannel: bool = Field(
        default=False,
        description='Whether the assistant goes on when somebody only says "uh-huh".',
    )
    media_ports: str = Field(
        default="",
        description="UDP ports for WebRTC, such as `40000-40100`; any, where empty.",
    )
    media_address: str = Field(
        default="",
        description="The public IPv4 address that WebRTC peers should use, behind a NAT.",
    )

    # --- What the voice can do
    sandbox_network: bool = Field(
        default=False,
        description="Whether `bash` may use the network, loopback included. Off is safe.",
    )
    web_allowed_hosts: Words = Field(
        default=(),
        description="Hosts on a private network that `web_fetch` may read, as `name` or "
        "`name:port`, comma-separated.",
    )
    search_backend: Literal["searxng", "brave", "tavily"] = Field(
        default="searxng", description="Who answers `web_search`: `searxng`, `brave` or `tavily`."
    )
    search_url: str = Field(
        default="",
        description="Its address, such as `http://localhost:8888`; empty is the service's own, "
        "and for SearXNG no search.",
    )
    search_key: SecretStr | None = Field(
        default=None, description="Key for the search service, where it wants one."
    )

    # --- Who may
    auth: Literal["off", "token"] = Field(
        default="off",
        description="`off` trusts this machine; `token` asks for `VIVAVOCE_AUTH_TOKEN`.",
    )
    auth_token: SecretStr | None = Field(
        default=None, description="The bearer token, at least 16 characters."
    )
    allowed_hosts: Words = Field(
        default=(), description="Host names it answers to besides loopback, comma-separated."
    )
    allowed_origins: Words = Field(
        default=(), description="Web origins that may call it besides its own, comma-separated."
    )

    # --- How much
    max_body_bytes: int = Field(
        default=1024 * 1024, ge=1024, description="Largest request body, in bytes."
    )
    max_sessions: int = Field(default=100, ge=1, description="Live voice sessions at once.")
    sessions_per_10_minutes: int = Field(
        default=20,
        ge=0,
        description="New sessions a user may start, in place of the agent's limit; 0 is no limit.",
    )
    executions_per_minute: int = Field(
        default=60,
        ge=0,
        description="Tool calls a session may make, and a user twice as many, in place of the "
        "agent's limit; 0 is no limit.",
    )
    tool_timeout: float = Field(
        default=60.0, gt=0, le=3600, description="Seconds `/execute` gives a tool by default."
    )
    event_queue: int = Field(
        default=256, ge=16, le=100_000, description="Events kept for a slow reader of `/events`."
    )
    max_streams: int = Field(default=1000, ge=1, description="Open `/events` streams at once.")
    session_inbox: int = Field(
        default=1024, ge=64, le=100_000, description="Events waiting for one session's loop."
    )

    # --- How long
    heartbeat_seconds: float = Field(
        default=30.0, gt=0, le=600, description="Between heartbeats on `/events`."
    )
    retention_snapshots_hours: float = Field(
        default=24.0, ge=0, description="How long recovery snapshots are kept; 0 is for ever."
    )
    retention_log_days: float = Field(
        default=7.0, ge=0, description="How long the event log is kept; 0 is for ever."
    )
    retention_conversations_days: float = Field(
        default=0.0, ge=0, description="How long conversations are kept; 0 is for ever."
    )
    shutdown_seconds: float = Field(
        default=5.0, gt=0, le=300, description="Time for an orderly end after Ctrl-C."
    )

    # --- Logs
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="`debug`, `info`, `warning` or `error`."
    )
    log_format: Literal["console", "json"] = Field(
        default="console", description="`console` for people, `json` for machines."
    )
    log_private: bool = Field(
        default=False, description="Whether logs may contain what people said and tools got."
    )

    @field_validator("allowed_hosts", "allowed_origins", "web_allowed_hosts", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value

    @field_validator("allowed_hosts")
    @classmethod
    def _host_names(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for host in value:
            if not _HOST.fullmatch(host):
                raise ValueError(f"should be host names such as voice.example, and has {host!r}")
        return value

    @field_validator("allowed_origins")
    @classmethod
    def _web_origins(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for origin in value:
            if not _ORIGIN.fullmatch(origin):
                raise ValueError(f"should be origins such as https://a.example, and has {origin!r}")
        return value

    @field_validator("provider_url")
    @classmethod
    def _http(cls, value: str) -> str:
        if value.lower() in (EMBEDDED, "openai"):
            return EMBEDDED if value.lower() == EMBEDDED else OPENAI_URL
        if not value.startswith(("http://", "https://")):
            raise ValueError("should be embedded, openai, or begin with http:// or https://")
        return value.rstrip("/")

    @field_validator("brain")
    @classmethod
    def _known_brain(cls, value: str) -> str:
        return value.lower() if value.lower() in BRAINS else _chat_url(value)

    @field_validator("time_zone")
    @classmethod
    def _known_zone(cls, value: str) -> str:
        if not _is_zone(value):
            raise ValueError("should be an IANA time zone such as Europe/Berlin")
        return value

    @field_validator("media_ports")
    @classmethod
    def _port_range(cls, value: str) -> str:
        low, _, high = value.replace(" ", "").partition("-")
        if not value:
            return ""
        if not (low + high).isdecimal() or not 1024 <= int(low) <= int(high or 0) <= 65535:
            raise ValueError("should be two ports from 1024 to 65535, such as 40000-40100")
        return f"{low}-{high}"

    @field_validator("media_address")
    @classmethod
    def _ip(cls, value: str) -> str:
        # Peers are told it in place of our IPv4 addresses; IPv6 ones are told as they are.
        return str(IPv4Address(value)) if value else ""

    @field_validator("data_dir", "models_dir", "agents_dir", "workspace", "script")
    @classmethod
    def _absolute(cls, value: Path | None) -> Path | None:
        return None if value is None else value.expanduser().absolute()

    @field_validator("agents_dir")
    @classmethod
    def _there(cls, value: Path | None) -> Path | None:
        if value is not None and not value.is_dir():
            raise ValueError("should be a folder that is there")
        return value

    @field_validator("log_level", "log_format", "auth", "peer_text", "ears", "mouth", mode="before")
    @classmethod
    def _lower(cls, value: object) -> object:
        return value.lower() if isinstance(value, str) else value

    @field_validator("auth_token")
    @classmethod
    def _long_enough(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and len(value.get_secret_value()) < 16:
            raise ValueError("should have at least 16 characters")
        return value

    @model_validator(mode="after")
    def _token_given(self) -> Settings:
        if self.auth == "token" and self.auth_token is None:
            raise ValueError("VIVAVOCE_AUTH_TOKEN: is needed with VIVAVOCE_AUTH=token")
        return self

    @model_validator(mode="after")
    def _no_open_door(self) -> Settings:
        if self.sandbox_network and self.auth == "off":
            # A command could call our own doors, and say yes to itself.
            raise ValueError("VIVAVOCE_SANDBOX_NETWORK: needs VIVAVOCE_AUTH=token")
        return self

    @model_validator(mode="after")
    def _one_brain(self) -> Settings:
        if self.script is not None and self.brain != "scripted":
            raise ValueError("VIVAVOCE_SCRIPT: is for VIVAVOCE_BRAIN=scripted")
        for name in ("brain_model", "brain_key"):
            if getattr(self, name) and self.brain in BRAINS:
                raise ValueError(f"{variable(name)}: is for a VIVAVOCE_BRAIN that is a URL")
        return self

    @property
    def brain_by_url(self) -> bool:
        """Whether the brain is somebody else's server; `brain` is its base URL then."""
        return self.brain not in BRAINS

    @property
    def needed_models(self) -> tuple[str, ...]:
        """The models of the catalogue that the embedded engine needs."""
        local = () if self.brain_by_url or self.brain == "scripted" else (self.brain,)
        return ("silero-vad", "smart-turn", self.ears, *local, self.mouth)

    @property
    def retention(self) -> Retention:
        """The three retention settings as the store takes them."""
        return Retention(
            snapshots=self.retention_snapshots_hours * 3600 or None,
            log=self.retention_log_days * 86_400 or None,
            conversations=self.retention_conversations_days * 86_400 or None,
        )

    def agent_overrides(self) -> dict[str, Any]:
        """What was set explicitly and stands in an agent's file too: the operator wins."""
        names = (
            "voice",
            "transcription_model",
            "sessions_per_10_minutes",
            "executions_per_minute",
        )
        return {name: getattr(self, name) for name in names if name in self.model_fields_set}


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
