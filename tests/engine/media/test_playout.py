"""The reel and its beat."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vivavoce.engine.media.playout import FRAME, QUIET_GAIN, Frame, Reel, beat
from vivavoce.errors import EngineFault


def level(value: int, samples: int) -> bytes:
    return np.full(samples, value, np.int16).tobytes()


def played_ms(reel: Reel) -> int:
    position = reel.position()
    assert position is not None
    return position.played_ms


def test_nothing_queued_is_silence_and_has_no_position() -> None:
    reel = Reel()
    assert reel.next() == Frame(None)
    assert reel.position() is None


def test_frames_come_out_in_order_with_a_start_and_an_end() -> None:
    reel = Reel()
    reel.put("r", "i", level(1, FRAME))
    reel.put("r", "i", level(2, FRAME))
    reel.finish("r")
    first, second, third = reel.next(), reel.next(), reel.next()
    assert (first.started, first.ended) == (("r",), ())
    assert (second.started, second.ended) == ((), ("r",))
    assert third == Frame(None)
    assert first.pcm is not None
    assert set(first.pcm) == {1}


def test_a_finish_that_comes_after_the_last_sound_is_told_with_the_next_frame() -> None:
    reel = Reel()
    reel.put("r", "i", level(1, FRAME))
    assert reel.next().ended == ()
    reel.finish("r")
    assert reel.next().ended == ("r",)


def test_a_response_without_sound_ends_without_having_started() -> None:
    reel = Reel()
    reel.finish("r")
    assert reel.next() == Frame(None, (), ("r",))


def test_the_position_is_that_of_each_item_by_itself() -> None:
    reel = Reel()
    reel.put("r", "a", level(1, FRAME + 240))
    reel.put("r", "b", level(2, FRAME))
    reel.next()
    assert (reel.position() and played_ms(reel)) == 20
    reel.next()
    position = reel.position()
    assert position is not None
    assert (position.item_id, position.played_ms) == ("b", 10)
    reel.next()
    assert played_ms(reel) == 20


def test_two_responses_follow_one_another_in_one_frame() -> None:
    reel = Reel()
    reel.put("one", "a", level(1, 100))
    reel.finish("one")
    reel.put("two", "b", level(2, 1000))
    frame = reel.next()
    assert (frame.started, frame.ended) == (("one", "two"), ("one",))
    assert frame.pcm is not None
    assert frame.pcm.size == FRAME


def test_clearing_forgets_everything_but_a_fade_of_five_milliseconds() -> None:
    reel = Reel()
    reel.put("r", "i", level(8000, FRAME * 100))
    reel.finish("r")
    reel.next()
    reel.clear()
    tail, after = reel.next(), reel.next()
    assert tail.pcm is not None
    assert not tail.pcm[120:].any()
    assert (np.diff(tail.pcm[:120]) <= 0).all()
    assert after == Frame(None)
    assert played_ms(reel) == 20


def test_clearing_what_is_ducked_fades_from_where_it_was_without_a_step() -> None:
    reel = Reel()
    reel.put("r", "i", level(10_000, FRAME * 100))
    reel.duck(True)
    before = [reel.next().pcm for _ in range(2)][-1]
    reel.clear()
    reel.duck(False)
    tail = reel.next().pcm
    assert before is not None
    assert tail is not None
    assert int(before[-1]) - int(tail[0]) < 50
    assert np.abs(np.diff(tail.astype(int))).max() < 50


def test_clearing_what_has_not_begun_leaves_no_sound_of_it() -> None:
    reel = Reel()
    reel.put("r", "i", level(8000, FRAME))
    reel.clear()
    assert reel.next() == Frame(None)


def test_ducking_ramps_down_and_back_without_a_step() -> None:
    reel = Reel()
    reel.put("r", "i", level(10_000, FRAME * 6))
    reel.next()
    reel.duck(True)
    quiet = [reel.next().pcm for _ in range(2)]
    reel.duck(False)
    loud = [reel.next().pcm for _ in range(2)]
    pieces = [pcm for pcm in (*quiet, *loud) if pcm is not None]
    whole = np.concatenate(pieces).astype(int)
    assert whole[FRAME : 2 * FRAME] == pytest.approx(10_000 * QUIET_GAIN, abs=2)
    assert whole[-1] == 10_000
    assert np.abs(np.diff(whole)).max() < 50


def test_more_than_the_bound_is_refused_and_room_comes_back() -> None:
    reel = Reel(max_seconds=0.1)
    reel.put("r", "i", level(1, 2400))
    with pytest.raises(EngineFault, match="waiting to be played"):
        reel.put("r", "i", level(1, 1))
    reel.next()
    reel.put("r", "i", level(1, FRAME))


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 1500)), max_size=20))
def test_every_sample_goes_out_once_and_every_response_ends_once(
    puts: list[tuple[str, int]],
) -> None:
    reel = Reel()
    total = 0
    order = sorted(puts)  # a response's pieces come together
    for response_id, samples in order:
        reel.put(response_id, "item-" + response_id, level(1, samples))
        total += samples
    names = sorted({name for name, _ in order})
    for name in names:
        reel.finish(name)
    frames = [reel.next() for _ in range(total // FRAME + 2)]
    assert sum(int(f.pcm.sum()) for f in frames if f.pcm is not None) == total
    assert [name for f in frames for name in f.ended] == names
    assert [n for f in frames for n in f.started] == [
        n for n in names if any(name == n and size for name, size in order)
    ]


async def ticks(times: list[float], steps: list[float]) -> list[float]:
    """When the beat fell, on a clock that makes these steps between looks."""
    now = 100.0
    pending = iter(steps)

    def clock() -> float:
        return now

    async def tick() -> None:
        nonlocal now
        times.append(round(now - 100.0, 4))
        now += next(pending, 1000.0)
        if now > 1000:
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await beat(tick, clock=clock)
    return times


async def test_a_late_beat_is_made_up_for_but_a_stall_is_not() -> None:
    # The third tick takes 50 ms: two beats are made up. The sixth takes a second: at most three.
    steps = [0.02, 0.02, 0.05, 0.0, 0.01, 1.0, 0.0, 0.0, 0.02]
    times = await ticks([], steps)
    assert times[:6] == [0.0, 0.02, 0.04, 0.09, 0.09, 0.1]
    assert times.count(1.1) == 3
    assert times[9] == 1.12


async def test_the_beat_does_not_drift() -> None:
    loop = asyncio.get_running_loop()
    at: list[float] = []

    async def tick() -> None:
        at.append(loop.time())
        if len(at) == 26:
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await beat(tick, clock=loop.time)
    # Beats may be late on a busy machine, never early: 25 intervals are half a second.
    assert at[-1] - at[0] >= 0.5 - 0.025
