"""What a Realtime provider fills in by itself: a session's defaults, an SDP answer.

Pure. The values are those OpenAI's servers answered with in 2026.
"""

from __future__ import annotations

import copy
import secrets
import time
from collections.abc import Mapping
from typing import Any

Json = dict[str, Any]

_SERVER_VAD: Json = {
    "type": "server_vad",
    "threshold": 0.5,
    "prefix_padding_ms": 300,
    "silence_duration_ms": 200,
    "idle_timeout_ms": None,
    "create_response": True,
    "interrupt_response": True,
}
_SEMANTIC_VAD: Json = {
    "type": "semantic_vad",
    "eagerness": "auto",
    "create_response": True,
    "interrupt_response": True,
}
_TRANSCRIPTION: Json = {"model": "gpt-realtime-whisper", "language": None, "prompt": None}
_PCM: Json = {"type": "audio/pcm", "rate": 24000}

_DEFAULTS: Json = {
    "type": "realtime",
    "object": "realtime.session",
    "model": "gpt-realtime",
    "output_modalities": ["audio"],
    "instructions": "You are a helpful assistant.",
    "tools": [],
    "tool_choice": "auto",
    "max_output_tokens": "inf",
    "tracing": None,
    "truncation": "auto",
    "prompt": None,
    "audio": {
        "input": {
            "format": _PCM,
            "transcription": None,
            "noise_reduction": None,
            "turn_detection": _SERVER_VAD,
        },
        "output": {"format": _PCM, "voice": "alloy", "speed": 1.0},
    },
    "include": None,
}


def new_session(asked: Mapping[str, Any], *, seconds: float = 3600) -> Json:
    """The effective session for what was asked when it was created."""
    session = copy.deepcopy(_DEFAULTS)
    session["id"] = f"sess_{secrets.token_hex(8)}"
    session["expires_at"] = int(time.time() + seconds)
    return updated_session(session, asked)


def updated_session(session: Mapping[str, Any], patch: Mapping[str, Any]) -> Json:
    """`session.update` replaces what it names and keeps the rest."""
    merged = _merge(session, patch)
    audio_in = merged["audio"]["input"]
    if (turns := audio_in.get("turn_detection")) is not None:
        semantic = turns.get("type") == "semantic_vad"
        known = _SEMANTIC_VAD if semantic else _SERVER_VAD
        audio_in["turn_detection"] = {key: turns.get(key, value) for key, value in known.items()}
    if (transcription := audio_in.get("transcription")) is not None:
        audio_in["transcription"] = _TRANSCRIPTION | transcription
    return merged


def _merge(base: Mapping[str, Any], patch: Mapping[str, Any]) -> Json:
    merged = copy.deepcopy(dict(base))
    for key, value in patch.items():
        if isinstance(value, Mapping) and isinstance(merged.get(key), dict):
            merged[key] = _merge(merged[key], value)
        else:
            merged[key] = copy.deepcopy(value)
    return merged


_ANSWER_HEAD = """v=0
o=- 4596005847736977740 1784852417 IN IP4 0.0.0.0
s=-
t=0 0
a=msid-semantic:WMS *
a=group:BUNDLE {mids}
a=ice-lite
"""
_ANSWER_AUDIO = """m=audio 9 UDP/TLS/RTP/SAVPF 96
c=IN IP4 0.0.0.0
a=mid:{mid}
a=sendrecv
a=rtcp-mux
a=rtpmap:96 opus/48000/2
a=fmtp:96 minptime=10;useinbandfec=1
"""
_ANSWER_DATA = """m=application 9 UDP/DTLS/SCTP webrtc-datachannel
c=IN IP4 0.0.0.0
a=mid:{mid}
a=sctp-port:5000
a=max-message-size:1073741823
"""
_ANSWER_TRANSPORT = """a=ice-ufrag:HqBApb/u2/3oMrw2
a=ice-pwd:y1UgIcaK8DKd7LDygYbnTV12DYsMEWCA
a=fingerprint:sha-256 {fingerprint}
a=setup:active
a=candidate:1 1 udp 2130706431 127.0.0.1 9 typ host
"""


def canned_answer(offer: str) -> str:
    """A well-formed answer to any offer of audio and data; nobody listens behind it."""
    sections: list[tuple[str, str]] = []
    for line in offer.splitlines():
        if line.startswith("m="):
            sections.append((line, str(len(sections))))
        elif line.startswith("a=mid:") and sections:
            sections[-1] = (sections[-1][0], line.removeprefix("a=mid:"))
    head = _ANSWER_HEAD.format(mids=" ".join(mid for _, mid in sections))
    transport = _ANSWER_TRANSPORT.format(fingerprint=":".join(["7E"] * 32))
    bodies = (
        (_ANSWER_DATA if media.startswith("m=application") else _ANSWER_AUDIO).format(mid=mid)
        + transport
        for media, mid in sections
    )
    return (head + "".join(bodies)).replace("\n", "\r\n")
