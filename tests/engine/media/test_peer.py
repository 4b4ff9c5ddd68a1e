"""A call with plain aiortc at the far end, over real sockets."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import threading
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import cast

import psutil
import pytest
import uvloop
from aioice import stun
from aiortc.rtcsctptransport import SCTP_DATA_FIRST_FRAG, DataChunk

from tests.engine.media.far_end import (
    LOCAL,
    FarEnd,
    Heard,
    Pcm,
    call,
    is_whole,
    lossy,
    pitch,
    swapping,
    tone,
    until,
)
from vivavoce.engine.media.options import IceServer, MediaOptions
from vivavoce.engine.media.peer import HUNG_UP, LOST, NEVER, answer
from vivavoce.errors import Unavailable


class StunServer(asyncio.DatagramProtocol):
    """Answers that it sees everybody at one address."""

    def __init__(self, seen: tuple[str, int]) -> None:
        self._seen = seen

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        request = stun.parse_message(data)
        response = stun.Message(
            message_method=stun.Method.BINDING,
            message_class=stun.Class.RESPONSE,
            transaction_id=request.transaction_id,
        )
        response.attributes["XOR-MAPPED-ADDRESS"] = self._seen
        self._transport.sendto(bytes(response), addr)


@contextlib.asynccontextmanager
async def stun_server(seen: tuple[str, int]) -> AsyncIterator[int]:
    transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: StunServer(seen), local_addr=("127.0.0.1", 0)
    )
    try:
        yield int(transport.get_extra_info("sockname")[1])
    finally:
        transport.close()


async def test_the_users_tone_arrives_whole_and_at_its_pitch() -> None:
    async with call(hertz=440.0) as c:
        await until(lambda: c.heard.seconds() > 1.5)
    sound = c.heard.sound[24_000:]
    assert c.heard.rate == 48_000
    assert pitch(sound[:48_000], 48_000) == pytest.approx(440, abs=3)
    assert is_whole(sound)


async def test_the_assistants_tone_arrives_whole_and_at_its_pitch() -> None:
    async with call() as c:
        for start in range(0, 48_000, 5000):  # pieces that are no whole frames
            n = min(5000, 48_000 - start)
            c.peer.playout.put("r1", "i1", tone(660, n, 24_000, start).tobytes())
        c.peer.playout.finish("r1")
        await until(lambda: c.heard.played_ == ["r1"])
        # The far end has a buffer of its own.
        await until(lambda: int((abs(c.far.sound) > 3000).argmax()) + 90_000 <= len(c.far.sound))
        position = c.peer.playout.position()
    loud = c.far.sound
    first = int((abs(loud) > 3000).argmax())
    sound = loud[first : first + 90_000]
    assert c.heard.playing_ == ["r1"]
    assert position is not None
    assert position.played_ms == 2000
    assert pitch(sound[:48_000], 48_000) == pytest.approx(660, abs=3)
    assert is_whole(sound)


def test_a_call_works_on_uvloop_as_well() -> None:
    async def sounds() -> float:
        async with call() as c:
            await until(lambda: c.heard.seconds() > 1.0)
        return pitch(c.heard.sound[24_000:], 48_000)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(sounds()) == pytest.approx(440, abs=5)


async def test_events_go_both_ways_over_the_data_channel() -> None:
    async with call() as c:
        c.peer.send('{"type":"session.created"}')
        c.far.channel.send('{"type":"response.create"}')
        await until(lambda: bool(c.heard.messages and c.far.messages))
    assert c.heard.messages == ['{"type":"response.create"}']
    assert c.far.messages == ['{"type":"session.created"}']


async def test_a_second_data_channel_is_closed_and_binary_is_ignored() -> None:
    async with call() as c:
        second = c.far.pc.createDataChannel("more")
        c.far.channel.send(b"\x00\x01")
        c.far.channel.send("after")
        await until(lambda: second.readyState == "closed" and c.heard.messages == ["after"])
        assert c.heard.opened == 1


async def test_a_peer_that_never_ends_its_message_is_not_kept_for_without_end() -> None:
    async with call() as c:
        await until(lambda: c.heard.opened == 1)
        sctp = c.peer._sctp
        first = sctp._last_received_tsn
        assert first is not None
        for number in range(1, 5000):
            if sctp.state == "closed":
                break
            chunk = DataChunk(flags=SCTP_DATA_FIRST_FRAG if number == 1 else 0)
            chunk.tsn, chunk.stream_id, chunk.user_data = first + number, 7, bytes(1200)
            await sctp._receive_data_chunk(chunk)
        assert sctp.state == "closed"


async def test_a_peer_that_does_not_read_is_not_buffered_for_without_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with call(MediaOptions(loopback=True, channel_buffer=100_000)) as c:
        for number in range(400):
            c.peer.send(f"{number:04}" + "x" * 1000)
        c.peer.send("y" * 300_000)
        await until(lambda: len(c.far.messages) > 50)
    assert len(c.far.messages) < 400
    assert c.far.messages == sorted(c.far.messages)
    assert [r.getMessage() for r in caplog.records].count("server event dropped") == 1


async def test_lost_packets_are_drawn_and_the_stream_keeps_its_time() -> None:
    async def heard() -> Pcm:
        async with call(network=lossy(0.1)) as c:
            await until(lambda: c.heard.seconds() > 2.5)
        return c.heard.sound[24_000:120_000]

    sounds = [await heard()]
    # A busy machine makes holes of its own now and then; ours would be there each time.
    while not is_whole(sounds[-1]) and len(sounds) < 3:
        sounds.append(await heard())
    assert is_whole(sounds[-1])
    assert pitch(sounds[-1], 48_000) == pytest.approx(440, abs=3)


async def test_packets_out_of_order_and_doubled_leave_no_trace() -> None:
    async with call(network=swapping(4)) as c:
        await until(lambda: c.heard.seconds() > 2.5)
    sound = c.heard.sound[48_000:96_000]  # the first swap teaches it to wait
    assert pitch(sound, 48_000) == pytest.approx(440, abs=3)
    assert is_whole(sound)


def last(sound: Pcm) -> int:
    """Where the loud part of it ends."""
    return len(sound) - int((abs(sound) > 3000)[::-1].argmax())


async def test_clearing_stops_within_a_packet_or_two() -> None:
    async with call() as c:
        c.peer.playout.put("r1", "i1", tone(660, 24_000 * 5, 24_000).tobytes())
        await until(lambda: int((abs(c.far.sound) > 3000).sum()) > 20_000)
        c.peer.playout.clear()
        position = c.peer.playout.position()
        c.peer.playout.put("r2", "i2", tone(660, 12_000, 24_000, loud=2000).tobytes())
        c.peer.playout.finish("r2")
        await until(lambda: bool(c.heard.played_))
        # The far end has a buffer of its own: until it hears the softer tone.
        await until(lambda: bool((abs(c.far.sound[last(c.far.sound) + 960 :]) > 1000).any()))
    assert position is not None
    heard_ms = (last(c.far.sound) - (abs(c.far.sound) > 3000).argmax()) / 48
    assert heard_ms <= position.played_ms + 40
    assert c.heard.played_ == ["r2"]  # the first did not play to its end


async def test_the_far_end_hanging_up_is_told_once() -> None:
    async with call() as c:
        await c.far.pc.close()
        await until(lambda: bool(c.heard.reasons))
        await c.peer.close()
    assert c.heard.reasons == [HUNG_UP]


async def test_our_own_hanging_up_is_not_told_but_reaches_the_far_end() -> None:
    async with call() as c:
        await c.peer.close()
        await c.peer.close()
        await until(lambda: c.far.pc.connectionState == "closed")
    assert c.heard.reasons == []


@pytest.mark.full
async def test_a_far_end_that_falls_silent_is_lost_when_its_consent_runs_out() -> None:
    options = MediaOptions(loopback=True, consent_seconds=0.1, consent_failures=3)
    async with call(options) as c:
        ice = c.far.pc.getSenders()[0].transport.transport
        for protocol in ice._connection._protocols:
            protocol.transport.abort()
        await until(lambda: bool(c.heard.reasons))
    assert c.heard.reasons == [LOST]


async def test_a_peer_that_never_connects_is_given_up() -> None:
    heard, far = Heard(), FarEnd()
    options = MediaOptions(loopback=True, connect_seconds=0.1)
    peer, _ = await answer(await far.offer(), heard, options)
    await peer.run()
    await far.pc.close()
    assert heard.reasons == [NEVER]


async def test_a_peer_that_is_never_run_closes_all_the_same() -> None:
    far = FarEnd()
    peer, _ = await answer(await far.offer(), Heard(), LOCAL)
    await peer.close()
    await far.pc.close()


async def test_only_ports_of_the_range_are_used_and_running_out_is_said() -> None:
    async with AsyncExitStack() as stack:
        far = FarEnd()
        stack.push_async_callback(far.pc.close)
        offer = await far.offer()
        # Below the ports that the system hands out, or any test beside this one may hold them.
        options = MediaOptions(port_min=21_310, port_max=21_311, loopback=True)
        first, text = await answer(offer, Heard(), options)
        stack.push_async_callback(first.close)
        second, _ = await answer(offer, Heard(), options)
        stack.push_async_callback(second.close)
        with pytest.raises(Unavailable, match="21310 to 21311 are in use"):
            await answer(offer, Heard(), options)
        await first.close()
        third, _ = await answer(offer, Heard(), options)
        await third.close()
    ports = {int(line.split()[5]) for line in text.splitlines() if "a=candidate" in line}
    assert ports <= {21_310, 21_311}


async def test_the_nat_address_stands_in_for_the_private_one() -> None:
    far = FarEnd()
    options = MediaOptions(nat_address="203.0.113.7", loopback=True)
    peer, text = await answer(await far.offer(), Heard(), options)
    await peer.close()
    await far.pc.close()
    ips = {line.split()[4] for line in text.splitlines() if "a=candidate" in line}
    v4 = {ip for ip in ips if "." in ip}
    assert v4 <= {"203.0.113.7", "127.0.0.1"}
    assert "127.0.0.1" in v4


async def test_losses_and_counts_are_reported_to_the_far_end() -> None:
    async with call(network=lossy(0.1)) as c:
        kinds: set[str] = set()
        while not {"remote-inbound-rtp", "remote-outbound-rtp"} <= kinds:
            async with asyncio.timeout(15):
                stats = (await c.far.pc.getStats()).values()
                kinds = {entry.type for entry in stats}
                await asyncio.sleep(0.05)


async def test_without_an_interface_the_refusal_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    far = FarEnd()
    offer = await far.offer()
    await far.pc.close()
    monkeypatch.setattr("aioice.ice.get_host_addresses", lambda use_ipv4, use_ipv6: [])
    with pytest.raises(Unavailable, match="No network interface"):
        await answer(offer, Heard(), MediaOptions())


async def test_a_call_lives_on_loopback_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def loopback(use_ipv4: bool, use_ipv6: bool) -> list[str]:
        return ["127.0.0.1"]

    monkeypatch.setattr("aioice.ice.get_host_addresses", loopback)
    async with call(MediaOptions()) as c:
        await until(lambda: c.heard.seconds() > 0.5)


async def test_a_stun_server_adds_the_address_it_sees() -> None:
    far = FarEnd()
    async with stun_server(("198.51.100.9", 3333)) as port:
        options = MediaOptions(ice_servers=(IceServer((f"stun:127.0.0.1:{port}",)),), loopback=True)
        peer, text = await answer(await far.offer(), Heard(), options)
    await peer.close()
    await far.pc.close()
    assert " 198.51.100.9 3333 typ srflx " in text


@pytest.mark.full
async def test_ten_calls_leave_no_socket_thread_or_task() -> None:
    async def once() -> None:
        async with call() as c:
            await until(lambda: c.heard.seconds() > 0.05)

    def counted() -> tuple[int, int, int]:
        gc.collect()
        files = psutil.Process(os.getpid()).num_fds()
        return files, threading.active_count(), len(asyncio.all_tasks())

    await once()
    before = counted()
    for _ in range(10):
        await once()
    assert counted() <= before
