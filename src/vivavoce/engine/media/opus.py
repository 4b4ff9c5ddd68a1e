"""Opus by PyAV's libopus: the assistant's voice out, the user's in. Stateful, one of each a call.

The encoder takes the mouth's 24 kHz as it is: Opus does its own stateful
resampling, its RTP clock is 48 kHz whatever went in, and a resampler of ours
would add delay and nothing to hear. In-band FEC is on, DTX off.

FFmpeg's decoder can neither conceal nor read the in-band FEC of the next
packet, so a lost packet is drawn here: the voice goes on
at its pitch and fades. After `FADE` there is silence: a longer guess would be words
nobody said.
"""

from __future__ import annotations

from fractions import Fraction

import av
import numpy as np
import numpy.typing as npt

from vivavoce.engine.ports import MOUTH_RATE, Pcm

_Wave = npt.NDArray[np.float32]
RTP_RATE = 48_000
FRAME_MS = 20
FRAME_IN = MOUTH_RATE * FRAME_MS // 1000
"""Samples of a frame at the encoder."""
FRAME_OUT = RTP_RATE * FRAME_MS // 1000
"""Samples of a frame at the decoder, and the step of the RTP clock."""
_LOSS_PERCENT = 10  # what FEC is prepared for; at 0 libopus would leave it out
_EFFORT = 5  # of 10: a third cheaper than the top, and no ear tells 24 kHz speech apart
_SETTLED = 10
_SILENCE: Pcm = np.zeros(FRAME_IN, np.int16)
FADE = RTP_RATE * 60 // 1000
_HISTORY = RTP_RATE * 60 // 1000
_SEAM = RTP_RATE * 5 // 1000
_COARSE = 6  # the pitch is looked for at 8 kHz
_LAG_MIN = RTP_RATE // 400 // _COARSE
_LAG_MAX = RTP_RATE // 60 // _COARSE


class VoiceEncoder:
    """20 ms of mono PCM16 at `MOUTH_RATE` to one packet."""

    def __init__(self, bitrate: int) -> None:
        codec = av.CodecContext.create("libopus", "w")
        codec.sample_rate = MOUTH_RATE
        codec.layout = "mono"
        codec.format = "s16"
        codec.bit_rate = bitrate
        codec.time_base = Fraction(1, MOUTH_RATE)
        codec.options = {
            "application": "voip",
            "frame_duration": str(FRAME_MS),
            "fec": "1",
            "packet_loss": str(_LOSS_PERCENT),
            "dtx": "0",
            "compression_level": str(_EFFORT),
        }
        codec.open()
        self._codec = codec
        self._quiet = 0
        self._last = b""

    def encode(self, pcm: Pcm | None) -> bytes:
        """A frame, or None for silence.

        Long silence repeats its last packet: encoder and decoder have both
        come to rest by then, and most of a call is silence on our side.
        """
        self._quiet = self._quiet + 1 if pcm is None else 0
        if self._quiet <= _SETTLED:
            self._last = self._encode(_SILENCE if pcm is None else pcm)
        return self._last

    def _encode(self, pcm: Pcm) -> bytes:
        frame = av.AudioFrame.from_ndarray(pcm.reshape(1, -1), format="s16", layout="mono")
        frame.sample_rate = MOUTH_RATE
        (packet,) = self._codec.encode(frame)
        return bytes(packet)


class VoiceDecoder:
    """A packet to mono PCM16 at `RTP_RATE`, stereo mixed down."""

    def __init__(self) -> None:
        codec = av.CodecContext.create("libopus", "r")
        codec.layout = "mono"
        codec.sample_rate = RTP_RATE
        self._codec = codec

    def decode(self, payload: bytes) -> Pcm | None:
        """None for what is no Opus."""
        if not payload:  # FFmpeg would take it for the end of the stream
            return None
        try:
            frames = self._codec.decode(av.Packet(payload))
        except av.FFmpegError:
            return None
        pieces = [frame.to_ndarray().reshape(-1) for frame in frames]
        return np.concatenate(pieces) if pieces else None


# Milliseconds × 10 of one frame, by the configuration number of RFC 6716 §3.1: SILK, hybrid, CELT.
_TENTHS = (100, 200, 400, 600) * 3 + (100, 200) * 2 + (25, 50, 100, 200) * 4


def packet_samples(payload: bytes) -> int:
    """How long a packet sounds, at `RTP_RATE`; 0 if it is malformed (RFC 6716 §3.1, §3.2)."""
    if not payload:
        return 0
    count = (1, 2, 2, payload[1] & 0x3F if len(payload) > 1 else 0)[payload[0] & 3]
    tenths = _TENTHS[payload[0] >> 3] * count
    return tenths * RTP_RATE // 10_000 if tenths <= 1200 else 0


# --- What to play where a packet is missing


class Concealer:
    """Sees every good frame, draws the missing ones, and joins the next good one smoothly."""

    def __init__(self) -> None:
        self._history: _Wave = np.zeros(_HISTORY, np.float32)
        self._cycle: _Wave | None = None
        self._drawn = 0

    def good(self, pcm: Pcm) -> Pcm:
        """The frame as it is, or joined to what was drawn before it."""
        if self._cycle is not None:
            pcm = self._join(pcm)
        self._cycle, self._drawn = None, 0
        recent = pcm[-_HISTORY:]
        self._history = np.concatenate((self._history[recent.size :], recent)).astype(np.float32)
        return pcm

    def missing(self, samples: int) -> Pcm:
        """The next so many samples of a guess."""
        if self._drawn >= FADE:
            return np.zeros(samples, np.int16)
        if self._cycle is None:
            self._cycle = self._history[-_pitch(self._history) :]
        wave = self._draw(samples)
        self._drawn += samples
        return wave.astype(np.int16)

    def _draw(self, samples: int) -> _Wave:
        assert self._cycle is not None
        at = np.arange(self._drawn, self._drawn + samples)
        gain = np.clip(1.0 - at / FADE, 0.0, 1.0).astype(np.float32)
        return self._cycle[at % self._cycle.size] * gain

    def _join(self, pcm: Pcm) -> Pcm:
        seam = min(_SEAM, pcm.size)
        rising = np.linspace(0.0, 1.0, seam, dtype=np.float32)
        joined = pcm.copy()
        joined[:seam] = pcm[:seam] * rising + self._draw(seam) * (1.0 - rising)
        return joined


def _pitch(history: _Wave) -> int:
    """The length of one cycle of the voice: the lag at which it best repeats itself."""
    coarse = history.reshape(-1, _COARSE).mean(axis=1)
    end = coarse[-_LAG_MAX:]
    energy = float(end @ end)
    if energy < 1.0:
        return _LAG_MAX * _COARSE
    search = coarse[-2 * _LAG_MAX : -_LAG_MIN]
    scores = np.correlate(search, end, mode="valid")
    windows = np.lib.stride_tricks.sliding_window_view(search, _LAG_MAX)
    norms = np.sqrt((windows * windows).sum(axis=1)) + 1e-6
    return (_LAG_MAX - int(np.argmax(scores / norms))) * _COARSE
