"""What a model, a page or a redirect calls an address, made plain or refused; which IP addresses
are the public internet. Pure.

There is one reading of an address, and the connection is made from its parts:
nothing is parsed a second time by someone who reads it differently. Hosts must
be plain: four decimal numbers, IPv6 in brackets, or a name. All other
spellings of a number (127.1, 0x7f000001, 017700000001) are refused as such.
Whether a name leads somewhere public is only known once it is resolved, which
is `fetch.py`'s business. The table of addresses (`addresses.toml`) is our own:
what `ipaddress` calls global has changed between Python versions, and clouds
keep their secrets at addresses that look like any other.
"""

from __future__ import annotations

import re
import tomllib
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Literal
from urllib.parse import quote, urljoin, urlsplit

import idna

from vivavoce.errors import ToolFailed
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


MAX_URL = 4096
DEFAULT_PORTS = (80, 443, 8080, 8443)
_SCHEME_PORTS = {"http": 80, "https": 443}

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_OTHER_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+-]*):(?!\d)")
_UNCLEAN = re.compile(r"[\x00-\x20\x7f-\xa0\u2028\u2029\\]")
_NUMBER = re.compile(r"(?:\d+|0[xX][0-9a-fA-F]*)")
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_DOTS = re.compile("[\u3002\uff0e\uff61]")
_SPOKEN = ((re.compile(r"\s+dot\s+", re.I), "."), (re.compile(r"\s+slash\s+", re.I), "/"))

_INSIDE = ("localhost", "local", "internal", "intranet", "lan", "home", "corp", "private")
_INSIDE_SUFFIXES = tuple(f".{name}" for name in (*_INSIDE, "home.arpa", "localdomain"))


class Refused(ToolFailed):
    """An address that is not opened; the message says why."""


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
        host, _ = _host(head + bracket if bracket else entry)
    except Refused:
        host = ""
    if not host or bool(colon) != (port.isascii() and port.isdigit()):
        raise ValueError(f"'{entry}' is no host such as wiki.example or wiki.example:8080")
    return _written(host) + colon + port


class Target(Value):
    """An address in its parts. `address` is set where the host is a number already.

    `allowed`: the operator named this host, so it may be on a private network.
    """

    scheme: str
    host: str
    port: int
    path: str
    address: IPv4Address | IPv6Address | None
    allowed: bool

    @property
    def authority(self) -> str:
        """For the `Host` header."""
        host = _written(self.host)
        return host if self.port == _SCHEME_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}"


def spelled(said: str) -> str:
    """What people say for an address, with the scheme they leave out."""
    url = said.strip().strip("<>\"'")
    for words, sign in _SPOKEN:
        url = words.sub(sign, url)
    if _SCHEME.match(url):
        return url
    if other := _OTHER_SCHEME.match(url):
        raise Refused(f"Only web pages can be opened, not '{other[1][:16].lower()}:' addresses")
    return f"https://{url.removeprefix('//')}"


def target_of(url: str, rules: Rules) -> Target:
    """The address in its parts; raises `Refused`."""
    if len(url) > MAX_URL:
        raise Refused("That address is too long")
    if _UNCLEAN.search(url):
        raise Refused("There are characters in that address that do not belong there")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise Refused("That is no web address") from None
    scheme = parts.scheme.lower()
    if scheme not in _SCHEME_PORTS:
        raise Refused(f"Only http and https can be opened, not '{scheme[:16]}'")
    if "@" in parts.netloc:
        raise Refused("An address with a user name or password in it is not opened")
    host, address = _host(parts.netloc)
    port = _SCHEME_PORTS[scheme] if port is None else port
    exactly = f"{_written(host)}:{port}" in rules.hosts
    allowed = exactly or _written(host) in rules.hosts
    if not exactly and port not in rules.ports:
        raise Refused(f"Port {port} is not opened; only {', '.join(map(str, rules.ports))} are")
    if address is None and not allowed:
        _check_name(host)
    if address is not None:
        check_address(address, allowed)
    path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._")
    if parts.query:
        path += "?" + quote(parts.query, safe="/%:@!$&'()*+,;=~-._?[]")
    return Target(scheme, host, port, path, address, allowed)


def redirected(target: Target, location: str, rules: Rules) -> Target:
    """Where a page sends us on to, checked as any other; a page may not send us inside."""
    try:
        url = urljoin(target.url, location.strip(" \t"))
    except ValueError:
        raise Refused("The page leads to something that is no web address") from None
    following = target_of(url, rules)
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


def _written(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _host(netloc: str) -> tuple[str, IPv4Address | IPv6Address | None]:
    """Lower-case ASCII, and the number where it is one."""
    if netloc.startswith("["):
        inside, bracket, rest = netloc[1:].partition("]")
        if not bracket or (rest and not rest.startswith(":")) or "%" in inside:
            raise Refused("That is no web address")
        try:
            number = IPv6Address(inside)
        except ValueError:
            raise Refused("That is no web address") from None
        return str(number), number
    name = _ascii(netloc.partition(":")[0])
    labels = name.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        try:
            plain = IPv4Address(name)
        except ValueError:
            raise Refused("That is an odd way to write a number; it is not opened") from None
        return str(plain), plain
    if len(name) > 253 or not all(map(_LABEL.fullmatch, labels)):
        raise Refused("That is no web address")
    return name, None


def _ascii(host: str) -> str:
    """As it goes to the resolver. Full-width digits and dots become plain ones first."""
    host = _DOTS.sub(".", host)
    if not host.isascii():
        try:
            host = idna.encode(host, uts46=True).decode("ascii")
        except UnicodeError:  # idna's own errors are such
            raise Refused("That is no web address") from None
    host = host.lower()
    return host[:-1] if host.endswith(".") else host


def _check_name(host: str) -> None:
    """Names that are somebody's inside, whatever they resolve to."""
    if "." not in host or host.endswith(_INSIDE_SUFFIXES):
        raise Refused(f"'{host[:64]}' is not a name of the public internet, so it is not opened")
