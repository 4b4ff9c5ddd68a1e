"""What is played and how much of it was heard. No I/O, no clock; whoever shares it between
threads locks.

A client that gets its sound in events is the only one who knows what was heard of it (ADR 18), so
the numbers here are what the engine goes by: an answer that was cut off ends in the conversation
where it ended for the ear.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

RATE = 24_000
WIDTH = 2
"""PCM16, mono: what the line carries."""

_PREFILL = int(0.06 * RATE)
_LIMIT = 600 * RATE
_REMEMBERED = 64


def milliseconds(samples: int) -> float:
    return 1000 * samples / RATE


@dataclass(slots=True)
class _Waiting:
    item: str
    pcm: bytes
    at: int = 0


class PlayQueue:
    """The sound that waits, and how much of which item was played. It begins with a little in
    hand, and again after it ran dry, so that a line that stutters does not sound like one."""

    def __init__(self) -> None:
        self._waiting: deque[_Waiting] = deque()
        self._buffered = 0
        self._running, self._ended = False, True
        self.played: dict[str, int] = {}
        """Samples of each item, since the beginning."""

    def push(self, item: str, pcm: bytes) -> bool:
        """False if there is no room: somebody sends without end."""
        samples = len(pcm) // WIDTH
        if self._buffered + samples > _LIMIT:
            return False
        self._waiting.append(_Waiting(item, pcm[: samples * WIDTH]))
        self._buffered += samples
        self._ended = False
        return True

    def end(self) -> None:
        """No more is coming for now, so a last short piece is not held back."""
        self._ended = True

    def clear(self) -> None:
        self._waiting.clear()
        self._buffered = 0
        self._running, self._ended = False, True

    def pull(self, samples: int) -> bytes:
        """So many: sound as far as there is any, then silence."""
        if not self._running and self._buffered < _PREFILL and not self._ended:
            return bytes(samples * WIDTH)
        out = bytearray()
        while len(out) < samples * WIDTH and self._waiting:
            first = self._waiting[0]
            piece = first.pcm[first.at : first.at + samples * WIDTH - len(out)]
            out += piece
            first.at += len(piece)
            self._took(first.item, len(piece) // WIDTH)
            if first.at >= len(first.pcm):
                self._waiting.popleft()
        self._running = self._buffered > 0
        return bytes(out) + bytes(samples * WIDTH - len(out))

    def _took(self, item: str, samples: int) -> None:
        if item not in self.played and len(self.played) >= _REMEMBERED:
            del self.played[next(iter(self.played))]
        self.played[item] = self.played.get(item, 0) + samples
        self._buffered -= samples


@dataclass(frozen=True, slots=True)
class Cut:
    item: str
    end_ms: int


class Heard:
    """How much of each answer came and how much was heard: whether something sounds right now,
    and what to tell while it plays and when it is cut off.

    The engine takes a cut at 0 ms: what waited and never began is cut there, or it would count as
    heard.
    """

    def __init__(self) -> None:
        self._received: dict[str, int] = {}
        self._played: dict[str, int] = {}
        self._cut: set[str] = set()
        self._said: dict[str, int] = {}

    def received(self, item: str, samples: int) -> bool:
        """False if the item was cut off already, and this is not to be played."""
        if item in self._cut:
            return False
        if item not in self._received and len(self._received) >= _REMEMBERED:
            self._forget(next(iter(self._received)))
        self._received[item] = self._received.get(item, 0) + samples
        return True

    def played(self, item: str, samples: int) -> None:
        """What the loudspeaker says: so many samples of this item so far."""
        if item in self._received and item not in self._cut:
            self._played[item] = samples

    @property
    def playing(self) -> bool:
        """Is there something that came and was not played yet?"""
        return any(self.unfinished(item) for item in self._received)

    def unfinished(self, item: str) -> bool:
        left = self._received.get(item, 0) - self._played.get(item, 0)
        return left > 0 and item not in self._cut

    def news(self, latency_ms: float = 0.0) -> list[Cut]:
        """How far each item is that got on since this was asked last."""
        news = []
        for item, samples in self._played.items():
            if item in self._cut:
                continue
            # What left the queue is on its way to the ear, but for what was played to its end.
            late = latency_ms if self.unfinished(item) else 0.0
            end = max(0, int(milliseconds(samples) - late))
            if end > self._said.get(item, 0):
                self._said[item] = end
                news.append(Cut(item, end))
        return news

    def interrupt(self, latency_ms: float = 0.0) -> list[Cut]:
        """Cut off what sounds and what waits: where each ended, to tell the engine."""
        items = [item for item in self._received if self.unfinished(item)]
        if items:
            self._cut.update(self._received)
        return [Cut(item, self._heard(item, latency_ms)) for item in items]

    def _heard(self, item: str, latency_ms: float) -> int:
        played = milliseconds(self._played.get(item, 0)) - latency_ms
        return max(0, int(min(played, milliseconds(self._received[item]))))

    def _forget(self, item: str) -> None:
        for kept in (self._received, self._played, self._said):
            kept.pop(item, None)
        self._cut.discard(item)


class Ducking:
    """Should the assistant be quieter for a moment, since somebody seems to speak over it?

    Decided at once, from the loudness of the microphone; whether it was speech is for the engine
    to say, a little later.
    """

    _CLEARLY = 4  # times the noise floor
    _QUIETEST = 0.012  # below that nobody speaks
    _PIECES = 2  # in a row, so that a click is none
    _HOLD = 0.4
    _RISE = 0.01  # the floor follows noise slowly upwards …
    _FALL = 0.3  # … and silence quickly downwards

    def __init__(self) -> None:
        self._floor, self._loud, self._until = 0.005, 0, 0.0

    def next(self, level: float, *, playing: bool, now: float) -> bool:
        loud = level > max(self._QUIETEST, self._CLEARLY * self._floor)
        self._loud = self._loud + 1 if loud else 0
        self._floor += (level - self._floor) * (self._RISE if level > self._floor else self._FALL)
        if playing and self._loud >= self._PIECES:
            self._until = now + self._HOLD
        return playing and now < self._until


class PushToTalk:
    """A key held down, in a terminal that tells no key's release: it repeats while it is down.

    One press opens the microphone; if it repeats, it closes with the last repeat, else with the
    next press.
    """

    REPEAT = 0.6
    """Longer than the delay before the first repeat of any keyboard."""

    def __init__(self) -> None:
        self.open = False
        self._last, self._repeats = 0.0, False

    def pressed(self, now: float) -> None:
        again = self.open and now - self._last < self.REPEAT
        if again:
            self._repeats = True
        else:
            self.open, self._repeats = not self.open, False
        self._last = now

    def let_go(self, now: float) -> bool:
        """Whether it was let go by now."""
        if not self._repeats or now - self._last < self.REPEAT:
            return False
        self.open = self._repeats = False
        return True
