"""What "this evening around 7" means where the user lives: instants and RFC 5545 rules.

Pure but for loading the library (`when_dates`), and blocking: a call takes some
milliseconds, the first one a quarter of a second. What it does not understand or
what means two things comes back as a question; a time that is past comes back as
one too. Nothing is guessed that would not be told: `assumed` says what was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from vivavoce.intents import when_clock
from vivavoce.intents.recurrence import (
    Recurrence,
    next_occurrence,
    occurs_on,
    recurrence,
    split,
)
from vivavoce.intents.when_clock import Clock
from vivavoce.intents.when_dates import day, instant, span
from vivavoce.intents.when_spoken import date_words, hour_words, spoken
from vivavoce.intents.when_tables import WEEKDAYS
from vivavoce.intents.when_words import MOST_CHARS, tokens

__all__ = [
    "Recurrence",
    "When",
    "next_occurrence",
    "occurs_on",
    "recurrence",
    "spoken",
    "understand",
]

WHEN = "What day and time should it be?"
WAKING = (7, 22)
"""Hours in which an hour that could be two is taken to be."""
FARTHEST = timedelta(days=366 * 50)


@dataclass(frozen=True, slots=True, kw_only=True)
class When:
    """An instant, or what to ask."""

    words: str
    at: datetime | None = None
    """In UTC."""
    rule: str | None = None
    """Where the words say that it recurs."""
    assumed: str | None = None
    """What the words did not say, for the model to confirm."""
    problem: str = ""
    question: str | None = None


def understand(
    words: str,
    *,
    now: datetime,
    time_zone: str,
    base: datetime | None = None,
    recurring: bool = False,
) -> When:
    """`base` is the time of what is moved: the hour that "the same time" means. `recurring`: it is
    for many days, so which of two hours is meant does not depend on the hour it is now."""
    if len(words) > MOST_CHARS:
        return _unclear(words[:MOST_CHARS])
    written = _written(words, time_zone)
    if written is not None:
        return _ahead(When(words=words, at=written), now)
    rule, found = split(tokens(words), now=now, time_zone=time_zone)
    meant = _Meant(words, now, time_zone, base, rule, recurring or rule is not None).of(found)
    if meant.at is None or rule is None:
        return meant
    first = next_occurrence(rule, meant.at, now, time_zone)
    return replace(meant, at=first, rule=rule) if first else _unclear(words)


def _written(words: str, time_zone: str) -> datetime | None:
    """An ISO 8601 instant, as models sometimes write it; one without an offset is local. A day
    alone is read like spoken ones, since it says no hour."""
    try:
        at = datetime.fromisoformat(words.strip())
    except ValueError:
        return None
    if len(words.strip()) <= len("2026-12-01"):
        return None
    return at.astimezone(UTC) if at.tzinfo else instant(at.date(), at.time(), time_zone)


def _unclear(words: str, question: str = WHEN, problem: str = "") -> When:
    return When(
        words=words,
        question=question,
        problem=problem or f"The time cannot be understood: {words}",
    )


def _ahead(when: When, now: datetime) -> When:
    if when.at is None or now <= when.at <= now + FARTHEST:
        return when
    if when.at > now:
        return _unclear(when.words, problem=f"That is too far away: {when.words}")
    return _unclear(
        when.words, "That time has passed. When should it be?", f"That is in the past: {when.words}"
    )


@dataclass(frozen=True, slots=True)
class _Meant:
    """One question, with the local day and hour it is asked at."""

    words: str
    now: datetime
    time_zone: str
    base: datetime | None
    rule: str | None
    recurring: bool

    def of(self, found: Sequence[str]) -> When:
        if list(found) == ["now"]:
            return When(words=self.words, at=self.now.astimezone(UTC))
        elapsed = span(found, self.now)
        if elapsed is not None:
            return _ahead(When(words=self.words, at=elapsed), self.now)
        clock = when_clock.read(found)
        if clock.same:
            return self._same(clock)
        if not clock.rest and not clock.said and clock.part is None and self.rule is None:
            return _unclear(self.words)
        question = self._two_days(clock.rest, clock)
        if question:
            return _unclear(self.words, question, "That day can be two days")
        if not clock.rest:
            return self._next(clock)
        on = day(clock.rest, self.today)
        if on is None:
            return _unclear(self.words)
        if _another_weekday(on, clock.rest):
            says = f"{date_words(on)} is a {on:%A}. Which day should it be?"
            return _unclear(self.words, says, "The day of the week and the date do not agree")
        return self._on(on, clock)

    @property
    def local(self) -> datetime:
        return self.now.astimezone(ZoneInfo(self.time_zone))

    @property
    def today(self) -> date:
        return self.local.date()

    def _same(self, clock: Clock) -> When:
        if self.base is None:
            return _unclear(self.words, "What time should it be?", "There is no time to keep")
        before = self.base.astimezone(ZoneInfo(self.time_zone))
        on = day(clock.rest, self.today) if clock.rest else None
        if on is None:
            return _unclear(self.words, "What day should it be?")
        return _ahead(self._at(on, before.time()), self.now)

    def _two_days(self, rest: Sequence[str], clock: Clock) -> str | None:
        """A question where "Friday" can be today or in a week, and "next Friday" this week's."""
        named = [w for w in rest if w in WEEKDAYS]
        if len(set(named)) > 1 and not self.rule:
            return "Which of those days should it be?"
        if len(named) != 1 or self.rule or any(c.isdigit() for w in rest for c in w):
            return None
        ahead = (WEEKDAYS[named[0]] - self.today.weekday()) % 7
        on = self.today + timedelta(days=ahead)
        name, later = f"{on:%A}", on + timedelta(days=7)
        if "next" in rest and 0 < ahead < 7 - self.today.weekday():
            return f"Do you mean this {name}, {date_words(on)}, or {name}, {date_words(later)}?"
        if ahead == 0 and "next" not in rest and "this" not in rest and "last" not in rest:
            return f"Do you mean today or next {name}, {date_words(later)}?"
        return None

    def _next(self, clock: Clock) -> When:
        """Only an hour, or only a part of the day: the next one."""
        if clock.hour is None:
            at = when_clock.default(clock.part)
            on = self.today + timedelta(days=self.local.time() >= at)
            assumed = None if clock.part else _assumed(at)
            return replace(self._at(on, at), assumed=assumed)
        for on in (self.today, self.today + timedelta(days=1)):
            for hour in self._hours(clock):
                when = self._at(on, time(hour, clock.minute))
                if when.at is not None and when.at > self.now:
                    return when
        return _unclear(self.words)

    def _on(self, on: date, clock: Clock) -> When:
        if clock.hour is None:
            return self._some_time_on(on, clock.part)
        if clock.part and clock.part.endswith("night") and clock.hour < 6:
            on += timedelta(days=1)  # one at night is after the day that was named
        elif clock.certain and clock.hour == 0 and "midnight" in self.words.casefold():
            on += timedelta(days=1)  # midnight on Friday ends it
        whens = [self._at(on, time(hour, clock.minute)) for hour in self._hours(clock)]
        coming = [w for w in whens if w.at is not None and w.at > self.now]
        return coming[0] if coming else _ahead(whens[-1], self.now)

    def _some_time_on(self, on: date, part: str | None) -> When:
        """A day without an hour: the hour of what is moved, or of that part of the day."""
        if self.base is not None and part is None:
            kept = self.base.astimezone(ZoneInfo(self.time_zone)).time()
            return _ahead(replace(self._at(on, kept), assumed="the same time of day"), self.now)
        at = when_clock.default(part)
        if part is None and on == self.today:
            return _unclear(self.words, "What time today?", "That says no time of day")
        return _ahead(replace(self._at(on, at), assumed=None if part else _assumed(at)), self.now)

    def _hours(self, clock: Clock) -> list[int]:
        hours = _hours(clock)
        return hours[:1] if self.recurring else hours

    def _at(self, on: date, at: time) -> When:
        return When(words=self.words, at=instant(on, at, self.time_zone))


def _another_weekday(on: date, rest: Sequence[str]) -> bool:
    named = [WEEKDAYS[w] for w in rest if w in WEEKDAYS]
    return bool(named) and on.weekday() not in named and "from" not in rest


def _hours(clock: Clock) -> list[int]:
    """The hours it can be, the likelier first: those in which people are awake."""
    hour = clock.hour or 0
    if clock.certain:
        return [hour]
    both = [hour % 12, hour % 12 + 12]
    awake = [h for h in both if WAKING[0] <= h < WAKING[1]]
    return awake or both


def _assumed(at: time) -> str:
    return f"{hour_words(at)}, since no time of day was said"
