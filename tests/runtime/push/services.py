"""A push service and a browser of our own, on loopback: they read what was sent as others would.

Written from the standards' other side (RFC 8188, 8291 and 8292), and from nothing of ours.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import jwt
import orjson
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.server.serving import serving


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def unb64(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def point(key: ec.EllipticCurvePublicKey) -> bytes:
    return key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


@dataclass
class Browser:
    """Its keys, and how it reads."""

    private: ec.EllipticCurvePrivateKey = field(
        default_factory=lambda: ec.generate_private_key(ec.SECP256R1())
    )
    secret: bytes = b"0123456789abcdef"

    def keys(self) -> dict[str, str]:
        return {"p256dh": b64(point(self.private.public_key())), "auth": b64(self.secret)}

    def read(self, body: bytes) -> bytes:
        salt, size, length = body[:16], int.from_bytes(body[16:20], "big"), body[20]
        theirs, sealed = body[21 : 21 + length], body[21 + length :]
        assert len(sealed) <= size
        public = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), theirs)
        shared = self.private.exchange(ec.ECDH(), public)
        info = b"WebPush: info\x00" + point(self.private.public_key()) + theirs
        keying = HKDF(SHA256(), 32, self.secret, info).derive(shared)
        key = HKDF(SHA256(), 16, salt, b"Content-Encoding: aes128gcm\x00").derive(keying)
        nonce = HKDF(SHA256(), 12, salt, b"Content-Encoding: nonce\x00").derive(keying)
        plain = AESGCM(key).decrypt(nonce, sealed, None).rstrip(b"\x00")
        assert plain[-1:] == b"\x02"
        return plain[:-1]


@dataclass
class Arrived:
    headers: dict[str, str]
    body: bytes
    notice: dict[str, Any]
    claims: dict[str, Any]


@dataclass
class PushService:
    """Takes what is signed by the key that its browser subscribed with, and keeps it."""

    url: str = ""
    browsers: dict[str, Browser] = field(default_factory=dict)
    public_key: str = ""
    arrived: list[Arrived] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)
    """The next ones, before it takes again what comes."""
    asked: int = 0
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def browser(self, name: str = "phone") -> dict[str, Any]:
        """As `PushSubscription.toJSON()` tells it."""
        known = self.browsers.setdefault(name, Browser())
        return {
            "endpoint": f"{self.url}/push/{name}",
            "expirationTime": None,
            "keys": known.keys(),
        }

    @property
    def notices(self) -> list[dict[str, Any]]:
        return [one.notice for one in self.arrived]

    async def until(self, done: Callable[[], object], seconds: float = 15) -> None:
        async with asyncio.timeout(seconds):
            while not done():
                self.changed.clear()
                await self.changed.wait()

    async def next(self, count: int = 1) -> dict[str, Any]:
        await self.until(lambda: len(self.arrived) >= count)
        return self.arrived[count - 1].notice

    async def take(self, request: Request) -> Response:
        self.asked += 1
        body = await request.body()
        answer = self.answers.pop(0) if self.answers else 201
        if answer == 201:
            browser = self.browsers.get(request.path_params["name"])
            answer = 410 if browser is None else 201
            if browser is not None:
                headers = dict(request.headers)
                claims = self.signed_by(headers["authorization"])
                notice = orjson.loads(browser.read(body))
                self.arrived.append(Arrived(headers, body, notice, claims))
        self.changed.set()
        return Response(status_code=answer)

    async def keep(self, request: Request) -> Response:
        """The key that a browser subscribed with, where that is a program of its own."""
        self.public_key = (await request.body()).decode()
        return Response(status_code=204)

    async def hand_over(self, request: Request) -> Response:
        """The first, second … notice, once it is there: for a browser that is asked to show it."""
        await self.until(lambda: len(self.arrived) >= request.path_params["count"], 60)
        return JSONResponse(self.arrived[request.path_params["count"] - 1].notice)

    def signed_by(self, header: str) -> dict[str, Any]:
        """RFC 8292 §3: `vapid t=<JWT>, k=<public key>`."""
        scheme, _, rest = header.partition(" ")
        assert scheme == "vapid"
        parts = dict(part.strip().split("=", 1) for part in rest.split(","))
        assert parts["k"] == self.public_key
        key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), unb64(parts["k"]))
        claims: dict[str, Any] = jwt.decode(
            parts["t"], key, algorithms=["ES256"], audience=self.url, options={"verify_exp": False}
        )
        return claims


@asynccontextmanager
async def push_service() -> AsyncIterator[PushService]:
    service = PushService()
    routes = [
        Route("/push/{name}", service.take, methods=["POST"]),
        Route("/key", service.keep, methods=["POST"]),
        Route("/arrived/{count:int}", service.hand_over),
    ]
    async with serving(Starlette(routes=routes)) as served:
        service.url = f"http://127.0.0.1:{served.port}"
        yield service
