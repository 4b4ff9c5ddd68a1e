"""What the speech process does for the server: jobs, many at a time, each with one answer.

Knows the ports and the frames; who goes first is decided in front of each
model. A job that is cancelled has no answer.
"""

from __future__ import annotations

import asyncio
import traceback
from dataclasses import dataclass
from typing import Any

import numpy as np
import psutil

from vivavoce.engine.ports import Ears, Judge, Mouth
from vivavoce.engine.speech import frames
from vivavoce.engine.speech.frames import BadFrame, Frame
from vivavoce.errors import EngineFault, VivavoceError

MOST = 256
"""Jobs at a time: more than the lines in front of all models hold."""


@dataclass(frozen=True, slots=True)
class Parts:
    ears: Ears
    mouth: Mouth
    judge: Judge | None = None


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
                return Frame({"text": heard.text, "confidence": heard.confidence})
            case "judge" if self.parts.judge is not None:
                return Frame({"value": await self.parts.judge.finished(_samples(frame.sound))})
            case "speak":
                said = await self.parts.mouth.speak(**given)
                return Frame({"words": said.words}, said.pcm)
            case "prepare":
                return await self._prepare(**given)
            case "stats":
                return Frame(self._stats())
            case _:
                raise EngineFault(f"Nobody here can {order}.")

    async def _prepare(self, voice: str, texts: list[str], speed: float) -> Frame:
        """A mouth without a memory has nothing to prepare."""
        prepare = getattr(self.parts and self.parts.mouth, "prepare", None)
        if prepare is not None:
            await prepare(voice, texts, speed=speed)
        return Frame({"prepared": prepare is not None})

    def _stats(self) -> dict[str, Any]:
        process = psutil.Process()
        return {
            "pid": process.pid,
            "memory": process.memory_info().rss,
            "threads": process.num_threads(),
            "jobs": len(self._tasks) - 1,  # this one apart
            "done": self._done,
        }


def _samples(sound: bytes) -> Any:
    return np.frombuffer(sound, dtype="<f4")
