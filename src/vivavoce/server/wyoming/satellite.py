"""A satellite: a room with a microphone and a loudspeaker, and usually a wake word, as Home
Assistant has them. Each time it asks for a pipeline somebody may speak; the talk goes on from one
time to the next, until nobody has spoken for a while.

    satellite                            we
                      ◄── run-satellite
    run-pipeline ──►
    audio-chunk … ──►                    a session, or the one that is on
                      ◄── transcribe, voice-started, voice-stopped, transcript
                      ◄── synthesize, audio-start, audio-chunk …, audio-stop
    played ──►
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass

from wyoming.asr import Transcribe, Transcript
from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.error import Error
from wyoming.event import Event
from wyoming.info import Describe, Info
from wyoming.ping import Ping, Pong
from wyoming.pipeline import PipelineStage, RunPipeline
from wyoming.satellite import RunSatellite
from wyoming.tts import Synthesize
from wyoming.vad import VoiceStarted, VoiceStopped

from vivavoce.errors import VivavoceError
from vivavoce.logs import fields
from vivavoce.runtime.provider.openai import OpenAIProvider
from vivavoce.runtime.provider.sound import RATE
from vivavoce.runtime.sessions.voice import Voice
from vivavoce.server.wyoming.lines import Broken, Line, said
from vivavoce.server.wyoming.sound import Form, Inbound, Outbound, form_of, loud
from vivavoce.server.wyoming.talk import Talk, Who
from vivavoce.wire.values import Value

log = logging.getLogger(__name__)

PING_SECONDS = 2.0
GONE_SECONDS = 10.0
"""Without a sign of life, though it was asked for one."""
QUIET_SECONDS = 15.0
"""After a wake word, until somebody speaks; Home Assistant waits as long."""
AGAIN_SECONDS = 5.0
"""Between a talk that could not begin and the next try of a microphone that is always on."""
_ECHO_SECONDS = 0.3
"""How much later than we think the last of an answer may be heard in the room."""
_BEFORE = RATE * 2
"""Bytes of sound before the first loud moment that belong to it: a second."""
_NAME = 64


class Manners(Value):
    """How satellites are treated here."""

    who: Who
    rest_seconds: float
    """A talk that nobody goes on with ends; one that begins so soon after it is the same
    conversation."""
    barge_in: bool
    """Whether the microphone is listened to while the loudspeaker plays."""
    open_mic: bool
    """Whether a satellite may leave it to us when somebody is meant, by a wake word that we do not
    detect."""


@dataclass
class Remembered:
    """What outlasts a satellite's connection."""

    conversation_id: str
    until: float


class Satellite:
    """One connection of one satellite."""

    def __init__(
        self,
        line: Line,
        voice: Voice,
        engine: OpenAIProvider,
        manners: Manners,
        remembered: dict[str, Remembered],
        place: str,
    ) -> None:
        """`place`: its address."""
        self._line, self._voice, self._engine = line, voice, engine
        self._manners, self._remembered, self.place = manners, remembered, place
        self.name = place
        """What it is remembered by: its address, and what it calls itself."""
        self._inbound = Inbound()
        self._speaker = Form()
        self._outbound = Outbound(self._speaker)
        self._talk: Talk | None = None
        self._talking: asyncio.Task[None] | None = None
        self._running: RunPipeline | None = None
        self._waiting: asyncio.TimerHandle | None = None
        self._group: asyncio.TaskGroup | None = None
        self._ms = 0
        self._not_before = self._echo_until = 0.0
        self._before = bytearray()
        self._called = self._asks_back = self._takes_runs = False

    @property
    def state(self) -> str:
        """For whoever looks at it: `idle`, `listening`, `speaking` or `talking`."""
        if self._talk is None:
            return "idle"
        if self._talk.speaking:
            return "speaking"
        return "listening" if self._talk.listening else "talking"

    # --- Its life -----------------------------------------------------------------------

    async def run(self, first: Event | None = None) -> None:
        """Until it is gone. `first`: by which it told what it is. Raises `Broken`."""
        try:
            async with asyncio.TaskGroup() as self._group:
                await self._line.write(Describe())
                if first is None or first.type != "run-pipeline":
                    await self._line.write(RunSatellite())  # else it would turn its microphone off
                watch = self._group.create_task(self._watch(), name="satellite alive")
                try:
                    event = first or await self._line.read(GONE_SECONDS)
                    while event is not None:
                        await self._take(event)
                        event = await self._line.read(GONE_SECONDS)
                finally:
                    watch.cancel()
                    self._leave()
        finally:
            self._group = None

    async def _watch(self) -> None:
        """Is it there, and does anybody still talk?"""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(PING_SECONDS)
            await self._line.write(Ping())
            talk = self._talk
            if talk is None or talk.busy or self._waiting is not None:
                continue
            if loop.time() - talk.active_at > self._manners.rest_seconds:
                self._leave()

    # --- What it says -------------------------------------------------------------------

    async def _take(self, event: Event) -> None:
        match event.type:
            case "ping":
                await self._line.write(Pong(said(Ping.from_event, event).text))
            case "info":
                with suppress(Broken):  # of another version; it is a satellite all the same
                    self._told(said(Info.from_event, event))
            case "detection":
                self._called = True  # some send their sound at once, without asking
            case "run-pipeline":
                await self._run(said(RunPipeline.from_event, event))
            case "audio-chunk":
                await self._hear(said(AudioChunk.from_event, event))
            case "audio-stop":
                self._off()
            case "played":
                await self._played()
            case _:
                pass  # what it tells us besides is for its own lights and sounds

    def _told(self, info: Info) -> None:
        if info.snd:
            self._speaker = form_of(info.snd[0].snd_format)
        if info.satellite is not None:
            self._takes_runs = bool(info.satellite.supports_trigger)
            called = "".join(one for one in str(info.satellite.name) if one.isprintable())
            self.name = f"{called[:_NAME]} at {self.place}"

    async def _run(self, wanted: RunPipeline) -> None:
        """Somebody said the wake word, or the microphone is on from now on."""
        if wanted.start_stage is PipelineStage.WAKE and not self._manners.open_mic:
            await self._refuse(
                "This server detects no wake words: turn on wake word detection on the satellite, "
                "or set VIVAVOCE_WYOMING_OPEN_MIC=true here.",
                "wake-provider-missing",
            )
            return
        if wanted.start_stage not in (PipelineStage.WAKE, PipelineStage.ASR):
            await self._refuse("A pipeline begins with sound here.", "not-supported")
            return
        self._running, self._called = wanted, False
        if self._talk is not None:
            await self._talk.interrupt()
        await self._line.write(Transcribe(language="en"))
        if self._talk is not None or not wanted.restart_on_end:
            self._begin()  # else once there is something to hear

    def _begin(self) -> None:
        """Somebody may speak now."""
        loop = asyncio.get_running_loop()
        if self._talk is None:
            assert self._group is not None
            self._talk = Talk(self._voice, self._engine, self._manners.who, self)
            self._talking = self._group.create_task(self._talk_on(self._talk), name="talk")
        self._talk.listening = True
        self._not_waiting()
        if self._running is not None and not self._running.restart_on_end:
            self._waiting = loop.call_later(QUIET_SECONDS, self._nobody)

    async def _hear(self, chunk: AudioChunk) -> None:
        pcm = self._inbound.feed(chunk.audio, form_of(chunk))
        if self._called:
            await self._run(RunPipeline(PipelineStage.ASR, PipelineStage.TTS))
        if self._talk is None:
            pcm = self._woken(pcm)
        if self._talk is None or not self._talk.listening:
            return  # nobody is meant; or it was on its way while the transcript was
        now = asyncio.get_running_loop().time()
        if self._talk.speaking:
            self._echo_until = now + _ECHO_SECONDS
        if now < self._echo_until and not self._manners.barge_in:
            pcm = bytes(len(pcm))
        self._talk.hear(pcm)

    def _woken(self, pcm: bytes) -> bytes:
        """A microphone that is always on begins a talk once there is something to hear. What the
        talk should hear."""
        now = asyncio.get_running_loop().time()
        if self._running is None or not self._running.restart_on_end or now < self._not_before:
            return b""
        self._before += pcm
        del self._before[: max(0, len(self._before) - _BEFORE)]
        if not loud(pcm):
            return b""
        heard, self._before = bytes(self._before), bytearray()
        self._begin()
        return heard

    async def _played(self) -> None:
        """All of the answer was heard. Whoever was asked something may answer at once, where the
        satellite knows how."""
        if self._talk is None:
            return
        self._talk.played()
        if self._asks_back and self._takes_runs and not self._talk.listening:
            await self._line.write(RunPipeline(PipelineStage.ASR, PipelineStage.TTS))
        self._asks_back = False

    def _off(self) -> None:
        """The microphone is: what was said so far was all."""
        if self._talk is not None:
            self._talk.hear(self._inbound.finish())
            self._talk.listening = False

    def _nobody(self) -> None:
        self._waiting = None
        if self._group is not None:
            self._group.create_task(self._nothing_said())

    async def _nothing_said(self) -> None:
        self._off()
        await self._refuse("Nobody said anything.", "stt-no-text-recognized")

    def _not_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    async def _refuse(self, text: str, code: str) -> None:
        await self._line.write(Error(text, code))

    # --- The talk -----------------------------------------------------------------------

    async def _talk_on(self, talk: Talk) -> None:
        loop = asyncio.get_running_loop()
        known = self._remembered.get(self.name)
        before = known.conversation_id if known and loop.time() < known.until else None
        text, code = "The conversation is over.", "session-over"
        try:
            await talk.run(before)
        except* VivavoceError as raised:
            fault = _first(raised)
            text, code = fault.message, fault.code
            log.info("A satellite's talk ended: %s", text, extra=fields(satellite=self.name))
        if self._talk is talk:
            self._leave()
            if talk.listening:
                self._not_before = loop.time() + AGAIN_SECONDS
                await self._refuse(text, code)

    def _leave(self) -> None:
        """The talk, if there is one: it ends, and the next one may begin meanwhile."""
        self._not_waiting()
        talk, talking = self._talk, self._talking
        self._talk = self._talking = None
        if talk is not None and talk.conversation_id:
            until = asyncio.get_running_loop().time() + self._manners.rest_seconds
            self._remembered[self.name] = Remembered(talk.conversation_id, until)
        if talking is not None and talking is not asyncio.current_task():
            talking.cancel()

    # --- What the talk says: fills `Ends` -----------------------------------------------

    async def voice_started(self) -> None:
        self._not_waiting()
        await self._line.write(VoiceStarted())

    async def voice_stopped(self) -> None:
        await self._line.write(VoiceStopped())

    async def transcript(self, text: str) -> None:
        """A satellite with a wake word turns its microphone off now."""
        if self._talk is not None and self._running is not None:
            self._talk.listening = self._running.restart_on_end
        await self._line.write(Transcript(text))

    async def answer(self, text: str) -> None:
        self._asks_back = text.rstrip().endswith("?")
        await self._line.write(Synthesize(text))

    async def sound_starts(self) -> None:
        self._outbound, self._ms = Outbound(self._speaker), 0
        form = self._speaker
        await self._line.write(AudioStart(form.rate, form.width, form.channels, timestamp=0))

    async def sound(self, pcm: bytes) -> None:
        await self._sound(self._outbound.feed(pcm))

    async def _sound(self, audio: bytes) -> None:
        form = self._outbound.form
        if audio:
            chunk = AudioChunk(form.rate, form.width, form.channels, audio, timestamp=self._ms)
            await self._line.write(chunk)
            self._ms += chunk.milliseconds

    async def sound_ends(self) -> None:
        await self._sound(self._outbound.feed(b"", last=True))
        await self._line.write(AudioStop(timestamp=self._ms))


def _first(group: BaseExceptionGroup[VivavoceError]) -> VivavoceError:
    fault: BaseException = group
    while isinstance(fault, BaseExceptionGroup):
        fault = fault.exceptions[0]
    assert isinstance(fault, VivavoceError)
    return fault
