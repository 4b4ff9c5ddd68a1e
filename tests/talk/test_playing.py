"""What is played, and how much of it counts as heard."""

from __future__ import annotations

from itertools import cycle

from hypothesis import given
from hypothesis import strategies as st

from vivavoce.cli.talk.core.playing import RATE, Cut, Ducking, Heard, PlayQueue, PushToTalk

SECOND = b"\1\0" * RATE


def test_a_queue_begins_with_a_little_in_hand_and_goes_on_to_the_last_sample() -> None:
    queue = PlayQueue()
    queue.push("a", b"\1\0" * 100)
    assert queue.pull(50) == bytes(100), "too little to begin with"
    queue.end()
    assert queue.pull(150) == b"\1\0" * 100 + bytes(100)
    assert queue.played == {"a": 100}


def test_what_is_cleared_was_not_played() -> None:
    queue = PlayQueue()
    queue.push("a", SECOND)
    queue.pull(RATE // 2)
    queue.clear()
    assert queue.pull(RATE) == bytes(2 * RATE)
    assert queue.played == {"a": RATE // 2}


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 5000)), max_size=8),
    st.lists(st.integers(100, 4000), min_size=1, max_size=4),
)
def test_each_sample_is_played_once_and_in_order(
    pieces: list[tuple[str, int]], blocks: list[int]
) -> None:
    queue, wanted, number = PlayQueue(), b"", 0
    for item, samples in pieces:
        pcm = b"".join((n % 32_000).to_bytes(2, "little") for n in range(number, number + samples))
        number += samples
        wanted += pcm
        assert queue.push(item, pcm)
    queue.end()
    out, sizes = b"", cycle(blocks)
    while len(out) < len(wanted):
        out += queue.pull(next(sizes))
    assert out[: len(wanted)] == wanted
    assert sum(queue.played.values()) == number


def test_an_interruption_tells_where_what_sounds_ended_and_what_never_began() -> None:
    heard = Heard()
    heard.received("first", RATE)
    heard.received("second", RATE)
    heard.played("first", RATE // 2)
    playing = [heard.playing]
    assert heard.interrupt(latency_ms=100) == [Cut("first", 400), Cut("second", 0)]
    assert [*playing, heard.playing] == [True, False]
    assert not heard.received("first", 10), "the tail of what was cut off is not played"
    assert heard.interrupt() == [], "once"


def test_what_was_played_is_told_once_and_what_is_on_its_way_to_the_ear_later() -> None:
    heard = Heard()
    heard.received("a", RATE)
    heard.played("a", RATE // 4)
    assert heard.news(latency_ms=50) == [Cut("a", 200)]
    assert heard.news(latency_ms=50) == []
    heard.played("a", RATE)
    assert heard.news(latency_ms=50) == [Cut("a", 1000)], "all of it was played"


@given(st.integers(1, 200_000), st.integers(0, 200_000), st.integers(0, 500))
def test_nobody_heard_more_than_came(received: int, played: int, latency: int) -> None:
    heard = Heard()
    heard.received("a", received)
    heard.played("a", min(played, received))
    for cut in [*heard.news(latency), *heard.interrupt(latency)]:
        assert 0 <= cut.end_ms <= 1000 * received / RATE


def test_it_is_quieter_for_a_moment_where_somebody_speaks_over_it() -> None:
    ducking = Ducking()
    assert not ducking.next(0.2, playing=True, now=0.00), "a click"
    assert ducking.next(0.2, playing=True, now=0.04)
    assert ducking.next(0.0, playing=True, now=0.30), "it holds"
    assert not ducking.next(0.0, playing=True, now=0.60)
    assert not Ducking().next(0.2, playing=False, now=0.0)


def test_a_key_that_is_held_opens_the_microphone_until_it_is_let_go() -> None:
    key = PushToTalk()
    for now in (0.0, 0.5, 0.53, 0.56):
        key.pressed(now)
        assert key.open
    assert not key.let_go(1.0)
    assert key.let_go(1.2)
    assert not key.open


def test_a_key_that_is_tapped_opens_it_until_it_is_tapped_again() -> None:
    key = PushToTalk()
    seen = []
    for now in (0.0, 31.0):
        key.pressed(now)
        assert not key.let_go(now + 30.0)
        seen.append(key.open)
    assert seen == [True, False]
