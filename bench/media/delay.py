"""A WebRTC call beside bare aiortc: CPU, delay with and without loss, evenness of our packets.

The far end is plain aiortc both times. CPU is that of an echoing server
process; delay is from a packet leaving the caller to its sound being handed
over; pacing is seen from the caller's socket. `python -m bench.media.delay` runs it
alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import select
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field

import av
import numpy as np
import psutil
import uvloop
from aiortc.rtp import RtpPacket

from bench import report as report_line
from bench import size
from bench.media import calls
from bench.media.engine import barge_in, overhead
from vivavoce.engine.media.jitter import Decision, Play

CALLS = size(4, quick=2)
CPU_SECONDS = size(8.0, quick=2.0)
ROUNDS = size(3, quick=1)
CLEAN_SECONDS = size(5.0, quick=2.0)
LOSS_SECONDS = size(20.0, quick=4.0)
_PATIENCE = 60.0

Report = Callable[[str, float, float, str], None]


def run(report: Report) -> None:
    for measure in MEASURES:
        measure(report)


# --- CPU -----------------------------------------------------------------------------


def cpu(report: Report) -> None:
    found: dict[str, list[float]] = {"ours": [], "bare": []}
    for number in range(ROUNDS):
        # Alternating, so that whatever else the machine does falls on both.
        for side in ("ours", "bare") if number % 2 == 0 else ("bare", "ours"):
            found[side].append(_cpu_of(side))
    rounds = sorted(zip(found["ours"], found["bare"], strict=True), key=lambda p: p[0] / p[1])
    ours, bare = rounds[len(rounds) // 2]
    report("WebRTC: CPU of an echoed call", ours, bare, "% of a core")


def _cpu_of(side: str) -> float:
    with _child("serve", side) as server, _child("speak", str(CALLS)) as client:
        _tell(server, _hear(client))
        _tell(client, _hear(server))
        assert _hear(client) == "connected"
        before, began = _cpu_time(server), time.monotonic()
        time.sleep(CPU_SECONDS)
        return (_cpu_time(server) - before) / (time.monotonic() - began) / CALLS * 100


@contextlib.contextmanager
def _child(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    child = subprocess.Popen(
        [sys.executable, "-m", "bench.media.delay", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield child
    finally:
        child.kill()
        child.communicate()


def _tell(child: subprocess.Popen[str], text: str) -> None:
    assert child.stdin is not None
    print(text, file=child.stdin, flush=True)


def _hear(child: subprocess.Popen[str]) -> str:
    assert child.stdout is not None
    ready, _, _ = select.select([child.stdout], [], [], _PATIENCE)
    line = child.stdout.readline().strip() if ready else ""
    if not line:
        raise RuntimeError(f"a process of the benchmark failed: {child.args!r}")
    return line


def _cpu_time(child: subprocess.Popen[str]) -> float:
    times = psutil.Process(child.pid).cpu_times()
    return float(times.user + times.system)


# --- Delay and pacing ----------------------------------------------------------------


@dataclass
class Watched:
    """A call under way: when each packet was heard and how long after it was sent."""

    client: calls.Client
    delays: list[tuple[float, float]] = field(default_factory=list)

    def heard(self, timestamp: int) -> None:
        now = time.monotonic()
        if (sent := self.client.sent_at.get(timestamp & 0xFFFFFFFF)) is not None:
            self.delays.append((now, (now - sent) * 1000))


@contextlib.asynccontextmanager
async def _ours(lose: calls.Lose | None) -> AsyncIterator[Watched]:
    watched = Watched(calls.Client(lose))
    async with asyncio.TaskGroup() as group:
        text, peer, echo = await calls.ours(await watched.client.offer(), group)
        decide, latest = peer._jitter.next, [0]

        def deciding(now: float) -> Decision:
            decision = decide(now)
            latest[0] = decision.packet.timestamp if isinstance(decision, Play) else -1
            return decision

        peer._jitter.next = deciding  # type: ignore[method-assign] # to watch or to lose packets where they pass
        echo.heard = lambda: watched.heard(latest[0]) if latest[0] >= 0 else None
        async with _connected(watched, text, group):
            yield watched
        await peer.close()


@contextlib.asynccontextmanager
async def _bare(lose: calls.Lose | None) -> AsyncIterator[Watched]:
    watched = Watched(calls.Client(lose))
    origin: list[int] = []

    def heard(frame: av.AudioFrame) -> None:
        assert frame.pts is not None
        watched.heard(origin[0] + frame.pts)

    text, pc = await calls.bare(await watched.client.offer(), heard)
    receive = pc.getReceivers()[0]._handle_rtp_packet

    async def receiving(packet: RtpPacket, arrival_time_ms: int) -> None:
        origin.append(packet.timestamp)  # aiortc counts from the first
        await receive(packet, arrival_time_ms=arrival_time_ms)

    pc.getReceivers()[0]._handle_rtp_packet = receiving  # type: ignore[method-assign] # to watch or to lose packets where they pass
    async with asyncio.TaskGroup() as group:
        async with _connected(watched, text, group):
            yield watched
        await pc.close()


@contextlib.asynccontextmanager
async def _connected(watched: Watched, text: str, group: asyncio.TaskGroup) -> AsyncIterator[None]:
    await watched.client.accept(text)
    group.create_task(watched.client.drain())
    async with asyncio.timeout(_PATIENCE):
        while len(watched.client.arrivals) < 50:
            await asyncio.sleep(0.05)
    watched.delays.clear()
    watched.client.arrivals.clear()
    yield
    await watched.client.pc.close()


_SIDES = (_ours, _bare)


def delay(report: Report) -> None:
    clean = [_run(_stay(side, None, CLEAN_SECONDS)) for side in _SIDES]
    for name, share in (("median", 50), ("p95", 95)):
        ours, bare = (float(np.percentile(_ms(w), share)) for w in clean)
        report(f"WebRTC: delay of the user's voice, {name}", ours, bare, "ms")
    report("WebRTC: a packet off the beat of 20 ms, p50", *_pacing(clean, 50), "ms")
    report("WebRTC: a packet off the beat of 20 ms, p95", *_pacing(clean, 95), "ms")
    report("WebRTC: a packet off the beat of 20 ms, p99", *_pacing(clean, 99), "ms")
    ours, bare = (_after_one_loss(_run(_stay(side, _once(100), 5.0))) for side in _SIDES)
    report("WebRTC: delay in the second after one lost packet", ours, bare, "ms")
    lossy = [_run(_stay(side, _share(0.02), LOSS_SECONDS)) for side in _SIDES]
    for name, share in (("median", 50), ("p95", 95), ("p99", 99)):
        ours, bare = (float(np.percentile(_ms(w), share)) for w in lossy)
        report(f"WebRTC: delay at 2 % loss, {name}", ours, bare, "ms")


async def _stay(
    side: Callable[[calls.Lose | None], contextlib.AbstractAsyncContextManager[Watched]],
    lose: calls.Lose | None,
    seconds: float,
) -> Watched:
    async with side(lose) as watched:
        await asyncio.sleep(seconds)
    return watched


def _run(stay: object) -> Watched:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(stay)  # type: ignore[arg-type]


def _once(after: int) -> calls.Lose:
    sent = iter(range(1 << 30))
    return lambda: next(sent) == after


def _share(share: float) -> calls.Lose:
    dice = random.Random(7)
    return lambda: dice.random() < share


def _ms(watched: Watched) -> list[float]:
    return [ms for _, ms in watched.delays]


def _after_one_loss(watched: Watched) -> float:
    """The median over the last second: the loss is well before it."""
    end = watched.delays[-1][0]
    return statistics.median(ms for at, ms in watched.delays if at > end - 1.0)


def _pacing(clean: list[Watched], share: float) -> tuple[float, float]:
    ours, bare = (
        float(np.percentile(np.abs(np.diff(w.client.arrivals) * 1000 - 20), share)) for w in clean
    )
    return ours, bare


MEASURES: tuple[Callable[[Report], None], ...] = (cpu, delay, barge_in, overhead)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve", side]:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(calls.serve(side))
        case ["speak", count]:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(calls.speak(int(count)))
        case _:
            run(report_line)
