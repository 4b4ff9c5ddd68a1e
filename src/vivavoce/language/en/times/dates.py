"""The day that words mean, by dateparser; how far they are from another time; and local clock
times as instants, by zoneinfo.

The only module that knows dateparser. It is loaded at the first question: it takes a
quarter of a second. It is asked for days, and for spans of hours and minutes; the hour
of the day is never left to it, since it takes "Friday at 6" for a day of June. From what
"an hour later" counts is the caller's to know: the time of the task that is moved, or the
time that the other words name.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from vivavoce.language.en.numbers import ordinal_of
from vivavoce.language.en.times.clock import military
from vivavoce.language.en.times.lexicon import MONTHS, UNITS, WEEKDAYS, listed
from vivavoce.wire.values import Value

EMPTY = frozenset(
    listed(
        "at on by the of around about approximately roughly maybe please for before until till "
        "in-the let's say make it and to sometime some time starting beginning again instead no "
        "actually"
    )
)
"""Words that say nothing about which day it is."""
_SETTINGS: dict[str, Any] = {
    "PREFER_DATES_FROM": "future",
    "DATE_ORDER": "MDY",
    # Its timestamps and figures without spaces make dates of numbers nobody meant as one.
    "PARSERS": ["relative-time", "absolute-time"],
    "RETURN_AS_TIMEZONE_AWARE": False,
}


def library(words: str, base: datetime) -> datetime | None:
    """What dateparser makes of it, from a naive `base`."""
    import dateparser  # late: slow to load, and not every server understands times

    try:
        return dateparser.parse(
            words, languages=["en"], settings={**_SETTINGS, "RELATIVE_BASE": base}
        )
    except (ValueError, OverflowError, TypeError, KeyError, IndexError):  # words nobody foresaw
        return None


def span(found: Sequence[str], now: datetime) -> datetime | None:
    """ "in 90 minutes": elapsed time, whatever the clocks do meanwhile. None: it is no such."""
    kept = [w for w in found if w not in EMPTY]
    if not any(UNITS.get(w) in ("hour", "minute") for w in kept) or {"to", "past"} & set(found):
        return None
    if any(military(found, at) for at in range(len(found))):
        return None
    kept = [w for w in kept if w not in ("in", "from", "now", "later", "within")]
    elapsed = library("in " + " ".join(kept), now.astimezone(UTC).replace(tzinfo=None))
    return elapsed.replace(tzinfo=UTC) if elapsed else None


def day(found: Sequence[str], today: date) -> date | None:
    """The day these tokens mean, none before today unless they say so."""
    kept = [w for w in found if w not in EMPTY]
    if "from" in kept and kept[-1] != "now":  # "1 week from friday"
        split = kept.index("from")
        later = day(kept[split + 1 :], today)
        return day(["in", *kept[:split]], later) if later else None
    if kept[:1] == ["end"] or kept[:1] == ["later"]:
        return _end(kept[1:], today)
    if kept[-1:] and kept[-1] in MONTHS and set(kept[:-1]) <= {"in", "this", "next"}:
        month = MONTHS[kept[-1]]  # the month alone: its first day that is to come
        if month == today.month and "this" in kept:
            return None  # it is running: which of its days is not said
        return date(today.year + (month <= today.month), month, 1)
    if any(map(_stray, kept)) and not any(w in MONTHS or w in UNITS for w in kept):
        return None
    if len(kept) == 2 and kept[0].isdecimal() and kept[1] in UNITS:
        kept = ["in", *kept]
    weekday = next((WEEKDAYS[w] for w in kept if w in WEEKDAYS), None)
    if weekday is not None and _dated(kept):
        kept = [w for w in kept if w not in WEEKDAYS and w not in ("next", "this")]
    elif weekday is not None and len(kept) <= 2:
        return _weekday(kept, weekday, today)
    if len(kept) == 1 and (number := ordinal_of(kept[0])):
        return _day_of_month(number, today)
    meant = library(" ".join(kept), datetime.combine(today, time())) if kept else None
    return meant.date() if meant else None


def _stray(word: str) -> bool:
    """A number that is no year: the library would take "in 5" for May."""
    return word.isdecimal() and not (len(word) == 4 and word.startswith("20"))


def _dated(kept: Sequence[str]) -> bool:
    """Is there a day of the month or a date beside the weekday?"""
    return any(w in MONTHS or ordinal_of(w) or w[:1].isdecimal() for w in kept)


def _weekday(kept: Sequence[str], weekday: int, today: date) -> date | None:
    ahead = (weekday - today.weekday()) % 7
    match kept[0]:
        case _ if kept[-1] not in WEEKDAYS:
            return None
        case "last" | "previous":
            return today - timedelta(days=(7 - ahead) % 7 or 7)
        case "next":
            return today + timedelta(days=ahead or 7)
        case word if len(kept) == 1 or word == "this":
            return today + timedelta(days=ahead)
    return None


def _end(kept: Sequence[str], today: date) -> date | None:
    unit = UNITS.get(kept[-1], "") if kept else ""
    if "next" in kept and unit in ("week", "month", "year"):
        ahead = day(["in", "1", unit], today)
        return _end([unit], ahead) if ahead else None
    match unit:
        case "week":
            return today + timedelta(days=6 - today.weekday())
        case "month":
            return _last_of(today.year, today.month)
        case "year":
            return date(today.year, 12, 31)
    month = next((MONTHS[w] for w in kept if w in MONTHS), None)
    if month is None:
        return today if unit == "day" or kept == ["today"] else None
    return _last_of(today.year + (month < today.month), month)


def _last_of(year: int, month: int) -> date:
    return date(year + month // 12, month % 12 + 1, 1) - timedelta(days=1)


def _day_of_month(number: int, today: date) -> date | None:
    """The next one that there is: not every month has a 31st."""
    for months in range(13):
        year, month = divmod(today.year * 12 + today.month - 1 + months, 12)
        last = _last_of(year, month + 1).day
        if 1 <= number <= last and (months or number >= today.day):
            return date(year, month + 1, number)
    return None


def instant(on: date, at: time, time_zone: str) -> datetime:
    """The instant of a local clock time. One that the clocks jump over is as much later as they
    jump (2:30 is 3:30); of one that comes twice it is the first."""
    local = datetime.combine(on, at, ZoneInfo(time_zone))
    return local.astimezone(UTC)


# --- How far from another time: "an hour later", "an hour before dinner" ----------------

# "Push it back" makes it later. "Forward" is earlier to some and later to others.
_LATER = frozenset({"later", "back", "by", "after", "postpone", "delay", "push"})
_EARLIER = frozenset({"earlier", "sooner", "up", "bring", "pull"})
_EITHER = frozenset({"forward", "forwards"})
_VERBS = frozenset({"move", "shift", "put", "than", "planned", "another"})
_NOW = frozenset({"in", "from", "now", "within"})
_MOST = 4  # characters of a number


class Shift(Value):
    """By the clock of a place: a day later is the same hour, whatever the clocks do meanwhile."""

    minutes: int = 0
    days: int = 0
    months: int = 0

    def of(self, at: datetime, time_zone: str, sign: int = 1) -> datetime:
        from dateutil.relativedelta import relativedelta  # late, like all of its library

        local = at.astimezone(ZoneInfo(time_zone))
        there = local.date() + relativedelta(months=sign * self.months, days=sign * self.days)
        moved = instant(there, local.time(), time_zone) if there != local.date() else at
        return moved.astimezone(UTC) + timedelta(minutes=sign * self.minutes)


def amount(found: Sequence[str]) -> Shift | None:
    """ "1 hour 30 minutes"; None where there is anything else."""
    if not found or len(found) % 2:
        return None
    minutes = days = months = 0
    for number, word in zip(found[::2], found[1::2], strict=True):
        whole, _, part = number.partition(".")
        if not (whole.isdecimal() and number.isascii() and len(number) <= _MOST):
            return None
        count, unit = int(whole), UNITS.get(word)
        if unit == "hour" and part.isdecimal():
            minutes += round(60 * float(number))  # "1.5 hours"
            continue
        match unit if number == whole else None:
            case "minute" | "hour":
                minutes += count * (60 if unit == "hour" else 1)
            case "day" | "week":
                days += count * (7 if unit == "week" else 1)
            case "month" | "year":
                months += count * (12 if unit == "year" else 1)
            case _:
                return None
    return Shift(minutes, days, months)


def _some(found: Sequence[str]) -> Shift | None:
    """Also "the day" and "the week", as one."""
    return amount(["1", *found] if len(found) == 1 else found)


def shift(found: Sequence[str]) -> tuple[Shift, int] | None:
    """How far from the time that it has, and the sign, 0 for one that can be either. None: the
    words are about another time, or about now."""
    if _NOW & set(found):
        return None
    if [w for w in found if w not in EMPTY] in (["next", "day"], ["following", "day"]):
        return Shift(days=1), 1
    signs = _LATER | _EARLIER | _EITHER
    before = bool(found) and found[-1] == "before"  # "a day before", not "before noon"
    by = _some([w for w in found if w not in signs | _VERBS | EMPTY])
    if by is None or not (before or signs & set(found)):
        return None
    if before or _EARLIER & set(found):
        return by, -1
    return by, 0 if _EITHER & set(found) and "push" not in found else 1


def beside(found: Sequence[str]) -> tuple[Shift, int, list[str]] | None:
    """ "1 hour before dinner": how far, the sign, and the words for the other time."""
    for at, word in enumerate(found):
        if word in ("before", "after"):
            by = _some([w for w in found[:at] if w not in EMPTY])
            rest = list(found[at + 1 :])
            return (by, 1 if word == "after" else -1, rest) if by and rest else None
    return None
