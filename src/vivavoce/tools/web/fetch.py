"""Fetches one page from the public internet, and from nowhere else.

The address that was checked is the address connected to: names are resolved
here, once for every hop, all answers are checked, and the connection goes to
one of them with the name only in `Host` and in the certificate's check. There
is no second lookup that could answer differently. Redirects are followed by
hand, each checked anew. No proxies, no cookies, no settings from the
environment: httpcore2 has none of these, which is why it is used bare.
"""

from __future__ import annotations

import asyncio
import functools
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from ipaddress import IPv4Address, IPv6Address, ip_address

import httpcore2 as httpcore

from vivavoce.errors import ToolFailed
from vivavoce.language.en.addresses import Refused
from vivavoce.processes.threads import Threads
from vivavoce.tools.web.bodies import ENCODINGS, Limits, Page, decoded, form_of, read_body
from vivavoce.tools.web.urls import Rules, Target, check_address, redirected, target_of

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Every address of a name, as text. Raises `OSError` where there is none."""

CONNECT_SECONDS = 3.0  # for each of a name's addresses
MAX_ADDRESSES = 4
_LOOKUPS = Threads(8)  # of their own: a resolver that hangs must not hold up other tools


async def system_resolver(host: str, port: int) -> Sequence[str]:
    """The machine's own resolver, off the loop."""
    found = await _LOOKUPS.run(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    return [info[4][0] for info in found]


@functools.cache
def _trust() -> ssl.SSLContext:
    """The machine's own certificates; reading them takes a while, so once and off the loop."""
    return httpcore.default_ssl_context()


class Pinned(httpcore.AsyncNetworkBackend):
    """Connects to the given addresses, whatever name it is asked for."""

    def __init__(self, addresses: Sequence[str], network: httpcore.AsyncNetworkBackend) -> None:
        self._addresses = addresses[:MAX_ADDRESSES]
        self._network = network

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        failed: Exception | None = None
        for address in self._addresses:
            try:
                return await self._network.connect_tcp(
                    address, port, CONNECT_SECONDS, local_address, socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as exc:
                failed = exc
        raise failed or httpcore.ConnectError("no address")


COMMON_HEADERS = {
    "User-Agent": "Vivavoce (a voice assistant; it reads pages when a person asks)",
    "Accept-Encoding": ENCODINGS,
    "Connection": "close",
}
PAGE_HEADERS = {
    "Accept": "text/html,application/xhtml+xml,text/*;q=0.9,*/*;q=0.5",
    "Accept-Language": "en,*;q=0.5",
}
MAX_REDIRECTS = 5
_MOVED = (301, 302, 303, 307, 308)


@dataclass(frozen=True, slots=True)
class Client:
    """Fetches by these rules. Resolver, network and trust are handed in by tests."""

    rules: Rules = field(default_factory=Rules)
    limits: Limits = field(default_factory=Limits)
    resolve: Resolve = system_resolver
    network: httpcore.AsyncNetworkBackend = field(default_factory=httpcore.AnyIOBackend)
    trust: ssl.SSLContext | None = None

    async def fetch(self, url: str) -> Page:
        """Raises `Refused` for what is not opened, `ToolFailed` for what cannot be."""
        first = target = target_of(url, self.rules)
        try:
            async with asyncio.timeout(self.limits.seconds):
                for _ in range(MAX_REDIRECTS + 1):
                    found = await self._one(target)
                    if isinstance(found, Page):
                        return found
                    target = found
        except ToolFailed as fault:
            if target.host.removeprefix("www.") == first.host.removeprefix("www."):
                raise
            # The other host is the page's choice: its name may say anything.
            kind = Refused if isinstance(fault, Refused) else ToolFailed
            raise kind(f"{first.host} leads to a page that cannot be opened") from None
        except TimeoutError:
            raise ToolFailed(f"{target.host} took too long to answer", cause="ETIMEDOUT") from None
        raise Refused(f"The page leads on and on, more than {MAX_REDIRECTS} times")

    async def _one(self, target: Target) -> Page | Target:
        """One request: the page, or where it leads."""
        async with self._opened(target) as answer:
            headers = _headers(answer.headers)
            if answer.status in _MOVED and "location" in headers:
                return redirected(target, headers["location"], self.rules)
            if not 200 <= answer.status < 300:
                raise ToolFailed(f"{target.host} answered {_status(answer.status)}")
            return await self._read(target, answer, headers)

    async def _read(
        self, target: Target, answer: httpcore.Response, headers: Mapping[str, str]
    ) -> Page:
        content_type = headers.get("content-type", "")
        form, media_type = form_of(content_type)
        length = headers.get("content-length", "")
        size = int(length) if length.isascii() and length.isdigit() and len(length) < 16 else None
        if form == "other":  # told by its headers alone; nothing of it is read
            return Page(target.url, form, media_type, None, size)
        body, cut = await self._body(answer, headers)
        text = decoded(body, content_type)
        if text is None:
            return Page(target.url, "other", media_type, None, size)
        return Page(target.url, form, media_type, text, len(body), cut)

    async def _body(
        self, answer: httpcore.Response, headers: Mapping[str, str]
    ) -> tuple[bytes, bool]:
        encoding = headers.get("content-encoding", "")
        async with aclosing(answer.aiter_stream()) as pieces:
            return await read_body(pieces, encoding, self.limits.bytes)

    async def exchange(
        self, method: str, url: str, headers: Mapping[str, str], content: bytes | None = None
    ) -> tuple[int, bytes]:
        """One request of our own choosing: the status and the body; no redirects."""
        target = target_of(url, self.rules)
        try:
            async with (
                asyncio.timeout(self.limits.seconds),
                self._opened(target, method, headers, content) as answer,
            ):
                body, _ = await self._body(answer, _headers(answer.headers))
                return answer.status, body
        except TimeoutError:
            raise ToolFailed(f"{target.host} took too long to answer", cause="ETIMEDOUT") from None

    @asynccontextmanager
    async def _opened(
        self,
        target: Target,
        method: str = "GET",
        headers: Mapping[str, str] = PAGE_HEADERS,
        content: bytes | None = None,
    ) -> AsyncIterator[httpcore.Response]:
        addresses = await self._checked(target)
        trust = self.trust
        if trust is None and target.scheme == "https":
            trust = await _LOOKUPS.run(_trust)
        pool = httpcore.AsyncConnectionPool(
            ssl_context=trust,
            max_connections=1,
            network_backend=Pinned(addresses, self.network),
        )
        url = httpcore.URL(
            scheme=target.scheme.encode(),
            host=target.host.encode(),
            port=target.port,
            target=target.path.encode(),
        )
        sent = [("Host", target.authority), *COMMON_HEADERS.items(), *headers.items()]
        try:
            async with pool, pool.stream(method, url, headers=sent, content=content) as answer:
                yield answer
        except httpcore.TimeoutException:
            raise TimeoutError from None
        except httpcore.ConnectError as exc:
            # The library keeps what was behind it as its argument, not always as its cause.
            certificate = any(isinstance(one, ssl.SSLCertVerificationError) for one in exc.args)
            why = "has no certificate that can be trusted" if certificate else "cannot be reached"
            raise ToolFailed(f"{target.host} {why}") from None
        except (httpcore.NetworkError, httpcore.ProtocolError):
            raise ToolFailed(f"{target.host} broke off in the middle of its answer") from None

    async def _checked(self, target: Target) -> tuple[str, ...]:
        """Where to connect. One private address among public ones spoils them all."""
        if target.number is not None:
            return (str(target.number),)
        try:
            found = await self.resolve(target.host, target.port)
        except OSError:
            raise ToolFailed(f"There is no website called {target.host}") from None
        if not found:
            raise ToolFailed(f"There is no website called {target.host}")
        addresses = tuple(dict.fromkeys(map(_address, found)))
        for address in addresses:
            check_address(address, target.allowed)
        return tuple(map(str, addresses))


def _address(text: str) -> IPv4Address | IPv6Address:
    try:
        return ip_address(text)
    except ValueError:
        raise Refused("The name leads to something that is no address") from None


def _headers(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """The first of each name, in lower case; UTF-8 where it is, as browsers read `Location`."""
    headers: dict[str, str] = {}
    for name, value in raw:
        try:
            text = value.decode("utf-8")
        except UnicodeDecodeError:
            text = value.decode("latin-1")
        headers.setdefault(name.decode("latin-1").lower(), text)
    return headers


def _status(code: int) -> str:
    """In our words: the server's own reason could say anything."""
    try:
        return f"{code} ({HTTPStatus(code).phrase})"
    except ValueError:
        return str(code)
