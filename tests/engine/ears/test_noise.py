"""Noise suppression: less noise, the same speech, whatever the size of the pieces."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from tests.speech import noise, silence
from vivavoce.engine.ears import noise as suppression
from vivavoce.engine.ears.noise import Suppressor
from vivavoce.engine.ports import EAR_RATE, FRAME, Samples
from vivavoce.errors import ModelUnavailable

DELAY = 255
"""Samples: 160 for the blocks, 95 for the suppressor."""


def fed(suppressor: Suppressor, sound: Samples, piece: int) -> Samples:
    pieces = [suppressor.feed(sound[at : at + piece]) for at in range(0, len(sound), piece)]
    return np.concatenate(pieces)


def decibels(sound: Samples) -> float:
    return float(10 * np.log10(np.square(sound).mean() + 1e-12))


def above_the_noise(sound: Samples, spoken: npt.NDArray[np.bool_]) -> float:
    """How far speech is above its pauses, in dB."""
    frames = sound[: len(spoken) * FRAME].reshape(-1, FRAME)
    return decibels(frames[spoken]) - decibels(frames[~spoken])


def test_noise_is_taken_away_and_speech_is_not(jfk: Samples) -> None:
    speech = np.concatenate([silence(2), jfk])
    mixed = speech + noise(len(speech) / EAR_RATE, 0.02)
    found = fed(Suppressor(), mixed, 512)[DELAY:]
    power = np.square(speech[: len(found) // FRAME * FRAME].reshape(-1, FRAME)).mean(axis=1)
    spoken = power > power.max() / 100
    assert above_the_noise(found, spoken) > above_the_noise(mixed, spoken) + 5
    frames = found[: len(spoken) * FRAME].reshape(-1, FRAME)
    clean = speech[: len(spoken) * FRAME].reshape(-1, FRAME)
    assert abs(decibels(frames[spoken]) - decibels(clean[spoken])) < 2


def test_clean_speech_comes_through_16_ms_later(jfk: Samples) -> None:
    found = fed(Suppressor(), jfk, 320)
    assert abs(decibels(found) - decibels(jfk)) < 1.5
    likeness = [float(np.dot(jfk[:-400], found[d : d + len(jfk) - 400])) for d in range(400)]
    assert abs(int(np.argmax(likeness)) - DELAY) <= 2


def test_the_size_of_the_pieces_does_not_matter(jfk: Samples) -> None:
    sound = jfk[: 2 * EAR_RATE]
    whole = fed(Suppressor(), sound, len(sound))
    assert len(whole) == len(sound)
    for piece in (1000, 512, 160, 37):
        assert np.array_equal(fed(Suppressor(), sound, piece), whole)
    assert len(Suppressor().feed(silence(0))) == 0


def test_too_loud_a_sound_is_cut_and_does_not_wrap_around(jfk: Samples) -> None:
    found = Suppressor().feed(jfk[:EAR_RATE] * 50)
    assert np.abs(found).max() <= 1.0


def test_without_its_package_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert suppression.available()
    monkeypatch.setattr(suppression, "available", lambda: False)
    with pytest.raises(ModelUnavailable, match="livekit"):
        Suppressor()
