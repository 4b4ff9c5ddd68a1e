"""What stands between two sides of a link and can spoil it: for TCP, and for UDP.

Owns connections, what passed, and when it goes wrong. Knows no protocol: it sees chunks and
datagrams, as a bad network does.

A fault is ordered with `arm`, and strikes at a chunk that passes, so it may strike in the middle of
a message. What can go wrong on a link:

    cut     both sides are closed (FIN), after a part of the chunk
    reset   the same with RST
    half    nothing is forwarded any more, and nobody is told
    stall   all waits, and then comes at once
    delay   everything comes late
    late    the sender's side is reset, and what it sent arrives all the same, later
    loss    (UDP) datagrams are lost
"""

from __future__ import annotations

import asyncio
import random
import socket
import struct
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["cut", "reset", "half", "stall", "delay", "late", "loss"]
Way = Literal["up", "down"]
"""`up` is towards the server."""
NOW = struct.pack("ii", 1, 0)
"""SO_LINGER: closing sends RST."""
CHUNK = 64 * 1024


@dataclass(frozen=True, slots=True)
class Fault:
    """`after` chunks that go this `way` one is struck, after a `part` of it; whether the connection
    alone is hit, or `all` of the link; `seconds` until the link is well again."""

    kind: Kind
    way: Way = "down"
    after: int = 0
    part: float = 0.0
    all: bool = True
    seconds: float = 0.1

    def __str__(self) -> str:
        whom = "the link" if self.all else "one connection"
        where = f"{self.way} +{self.after} at {self.part:.0%}"
        return f"{self.kind} of {whom}, {where}, for {self.seconds:g} s"


@dataclass(eq=False, slots=True)
class Pair:
    """One connection: the side that connected, and ours to the server."""

    near: asyncio.StreamWriter
    far: asyncio.StreamWriter
    dead: bool = False
    """Half-open: all that comes is swallowed."""
    late: bool = False
    """The near side is gone, and what it sent is on its way."""
    last: dict[Way, float] = field(default_factory=dict)

    def swallows(self) -> bool:
        return self.dead

    def close(self, *, rst: bool, near: bool = True, far: bool = True) -> None:
        for writer, wanted in ((self.near, near), (self.far, far)):
            if wanted and not writer.transport.is_closing():
                if rst:
                    sock = writer.get_extra_info("socket")
                    with suppress(OSError):
                        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NOW)
                    writer.transport.abort()
                else:
                    writer.close()


@dataclass
class TcpProxy:
    """`port` once it runs. `connect` opens a connection to the server."""

    connect: Callable[[], object]
    name: str = "link"
    port: int = 0
    noted: Callable[[str], None] = lambda what: None
    pairs: set[Pair] = field(default_factory=set)
    passed: Counter[Way] = field(default_factory=Counter)
    struck: Fault | None = None
    _fault: Fault | None = None
    _left: int = 0
    _well_at: float = 0.0
    _ill: Fault | None = None
    _group: asyncio.TaskGroup | None = None

    def arm(self, fault: Fault) -> None:
        self._fault, self._left, self.struck = fault, fault.after, None

    def force(self) -> None:
        """It did not come to so many chunks: it strikes now."""
        if self._fault is not None:
            self._strike(None, b"", self._fault.way)

    def heal(self) -> None:
        """Whoever connects from now on gets through; what is half open stays dead."""
        self._fault, self._ill, self._well_at = None, None, 0.0

    @property
    def ill(self) -> bool:
        return self._ill is not None and asyncio.get_running_loop().time() < self._well_at

    @asynccontextmanager
    async def running(self) -> AsyncIterator[TcpProxy]:
        async with asyncio.TaskGroup() as self._group:
            listener = socket.create_server(("127.0.0.1", self.port))
            self.port = listener.getsockname()[1]
            server = await asyncio.start_server(self._accept, sock=listener)
            try:
                yield self
            finally:
                server.close()
                for pair in list(self.pairs):
                    pair.close(rst=True)

    async def _accept(self, reader: asyncio.StreamReader, near: asyncio.StreamWriter) -> None:
        # The task is asyncio's own, and lives as long as the connection.
        assert self._group is not None
        with suppress(RuntimeError):  # it is closing
            self._group.create_task(self._serve(reader, near), name=f"proxy {self.name}")

    async def _serve(self, reader: asyncio.StreamReader, near: asyncio.StreamWriter) -> None:
        _quick(near)
        if self.ill and self._ill is not None and self._ill.kind in ("cut", "reset", "late"):
            Pair(near, near).close(rst=True, far=False)
            return
        dead = self.ill and self._ill is not None and self._ill.kind == "half"
        try:
            answers, far = await self.connect()  # type: ignore[misc]
        except OSError:
            Pair(near, near).close(rst=True, far=False)
            return
        _quick(far)
        pair = Pair(near, far, dead)
        self.pairs.add(pair)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._pump(pair, "up", reader, far))
                group.create_task(self._pump(pair, "down", answers, near))
        finally:
            self.pairs.discard(pair)
            pair.close(rst=False)

    async def _pump(
        self, pair: Pair, way: Way, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        with suppress(ConnectionError, OSError):
            while data := await reader.read(CHUNK):
                if self._fault is not None and self._fault.way == way and not pair.swallows():
                    if self._left <= 0:
                        data = self._strike(pair, data, way)
                    self._left -= 1
                if wait := self._wait(pair, way):
                    await asyncio.sleep(wait)
                if pair.swallows() or not data or writer.is_closing():
                    continue
                self.passed[way] += len(data)
                writer.write(data)
                await writer.drain()
        if pair.late:
            return
        if not pair.swallows():  # one side is done: what is on its way still comes
            pair.close(rst=False)
        elif way == "up":
            pair.close(rst=True)  # the one who connected gave up

    def _wait(self, pair: Pair, way: Way) -> float:
        """How long this chunk is held back; the order stays."""
        if not self.ill or self._ill is None:
            return 0.0
        left = self._well_at - asyncio.get_running_loop().time()
        match self._ill.kind:
            case "stall":
                return left
            case "delay":
                return min(left, self._ill.seconds / 8)
            case _:
                return 0.0

    def _strike(self, pair: Pair | None, data: bytes, way: Way) -> bytes:
        """It goes wrong now. What of the chunk still passes."""
        fault, self._fault = self._fault, None
        assert fault is not None
        self.struck = self._ill = fault
        self._well_at = asyncio.get_running_loop().time() + fault.seconds
        hit = list(self.pairs) if fault.all or pair is None else [pair]
        self.noted(f"{self.name}: {fault}; {len(hit)} of {len(self.pairs)} connections")
        first, rest = data[: int(len(data) * fault.part)], data[int(len(data) * fault.part) :]
        match fault.kind:
            case "cut" | "reset":
                if pair is not None and first:
                    (pair.far if way == "up" else pair.near).write(first)
                for one in hit:
                    one.close(rst=fault.kind == "reset")
                return b""
            case "late":
                for one in hit:
                    one.late = one is pair and self._group is not None
                    one.close(rst=True, far=False)
                    if one.late and self._group is not None:
                        self._group.create_task(_arrive(one, rest, fault.seconds))
                    else:
                        one.close(rst=True, near=False)
                return first
            case "half":
                if pair is not None and first:
                    (pair.far if way == "up" else pair.near).write(first)
                for one in hit:
                    one.dead = True
                return b""
            case _:
                return data


async def _arrive(pair: Pair, data: bytes, seconds: float) -> None:
    """What was sent before the line went dead is on its way all the same."""
    await asyncio.sleep(seconds)
    with suppress(ConnectionError, OSError):
        pair.far.write(data)
        await pair.far.drain()
    await asyncio.sleep(0.02)
    pair.close(rst=False)


def _quick(writer: asyncio.StreamWriter) -> None:
    sock = writer.get_extra_info("socket")
    if sock.family != socket.AF_UNIX:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def to_port(port: int) -> Callable[[], object]:
    return lambda: asyncio.open_connection("127.0.0.1", port)


def to_socket(path: str) -> Callable[[], object]:
    return lambda: asyncio.open_unix_connection(path)


# --- UDP ----------------------------------------------------------------------------------------


@dataclass
class UdpProxy:
    """Between a client and one address of the server's. What the client says comes from a socket of
    its own, as through a NAT. `offered` is what should have gone down, `let_through` what did."""

    target: tuple[str, int]
    chance: random.Random
    name: str = "media"
    noted: Callable[[str], None] = lambda what: None
    port: int = 0
    passed: Counter[Way] = field(default_factory=Counter)
    offered: list[bytes] = field(default_factory=list)
    let_through: list[bytes] = field(default_factory=list)
    struck: Fault | None = None
    _fault: Fault | None = None
    _left: int = 0
    _ill: Fault | None = None
    _well_at: float = 0.0
    _near: asyncio.DatagramTransport | None = None
    _far: asyncio.DatagramTransport | None = None
    _client: tuple[str, int] | None = None
    _held: list[tuple[Way, bytes]] = field(default_factory=list)

    def arm(self, fault: Fault) -> None:
        self._fault, self._left, self.struck = fault, fault.after, None

    def force(self) -> None:
        """As of TCP: but what never came cannot be struck."""
        self._left = 0

    def heal(self) -> None:
        self._fault, self._ill = None, None
        self._burst()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[UdpProxy]:
        loop = asyncio.get_running_loop()
        address = ("127.0.0.1", 0)
        self._near, _ = await loop.create_datagram_endpoint(
            lambda: _Side(lambda data, source: self._came("up", data, source)), address
        )
        self._far, _ = await loop.create_datagram_endpoint(
            lambda: _Side(lambda data, source: self._came("down", data, source)), address
        )
        self.port = self._near.get_extra_info("sockname")[1]
        try:
            yield self
        finally:
            self._near.close()
            self._far.close()

    def _came(self, way: Way, data: bytes, source: tuple[str, int]) -> None:
        if way == "up":
            self._client = source
        else:
            self.offered.append(data)
        loop = asyncio.get_running_loop()
        if self._fault is not None and self._fault.way == way:
            if self._left <= 0:
                self.struck = self._ill = self._fault
                self._fault = None
                self._well_at = loop.time() + self.struck.seconds
                self.noted(f"{self.name}: {self.struck}")
                if self.struck.kind == "stall":
                    loop.call_later(self.struck.seconds, self._burst)
            self._left -= 1
        ill = self._ill if self._ill is not None and loop.time() < self._well_at else None
        one_way = ill is not None and not ill.all and ill.way != way
        match ill.kind if ill is not None and not one_way else None:
            case "half":
                return
            case "loss" if self.chance.random() < max(0.1, ill.part if ill else 0):
                return
            case "stall":
                self._held.append((way, data))
            case "delay":
                assert ill is not None
                loop.call_later(ill.seconds / 8, self._pass, way, data)
            case _:
                self._pass(way, data)

    def _burst(self) -> None:
        held, self._held = self._held, []
        for way, data in held:
            self._pass(way, data)

    def _pass(self, way: Way, data: bytes) -> None:
        self.passed[way] += 1
        if way == "up" and self._far is not None and not self._far.is_closing():
            self._far.sendto(data, self.target)
        elif self._near is not None and self._client is not None and not self._near.is_closing():
            self.let_through.append(data)
            self._near.sendto(data, self._client)


class _Side(asyncio.DatagramProtocol):
    def __init__(self, came: Callable[[bytes, tuple[str, int]], None]) -> None:
        self._came = came

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self._came(data, addr)
