"""Which IP addresses are the public internet, and which are somebody's inside. Pure.

Our own table, after IANA's special-purpose registries: what `ipaddress` calls
global has changed between Python versions, and it does not know that clouds
keep their secrets at addresses that look like any other. Of IPv6 only what is
handed out as global unicast passes, so that a range nobody thought of is
refused, not allowed.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Literal

Kind = Literal[
    "public",
    "private",
    "loopback",
    "shared",
    "link-local",
    "metadata",
    "multicast",
    "unspecified",
    "documentation",
    "reserved",
]

MAY_BE_ALLOWED: frozenset[Kind] = frozenset({"public", "private", "loopback", "shared"})
"""Where a host that the operator named may be. Never metadata: that is the machine's own keys."""

_METADATA = frozenset(
    map(
        ip_address,
        (
            "169.254.169.254",  # nearly everyone
            "169.254.170.2",  # containers on AWS
            "169.254.170.23",
            "169.254.42.42",
            "100.100.100.200",  # Alibaba, among the shared ones
            "168.63.129.16",  # Azure's, in the middle of the public ones
            "192.0.0.192",  # Oracle's
            "fd00:ec2::254",
            "fd00:ec2::23",
            "fd20:ce::254",
            "fd00:42::42",
        ),
    )
)

_RANGES4: dict[str, Kind] = {
    "0.0.0.0/8": "unspecified",
    "10.0.0.0/8": "private",
    "100.64.0.0/10": "shared",
    "127.0.0.0/8": "loopback",
    "169.254.0.0/16": "link-local",
    "172.16.0.0/12": "private",
    "192.0.0.0/24": "reserved",
    "192.0.2.0/24": "documentation",
    "192.88.99.0/24": "reserved",
    "192.168.0.0/16": "private",
    "198.18.0.0/15": "reserved",
    "198.51.100.0/24": "documentation",
    "203.0.113.0/24": "documentation",
    "224.0.0.0/4": "multicast",
    "240.0.0.0/4": "reserved",
}
_V4 = tuple((IPv4Network(network), kind) for network, kind in _RANGES4.items())

_RANGES6: dict[str, Kind] = {
    "::1/128": "loopback",
    "::/128": "unspecified",
    "fc00::/7": "private",
    "fe80::/10": "link-local",
    "fec0::/10": "private",  # site-local, of old
    "ff00::/8": "multicast",
    "2001:db8::/32": "documentation",
    "3fff::/20": "documentation",
    "2001::/23": "reserved",  # Teredo, ORCHID, benchmarks: no web server is there
    "2002::/16": "reserved",  # 6to4: gone, and it can carry any IPv4 address
}
_V6 = tuple((IPv6Network(network), kind) for network, kind in _RANGES6.items())

_MAPPED = IPv6Network("::ffff:0:0/96")
_NAT64 = IPv6Network("64:ff9b::/96")
"""What networks with IPv6 only give for an IPv4 host: as good as the address inside."""
_GLOBAL = IPv6Network("2000::/3")
_ISATAP = (0x0000_5EFE, 0x0200_5EFE)


def kind_of(address: IPv4Address | IPv6Address) -> Kind:
    """What sort of place it is. Zone ids do not matter: the numbers do."""
    if isinstance(address, IPv4Address):
        return _kind_of_v4(address)
    number = int(address)
    address = IPv6Address(number)
    if address in _METADATA:
        return "metadata"
    low = IPv4Address(number & 0xFFFF_FFFF)
    if address in _MAPPED or address in _NAT64:
        return _kind_of_v4(low)
    for network, kind in _V6:
        if address in network:
            return kind
    if address not in _GLOBAL:
        return "reserved"
    if (number >> 32) & 0xFFFF_FFFF in _ISATAP:  # a tunnel to the IPv4 address at its end
        return _kind_of_v4(low)
    return "public"


def _kind_of_v4(address: IPv4Address) -> Kind:
    if address in _METADATA:
        return "metadata"
    return next((kind for network, kind in _V4 if address in network), "public")


def is_public(address: str) -> bool:
    """For an address as a resolver gives it; what is no address is not public."""
    try:
        return kind_of(ip_address(address)) == "public"
    except ValueError:
        return False
