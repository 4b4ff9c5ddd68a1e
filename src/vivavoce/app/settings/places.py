"""The settings that say where things are: a part of `Settings`, which reads the environment."""

from __future__ import annotations

import os
from pathlib import Path
from zoneinfo import ZoneInfo

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings


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


class PlaceSettings(BaseSettings):
    """Where it listens, what it writes where, and who is served."""

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

    @field_validator("time_zone")
    @classmethod
    def _known_zone(cls, value: str) -> str:
        if not _is_zone(value):
            raise ValueError("should be an IANA time zone such as Europe/Berlin")
        return value

    @field_validator("data_dir", "models_dir", "agents_dir", "workspace")
    @classmethod
    def _absolute(cls, value: Path | None) -> Path | None:
        return None if value is None else value.expanduser().absolute()

    @field_validator("agents_dir")
    @classmethod
    def _there(cls, value: Path | None) -> Path | None:
        if value is not None and not value.is_dir():
            raise ValueError("should be a folder that is there")
        return value
