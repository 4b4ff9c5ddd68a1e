"""The ears and the mouth alone, as Wyoming services: what Home Assistant calls speech-to-text and
text-to-speech. Both are the engine's own, asked as any client asks it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any

from wyoming.asr import Transcribe, Transcript, TranscriptChunk, TranscriptStart, TranscriptStop
from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.event import Eventable
from wyoming.tts import Synthesize, SynthesizeChunk, SynthesizeStart, SynthesizeStopped

from vivavoce.errors import InvalidRequest, ProviderError
from vivavoce.runtime.provider.openai import OpenAIProvider
from vivavoce.runtime.provider.sound import RATE, SoundLine
from vivavoce.server.wyoming.lines import Line, words
from vivavoce.server.wyoming.sound import Form, Inbound

MAX_SECONDS = 300
"""Of one recording."""
MAX_TEXT = 20_000
"""Characters of one request to speak."""
_AT_ONCE = 4_000
"""Characters that the engine takes in one request."""
_PIECE = RATE * 2 // 10
"""Bytes of a chunk that is sent: 100 ms."""
_QUEUED = 8
_FASTER = 10.0
"""Sound that comes so much faster than it was spoken is slowed down: it is the server's time."""
_ANSWER_SECONDS = 60.0
_MAX_TERMS, _TERM_LENGTH, _TERM_WORDS = 200, 40, 4
_PAUSE_MS = 10_000
"""The longest that the engine knows: it is the client who says when a recording is over."""

_TRANSCRIPTION = "conversation.item.input_audio_transcription."
_SENTENCE = re.compile(r"""(?<=\w{3})[.!?…]+["'”’)\]]*\s+|\n+""")
_LEAST = 20
"""Characters that are worth speaking before the rest of a text is there."""


# --- Words from sound -------------------------------------------------------------------------


class Recording:
    """One stretch of sound on its way to words, heard while it comes."""

    def __init__(self, line: Line, engine: OpenAIProvider, wanted: Transcribe) -> None:
        self._line, self._engine = line, engine
        self._settings = _transcription(wanted)
        self._sound: asyncio.Queue[bytes | None] = asyncio.Queue(_QUEUED)
        self._inbound = Inbound()
        self._bytes = 0
        self._began: float | None = None
        self._shown = ""
        self._texts: dict[str, str | None] = {}
        self._spoken = self._closing = False

    async def feed(self, audio: bytes, form: Form) -> None:
        """Waits while more has come than was taken."""
        now = asyncio.get_running_loop().time()
        self._began = self._began or now
        pcm = self._inbound.feed(audio, form)
        self._bytes += len(pcm)
        seconds = self._bytes / 2 / RATE
        if seconds > MAX_SECONDS:
            raise InvalidRequest(f"A recording has at most {MAX_SECONDS} seconds.")
        await self._sound.put(pcm)
        await asyncio.sleep(max(0.0, self._began + seconds / _FASTER - now))

    async def finish(self) -> None:
        """That was all of it."""
        await self._sound.put(self._inbound.finish())
        await self._sound.put(None)

    async def run(self) -> None:
        """Until the words are sent. Raises `VivavoceError`."""
        async with self._engine.sound_line() as line:
            await line.send("session.update", session=self._settings)
            async with asyncio.TaskGroup() as group:
                sending = group.create_task(self._send(line))
                try:
                    await self._receive(line)
                finally:
                    sending.cancel()
        # In the order in which they were said; items are added in that order.
        text = " ".join(text for text in self._texts.values() if text)
        await self._show(text)
        if not self._shown:
            await self._line.write(TranscriptStart())
        await self._line.write(Transcript(text), TranscriptStop())

    async def _send(self, line: SoundLine) -> None:
        while (pcm := await self._sound.get()) is not None:
            if pcm:
                await line.append(pcm)
        self._closing = True
        await line.send("input_audio_buffer.commit")

    async def _receive(self, line: SoundLine) -> None:
        """Until everything that was said is written down."""
        committed = False
        while not (committed and None not in self._texts.values()):
            async with asyncio.timeout(_ANSWER_SECONDS if self._closing else None):
                event = await line.receive()
            if event is None:
                raise ProviderError("The ears went away.")
            match event:
                case {"type": "input_audio_buffer.speech_started"}:
                    self._spoken = True
                case {"type": "input_audio_buffer.committed", "item_id": str(item)}:
                    # Silence to the last is committed too, and is nobody's words.
                    committed = committed or self._closing
                    if self._spoken:
                        self._texts[item] = None
                case {"type": "error", "error": {"code": "input_audio_buffer_commit_empty"}}:
                    committed = True
                case {"type": "error", "error": {"message": str(message)}}:
                    raise InvalidRequest(message)
                case {"type": str(kind), "item_id": str(item)} if kind.startswith(_TRANSCRIPTION):
                    await self._heard(kind.removeprefix(_TRANSCRIPTION), item, event)

    async def _heard(self, what: str, item: str, event: dict[str, Any]) -> None:
        match what:
            case "completed" if item in self._texts:
                self._texts[item] = str(event["transcript"]).strip()
            case "failed" if item in self._texts:
                raise ProviderError("The ears could not write that down.")
            case "delta" if item not in self._texts and not self._closing:
                done = " ".join(text for text in self._texts.values() if text)
                await self._show(f"{done} {self._shown_of(done)}{event['delta']}".strip())

    def _shown_of(self, done: str) -> str:
        """What was shown of the speech that goes on."""
        return self._shown[len(done) :].lstrip() if self._shown.startswith(done) else ""

    async def _show(self, text: str) -> None:
        """The part that was not shown yet. Where it was shown otherwise, the transcript puts it
        right."""
        if not text.startswith(self._shown) or text == self._shown:
            return
        start: list[Eventable] = [] if self._shown else [TranscriptStart()]
        await self._line.write(*start, TranscriptChunk(text[len(self._shown) :]))
        self._shown = text


def _transcription(wanted: Transcribe) -> dict[str, Any]:
    """The engine's session for it. Raises `InvalidRequest`."""
    language = words(wanted.language or "en", "language", 32)
    if re.split(r"[-_]", language.lower())[0] != "en":
        raise InvalidRequest("These ears understand English only.", field="language")
    heard: dict[str, Any] = {"model": "vivavoce", "language": "en"}
    if terms := [*_terms(wanted.transcript_names), *_terms(wanted.transcript_terms)]:
        heard["keywords"] = terms[:_MAX_TERMS]
    detection = {"type": "server_vad", "silence_duration_ms": _PAUSE_MS}
    sound = {"type": "audio/pcm", "rate": RATE}
    taken = {"format": sound, "transcription": heard, "turn_detection": detection}
    return {"type": "transcription", "audio": {"input": taken}}


def _terms(given: object) -> list[str]:
    """Those that the ears can look out for: they are a help, and no condition."""
    known = given if isinstance(given, list) else []
    short = (term for term in known if isinstance(term, str) and len(term) <= _TERM_LENGTH)
    return [term for term in short if 0 < len(term.split()) <= _TERM_WORDS]


# --- Sound from words -------------------------------------------------------------------------


class Speech:
    """Speaks what comes, sentence by sentence while it comes."""

    def __init__(self, line: Line, engine: OpenAIProvider, usual: str) -> None:
        """`usual` is the voice where nobody asks for one."""
        self._line, self._engine, self._usual = line, engine, usual
        self._voice = usual
        self._text, self._length = "", 0
        self._started = False
        self._ms = 0
        self.streaming = False

    async def whole(self, wanted: Synthesize) -> None:
        """One text, its sound, and nothing else. Within a stream it says again what was said."""
        if self.streaming:
            return
        self._begin(wanted)
        await self._say(words(wanted.text, "text", MAX_TEXT))
        await self._end()

    def start(self, wanted: SynthesizeStart) -> None:
        self._begin(wanted)
        self.streaming = True

    async def chunk(self, wanted: SynthesizeChunk) -> None:
        if not self.streaming:
            raise InvalidRequest("'synthesize-chunk' belongs behind 'synthesize-start'.")
        text = words(wanted.text, "text", MAX_TEXT)
        self._length += len(text)
        if self._length > MAX_TEXT:
            raise InvalidRequest(f"A text has at most {MAX_TEXT:,} characters.", field="text")
        self._text += text
        if (cut := _whole_sentences(self._text)) >= _LEAST:
            ready, self._text = self._text[:cut], self._text[cut:]
            await self._say(ready)

    async def stop(self) -> None:
        if self.streaming:
            await self._say(self._text)
            await self._end()
            await self._line.write(SynthesizeStopped())
        self.streaming = False

    def _begin(self, wanted: Synthesize | SynthesizeStart) -> None:
        self._text, self._length, self._ms, self._started = "", 0, 0, False
        if wanted.text_format not in (None, "text"):
            raise InvalidRequest("This mouth takes plain text only.", field="text_format")
        asked = None if wanted.voice is None else wanted.voice.name
        self._voice = words(asked or self._usual, "voice", 64)
        if self._voice not in [voice.id for voice in self._engine.capabilities.voices]:
            raise InvalidRequest(f"There is no voice '{self._voice}' here.", field="voice")

    async def _say(self, text: str) -> None:
        for part in _parts(text):
            if not any(letter.isalnum() for letter in part):
                continue
            async with aclosing(_even(self._engine.speak(part, self._voice))) as sound:
                async for pcm in sound:
                    if not self._started:
                        self._started = True
                        await self._line.write(AudioStart(RATE, 2, 1, timestamp=0))
                    await self._line.write(AudioChunk(RATE, 2, 1, pcm, timestamp=self._ms))
                    self._ms += len(pcm) * 1000 // (2 * RATE)

    async def _end(self) -> None:
        """Where there was nothing to say, an empty sound: who asked waits for its end."""
        if not self._started:
            await self._line.write(AudioStart(RATE, 2, 1, timestamp=0))
        await self._line.write(AudioStop(timestamp=self._ms))


def _whole_sentences(text: str) -> int:
    """How much of it will not change its sound any more. What ends in a short word may be an
    abbreviation."""
    return max((match.end() for match in _SENTENCE.finditer(text)), default=0)


def _parts(text: str) -> Sequence[str]:
    """As much as the engine takes at once, cut where a sentence ends if there is one."""
    parts = []
    while len(text) > _AT_ONCE:
        cut = _whole_sentences(text[:_AT_ONCE]) or text.rfind(" ", 1, _AT_ONCE) + 1 or _AT_ONCE
        parts.append(text[:cut])
        text = text[cut:]
    return [*parts, text] if text.strip() else parts


async def _even(sound: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """In pieces of one size, none of which ends within a sample."""
    kept = bytearray()
    async with aclosing(sound):
        async for piece in sound:
            kept += piece
            while len(kept) >= _PIECE:
                yield bytes(kept[:_PIECE])
                del kept[:_PIECE]
    if whole := len(kept) - len(kept) % 2:
        yield bytes(kept[:whole])
