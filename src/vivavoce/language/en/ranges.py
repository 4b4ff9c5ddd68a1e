"""What is on then: the stretch of time that a question is about, with words to say it back. And
does somebody speak of one time of something that repeats, or of all of them?

The stretch itself is found by `windows`. Pure.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

from vivavoce.language.en.resolving import resolve
from vivavoce.language.en.telling import day_in_words, in_words
from vivavoce.language.en.times.lexicon import MOST_CHARS
from vivavoce.language.en.windows import window
from vivavoce.wire.values import Value

_DAY = timedelta(days=1)
_HOUR = timedelta(hours=1)
_PERIODS = (("weekend", "at the weekend"), ("week", "this week"), ("month", "this month"))
_PARTS = {0: "morning", 12: "afternoon", 16: "evening", 18: "night"}
_REST = re.compile(r"(?i)\b(?:the |what's )?(?:rest|remainder|left) of (?:the|this|my)?\b")
_FEW = re.compile(r"(?i)\b(?:(?:in|over|for) )?the (?:next|coming) (?:few|couple of) days\b")
_ALL = re.compile(
    r"(?i)\b(?:from now on|from here on(?: in| out)?|in (?:the )?future|going forward|for good|"
    r"every (?:single )?time|each time|always|permanently|all of them|the whole series)\b"
)
_ONE = re.compile(
    r"(?i)\b(?:(?:just|only) (?:for )?(?:this|the|that) (?:once|one|time|week|month|day)|"
    r"(?:just|only) (?:the )?once|this once|this time only)\b"
)


class Range(Value):
    """`words` say it back: "tomorrow, Tuesday, in the afternoon"; `days`: how many it is about."""

    start: datetime
    end: datetime
    words: str
    days: int = 1


def range_of(words: str, *, now: datetime, time_zone: str) -> Range | None:
    """None: they are about no stretch of time that is understood."""
    if len(words) > MOST_CHARS:
        return None
    local = now.astimezone(ZoneInfo(time_zone))
    words = _FEW.sub("over the next three days", _REST.sub("this", words))
    moment = resolve(words, now=local)
    if "hour" in moment.said and moment.at is not None and moment.rule is None:
        return Range(moment.at, moment.at + _HOUR, in_words(moment.at, now=local))
    found = window(words, now=local)
    if found is None:
        return None
    days = max(1, round((found.end - found.start) / _DAY))
    if days > 1:
        return Range(found.start, found.end, _period(words.casefold(), found.end, local), days)
    told = day_in_words(found.start.date(), local.date())
    part = _PARTS.get(found.start.hour) if found.end - found.start < _DAY else None
    return Range(found.start, found.end, _of_day(told, part))


def _period(words: str, end: datetime, now: datetime) -> str:
    later = "next " if re.search(r"\b(?:next|following)\b", words) else ""
    for name, told in _PERIODS:
        if re.search(rf"\b{name}\b", words):
            return f"{later}{name}" if later else told
    return f"until {day_in_words((end - _HOUR).date(), now.date()).removeprefix('on ')}"


def _of_day(told: str, part: str | None) -> str:
    if part is None:
        return told
    if told == "today":
        return "tonight" if part == "night" else f"this {part}"
    comma = "," if "," in told else ""
    return f"{told}{comma} {'at night' if part == 'night' else f'in the {part}'}"


Scope = Literal["this_time", "series"]


def scope_of(words: str) -> Scope | None:
    """Of something that repeats: is one time meant, or all of them from now on?"""
    if _ONE.search(words):
        return "this_time"
    return "series" if _ALL.search(words) else None


def unscoped(words: str) -> str:
    """What they say besides."""
    return " ".join(_ALL.sub(" ", _ONE.sub(" ", words)).split()).strip(" ,;.")
