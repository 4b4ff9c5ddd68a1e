"""Which stretch of time words mean: "tomorrow", "at the weekend", "on Thursday afternoon", "the
rest of the week". For questions about what is on, where `understanding` is for a single instant.

Pure, and blocking like `understanding`. Also: does somebody speak of one time of something that
repeats, or of all of them?
"""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

from vivavoce.language.en.telling import clock_words, date_words
from vivavoce.language.en.times import clock as clocks
from vivavoce.language.en.times.dates import EMPTY, day, instant
from vivavoce.language.en.times.lexicon import MOST_CHARS, UNITS, tokens
from vivavoce.wire.values import Value

_DAY = timedelta(days=1)
_FEW = 3
_PARTS = {"morning": (0, 12), "afternoon": (12, 18), "evening": (17, 24), "night": (18, 24)}
_WAKING = 7
_IDLE = frozenset(
    {"on", "in", "at", "for", "of", "the", "my", "rest", "left", "over", "during", "all", "whole",
     "coming", "up", "this", "anything", "day", "a", "in-the", "still", "what", "what's"}
)  # fmt: skip
_ALL = re.compile(
    r"(?i)\b(?:from now on|from here on(?: in| out)?|in (?:the )?future|going forward|for good|"
    r"every (?:single )?time|each time|always|permanently|all of them|the whole series)\b"
)
_ONE = re.compile(
    r"(?i)\b(?:(?:just|only) (?:for )?(?:this|the|that) (?:once|one|time|week|month|day)|"
    r"(?:just|only) (?:the )?once|this once|this time only)\b"
)


class Range(Value):
    """`words` say it back: "tomorrow afternoon"; `days` is how many of them it is about."""

    start: datetime
    end: datetime
    words: str
    days: int = 1


def range_of(words: str, *, now: datetime, time_zone: str) -> Range | None:
    """None: they are about no stretch of time that is understood."""
    if len(words) > MOST_CHARS:
        return None
    today = now.astimezone(ZoneInfo(time_zone)).date()
    found = tokens(words)
    if longer := _longer(words.casefold(), found, today):
        first, last, said = longer
        return Range(
            instant(first, time(), time_zone),
            instant(last, time(), time_zone),
            said,
            (last - first).days,
        )
    clock = clocks.read(found)
    rest = [word for word in clock.rest if word not in EMPTY and word not in _IDLE]
    on = day(rest, today) if rest else today
    if on is None or (not rest and clock.part is None and not clock.said):
        return None
    return _within(on, clock, today, time_zone)


def _longer(words: str, found: list[str], today: date) -> tuple[date, date, str] | None:
    """More than a day: its first, the day after its last, and how it is called."""
    monday = today - timedelta(days=today.weekday())
    later = "next" in words.split() or "following" in words.split()
    if "weekend" in words:
        saturday = monday + 5 * _DAY + (7 * _DAY if later else timedelta())
        first = max(saturday, today)
        return first, saturday + 2 * _DAY, "next weekend" if later else "at the weekend"
    numbers = [int(word) for word in found if word.isdecimal() and len(word) < 3]
    units = [UNITS[word] for word in found if word in UNITS]
    if units == ["day"] and (numbers or {"few", "couple"} & set(found)):
        count = numbers[0] if numbers else _FEW
        return today, today + count * _DAY, f"in the next {count} days"
    if "week" in units and not numbers:
        if later:
            return monday + 7 * _DAY, monday + 14 * _DAY, "next week"
        return today, monday + 7 * _DAY, "this week"
    if "month" in units and not numbers:
        begin = _month_after(today) if later else today
        return begin, _month_after(begin), "next month" if later else "this month"
    return None


def _month_after(on: date) -> date:
    return date(on.year + on.month // 12, on.month % 12 + 1, 1)


def _within(on: date, clock: clocks.Clock, today: date, time_zone: str) -> Range:
    near = {-1: "yesterday", 0: "today", 1: "tomorrow"}
    said = near.get((on - today).days) or f"on {on:%A}, {date_words(on)}"
    first, last = instant(on, time(), time_zone), instant(on + _DAY, time(), time_zone)
    if clock.hour is not None:
        hour = clock.hour if clock.certain or clock.hour >= _WAKING else clock.hour % 12 + 12
        at = time(hour % 24, clock.minute)
        start = instant(on, at, time_zone)
        return Range(start, start + timedelta(hours=1), f"{said} at {clock_words(at)}")
    if clock.part is not None:
        part = clock.part.split()[-1]
        begin, end = _PARTS[part]
        first = instant(on, time(begin), time_zone)
        last = instant(on, time(end), time_zone) if end < 24 else last
        tonight = said == "today" and part == "night"
        named = "tonight" if tonight else f"this {part}" if said == "today" else f"{said} {part}"
        if abs((on - today).days) > 1:
            named = f"on {on:%A} {part}, {date_words(on)}"
        return Range(first, last, named)
    return Range(first, last, said)


Scope = Literal["this_time", "series"]


def scope_of(words: str) -> Scope | None:
    """Of something that repeats: is one time meant, or all of them from now on?"""
    if _ONE.search(words):
        return "this_time"
    return "series" if _ALL.search(words) else None


def unscoped(words: str) -> str:
    """What they say besides."""
    return " ".join(_ALL.sub(" ", _ONE.sub(" ", words)).split()).strip(" ,;.")
