"""The speech process: `python -m vivavoce.engine.speech.child`, started by `Speech` only.

Frames come by stdin and go by stdout; the first says what to load. It ends
when stdin does, whatever it is doing: its parent is gone then, or wants it to.

Jobs come many at a time, each with one answer; one that is cancelled has none. Who
goes first is decided in front of each model.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np
import psutil

from vivavoce.engine.ports import Ears, Judge, Mouth
from vivavoce.engine.speech import protocol as frames
from vivavoce.engine.speech.inference import be_nice, run_on
from vivavoce.engine.speech.protocol import BadFrame, Frame, SpeechFiles, SpeechPart
from vivavoce.errors import EngineFault, VivavoceError
from vivavoce.wire.values import Value

MOST = 256
"""Jobs at a time: more than the lines in front of all models hold."""
_MOUTH_NICE = 1
"""Whoever has spoken should be understood before others are spoken to."""


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is our parent's business
    # Libraries that print must not be taken for frames.
    output = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    try:
        asyncio.run(_serve(output))
    except BaseException:  # the last boundary: told to the parent's log
        traceback.print_exc()
    # A thread in the middle of a model does not hear us; nothing here is worth waiting for.
    sys.stderr.flush()
    os._exit(1)


async def _serve(output: int) -> None:
    reader, writer = await _pipes(output)
    first = await frames.read(reader)
    if first is None:
        os._exit(0)
    async with asyncio.TaskGroup() as group:
        jobs = Jobs(group, writer)
        group.create_task(_load(SpeechFiles.from_words(first.words), jobs, writer))
        while (frame := await frames.read(reader)) is not None:
            jobs.take(frame)
        os._exit(0)


async def _pipes(output: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    loop, reader = asyncio.get_running_loop(), asyncio.StreamReader(limit=1 << 20)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()),
        os.fdopen(output, "wb", buffering=0),
    )
    return reader, asyncio.StreamWriter(transport, protocol, None, loop)


async def _load(files: SpeechFiles, jobs: Jobs, writer: asyncio.StreamWriter) -> None:
    try:
        device = run_on(files.device)
        parts = await _parts(files)
    except* Exception as faults:
        traceback.print_exception(faults)
        fault = faults.exceptions[0]
        known = fault.message if isinstance(fault, VivavoceError) else None
        told: dict[str, Any] = {"failed": known or "The models cannot be loaded."}
    else:
        jobs.parts = parts
        told = {"ears": parts.ears.name, "mouth": parts.mouth.name, "voices": parts.mouth.voices}
        told["device"] = device
    writer.write(frames.encode(Frame(told)))
    await writer.drain()


class PreparedMouth(Mouth, Protocol):
    async def prepare(self, voice: str, texts: list[str]) -> None: ...


class Parts(Value):
    ears: Ears
    mouth: PreparedMouth
    judge: Judge | None = None


async def _parts(files: SpeechFiles) -> Parts:
    """All at once, each on a thread that makes the threads of its model as nice as itself."""
    with ThreadPoolExecutor(3) as loaders:

        async def load(part: SpeechPart | None, nice: int = 0) -> Any:
            def niced() -> Any:
                be_nice(nice)
                return part.load() if part is not None else None

            return await asyncio.get_running_loop().run_in_executor(loaders, niced)

        async with asyncio.TaskGroup() as group:
            ears = group.create_task(load(files.ears))
            judge = group.create_task(load(files.judge))
            mouth = group.create_task(load(files.mouth, _MOUTH_NICE))
    return Parts(ears.result(), mouth.result(), judge.result())


class Jobs:
    """Those under way."""

    def __init__(self, group: asyncio.TaskGroup, writer: asyncio.StreamWriter) -> None:
        self.parts: Parts | None = None
        self._group, self._writer = group, writer
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._done = 0

    def take(self, frame: Frame) -> None:
        """An order: something to do, or to leave. Raises `BadFrame` for what is neither."""
        number, order = frame.words.get("id"), frame.words.get("do")
        if not isinstance(number, int) or not isinstance(order, str):
            raise BadFrame("A job without a number or an order.")
        if order == "cancel":
            if (task := self._tasks.get(number)) is not None:
                task.cancel()
        elif len(self._tasks) >= MOST:
            self._send(number, Frame({"error": "The speech process has too much to do."}))
        else:
            task = self._group.create_task(self._do(number, order, frame), name=order)
            self._tasks[number] = task
            task.add_done_callback(lambda _: self._tasks.pop(number, None))

    async def _do(self, number: int, order: str, frame: Frame) -> None:
        try:
            answer = await self._answer(order, frame)
        except VivavoceError as fault:
            answer = Frame({"error": fault.message})
        except Exception:  # the boundary of a job: one that fails is the end of that one only
            traceback.print_exc()
            answer = Frame({"error": "The speech process failed."})
        self._done += 1
        self._send(number, answer)
        await self._writer.drain()

    def _send(self, number: int, answer: Frame) -> None:
        try:
            data = frames.encode(Frame({**answer.words, "id": number}, answer.sound))
        except BadFrame as fault:
            data = frames.encode(Frame({"error": str(fault), "id": number}))
        self._writer.write(data)

    async def _answer(self, order: str, frame: Frame) -> Frame:
        if self.parts is None:
            raise EngineFault("The models are being loaded.")
        given = {key: value for key, value in frame.words.items() if key not in ("id", "do")}
        match order:
            case "transcribe":
                heard = await self.parts.ears.transcribe(_samples(frame.sound), **given)
                return Frame(
                    {"text": heard.text, "confidence": heard.confidence, "closed": heard.closed}
                )
            case "judge" if self.parts.judge is not None:
                return Frame({"value": await self.parts.judge.finished(_samples(frame.sound))})
            case "speak":
                said = await self.parts.mouth.speak(**given)
                return Frame({"words": said.words}, said.pcm)
            case "prepare":
                await self.parts.mouth.prepare(**given)
                return Frame({})
            case "stats":
                process = psutil.Process()
                stats = {"pid": process.pid, "memory": process.memory_info().rss}
                jobs = {"jobs": len(self._tasks) - 1, "done": self._done}  # this one apart
                return Frame({**stats, **jobs, "threads": process.num_threads()})
            case _:
                raise EngineFault(f"Nobody here can {order}.")


def _samples(sound: bytes) -> Any:
    return np.frombuffer(sound, dtype="<f4")


if __name__ == "__main__":
    main()
