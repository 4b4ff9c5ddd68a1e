"""What a rule may say: the parts of an RFC 5545 rule, checked, without a calendar.

A rule here is without DTSTART and no finer than daily. Rules come from models, and
stored ones from whoever may write the row: the library would look to the end of the
calendar for the days of some, so whatever it is to count goes through `parts_of`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, time
from zoneinfo import ZoneInfo

DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
LONGEST = 300
"""Characters."""
_FREQS = frozenset({"DAILY", "WEEKLY", "MONTHLY", "YEARLY"})
_IGNORED = frozenset({"BYSECOND", "WKST"})
_LENGTHS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_DAY = re.compile(r"([+-]?[1-5])?(MO|TU|WE|TH|FR|SA|SU)")
_NUMBERS = {
    "INTERVAL": (1, 1000),
    "COUNT": (1, 400),  # they are counted one by one, at every question
    "BYHOUR": (0, 23),
    "BYMINUTE": (0, 59),
}
_LISTS = {"BYMONTH": (1, 12), "BYMONTHDAY": (-31, 31), "BYSETPOS": (-4, 4)}
_KEYS = frozenset({"FREQ", "UNTIL", "BYDAY", *_NUMBERS, *_LISTS})


def parts_of(words: str, time_zone: str) -> dict[str, str] | None:
    """The rule by its keys, in one form; None where it is none that we count."""
    if len(words) > LONGEST:
        return None
    lines = [line for line in words.upper().split() if not line.startswith("DTSTART")]
    parts: dict[str, str] = {}
    for part in "".join(lines).removeprefix("RRULE:").strip(";").split(";"):
        key, _, value = part.partition("=")
        if key in _IGNORED:
            continue
        if key not in _KEYS or key in parts or not value:
            return None
        parts[key] = value
    if parts.get("FREQ") not in _FREQS or not (_bounded(parts) and comes(parts)):
        return None
    if parts.get("INTERVAL") == "1":
        del parts["INTERVAL"]
    if "UNTIL" in parts and not _local_until(parts, time_zone):
        return None
    return parts


def joined(parts: Mapping[str, str]) -> str:
    return ";".join(f"{key}={value}" for key, value in parts.items())


def pinned_to(parts: Mapping[str, str], local: datetime) -> dict[str, str]:
    """With the hour and the day that it has from its first time, so that it can be counted from
    any other."""
    full = {"BYHOUR": str(local.hour), "BYMINUTE": str(local.minute)}
    full = {**parts, **{key: value for key, value in full.items() if key not in parts}}
    if not full.keys() & {"BYDAY", "BYMONTHDAY"}:
        if full["FREQ"] == "WEEKLY":
            full["BYDAY"] = DAYS[local.weekday()]
        elif full["FREQ"] in ("MONTHLY", "YEARLY"):
            full["BYMONTHDAY"] = str(local.day)
            if full["FREQ"] == "YEARLY":
                full.setdefault("BYMONTH", str(local.month))
    return full


def comes(parts: Mapping[str, str]) -> bool:
    """Has it days at all? dateutil takes seconds to find out that it has none."""
    days, months = parts.get("BYMONTHDAY"), parts.get("BYMONTH")
    weekdays = parts.get("BYDAY", "")
    numbered = any(c.isdecimal() for c in weekdays)
    every = parts.get("INTERVAL", "1") == "1"
    if parts["FREQ"] in ("DAILY", "WEEKLY"):
        if numbered or parts.keys() & {"BYMONTHDAY", "BYSETPOS"}:
            return False
        return every or (months is None and (parts["FREQ"] == "WEEKLY" or "BYDAY" not in parts))
    if "BYSETPOS" in parts:  # four of each weekday are in every month, a fifth is not
        plain = "BYDAY" in parts and not numbered and days is None
        if not plain or parts["FREQ"] == "YEARLY":
            return False
    if numbered and not all(len(day) > 2 for day in _many(weekdays)):
        return False  # dateutil wants a day to be both
    if (numbered and days is not None) or (parts["FREQ"] == "MONTHLY" and months and not every):
        return False
    longest = max(_LENGTHS[int(month) - 1] for month in (months or "1").split(","))
    return days is None or min(abs(int(day)) for day in days.split(",")) <= longest


def _bounded(parts: Mapping[str, str]) -> bool:
    for key, value in parts.items():
        if key in _NUMBERS and not _between(value, *_NUMBERS[key], signed=False):
            return False
        if key in _LISTS and not all(_between(n, *_LISTS[key]) and int(n) for n in _many(value)):
            return False
        if key == "BYDAY" and not all(_DAY.fullmatch(day) for day in _many(value)):
            return False
    return True


def _many(value: str) -> list[str]:
    return value.split(",")


def _between(value: str, least: int, most: int, *, signed: bool = True) -> bool:
    digits = value.removeprefix("-" if value.startswith("-") else "+") if signed else value
    if not (digits.isdecimal() and digits.isascii() and len(digits) <= 4):
        return False
    return least <= int(value) <= most


def _local_until(parts: dict[str, str], time_zone: str) -> bool:
    """Counting is by the local clock, so its end is too."""
    value = parts["UNTIL"]
    try:
        until = datetime.fromisoformat(value)
        if until.tzinfo is not None:
            until = until.astimezone(ZoneInfo(time_zone))
        elif len(value) == 8:
            until = datetime.combine(until.date(), time(23, 59, 59))
    except (ValueError, OverflowError):
        return False
    parts["UNTIL"] = f"{until.replace(tzinfo=None):%Y%m%dT%H%M%S}".rjust(15, "0")
    return True
