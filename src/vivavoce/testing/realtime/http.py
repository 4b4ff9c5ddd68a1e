"""Who may come in to the scripted provider, and with what: OpenAI's checks and error shapes."""

from __future__ import annotations

import email.parser
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse

from vivavoce.runtime.ports import Clock
from vivavoce.testing.realtime.faults import HttpError, ProviderFault
from vivavoce.testing.realtime.ledger import Json


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request that was answered, in `ScriptedProvider.requests`."""

    method: str
    path: str
    content_type: str
    status: int


@dataclass(frozen=True, slots=True)
class Secret:
    value: str
    session: Mapping[str, Any]
    until: float


class Denied(Exception):
    """An answer in OpenAI's error shape."""

    def __init__(self, status: int, message: str, code: str | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.code = status, message, code
        self.headers: dict[str, str] = {}

    def response(self) -> JSONResponse:
        kind = "server_error" if self.status >= 500 else "invalid_request_error"
        error = {"message": self.message, "type": kind, "param": None, "code": self.code}
        return JSONResponse({"error": error}, self.status, self.headers)


class Faults:
    """What is still to go wrong."""

    def __init__(self, faults: Sequence[ProviderFault]) -> None:
        self._left: list[tuple[ProviderFault, list[int]]] = []
        for fault in faults:
            self.add(fault)

    def add(self, fault: ProviderFault) -> None:
        self._left.append((fault, [fault.times]))

    def take(self, kind: type[ProviderFault], path: str = "") -> ProviderFault | None:
        for fault, left in self._left:
            fits = not isinstance(fault, HttpError) or fault.path in path
            if isinstance(fault, kind) and left[0] > 0 and fits:
                left[0] -= 1
                return fault
        return None


class Secrets:
    """Client secrets: like OpenAI's, usable until they expire."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._issued: dict[str, Secret] = {}

    def issue(self, session: Mapping[str, Any], seconds: float) -> Secret:
        value = f"ek_{secrets.token_hex(16)}"
        self._issued[value] = Secret(value, session, self._clock.monotonic() + seconds)
        return self._issued[value]

    def find(self, value: str) -> Secret | None:
        secret = self._issued.get(value)
        return secret if secret is not None and self._clock.monotonic() < secret.until else None


@dataclass(frozen=True, slots=True)
class Front:
    """Who may come in, and what they may ask for."""

    key: str | None
    models: Sequence[str] | None
    client_secrets: bool
    secrets: Secrets
    faults: Faults

    def admit(self, connection: HTTPConnection) -> Secret | None:
        """The secret that was shown, or None for the key. Raises `Denied`."""
        shown = connection.headers.get("authorization", "").removeprefix("Bearer ")
        if (secret := self.secrets.find(shown)) is not None:
            return secret
        if self.key is not None and shown != self.key:
            # The real one repeats (most of) the key: whoever logs this must scrub it.
            raise Denied(401, f"Incorrect API key provided: {shown}.", "invalid_api_key")
        return None

    def session(self, given: object) -> Mapping[str, Any]:
        if not isinstance(given, Mapping) or given.get("type") != "realtime":
            message = "Missing required parameter: 'session.type'."
            raise Denied(400, message, "missing_required_parameter")
        model = given.get("model")
        if self.models is not None and model not in self.models:
            message = f"The model `{model}` does not exist or you do not have access to it."
            raise Denied(400, message, "model_not_found")
        return given

    def misbehave(self, path: str) -> None:
        fault = self.faults.take(HttpError, path)
        if isinstance(fault, HttpError):
            denied = Denied(fault.status, fault.message, fault.code)
            if fault.retry_after is not None:
                denied.headers["Retry-After"] = str(fault.retry_after)
            raise denied


def multipart(content_type: str, body: bytes) -> dict[str, str]:
    """The parts by name. The standard library reads it, so that no dependency has to."""
    head = f"Content-Type: {content_type}\r\n\r\n".encode()
    message = email.parser.BytesParser().parsebytes(head + body)
    parts: dict[str, str] = {}
    for part in message.walk():
        name = part.get_param("name", header="content-disposition")
        payload = part.get_payload(decode=True)
        if isinstance(name, str) and isinstance(payload, bytes):
            parts[name] = payload.decode()
    return parts


def parsed(text: str) -> Json | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


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
