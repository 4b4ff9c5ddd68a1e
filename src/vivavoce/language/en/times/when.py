"""What "this evening around 7" means where the user lives: instants and RFC 5545 rules.

Pure but for loading the library (`when_dates`), and blocking: a call takes some
milliseconds, the first one a quarter of a second. What it does not understand or
what means two things comes back as a question; a time that is past comes back as
one too. Nothing is guessed that would not be told: `assumed` says what was.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from vivavoce.language.en.recurrence.rule import (
    Recurrence,
    at_clock,
    next_occurrence,
    occurs_on,
    recurrence,
    split,
)
from vivavoce.language.en.times.dates import instant
from vivavoce.language.en.times.found import When, ahead, unclear
from vivavoce.language.en.times.meant import Meant
from vivavoce.language.en.times.shifts import shift
from vivavoce.language.en.times.spoken import spoken
from vivavoce.language.en.times.tokens import MOST_CHARS, tokens

__all__ = [
    "Recurrence",
    "When",
    "clocked",
    "next_occurrence",
    "occurs_on",
    "recurrence",
    "relative",
    "spoken",
    "understand",
]


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
        return unclear(words[:MOST_CHARS])
    try:
        written = _written(words, time_zone)
        if written is not None:
            return ahead(When(words=words, at=written, day_said=True), now)
        rule, found = split(tokens(words), now=now, time_zone=time_zone)
        many = recurring or rule is not None
        meant = Meant(words, now, time_zone, base, same, rule, many).of(found)
        if meant.at is None or rule is None:
            return meant
        rule = clocked(rule, meant, time_zone)
        first = next_occurrence(rule, meant.at, now, time_zone)
    except OverflowError:  # at the edges of the calendar there is no other zone's clock
        return unclear(words)
    return replace(meant, at=first, rule=rule) if first else unclear(words)


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
