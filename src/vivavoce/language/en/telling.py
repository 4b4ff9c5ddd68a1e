"""Instants and rules in words, as the voice says them where the user lives.

What was understood, not what was said: the user hears it if it is another.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, time
from zoneinfo import ZoneInfo

from vivavoce.language.en.numbers import nth, ordinal
from vivavoce.language.en.recurrence.rules import DAYS, parts_of
from vivavoce.language.en.times.lexicon import DAY_NAMES, MONTH_NAMES

_UNITS = {"DAILY": "day", "WEEKLY": "week", "MONTHLY": "month", "YEARLY": "year"}
_SETS = {"MO,TU,WE,TH,FR": "weekday", "SA,SU": "weekend day", ",".join(DAYS): "day"}


def spoken(at: datetime, *, now: datetime, time_zone: str, clock: bool = True) -> str:
    """ "today at 7 PM", "Friday, November 20 at 6:30 PM"; the year where it is another one."""
    zone = ZoneInfo(time_zone)
    local, here = at.astimezone(zone), now.astimezone(zone)
    ahead = (local.date() - here.date()).days
    near = {-1: "yesterday", 0: "today", 1: "tomorrow"}
    words = near.get(ahead) or f"{local:%A}, {date_words(local.date())}"
    if abs(ahead) > 1 and local.year != here.year:
        words += f", {local.year}"
    return f"{words} at {clock_words(local.time())}" if clock else words


def date_words(on: date) -> str:
    """ "November 20"."""
    return f"{on:%B} {on.day}"


def clock_words(at: time, *, exact: bool = False) -> str:
    """ "6:30 PM", and "6 PM" unless it has to be exact."""
    minutes = f":{at.minute:02}" if at.minute or exact else ""
    return f"{at.hour % 12 or 12}{minutes} {'AM' if at.hour < 12 else 'PM'}"


def moment_words(local: datetime) -> str:
    """ "Monday, November 16, 2026, 6:00 PM", of what is local already."""
    day = f"{local:%A}, {date_words(local.date())}, {local.year}"
    return f"{day}, {clock_words(local.time(), exact=True)}"


def rule_words(rule: str) -> str:
    """ "every 2 weeks on Monday, until December 1"."""
    parts = parts_of(rule, "UTC")
    if parts is None:
        return "again and again"  # a stored one that nobody counts
    told = _how_often(parts)
    if "BYHOUR" in parts:
        told += f" at {clock_words(time(int(parts['BYHOUR']), int(parts.get('BYMINUTE', '0'))))}"
    if until := parts.get("UNTIL"):
        last = datetime.fromisoformat(until)
        told += f", until {date_words(last.date())}, {last.year}"
    if count := parts.get("COUNT"):
        told += ", once" if count == "1" else f", {count} times"
    return told


def _how_often(parts: dict[str, str]) -> str:
    unit, step = _UNITS[parts["FREQ"]], parts.get("INTERVAL", "1")
    days = parts.get("BYDAY", "")
    if unit in ("day", "week") and days and step == "1":
        told = f"every {_SETS.get(days) or _days(days)}"
    else:
        told = f"every {unit}" if step == "1" else f"every {step} {unit}s"
        told += _on(parts, unit)
    if months := parts.get("BYMONTH"):
        names = _and([MONTH_NAMES[int(month) - 1] for month in months.split(",")])
        told += f" in {names}" if unit != "year" or days else f" of {names}"
    return told


def _on(parts: dict[str, str], unit: str) -> str:
    told = ""
    if numbers := parts.get("BYMONTHDAY"):
        named = [_month_day(int(number)) for number in numbers.split(",")]
        told += f" on the {_and(named)}"
    if days := parts.get("BYDAY"):
        which = parts.get("BYSETPOS")
        named_days = _SETS.get(days) or _days(days)
        if which:
            named_days = f"the {_and([_which(n) for n in which.split(',')])} {named_days}"
        told += f" if a {named_days}" if numbers else f" on {named_days}"
    return told


def _days(days: str) -> str:
    return _and([_day(day) for day in days.split(",")])


def _day(day: str) -> str:
    number, name = day[:-2], DAY_NAMES[DAYS.index(day[-2:])]
    return f"the {_which(number)} {name}" if number else name


def _which(number: str) -> str:
    if number == "-1":
        return "last"
    return ordinal(number.lstrip("+-")) + (" to last" if number.startswith("-") else "")


def _month_day(number: int) -> str:
    if number > 0:
        return nth(number)
    return "last day" if number == -1 else f"{nth(-number)} to last day"


def _and(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
