"""SDP: what a browser offers, read; our answer, written. No I/O.

Accepted: one audio section with Opus and one data channel section, bundled.
Every other section is refused (port 0), which leaves the rest of the call alone.

mDNS candidates are left out: resolving one means waiting for a multicast
answer, and a browser that hides its address still finds ours and is learnt
from its first check. For the same reason the list of its candidates is never
taken for complete.

Whoever offers names places that we will send to. Those that no browser has are left out: a
multicast or broadcast address, a port below 1024, where DNS and its like live.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from ipaddress import ip_address

from aiortc import RTCDtlsParameters, RTCIceCandidate, RTCIceParameters
from aiortc.sdp import DIRECTIONS as _DIRECTIONS
from aiortc.sdp import DTLS_ROLE_SETUP, MediaDescription, SessionDescription, candidate_to_sdp

from vivavoce.errors import InvalidSdp
from vivavoce.wire.values import Value

MAX_MESSAGE = 262_144
MAX_OFFER = 65_536  # characters; browsers send a tenth of that
_MAX_CANDIDATES = 24  # browsers have half of that; the best of them
_LOWEST_PORT = 1024
_MAX_SECTIONS = 16
_REVERSED = {"sendonly": "recvonly", "recvonly": "sendonly"}
_WORST = (ValueError, AssertionError, LookupError, AttributeError, TypeError, StopIteration)


class Offer(Value):
    """What we need of an offer to answer it and to connect."""

    sections: tuple[MediaDescription, ...]
    audio: MediaDescription
    data: MediaDescription | None
    payload_type: int
    candidates: tuple[RTCIceCandidate, ...]

    @property
    def ice(self) -> RTCIceParameters:
        assert self.audio.ice is not None
        return self.audio.ice

    @property
    def dtls(self) -> RTCDtlsParameters:
        assert self.audio.dtls is not None
        return self.audio.dtls

    @property
    def role(self) -> str:
        """Ours in DTLS: the client, unless the far end insists on that."""
        return "server" if self.dtls.role == "client" else "client"

    @property
    def direction(self) -> str:
        offered = self.audio.direction or "sendrecv"
        return _REVERSED.get(offered, offered)


class Ours(Value):
    """Our side of the answer."""

    candidates: Sequence[RTCIceCandidate]
    ice: RTCIceParameters
    dtls: RTCDtlsParameters
    ssrc: int
    cname: str
    sctp_port: int
    bitrate: int


# --- Reading -------------------------------------------------------------------------


def read(text: str) -> Offer:
    """Raises `InvalidSdp` with words for whoever wrote the client."""
    if not text.lstrip().startswith("v="):
        raise InvalidSdp("This is not SDP: it should begin with v=0")
    if len(text) > MAX_OFFER:
        raise InvalidSdp(f"The offer is longer than {MAX_OFFER} characters")
    # Of no use to us, and aiortc's parser takes the square of their number in time.
    lines = [line for line in text.splitlines() if not line.startswith("a=ssrc")]
    try:
        description = SessionDescription.parse("\r\n".join(lines))
    except _WORST as error:  # aiortc's parser trusts its input
        raise InvalidSdp("The SDP cannot be read") from error
    sections = tuple(description.media)
    if len(sections) > _MAX_SECTIONS:
        raise InvalidSdp(f"The offer has more than {_MAX_SECTIONS} media sections")
    audio = next((s for s in sections if s.kind == "audio" and s.port), None)
    if audio is None:
        raise InvalidSdp("The offer has no audio section")
    bundle = {
        mid for group in description.group if group.semantic == "BUNDLE" for mid in group.items
    }
    data = next((s for s in sections if _is_data(s)), None)
    if data is not None and not {audio.rtp.muxId, data.rtp.muxId} <= bundle:
        raise InvalidSdp("Audio and data channel must be bundled (a=group:BUNDLE)")
    _check_transport(audio)
    return Offer(sections, audio, data, _opus(audio), _candidates(sections, audio))


def _is_data(section: MediaDescription) -> bool:
    return (
        section.kind == "application"
        and section.profile == "UDP/DTLS/SCTP"
        and section.port != 0
        and section.sctp_port is not None
    )


def _check_transport(audio: MediaDescription) -> None:
    if audio.ice is None or not audio.ice.usernameFragment or not audio.ice.password:
        raise InvalidSdp("The offer has no ICE user fragment and password")
    if audio.dtls is None or not audio.dtls.fingerprints:
        raise InvalidSdp("The offer has no DTLS fingerprint and setup")
    if not audio.rtcp_mux:
        raise InvalidSdp("RTP and RTCP must share a port (a=rtcp-mux)")
    if audio.direction is not None and audio.direction not in _DIRECTIONS:
        raise InvalidSdp("The audio section has no known direction")


def _opus(audio: MediaDescription) -> int:
    for codec in audio.rtp.codecs:
        opus = codec.mimeType.lower() == "audio/opus" and codec.clockRate == 48_000
        if opus and codec.payloadType is not None:
            return codec.payloadType
    raise InvalidSdp("The offer has no Opus; only Opus at 48 kHz is spoken here")


def _candidates(
    sections: Sequence[MediaDescription], audio: MediaDescription
) -> tuple[RTCIceCandidate, ...]:
    """All of the bundle's, wherever the browser wrote them."""
    assert audio.ice is not None
    found = [
        candidate
        for section in sections
        if section.ice is not None and section.ice.usernameFragment == audio.ice.usernameFragment
        for candidate in section.ice_candidates
        if candidate.component == 1 and _is_a_peers(candidate)
    ]
    found.sort(key=lambda candidate: -candidate.priority)
    return tuple(found[:_MAX_CANDIDATES])


def _is_a_peers(candidate: RTCIceCandidate) -> bool:
    """Can somebody with a browser be there?"""
    try:
        place = ip_address(candidate.ip)
    except ValueError:  # a name: of mDNS, or of anything
        return False
    nowhere = place.is_multicast or place.is_unspecified or place.is_reserved
    return not nowhere and candidate.port >= _LOWEST_PORT and candidate.protocol.lower() == "udp"


# --- Writing -------------------------------------------------------------------------


def write(offer: Offer, ours: Ours) -> str:
    """The answer, with all of our candidates."""
    accepted = [s for s in offer.sections if s is offer.audio or s is offer.data]
    lines = [
        "v=0",
        f"o=- {secrets.randbits(62)} 2 IN IP4 127.0.0.1",
        "s=-",
        "t=0 0",
        f"a=group:BUNDLE {' '.join(s.rtp.muxId for s in accepted)}",
        "a=msid-semantic: WMS vivavoce",
    ]
    for section in offer.sections:
        if section is offer.audio:
            lines += _audio(offer, ours)
        elif section is offer.data:
            lines += _data(offer, ours)
        else:
            lines += _refused(section)
    return "\r\n".join(lines) + "\r\n"


def _audio(offer: Offer, ours: Ours) -> list[str]:
    kind = offer.payload_type
    return [
        f"m=audio {ours.candidates[0].port} {offer.audio.profile} {kind}",
        *_transport(offer, ours, offer.audio),
        f"a={offer.direction}",
        "a=rtcp-mux",
        f"a=rtpmap:{kind} opus/48000/2",
        # Ours to ask of the far end: one channel, FEC, no pauses in the stream (RFC 7587 §7).
        f"a=fmtp:{kind} minptime=10;useinbandfec=1;usedtx=0;stereo=0;sprop-stereo=0;"
        f"maxaveragebitrate={ours.bitrate}",
        "a=ptime:20",
        "a=msid:vivavoce voice",
        f"a=ssrc:{ours.ssrc} cname:{ours.cname}",
    ]


def _data(offer: Offer, ours: Ours) -> list[str]:
    assert offer.data is not None
    return [
        f"m=application {ours.candidates[0].port} {offer.data.profile} webrtc-datachannel",
        *_transport(offer, ours, offer.data),
        f"a=sctp-port:{ours.sctp_port}",
        f"a=max-message-size:{MAX_MESSAGE}",
    ]


def _transport(offer: Offer, ours: Ours, section: MediaDescription) -> list[str]:
    first = ours.candidates[0]
    return [
        f"c=IN IP{6 if ':' in first.ip else 4} {first.ip}",
        f"a=mid:{section.rtp.muxId}",
        *(f"a=candidate:{candidate_to_sdp(candidate)}" for candidate in ours.candidates),
        "a=end-of-candidates",
        f"a=ice-ufrag:{ours.ice.usernameFragment}",
        f"a=ice-pwd:{ours.ice.password}",
        *(f"a=fingerprint:{f.algorithm} {f.value}" for f in ours.dtls.fingerprints),
        f"a=setup:{DTLS_ROLE_SETUP[offer.role]}",
    ]


def _refused(section: MediaDescription) -> list[str]:
    mid = [f"a=mid:{section.rtp.muxId}"] if section.rtp.muxId else []
    return [
        f"m={section.kind} 0 {section.profile} {' '.join(map(str, section.fmt))}",
        "c=IN IP4 0.0.0.0",
        "a=inactive",
        *mid,
    ]
