"""What one connection of a runtime is to be sent: in order, bounded, each event once.

Of what an answer says so far only the latest waits. Whoever reads too slowly is let go: what
they need is sent again when they are back.
"""

from __future__ import annotations

from vivavoce.runtime.waiting import Flag
from vivavoce.wire.conductor.codes import CLOSES, Close
from vivavoce.wire.conductor.event import made, write
from vivavoce.wire.conductor.kinds import AssistantSpeechPartial, Kind

MOST, MOST_CHARACTERS = 256, 1_000_000


class Line:
    def __init__(self) -> None:
        self._queue: list[str] = []
        self._characters = 0
        self._partial: str | None = None
        self._changed = Flag()
        self.closed: tuple[Close, str] | None = None

    def push(self, kind: Kind) -> None:
        if self.closed is not None:
            return
        text = write(made(kind))
        self._partial = None  # what was said so far comes before it, or not at all
        self._queue.append(text)
        self._characters += len(text)
        if len(self._queue) > MOST or self._characters > MOST_CHARACTERS:
            self._queue.clear()
            self.close(Close.BUSY, "The runtime reads too slowly.")
        self._changed.set()

    def partial(self, text: str) -> None:
        """It takes the place of the one before, if that still waits."""
        if self.closed is None:
            self._partial = text
            self._changed.set()

    def close(self, code: Close, reason: str = "") -> None:
        """What waits is sent first."""
        if self.closed is None:
            self.closed = code, reason or CLOSES[code]
            self._changed.set()

    async def next(self) -> str | None:
        """None at the end."""
        while True:
            if self._queue:
                text = self._queue.pop(0)
                self._characters -= len(text)
                return text
            if self._partial is not None:
                said, self._partial = self._partial, None
                return write(made(AssistantSpeechPartial(text=said)))
            if self.closed is not None:
                return None
            self._changed.clear()
            await self._changed.wait()
