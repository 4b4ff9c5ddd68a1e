"""Long speech is cut where it is quiet."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.speech import noise, silence
from vivavoce.engine.ears.segments import segments
from vivavoce.engine.ports import EAR_RATE


def test_short_speech_stays_whole() -> None:
    speech = noise(19.9, 0.1)
    assert [len(s) for s in segments(speech)] == [len(speech)]
    assert segments(speech[:0]) == []


def test_long_speech_is_cut_in_its_pause() -> None:
    speech = np.concatenate([noise(14, 0.1), silence(0.5), noise(14, 0.1)])
    first, second = segments(speech)
    assert 14 * EAR_RATE < len(first) < 14.5 * EAR_RATE
    assert len(first) + len(second) == len(speech)


@settings(deadline=None)
@given(st.integers(0, 900), st.floats(0.1, 3.0))
def test_segments_are_short_enough_and_lose_nothing(blocks: int, longest: float) -> None:
    speech = np.arange(blocks * 160, dtype=np.float32)
    found = segments(speech, longest)
    assert all(0 < len(segment) <= longest * EAR_RATE for segment in found)
    assert np.array_equal(np.concatenate([speech[:0], *found]), speech)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 400), st.integers(1, 400), st.integers(0, 1000))
def test_a_cut_once_made_stays_where_it_is(blocks: int, more: int, seed: int) -> None:
    drawn = np.random.default_rng(seed).normal(0.0, 0.1, (blocks + more) * 160)
    speech = drawn.astype(np.float32)
    before, after = segments(speech[: blocks * 160], 1.0), segments(speech, 1.0)
    assert [len(s) for s in before[:-1]] == [len(s) for s in after[: max(0, len(before) - 1)]]
