"""Sound of every form that the protocol allows, there and back."""

from __future__ import annotations

import numpy as np
import pytest
from wyoming.audio import AudioChunk

from vivavoce.runtime.provider.sound import RATE
from vivavoce.server.wyoming.lines import Broken
from vivavoce.server.wyoming.sound import Form, Inbound, Outbound, form_of, loud


def tone(seconds: float = 1.0, loudness: float = 0.5) -> bytes:
    wave = np.sin(np.arange(int(RATE * seconds)) * (2 * np.pi * 440 / RATE)) * loudness
    return bytes((wave * 32767).astype("<i2").tobytes())


def heard(pcm: bytes) -> tuple[float, float]:
    """Its pitch and its power, away from its ends."""
    samples = np.frombuffer(pcm, "<i2").astype(np.float64)[2400:-2400] / 32768
    spectrum = np.abs(np.fft.rfft(samples * np.hanning(len(samples))))
    pitch = float(np.argmax(spectrum)) * RATE / len(samples)
    return pitch, float(np.sqrt(np.mean(samples**2)))


@pytest.mark.parametrize("rate", [8_000, 16_000, 22_050, 24_000, 44_100, 48_000, 96_000])
@pytest.mark.parametrize("width", [1, 2, 3, 4])
@pytest.mark.parametrize("channels", [1, 2, 6])
def test_a_tone_survives_every_form(rate: int, width: int, channels: int) -> None:
    form = Form(rate, width, channels)
    there, back = Outbound(form), Inbound()
    sent = there.feed(tone()[:20_000]) + there.feed(tone()[20_000:], last=True)
    assert len(sent) % form.frame == 0
    assert abs(len(sent) / form.frame / rate - 1.0) < 0.01
    cut = len(sent) // 3 // form.frame * form.frame
    came = back.feed(sent[:cut], form) + back.feed(sent[cut:], form) + back.finish()
    pitch, power = heard(came)
    assert abs(pitch - 440) < 3
    assert abs(power - 0.5 / np.sqrt(2)) < 0.02


def test_a_microphone_that_changes_its_form_is_heard_on() -> None:
    inbound = Inbound()
    pieces = [
        inbound.feed(Outbound(form).feed(tone(0.5), last=True), form)
        for form in (Form(16_000), Form(44_100, 4, 2), Form(24_000))
    ]
    assert abs(len(b"".join(pieces) + inbound.finish()) / 2 / RATE - 1.5) < 0.02


def test_every_channel_counts() -> None:
    left = np.frombuffer(tone(), "<i2")
    both = np.stack([left, np.zeros_like(left)], axis=1).tobytes()
    _, power = heard(Inbound().feed(both, Form(RATE, 2, 2)))
    assert abs(power - 0.25 / np.sqrt(2)) < 0.01


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ((0, 2, 1), "rate"),
        ((10**9, 2, 1), "rate"),
        ((16_000, 0, 1), "width"),
        ((16_000, 8, 1), "width"),
        ((16_000, 2, 0), "channels"),
        ((16_000, 2, 100), "channels"),
        ((16_000.5, 2, 1), "whole numbers"),
        ((True, 2, 1), "whole numbers"),
    ],
)
def test_a_form_that_is_none_is_refused(form: tuple[int, int, int], words: str) -> None:
    with pytest.raises(Broken, match=words):
        form_of(AudioChunk(*form, b""))


def test_half_a_sample_and_a_piece_without_end_are_refused() -> None:
    with pytest.raises(Broken, match="middle of a sample"):
        Inbound().feed(b"abc", Form())
    with pytest.raises(Broken, match="at most 10 seconds"):
        Inbound().feed(bytes(20_002), Form(1_000, 2, 1))


def test_a_quiet_room_is_not_loud_and_a_voice_is() -> None:
    assert not loud(b"")
    assert not loud(tone(0.1, 0.005))
    assert loud(tone(0.1, 0.02))
