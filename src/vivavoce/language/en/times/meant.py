"""Tokens to an instant: which day, which hour, and what the words left out.

What they left out is taken from the time of what is moved, where there is one.
Whether it recurs has been taken out of the tokens before (`recurrence.split`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from vivavoce.language.en.times import clock as when_clock
from vivavoce.language.en.times import shifts
from vivavoce.language.en.times.clock import Clock
from vivavoce.language.en.times.dates import EMPTY, day, instant, span
from vivavoce.language.en.times.found import When, ahead, unclear
from vivavoce.language.en.times.spoken import date_words, hour_words
from vivavoce.language.en.times.tables import WEEKDAYS

WAKING = (7, 22)
"""Hours in which an hour that could be two is taken to be."""


@dataclass(frozen=True, slots=True)
class Meant:
    """One question, with the instant it is asked at. The fields are those of `when.understand`."""

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
            return ahead(When(words=self.words, at=elapsed, day_said=True), self.now)
        clock = when_clock.read(found)
        clock = replace(clock, rest=_telling(clock.rest, self.base))
        if clock.same:
            return self._same(clock)
        if not clock.rest and not clock.said and clock.part is None and self.rule is None:
            return unclear(self.words)
        question = self._two_days(clock.rest)
        if question:
            return unclear(self.words, question, "That day can be two days")
        if not clock.rest:
            return self._same_day(clock) or self._next(clock)
        on = day(clock.rest, self.today)
        if on is None:
            return unclear(self.words)
        if _another_weekday(on, clock.rest):
            says = f"{date_words(on)} is a {on:%A}. Which day should it be?"
            return unclear(self.words, says, "The day of the week and the date do not agree")
        return replace(self._on(on, clock), day_said=True)

    @property
    def today(self) -> date:
        return self._local(self.now).date()

    def _local(self, at: datetime) -> datetime:
        return at.astimezone(ZoneInfo(self.time_zone))

    def _shifted(self, found: Sequence[str]) -> When | None:
        """Earlier or later than another time: the one that the words name, or the one it has."""
        if (beside := shifts.beside(found)) is not None:
            by, sign, rest = beside
            # The next dinner an hour before which is still to come; one of a named day is it.
            nameless = not _telling(when_clock.read(rest).rest, self.base)
            asked = by.of(self.now, self.time_zone, -sign) if nameless else self.now
            other = replace(self, now=asked).of(rest)
            if other.at is None:
                return other
            at = by.of(other.at, self.time_zone, sign)
            return ahead(replace(other, at=at, clock=None), self.now)
        moved = shifts.shift(found)
        if moved is None:
            return None
        by, sign = moved
        if self.base is None:  # "an hour later" is than now
            return None if sign > 0 else unclear(self.words)
        if not sign:
            return unclear(self.words, "Should it be earlier or later?", "That can be either")
        at = by.of(self.base, self.time_zone, sign)
        day_said = bool(by.days or by.months)
        return ahead(When(words=self.words, at=at, day_said=day_said), self.now)

    def _same(self, clock: Clock) -> When:
        kept = self.same or self.base
        if kept is None:
            return unclear(self.words, "What time should it be?", "There is no time to keep")
        on = day(clock.rest, self.today) if clock.rest else None
        if on is None and not clock.rest and self.same is not None and self.base is not None:
            on = self._local(self.base).date()  # another day was said before
        if on is None:
            return unclear(self.words, "What day should it be?")
        return replace(ahead(self._at(on, self._local(kept).time()), self.now), day_said=True)

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
        return unclear(self.words)

    def _on(self, on: date, clock: Clock) -> When:
        if clock.hour is None:
            at, assumed = self._hour(clock.part)
            hour_kept = self.base is not None and "later" not in clock.rest
            if clock.part is None and not hour_kept and on == self.today:
                return unclear(self.words, "What time today?", "That says no time of day")
            return ahead(replace(self._at(on, at), assumed=assumed), self.now)
        if clock.part and clock.part.endswith("night") and clock.hour < 6:
            on += timedelta(days=1)  # one at night is after the day that was named
        elif clock.certain and clock.hour == 0 and "midnight" in self.words.casefold():
            on += timedelta(days=1)  # midnight on Friday ends it
        whens = [self._at(on, time(hour, clock.minute)) for hour in self._hours(clock)]
        coming = [w for w in whens if w.at is not None and w.at > self.now]
        return coming[0] if coming else ahead(whens[-1], self.now)

    def _hour(self, part: str | None) -> tuple[time, str | None]:
        """Where none is said: of that part of the day, or of what is moved; and what to tell."""
        if part is None and self.base is not None:
            return self._local(self.base).time(), "the same time of day"
        at = when_clock.default(part)
        return at, None if part else f"{hour_words(at)}, since no time of day was said"

    def _hours(self, clock: Clock) -> list[int]:
        """The hours it can be, the likelier first: those in which people are awake, and of these
        the one in the half of the day that it has been in."""
        hour = clock.hour or 0
        if clock.certain:
            return [hour]
        both = [hour % 12, hour % 12 + 12]
        hours = [h for h in both if WAKING[0] <= h < WAKING[1]] or both
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


def _another_weekday(on: date, rest: Sequence[str]) -> bool:
    named = [WEEKDAYS[w] for w in rest if w in WEEKDAYS]
    return bool(named) and on.weekday() not in named and "from" not in rest
