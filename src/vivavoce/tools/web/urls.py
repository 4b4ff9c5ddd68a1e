"""Which addresses may be opened, and which IP addresses are the public internet. Pure.

How an address is read is `language.en.addresses`, for all who judge one; the connection is made
from that reading's parts. Whether a name leads somewhere public is only known once it is
resolved, which is `fetch.py`'s business. The table of addresses (`addresses.toml`) is our own:
what `ipaddress` calls global has changed between Python versions, and clouds keep their secrets
at addresses that look like any other.
"""

from __future__ import annotations

import tomllib
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Literal
from urllib.parse import urljoin

from vivavoce.language.en.addresses import Address, Refused, address_of, bracketed, host_of
from vivavoce.wire.values import Value

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

_FILE = tomllib.loads(Path(__file__).with_name("addresses.toml").read_text(encoding="utf-8"))
_METADATA = frozenset(map(ip_address, _FILE["metadata"]))
_RANGES: tuple[tuple[IPv4Network | IPv6Network, Kind], ...] = tuple(
    (ip_network(network), kind) for network, kind in _FILE["ranges"].items()
)

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
    for network, kind in _RANGES:
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
    return next((kind for network, kind in _RANGES if address in network), "public")


DEFAULT_PORTS = (80, 443, 8080, 8443)

_INSIDE = ("localhost", "local", "internal", "intranet", "lan", "home", "corp", "private")
_INSIDE_SUFFIXES = tuple(f".{name}" for name in (*_INSIDE, "home.arpa", "localdomain"))


class Rules(Value):
    """What the operator allows.

    `hosts` may be on a private network, such as an intranet's wiki: a name or
    `name:port`, as `host_rule` writes it. A port named there may be any.
    """

    ports: tuple[int, ...] = DEFAULT_PORTS
    hosts: frozenset[str] = frozenset()


def host_rule(entry: str) -> str:
    """An operator's `name` or `name:port` as `Rules` compares it; `ValueError` for what is none."""
    entry = entry.strip()
    head, bracket, rest = entry.rpartition("]")
    _, colon, port = (rest if bracket else entry).partition(":")
    try:
        host, _ = host_of(head + bracket if bracket else entry)
    except Refused:
        host = ""
    if not host or bool(colon) != (port.isascii() and port.isdigit()):
        raise ValueError(f"'{entry}' is no host such as wiki.example or wiki.example:8080")
    return bracketed(host) + colon + port


class Target(Address):
    """Where a connection goes. `allowed`: the operator named this host, so it may be on a private
    network."""

    allowed: bool = False


def target_of(url: str, rules: Rules) -> Target:
    """The address in its parts; raises `Refused`."""
    at = address_of(url)
    host = bracketed(at.host)
    exactly = f"{host}:{at.port}" in rules.hosts
    allowed = exactly or host in rules.hosts
    if not exactly and at.port not in rules.ports:
        raise Refused(f"Port {at.port} is not opened; only {', '.join(map(str, rules.ports))} are")
    if at.number is None and not allowed:
        _check_name(at.host)
    if at.number is not None:
        check_address(at.number, allowed)
    return Target(at.scheme, at.host, at.port, at.path, at.number, allowed)


def redirected(target: Target, location: str, rules: Rules) -> Target:
    """Where a page sends us on to, checked as any other; a page may not send us inside."""
    try:
        url = urljoin(target.url, location.strip(" \t"))
    except ValueError:
        raise Refused("The page leads to something that is no web address") from None
    try:
        following = target_of(url, rules)
    except Refused:
        # In no words of the page's: what we say of a failure counts as ours.
        raise Refused("The page leads to an address that is not opened") from None
    if target.scheme == "https" and following.scheme == "http":
        raise Refused("The page leads from https to http, which is not followed")
    if following.allowed and not target.allowed:
        raise Refused("A page outside may not lead to a host inside")
    return following


def check_address(address: IPv4Address | IPv6Address, allowed: bool) -> None:
    """Raises `Refused` for one that is not public (or, where allowed, not even private)."""
    kind = kind_of(address)
    if kind != "public" and not (allowed and kind in MAY_BE_ALLOWED):
        raise Refused(f"That address is not on the public internet ({kind}), so it is not opened")


def _check_name(host: str) -> None:
    """Names that are somebody's inside, whatever they resolve to."""
    if "." not in host or host.endswith(_INSIDE_SUFFIXES):
        raise Refused(f"'{host[:64]}' is not a name of the public internet, so it is not opened")
