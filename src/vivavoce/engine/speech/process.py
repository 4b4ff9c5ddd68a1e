"""The speech process as the server has it: started, asked, and started again when it dies.

Owns its life between `Child` below and the ports above: `FarEars` and `FarMouth`
fill them with questions over a `Link`, which lives as long as one process.
No model and no runtime of models is loaded on this side.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Unpack

import numpy as np

from vivavoce.engine.ports import EAR_RATE, Manner, Samples, Transcript, Utterance
from vivavoce.engine.speech import protocol
from vivavoce.engine.speech.load import PRESSING_MS, Load
from vivavoce.engine.speech.protocol import LONGEST_SOUND, BadFrame, Frame, SpeechFiles
from vivavoce.errors import EarsError, EngineFault, ModelUnavailable, MouthError, Unavailable
from vivavoce.processes.starting import ONE_THREAD
from vivavoce.processes.supervised import Child

NICE = 1
"""The server's loop and its media go before models."""
LOADING = 120.0
"""Seconds after which a process that is still loading is taken for stuck."""
_JUDGED = 10 * EAR_RATE
"""No judge listens to more than that of the end; a long speech need not be sent whole."""
_MOST = 256


class Speech:
    """`ears`, `mouth` and `judge` for all sessions, and how busy they are (`load`).

    A call in flight when the process dies fails with the error of its port; a
    new one waits `patience` seconds for the next process. Nothing else is needed.
    """

    def __init__(
        self,
        files: SpeechFiles,
        *,
        nice: int = NICE,
        patience: float = 5.0,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._files, self._patience = files, patience
        self._link: Link | None = None
        self._problem: str | None = None
        self._loaded = False
        self._up, self._told = asyncio.Event(), asyncio.Event()
        self.load = Load()
        self.device = ""
        """Where its models run, once they are loaded."""
        self.pid: int | None = None
        self.ears = FarEars(files.ears.kind, self)
        self.mouth = FarMouth(files.mouth.kind, self)
        self.judge = self.ears if files.judge is not None else None
        # -P: what lies in the folder we were started in is not for it to import.
        command = (sys.executable, "-P", "-m", "vivavoce.engine.speech.child")
        self._child = Child(
            "speech",
            command,
            started=self._serve,
            ended=self._ended,
            nice=nice,
            talks=True,
            environment={**ONE_THREAD, **(environment or {})},
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The process lives in here. Loading goes on meanwhile: see `ready`."""
        async with asyncio.TaskGroup() as group:
            child = group.create_task(self._child.run(), name="speech process")
            try:
                yield
            finally:
                child.cancel()

    async def ready(self) -> None:
        """Return once everything is loaded. Raises `ModelUnavailable`; it is tried again."""
        while self._link is None:
            await self._told.wait()
            if self._problem is not None:
                raise ModelUnavailable(self._problem)

    async def stats(self) -> Mapping[str, Any]:
        """Of the process: pid, memory in bytes, threads, jobs under way and done."""
        words = (await self.ask(EngineFault, {"do": "stats"})).words
        return {name: words[name] for name in ("pid", "memory", "threads", "jobs", "done")}

    @property
    def crowded(self) -> str | None:
        """Why one session more would be too much, in words; None while there is room."""
        return self.load.why(asyncio.get_running_loop().time())

    # --- The process's life -----------------------------------------------------------------

    async def _serve(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._problem, self._loaded, self.pid = None, False, process.pid
        self._told.clear()
        link = Link(process.stdout, process.stdin)
        try:
            async with asyncio.timeout(LOADING):
                hello = await link.greet(self._files.to_words())
        except (TimeoutError, BadFrame) as fault:
            raise ModelUnavailable("The speech process does not get ready.") from fault
        if hello is not None:
            self._met(link, hello)
            try:
                await link.serve()
            except BadFrame as fault:
                raise Unavailable(str(fault)) from fault
            finally:
                # At once: whoever comes now waits for the next process, not for this one's end.
                self._link = None
                self._up.clear()
                self._told.clear()
        await asyncio.sleep(1)  # it is ending, and we with it: how, is told to the log
        raise Unavailable("It does not talk any more.")

    def _met(self, link: Link, hello: Frame) -> None:
        if (problem := hello.words.get("failed")) is not None:
            self._problem = str(problem)
            self._told.set()
            raise ModelUnavailable(self._problem)
        self.ears.name, self.mouth.name = hello.words["ears"], hello.words["mouth"]
        self.mouth.voices = tuple(hello.words["voices"])
        self.device = str(hello.words.get("device", ""))
        self._link, self._loaded = link, True
        self._up.set()
        self._told.set()

    def _ended(self) -> None:
        self.pid = None
        if not self._loaded:
            self._problem = self._problem or "The speech process ended while it was loading."
            self._told.set()

    # --- Questions ----------------------------------------------------------------------------

    async def ask(
        self,
        fault: type[EngineFault],
        words: Mapping[str, Any],
        sound: bytes = b"",
        *,
        presses: str | None = None,
        awaited: bool = False,
    ) -> Frame:
        """For the ports below. `presses` names the model whose load this is."""
        clock, done = asyncio.get_running_loop().time, False
        job = self.load.begin(presses, clock(), awaited=awaited) if presses else None
        try:
            link = await self._linked(fault)
            answer = await link.ask(fault, words, sound)
            done = True
            return answer
        except LinkLost:
            raise fault("The speech process was lost; it is started again.") from None
        finally:
            if job is not None:
                self.load.end(job, clock(), done=done)

    async def _linked(self, fault: type[EngineFault]) -> Link:
        try:
            async with asyncio.timeout(self._patience):
                while self._link is None:
                    await self._up.wait()
        except TimeoutError:
            words = self._problem or "The speech process is being started."
            raise fault(words) from None
        return self._link


# --- The ports


class FarEars:
    """Fills `Ears`, and `Judge` where there is one. One serves all sessions."""

    def __init__(self, name: str, speech: Speech) -> None:
        self.name = name
        self._ask = speech.ask

    async def transcribe(self, speech: Samples, **manner: Unpack[Manner]) -> Transcript:
        words, urgent = {"do": "transcribe", **manner}, manner.get("urgent", True)
        presses = "ears" if urgent else None
        answer = await self._ask(EarsError, words, _raw(speech), presses=presses, awaited=urgent)
        told = answer.words
        return Transcript(told["text"], told["confidence"], told["closed"])

    async def finished(self, speech: Samples) -> float:
        answer = await self._ask(EarsError, {"do": "judge"}, _raw(speech[-_JUDGED:]))
        return float(answer.words["value"])


class FarMouth:
    """Fills `Mouth`. Its voices are known once the process is ready."""

    def __init__(self, name: str, speech: Speech) -> None:
        self.name = name
        self.voices: tuple[str, ...] = ()
        self._ask = speech.ask

    async def speak(
        self, text: str, *, voice: str, speed: float = 1.0, lead_ms: int = 0
    ) -> Utterance:
        words = {"do": "speak", "text": text, "voice": voice, "speed": speed, "lead_ms": lead_ms}
        presses = "mouth" if lead_ms < PRESSING_MS else None
        answer = await self._ask(MouthError, words, presses=presses, awaited=lead_ms <= 0)
        return Utterance(answer.sound, tuple((word, ms) for word, ms in answer.words["words"]))

    async def prepare(self, voice: str, texts: Sequence[str]) -> None:
        """Have these ready, for when they are wanted; again after the process was lost."""
        await self._ask(MouthError, {"do": "prepare", "voice": voice, "texts": list(texts)})


def _raw(speech: Samples) -> bytes:
    return np.ascontiguousarray(speech, dtype="<f4").tobytes()


# --- The pipe: questions out, answers back, by number


class LinkLost(Exception):
    """The process is gone, and with it the answer."""


class Link:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Frame | None]] = {}
        self._lost = False

    async def greet(self, words: Mapping[str, Any]) -> Frame | None:
        """The first words to it, and its first. None when it is gone instead."""
        with contextlib.suppress(LinkLost):  # which reading shows as well
            self._write(protocol.encode(Frame(words)))
        return await protocol.read(self._reader)

    async def serve(self) -> None:
        """Hand out answers until the other side is gone. Raises `BadFrame`."""
        try:
            while (frame := await protocol.read(self._reader)) is not None:
                number = frame.words.get("id")
                waiting = self._waiting.get(number) if isinstance(number, int) else None
                if waiting is not None and not waiting.done():  # else it was cancelled meanwhile
                    waiting.set_result(frame)
        finally:
            self.lose()

    def lose(self) -> None:
        """Whoever waits learns that nothing will come."""
        self._lost = True
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_result(None)

    async def ask(self, fault: type[EngineFault], words: Mapping[str, Any], sound: bytes) -> Frame:
        """One job. Cancelling it cancels it over there. Raises `LinkLost`, and `fault` where the
        answer is no."""
        number = next(self._numbers)
        try:
            data = protocol.encode(Frame({**words, "id": number}, sound))
        except BadFrame as bad:
            raise fault(str(bad)) from bad
        unsent = self._writer.transport.get_write_buffer_size()
        if len(self._waiting) >= _MOST or unsent > LONGEST_SOUND:
            raise fault("The speech process has too much to do.")
        answer: asyncio.Future[Frame | None] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        try:
            self._write(data)
            # Not drained: the line is bounded above, and an answer tells more than an empty pipe.
            frame = await answer
        except asyncio.CancelledError:
            with contextlib.suppress(LinkLost):
                self._write(protocol.encode(Frame({"do": "cancel", "id": number})))
            raise
        finally:
            del self._waiting[number]
        if frame is None:
            raise LinkLost
        if "error" in frame.words:
            raise fault(str(frame.words["error"]))
        return frame

    def _write(self, data: bytes) -> None:
        if self._lost or self._writer.is_closing():
            raise LinkLost
        try:
            self._writer.write(data)
        except (RuntimeError, ConnectionError) as fault:  # uvloop says the former of a closed pipe
            raise LinkLost from fault
