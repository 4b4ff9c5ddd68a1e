"""What "this evening around 7" means where the user lives: instants and RFC 5545 rules.

Pure but for loading the library (`dates`), and blocking: a call takes some milliseconds,
the first one a quarter of a second. What it does not understand or what means two things
comes back as a question; a time that is past comes back as one too. What the words leave
out is taken from the time of what is moved, where there is one. Nothing is guessed that
would not be told: `assumed` says what was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from vivavoce.language.en.recurrence.reading import split
from vivavoce.language.en.recurrence.rules import at_clock, next_occurrence
from vivavoce.language.en.telling import clock_words, date_words
from vivavoce.language.en.times import clock as clocks
from vivavoce.language.en.times.clock import Clock
from vivavoce.language.en.times.dates import EMPTY, beside, day, instant, shift, span
from vivavoce.language.en.times.lexicon import MOST_CHARS, PARTS, WEEKDAYS, tokens
from vivavoce.wire.values import Record, Value

WHEN = "What day and time should it be?"
_FARTHEST = timedelta(days=366 * 50)
_WAKING = (7, 22)
"""Hours in which an hour that could be two is taken to be."""


class When(Record):
    """An instant, or what to ask."""

    words: str
    at: datetime | None = None
    """In UTC."""
    rule: str | None = None
    """Where the words say that it recurs."""
    clock: time | None = None
    """The local hour that is meant; `at` is later where the clocks jump over it."""
    day_said: bool = False
    """The words name a day, rather than an hour of any day."""
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
    same: datetime | None = None,
    recurring: bool = False,
) -> When:
    """`base` is the time of what is moved or corrected: what the words leave out, the day or the
    hour, stays as it is there, and "an hour later" counts from it. `same` is the hour that "the
    same time" means, where it is another one. `recurring`: it is for many days, so which of two
    hours is meant does not depend on the hour it is now."""
    if len(words) > MOST_CHARS:
        return _unclear(words[:MOST_CHARS])
    try:
        written = _written(words, time_zone)
        if written is not None:
            return _ahead(When(words=words, at=written, day_said=True), now)
        rule, found = split(tokens(words), now=now, time_zone=time_zone)
        many = recurring or rule is not None
        meant = _Meant(words, now, time_zone, base, same, rule, many).of(found)
        if meant.at is None or rule is None:
            return meant
        rule = clocked(rule, meant, time_zone)
        first = next_occurrence(rule, meant.at, now, time_zone)
    except OverflowError:  # at the edges of the calendar there is no other zone's clock
        return _unclear(words)
    return replace(meant, at=first, rule=rule) if first else _unclear(words)


def clocked(rule: str, when: When, time_zone: str) -> str:
    """The rule of something that begins then. Where the clocks jump over its first time, the hour
    that was said is in the rule: the others are not as much later."""
    if when.at is None or when.clock is None:
        return rule
    there = when.at.astimezone(ZoneInfo(time_zone)).time()
    return rule if there == when.clock else at_clock(rule, when.clock)


def relative(words: str) -> bool:
    """Do they say how far from the time it has ("an hour later"), not when?"""
    return len(words) <= MOST_CHARS and shift(tokens(words)) is not None


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


class _Meant(Value):
    """One question, with the instant it is asked at. The fields are those of `understand`."""

    words: str
    now: datetime
    time_zone: str
    base: datetime | None
    same: datetime | None
    rule: str | None
    recurring: bool

    def of(self, found: Sequence[str]) -> When:
        if list(found) == ["now"]:
            return When(words=self.words, at=self.now.astimezone(UTC))
        if (shifted := self._shifted(found)) is not None:
            return shifted
        later = self.base is not None and "later" in found  # not than now
        elapsed = None if later else span(found, self.now)
        if elapsed is not None:
            return _ahead(When(words=self.words, at=elapsed, day_said=True), self.now)
        clock = clocks.read(found)
        clock = replace(clock, rest=_telling(clock.rest, self.base))
        if clock.same:
            return self._same(clock)
        if not clock.rest and not clock.said and clock.part is None and self.rule is None:
            return _unclear(self.words)
        question = self._two_days(clock.rest)
        if question:
            return _unclear(self.words, question, "That day can be two days")
        if not clock.rest:
            return self._same_day(clock) or self._next(clock)
        on = day(clock.rest, self.today)
        if on is None:
            return _unclear(self.words)
        named = [WEEKDAYS[w] for w in clock.rest if w in WEEKDAYS]
        if named and on.weekday() not in named and "from" not in clock.rest:
            says = f"{date_words(on)} is a {on:%A}. Which day should it be?"
            return _unclear(self.words, says, "The day of the week and the date do not agree")
        return replace(self._on(on, clock), day_said=True)

    @property
    def today(self) -> date:
        return self._local(self.now).date()

    def _local(self, at: datetime) -> datetime:
        return at.astimezone(ZoneInfo(self.time_zone))

    def _shifted(self, found: Sequence[str]) -> When | None:
        """Earlier or later than another time: the one that the words name, or the one it has."""
        if (other_time := beside(found)) is not None:
            by, sign, rest = other_time
            # The next dinner an hour before which is still to come; one of a named day is it.
            nameless = not _telling(clocks.read(rest).rest, self.base)
            asked = by.of(self.now, self.time_zone, -sign) if nameless else self.now
            other = replace(self, now=asked).of(rest)
            if other.at is None:
                return other
            at = by.of(other.at, self.time_zone, sign)
            return _ahead(replace(other, at=at, clock=None), self.now)
        moved = shift(found)
        if moved is None:
            return None
        by, sign = moved
        if self.base is None:  # "an hour later" is than now
            return None if sign > 0 else _unclear(self.words)
        if not sign:
            return _unclear(self.words, "Should it be earlier or later?", "That can be either")
        at = by.of(self.base, self.time_zone, sign)
        day_said = bool(by.days or by.months)
        return _ahead(When(words=self.words, at=at, day_said=day_said), self.now)

    def _same(self, clock: Clock) -> When:
        kept = self.same or self.base
        if kept is None:
            return _unclear(self.words, "What time should it be?", "There is no time to keep")
        on = day(clock.rest, self.today) if clock.rest else None
        if on is None and not clock.rest and self.same is not None and self.base is not None:
            on = self._local(self.base).date()  # another day was said before
        if on is None:
            return _unclear(self.words, "What day should it be?")
        return replace(_ahead(self._at(on, self._local(kept).time()), self.now), day_said=True)

    def _two_days(self, rest: Sequence[str]) -> str | None:
        """A question where "Friday" can be today or in a week, and "next Friday" this week's."""
        named = [w for w in rest if w in WEEKDAYS]
        if len(set(named)) > 1 and not self.rule:
            return "Which of those days should it be?"
        if len(named) != 1 or self.rule or any(c.isdigit() for w in rest for c in w):
            return None
        until = (WEEKDAYS[named[0]] - self.today.weekday()) % 7
        on = self.today + timedelta(days=until)
        name, later = f"{on:%A}", on + timedelta(days=7)
        if "next" in rest and 0 < until < 7 - self.today.weekday():
            return f"Do you mean this {name}, {date_words(on)}, or {name}, {date_words(later)}?"
        if until == 0 and "next" not in rest and "this" not in rest and "last" not in rest:
            return f"Do you mean today or next {name}, {date_words(later)}?"
        return None

    def _same_day(self, clock: Clock) -> When | None:
        """Only an hour or a part of the day, of something that has a day already. None: it has
        none, or that hour of it is past."""
        if self.base is None or self.rule is not None:
            return None
        on = self._local(self.base).date()
        when = self._on(on, clock) if on >= self.today else None
        if when is None or when.at is None or on == self.today:
            return when if when and when.at else None
        return replace(when, assumed="the same day")

    def _next(self, clock: Clock) -> When:
        """Only an hour, or only a part of the day: the next one."""
        if clock.hour is None:
            at, assumed = self._hour(clock.part)
            on = self.today + timedelta(days=self._local(self.now).time() >= at)
            return replace(self._at(on, at), assumed=assumed)
        for on in (self.today, self.today + timedelta(days=1)):
            for hour in self._hours(clock):
                when = self._at(on, time(hour, clock.minute))
                if when.at is not None and when.at > self.now:
                    return when
        return _unclear(self.words)

    def _on(self, on: date, clock: Clock) -> When:
        if clock.hour is None:
            at, assumed = self._hour(clock.part)
            hour_kept = self.base is not None and "later" not in clock.rest
            if clock.part is None and not hour_kept and on == self.today:
                return _unclear(self.words, "What time today?", "That says no time of day")
            return _ahead(replace(self._at(on, at), assumed=assumed), self.now)
        if clock.part and clock.part.endswith("night") and clock.hour < 6:
            on += timedelta(days=1)  # one at night is after the day that was named
        elif clock.certain and clock.hour == 0 and "midnight" in self.words.casefold():
            on += timedelta(days=1)  # midnight on Friday ends it
        whens = [self._at(on, time(hour, clock.minute)) for hour in self._hours(clock)]
        coming = [w for w in whens if w.at is not None and w.at > self.now]
        return coming[0] if coming else _ahead(whens[-1], self.now)

    def _hour(self, part: str | None) -> tuple[time, str | None]:
        """Where none is said: of that part of the day, or of what is moved; and what to tell."""
        if part is None and self.base is not None:
            return self._local(self.base).time(), "the same time of day"
        at = PARTS[part or "morning"]
        return at, None if part else f"{clock_words(at)}, since no time of day was said"

    def _hours(self, clock: Clock) -> list[int]:
        """The hours it can be, the likelier first: those in which people are awake, and of these
        the one in the half of the day that it has been in."""
        hour = clock.hour or 0
        if clock.certain:
            return [hour]
        both = [hour % 12, hour % 12 + 12]
        hours = [h for h in both if _WAKING[0] <= h < _WAKING[1]] or both
        if self.base is not None:
            evening = self._local(self.base).hour >= 12
            hours.sort(key=lambda h: (h >= 12) is not evening)
        return hours[:1] if self.recurring else hours

    def _at(self, on: date, at: time) -> When:
        return When(words=self.words, at=instant(on, at, self.time_zone), clock=at)


def _telling(rest: Sequence[str], base: datetime | None) -> tuple[str, ...]:
    """The words that tell a day; "the same day" is the one that it has."""
    kept = [w for w in rest if w not in EMPTY]
    if kept == ["same", "day"] and base is not None:
        return ()
    return tuple(rest) if kept else ()


def _unclear(words: str, question: str = WHEN, problem: str = "") -> When:
    problem = problem or f"The time cannot be understood: {words}"
    return When(words=words, question=question, problem=problem)


def _ahead(when: When, now: datetime) -> When:
    """It, unless it is past or beyond what anybody plans."""
    if when.at is None or now <= when.at <= now + _FARTHEST:
        return when
    if when.at > now:
        return _unclear(when.words, problem=f"That is too far away: {when.words}")
    past = f"That is in the past: {when.words}"
    return _unclear(when.words, "That time has passed. When should it be?", past)
