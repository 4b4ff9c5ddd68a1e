"""Sound in files: any usual container read as samples for the ears, and the mouth's sound written.

PyAV, which comes with aiortc, does the work. What is read was sent by
somebody: only containers and codecs of sound are opened, and none that names
other files or addresses (a playlist would be fetched).
"""

from __future__ import annotations

import struct
from collections.abc import Generator
from io import BytesIO
from itertools import chain
from typing import Literal

import av
import numpy as np
from av.error import FFmpegError

from vivavoce.engine.ports import EAR_RATE, MOUTH_RATE, Samples
from vivavoce.errors import InvalidRequest

Written = Literal["mp3", "opus", "aac", "flac", "wav", "pcm"]

MEDIA_TYPES: dict[Written, str] = {
    "mp3": "audio/mpeg",
    "opus": "audio/ogg",
    "aac": "audio/aac",
    "flac": "audio/flac",
    "wav": "audio/wav",
    "pcm": "audio/pcm",
}
_READ = {
    "format_whitelist": "wav,w64,mp3,ogg,matroska,webm,flac,mov,mp4,m4a,3gp,aac,aiff,au,caf,amr",
    "protocol_whitelist": "none",
}
# Container, codec, and what the container is told: nobody can go back to write a header.
_CODED: dict[str, tuple[str, str, dict[str, str]]] = {
    "mp3": ("mp3", "libmp3lame", {"write_xing": "0", "id3v2_version": "0"}),
    "opus": ("ogg", "libopus", {"page_duration": "200000"}),
    "aac": ("adts", "aac", {}),
    "flac": ("flac", "flac", {}),
}
_UNKNOWN = 0xFFFFFFFF


def read(data: bytes) -> Generator[Samples, None, None]:
    """The first track of sound, mono at `EAR_RATE`, piece by piece. Blocks; raises
    `InvalidRequest`."""
    try:
        with av.open(BytesIO(data), "r", options=_READ) as container:
            if not container.streams.audio:
                raise InvalidRequest("There is no sound in the file.")
            resampler = av.AudioResampler(format="flt", layout="mono", rate=EAR_RATE)
            for frame in chain(container.decode(container.streams.audio[0]), (None,)):
                for piece in resampler.resample(frame):
                    yield piece.to_ndarray().reshape(-1).astype(np.float32, copy=False)
    except (FFmpegError, ValueError) as fault:
        raise InvalidRequest(
            "The audio file cannot be read: it is damaged, or of no kind that is known here."
        ) from fault


class Writer:
    """PCM16 at `MOUTH_RATE` in, a file's bytes out, as they come. Blocks for a moment."""

    def __init__(self, form: Written) -> None:
        self._out = _Tail()
        self._begun = form != "wav"
        self._container = None
        if form in _CODED:
            kind, codec, options = _CODED[form]
            self._container = av.open(self._out, "w", format=kind, options=options)
            stream = self._container.add_stream(codec, rate=MOUTH_RATE, layout="mono")
            assert isinstance(stream, av.AudioStream)
            self._stream = stream
            self._time = 0

    def feed(self, pcm: bytes) -> bytes:
        if self._container is None:
            head = b"" if self._begun else _wav_header()
            self._begun = True
            return head + pcm
        samples = np.frombuffer(pcm, "<i2").reshape(1, -1)
        frame = av.AudioFrame.from_ndarray(samples, format="s16", layout="mono")
        frame.sample_rate, frame.pts = MOUTH_RATE, self._time
        self._time += samples.shape[1]
        self._container.mux(self._stream.encode(frame))
        return self._out.taken()

    def finish(self) -> bytes:
        if self._container is None:
            return b"" if self._begun else _wav_header()
        self._container.mux(self._stream.encode(None))
        self._container.close()
        return self._out.taken()


class _Tail:
    """A file that can only be written, and is read behind the pen."""

    def __init__(self) -> None:
        self._data = bytearray()

    def write(self, data: bytes) -> int:
        self._data += data
        return len(data)

    def taken(self) -> bytes:
        data, self._data = bytes(self._data), bytearray()
        return data


def _wav_header() -> bytes:
    """Of a length that nobody knows yet, as streams have it."""
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, MOUTH_RATE, MOUTH_RATE * 2, 2, 16)
    return (
        struct.pack("<4sI4s", b"RIFF", _UNKNOWN, b"WAVE")
        + form
        + struct.pack("<4sI", b"data", _UNKNOWN)
    )
