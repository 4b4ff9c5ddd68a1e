"""The mouth before the brain: while somebody waits for sound, whoever else computes stands still.

On two cores a language model that goes on writing makes the first clause take
three times as long, whatever the operating system is told of priorities: the
cores are two halves of one. Knows neither mouth nor brain; only who may be
asked to stop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from vivavoce.engine.ports import Mouth, Utterance

PRESSING_MS = 600
"""Sound that the listener has in front of him; with more than that there is time for both."""
LONGEST_S = 1.5
"""Nobody stands still for longer, whatever happens."""


class MouthFirst:
    """Fills `Mouth` with another one, and stops somebody else while that is pressing."""

    def __init__(self, mouth: Mouth, pause: Callable[[], None], resume: Callable[[], None]) -> None:
        self._mouth, self._pause, self._resume = mouth, pause, resume
        self._pressing = 0
        self._enough: asyncio.TimerHandle | None = None

    @property
    def name(self) -> str:
        return self._mouth.name

    @property
    def voices(self) -> tuple[str, ...]:
        return self._mouth.voices

    async def speak(
        self, text: str, *, voice: str, speed: float = 1.0, lead_ms: int = 0
    ) -> Utterance:
        if lead_ms >= PRESSING_MS:
            return await self._mouth.speak(text, voice=voice, speed=speed, lead_ms=lead_ms)
        self._begin()
        try:
            return await self._mouth.speak(text, voice=voice, speed=speed, lead_ms=lead_ms)
        finally:
            self._end()

    def _begin(self) -> None:
        self._pressing += 1
        if self._enough is None:
            self._pause()
            self._enough = asyncio.get_running_loop().call_later(LONGEST_S, self._resume)

    def _end(self) -> None:
        self._pressing -= 1
        if not self._pressing and self._enough is not None:
            self._enough.cancel()
            self._enough = None
            self._resume()
