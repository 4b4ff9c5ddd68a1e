"""A WebRTC peer: answers an offer, then runs until one side hangs up.

Built of aiortc's transports (ICE, DTLS, SCTP) without its `RTCPeerConnection`,
whose sender, receiver, ports and tasks are not ours to choose. The session
runs `run()` in its own task group; what happens is told to `PeerEvents`.

ICE is aioice's, with the ports and addresses of our choice: it binds any port, leaves
loopback out, asks for consent at its own pace and checks every place that a peer names or
writes from, and has no settings for these, so some methods of its `Connection` are overridden
here (the version is pinned, and the tests watch the seams).
"""

from __future__ import annotations

import asyncio
import errno
import logging
import random
import secrets
import socket
import time
from collections.abc import Iterable
from dataclasses import replace
from ipaddress import ip_address

from aioice import Candidate, Connection, stun, turn
from aioice.candidate import candidate_foundation, candidate_priority
from aioice.ice import CandidatePair, StunProtocol, server_reflexive_candidate
from aiortc import (
    RTCCertificate,
    RTCDataChannel,
    RTCDtlsTransport,
    RTCIceCandidate,
    RTCIceGatherer,
    RTCIceServer,
    RTCIceTransport,
    RTCSctpTransport,
)
from aiortc.rtcicetransport import connection_kwargs
from aiortc.rtcsctptransport import DataChunk

from vivavoce.engine.media import rtp, sdp
from vivavoce.engine.media.jitter import Conceal, JitterBuffer, Play, Wait
from vivavoce.engine.media.options import MediaOptions
from vivavoce.engine.media.opus import RTP_RATE, Concealer, VoiceDecoder, VoiceEncoder
from vivavoce.engine.media.playout import Reel, beat
from vivavoce.engine.ports import Pcm, PeerEvents, Position
from vivavoce.errors import Unavailable

LOOPBACK = "127.0.0.1"
MOST_PLACES = 32
"""Addresses of one call that are written to: those a peer named, and those it wrote from."""
MOST_CHECKS = 96
"""Questions to them, each sent a few times at most: enough for three interfaces of ours."""
Place = tuple[str, int]
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
        self._places: set[Place] = set()
        self._checks = 0

    # --- Whom we write to -------------------------------------------------------------
    #
    # A peer could name anybody's address, or write in anybody's name, and have us write there.

    def _known(self, place: Place) -> bool:
        """Is it one of the call's places, or is there room for one more?"""
        if place not in self._places and len(self._places) >= MOST_PLACES:
            return False
        self._places.add(place)
        return True

    async def check_start(self, pair: CandidatePair) -> None:
        self._checks += 1
        inwards = _is_loopback(pair.remote_addr) and not _is_loopback(pair.local_addr)
        if inwards or self._checks > MOST_CHECKS or not self._known(pair.remote_addr):
            self.check_state(pair, CandidatePair.State.FAILED)
            self.check_complete(pair)
        else:
            await super().check_start(pair)

    def request_received(self, message: stun.Message, addr: Place, protocol: StunProtocol) -> None:
        if addr in self._places or len(self._places) < MOST_PLACES:
            super().request_received(message, addr, protocol)

    def check_incoming(self, message: stun.Message, addr: Place, protocol: StunProtocol) -> None:
        """From somebody with the call's password."""
        if self._known(addr):
            super().check_incoming(message, addr, protocol)

    def respond_error(
        self,
        request: stun.Message,
        addr: Place,
        protocol: StunProtocol,
        error_code: tuple[int, str],
    ) -> None:
        """Without the password a sender gets no answer: it may write in another's name."""
        if error_code[0] not in (400, 401):
            super().respond_error(request, addr, protocol, error_code)

    # --- What we are reached by -------------------------------------------------------

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


def _is_loopback(place: Place) -> bool:
    return ip_address(place[0]).is_loopback


def _is_private(candidate: RTCIceCandidate) -> bool:
    return candidate.type == "host" and "." in candidate.ip and candidate.ip != LOOPBACK


log = logging.getLogger(__name__)
HUNG_UP = "the peer hung up"
LOST = "the connection to the peer was lost"
NEVER = "the peer did not connect in time"
REFUSED = "no secure connection with the peer"
FAULT = "the media failed"
_SILENT = 0.3  # seconds: sound comes fifty times a second, if it comes
_REPORTS = 7.0  # seconds: Chromium's come every five
_TURNS = 3  # of the event loop, from a readable socket to the jitter buffer
_OVERDRAWN = 1024 * 1024


async def answer(offer: str, events: PeerEvents, options: MediaOptions) -> tuple[WebRtcPeer, str]:
    """A peer that waits to `run`, and the SDP to give back, candidates included.

    Raises `InvalidSdp`, or `Unavailable` when no port or interface is free.
    """
    offered = sdp.read(offer)
    gatherer = Gatherer(options)
    try:
        await gatherer.gather()
    except BaseException:
        await gatherer.connection.close()
        raise
    peer = WebRtcPeer(offered, gatherer, events, options)
    return peer, peer.description()


class WebRtcPeer:
    """The far end of a call."""

    def __init__(
        self, offer: sdp.Offer, gatherer: Gatherer, events: PeerEvents, options: MediaOptions
    ) -> None:
        self._offer, self._gatherer = offer, gatherer
        self._events, self._options = events, options
        self._cname = secrets.token_hex(8)
        self._ice = RTCIceTransport(gatherer)
        gatherer.connection.ice_controlling = offer.ice.iceLite
        self._dtls = RTCDtlsTransport(self._ice, [RTCCertificate.generateCertificate()])
        self._dtls._set_role(offer.role)
        self._sctp = BoundedSctp(self._dtls)
        self._channel: RTCDataChannel | None = None
        self._dropped = False
        self._jitter, self._arrived = JitterBuffer(), asyncio.Event()
        self._outgoing = rtp.Outgoing(self._dtls, offer.payload_type)
        self._incoming = rtp.Incoming(offer.payload_type, self._jitter, self._came)
        self._heard_from = 0.0
        self._was_at: Position | None = None
        self._unconfirmed: list[str] = []
        """Responses that were sent to their end while nothing came."""
        self._encoder = VoiceEncoder(options.bitrate)
        self.playout = Reel()
        self._end: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._running = False
        self._over = asyncio.Event()

    # --- The port ---------------------------------------------------------------------

    async def close(self) -> None:
        """Hang up. Nothing is told: whoever closes knows."""
        self._ended(None)
        if self._running:
            await self._over.wait()
        else:
            await self._teardown()

    # --- Life -------------------------------------------------------------------------

    def description(self) -> str:
        ours = sdp.Ours(
            candidates=self._gatherer.advertised(),
            ice=self._gatherer.getLocalParameters(),
            dtls=self._dtls.getLocalParameters(),
            ssrc=self._outgoing.ssrc,
            cname=self._cname,
            sctp_port=self._sctp.port,
            bitrate=self._options.bitrate,
        )
        return sdp.write(self._offer, ours)

    async def run(self) -> None:
        """The call, from the first ICE check to the last packet; ends when the call does."""
        self._running = True
        try:
            reason = await self._until_the_end()
        except Exception:  # the boundary of this task: the session is told, and ends
            log.exception("media failed")
            reason = FAULT
        finally:
            try:
                await self._teardown()
            finally:
                self._over.set()  # whoever waits in `close` must not wait for ever
        if reason is not None:
            self._events.gone(reason)

    async def _until_the_end(self) -> str | None:
        async with asyncio.TaskGroup() as group:
            work = group.create_task(self._work())
            reason = await self._end
            work.cancel()
        return reason

    async def _work(self) -> None:
        try:
            async with asyncio.timeout(self._options.connect_seconds):
                await self._connect()
        except TimeoutError:
            self._ended(NEVER)
            return
        except ConnectionError:
            self._ended(LOST)
            return
        if self._dtls.state != "connected":
            return
        self._heard_from = time.monotonic()
        self._events.connected()
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._listen())
                group.create_task(
                    rtp.reports(self._dtls, self._cname, self._outgoing, self._incoming)
                )
                if self._offer.direction in ("sendonly", "sendrecv"):
                    group.create_task(beat(self._speak))
        except* ConnectionError:
            self._ended(LOST)

    async def _connect(self) -> None:
        self._ice.on("statechange", self._ice_changed)
        self._dtls.on("statechange", self._dtls_changed)
        for candidate in self._offer.candidates:
            await self._ice.addRemoteCandidate(candidate)
        await self._ice.start(self._offer.ice)
        self._incoming.register(self._dtls, self._offer.audio.rtp.muxId)
        await self._dtls.start(self._offer.dtls)
        if self._dtls.state == "connected" and (data := self._offer.data) is not None:
            self._sctp.on("datachannel", self._opened)
            assert data.sctp_port is not None
            await self._sctp.start(data.sctpCapabilities, data.sctp_port)

    def _ice_changed(self) -> None:
        if self._ice.state == "failed":
            self._ended(LOST)

    def _dtls_changed(self) -> None:
        if self._dtls.state == "failed":
            self._ended(REFUSED)
        elif self._dtls.state == "closed":
            # A lost connection closes DTLS too, and may tell us here first.
            self._ended(LOST if self._gatherer.connection.expired else HUNG_UP)

    def _ended(self, reason: str | None) -> None:
        if not self._end.done():
            self._end.set_result(reason)

    async def _teardown(self) -> None:
        self._ended(None)
        try:
            await rtp.goodbye(self._dtls, self._outgoing)
            await self._sctp.stop()
        except ConnectionError:
            pass  # nobody is left to say goodbye to
        pump = self._dtls._task
        await self._dtls.stop()
        if pump is not None:
            await asyncio.wait([pump])
        await self._ice.stop()

    # --- Sound ------------------------------------------------------------------------

    def _came(self) -> None:
        """A packet: whoever sends is there, and hears us."""
        self._arrived.set()
        self._heard_from, self._was_at = time.monotonic(), self.playout.position()
        for response_id in self._unconfirmed:
            self._events.played(response_id)
        self._unconfirmed.clear()

    def reached(self) -> Position | None:
        """How far the far end can have heard: what we send while nothing comes from it may reach
        nobody. One that sends no sound is heard from every few seconds, in its reports."""
        return self._was_at if self._silent else self.playout.position()

    @property
    def _silent(self) -> bool:
        patience = _SILENT if self._incoming.sounds else _REPORTS
        return time.monotonic() - self._heard_from > patience

    async def _speak(self) -> None:
        frame = self.playout.next()
        await self._outgoing.send(self._encoder.encode(frame.pcm))
        for response_id in frame.started:
            self._events.playing(response_id)
        for response_id in frame.ended:
            if self._silent:  # it is said when something comes again
                self._unconfirmed.append(response_id)
            else:
                self._events.played(response_id)

    async def _listen(self) -> None:
        decoder, concealer = VoiceDecoder(), Concealer()
        while True:
            match self._jitter.next(time.monotonic()):
                case Play(packet):
                    self._hear(decoder.decode(packet.payload), packet.samples, concealer)
                case Conceal(samples):
                    self._hear(None, samples, concealer)
                case Wait(None):
                    await self._arrived.wait()
                    self._arrived.clear()
                case Wait(float(until)):
                    await self._wait(until)

    async def _wait(self, until: float) -> None:
        """Until then or until a packet arrives."""
        seconds = max(0.0, until - time.monotonic())
        timer = asyncio.get_running_loop().call_later(seconds, self._arrived.set)
        await self._arrived.wait()
        self._arrived.clear()
        timer.cancel()
        if time.monotonic() >= until:
            # After a stall the timer may come before packets that have long arrived.
            for _ in range(_TURNS):
                await asyncio.sleep(0)

    def _hear(self, pcm: Pcm | None, samples: int, concealer: Concealer) -> None:
        heard = concealer.missing(samples) if pcm is None else concealer.good(pcm)
        self._events.audio(heard, RTP_RATE)

    # --- The data channel ---------------------------------------------------------------

    def send(self, text: str) -> None:
        """Over the data channel; dropped, with a warning, if nobody reads. Until it opens nothing
        can be sent: the session tells its state when it hears `channel_open`."""
        channel = self._channel
        if channel is None or channel.readyState != "open":
            return
        if channel.bufferedAmount + len(text) > self._options.channel_buffer:
            self._drop("the peer does not read its data channel")
            return
        try:
            channel.send(text)
        except ValueError:
            self._drop("the event is longer than the peer takes")

    def _drop(self, reason: str) -> None:
        if not self._dropped:  # once a call; the rest would only repeat it
            log.warning("server event dropped", extra={"reason": reason})
        self._dropped = True

    def _opened(self, channel: RTCDataChannel) -> None:
        """The first channel that the browser opens is for events; any other is closed."""
        if self._channel is not None:
            channel.close()
            return
        self._channel = channel
        channel.on("message", self._message)
        self._events.channel_open()

    def _message(self, data: str | bytes) -> None:
        if isinstance(data, str):
            self._events.message(data)


class BoundedSctp(RTCSctpTransport):
    """aiortc's, with a bound on what is held for a peer that never ends its messages.

    aiortc tells its window and then takes whatever comes past it. Honest
    peers stay inside; of one that is a whole window beyond, no more is taken.
    """

    async def _receive_data_chunk(self, chunk: DataChunk) -> None:
        await super()._receive_data_chunk(chunk)
        if self._advertised_rwnd < -_OVERDRAWN:
            log.warning("data channel closed", extra={"reason": "the peer overran its window"})
            await self.stop()
