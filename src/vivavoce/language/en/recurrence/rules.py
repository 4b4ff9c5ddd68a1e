"""RFC 5545 rules: what one may say, checked; and its instants, by dateutil.

A rule here is without DTSTART and no finer than daily. Rules come from models, and
stored ones from whoever may write the row: the library would look to the end of the
calendar for the days of some, so whatever it is to count goes through `parts_of`.
Counted by the clock of a place: six in the morning stays six when the clocks change,
and an hour that they jump over is there again the next day. No rule is followed for
ever, and none from its beginning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from vivavoce.language.en.times.dates import instant

if TYPE_CHECKING:
    from dateutil.rrule import rrule

DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
LONGEST = 300
"""Characters."""
_FREQS = frozenset({"DAILY", "WEEKLY", "MONTHLY", "YEARLY"})
_IGNORED = frozenset({"BYSECOND", "WKST"})
_LENGTHS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_BYDAY = re.compile(r"([+-]?[1-5])?(MO|TU|WE|TH|FR|SA|SU)")
_NUMBERS = {
    "INTERVAL": (1, 1000),
    "COUNT": (1, 400),  # they are counted one by one, at every question
    "BYHOUR": (0, 23),
    "BYMINUTE": (0, 59),
}
_LISTS = {"BYMONTH": (1, 12), "BYMONTHDAY": (-31, 31), "BYSETPOS": (-4, 4)}
_KEYS = frozenset({"FREQ", "UNTIL", "BYDAY", *_NUMBERS, *_LISTS})
_OLDEST = 1970
"""No task is older: the years before it would only be counted through."""
HORIZON = timedelta(days=366 * 12)  # a 29th of February comes within eight years
_DAY = timedelta(days=1)
# Of rules and times that nobody foresaw: years that no clock has, parts that do not fit. And a
# server without the library still shows tasks, at their own times.
FAULTS = (ValueError, TypeError, OverflowError, KeyError, IndexError, ImportError)


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
        if key == "BYDAY" and not all(_BYDAY.fullmatch(day) for day in _many(value)):
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


# --- Its instants ---------------------------------------------------------------------


def next_occurrence(rule: str, at: datetime, after: datetime, time_zone: str) -> datetime | None:
    """The first instant of the rule later than `after`, by the clock of `at`; none before `at`."""
    try:
        until = max(at, after) + HORIZON
        found = instants(rule, at, after, until, time_zone)
        return next((came for came in found if came > after), None)
    except FAULTS:
        return None


def instants(
    rule: str, anchor: datetime, since: datetime, until: datetime, time_zone: str
) -> Iterator[datetime]:
    """In order, from some before `since` to `until`."""
    parts = parts_of(rule, time_zone)
    start = _local(anchor, time_zone).replace(second=0, microsecond=0)
    if parts is None or start.year < _OLDEST or not comes(parts := pinned_to(parts, start)):
        return
    clock = time(int(parts["BYHOUR"]), int(parts["BYMINUTE"]))
    if instant(start.date(), clock, time_zone) == instant(start.date(), start.time(), time_zone):
        start = datetime.combine(start.date(), clock)  # it began in a gap of the clock
    last = _local(until, time_zone)
    if end := parts.pop("UNTIL", None):
        last = min(last, datetime.fromisoformat(end))
    count = parts.pop("COUNT", None)
    first = _first(parts, start)
    if first is None:
        return
    if count is None:
        first = _nearer(parts, first, _local(since, time_zone))
    for came in islice(_counted(parts, first, last), int(count) if count else None):
        yield instant(came.date(), came.time(), time_zone)


def _first(parts: Mapping[str, str], start: datetime) -> datetime | None:
    """Every other Monday, said on a Saturday, begins with the Monday that comes: what is left out
    is counted from the first day that fits."""
    if "INTERVAL" not in parts:
        return start
    every = {key: value for key, value in parts.items() if key != "INTERVAL"}
    return next(iter(_counted(every, start, start + 4 * HORIZON)), None)


def _nearer(parts: Mapping[str, str], start: datetime, since: datetime) -> datetime:
    """A start in step with the first one, but shortly before `since`: a row may begin
    long ago, and the days since then would all be counted."""
    step = int(parts.get("INTERVAL", "1"))
    months = {"MONTHLY": step, "YEARLY": 12 * step}.get(parts["FREQ"])
    if months is None:
        days = step if parts["FREQ"] == "DAILY" else 7 * step
        return start + max(0, (since - start).days // days - 1) * days * _DAY
    between = (since.year - start.year) * 12 + since.month - start.month
    skipped = (between // months - 1) * months
    if skipped <= 0:
        return start
    year, month = divmod(start.year * 12 + start.month - 1 + skipped, 12)
    if parts["FREQ"] == "YEARLY":
        month = 0  # the month is in the rule
    return datetime.combine(date(year, month + 1, 1), time())


def _counted(parts: Mapping[str, str], start: datetime, last: datetime) -> rrule:
    from dateutil.rrule import rrule as rule_type
    from dateutil.rrule import rrulestr

    found = rrulestr(joined(parts), dtstart=start)
    if not isinstance(found, rule_type):
        raise ValueError("not one rule")
    return found.replace(until=last)


def at_clock(rule: str, clock: time) -> str:
    """The rule at an hour of its own: for one whose first time the clocks jump over, so that its
    others are not as much later."""
    parts = dict(part.split("=", 1) for part in rule.split(";"))
    hour = {"BYHOUR": str(clock.hour), "BYMINUTE": str(clock.minute)}
    return joined({**parts, **{key: hour[key] for key in hour if key not in parts}})


def on_another_day(rule: str, on: date) -> str:
    """The rule on this day of the week or the month instead, where it has one such day; else it is
    as it was."""
    parts = dict(part.split("=", 1) for part in rule.split(";") if "=" in part)
    days = parts.get("BYDAY", "").split(",")
    if parts.get("FREQ") == "WEEKLY" and len(days) == 1:
        parts["BYDAY"] = DAYS[on.weekday()]
    monthly = parts.get("FREQ") == "MONTHLY" and days == [""]
    if monthly and parts.get("BYMONTHDAY", "1").isdecimal():
        parts["BYMONTHDAY"] = str(on.day)
    return joined(parts)


def _local(at: datetime, time_zone: str) -> datetime:
    aware = at if at.tzinfo else at.replace(tzinfo=UTC)
    return aware.astimezone(ZoneInfo(time_zone)).replace(tzinfo=None)
