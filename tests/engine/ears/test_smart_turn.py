"""Whole turns and broken-off ones are told apart by their melody."""

from __future__ import annotations

import numpy as np

from tests.speech import silence
from vivavoce.engine.ears.detecting import SmartTurn
from vivavoce.engine.ears.logmel import log_mel
from vivavoce.engine.ports import EAR_RATE, Samples


async def test_a_whole_turn_scores_high_and_a_broken_one_low(
    judge: SmartTurn, jfk: Samples, beckett: Samples
) -> None:
    assert await judge.finished(jfk[: int(10.6 * EAR_RATE)]) > 0.5
    assert await judge.finished(beckett) > 0.5
    for cut_s in (1.5, 5.0, 6.0, 7.0, 7.8, 9.0, 10.0):
        assert await judge.finished(jfk[: int(cut_s * EAR_RATE)]) < 0.3, cut_s


async def test_nothing_is_no_turn(judge: SmartTurn) -> None:
    assert await judge.finished(silence(0)) == 0.0


async def test_only_the_last_eight_seconds_count(judge: SmartTurn, jfk: Samples) -> None:
    assert await judge.finished(jfk) == await judge.finished(jfk[-8 * EAR_RATE :])


def test_a_tone_lands_in_its_band() -> None:
    def loudest(hertz: float) -> int:
        time = np.arange(8 * EAR_RATE) / EAR_RATE
        tone = np.sin(2 * np.pi * hertz * time).astype(np.float32)
        return int(log_mel(tone)[:, 400].argmax())

    # On Slaney's scale 80 bands from 0 to 8 kHz are 0.5586 mel apart, and 1 kHz is at 15 mel.
    for hertz, mel in ((200.0, 3.0), (500.0, 7.5), (1000.0, 15.0), (6400.0, 42.0)):
        assert abs(loudest(hertz) + 1 - mel / 0.5586) < 1


def test_features_have_the_shape_and_the_range_of_whisper(jfk: Samples) -> None:
    features = log_mel(jfk[: 8 * EAR_RATE])
    assert features.shape == (80, 800)
    assert features.dtype == np.float32
    assert 0.0 < features.max() < 2.5
    assert features.max() - features.min() <= 2.0001  # eight decades, divided by four
    assert np.allclose(features, log_mel(jfk[: 8 * EAR_RATE] * 0.5), atol=0.01)


async def test_the_mean_of_silence_is_no_trouble(judge: SmartTurn) -> None:
    assert 0.0 <= await judge.finished(silence(3)) <= 1.0
