"""The server's end of the pipe to the speech process: questions out, answers back, by number.

One link lives as long as one process. Knows frames; knows nothing of ears and
mouths, nor of what happens after its end.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Mapping
from typing import Any

from vivavoce.engine.speech import frames
from vivavoce.engine.speech.frames import LONGEST_SOUND, BadFrame, Frame

_MOST = 256


class LinkLost(Exception):
    """The process is gone, and with it the answer."""


class Refused(Exception):
    """The answer is no; the words are fit for anyone."""


class Link:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Frame | None]] = {}
        self._lost = False

    async def greet(self, words: Mapping[str, Any]) -> Frame | None:
        """The first words to it, and its first. None when it is gone instead."""
        with contextlib.suppress(LinkLost):  # which reading shows as well
            self._write(frames.encode(Frame(words)))
        return await frames.read(self._reader)

    async def serve(self) -> None:
        """Hand out answers until the other side is gone. Raises `BadFrame`."""
        try:
            while (frame := await frames.read(self._reader)) is not None:
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

    async def ask(self, words: Mapping[str, Any], sound: bytes = b"") -> Frame:
        """One job. Cancelling it cancels it over there. Raises `LinkLost` and `Refused`."""
        number = next(self._numbers)
        try:
            data = frames.encode(Frame({**words, "id": number}, sound))
        except BadFrame as fault:
            raise Refused(str(fault)) from fault
        if len(self._waiting) >= _MOST or self._unsent > LONGEST_SOUND:
            raise Refused("The speech process has too much to do.")
        answer: asyncio.Future[Frame | None] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        try:
            self._write(data)
            # Not drained: the line is bounded above, and an answer tells more than an empty pipe.
            frame = await answer
        except asyncio.CancelledError:
            with contextlib.suppress(LinkLost):
                self._write(frames.encode(Frame({"do": "cancel", "id": number})))
            raise
        finally:
            del self._waiting[number]
        if frame is None:
            raise LinkLost
        if "error" in frame.words:
            raise Refused(str(frame.words["error"]))
        return frame

    @property
    def _unsent(self) -> int:
        return int(self._writer.transport.get_write_buffer_size())

    def _write(self, data: bytes) -> None:
        if self._lost or self._writer.is_closing():
            raise LinkLost
        try:
            self._writer.write(data)
        except (RuntimeError, ConnectionError) as fault:  # uvloop says the former of a closed pipe
            raise LinkLost from fault
