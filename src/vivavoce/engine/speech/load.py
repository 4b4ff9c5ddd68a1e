"""How busy the models are, and whether one more session would make it bad for all.

Pure: fed with times, asked at a time. Only pressing work counts, that which
somebody waits for: an answer that is made far ahead of its listener, a partial
transcript or a filled cache can always wait.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

WINDOW = 15.0
"""Seconds looked back on: about one turn of a conversation."""
PRESSING_MS = 2_000
"""Sound in front of a clause beyond which its making does not press."""
_MOST = 4096


@dataclass(frozen=True, slots=True)
class Limits:
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

    def retry_after_s(self, now: float) -> int:
        """After which it is worth asking again: what is counted now is forgotten by then."""
        return int(WINDOW) if self.crowded(now) else 0

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
