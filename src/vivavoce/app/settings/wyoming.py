"""The part of `Settings` that is about hardware: the Wyoming protocol, which Home Assistant and its
satellites speak. It has no authentication, so it is off, and who may come is said by address."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator
from pydantic_settings import BaseSettings

from vivavoce.app.settings.parts import EMBEDDED, Networks, RoleName, Words
from vivavoce.server.gate.auth import is_loopback
from vivavoce.wire.records.talk import DEFAULT_USER

DEFAULT_PORT = 10300
"""What Home Assistant expects of a speech-to-text service; satellites have 10700."""


def _addresses(words: tuple[str, ...]) -> tuple[str, ...]:
    for word in words:
        address(word)
    return words


def address(uri: str) -> tuple[str, int]:
    """Host and port. Raises `ValueError`."""
    url = urlsplit(uri)
    if url.scheme != "tcp" or not url.hostname or not url.port or url.path or url.query:
        raise ValueError(f"should be addresses such as tcp://192.168.1.20:10700, and has {uri!r}")
    return url.hostname, url.port


class WyomingSettings(BaseSettings):
    """Hardware."""

    wyoming: bool = False
    """Whether Home Assistant and its satellites may use this server, by the Wyoming protocol. Needs
    the embedded engine and `pip install 'vivavoce[wyoming]'`."""
    wyoming_host: str = "127.0.0.1"
    """Address to listen on for it. The protocol has no authentication: anything but loopback needs
    `VIVAVOCE_WYOMING_CLIENTS`."""
    wyoming_port: int = Field(default=DEFAULT_PORT, ge=0, le=65535)
    """Port for it; 0 takes a free one."""
    wyoming_clients: Networks = ()
    """Addresses or networks that may connect besides this machine, such as `192.168.1.7` or
    `192.168.1.0/24`, comma-separated. Whoever has one of them may talk as
    `VIVAVOCE_WYOMING_USER`."""
    wyoming_satellites: Annotated[Words, AfterValidator(_addresses)] = ()
    """Satellites to connect to, as Home Assistant would, such as `tcp://192.168.1.20:10700`,
    comma-separated."""
    wyoming_user: str = Field(default=DEFAULT_USER, pattern=r"^[A-Za-z0-9._@:+-]{1,128}$")
    """The user whose conversations satellites have. With `VIVAVOCE_AUTH=jwt` it has to be set."""
    wyoming_role: RoleName = "user"
    """What that user may do at a satellite: anybody in the room can speak to it."""
    wyoming_rest_seconds: float = Field(default=120.0, ge=5, le=3600)
    """After so many seconds in which nobody speaks, a talk at a satellite ends; one that begins
    within as many again goes on with its conversation."""
    wyoming_barge_in: bool = False
    """Whether a satellite's microphone is listened to while it plays an answer. For those that
    cancel their own echo; at others a wake word interrupts."""
    wyoming_open_mic: bool = False
    """Whether satellites without a wake word of their own may be listened to all the time."""
    wyoming_connections: int = Field(default=32, ge=1, le=1000)
    """Wyoming connections at once, satellites among them."""

    @model_validator(mode="after")
    def _said_who(self) -> WyomingSettings:
        if self.wyoming and not is_loopback(self.wyoming_host) and not self.wyoming_clients:
            raise ValueError(
                "VIVAVOCE_WYOMING_CLIENTS: is needed where VIVAVOCE_WYOMING_HOST is not loopback, "
                "since the Wyoming protocol has no authentication"
            )
        return self

    @property
    def wyoming_addresses(self) -> tuple[tuple[str, int], ...]:
        """The satellites', as host and port."""
        return tuple(address(uri) for uri in self.wyoming_satellites)


def check(wyoming: bool, provider_url: str, auth: str, user: str, network: bool) -> None:
    """What it needs of the rest. `network`: commands have it. Raises `ValueError`."""
    if wyoming and network:
        # A command could talk to us there, as somebody in the room.
        raise ValueError("VIVAVOCE_SANDBOX_NETWORK: not together with VIVAVOCE_WYOMING")
    if wyoming and provider_url != EMBEDDED:
        raise ValueError("VIVAVOCE_WYOMING: needs VIVAVOCE_PROVIDER_URL=embedded")
    if wyoming and auth == "jwt" and user == DEFAULT_USER:
        raise ValueError("VIVAVOCE_WYOMING_USER: is needed with VIVAVOCE_AUTH=jwt")
