"""ICE with the ports and addresses of our choice, on aioice.

aioice binds any port, leaves loopback out and asks for consent at its own
pace; it has no settings for these, so three methods of its `Connection` are
overridden here (the version is pinned, and the tests watch the seams).
"""

from __future__ import annotations

import asyncio
import errno
import random
import secrets
import socket
from collections.abc import Iterable
from dataclasses import replace

from aioice import Candidate, Connection, stun, turn
from aioice.candidate import candidate_foundation, candidate_priority
from aioice.ice import StunProtocol, server_reflexive_candidate
from aiortc import RTCIceCandidate, RTCIceGatherer, RTCIceServer
from aiortc.rtcicetransport import connection_kwargs

from vivavoce.engine.media.options import MediaOptions
from vivavoce.errors import Unavailable

LOOPBACK = "127.0.0.1"
_STUN_SECONDS = 2.0  # the browser waits for our answer meanwhile


class Gatherer(RTCIceGatherer):
    """aiortc's gatherer, over a connection of ours."""

    def __init__(self, options: MediaOptions) -> None:
        super().__init__(iceServers=[])
        self._options = options
        self.connection = self._connection = ChosenConnection(options)

    def advertised(self) -> list[RTCIceCandidate]:
        """The candidates to tell the far end, the NAT's address in place of private ones."""
        found = self.getLocalCandidates()
        nat = self._options.nat_address
        if nat is None:
            return found
        return [replace(c, ip=nat) if _is_private(c) else c for c in found]


class ChosenConnection(Connection):
    """An ICE connection that obeys `MediaOptions`."""

    def __init__(self, options: MediaOptions) -> None:
        servers = RTCIceServer(
            urls=list(options.ice_servers),
            username=options.ice_username,
            credential=options.ice_credential,
        )
        super().__init__(ice_controlling=False, **connection_kwargs([servers]))
        self._options = options
        self.expired = False

    async def get_component_candidates(
        self, component: int, addresses: list[str], timeout: int = 5
    ) -> list[Candidate]:
        if self._options.loopback:
            addresses = [*addresses, LOOPBACK]
        hosts = [await self._bind(component, sock) for sock in self._sockets(addresses)]
        self._protocols += hosts
        found = [protocol.local_candidate for protocol in hosts]
        if self.stun_server is not None and self._options.nat_address is None:
            found += await self._reflexive(hosts, self.stun_server)
        # With no addresses left, what remains of aioice's own is the relay.
        found += await super().get_component_candidates(component, [], timeout)
        if not found:
            raise Unavailable("No network interface is up that WebRTC could use")
        return found

    def _sockets(self, addresses: Iterable[str]) -> list[socket.socket]:
        """One a usable address; all or none."""
        bound: list[socket.socket] = []
        try:
            for address in addresses:
                bound += bind_within(address, self._options)
        except BaseException:
            for sock in bound:
                sock.close()
            raise
        return bound

    async def _bind(self, component: int, sock: socket.socket) -> StunProtocol:
        loop = asyncio.get_running_loop()
        _, protocol = await loop.create_datagram_endpoint(lambda: StunProtocol(self), sock=sock)
        host, port = sock.getsockname()[:2]
        protocol.local_candidate = Candidate(
            foundation=candidate_foundation("host", "udp", host),
            component=component,
            transport="udp",
            priority=candidate_priority(component, "host"),
            host=host,
            port=port,
            type="host",
        )
        return protocol

    async def _reflexive(
        self, hosts: list[StunProtocol], server: tuple[str, int]
    ) -> list[Candidate]:
        found: list[Candidate] = []

        async def ask(protocol: StunProtocol) -> None:
            try:
                async with asyncio.timeout(_STUN_SECONDS):
                    candidate, _ = await server_reflexive_candidate(protocol, server)
            except (OSError, TimeoutError, stun.TransactionError):
                return  # a server that does not answer is a candidate fewer
            found.append(candidate)

        async with asyncio.TaskGroup() as group:
            for protocol in hosts:
                if "." in protocol.local_candidate.host:
                    group.create_task(ask(protocol))
        return found

    async def query_consent(self) -> None:
        """RFC 7675: nobody who stopped answering is sent to for longer than half a minute."""
        assert self.remote_password is not None
        key, failures = self.remote_password.encode(), 0
        while failures < self._options.consent_failures:
            await asyncio.sleep(self._options.consent_seconds * random.uniform(0.8, 1.2))  # noqa: S311
            for pair in list(self._nominated.values()):
                request = self.build_request(pair, nominate=False)
                try:
                    # Asked twice, within a second and a half: on a slow line an answer takes
                    # longer than the half second that aioice waits for the first.
                    await pair.protocol.request(
                        request, pair.remote_addr, integrity_key=key, retransmissions=1
                    )
                    failures = 0
                except stun.TransactionError:
                    failures += 1
        self.expired = True
        self._query_consent_task = None  # or `close` would wait for itself
        await self.close()


def bind_within(address: str, options: MediaOptions) -> list[socket.socket]:
    """A UDP socket on a free port of the range; none where the address cannot be used.

    Raises `Unavailable` when every port of the range is taken.
    """
    ports = range(options.port_min, options.port_max + 1)
    # Not from the first on: just-left ports rest, and concurrent calls do not queue for one.
    start = secrets.randbelow(len(ports))
    for port in (*ports[start:], *ports[:start]):
        sock = socket.socket(
            socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM
        )
        try:
            sock.setblocking(False)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, turn.UDP_SOCKET_BUFFER_SIZE)
            sock.bind((address, port))
        except OSError as error:
            sock.close()
            if error.errno != errno.EADDRINUSE:
                return []
        else:
            return [sock]
    raise Unavailable(
        f"All UDP ports from {options.port_min} to {options.port_max} are in use; "
        "widen the range or end a call"
    )


def _is_private(candidate: RTCIceCandidate) -> bool:
    return candidate.type == "host" and "." in candidate.ip and candidate.ip != LOOPBACK
