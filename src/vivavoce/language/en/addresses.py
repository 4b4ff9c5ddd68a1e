"""Web addresses: as they are written or said, read in one way. Pure.

There is one reading of an address. The connection is made from its parts, and whoever judges a
call (was this address said? whose page is it?) judges the same parts: nothing is parsed a second
time by someone who reads it differently. Hosts must be plain: four decimal numbers, IPv6 in
brackets, or a name. All other spellings of a number (127.1, 0x7f000001, 017700000001) are refused
as such. Which hosts may be opened is not known here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from ipaddress import IPv4Address, IPv6Address
from urllib.parse import quote, urlsplit

from vivavoce.errors import ToolFailed
from vivavoce.language.en.numbers import figures
from vivavoce.wire.values import Value

MAX_URL = 4096
SCHEME_PORTS = {"http": 80, "https": 443}

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_OTHER_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+-]*):(?!\d)")
_UNCLEAN = re.compile(r"[\x00-\x20\x7f-\xa0\u2028\u2029\\]")
_NUMBER = re.compile(r"(?:\d+|0[xX][0-9a-fA-F]*)")
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_DOTS = re.compile("[\u3002\uff0e\uff61]")
_SPOKEN = ((re.compile(r" dot ", re.I), "."), (re.compile(r" slash ", re.I), "/"))


class Refused(ToolFailed):
    """An address that is not opened; the message says why."""


class Address(Value):
    """In its parts. `number` is set where the host is one already."""

    scheme: str
    host: str
    port: int
    path: str
    """With the query, in ASCII."""
    number: IPv4Address | IPv6Address | None = None

    @property
    def authority(self) -> str:
        """For the `Host` header."""
        host = bracketed(self.host)
        return host if self.port == SCHEME_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}"

    @property
    def page(self) -> str:
        """What is the same for people: without the scheme, a www. and a final slash."""
        bare = self.authority.removeprefix("www.")
        return (bare if "." in bare else self.authority) + self.path.removesuffix("/")


def spelled(said: str) -> str:
    """What people say for an address, with the scheme they leave out. Raises `Refused`."""
    if len(said) > MAX_URL:
        raise Refused("That address is too long")
    url = " ".join(said.split()).strip("<>\"'")
    for words, sign in _SPOKEN:
        url = words.sub(sign, url)
    if _SCHEME.match(url):
        return url
    if other := _OTHER_SCHEME.match(url):
        raise Refused(f"Only web pages can be opened, not '{other[1][:16].lower()}:' addresses")
    return f"https://{url.removeprefix('//')}"


def address_of(url: str) -> Address:
    """Raises `Refused`."""
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
    if scheme not in SCHEME_PORTS:
        raise Refused(f"Only http and https can be opened, not '{scheme[:16]}'")
    if "@" in parts.netloc:
        raise Refused("An address with a user name or password in it is not opened")
    host, number = host_of(parts.netloc)
    path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._")
    if parts.query:
        path += "?" + quote(parts.query, safe="/%:@!$&'()*+,;=~-._?[]")
    return Address(scheme, host, SCHEME_PORTS[scheme] if port is None else port, path, number)


def read(said: str) -> Address | None:
    """What the tool that opens pages would open; None where it would refuse."""
    try:
        return address_of(spelled(said))
    except Refused:
        return None


def bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def host_of(netloc: str) -> tuple[str, IPv4Address | IPv6Address | None]:
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
        import idna

        try:
            host = idna.encode(host, uts46=True).decode("ascii")
        except UnicodeError:  # idna's own errors are such
            raise Refused("That is no web address") from None
    host = host.lower()
    return host[:-1] if host.endswith(".") else host


# --- What was said

_MARKS = {"dot": ".", "slash": "/", "dash": "-", "hyphen": "-", "underscore": "_", "colon": ":"}
_AROUND = "<>\"'`*\u201c\u201d\u2018\u2019\u00ab\u00bb"
_AFTER = ".,;:!?\u2026"
_LETTERS = 12  # of a name that is spelled out
_FILES = frozenset({"md", "py", "rs", "sh", "pl", "ps", "so", "cc", "zip", "mov"})
"""Endings of files that are also those of countries: "notes.md" alone is a file."""
_NO_NAME = frozenset(
    {"a", "an", "the", "this", "that", "it", "its", "my", "your", "our", "on", "to", "at", "in"}
    | {"of", "for", "from", "and", "or", "is", "are", "me", "us", "you", "about", "with", "into"}
    | {"open", "read", "fetch", "visit", "look", "show", "go", "get", "see", "try", "check", "load"}
    | {"browse", "use", "find", "tell", "give", "please", "then", "now", "by", "what", "which"}
    | {"page", "pages", "site", "website", "web", "address", "link", "url", "host", "domain"}
    | {"called", "named", "where", "there", "here"}
)
"""Words before an address that are no part of it."""
_TOWARDS = frozenset({"open", "to", "at", "visit", "fetch", "read", "from", "on", "page", "site"})


def said_in(text: str) -> frozenset[str]:
    """The pages whose address is in these words, as `Address.page` has them. The host must have
    been said with a dot; nothing is left out and nothing is added, since what may be left out
    can carry anything."""
    spoken = text.split()
    found: set[str] = set()
    found.update(_pages(_joined(spoken), frozenset(spoken)))
    plainly = [word.casefold() for word in spoken]
    if "dot" in plainly:  # then numbers may be words as well
        found.update(_pages(_joined(figures(plainly)), frozenset(plainly)))
    return frozenset(found)


def _joined(words: Sequence[str]) -> list[str]:
    """Signs in the place of the words for them, and no space around those."""
    done: list[str] = []
    open_end = False
    for word in words:
        sign = _MARKS.get(word.casefold().strip(",.;"))
        if sign is not None and done:
            done[-1] = done[-1].rstrip(",;") + sign
        elif open_end:
            done[-1] += word
        else:
            done.append(word)
        open_end = sign is not None
    return done


def _pages(words: Sequence[str], written: frozenset[str]) -> Iterator[str]:
    for at, word in enumerate(words):
        if "." not in word and "://" not in word and "localhost" not in word.casefold():
            continue
        bare = word.strip(_AROUND).rstrip(_AFTER).strip(_AROUND)
        bare = re.sub("['\u2019]s$", "", bare)  # "example.org's page"
        # A bracket may be the address's own: each reading is what was said.
        inside = bare[1:-1] if bare[:1] + bare[-1:] in ("()", "[]") else bare
        for one in {bare, inside, bare.strip("()[]{}").rstrip(_AFTER)}:
            longer = _longer(words[:at], one, spoken=word not in written)
            for whole in (one, longer) if longer else (one,):
                page = _page(whole)
                if page is not None:
                    # Ears know no capitals, or put in their own.
                    yield from (page, page.lower())


def _longer(before: Sequence[str], rest: str, *, spoken: bool) -> str | None:
    """With what was said just before it: "p y p i.org", "to stack overflow dot com"."""
    name = rest.partition(".")[0]
    letters = ""
    for word in reversed(before[-_LETTERS:] if len(name) == 1 else ()):
        if len(word) != 1 or not word.isalnum():
            break
        letters = word + letters
    if letters:
        return letters + rest
    two = spoken and name.isalpha() and len(before) > 1 and before[-1].isalpha()
    if two and before[-2].casefold() in _TOWARDS and before[-1].casefold() not in _NO_NAME:
        return before[-1] + rest
    return None


def _page(word: str) -> str | None:
    address = read(word)
    if address is None:
        return None
    written = "://" in word or word.casefold().startswith("www.")
    labels = address.host.split(".")
    dotted = len(labels) > 1 or ":" in address.host
    if not dotted and not (written or address.host == "localhost"):
        return None  # "and/or" is no address
    alone = address.path == "/" and not written
    ordinary = labels[0] in _NO_NAME or labels[-1] in _FILES
    return None if alone and dotted and ordinary else address.page
