"""How busy the models are, whether one more session would make it bad for all, and who goes first.

`Load` is pure: fed with times, asked at a time. Only pressing work counts, that which
somebody waits for: an answer that is made far ahead of its listener, a partial
transcript or a filled cache can always wait.

`MouthFirst`: while somebody waits for sound, whoever else computes stands still. On two
cores a language model that goes on writing makes the first clause take three times as
long, whatever the operating system is told of priorities: the cores are two halves of one.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field

from vivavoce.engine.ports import Mouth, Utterance
from vivavoce.wire.values import Value

WINDOW = 15.0
"""Seconds looked back on: about one turn of a conversation."""
PRESSING_MS = 2_000
"""Sound in front of a clause beyond which its making does not press."""
ENOUGH_MS = 600
"""Sound that the listener has in front of him; with more than that there is time for both."""
LONGEST_S = 1.5
"""Nobody stands still for longer, whatever happens."""
_MOST = 4096


class Limits(Value):
    """Crowded above `high`, until everything is below `low` again: no wavering in between."""

    high: float
    low: float


BUSY = Limits(0.85, 0.6)
"""Share of the time in which a model had pressing work."""
FIRST = Limits(2.0, 1.2)
"""Seconds from a first clause to its sound, on the average."""
FINAL = Limits(1.5, 0.9)
"""Seconds from the end of a speech to its text, on the average."""


@dataclass(eq=False, slots=True)
class Job:
    """Pressing work, from when somebody began to wait for it."""

    part: str
    since: float
    awaited: bool


@dataclass(slots=True)
class _Part:
    """One model: when it was busy, and how long people waited for it in silence."""

    waits_limits: Limits
    jobs: set[Job] = field(default_factory=set)
    since: float = 0.0
    spans: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=_MOST))
    waits: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=_MOST))

    def forget(self, now: float) -> None:
        for past in (self.spans, self.waits):
            while past and (past[0][1] if past is self.spans else past[0][0]) <= now - WINDOW:
                past.popleft()

    def busy(self, now: float) -> float:
        """The share of the window in which at least one job was under way."""
        self.forget(now)
        spans = [*self.spans, *([(self.since, now)] if self.jobs else [])]
        start = now - WINDOW
        return min(1.0, sum(end - max(begin, start) for begin, end in spans) / WINDOW)

    def waited(self, now: float) -> float:
        """Seconds on the average, those still waiting included; they can only get longer."""
        self.forget(now)
        done = [wait for _, wait in self.waits]
        mean = sum(done) / len(done) if done else 0.0
        open_ones = [now - job.since for job in self.jobs if job.awaited]
        longer = [wait for wait in open_ones if wait > mean]
        return sum(done + longer) / len(done + longer) if longer else mean


class Load:
    """What the ears and the mouth have to do."""

    def __init__(self) -> None:
        self._parts = {"ears": _Part(FINAL), "mouth": _Part(FIRST)}
        self._crowded = False

    def begin(self, part: str, now: float, *, awaited: bool) -> Job:
        """Pressing work for `ears` or `mouth`; `awaited` when it is met by silence."""
        job, of = Job(part, now, awaited), self._parts[part]
        if not of.jobs:
            of.since = now
        of.jobs.add(job)
        return job

    def end(self, job: Job, now: float, *, done: bool = True) -> None:
        """It came, or nobody wants it any more."""
        of = self._parts[job.part]
        of.jobs.discard(job)
        if not of.jobs:
            of.spans.append((of.since, now))
        if done and job.awaited:
            of.waits.append((now, now - job.since))

    def busy(self, part: str, now: float) -> float:
        return self._parts[part].busy(now)

    def waited(self, part: str, now: float) -> float:
        return self._parts[part].waited(now)

    def crowded(self, now: float) -> bool:
        """Whether to refuse a new session. Changes its mind only for a reason."""
        self._crowded = bool(self._reasons(now, high=not self._crowded))
        return self._crowded

    def why(self, now: float) -> str | None:
        """In words, when it is crowded."""
        if not self.crowded(now):
            return None
        return f"This machine has all it can do: {' and '.join(self._reasons(now, high=False))}."

    def _reasons(self, now: float, *, high: bool) -> list[str]:
        found = []
        for name, part in self._parts.items():
            busy, waited = part.busy(now), part.waited(now)
            if busy > (BUSY.high if high else BUSY.low):
                found.append(f"the {name} busy {busy:.0%} of the time")
            limits = part.waits_limits
            if waited > (limits.high if high else limits.low):
                found.append(f"the {name} {waited:.1f} s behind")
        return found


# --- The mouth before the brain


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
        with nullcontext() if lead_ms >= ENOUGH_MS else self._first():
            return await self._mouth.speak(text, voice=voice, speed=speed, lead_ms=lead_ms)

    @contextmanager
    def _first(self) -> Iterator[None]:
        self._pressing += 1
        if self._enough is None:
            self._pause()
            self._enough = asyncio.get_running_loop().call_later(LONGEST_S, self._resume)
        try:
            yield
        finally:
            self._pressing -= 1
            if not self._pressing and self._enough is not None:
                self._enough.cancel()
                self._enough = None
                self._resume()
