"""Offers read and answers written."""

from __future__ import annotations

import pytest
from aiortc import RTCIceCandidate, RTCIceParameters
from aiortc.rtcdtlstransport import RTCDtlsFingerprint, RTCDtlsParameters
from aiortc.sdp import SessionDescription
from hypothesis import given
from hypothesis import strategies as st

from vivavoce.engine.media import sdp
from vivavoce.errors import InvalidSdp

CHROMIUM = """v=0
o=- 4611731400430051336 2 IN IP4 127.0.0.1
s=-
t=0 0
a=group:BUNDLE 0 1 2
a=msid-semantic: WMS stream
m=audio 9 UDP/TLS/RTP/SAVPF 111 63 9 0 8 110
c=IN IP4 0.0.0.0
a=rtcp:9 IN IP4 0.0.0.0
a=candidate:1 1 udp 2122260223 0f5d7a20-93a8.local 50000 typ host generation 0
a=candidate:2 1 udp 2122260222 198.51.100.4 50001 typ host generation 0
a=candidate:3 1 tcp 1518280447 198.51.100.4 9 typ host tcptype active generation 0
a=ice-ufrag:sXJ3
a=ice-pwd:yEclOTrLg1gEubBFefOqtmyV
a=ice-options:trickle
a=fingerprint:sha-256 AA:BB
a=setup:actpass
a=mid:0
a=extmap:4 urn:ietf:params:rtp-hdrext:sdes:mid
a=sendrecv
a=rtcp-mux
a=rtpmap:111 opus/48000/2
a=rtcp-fb:111 transport-cc
a=fmtp:111 minptime=10;useinbandfec=1
a=rtpmap:63 red/48000/2
a=rtpmap:9 G722/8000
a=rtpmap:0 PCMU/8000
a=rtpmap:8 PCMA/8000
a=rtpmap:110 telephone-event/48000
a=ssrc:1 cname:x
m=video 9 UDP/TLS/RTP/SAVPF 96
c=IN IP4 0.0.0.0
a=ice-ufrag:sXJ3
a=ice-pwd:yEclOTrLg1gEubBFefOqtmyV
a=fingerprint:sha-256 AA:BB
a=setup:actpass
a=mid:1
a=sendrecv
a=rtcp-mux
a=rtpmap:96 VP8/90000
m=application 9 UDP/DTLS/SCTP webrtc-datachannel
c=IN IP4 0.0.0.0
a=ice-ufrag:sXJ3
a=ice-pwd:yEclOTrLg1gEubBFefOqtmyV
a=fingerprint:sha-256 AA:BB
a=setup:actpass
a=mid:2
a=sctp-port:5000
a=max-message-size:262144
"""

OURS = sdp.Ours(
    candidates=[RTCIceCandidate(1, "f", "192.0.2.9", 40_000, 1, "udp", "host")],
    ice=RTCIceParameters("ours", "secret"),
    dtls=RTCDtlsParameters([RTCDtlsFingerprint("sha-256", "CC:DD")]),
    ssrc=7,
    cname="name",
    sctp_port=5000,
    bitrate=28_000,
)


def answered(offer: str) -> str:
    return sdp.write(sdp.read(offer), OURS)


def without(line: str) -> str:
    return "\n".join(kept for kept in CHROMIUM.splitlines() if not kept.startswith(line)) + "\n"


def test_a_browsers_offer_is_answered_with_opus_and_data_and_no_video() -> None:
    text = answered(CHROMIUM)
    audio, video, data = SessionDescription.parse(text).media
    assert [(c.mimeType, c.payloadType) for c in audio.rtp.codecs] == [("audio/opus", 111)]
    assert (video.port, video.direction) == (0, "inactive")
    assert data.sctp_port == 5000
    assert "a=group:BUNDLE 0 2\r\n" in text
    assert "a=setup:active" in text


def test_the_answer_asks_for_mono_with_fec_and_without_dtx() -> None:
    (fmtp,) = (line for line in answered(CHROMIUM).splitlines() if line.startswith("a=fmtp"))
    assert {"useinbandfec=1", "usedtx=0", "stereo=0", "maxaveragebitrate=28000"} <= set(
        fmtp.split(" ")[1].split(";")
    )


def test_the_answer_is_complete_with_candidates() -> None:
    text = answered(CHROMIUM)
    assert "a=candidate:f 1 udp 1 192.0.2.9 40000 typ host" in text
    assert "a=end-of-candidates" in text


def named(*candidates: str) -> list[str]:
    """Where an offer with these has us look for the peer."""
    lines = "".join(f"a=candidate:{candidate}\r\n" for candidate in candidates)
    offer = CHROMIUM.replace("a=ice-ufrag", f"{lines}a=ice-ufrag", 1)
    return [f"{c.ip} {c.port}" for c in sdp.read(offer).candidates]


@pytest.mark.parametrize(
    "place",
    ["224.0.0.251 5353", "255.255.255.255 4000", "0.0.0.0 4000", "192.0.2.1 53", "ff02::fb 5353"],
)
def test_places_where_no_browser_can_be_are_not_written_to(place: str) -> None:
    assert place not in named(f"1 1 udp 1 {place} typ host")
    assert "192.0.2.1 4000" in named("1 1 udp 1 192.0.2.1 4000 typ host")


def test_of_many_candidates_the_best_are_tried() -> None:
    many = [f"{n} 1 udp {n} 192.0.2.{n} 4000 typ host" for n in range(1, 101)]
    found = named(*many)
    assert len(found) == 24
    assert "192.0.2.100 4000" in found
    assert "192.0.2.1 4000" not in found


def test_candidates_that_hide_behind_mdns_are_left_to_be_learnt() -> None:
    assert {c.ip for c in sdp.read(CHROMIUM).candidates} == {"198.51.100.4"}


def test_a_browser_that_only_listens_is_only_spoken_to() -> None:
    offer = sdp.read(CHROMIUM.replace("a=sendrecv", "a=recvonly"))
    assert offer.direction == "sendonly"


def test_a_client_that_insists_on_the_dtls_client_role_gets_it() -> None:
    assert "a=setup:passive" in answered(CHROMIUM.replace("a=setup:actpass", "a=setup:active"))


@pytest.mark.parametrize(
    ("offer", "words"),
    [
        ("", "not SDP"),
        ("hello", "not SDP"),
        ("v=0\nm=audio\n", "cannot be read"),
        ("v=0\no=- 1 1 IN IP4 0.0.0.0\ns=-\nt=0 0\n", "no audio"),
        (CHROMIUM.replace("opus/48000", "opal/48000"), "no Opus"),
        (without("a=ice-pwd"), "no ICE"),
        (without("a=fingerprint"), "no DTLS"),
        (without("a=setup"), "no DTLS"),
        (without("a=rtcp-mux"), "share a port"),
        (without("a=group"), "bundled"),
        (CHROMIUM + "m=video 9 UDP/TLS/RTP/SAVPF 96\n" * 20, "media sections"),
        (CHROMIUM + "a=x:y\n" * 20_000, "longer than"),
    ],
)
def test_what_is_wrong_with_an_offer_is_said_in_words(offer: str, words: str) -> None:
    with pytest.raises(InvalidSdp, match=words):
        sdp.read(offer)


def test_names_of_sources_are_passed_over_since_reading_them_takes_their_square() -> None:
    sources = "".join(f"a=ssrc:{number} cname:x\n" for number in range(2000))
    offer = sdp.read(CHROMIUM.replace("a=ssrc:1 cname:x\n", sources))
    assert not offer.audio.ssrc


@given(st.data())
def test_no_mangled_offer_does_worse_than_being_refused(data: st.DataObject) -> None:
    lines = CHROMIUM.splitlines()
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(lines) - 1))
        cut = data.draw(st.integers(0, len(lines[at])))
        junk = data.draw(st.text(max_size=8))
        lines[at] = lines[at][:cut] + junk
    try:
        text = answered("\n".join(lines))
    except InvalidSdp:
        return
    assert text.startswith("v=0")
