"""The speech process as the server has it: started, asked, and started again when it dies.

Owns its life between `Child` below and the ports above. No model and no
runtime of models is loaded on this side.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from vivavoce.engine.speech.files import SpeechFiles
from vivavoce.engine.speech.frames import BadFrame, Frame
from vivavoce.engine.speech.link import Link, LinkLost, Refused
from vivavoce.engine.speech.load import Load
from vivavoce.engine.speech.parts import FarEars, FarJudge, FarMouth
from vivavoce.errors import EngineFault, ModelUnavailable, Unavailable
from vivavoce.processes.supervised import Child

NICE = 1
"""The server's loop and its media go before models."""
LOADING = 120.0
"""Seconds after which a process that is still loading is taken for stuck."""


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
        self.pid: int | None = None
        self.ears = FarEars(files.ears.kind, self._ask)
        self.mouth = FarMouth(files.mouth.kind, self._ask)
        self.judge = FarJudge(self._ask) if files.judge is not None else None
        # -P: what lies in the folder we were started in is not for it to import.
        command = (sys.executable, "-P", "-m", "vivavoce.engine.speech.child")
        self._child = Child(
            "speech",
            command,
            started=self._serve,
            ended=self._ended,
            nice=nice,
            talks=True,
            environment=environment,
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
        words = (await self._ask(EngineFault, {"do": "stats"})).words
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
        self._link, self._loaded = link, True
        self._up.set()
        self._told.set()

    def _ended(self) -> None:
        self.pid = None
        if not self._loaded:
            self._problem = self._problem or "The speech process ended while it was loading."
            self._told.set()

    # --- Questions ----------------------------------------------------------------------------

    async def _ask(
        self,
        fault: type[EngineFault],
        words: Mapping[str, Any],
        sound: bytes = b"",
        *,
        presses: str | None = None,
        awaited: bool = False,
    ) -> Frame:
        clock, done = asyncio.get_running_loop().time, False
        job = self.load.begin(presses, clock(), awaited=awaited) if presses else None
        try:
            link = await self._linked(fault)
            answer = await link.ask(words, sound)
            done = True
            return answer
        except LinkLost:
            raise fault("The speech process was lost; it is started again.") from None
        except Refused as refusal:
            raise fault(str(refusal)) from None
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
