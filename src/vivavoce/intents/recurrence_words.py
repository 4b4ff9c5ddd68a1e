"""How often, in spoken words: tokens to the parts of an RFC 5545 rule, by tables.

No maintained library makes rules of English, so this much is ours. It takes the
tokens that say how often out of the others, which say at what time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from vivavoce.intents.when_tables import MONTHS, PLURAL_DAYS, UNITS, WEEKDAYS
from vivavoce.intents.when_words import ordinal

DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_WORKING = list(range(5))
_FREQ = {"day": "DAILY", "week": "WEEKLY", "month": "MONTHLY", "year": "YEARLY"}
_ADVERBS = {
    "daily": ("DAILY", 1),
    "everyday": ("DAILY", 1),
    "nightly": ("DAILY", 1),
    "weekly": ("WEEKLY", 1),
    "biweekly": ("WEEKLY", 2),
    "fortnightly": ("WEEKLY", 2),
    "monthly": ("MONTHLY", 1),
    "quarterly": ("MONTHLY", 3),
    "yearly": ("YEARLY", 1),
    "annually": ("YEARLY", 1),
}
_SETS = {"weekday": _WORKING, "weekdays": _WORKING, "workday": _WORKING, "workdays": _WORKING}
_SETS |= {"weekend": [5, 6], "weekends": [5, 6]}
_PARTS = frozenset({"morning", "afternoon", "evening", "night"})
_THROUGH = frozenset({"through", "thru", "to", "until", "till"})
_JOINS = frozenset({"and", "or", "on", "&", "the", "every", "each", "only"})


@dataclass(slots=True)
class Found:
    """The parts of a rule so far, and the tokens left."""

    rest: list[str]
    freq: str = ""
    interval: int = 1
    days: set[int] = field(default_factory=set)
    nth: int = 0
    """Which of the month's: 1 the first, -1 the last."""
    month_day: int = 0
    month: int = 0

    def rule(self) -> str:
        parts = [f"FREQ={self.freq}"]
        if self.interval != 1:
            parts.append(f"INTERVAL={self.interval}")
        if self.month:
            parts.append(f"BYMONTH={self.month}")
        if self.month_day:
            parts.append(f"BYMONTHDAY={self.month_day}")
        if self.days:
            which = str(self.nth) if self.nth else ""
            parts.append("BYDAY=" + ",".join(which + DAYS[n] for n in sorted(self.days)))
        return ";".join(parts)


def find(tokens: Sequence[str]) -> Found | None:
    """None: nothing here says that it recurs."""
    found = Found(list(tokens))
    if not (_range(found) or _every(found) or _adverb(found) or _plural(found)):
        return None
    _except(found)
    if found.freq == "WEEKLY":
        _more_days(found)
    elif found.freq in ("MONTHLY", "YEARLY"):
        _day_of_month(found)
    return found


def _take(found: Found, at: int, count: int) -> None:
    del found.rest[at : at + count]


def _range(found: Found) -> bool:
    """ "monday through friday", "mondays to thursdays"."""
    days = WEEKDAYS | PLURAL_DAYS
    for at in range(len(found.rest) - 2):
        first, word, last = found.rest[at : at + 3]
        if first in days and last in days and word in _THROUGH:
            count = (days[last] - days[first]) % 7 + 1
            found.days = {(days[first] + n) % 7 for n in range(count)}
            found.freq = "WEEKLY"
            _take(found, at, 3)
            found.rest = [w for w in found.rest if w not in ("every", "each", "from", "only")]
            return True
    return False


def _every(found: Found) -> bool:
    at = next((n for n, w in enumerate(found.rest) if w in ("every", "each")), None)
    if at is None:
        at = next((n for n, w in enumerate(found.rest[:-1]) if _ratio(found.rest, n)), None)
        if at is None:
            return False
    count = 1
    word = _word(found.rest, at + count)
    if word in ("single",):
        count += 1
    elif word == "other":
        found.interval, count = 2, count + 1
    elif word.isdecimal() and len(word) <= 3 and int(word):
        found.interval, count = int(word), count + 1
    elif number := ordinal(word) or (-1 if word == "last" else 0):
        return _every_nth(found, at, number)
    word = _word(found.rest, at + count)
    if word in _PARTS:
        found.freq = "DAILY"  # "every morning": the hour stays to be read
    elif word in _SETS:
        found.freq, found.days, count = "WEEKLY", set(_SETS[word]), count + 1
    elif word in WEEKDAYS or word in PLURAL_DAYS:
        found.freq = "WEEKLY"  # the days are taken with the others
    elif UNITS.get(word) in _FREQ:
        found.freq, count = _FREQ[UNITS[word]], count + 1
    else:
        return False
    _take(found, at, count)
    return True


def _ratio(rest: Sequence[str], at: int) -> bool:
    """ "once a week": the token before "1 week"."""
    return rest[at] == "once" and rest[at + 1] == "1" and _word(rest, at + 2) in UNITS


def _every_nth(found: Found, at: int, number: int) -> bool:
    """ "every second week", "every first monday of the month", "every 15th"."""
    word = _word(found.rest, at + 2)
    if word in WEEKDAYS:
        if "month" in found.rest[at:] or number != 2:
            found.freq, found.nth, found.days = "MONTHLY", number, {WEEKDAYS[word]}
        else:
            found.freq, found.interval, found.days = "WEEKLY", number, {WEEKDAYS[word]}
        _take(found, at, 3)
        found.rest = [w for w in found.rest if w not in ("of", "the", "month", "in-the")]
        return True
    if UNITS.get(word) in _FREQ and number > 0:
        found.freq, found.interval = _FREQ[UNITS[word]], number
        _take(found, at, 3)
        return True
    found.freq, found.month_day = "MONTHLY", number
    _take(found, at, 2)
    found.rest = [w for w in found.rest if w not in ("of", "the", "month", "in-the")]
    return True


def _adverb(found: Found) -> bool:
    for at, word in enumerate(found.rest):
        if word in _ADVERBS or (word in _SETS and word.endswith("s")):
            if word in _SETS:
                found.freq, found.days = "WEEKLY", set(_SETS[word])
            else:
                found.freq, found.interval = _ADVERBS[word]
            if word == "nightly":
                found.rest[at] = "night"
            else:
                _take(found, at, 1)
            return True
    return False


def _plural(found: Found) -> bool:
    if any(word in PLURAL_DAYS for word in found.rest):
        found.freq = "WEEKLY"
        return True
    return False


def _except(found: Found) -> None:
    """ "daily except sundays"."""
    for word in ("except", "but", "excluding"):
        if word in found.rest:
            at = found.rest.index(word)
            without = {d for w in found.rest[at:] for d in _days_of(w)}
            if without:
                found.days = (found.days or set(range(7))) - without
                found.freq = "WEEKLY"
                found.rest = found.rest[:at]


def _days_of(word: str) -> list[int]:
    day = WEEKDAYS.get(word, PLURAL_DAYS.get(word))
    return _SETS.get(word, []) if day is None else [day]


def _more_days(found: Found) -> None:
    days = {d for w in found.rest for d in _days_of(w)}
    found.days |= days
    if days:
        found.rest = [w for w in found.rest if not _days_of(w) and w not in _JOINS]
    found.rest = [w for w in found.rest if w not in ("only", "every", "each")]


def _day_of_month(found: Found) -> None:
    """ "on the 1st of every month", "monthly on the last friday", "every year on december 25"."""
    for at, word in enumerate(found.rest):
        number = ordinal(word) or (-1 if word == "last" else 0)
        if not number and found.freq == "YEARLY" and _beside_month(found.rest, at):
            number = int(word)
        if not number or found.month_day or found.nth:
            continue
        following = _word(found.rest, at + 1)
        if following in WEEKDAYS:
            found.nth, found.days = number, {WEEKDAYS[following]}
            _take(found, at, 2)
        else:
            found.month_day = number
            _take(found, at, 2 if following == "day" else 1)
        break
    if found.freq == "YEARLY":
        month = next((w for w in found.rest if w in MONTHS), None)
        if month and (found.month_day or found.nth):
            found.month = MONTHS[month]
            found.rest.remove(month)
    found.rest = [w for w in found.rest if w not in ("on", "the", "of", "every", "each")]


def _beside_month(rest: Sequence[str], at: int) -> bool:
    beside = (*rest[max(0, at - 1) : at], _word(rest, at + 1))
    return rest[at].isdecimal() and len(rest[at]) <= 2 and any(w in MONTHS for w in beside)


def _word(rest: Sequence[str], at: int) -> str:
    return rest[at] if 0 <= at < len(rest) else ""
