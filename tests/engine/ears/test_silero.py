"""Voice activity on human speech, silence and noise."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.speech import noise, silence
from vivavoce.engine.ears.detecting import SileroVad, load_silero
from vivavoce.engine.ports import EAR_RATE, FRAME, Detector, Samples
from vivavoce.engine.turn.endpoint import Endpointer
from vivavoce.engine.turn.facts import SpeechStarted, SpeechStopped
from vivavoce.errors import ModelUnavailable
from vivavoce.wire.realtime.session import ServerVad

NewVad = Callable[[], SileroVad]


def frames(speech: Samples) -> list[Samples]:
    return [speech[i : i + FRAME] for i in range(0, len(speech) - FRAME + 1, FRAME)]


def probabilities(vad: Detector, speech: Samples) -> list[float]:
    return [vad.feed(frame) for frame in frames(speech)]


def test_speech_is_told_from_silence_and_noise(new_vad: NewVad, jfk: Samples) -> None:
    assert np.mean([p > 0.5 for p in probabilities(new_vad(), jfk)]) > 0.5
    for nothing in (silence(3), noise(3, 0.003), noise(3, 0.1)):
        assert max(probabilities(new_vad(), nothing)) < 0.5


def test_detectors_share_a_model_and_nothing_else(new_vad: NewVad, jfk: Samples) -> None:
    alone = probabilities(new_vad(), jfk[: FRAME * 60])
    one, other = new_vad(), new_vad()
    together = []
    for frame in frames(jfk[: FRAME * 60]):
        together.append(one.feed(frame))
        other.feed(frame[::-1].copy())
    assert together == alone


def test_a_reset_detector_is_as_new(new_vad: NewVad, jfk: Samples) -> None:
    vad = new_vad()
    first = probabilities(vad, jfk[: FRAME * 60])
    vad.reset()
    assert probabilities(vad, jfk[: FRAME * 60]) == first


def test_a_frame_of_another_size_is_refused(new_vad: NewVad) -> None:
    with pytest.raises(ValueError, match="512"):
        new_vad().feed(silence(0.01))


def test_the_six_phrases_of_a_speaker_are_six_turns(new_vad: NewVad, beckett: Samples) -> None:
    vad, points = new_vad(), Endpointer(ServerVad())
    seen = [m for p in probabilities(vad, beckett) for m in points.feed(p)]
    assert sum(isinstance(m, SpeechStarted) for m in seen) == 6
    assert sum(isinstance(m, SpeechStopped) for m in seen) == 6


def test_words_after_a_long_silence_are_heard_like_the_first_ones(
    new_vad: NewVad, jfk: Samples
) -> None:
    words = jfk[: 38 * FRAME] + noise(38 * FRAME / EAR_RATE, 0.05)
    first = sum(p >= 0.5 for p in probabilities(new_vad(), words))
    vad = new_vad()
    probabilities(vad, jfk)
    probabilities(vad, silence(12))
    assert sum(p >= 0.5 for p in probabilities(vad, words)) >= 0.9 * first > 15


def test_a_missing_or_damaged_model_says_so(tmp_path: Path) -> None:
    path = tmp_path / "silero_vad.onnx"
    with pytest.raises(ModelUnavailable, match="missing"):
        load_silero(path)
    path.write_bytes(b"not a model")
    with pytest.raises(ModelUnavailable, match="damaged"):
        load_silero(path)
