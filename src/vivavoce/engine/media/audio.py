"""Sound as numbers: the wire's formats, and rates that change without seams.

PCM16 and G.711 on the wire, float32 at 16 kHz for the ears. G.711 is two
tables made once from the formulas of the standard.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import soxr

from vivavoce.engine.ports import EAR_RATE, MOUTH_RATE, Pcm, Samples

RATES: dict[str, int] = {"audio/pcm": 24_000, "audio/pcmu": 8_000, "audio/pcma": 8_000}
WIDTHS: dict[str, int] = {"audio/pcm": 2, "audio/pcmu": 1, "audio/pcma": 1}


class Inbound:
    """One format's bytes to the ears' samples, piece by piece."""

    def __init__(self, form: str) -> None:
        self.form = form
        self._rest = b""  # half a sample, when a piece was cut in the middle of one
        self._rate = Resampler(RATES[form], EAR_RATE)

    def feed(self, data: bytes) -> Samples:
        data = self._rest + data
        whole = len(data) - len(data) % WIDTHS[self.form]
        self._rest = data[whole:]
        return self._rate.feed(decode(data[:whole], self.form))

    def finish(self) -> Samples:
        """What was held back; what follows begins anew."""
        held, self._rate = self._rate, Resampler(RATES[self.form], EAR_RATE)
        return held.feed(np.zeros(0, np.int16), last=True)


class Outbound:
    """The mouth's PCM16 to one format's bytes, piece by piece."""

    def __init__(self, form: str) -> None:
        self.form = form
        self._rate = None if RATES[form] == MOUTH_RATE else Resampler(MOUTH_RATE, RATES[form])

    def feed(self, pcm: bytes, *, last: bool = False) -> bytes:
        """With what was held back, where nothing follows."""
        if self._rate is None:
            return pcm
        return encode(to_pcm(self._rate.feed(np.frombuffer(pcm, np.int16), last=last)), self.form)


class Resampler:
    """Mono PCM16 in, float32 between -1 and 1 out at another rate; keeps its state."""

    def __init__(self, source: int, target: int) -> None:
        # "Low" is flat to 6 kHz here and a quarter of the cost of the default.
        self._stream = (
            soxr.ResampleStream(source, target, 1, dtype="float32", quality="LQ")
            if source != target
            else None
        )

    def feed(self, pcm: Pcm, *, last: bool = False) -> Samples:
        samples = pcm.astype(np.float32) / 32768.0
        if self._stream is None:
            return samples
        return np.asarray(self._stream.resample_chunk(samples, last=last), dtype=np.float32)


def to_pcm(samples: Samples) -> Pcm:
    pcm: Pcm = np.clip(np.rint(samples * 32768.0), -32768, 32767).astype(np.int16)
    return pcm


def decode(data: bytes, form: str) -> Pcm:
    """Whole samples of a format as PCM16."""
    if form == "audio/pcm":
        return np.frombuffer(data, "<i2").astype(np.int16, copy=False)
    table = _MU_DECODED if form == "audio/pcmu" else _A_DECODED
    decoded: Pcm = table[np.frombuffer(data, np.uint8)]
    return decoded


def encode(pcm: Pcm, form: str) -> bytes:
    if form == "audio/pcm":
        return pcm.astype("<i2", copy=False).tobytes()
    table = _MU_ENCODED if form == "audio/pcmu" else _A_ENCODED
    return table[pcm.astype(np.int32) + 32768].tobytes()


# --- G.711 ----------------------------------------------------------------------------


def _mu_law() -> Pcm:
    code = ~np.arange(256, dtype=np.uint8)
    exponent, mantissa = (code >> 4) & 7, (code & 15).astype(np.int32)
    level = (((mantissa << 3) + 132) << exponent) - 132
    return np.where(code & 0x80, -level, level).astype(np.int16)


def _a_law() -> Pcm:
    code = np.arange(256, dtype=np.uint8) ^ 0x55
    exponent, mantissa = ((code >> 4) & 7).astype(np.int32), (code & 15).astype(np.int32)
    level = np.where(
        exponent == 0,
        (mantissa << 4) + 8,
        ((mantissa << 4) + 264) << np.maximum(exponent - 1, 0),
    )
    return np.where(code & 0x80, level, -level).astype(np.int16)


def _nearest(decoded: Pcm) -> npt.NDArray[np.uint8]:
    """For every PCM16 value the code whose level is nearest."""
    order = np.argsort(decoded, kind="stable")
    levels = decoded[order].astype(np.int32)
    middles = (levels[1:] + levels[:-1]) / 2
    return order[np.searchsorted(middles, np.arange(-32768, 32768))].astype(np.uint8)


_MU_DECODED, _A_DECODED = _mu_law(), _a_law()
_MU_ENCODED, _A_ENCODED = _nearest(_MU_DECODED), _nearest(_A_DECODED)
