"""The stretch of time that words speak of, with words to say it back; whether a moment is one they
mean; and is one time of something that repeats meant, or all of them? Pure.

For what exists already: "what have I got on this week", "the one on Friday morning", "my three
o'clock", "only this once". The words are read by the grammar of `times`, as those for a time to
come are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

from vivavoce.language.en.resolving import resolve
from vivavoce.language.en.telling import day_in_words, in_words
from vivavoce.language.en.times import pieces as p
from vivavoce.language.en.times.dates import Calendar, Either, added, shifted
from vivavoce.language.en.times.lexicon import MOST_CHARS
from vivavoce.language.en.times.reading import Mention
from vivavoce.language.en.times.said import Said, said
from vivavoce.wire.values import Value

_DAY = timedelta(days=1)
_HOUR = timedelta(hours=1)
_PERIODS = (("weekend", "at the weekend"), ("week", "this week"), ("month", "this month"))
_PARTS = {"morning": (0, 12), "afternoon": (12, 18), "evening": (16, 24), "night": (18, 30)}
"""From and to which hour, roughly: people draw the lines differently."""
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
    begins = {hours[0]: part for part, hours in _PARTS.items()}
    part = begins.get(found.start.hour) if found.end - found.start < _DAY else None
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


# --- The stretch itself ---------------------------------------------------------------


class Window(Value):
    """From `start` to before `end`, by the user's clock."""

    start: datetime
    end: datetime


def window(words: str | Sequence[str | Mention], *, now: datetime) -> Window | None:
    """The days, or the part of a day, that they speak of; None where they speak of none. `now` is
    aware and in the user's zone."""
    known = said([words] if isinstance(words, str) else words)
    try:
        days = _days(known, now)
    except (OverflowError, ValueError):  # at the edges of the calendar
        return None
    if days is None:
        if not known.part or known.every:
            return None
        days = now.date(), now.date()
    first, last = days
    if known.part:
        begins, ends = _PARTS[known.part.rsplit(maxsplit=1)[-1]]
        return Window(_hour(first, begins, now), _hour(last, ends, now))
    return Window(_hour(first, 0, now), _hour(last, 24, now))


def fits(words: str | Sequence[str | Mention], at: datetime, *, now: datetime) -> bool:
    """Could somebody speak of this moment so? Of a bare hour either half of the day will do. Words
    that name neither a day nor an hour fit nothing."""
    known = said([words] if isinstance(words, str) else words)
    local = at.astimezone(now.tzinfo)
    named = known.days or known.today or known.from_now
    if not (named or known.hours or known.part):
        return False
    if named and not _on_its_day(known, local, now):
        return False
    if known.part and not _in_part(known, local):
        return False
    return not known.hours or any(_at_hour(hour, local) for hour in known.hours)


def _on_its_day(known: Said, local: datetime, now: datetime) -> bool:
    """On any of the days that are named; "Friday of next week" is one."""
    if any(isinstance(day, p.Period) for day in known.days) or not known.days:
        each = [known]
    else:
        each = [replace(known, days=(day,)) for day in known.days]
    late = known.part.endswith("night") and local.hour < _PARTS["night"][1] - 24
    return any(_is_day(one, local - _DAY if late else local, now) for one in each)


def _is_day(known: Said, local: datetime, now: datetime) -> bool:
    if known.days and isinstance(day := known.days[0], p.Weekday) and not day.which:
        return local.weekday() == day.day
    try:
        days = _days(known, now)
    except (OverflowError, ValueError):
        return False
    return days is not None and days[0] <= local.date() <= days[1]


def _in_part(known: Said, local: datetime) -> bool:
    begins, ends = _PARTS[known.part.rsplit(maxsplit=1)[-1]]
    return begins <= local.hour < ends or begins <= local.hour + 24 < ends


def _at_hour(said_: p.Hour, local: datetime) -> bool:
    if said_.hour is None or said_.minute != local.minute:
        return said_.hour is None and said_.minute % 60 == local.minute
    return said_.hour == local.hour or (not said_.certain and said_.hour % 12 == local.hour % 12)


def _days(known: Said, now: datetime) -> tuple[date, date] | None:
    """The first and the last of them."""
    today = now.date()
    calendar = Calendar(today, str(now.tzinfo))
    amount = known.from_now
    if amount is not None and not known.days:
        return today, shifted(now, amount, 1).date()
    weekdays = [day for day in known.days if isinstance(day, p.Weekday)]
    periods = [day for day in known.days if isinstance(day, p.Period)]
    if weekdays and periods and periods[0].unit == "week":
        on = calendar.within(weekdays[0], periods[0])
        return on, on
    if periods:
        return _days_of(periods[0], calendar)
    months = [day for day in known.days if isinstance(day, p.Date) and day.day is None]
    if months and (begins := calendar.day(months[0])) and isinstance(begins, date):
        return begins, added(begins, 1) - _DAY
    if known.today and not known.days:
        return today, today
    found = [calendar.day(day) for day in known.days]
    each = [days[-1] for days in (d.days if isinstance(d, Either) else (d,) for d in found) if days]
    dates = sorted(day for day in each if day is not None)
    return (dates[0], dates[-1]) if dates else None


def _days_of(piece: p.Period, calendar: Calendar) -> tuple[date, date] | None:
    today = calendar.today
    monday = today - today.weekday() * _DAY + 7 * piece.ahead * _DAY
    month = added(today.replace(day=1), piece.ahead)
    match piece.unit:
        case "week":
            return max(monday, today), monday + 6 * _DAY
        case "weekend":
            saturday = monday + 5 * _DAY
            return max(saturday, today), saturday + _DAY
        case "month" if piece.month is None:
            return max(month, today), added(month, 1) - _DAY
        case "year":
            year = piece.year or today.year + piece.ahead
            return max(date(year, 1, 1), today), date(year, 12, 31)
    begins = calendar.day(piece)
    return (begins, begins + 90 * _DAY) if isinstance(begins, date) else None


def _hour(on: date, hour: int, now: datetime) -> datetime:
    days, hour = divmod(hour, 24)
    local = datetime.combine(on + days * _DAY, time(hour), now.tzinfo)
    return local.astimezone(UTC).astimezone(now.tzinfo)


# --- Of something that repeats --------------------------------------------------------


Scope = Literal["this_time", "series"]


def scope_of(words: str) -> Scope | None:
    """Of something that repeats: is one time meant, or all of them from now on?"""
    if _ONE.search(words):
        return "this_time"
    return "series" if _ALL.search(words) else None


def unscoped(words: str) -> str:
    """What they say besides."""
    return " ".join(_ALL.sub(" ", _ONE.sub(" ", words)).split()).strip(" ,;.")
