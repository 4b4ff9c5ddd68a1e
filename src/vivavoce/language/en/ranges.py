"""Which stretch of time words mean: "tomorrow", "at the weekend", "on Thursday afternoon", "the
rest of the week". For questions about what is on, where `understanding` is for a single instant.

Pure. Also: does somebody speak of one time of something that
repeats, or of all of them?
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

from vivavoce.language.en.numbers import numbers_in
from vivavoce.language.en.resolving import Resolution, resolve
from vivavoce.language.en.telling import clock_words, date_words
from vivavoce.language.en.times.lexicon import MOST_CHARS
from vivavoce.wire.values import Value

_DAY = timedelta(days=1)
_FEW = 3
_MOST_DAYS = 32
_WEEKEND = "at the weekend"
_COUNTED = re.compile(r"\b(?:a|one|two|three|\d+)\s+(?:weeks?|months?)\b|\bfrom\b")
"""A day that is a week away, not a stretch."""
_PARTS = {"morning": (0, 12), "afternoon": (12, 18), "evening": (17, 24), "night": (18, 24)}
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
    local = now.astimezone(ZoneInfo(time_zone))
    if longer := _longer(words.casefold(), local.date()):
        first, last, said = longer
        start, end = _begin(first, time_zone), _begin(last, time_zone)
        return Range(start, end, said, (last - first).days)
    found = resolve(words, now=local)
    return _within(found, local.date(), time_zone) if found.day is not None else None


def _begin(on: date, time_zone: str, hour: int = 0) -> datetime:
    return datetime.combine(on, time(hour), ZoneInfo(time_zone)).astimezone(UTC)


def _longer(words: str, today: date) -> tuple[date, date, str] | None:
    """More than a day: its first, the day after its last, and how it is called."""
    monday = today - timedelta(days=today.weekday())
    found = re.findall(r"[a-z]+|\d+", words)
    later = "next" in found or "following" in found
    if "weekend" in found:
        saturday = monday + 5 * _DAY + (7 * _DAY if later else timedelta())
        return max(saturday, today), saturday + 2 * _DAY, "next weekend" if later else _WEEKEND
    if "days" in found:
        numbers = numbers_in(words)
        count = int(numbers[0]) if numbers and 1 < float(numbers[0]) < _MOST_DAYS else _FEW
        return today, today + count * _DAY, f"in the next {count} days"
    if "week" in found and not _COUNTED.search(words):
        if later:
            return monday + 7 * _DAY, monday + 14 * _DAY, "next week"
        return today, monday + 7 * _DAY, "this week"
    if "month" in found and not _COUNTED.search(words):
        begin = _month_after(today) if later else today
        return begin, _month_after(begin), "next month" if later else "this month"
    return None


def _month_after(on: date) -> date:
    return date(on.year + on.month // 12, on.month % 12 + 1, 1)


def _within(found: Resolution, today: date, time_zone: str) -> Range:
    on = found.day or today
    near = {-1: "yesterday", 0: "today", 1: "tomorrow"}.get((on - today).days)
    said = near or f"on {on:%A}, {date_words(on)}"
    if "hour" in found.said and found.at is not None:
        end = found.at + timedelta(hours=1)
        return Range(found.at, end, f"{said} at {clock_words(found.at.time())}")
    part = found.part.split()[-1] if found.part else ""
    if part in _PARTS:
        begin, end_hour = _PARTS[part]
        last = _begin(on, time_zone, end_hour) if end_hour < 24 else _begin(on + _DAY, time_zone)
        named = f"{near} {part}" if near else f"on {on:%A} {part}, {date_words(on)}"
        if near == "today":
            named = "tonight" if part == "night" else f"this {part}"
        return Range(_begin(on, time_zone, begin), last, named)
    return Range(_begin(on, time_zone), _begin(on + _DAY, time_zone), said)


Scope = Literal["this_time", "series"]


def scope_of(words: str) -> Scope | None:
    """Of something that repeats: is one time meant, or all of them from now on?"""
    if _ONE.search(words):
        return "this_time"
    return "series" if _ALL.search(words) else None


def unscoped(words: str) -> str:
    """What they say besides."""
    return " ".join(_ALL.sub(" ", _ONE.sub(" ", words)).split()).strip(" ,;.")
