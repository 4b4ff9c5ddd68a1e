"""Formats of the wire, and rates that change without seams."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vivavoce.engine.media.audio import Inbound, Outbound, Resampler, decode, encode, to_pcm
from vivavoce.engine.ports import EAR_RATE, MOUTH_RATE, Pcm

TELEPHONE = ("audio/pcmu", "audio/pcma")
SECOND = np.arange(24_000) / 24_000


def tone(hertz: float, loud: float = 0.5) -> Pcm:
    return to_pcm((np.sin(2 * np.pi * hertz * SECOND) * loud).astype(np.float32))


@pytest.mark.parametrize(
    ("form", "code", "level"),
    [
        # The corner stones of G.711's tables.
        ("audio/pcmu", 0x00, -32124),
        ("audio/pcmu", 0x80, 32124),
        ("audio/pcmu", 0xFF, 0),
        ("audio/pcmu", 0x7F, 0),
        ("audio/pcma", 0xD5, 8),
        ("audio/pcma", 0x55, -8),
        ("audio/pcma", 0xAA, 32256),
        ("audio/pcma", 0x2A, -32256),
    ],
)
def test_the_telephones_codes_are_those_of_the_standard(form: str, code: int, level: int) -> None:
    assert decode(bytes([code]), form)[0] == level


@pytest.mark.parametrize("form", TELEPHONE)
def test_every_code_survives_the_way_there_and_back(form: str) -> None:
    codes = bytes(range(256))
    levels = decode(codes, form)
    assert (decode(encode(levels, form), form) == levels).all()


@pytest.mark.parametrize("form", TELEPHONE)
@given(level=st.integers(-32_768, 32_767))
def test_a_level_becomes_one_near_it(form: str, level: int) -> None:
    near = int(decode(encode(np.array([level], np.int16), form), form)[0])
    assert abs(near - level) <= max(16, abs(level) // 16)


@given(st.lists(st.integers(1, 999), min_size=1, max_size=40))
def test_sound_cut_anywhere_is_the_same_sound(cuts: list[int]) -> None:
    data = tone(440).tobytes()
    whole = Inbound("audio/pcm").feed(data)
    pieces, at, inbound = [], 0, Inbound("audio/pcm")
    for cut in cuts:
        pieces.append(inbound.feed(data[at : at + cut]))
        at += cut
    pieces.append(inbound.feed(data[at:]))
    again = np.concatenate(pieces)
    assert len(again) == pytest.approx(len(whole), abs=1)
    same = min(len(again), len(whole))
    assert np.abs(again[:same] - whole[:same]).max() < 1e-3


@pytest.mark.parametrize("hertz", [200, 1000, 3000, 6000])
def test_the_ears_hear_the_same_pitch_and_loudness(hertz: float) -> None:
    heard = Inbound("audio/pcm").feed(tone(hertz).tobytes())[2000:14_000]
    spectrum = np.abs(np.fft.rfft(heard * np.hanning(len(heard))))
    assert np.argmax(spectrum) * EAR_RATE / len(heard) == pytest.approx(hertz, rel=0.01)
    assert np.sqrt(np.mean(heard**2)) == pytest.approx(0.5 / np.sqrt(2), rel=0.1)


def test_what_the_ears_cannot_hear_does_not_come_back_as_something_else() -> None:
    heard = Inbound("audio/pcm").feed(tone(11_000).tobytes())[2000:14_000]
    assert np.sqrt(np.mean(heard**2)) < 0.02, "no mirror image below 8 kHz"


@pytest.mark.parametrize("form", TELEPHONE)
def test_the_last_of_an_answer_reaches_the_telephone(form: str) -> None:
    outbound = Outbound(form)
    sent = b"".join(outbound.feed(piece) for piece in _pieces(tone(440).tobytes(), 9600))
    sent += outbound.feed(b"", last=True)
    assert len(sent) == pytest.approx(8000, abs=2)


def test_pcm_goes_out_untouched() -> None:
    outbound, pcm = Outbound("audio/pcm"), tone(440).tobytes()
    assert outbound.feed(pcm) + outbound.feed(b"", last=True) == pcm


def test_loud_sound_is_held_at_the_limit_and_does_not_wrap() -> None:
    assert to_pcm(np.array([1.5, -1.5], np.float32)).tolist() == [32767, -32768]


def test_the_same_rate_needs_no_resampling() -> None:
    pcm = tone(440)
    assert (to_pcm(Resampler(MOUTH_RATE, MOUTH_RATE).feed(pcm)) == pcm).all()


def _pieces(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]
