"""The proxy does what it is told: else the suite would show nothing."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

import pytest

from tests.faults.proxy import Fault, Kind, TcpProxy, UdpProxy, to_port

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def echoing() -> AsyncIterator[tuple[TcpProxy, list[bytes]]]:
    """A server that says everything back, behind the proxy; and what it got."""
    got: list[bytes] = []
    open_: set[asyncio.StreamWriter] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        open_.add(writer)
        try:
            while data := await reader.read(1024):
                got.append(data)
                writer.write(data)
                await writer.drain()
        except ConnectionError:
            pass
        writer.close()
        open_.discard(writer)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    proxy = TcpProxy(to_port(server.sockets[0].getsockname()[1]))
    async with proxy.running():
        yield proxy, got
    server.close()
    async with asyncio.timeout(10):
        while open_:
            await asyncio.sleep(0.005)
    await asyncio.sleep(0.01)  # what was closed goes with the next round


async def connected(proxy: TcpProxy) -> Streams:
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    assert await said(reader, writer, b"hello") == b"hello"
    return reader, writer


async def said(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, data: bytes) -> bytes:
    writer.write(data)
    return await asyncio.wait_for(reader.read(1024), 10)


async def test_a_cut_lets_the_ordered_part_through_and_then_closes() -> None:
    async with echoing() as (proxy, got):
        reader, writer = await connected(proxy)
        proxy.arm(Fault("cut", "up", part=0.5))
        writer.write(b"12345678")
        assert await asyncio.wait_for(reader.read(), 10) == b""
        assert b"".join(got) in (b"hello", b"hello1234"), "and never the rest of it"
        writer.close()


async def test_a_reset_is_one_and_who_comes_while_it_is_down_is_turned_away() -> None:
    async with echoing() as (proxy, _):
        reader, writer = await connected(proxy)
        proxy.arm(Fault("reset", "down", seconds=60))
        writer.write(b"hello")
        with pytest.raises(ConnectionResetError):
            await asyncio.wait_for(reader.read(), 10)
        writer.close()
        again, to = await asyncio.open_connection("127.0.0.1", proxy.port)
        with pytest.raises(ConnectionResetError):
            await asyncio.wait_for(again.read(), 10)
        to.close()
        proxy.heal()
        _, well = await connected(proxy)
        well.close()


async def test_half_open_says_nothing_and_stays_so() -> None:
    async with echoing() as (proxy, got):
        reader, writer = await connected(proxy)
        proxy.arm(Fault("half", "up", seconds=0))
        writer.write(b"lost")
        await writer.drain()
        _, other = await connected(proxy)  # it is one connection that is dead, and not the link
        writer.write(b"lost too")
        await writer.drain()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(reader.read(1024), 0.05)
        assert got == [b"hello", b"hello"]
        for each in (writer, other):
            each.close()


@pytest.mark.parametrize("kind", ["stall", "delay"])
async def test_what_waits_comes_whole_and_in_order(kind: Kind) -> None:
    async with echoing() as (proxy, _):
        reader, writer = await connected(proxy)
        proxy.arm(Fault(kind, "up", seconds=0.1))
        writer.write(b"one ")
        await writer.drain()
        writer.write(b"two")
        assert await asyncio.wait_for(reader.readexactly(7), 10) == b"one two"
        writer.close()


async def test_what_was_sent_into_a_dying_line_may_arrive_all_the_same() -> None:
    async with echoing() as (proxy, got):
        reader, writer = await connected(proxy)
        proxy.arm(Fault("late", "up", seconds=0.01))
        writer.write(b"late")
        with pytest.raises(ConnectionResetError):
            await asyncio.wait_for(reader.read(), 10)
        async with asyncio.timeout(10):
            while got != [b"hello", b"late"]:
                await asyncio.sleep(0.005)
        writer.close()


async def test_a_fault_that_was_not_met_strikes_when_it_is_forced() -> None:
    async with echoing() as (proxy, _):
        reader, writer = await connected(proxy)
        proxy.arm(Fault("cut", "up", after=100))
        proxy.force()
        assert await asyncio.wait_for(reader.read(), 10) == b""
        assert proxy.struck is not None
        writer.close()


class Side(asyncio.DatagramProtocol):
    def __init__(self) -> None:
        self.got: list[bytes] = []
        self.back: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.back = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self.got.append(data)
        if data.startswith(b"up") and self.back is not None:
            self.back.sendto(b"down" + data[2:], addr)


@asynccontextmanager
async def datagrams() -> AsyncIterator[tuple[UdpProxy, Side, Side]]:
    loop = asyncio.get_running_loop()
    far, server = await loop.create_datagram_endpoint(Side, ("127.0.0.1", 0))
    proxy = UdpProxy(far.get_extra_info("sockname"), random.Random(1))
    async with proxy.running():
        near, client = await loop.create_datagram_endpoint(
            Side, remote_addr=("127.0.0.1", proxy.port)
        )
        yield proxy, client, server
        near.close()
    far.close()


async def sent(client: Side, count: int) -> None:
    assert client.back is not None
    for number in range(count):
        client.back.sendto(b"up%d" % number)
        await asyncio.sleep(0)
    await asyncio.sleep(0.05)


async def test_datagrams_pass_and_are_counted() -> None:
    async with datagrams() as (proxy, client, _):
        await sent(client, 5)
        assert sorted(client.got) == [b"down%d" % n for n in range(5)]
        assert proxy.let_through == client.got
        assert proxy.passed == {"up": 5, "down": 5}


async def test_what_is_lost_is_not_counted_as_let_through() -> None:
    async with datagrams() as (proxy, client, server):
        proxy.arm(Fault("loss", "up", part=0.5, seconds=60))
        await sent(client, 60)
        assert 5 < len(server.got) < 55
        assert proxy.let_through == client.got


async def test_a_dead_way_lets_nothing_through_until_it_is_well() -> None:
    async with datagrams() as (proxy, client, server):
        proxy.arm(Fault("half", "up", after=2, seconds=60))
        await sent(client, 5)
        assert len(server.got) == 2
        proxy.heal()
        await sent(client, 1)
        assert len(server.got) == 3
