"""SDP offers for tests that need no media."""

OFFER = "\r\n".join(
    [
        "v=0",
        "o=- 3993840254 3993840254 IN IP4 0.0.0.0",
        "s=-",
        "t=0 0",
        "a=group:BUNDLE 0 1",
        "m=audio 9 UDP/TLS/RTP/SAVPF 96",
        "c=IN IP4 0.0.0.0",
        "a=mid:0",
        "a=sendrecv",
        "a=rtpmap:96 opus/48000/2",
        "m=application 9 UDP/DTLS/SCTP webrtc-datachannel",
        "c=IN IP4 0.0.0.0",
        "a=mid:1",
        "a=sctp-port:5000",
        "",
    ]
)
