"""The part of `Settings` that is about notices to browsers whose page is closed (Web Push)."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Annotated

from pydantic import AfterValidator, Field, SecretStr, field_validator
from pydantic_settings import BaseSettings

from vivavoce.app.settings.parts import Words

_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?")
_KEY_BYTES = 32


def _hosts(words: tuple[str, ...]) -> tuple[str, ...]:
    for word in words:
        if not _HOST.fullmatch(word):
            raise ValueError(f"should be hosts such as push.example:8443, and has {word!r}")
    return words


class PushSettings(BaseSettings):
    """Notices."""

    push: bool = True
    """Whether browsers may subscribe to notices (due reminders, questions, requests for a yes,
    finished work), which their vendors' push services bring while no page is open. Nothing is sent
    before somebody subscribes."""
    push_key: SecretStr | None = None
    """Private key that notices are signed with, 32 bytes in base64url. Empty: one is made and kept
    in the data folder. Servers that share a database need the same."""
    push_contact: str = ""
    """Whom a push service may write to about this server: `mailto:…` or `https://…`. Apple's wants
    one."""
    push_allowed_hosts: Annotated[Words, AfterValidator(_hosts)] = ()
    """Push services on a private network, or without https, as `name` or `name:port`,
    comma-separated. All others must be on the public internet, by https."""
    push_per_hour: int = Field(default=60, ge=0)
    """Notices one user may be sent in an hour; 0 is no limit."""

    @field_validator("push_key")
    @classmethod
    def _a_key(cls, value: SecretStr | None) -> SecretStr | None:
        if value is None:
            return None
        text = value.get_secret_value().rstrip("=")
        try:
            data = base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True)
        except (binascii.Error, ValueError):
            data = b""
        if len(data) != _KEY_BYTES:
            raise ValueError("should be a private key of 32 bytes, in base64url")
        return value

    @field_validator("push_contact")
    @classmethod
    def _somebody(cls, value: str) -> str:
        if value and not re.fullmatch(r"mailto:[^\s@]+@[^\s@]+|https://[^\s/]+\S*", value):
            raise ValueError("should be mailto:somebody@example.org, or begin with https://")
        return value
