"""Instants and rules in words, where the user lives: written for a model, or to be said.

What was understood, not what was said: the user hears it if it is another. What is to be said
(`in_words`, `hour_in_words`, `rule_in_words`) has no figures, leaves no doubt which half of the
day it is, and is read back by `resolving` as the same moment.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from textwrap import shorten
from zoneinfo import ZoneInfo

from vivavoce.language.en.numbers import cardinal, nth, ordinal, year
from vivavoce.language.en.recurrence.rules import DAYS, parts_of
from vivavoce.language.en.times.lexicon import DAY_NAMES, MONTH_NAMES

_WEEK = 7
_MINUTES = {5: "five", 10: "ten", 15: "quarter", 20: "twenty", 25: "twenty-five", 30: "half"}
_NUMBER = re.compile(r"\d+(?:st|nd|rd|th)?\b")
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


def in_words(at: datetime, *, now: datetime, clock: bool = True) -> str:
    """ "tomorrow, Tuesday, at half past ten at night", "on Friday the fourth of December at noon".
    Both are aware; it is told by the clock of `now`."""
    local = at.astimezone(now.tzinfo)
    on = local.date()
    if clock and local.time().replace(second=0, microsecond=0) == time():
        on -= timedelta(days=1)  # midnight is the end of a day to those who hear it
    told = day_in_words(on, now.date())
    comma = "," if "," in told else ""
    return f"{told}{comma} at {hour_in_words(local.time())}" if clock else told


def day_in_words(on: date, today: date) -> str:
    """ "tomorrow, Tuesday", "on Friday, the twentieth", "on Friday the fourth of December"."""
    ahead = (on - today).days
    if ahead == 0:
        return "today"
    if ahead == 1:
        return f"tomorrow, {on:%A}"
    if ahead == -1:
        return "yesterday"
    number = ordinal(str(on.day))
    if 1 < ahead < _WEEK:
        return f"on {on:%A}, the {number}"
    told = f"on {on:%A} the {number} of {on:%B}"
    return told if on.year == today.year else f"{told}, {year(on.year)}"


def hour_in_words(at: time) -> str:
    """ "half past ten at night", "noon", "seven in the evening"."""
    hour, minute = at.hour, at.minute
    if not minute and hour in (0, 12):
        return "noon" if hour else "midnight"
    if hour == 0 and minute <= 30:
        return f"{_past(minute)} past midnight"
    part = "in the morning"
    if hour >= 12:
        part = "in the afternoon" if hour < 18 else "in the evening" if hour < 21 else "at night"
    return f"{_dial(hour, minute)} {part}"


def _dial(hour: int, minute: int) -> str:
    """As a clock face shows it, whichever half of the day it is."""
    name = cardinal(str(hour % 12 or 12))
    if not minute:
        return name
    if minute < 10 or minute in _MINUTES:
        return f"{_past(minute)} past {name}"
    if 60 - minute in _MINUTES:
        return f"{_MINUTES[60 - minute]} to {cardinal(str((hour + 1) % 12 or 12))}"
    return f"{name} {cardinal(str(minute))}"


def _past(minute: int) -> str:
    return _MINUTES.get(minute) or f"{cardinal(str(minute))} minute{'s' if minute > 1 else ''}"


def rule_in_words(rule: str, at: datetime | None = None) -> str:
    """ "every Monday and Thursday at seven in the evening"; the hour is that of `at`."""
    parts = parts_of(rule, "UTC")
    if parts is None:
        return "again and again"
    hour = (
        time(int(parts["BYHOUR"]), int(parts.get("BYMINUTE", "0"))) if "BYHOUR" in parts else None
    )
    if hour is None and at is not None:
        hour = at.time()
    told = _how_often(parts)
    if parts.get("INTERVAL") == "2":
        told = told.replace(
            f"every 2 {_UNITS[parts['FREQ']]}s", f"every other {_UNITS[parts['FREQ']]}"
        )
        told = re.sub(r"^every other week on (?!the\b)", "every other ", told)
    told = f"{told} at {hour_in_words(hour)}" if hour is not None else told
    if until := parts.get("UNTIL"):
        last = datetime.fromisoformat(until)
        told += f", until the {ordinal(str(last.day))} of {last:%B}, {year(last.year)}"
    if count := parts.get("COUNT"):
        told += ", once" if count == "1" else f", {count} times"
    return _NUMBER.sub(lambda match: _aloud(match.group()), told)


def _aloud(number: str) -> str:
    digits = number.rstrip("stndrh")
    return cardinal(digits) if digits == number else ordinal(digits)


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


def due_now(title: str) -> str:
    """That something on the user's list is due, at its time."""
    return f"Here is your reminder: {_ended(title)}"


def was_due(title: str, at: datetime, *, now: datetime) -> str:
    """The same, when its time is past: with that."""
    return f"This was due {in_words(at, now=now)}: {_ended(title)}"


def were_due(things: Sequence[tuple[str, datetime]], *, now: datetime, named: int = 5) -> str:
    """Of several, in one sentence, the latest first; of very many only how many more there are."""
    if len(things) == 1:
        return was_due(*things[0], now=now)
    told = [f"{title.rstrip('.!? ')}, {in_words(at, now=now)}" for title, at in things[:named]]
    if rest := len(things) - len(told):
        told.append(f"{cardinal(str(rest))} more")
    return f"These were due: {'; '.join(told[:-1])}; and {told[-1]}."


def _ended(title: str) -> str:
    return title if title.endswith((".", "!", "?")) else f"{title}."


def cut_off(rest: str, running: str = "") -> str:
    """Said when somebody comes back: the end of an answer that they did not hear, and which work
    goes on."""
    told = ["Sorry, we were cut off.", running, f"I was saying: {rest}" if rest else ""]
    return " ".join(words for words in told if words)


def still_running(work: Sequence[tuple[str, int | None]]) -> str:
    """Work that goes on, by its title, and how far it is where that is known."""
    told = [
        shorten(title, 80, placeholder="")
        + (f", {cardinal(str(share))} percent done" * bool(share))
        for title, share in work
    ]
    if len(told) > 1:
        return f"These are still running: {'; '.join(told[:-1])}; and {told[-1]}."
    return f"This is still running: {told[0]}." if told else ""


def summed_up(rest: str) -> str:
    """The same, for a model to say: it is too long to be repeated."""
    return (
        "The user did not hear this part of your last answer. Tell them what it says, in a "
        f"sentence or two: \u201c{rest}\u201d"
    )


def voice_sample(name: str) -> str:
    """What a voice says of itself, for who chooses one."""
    return f"Hello, I am {name}. This is how I sound when we talk."
