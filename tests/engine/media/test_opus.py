"""The codec and the drawing of what is missing."""

from __future__ import annotations

from fractions import Fraction

import av
import numpy as np
import pytest

from tests.engine.media.far_end import Pcm, pitch, tone
from vivavoce.engine.media.opus import (
    FADE,
    FRAME_IN,
    FRAME_OUT,
    Concealer,
    VoiceDecoder,
    VoiceEncoder,
    packet_samples,
)


def voice(frames: int) -> Pcm:
    """Something like a vowel at 24 kHz: a pitch of 120 Hz, harmonics, breath, a slow swell."""
    at = np.arange(frames * FRAME_IN) / 24_000
    wave = sum(np.sin(2 * np.pi * 120 * k * at + k) / k for k in range(1, 20))
    breath = 0.05 * np.random.default_rng(1).standard_normal(at.size)
    wave = (np.asarray(wave) + breath) * (0.6 + 0.4 * np.sin(2 * np.pi * 3 * at))
    return np.asarray(wave / np.abs(wave).max() * 12_000, dtype=np.int16)


def encoded(pcm: Pcm, encoder: VoiceEncoder) -> list[bytes]:
    return [encoder.encode(frame) for frame in pcm.reshape(-1, FRAME_IN)]


def decoded(packets: list[bytes]) -> Pcm:
    decoder = VoiceDecoder()
    frames = [decoder.decode(packet) for packet in packets]
    return np.concatenate([frame for frame in frames if frame is not None])


def test_a_tone_survives_the_codec() -> None:
    packets = encoded(tone(660, FRAME_IN * 50, 24_000), VoiceEncoder(28_000))
    sound = decoded(packets)
    assert sound.size == 50 * FRAME_OUT
    assert pitch(sound, 48_000) == pytest.approx(660, abs=3)


def test_a_second_of_voice_takes_24_to_32_kilobits() -> None:
    packets = encoded(voice(250), VoiceEncoder(28_000))
    kilobits = sum(map(len, packets)) * 8 / 5 / 1000
    assert 22 <= kilobits <= 32


def test_most_packets_carry_the_one_before_for_whoever_lost_it() -> None:
    # RFC 6716 §4.2.4: in SILK and hybrid packets the second bit of the first
    # byte after the header says that a redundant frame (LBRR) is inside.
    packets = encoded(voice(250), VoiceEncoder(28_000))
    redundant = [p for p in packets if p[0] >> 3 < 16 and p[1] & 0x40]
    assert len(redundant) > 150


def test_every_packet_is_twenty_milliseconds_of_mono() -> None:
    packets = encoded(voice(20), VoiceEncoder(28_000))
    assert {packet_samples(p) for p in packets} == {FRAME_OUT}
    assert not any(p[0] & 0x04 for p in packets)


def test_silence_keeps_flowing_and_does_not_change_the_voice_after_it() -> None:
    encoder, reference = VoiceEncoder(28_000), VoiceEncoder(28_000)
    long = [encoder.encode(None) for _ in range(200)]
    short = [reference.encode(None) for _ in range(10)]
    assert all(len(packet) > 2 for packet in long), "no DTX"
    after_long = decoded(long + encoded(voice(50), encoder)).astype(float)
    after_short = decoded(short + encoded(voice(50), reference)).astype(float)
    assert np.abs(after_long[: 200 * FRAME_OUT]).max() < 50
    difference = after_long[200 * FRAME_OUT :] - after_short[10 * FRAME_OUT :]
    assert np.abs(difference).max() < 100


def test_stereo_is_mixed_down() -> None:
    codec = av.CodecContext.create("libopus", "w")
    codec.sample_rate, codec.layout, codec.format = 48_000, "stereo", "s16"
    codec.time_base = Fraction(1, 48_000)
    both = np.repeat(tone(440, 960 * 20, 48_000), 2).reshape(1, -1)
    frame = av.AudioFrame.from_ndarray(both, format="s16", layout="stereo")
    frame.sample_rate = 48_000
    sound = decoded([bytes(p) for p in [*codec.encode(frame), *codec.encode(None)]])
    assert pitch(sound[:19_200], 48_000) == pytest.approx(440, abs=5)


@pytest.mark.parametrize("junk", [b"", b"\xff\xff\xff", b"\x03"])
def test_what_is_no_opus_is_nothing_and_breaks_nothing(junk: bytes) -> None:
    decoder = VoiceDecoder()
    assert decoder.decode(junk) is None
    assert packet_samples(junk) in (0, FRAME_OUT)
    (packet,) = encoded(voice(1), VoiceEncoder(28_000))
    assert decoder.decode(packet) is not None


@pytest.mark.parametrize(
    ("header", "milliseconds"),
    [
        (b"\x00", 10),
        (b"\x18", 60),
        (b"\x68", 20),
        (b"\x80", 2.5),
        (b"\xf9", 40),
        (b"\xfb\x03", 60),
        (b"\x1b\x03", 0),  # 180 ms: no packet may be longer than 120
        (b"\xfb", 0),
        (b"", 0),
    ],
)
def test_a_packets_length_is_read_from_its_header(header: bytes, milliseconds: float) -> None:
    assert packet_samples(header) == milliseconds * 48


def test_a_missing_frame_goes_on_at_the_voices_pitch_and_joins_smoothly() -> None:
    sound = tone(200, 960 * 20, 48_000)
    concealer = Concealer()
    heard = [
        concealer.missing(960) if n in (10, 14) else concealer.good(sound[n * 960 : n * 960 + 960])
        for n in range(20)
    ]
    whole = np.concatenate(heard)
    assert pitch(whole, 48_000) == pytest.approx(200, abs=5)
    assert np.abs(heard[10]).max() > 6000
    steps = np.abs(np.diff(whole.astype(int)))
    assert steps.max() < 3 * np.abs(np.diff(sound.astype(int))).max(), "no click"


def test_a_long_gap_fades_to_silence() -> None:
    concealer = Concealer()
    concealer.good(tone(200, 960, 48_000))
    drawn = np.concatenate([concealer.missing(960) for _ in range(6)])
    assert np.abs(drawn[FADE:]).max() == 0
    after = concealer.good(tone(200, 960, 48_000))
    assert after.size == 960


def test_silence_is_concealed_by_silence() -> None:
    concealer = Concealer()
    assert not concealer.missing(960).any()
