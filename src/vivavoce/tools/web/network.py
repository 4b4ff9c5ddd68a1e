"""The wires of `fetch.py`: who resolves names, whose certificates count, and what is dialled.

It connects where it is told and decides nothing.
"""

from __future__ import annotations

import functools
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable, Sequence

import httpcore2 as httpcore

from vivavoce.tools.threads import Threads

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Every address of a name, as text. Raises `OSError` where there is none."""

CONNECT_SECONDS = 3.0  # for each of a name's addresses
MAX_ADDRESSES = 4
_LOOKUPS = Threads(8)  # of their own: a resolver that hangs must not hold up other tools


async def system_resolver(host: str, port: int) -> Sequence[str]:
    """The machine's own resolver, off the loop."""
    found = await _LOOKUPS.run(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    return [info[4][0] for info in found]


async def system_trust() -> ssl.SSLContext:
    """The machine's own certificates; reading them takes a while, so once and off the loop."""
    trust: ssl.SSLContext = await _LOOKUPS.run(_trust)
    return trust


@functools.cache
def _trust() -> ssl.SSLContext:
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
