"""An internet of two servers on loopback: one plays the world outside, one the network inside.

`Cable` stands where the network is: what is dialled is written down, the
public addresses lead to the server outside, all others to the one inside. The
client under test resolves, checks, connects, speaks TLS and HTTP for real.
"""

from __future__ import annotations

import asyncio
import ipaddress
import ssl
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import httpcore2 as httpcore
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from vivavoce.tools.web.bodies import Limits
from vivavoce.tools.web.fetch import Client
from vivavoce.tools.web.urls import Rules

PUBLIC = "93.184.216.34"
PUBLIC6 = "2606:2800:220:1:248:1893:25c8:1946"
WORLD = (PUBLIC, PUBLIC6, "8.8.8.8", f"64:ff9b::{PUBLIC}")


@dataclass(frozen=True)
class Answer:
    body: bytes = b"<title>Hello</title><p>Hello from outside"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": "text/html"})
    endless: bool = False


@dataclass
class Site:
    """A small HTTP server that says what it is told to, and counts who comes."""

    answer: Callable[[str, str], Answer]
    connections: int = 0
    requests: list[tuple[str, dict[str, str], str]] = field(default_factory=list)
    _serving: set[asyncio.Task[None]] = field(default_factory=set)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            _, path, _ = head[0].split(" ")
            headers = {k.lower(): v for k, _, v in (line.partition(": ") for line in head[1:-2])}
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            self.requests.append((path, headers, body.decode()))
            answer = self.answer(headers["host"], path)
            lines = [f"HTTP/1.1 {answer.status} Whatever", "Connection: close"]
            lines += [f"{name}: {value}" for name, value in answer.headers.items()]
            writer.write("\r\n".join([*lines, "", ""]).encode() + answer.body)
            await writer.drain()
            while answer.endless and answer.body:
                writer.write(answer.body)
                await writer.drain()
            if answer.endless:
                await reader.read()  # until they give up
        except (OSError, EOFError, asyncio.IncompleteReadError, ssl.SSLError):
            pass  # they went away
        finally:
            writer.close()
            self._serving.discard(task)

    async def close(self) -> None:
        """Everybody is gone, or is sent away."""
        if self._serving:
            _, left = await asyncio.wait(self._serving, timeout=2)
            for task in left:
                task.cancel()


class Cable(httpcore.AnyIOBackend):
    def __init__(self, outside: int, outside_tls: int, inside: int) -> None:
        self._ports = (outside, outside_tls, inside)
        self.dialled: list[str] = []

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        self.dialled.append(host)
        outside, outside_tls, inside = self._ports
        there = inside
        if ipaddress.ip_address(host) in map(ipaddress.ip_address, map(_plain, WORLD)):
            there = outside_tls if port in (443, 8443) else outside
        return await super().connect_tcp("127.0.0.1", there, timeout)


def _plain(address: str) -> str:
    return str(ipaddress.ip_address(address))


class Names:
    """A resolver: a list of answers a name, one after another; the last one stays."""

    def __init__(self, names: Mapping[str, Sequence[Sequence[str]]]) -> None:
        self.asked: list[str] = []
        self.know(names)

    def know(self, names: Mapping[str, Sequence[Sequence[str]]]) -> None:
        self._names = {name: list(answers) for name, answers in names.items()}

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        answers = self._names.get(host)
        if answers is None:
            return [PUBLIC]
        return answers.pop(0) if len(answers) > 1 else answers[0]


@dataclass(frozen=True)
class Internet:
    outside: Site
    inside: Site
    cable: Cable
    names: Names
    client: Client


@asynccontextmanager
async def internet(
    answer: Callable[[str, str], Answer] = lambda host, path: Answer(),
    names: Mapping[str, Sequence[Sequence[str]]] | None = None,
    rules: Rules | None = None,
    limits: Limits | None = None,
) -> AsyncIterator[Internet]:
    outside, inside = Site(answer), Site(lambda host, path: Answer(b"SECRET"))
    server, trust = certificates()
    plain = await asyncio.start_server(outside.serve, "127.0.0.1", 0)
    tls = await asyncio.start_server(outside.serve, "127.0.0.1", 0, ssl=server)
    hidden = await asyncio.start_server(inside.serve, "127.0.0.1", 0)
    ports = [one.sockets[0].getsockname()[1] for one in (plain, tls, hidden)]
    cable, resolver = Cable(*ports), Names(names or {})
    client = Client(rules or Rules(), limits or Limits(), resolver, cable, trust)
    try:
        yield Internet(outside, inside, cable, resolver, client)
    finally:
        for one in (plain, tls, hidden):
            one.close()
            await one.wait_closed()
        await outside.close()
        await inside.close()


@cache
def certificates() -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """The server's, for some names and the public addresses, and one that trusts it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "outside")])
    names: list[x509.GeneralName] = [
        x509.DNSName(one)
        for one in (
            "public.example",
            "secure.example",
            "localhost.example",
            "example.com",
            "python.org",
            "xn--mnchen-3ya.de",
        )
    ]
    names += [x509.IPAddress(ipaddress.ip_address(one)) for one in WORLD]
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = made.public_bytes(serialization.Encoding.PEM)
    secret = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with TemporaryDirectory() as folder:
        file = Path(folder) / "both.pem"
        file.write_bytes(pem + secret)
        server.load_cert_chain(file)
    return server, ssl.create_default_context(cadata=pem.decode())
