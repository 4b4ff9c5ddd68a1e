"""Rules in words, as the voice says them: what was understood, not what was said."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, time

from vivavoce.language.en.recurrence.parts import DAYS, parts_of
from vivavoce.language.en.times.spoken import date_words, hour_words
from vivavoce.language.en.times.tables import MONTHS, WEEKDAYS
from vivavoce.language.en.times.tokens import nth

_DAYS = [name.capitalize() for name in WEEKDAYS][:7]
_MONTHS = [name.capitalize() for name in MONTHS][:12]
_UNITS = {"DAILY": "day", "WEEKLY": "week", "MONTHLY": "month", "YEARLY": "year"}
_SETS = {"MO,TU,WE,TH,FR": "weekday", "SA,SU": "weekend day", ",".join(DAYS): "day"}
_WHICH = {"1": "first", "2": "second", "3": "third", "4": "fourth", "5": "fifth", "-1": "last"}


def rule_words(rule: str) -> str:
    """ "every 2 weeks on Monday, until December 1"."""
    parts = parts_of(rule, "UTC")
    if parts is None:
        return "again and again"  # a stored one that nobody counts
    told = _how_often(parts)
    if "BYHOUR" in parts:
        told += f" at {hour_words(time(int(parts['BYHOUR']), int(parts.get('BYMINUTE', '0'))))}"
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
        names = _and([_MONTHS[int(month) - 1] for month in months.split(",")])
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
    number, name = day[:-2], _DAYS[DAYS.index(day[-2:])]
    return f"the {_which(number)} {name}" if number else name


def _which(number: str) -> str:
    number = number.removeprefix("+")
    return _WHICH.get(number) or f"{_WHICH[number.removeprefix('-')]} to last"


def _month_day(number: int) -> str:
    if number > 0:
        return nth(number)
    return "last day" if number == -1 else f"{nth(-number)} to last day"


def _and(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
