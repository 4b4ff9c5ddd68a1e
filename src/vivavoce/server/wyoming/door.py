"""Who may come in by Wyoming, and what becomes of a connection: a client of the ears or the mouth,
or a satellite. Satellites are also called on, as Home Assistant does: the satellite listens, and
the server connects.

The protocol has no authentication, so it is the address that counts.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from ipaddress import ip_address, ip_network
from typing import Any

from wyoming.asr import Transcribe
from wyoming.audio import AudioChunk
from wyoming.error import Error
from wyoming.event import Event
from wyoming.info import (
    AsrModel,
    AsrProgram,
    Attribution,
    Info,
    TtsProgram,
    TtsVoice,
)
from wyoming.ping import Ping, Pong
from wyoming.tts import Synthesize, SynthesizeChunk, SynthesizeStart

from vivavoce import __version__
from vivavoce.errors import InvalidRequest, RateLimited, VivavoceError
from vivavoce.logs import fields
from vivavoce.runtime.limits import Window
from vivavoce.runtime.provider.openai import OpenAIProvider
from vivavoce.server.services import Services
from vivavoce.server.wyoming.lines import MAX_HEADER, Bounds, Broken, Line, said
from vivavoce.server.wyoming.satellite import Manners, Remembered, Satellite
from vivavoce.server.wyoming.sound import form_of
from vivavoce.server.wyoming.speech import Recording, Speech
from vivavoce.wire.values import Value

log = logging.getLogger(__name__)

CONNECT_SECONDS = 5.0
RETRY_SECONDS = 10.0
_REMEMBERED = 256
_A_SATELLITE = ("run-pipeline", "detection", "satellite-connected", "info")


class Model(Value):
    """Of the ears or of the mouth, as `describe` tells of it."""

    name: str
    title: str
    licence: str


class Rules(Value):
    """What the operator decided."""

    manners: Manners
    ears: Model
    mouth: Model
    allowed: tuple[str, ...] = ()
    """Networks besides this machine."""
    satellites: tuple[tuple[str, int], ...] = ()
    """That are called on."""
    connections: int = 32
    bounds: Bounds = Bounds()


class Wyoming:
    """The door. `run` serves on sockets that listen already."""

    def __init__(self, here: Services, rules: Rules) -> None:
        self._here, self._rules = here, rules
        self._allowed = [ip_network(one, strict=False) for one in rules.allowed]
        self._lines: set[Line] = set()
        self._satellites: set[Satellite] = set()
        self._remembered: dict[str, Remembered] = {}
        self._refusals = Window(10, 60, clock=here.clock, what="refusals")
        self._group: asyncio.TaskGroup | None = None
        self._bound: socket.socket | None = None

    def listen_on(self, bound: socket.socket) -> None:
        self._bound = bound

    @property
    def address(self) -> str:
        if self._bound is None:
            return ""
        host, port = self._bound.getsockname()[:2]
        return f"tcp://[{host}]:{port}" if ":" in host else f"tcp://{host}:{port}"

    def status(self) -> dict[str, Any]:
        there = {one.place for one in self._satellites}
        called = (f"{host}:{port}" for host, port in self._rules.satellites)
        shown = [{"name": one.name, "state": one.state} for one in self._satellites]
        shown += [{"name": place, "state": "away"} for place in called if place not in there]
        return {
            "address": self.address,
            "allowed": list(self._rules.allowed),
            "connections": len(self._lines),
            "satellites": sorted(shown, key=lambda one: one["name"]),
        }

    async def run(self, ready: Callable[[], Awaitable[None]]) -> None:
        """Until it is cancelled. Nobody is let in before the server answers."""
        await ready()
        async with asyncio.TaskGroup() as self._group:
            for host, port in self._rules.satellites:
                self._group.create_task(self._call_on(host, port), name=f"satellite {host}")
            server = await asyncio.start_server(self._come, sock=self._bound, limit=MAX_HEADER)
            log.info("Wyoming clients are let in", extra=fields(address=self.address))
            try:
                await asyncio.Event().wait()
            finally:
                server.close()  # waiting for its end would be waiting for every client

    # --- Coming -------------------------------------------------------------------------

    def _come(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = Line(reader, writer, self._rules.bounds)
        if self._group is None:
            writer.transport.abort()
        elif not self.welcome(line.address):
            self._group.create_task(self._turned_away(line))
        elif len(self._lines) >= self._rules.connections:
            log.warning("All Wyoming connections are taken")
            writer.transport.abort()
        else:
            self._lines.add(line)
            self._group.create_task(self._serve(line), name=f"wyoming {line.address}")

    def welcome(self, address: str) -> bool:
        """This machine, and who is named."""
        try:
            known = ip_address(address.partition("%")[0])
        except ValueError:
            return False
        mapped = getattr(known, "ipv4_mapped", None)
        known = mapped or known
        return known.is_loopback or any(known in network for network in self._allowed)

    async def _turned_away(self, line: Line) -> None:
        """Without a word; some of an address in a minute are noted."""
        await line.close()
        try:
            self._refusals.check(line.address)
            await self._here.journal.audit("refusal", f"wyoming from {line.address}", "refused")
        except RateLimited:
            pass
        except VivavoceError:
            log.exception("A refusal could not be audited")

    async def _serve(self, line: Line) -> None:
        """One connection, whatever becomes of it: the boundary of this task."""
        try:
            await self._attended(line)
        finally:
            self._lines.discard(line)
            await line.close()

    async def _attended(self, line: Line) -> None:
        text, code = "", ""
        try:
            await self._visit(line)
        except* TimeoutError:
            pass  # it says nothing any more
        except* ConnectionError:
            pass
        except* Broken as broken:
            text, code = str(_first(broken)), "invalid-event"
        except* VivavoceError as faults:
            fault = _first(faults)
            assert isinstance(fault, VivavoceError)
            text, code = fault.message, fault.code
        except* Exception:
            log.exception("A Wyoming connection failed")
            text, code = "The server had an error.", "internal-error"
        if text:
            with suppress(Broken, ConnectionError):
                await line.write(Error(text, code))

    # --- What they want -----------------------------------------------------------------

    async def _visit(self, line: Line) -> None:
        async with asyncio.TaskGroup() as group:
            visitor = _Visitor(line, self._here, self._engine, self._rules, group)
            first = await visitor.run()
        if first is not None:
            await self._satellite(line, line.address, first)

    @property
    def _engine(self) -> OpenAIProvider:
        return self._here.provider

    async def _satellite(self, line: Line, place: str, first: Event | None = None) -> None:
        satellite = Satellite(
            line, self._here.voice, self._engine, self._rules.manners, self._remembered, place
        )
        await self._here.journal.audit("wyoming", f"satellite {place}", "connected")
        while len(self._remembered) > _REMEMBERED:
            del self._remembered[next(iter(self._remembered))]
        self._satellites.add(satellite)
        try:
            await satellite.run(first)
        finally:
            self._satellites.discard(satellite)

    # --- Calling on satellites ----------------------------------------------------------

    async def _call_on(self, host: str, port: int) -> None:
        """For ever: a satellite that is away may come back."""
        while True:
            try:
                async with asyncio.timeout(CONNECT_SECONDS):
                    reader, writer = await asyncio.open_connection(host, port, limit=MAX_HEADER)
            except (OSError, TimeoutError):
                await asyncio.sleep(RETRY_SECONDS)
                continue
            line = Line(reader, writer, self._rules.bounds)
            self._lines.add(line)
            try:
                await self._called(line, f"{host}:{port}")
            finally:
                self._lines.discard(line)
                await line.close()
            await asyncio.sleep(RETRY_SECONDS)

    async def _called(self, line: Line, name: str) -> None:
        try:
            await self._satellite(line, name)
        except* (Broken, ConnectionError, TimeoutError, VivavoceError) as gone:
            log.info("A satellite is gone: %s", _first(gone), extra=fields(satellite=name))
        except* Exception:
            log.exception("A satellite's connection failed")


class _Visitor:
    """Who connected, until they turn out to be a satellite."""

    def __init__(
        self,
        line: Line,
        here: Services,
        engine: OpenAIProvider,
        rules: Rules,
        group: asyncio.TaskGroup,
    ) -> None:
        self._line, self._here, self._engine = line, here, engine
        self._rules, self._group = rules, group
        self._wanted = Transcribe()
        self._recording: Recording | None = None
        self._writing: asyncio.Task[None] | None = None
        self._speech = Speech(line, engine, here.profile.agent.voice)

    async def run(self) -> Event | None:
        """The event of a satellite; None once they have hung up."""
        try:
            while (event := await self._line.read()) is not None:
                if event.type in _A_SATELLITE:
                    return event
                await self._take(event)
            return None
        finally:
            if self._writing is not None:
                self._writing.cancel()

    async def _take(self, event: Event) -> None:
        speech = self._speech
        match event.type:
            case "ping":
                await self._line.write(Pong(said(Ping.from_event, event).text))
            case "describe":
                await self._line.write(_info(self._here, self._engine, self._rules))
            case "transcribe":
                self._wanted = said(Transcribe.from_event, event)
            case "audio-start":
                self._record()
            case "audio-chunk":
                chunk = said(AudioChunk.from_event, event)
                await self._record().feed(chunk.audio, form_of(chunk))
            case "audio-stop":
                await self._written()
            case "synthesize":
                await speech.whole(said(Synthesize.from_event, event))
            case "synthesize-start":
                speech.start(said(SynthesizeStart.from_event, event))
            case "synthesize-chunk":
                await speech.chunk(said(SynthesizeChunk.from_event, event))
            case "synthesize-stop":
                await speech.stop()
            case _:
                pass  # "Servers are expected to drop unrecognized events"

    def _record(self) -> Recording:
        if self._recording is None:
            name = self._wanted.name
            if name is not None and name != self._rules.ears.name:
                raise InvalidRequest(f"There is no model '{str(name)[:64]}' here.", field="name")
            self._recording = Recording(self._line, self._engine, self._wanted)
            self._writing = self._group.create_task(self._recording.run())
        return self._recording

    async def _written(self) -> None:
        if self._recording is not None and self._writing is not None:
            await self._recording.finish()
            await self._writing
        self._recording, self._writing, self._wanted = None, None, Transcribe()


# --- What is here -----------------------------------------------------------------------------


def _info(here: Services, engine: OpenAIProvider, rules: Rules) -> Info:
    """The models and voices that are there; before they are loaded, none are."""
    loaded = here.engine is not None and not here.engine.waiting_for()
    ours = Attribution("Vivavoce", "https://github.com/vivavoce/vivavoce")

    def told(model: Model) -> dict[str, Any]:
        return {
            "attribution": Attribution(model.title, ours.url),
            "installed": loaded,
            "version": __version__,
        }

    ears, mouth = rules.ears, rules.mouth
    heard = AsrModel(
        name=ears.name,
        description=f"{ears.title} ({ears.licence})",
        languages=["en"],
        **told(ears),
    )
    voices = [
        TtsVoice(
            name=voice.id,
            description=f"{voice.name}: {voice.description}",
            languages=["en"],
            **told(mouth),
        )
        for voice in engine.capabilities.voices
    ]
    program: dict[str, Any] = {
        "name": "vivavoce",
        "attribution": ours,
        "installed": loaded,
        "version": __version__,
    }
    return Info(
        asr=[
            AsrProgram(
                **program,
                description="Vivavoce's ears",
                models=[heard],
                supports_transcript_streaming=True,
            )
        ],
        tts=[
            TtsProgram(
                **program,
                description="Vivavoce's mouth",
                voices=voices,
                supports_synthesize_streaming=True,
            )
        ],
    )


def _first(group: BaseExceptionGroup[Any]) -> BaseException:
    fault: BaseException = group
    while isinstance(fault, BaseExceptionGroup):
        fault = fault.exceptions[0]
    return fault
