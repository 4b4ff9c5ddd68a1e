"""Sound of any rate, width and number of channels that the protocol allows, from and to PCM16 mono
at `RATE`. Each way remembers where it is, so that pieces fit together. No I/O."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import soxr
from wyoming.audio import AudioChunk, AudioFormat, AudioStart

from vivavoce.runtime.provider.sound import RATE
from vivavoce.server.wyoming.lines import Broken
from vivavoce.wire.values import Value

Samples = npt.NDArray[np.float32]

_RATES = (1_000, 384_000)
_WIDTHS = (1, 2, 3, 4)
_CHANNELS = (1, 32)
_LONGEST = 10
"""Seconds in one piece. A few bytes may be much sound."""
_LOUD = 0.006
"""-44 dB: what a quiet room stays below, and a voice across it does not."""


class Form(Value):
    """Samples a second, bytes a sample (signed, little-endian, as the package converts them), and
    channels, which take turns."""

    rate: int = 22_050
    width: int = 2
    channels: int = 1

    @property
    def frame(self) -> int:
        return self.width * self.channels


def form_of(told: AudioFormat | AudioStart | AudioChunk) -> Form:
    """Raises `Broken`."""
    given = (told.rate, told.width, told.channels)
    if not all(type(number) is int for number in given):
        raise Broken("A sound's rate, width and channels are whole numbers.")
    rate, width, channels = given
    if not _RATES[0] <= rate <= _RATES[1]:
        raise Broken(f"A sound's rate is from {_RATES[0]} to {_RATES[1]} hertz.")
    if width not in _WIDTHS:
        raise Broken("A sound's width is 1, 2, 3 or 4 bytes.")
    if not _CHANNELS[0] <= channels <= _CHANNELS[1]:
        raise Broken(f"A sound has at most {_CHANNELS[1]} channels.")
    return Form(rate, width, channels)


class Inbound:
    """From somebody's microphone."""

    def __init__(self) -> None:
        self._form: Form | None = None
        self._stream: soxr.ResampleStream | None = None

    def feed(self, audio: bytes, form: Form) -> bytes:
        """Raises `Broken` where the bytes are no whole samples, or too many."""
        if len(audio) % form.frame:
            raise Broken("A piece of sound ends in the middle of a sample.")
        if len(audio) > _LONGEST * form.frame * form.rate:
            raise Broken(f"A piece of sound has at most {_LONGEST} seconds.")
        tail = b"" if form == self._form else self._begin(form)
        return tail + self._resampled(_mono(audio, form), last=False)

    def finish(self) -> bytes:
        """What the resampler still holds back."""
        tail = self._resampled(np.zeros(0, np.float32), last=True)
        self._form = self._stream = None
        return tail

    def _begin(self, form: Form) -> bytes:
        tail = self.finish()
        self._form = form
        if form.rate != RATE:
            self._stream = soxr.ResampleStream(form.rate, RATE, 1, dtype="float32")
        return tail

    def _resampled(self, samples: Samples, *, last: bool) -> bytes:
        if self._stream is not None:
            samples = self._stream.resample_chunk(samples, last=last)
        return _packed(samples, Form(RATE))


class Outbound:
    """To somebody's loudspeaker, in the form that it wants."""

    def __init__(self, form: Form) -> None:
        self.form = form
        same = form.rate == RATE
        self._stream = None if same else soxr.ResampleStream(RATE, form.rate, 1, dtype="float32")

    def feed(self, pcm: bytes, *, last: bool = False) -> bytes:
        samples = np.frombuffer(pcm, "<i2").astype(np.float32) / np.float32(32768)
        if self._stream is not None:
            samples = self._stream.resample_chunk(samples, last=last)
        return _packed(samples, self.form)


def loud(pcm: bytes) -> bool:
    """Is there something to hear in PCM16?"""
    samples = np.frombuffer(pcm, "<i2").astype(np.float32) / np.float32(32768)
    return len(samples) > 0 and float(np.sqrt(np.mean(np.square(samples)))) >= _LOUD


def _mono(audio: bytes, form: Form) -> Samples:
    """The mean of its channels, from -1 to 1."""
    if form.width == 3:
        # As the upper bytes of 32 bits, so that the sign is where it belongs.
        wide = np.zeros((len(audio) // 3, 4), np.uint8)
        wide[:, 1:] = np.frombuffer(audio, np.uint8).reshape(-1, 3)
        whole = wide.view("<i4").reshape(-1)
    else:
        whole = np.frombuffer(audio, {1: "<i1", 2: "<i2", 4: "<i4"}[form.width])
    width = 4 if form.width == 3 else form.width
    samples = whole.astype(np.float32) / np.float32(1 << (8 * width - 1))
    mono: Samples = samples.reshape(-1, form.channels).mean(axis=1, dtype=np.float32)
    return mono


def _packed(samples: Samples, form: Form) -> bytes:
    if form.width == 3:
        whole = (np.clip(samples, -1, 1).astype(np.float64) * 0x7FFFFF).astype("<i4")
        narrow = np.repeat(whole, form.channels).view(np.uint8).reshape(-1, 4)[:, :3]
        return narrow.tobytes()
    kind, most = {1: ("<i1", 0x7F), 2: ("<i2", 0x7FFF), 4: ("<i4", 0x7FFFFFFF)}[form.width]
    whole = (np.clip(samples, -1, 1).astype(np.float64) * most).astype(kind)
    return np.repeat(whole, form.channels).tobytes()
