"""The assistant's sound on its way out: a reel of what to play, and the beat it is played to.

`Reel` is pure; `beat` only keeps time. Neither knows of Opus or RTP.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import numpy as np

from vivavoce.engine.ports import MOUTH_RATE, Pcm, Position
from vivavoce.errors import EngineFault
from vivavoce.wire.values import Value

FRAME = MOUTH_RATE // 50
BEAT = 0.020
MAX_SECONDS = 600
QUIET_GAIN = 10 ** (-15 / 20)
_TAIL = MOUTH_RATE * 5 // 1000
_BURST = 3


class Frame(Value):
    """20 ms; `pcm` is None for silence."""

    pcm: Pcm | None
    started: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()


@dataclass(slots=True)
class _Piece:
    response_id: str
    item_id: str
    pcm: Pcm
    taken: int = 0


class _End(Value):
    response_id: str


class Reel:
    """Sound in the order it was given, a frame at a time."""

    def __init__(self, max_seconds: float = MAX_SECONDS) -> None:
        self._queue: deque[_Piece | _End] = deque()
        self._waiting = 0
        self._limit = int(max_seconds * MOUTH_RATE)
        self._gain = self._target = 1.0
        self._tail: Pcm | None = None
        self._playing: tuple[str, str] | None = None
        self._played = 0

    # --- The port ---------------------------------------------------------------------

    def put(self, response_id: str, item_id: str, pcm: bytes) -> None:
        """More PCM16 mono at `MOUTH_RATE` of an item. Raises `EngineFault` when so much is waiting
        that something must be wrong."""
        samples: Pcm = np.frombuffer(pcm, np.int16)
        if self._waiting + samples.size > self._limit:
            raise EngineFault(
                f"More than {self._limit // MOUTH_RATE} seconds of sound are waiting to be played"
            )
        if samples.size:
            self._queue.append(_Piece(response_id, item_id, samples))
            self._waiting += samples.size

    def finish(self, response_id: str) -> None:
        """No more will come for this response. One without any sound is told as ended too, with
        the next frame."""
        self._queue.append(_End(response_id))

    def clear(self) -> None:
        """At once, but for a fade of 5 ms: sound cut off anywhere clicks."""
        head = next((entry for entry in self._queue if isinstance(entry, _Piece)), None)
        if head is not None and self._playing == (head.response_id, head.item_id) and self._played:
            rest = head.pcm[head.taken : head.taken + _TAIL]
            # On top of the gain of the moment, which the frame adds to all that is in it.
            fade = np.linspace(1.0, 0.0, rest.size, dtype=np.float32)
            self._tail = (rest * fade).astype(np.int16)
        self._queue.clear()
        self._waiting = 0

    def duck(self, quiet: bool) -> None:
        """More softly, while somebody may be speaking, and back."""
        self._target = QUIET_GAIN if quiet else 1.0

    def position(self) -> Position | None:
        """Of the item that is playing, or of the last one that did; None before the first."""
        if self._playing is None:
            return None
        return Position(*self._playing, played_ms=self._played * 1000 // MOUTH_RATE)

    # --- The frames -------------------------------------------------------------------

    def next(self) -> Frame:
        """What goes out now; called once a beat."""
        started: list[str] = []
        ended: list[str] = []
        pieces, self._tail = [] if self._tail is None else [self._tail], None
        room = FRAME - sum(piece.size for piece in pieces)
        while self._queue:
            entry = self._queue[0]
            if isinstance(entry, _End):
                ended.append(entry.response_id)
                self._queue.popleft()
            elif room:
                started += self._begin(entry)
                pieces.append(self._take(entry, room))
                room -= pieces[-1].size
            else:
                break
        return Frame(self._loud(pieces, room), tuple(started), tuple(ended))

    def _begin(self, piece: _Piece) -> list[str]:
        before, now = self._playing, (piece.response_id, piece.item_id)
        if now != before:
            self._playing, self._played = now, 0
        return [] if before is not None and before[0] == now[0] else [now[0]]

    def _take(self, piece: _Piece, room: int) -> Pcm:
        taken = piece.pcm[piece.taken : piece.taken + room]
        piece.taken += taken.size
        self._played += taken.size
        self._waiting -= taken.size
        if piece.taken == piece.pcm.size:
            self._queue.popleft()
        return taken

    def _loud(self, pieces: list[Pcm], room: int) -> Pcm | None:
        """One frame of the pieces, at the gain of the moment; a ramp where it changes."""
        gain, self._gain = self._gain, self._target
        if not pieces:
            return None
        pcm = np.concatenate([*pieces, np.zeros(room, np.int16)])
        if gain == self._gain == 1.0:
            return pcm
        ramp = np.linspace(gain, self._gain, FRAME, dtype=np.float32)
        return (pcm * ramp).astype(np.int16)


async def beat(
    tick: Callable[[], Awaitable[None]], *, clock: Callable[[], float] = time.monotonic
) -> None:
    """Call `tick` every 20 ms on a schedule that does not drift; ends by cancellation.

    A late beat is made up for, by at most `_BURST` at once: what a longer
    stall took is not given back, since nobody can hear it in time.
    """
    due = clock()
    while True:
        now = clock()
        due = max(due, now - (_BURST - 1) * BEAT)
        # Event loops with timers of whole milliseconds wake up to half of one early.
        while due <= now + 0.0005:
            due += BEAT
            await tick()
        await asyncio.sleep(due - clock())
