"""What an operator can say about media, as plain data."""

from __future__ import annotations

from vivavoce.wire.values import Value


class IceServer(Value):
    """`stun:` and `turn:` URLs, and what a TURN server wants to know."""

    urls: tuple[str, ...]
    username: str | None = None
    credential: str | None = None


class MediaOptions(Value):
    """Addresses, ports and patience of a WebRTC peer."""

    port_min: int = 0
    port_max: int = 0
    """UDP ports to use, both included; 0 and 0 leave the choice to the system."""

    nat_address: str | None = None
    """Advertised in place of the private IPv4 addresses (ports are the same on both sides)."""

    ice_servers: tuple[IceServer, ...] = ()
    """None are asked unless given; then the first of STUN and the first of TURN."""

    loopback: bool = False
    """Offer 127.0.0.1 too: for a browser on the same machine with no other interface up."""

    connect_seconds: float = 20.0
    """A peer that has not connected by then is gone."""

    consent_seconds: float = 4.0
    consent_failures: int = 4
    """How often the far end is asked whether it is still there, and how often it may be silent."""

    bitrate: int = 28_000
    """Of the assistant's voice, in bits a second."""

    channel_buffer: int = 4 * 1024 * 1024
    """Bytes of server events that may wait for a peer that does not read."""

    def __post_init__(self) -> None:
        if not 0 <= self.port_min <= self.port_max <= 65_535:
            raise ValueError(f"{self.port_min} to {self.port_max} is no range of UDP ports")
        if (self.port_min == 0) != (self.port_max == 0):
            raise ValueError("give both ends of the range of UDP ports, or neither")
