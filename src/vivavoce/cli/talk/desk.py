"""Where the sound meets: the microphone's on its way to the lines, and the lines' on its way to
the loudspeaker. Devices and files drive it, block by block; it does not know which.

A driver may live in a thread of its own (an audio device's), so what both sides touch is locked,
and nothing here waits.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Callable
from typing import Protocol

import numpy as np
import numpy.typing as npt

from vivavoce.cli.talk.core.playing import RATE, WIDTH, PlayQueue

PIECE = RATE // 25
"""Samples that go to the line at a time: 40 ms."""
_KEPT = 50  # pieces that wait for somebody who sends them: two seconds
_DUCKED = 0.3
_RAMP = 0.03 * RATE

Samples = npt.NDArray[np.int16]


class Recorder(Protocol):
    def write(self, pcm: bytes) -> None: ...


class Player:
    """What one line plays, and how loud."""

    def __init__(self, lock: threading.Lock) -> None:
        self._lock, self._queue = lock, PlayQueue()
        self._gain = 1.0
        self.ducked = False

    def play(self, item: str, pcm: bytes) -> None:
        with self._lock:
            self._queue.push(item, pcm)

    def end(self) -> None:
        with self._lock:
            self._queue.end()

    def clear(self) -> None:
        with self._lock:
            self._queue.clear()

    def played(self) -> dict[str, int]:
        with self._lock:
            return dict(self._queue.played)

    def _pull(self, samples: int) -> npt.NDArray[np.float32]:
        """With the lock held."""
        pcm = np.frombuffer(self._queue.pull(samples), "<i2").astype(np.float32)
        target = _DUCKED if self.ducked else 1.0
        if self._gain == target:
            return pcm if target == 1.0 else pcm * np.float32(target)
        end = target + (self._gain - target) * float(np.exp(-samples / _RAMP))
        ramp = np.linspace(self._gain, end, samples, dtype=np.float32)
        self._gain = target if abs(end - target) < 0.01 else end
        return pcm * ramp


class Desk:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._players: list[Player] = []
        self._script = bytearray()
        self.scripted = False
        """The microphone is what `say` is given, and silence between."""
        self.open = True
        self.recorder: Recorder | None = None
        self.latency_ms = 0.0
        """From the queue to the ear."""
        self.level = 0.0
        self._filling = bytearray()
        self._pieces: deque[tuple[bytes, float]] = deque(maxlen=_KEPT)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._there = asyncio.Event()
        self.fault: Exception | None = None
        self.hearers: list[Callable[[bytes, float], None]] = []

    # --- For the lines -------------------------------------------------------------

    def player(self) -> Player:
        player = Player(self._lock)
        with self._lock:
            self._players.append(player)
        return player

    def remove(self, player: Player) -> None:
        with self._lock, contextlib.suppress(ValueError):
            self._players.remove(player)

    async def run(self) -> None:
        """Hands on what the microphone hears, until cancelled; raises what broke the sound."""
        self._loop = asyncio.get_running_loop()
        while True:
            self._there.clear()
            if self.fault is not None:
                raise self.fault
            while self._pieces:
                pcm, self.level = self._pieces.popleft()
                for hearer in list(self.hearers):
                    hearer(pcm, self.level)
            await self._there.wait()

    # --- For a script ----------------------------------------------------------------

    def say(self, pcm: bytes) -> None:
        with self._lock:
            self._script += pcm

    @property
    def saying(self) -> bool:
        with self._lock:
            return bool(self._script)

    # --- For whoever drives it ---------------------------------------------------------

    def play(self, samples: int) -> bytes:
        """What is to sound next."""
        with self._lock:
            out = self._mixed(samples)
        if self.recorder is not None:
            try:
                self.recorder.write(out)
            except OSError as fault:
                self.recorder = None
                self.broke(fault)
        return out

    def hear(self, pcm: bytes) -> None:
        """What the microphone heard."""
        if self.scripted:
            with self._lock:
                pcm = bytes(self._script[: len(pcm)]).ljust(len(pcm), b"\0")
                del self._script[: len(pcm)]
        self._filling += pcm if self.open else bytes(len(pcm))
        size = PIECE * WIDTH
        while len(self._filling) >= size:
            piece = bytes(self._filling[:size])
            del self._filling[:size]
            self._pieces.append((piece, level_of(piece)))
            self._wake()

    def broke(self, fault: Exception) -> None:
        """The sound is over. From any thread."""
        self.fault = fault
        self._wake()

    def _mixed(self, samples: int) -> bytes:
        if not self._players:
            return bytes(samples * WIDTH)
        mixed = sum(player._pull(samples) for player in self._players)
        return np.clip(mixed, -32768, 32767).astype("<i2").tobytes()

    def _wake(self) -> None:
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._there.set)


def level_of(pcm: bytes) -> float:
    """Root mean square, 0 to 1."""
    samples = np.frombuffer(pcm, "<i2").astype(np.float32)
    return float(np.sqrt(np.mean(samples * samples))) / 32768 if samples.size else 0.0
