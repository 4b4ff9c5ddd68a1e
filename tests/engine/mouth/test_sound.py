"""Silence is cut off, speech is not."""

from __future__ import annotations

import numpy as np

from vivavoce.engine.mouth.speaking import heard, pcm16, settled
from vivavoce.engine.ports import MOUTH_RATE, Samples

KEEP = MOUTH_RATE * 30 // 1000


def trim(speech: Samples) -> Samples:
    return speech[heard(speech)]


def tone(seconds: float) -> Samples:
    time = np.arange(int(seconds * MOUTH_RATE)) / MOUTH_RATE
    return (0.3 * np.sin(2 * np.pi * 440 * time)).astype(np.float32)


def quiet(seconds: float) -> Samples:
    return np.full(int(seconds * MOUTH_RATE), 0.0005, dtype=np.float32)


def test_silence_at_both_ends_is_cut_to_a_little() -> None:
    trimmed = trim(np.concatenate([quiet(0.4), tone(0.5), quiet(0.3), tone(0.2), quiet(0.6)]))
    assert abs(len(trimmed) - MOUTH_RATE - 2 * KEEP) <= MOUTH_RATE // 100


def test_speech_without_silence_stays_as_it_is() -> None:
    assert np.array_equal(trim(tone(0.1)), tone(0.1))


def test_silence_alone_is_nothing() -> None:
    assert len(trim(quiet(1.0))) == 0
    assert len(trim(quiet(0.0))) == 0


def test_too_loud_is_as_loud_as_can_be() -> None:
    assert pcm16(np.array([2.0, -2.0, 0.0], dtype=np.float32)) == b"\xff\x7f\x00\x80\x00\x00"


def test_a_pause_is_not_counted_to_the_word_before_it() -> None:
    speech = np.concatenate([tone(0.3), quiet(0.3), tone(0.3), tone(0.2)])
    ends = [MOUTH_RATE * ms // 1000 for ms in (200, 500, 550, 900, 1100)]
    settled_ms = [end * 1000 // MOUTH_RATE for end in settled(speech, ends)]
    assert settled_ms == [200, 300, 300, 900, 1100]
