"""Opus by PyAV's libopus: the assistant's voice out, the user's in. Stateful, one of each a call.

The encoder takes the mouth's 24 kHz as it is: Opus does its own stateful
resampling, its RTP clock is 48 kHz whatever went in, and a resampler of ours
would add delay and nothing to hear. In-band FEC is on, DTX off.

FFmpeg's decoder can neither conceal nor read the in-band FEC of the next
packet, so a lost packet is drawn by `conceal.py`.
"""

from __future__ import annotations

from fractions import Fraction

import av
import numpy as np
import numpy.typing as npt

from vivavoce.engine.ports import MOUTH_RATE

Pcm = npt.NDArray[np.int16]

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


# Milliseconds × 10 of one frame, by the configuration number of RFC 6716 §3.1.
_SILK = (100, 200, 400, 600)
_HYBRID = (100, 200)
_CELT = (25, 50, 100, 200)


def packet_samples(payload: bytes) -> int:
    """How long a packet sounds, at `RTP_RATE`; 0 if it is malformed (RFC 6716 §3.1, §3.2)."""
    if not payload:
        return 0
    config = payload[0] >> 3
    if config < 12:
        tenths = _SILK[config & 3]
    elif config < 16:
        tenths = _HYBRID[config & 1]
    else:
        tenths = _CELT[config & 3]
    match payload[0] & 3:
        case 0:
            count = 1
        case 1 | 2:
            count = 2
        case _:
            count = payload[1] & 0x3F if len(payload) > 1 else 0
    return tenths * count * RTP_RATE // 10_000 if tenths * count <= 1200 else 0
