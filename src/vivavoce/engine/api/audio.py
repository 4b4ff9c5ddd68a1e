"""`POST /v1/audio/transcriptions` and `POST /v1/audio/speech`: the engine's ears and mouth alone.

Both stand back for live conversations: what is asked for here is never urgent
to the ears, and to the mouth it has seconds of sound in front of it.

Files are read and written by PyAV, which comes with aiortc. What is read was sent
by somebody: only containers and codecs of sound are opened, and none that names
other files or addresses (a playlist would be fetched).
"""

from __future__ import annotations

import asyncio
import base64
import math
import zlib
from collections.abc import AsyncGenerator, Generator, Iterator
from contextlib import aclosing, closing
from dataclasses import dataclass
from io import BytesIO
from itertools import chain
from typing import Annotated, Any, Literal

import av
import numpy as np
from av.error import FFmpegError
from pydantic import BeforeValidator, ConfigDict, Field
from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from vivavoce.engine.api.answers import (
    EVENTS,
    Endpoint,
    Streamed,
    answer,
    event,
    gathered,
    key_of,
    parsed,
    while_connected,
)
from vivavoce.engine.ears.segments import LONGEST_S, segments
from vivavoce.engine.ports import EAR_RATE, MOUTH_RATE, Samples
from vivavoce.engine.shell.work import Parts
from vivavoce.engine.turn.clauses import Clauses, pause_ms
from vivavoce.engine.turn.configuration import keyterms, lacks
from vivavoce.errors import EarsError, InvalidRequest, PayloadTooLarge
from vivavoce.language.en.dictation import dictated
from vivavoce.wire.realtime.model import Model
from vivavoce.wire.realtime.refusal import reading, refused
from vivavoce.wire.values import Value

Written = Literal["mp3", "opus", "aac", "flac", "wav", "pcm"]

_READ = {
    "format_whitelist": "wav,w64,mp3,ogg,matroska,webm,flac,mov,mp4,m4a,3gp,aac,aiff,au,caf,amr",
    "protocol_whitelist": "none",
}
# Media type, container, codec, and what the container is told: nobody can go back to write a
# header, so that of a WAV has no length.
FORMS: dict[Written, tuple[str, str, str, dict[str, str]]] = {
    "mp3": ("audio/mpeg", "mp3", "libmp3lame", {"write_xing": "0", "id3v2_version": "0"}),
    "opus": ("audio/ogg", "ogg", "libopus", {"page_duration": "200000"}),
    "aac": ("audio/aac", "adts", "aac", {}),
    "flac": ("audio/flac", "flac", "flac", {}),
    "wav": ("audio/wav", "wav", "pcm_s16le", {"fflags": "+bitexact"}),
    "pcm": ("audio/pcm", "s16le", "pcm_s16le", {}),
}


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
        words = "The audio file cannot be read: it is damaged, or of no kind that is known here."
        raise InvalidRequest(words) from fault


class Writer:
    """PCM16 at `MOUTH_RATE` in, a file's bytes out, as they come. Blocks for a moment."""

    def __init__(self, form: Written) -> None:
        _, kind, codec, options = FORMS[form]
        self._out = _Tail()
        self._container = av.open(self._out, "w", format=kind, options=options)
        stream = self._container.add_stream(codec, rate=MOUTH_RATE, layout="mono")
        assert isinstance(stream, av.AudioStream)
        self._stream = stream
        self._time = 0

    def feed(self, pcm: bytes) -> bytes:
        samples = np.frombuffer(pcm, "<i2").reshape(1, -1)
        frame = av.AudioFrame.from_ndarray(samples, format="s16", layout="mono")
        frame.sample_rate, frame.pts = MOUTH_RATE, self._time
        self._time += samples.shape[1]
        self._container.mux(self._stream.encode(frame))
        return self._out.taken()

    def finish(self) -> bytes:
        self._container.start_encoding()
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


MAX_FILE = 25 * 1024 * 1024  # OpenAI's
MAX_SECONDS = 4 * 3600
MAX_INPUT = 4096  # OpenAI's
_ELDER = {"fable": "ballad", "nova": "coral", "onyx": "ash"}
"""OpenAI's voices that only this endpoint has, by those of the Realtime API that are like them."""
_STANDS_BACK_MS = 2_500
"""More than a mouth takes for pressing, so that whoever is on a call is served first."""
_AHEAD = int(2 * LONGEST_S * EAR_RATE)
"""Samples that are read before a cut is made, so that it can be made where it is quiet."""


# --- Words from sound -----------------------------------------------------------------------


class _Hearing(Model):
    """The fields of the form. Those that only say how to go about it are taken and not needed."""

    model_config = ConfigDict(strict=False)  # everything in a form is text

    model: str = ""
    response_format: Literal["json", "text", "srt", "verbose_json", "vtt"] = "json"
    stream: bool = False
    language: str | None = None
    languages: list[str] = Field(default_factory=list)
    prompt: str | None = None
    keywords: list[str] = Field(default_factory=list)
    temperature: float = 0.0
    chunking_strategy: Any = None
    timestamp_granularities: list[Literal["segment", "word"]] = Field(default_factory=list)
    include: list[str] = Field(default_factory=list)
    known_speaker_names: list[str] = Field(default_factory=list)
    known_speaker_references: list[str] = Field(default_factory=list)

    def check(self) -> None:
        if "word" in self.timestamp_granularities:
            raise lacks("timestamp_granularities", "these ears time segments, not words.")
        if self.include:
            raise lacks("include", "these ears give no log probabilities.")
        if self.known_speaker_names or self.known_speaker_references:
            raise lacks("known_speaker_names", "these ears do not tell speakers apart.")

    @property
    def keyterms(self) -> tuple[str, ...]:
        return keyterms(self.prompt, self.keywords)


def _fields(form: FormData) -> dict[str, Any]:
    """With the lists as lists: they come as `name[]`, once for each."""
    lists = {name for name, field in _Hearing.model_fields.items() if field.default_factory is list}
    found: dict[str, Any] = {}
    for name, value in form.multi_items():
        name = name.removesuffix("[]")
        if name in lists:
            found.setdefault(name, []).append(value)
        elif name != "file":
            found[name] = value
    return found


class _Segment(Value):
    start: float
    end: float
    text: str
    confidence: float

    def shown(self, number: int) -> dict[str, Any]:
        raw = self.text.encode()
        return {
            "id": number,
            "seek": int(self.start * 100),
            "start": round(self.start, 2),
            "end": round(self.end, 2),
            "text": self.text,
            "tokens": [],
            "temperature": 0.0,
            "avg_logprob": math.log(max(self.confidence, 1e-9)),
            "compression_ratio": len(raw) / max(1, len(zlib.compress(raw))),
            "no_speech_prob": 0.0 if raw else 1.0,
        }


class Transcriptions(Endpoint):
    async def create(self, request: Request) -> Response:
        self._engine.keys.whole(key_of(request))
        async with request.form(max_files=1, max_fields=64) as form:
            file = form.get("file")
            if not isinstance(file, UploadFile):
                raise refused("missing_required_parameter", "file")
            wanted = reading(_Hearing.model_validate, _fields(form))
            wanted.check()
            data = await file.read(MAX_FILE + 1)
        if len(data) > MAX_FILE:
            raise PayloadTooLarge(f"The file has more than {MAX_FILE:,} bytes.")
        parts = self._engine.ready()
        heard = self._heard(parts, data, wanted)
        if wanted.stream:
            return Streamed(_deltas(heard), EVENTS)
        found = await while_connected(request.receive, gathered(heard))
        return _transcript(found or [], wanted)

    async def _heard(
        self, parts: Parts, data: bytes, wanted: _Hearing
    ) -> AsyncGenerator[_Segment, None]:
        """The file, segment by segment: neither all of it nor all of its words at once."""
        at, rest = 0, np.zeros(0, np.float32)
        async with self.turn():
            with closing(read(data)) as pieces:
                ended = False
                while not ended or len(rest):
                    rest, ended = await asyncio.to_thread(_more, pieces, rest)
                    if at + len(rest) > MAX_SECONDS * EAR_RATE:
                        raise InvalidRequest(f"The file has more than {MAX_SECONDS:,} seconds.")
                    first = segments(rest)[0] if len(rest) else rest
                    try:
                        heard = await parts.ears.transcribe(
                            first,
                            language=wanted.language or None,
                            urgent=False,
                            keywords=wanted.keyterms,
                        )
                    except EarsError as fault:
                        if wanted.language is None:
                            raise
                        raise lacks("language", fault.message) from None
                    start, at, rest = at, at + len(first), rest[len(first) :]
                    text = dictated(heard.text)
                    yield _Segment(start / EAR_RATE, at / EAR_RATE, text, heard.confidence)


def _more(pieces: Iterator[Samples], rest: Samples) -> tuple[Samples, bool]:
    """Enough for the next cut, and whether that was the last of it. Blocks."""
    found, size = [rest], len(rest)
    while size < _AHEAD:
        piece = next(pieces, None)
        if piece is None:
            return np.concatenate(found), True
        found.append(piece)
        size += len(piece)
    return np.concatenate(found), False


async def _deltas(heard: AsyncGenerator[_Segment, None]) -> AsyncGenerator[bytes, None]:
    text = ""
    async with aclosing(heard):
        async for segment in heard:
            if segment.text:
                delta = f" {segment.text}" if text else segment.text
                text += delta
                yield event({"type": "transcript.text.delta", "delta": delta})
    yield event({"type": "transcript.text.done", "text": text})


def _transcript(found: list[_Segment], wanted: _Hearing) -> Response:
    spoken = [segment for segment in found if segment.text]
    text = " ".join(segment.text for segment in spoken)
    seconds = found[-1].end if found else 0.0
    usage = {"type": "duration", "seconds": math.ceil(seconds)}
    match wanted.response_format:
        case "json":
            return answer({"text": text, "usage": usage})
        case "verbose_json":
            whole = {
                "task": "transcribe",
                "language": wanted.language or "english",
                "duration": round(seconds, 2),
                "text": text,
                "segments": [segment.shown(number) for number, segment in enumerate(spoken)],
                "usage": usage,
            }
            return answer(whole)
        case "text":
            return PlainTextResponse(text + "\n")
        case "srt":
            return PlainTextResponse(_titles(spoken, ",", numbered=True))
        case "vtt":
            return PlainTextResponse("WEBVTT\n\n" + _titles(spoken, ".", numbered=False))


def _titles(spoken: list[_Segment], point: str, *, numbered: bool) -> str:
    """Subtitles."""
    return "".join(
        (f"{number}\n" if numbered else "")
        + f"{_clock(one.start, point)} --> {_clock(one.end, point)}\n{one.text}\n\n"
        for number, one in enumerate(spoken, 1)
    )


def _clock(seconds: float, point: str) -> str:
    ms = round(seconds * 1000)
    return f"{ms // 3_600_000:02}:{ms // 60_000 % 60:02}:{ms // 1000 % 60:02}{point}{ms % 1000:03}"


# --- Sound from words -----------------------------------------------------------------------


class _Saying(Model):
    """`instructions` are a hint that this mouth, as some of OpenAI's, does not understand."""

    model: str
    input: Annotated[str, Field(min_length=1, max_length=MAX_INPUT)]
    voice: Annotated[str, BeforeValidator(lambda raw: raw.get("id") if type(raw) is dict else raw)]
    instructions: str = ""
    response_format: Written = "mp3"
    speed: Annotated[float, Field(ge=0.25, le=4.0)] = 1.0
    stream_format: Literal["audio", "sse"] = "audio"


@dataclass(slots=True)
class _Usage:
    """Text as the brain counts it, sound as the Realtime API does: 20 tokens a second."""

    input_tokens: int
    ms: int = 0

    def shown(self) -> dict[str, int]:
        made = self.ms * 20 // 1000
        total = self.input_tokens + made
        return {"input_tokens": self.input_tokens, "output_tokens": made, "total_tokens": total}


class Speeches(Endpoint):
    async def create(self, request: Request) -> Response:
        self._engine.keys.whole(key_of(request))
        wanted = reading(_Saying.model_validate, parsed(await request.body()))
        if not any(letter.isalnum() for letter in wanted.input):
            raise refused("invalid_value", "input", "there is nothing in it that can be said.")
        parts = self._engine.ready()
        voice = _ELDER.get(wanted.voice, wanted.voice)
        if voice not in parts.mouth.voices:
            known = ", ".join((*_ELDER, *parts.mouth.voices))
            raise refused("invalid_value", "voice", f"supported values are: {known}.")
        usage = _Usage(parts.brain.count(wanted.input))
        file = _file(self._spoken(parts, wanted, voice, usage), wanted.response_format)
        if wanted.stream_format == "sse":
            return Streamed(_told(file, usage), EVENTS)
        return Streamed(file, FORMS[wanted.response_format][0])

    async def _spoken(
        self, parts: Parts, wanted: _Saying, voice: str, usage: _Usage
    ) -> AsyncGenerator[bytes, None]:
        """PCM16 at `MOUTH_RATE`, clause by clause, with the pauses that belong between them."""
        cutter, pause = Clauses(), b""
        async with self.turn():
            for clause in (*cutter.feed(wanted.input), *cutter.finish()):
                said = await parts.mouth.speak(
                    clause, voice=voice, speed=wanted.speed, lead_ms=_STANDS_BACK_MS
                )
                if said.pcm:
                    usage.ms += said.ms
                    yield pause + said.pcm
                    pause = bytes(2 * MOUTH_RATE * pause_ms(clause) // 1000)


async def _file(sound: AsyncGenerator[bytes, None], form: Written) -> AsyncGenerator[bytes, None]:
    """The sound in its container. Never an empty piece, which would be the end."""
    async with aclosing(sound):
        writer = await asyncio.to_thread(Writer, form)
        async for pcm in sound:
            if data := await asyncio.to_thread(writer.feed, pcm):
                yield data
        if data := await asyncio.to_thread(writer.finish):
            yield data


async def _told(file: AsyncGenerator[bytes, None], usage: _Usage) -> AsyncGenerator[bytes, None]:
    async with aclosing(file):
        async for data in file:
            audio = base64.b64encode(data).decode()
            yield event({"type": "speech.audio.delta", "audio": audio})
    yield event({"type": "speech.audio.done", "usage": usage.shown()})
