"""The jitter buffer, fed by hand and by Hypothesis; time is a number."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vivavoce.engine.media.jitter import (
    FRAME,
    MAX_HELD,
    PATIENCE_MAX,
    PATIENCE_MIN,
    RATE,
    STARVED,
    Conceal,
    JitterBuffer,
    Packet,
    Play,
    Wait,
)

STEP = FRAME / RATE


def packet(number: int, arrival: float, *, first: int = 0, ssrc: int = 1) -> Packet:
    """The packet of this number in a stream whose counters start just below their wrap."""
    return Packet(
        ssrc=ssrc,
        seq=(65_530 + number + first) & 0xFFFF,
        timestamp=(2**32 - 3 * FRAME + number * FRAME) & 0xFFFFFFFF,
        samples=FRAME,
        payload=str(number).encode(),
        arrival=arrival,
    )


@dataclass
class Run:
    """A buffer that is asked after every arrival and whenever it wants to be."""

    buffer: JitterBuffer = field(default_factory=JitterBuffer)
    now: float = 0.0
    played: list[tuple[int, float]] = field(default_factory=list)
    story: list[str] = field(default_factory=list)
    delays: list[tuple[float, float]] = field(default_factory=list)
    deepest: int = 0

    def feed(self, arrivals: Iterable[Packet]) -> Run:
        for arriving in sorted(arrivals, key=lambda p: p.arrival):
            self.run_until(arriving.arrival)
            self.buffer.put(arriving)
            self.deepest = max(self.deepest, len(self.buffer))
            self.ask()
        return self

    def ask(self) -> float | None:
        while True:
            match self.buffer.next(self.now):
                case Play(played):
                    number = int(played.payload)
                    self.played.append((number, self.now))
                    self.delays.append((self.now, self.now - played.arrival))
                    self.story.append(str(number))
                case Conceal():
                    self.story.append("-")
                case Wait(until):
                    return until

    def run_until(self, end: float) -> Run:
        while (until := self.ask()) is not None and until < end:
            assert until > self.now
            self.now = until
        self.now = max(self.now, end)
        return self

    @property
    def numbers(self) -> list[int]:
        return [number for number, _ in self.played]


def steady(count: int, *, without: Iterable[int] = ()) -> list[Packet]:
    lost = set(without)
    return [packet(n, n * STEP) for n in range(count) if n not in lost]


def test_packets_in_order_are_played_as_they_arrive_across_both_wraps() -> None:
    run = Run().feed(steady(20))
    assert run.numbers == list(range(20))
    assert max(delay for _, delay in run.delays) == 0
    assert "-" not in run.story


def test_a_lost_packet_is_concealed_once_and_costs_no_lasting_delay() -> None:
    run = Run().feed(steady(20, without=[7]))
    assert run.story == [*map(str, range(7)), "-", *map(str, range(8, 20))]
    late = [(at, delay) for at, delay in run.delays if delay > 1e-9]
    assert max(delay for _, delay in late) <= PATIENCE_MIN + 1e-9
    assert max(at for at, _ in late) <= 10 * STEP


def test_at_two_percent_loss_the_delay_is_back_at_once() -> None:
    dice = random.Random(3)
    lost = [n for n in range(1, 3000) if dice.random() < 0.02]
    run = Run().feed(steady(3000, without=lost))
    assert max(delay for _, delay in run.delays) <= PATIENCE_MIN + 1e-9
    assert run.story.count("-") == len([n for n in lost if n < 2999])


def test_a_packet_that_was_overtaken_is_put_back_in_its_place() -> None:
    arrivals = [packet(0, 0), packet(2, 0.030), packet(1, 0.041), packet(3, 0.06)]
    assert Run().feed(arrivals).story == ["0", "1", "2", "3"]


def test_a_packet_that_comes_too_late_teaches_patience_which_wears_off() -> None:
    arrivals = steady(200, without=[5, 10])
    arrivals += [packet(5, 6 * STEP + 0.040), packet(10, 11 * STEP + 0.040)]
    run = Run().feed(a for a in arrivals if a.arrival < 15 * STEP)
    assert run.story[:12] == ["0", "1", "2", "3", "4", "-", "6", "7", "8", "9", "10", "11"]
    assert run.buffer.patience > 0.040
    run.feed(a for a in arrivals if a.arrival >= 15 * STEP)
    assert run.buffer.patience == PATIENCE_MIN


def test_doubled_packets_are_played_once() -> None:
    arrivals = steady(10) + [packet(n, n * STEP + 0.013) for n in range(10)]
    assert Run().feed(arrivals).numbers == list(range(10))


def test_silence_is_owed_while_nothing_arrives_and_paid_as_time_passes() -> None:
    run = Run().feed(steady(5)).run_until(4 * STEP + STARVED - 0.001)
    assert "-" not in run.story
    run.run_until(4 * STEP + 1.0 + 0.001)
    assert run.story.count("-") == 50


def test_a_sender_that_paused_its_clock_continues_without_a_hole_or_a_double() -> None:
    # DTX: sequence numbers go on, timestamps have moved by the half second of the pause.
    run = Run().feed(steady(5))
    after = packet(5, 4 * STEP + 0.5)
    moved = Packet(1, after.seq, (after.timestamp + 24 * FRAME) & 0xFFFFFFFF, FRAME, b"5", 0.58)
    run.feed([moved])
    assert run.story == ["0", "1", "2", "3", "4", *["-"] * 24, "5"]


def test_packets_held_up_by_a_stall_are_all_played() -> None:
    held_up = [packet(n, 0.6) for n in range(5, 25)]
    run = Run().feed(steady(5)).feed(held_up)
    assert run.numbers == list(range(25))
    assert run.now == pytest.approx(0.6)


def test_a_sender_that_starts_again_is_followed() -> None:
    first = steady(10)
    other_source = [packet(n, n * STEP, ssrc=2, first=900) for n in range(10, 20)]
    jumped = [packet(n, n * STEP, ssrc=2, first=9000) for n in range(20, 30)]
    assert Run().feed(first + other_source + jumped).numbers == list(range(30))


def test_one_stray_packet_does_not_throw_the_stream_away() -> None:
    stray = packet(99, 5 * STEP + 0.001, first=20_000)
    assert Run().feed([*steady(10), stray]).numbers == list(range(10))


def test_timestamps_that_jump_far_are_a_new_start_and_not_an_hour_of_silence() -> None:
    jump = Packet(1, packet(5, 0).seq, 123_456_789, FRAME, b"5", 5 * STEP)
    assert Run().feed([*steady(5), jump]).story == ["0", "1", "2", "3", "4", "5"]


def test_a_flood_that_nobody_drains_stays_bounded() -> None:
    buffer = JitterBuffer()
    for n in range(5000):
        buffer.put(packet(n, 0.0))
    assert len(buffer) <= MAX_HELD
    assert isinstance(buffer.next(0.0), Play)


@given(
    st.lists(
        st.tuples(
            st.floats(0, 0.3),  # how late
            st.sampled_from(["ok", "ok", "ok", "lost", "double"]),
        ),
        min_size=1,
        max_size=120,
    ),
    st.integers(0, 65_535),
)
def test_whatever_the_network_does(fates: list[tuple[float, str]], first: int) -> None:
    arrivals: list[Packet] = []
    for number, (lateness, fate) in enumerate(fates):
        if fate == "lost":
            continue
        arrivals.append(packet(number, number * STEP + lateness, first=first))
        if fate == "double":
            arrivals.append(packet(number, number * STEP + lateness + 0.1, first=first))
    run = Run().feed(arrivals)

    assert run.numbers == sorted(set(run.numbers)), "in order, and nothing twice"
    assert run.deepest <= MAX_HELD
    assert PATIENCE_MIN <= run.buffer.patience <= PATIENCE_MAX
    assert all(delay <= PATIENCE_MAX + 1e-9 for _, delay in run.delays)

    # And once the network behaves, it is as if nothing had been.
    end, at = len(fates) + 10, max([run.now, len(fates) * STEP]) + 0.5
    calm = [packet(end + n, at + n * STEP, first=first) for n in range(60)]
    run.feed(calm)
    assert run.numbers[-50:] == list(range(end + 10, end + 60))
    assert all(delay == 0 for _, delay in run.delays[-50:])
