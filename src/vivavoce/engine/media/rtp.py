"""RTP and RTCP of one call: our stream out, theirs into the jitter buffer.

These stand where aiortc's own sender and receiver would be registered, so
there is no decoder thread and no buffer we did not choose. Losses are told to
the far end in receiver reports: Chromium sets its FEC by them.
"""

from __future__ import annotations

import asyncio
import random
import secrets
import struct
import time
from collections.abc import Callable

from aiortc import RTCDtlsTransport, clock
from aiortc.rtcrtpparameters import RTCRtpCodecParameters, RTCRtpReceiveParameters
from aiortc.rtcrtpreceiver import StreamStatistics
from aiortc.rtp import (
    AnyRtcpPacket,
    RtcpByePacket,
    RtcpReceiverInfo,
    RtcpRrPacket,
    RtcpSdesPacket,
    RtcpSenderInfo,
    RtcpSourceInfo,
    RtcpSrPacket,
    RtpPacket,
)

from vivavoce.engine.media.jitter import JitterBuffer, Packet
from vivavoce.engine.media.opus import FRAME_OUT, RTP_RATE, packet_samples

_HEADER = struct.Struct("!BBHLL")
_CNAME = 1


class Outgoing:
    """Our packets: numbered, stamped and counted."""

    def __init__(self, transport: RTCDtlsTransport, payload_type: int) -> None:
        self.ssrc = secrets.randbits(32)
        self._transport = transport
        self._payload_type = payload_type
        self._seq = secrets.randbits(15)  # the lower half: a wrap in the first packets hurts SRTP
        self._timestamp = secrets.randbits(32)
        self._stamped_at = 0
        self.packets = 0
        self._octets = 0

    async def send(self, payload: bytes) -> None:
        marker = 0x80 if self.packets == 0 else 0
        header = _HEADER.pack(
            0x80, marker | self._payload_type, self._seq, self._timestamp, self.ssrc
        )
        await self._transport._send_rtp(header + payload)
        self._stamped_at = clock.current_ntp_time()
        self.packets += 1
        self._octets += len(payload)
        self._seq = (self._seq + 1) & 0xFFFF
        self._timestamp = (self._timestamp + FRAME_OUT) & 0xFFFFFFFF

    def report(self) -> RtcpSenderInfo:
        return RtcpSenderInfo(
            ntp_timestamp=self._stamped_at,
            rtp_timestamp=(self._timestamp - FRAME_OUT) & 0xFFFFFFFF,
            packet_count=self.packets & 0xFFFFFFFF,
            octet_count=self._octets & 0xFFFFFFFF,
        )


class Incoming:
    """Their packets, into the jitter buffer."""

    def __init__(self, payload_type: int, jitter: JitterBuffer, wake: Callable[[], None]) -> None:
        self._payload_type = payload_type
        self._jitter = jitter
        self._wake = wake
        self._ssrc = 0
        self.sounds = False
        self._statistics: StreamStatistics | None = None
        self._last_report: tuple[int, float] | None = None

    def register(self, transport: RTCDtlsTransport, mid: str) -> None:
        codec = RTCRtpCodecParameters(
            mimeType="audio/opus", clockRate=RTP_RATE, channels=2, payloadType=self._payload_type
        )
        transport._register_rtp_receiver(self, RTCRtpReceiveParameters(codecs=[codec], muxId=mid))

    async def _handle_rtp_packet(self, packet: RtpPacket, arrival_time_ms: int) -> None:
        samples = packet_samples(packet.payload)
        if packet.payload_type != self._payload_type or not samples:
            return
        if self._statistics is None or packet.ssrc != self._ssrc:
            self._ssrc, self._statistics = packet.ssrc, StreamStatistics(RTP_RATE)
            self._last_report = None
        self._statistics.add(packet)
        self.sounds = True
        self._jitter.put(
            Packet(
                packet.ssrc,
                packet.sequence_number,
                packet.timestamp,
                samples,
                packet.payload,
                time.monotonic(),
            )
        )
        self._wake()

    async def _handle_rtcp_packet(self, packet: AnyRtcpPacket) -> None:
        self._wake()
        if isinstance(packet, RtcpSrPacket):
            middle = (packet.sender_info.ntp_timestamp >> 16) & 0xFFFFFFFF
            self._last_report = (middle, time.monotonic())

    def _handle_disconnect(self) -> None:
        """The transport tells its state itself."""

    def report(self) -> list[RtcpReceiverInfo]:
        if self._statistics is None:
            return []
        lsr, at = self._last_report or (0, 0.0)
        delay = int((time.monotonic() - at) * 65_536) if lsr else 0
        return [
            RtcpReceiverInfo(
                ssrc=self._ssrc,
                fraction_lost=self._statistics.fraction_lost,
                packets_lost=self._statistics.packets_lost,
                highest_sequence=self._statistics.cycles + (self._statistics.max_seq or 0),
                jitter=self._statistics.jitter,
                lsr=lsr,
                dlsr=min(delay, 0xFFFFFFFF),
            )
        ]


async def reports(
    transport: RTCDtlsTransport, cname: str, outgoing: Outgoing, incoming: Incoming
) -> None:
    """Tell the far end, about every second, what we sent and what we missed (RFC 3550 §6)."""
    name = RtcpSdesPacket([RtcpSourceInfo(outgoing.ssrc, [(_CNAME, cname.encode())])])
    while True:
        await asyncio.sleep(random.uniform(0.5, 1.5))  # noqa: S311
        missed = incoming.report()
        ours: AnyRtcpPacket = (
            RtcpSrPacket(outgoing.ssrc, outgoing.report(), missed)
            if outgoing.packets
            else RtcpRrPacket(outgoing.ssrc, missed)
        )
        await transport._send_rtp(bytes(ours) + bytes(name))


async def goodbye(transport: RTCDtlsTransport, outgoing: Outgoing) -> None:
    if transport.state == "connected":
        await transport._send_rtp(bytes(RtcpByePacket([outgoing.ssrc])))
