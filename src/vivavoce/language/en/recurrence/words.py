"""How often, in spoken words: tokens to the parts of an RFC 5545 rule, by tables.

No maintained library makes rules of English, so this much is ours. It takes the
tokens that say how often out of the others, which say at what time.
"""

from __future__ import annotations

from collections.abc import Sequence

from vivavoce.language.en.recurrence.found import FREQ, Found, word_at
from vivavoce.language.en.recurrence.month import day_of_month, every_nth, ordinals
from vivavoce.language.en.times.tables import PLURAL_DAYS, UNITS, WEEKDAYS

_WORKING = list(range(5))
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
_STARTS = frozenset({"starting", "beginning"})
_JOINS = frozenset({"and", "or", "on", "&", "the", "every", "each", "only"})


def find(tokens: Sequence[str]) -> Found | None:
    """None: nothing here says that it recurs."""
    start = next((at for at, word in enumerate(tokens) if word in _STARTS), len(tokens))
    if start < len(tokens) and (found := find(tokens[:start])):
        found.rest += tokens[start:]  # a day to begin with is none of its days
        return found
    found = Found(list(tokens))
    if not (_range(found) or _every(found) or _adverb(found) or _plural(found)):
        return None
    _except(found)
    if found.freq == "WEEKLY":
        _more_days(found)
    elif found.freq in ("MONTHLY", "YEARLY"):
        day_of_month(found)
    return found


def _range(found: Found) -> bool:
    """ "monday through friday", "mondays to thursdays"."""
    days = WEEKDAYS | PLURAL_DAYS
    for at in range(len(found.rest) - 2):
        first, word, last = found.rest[at : at + 3]
        if first in days and last in days and word in _THROUGH:
            count = (days[last] - days[first]) % 7 + 1
            found.days = {(days[first] + n) % 7 for n in range(count)}
            found.freq = "WEEKLY"
            found.take(at, 3)
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
    word = word_at(found.rest, at + count)
    if word in ("single",):
        count += 1
    elif word == "other":
        found.interval, count = 2, count + 1
    elif word.isdecimal() and len(word) <= 3 and int(word):
        found.interval, count = int(word), count + 1
    elif numbers := ordinals(found.rest, at + count):
        return every_nth(found, at, *numbers)
    word = word_at(found.rest, at + count)
    if word in _PARTS:
        found.freq = "DAILY"  # "every morning": the hour stays to be read
    elif word in _SETS:
        found.freq, found.days, count = "WEEKLY", set(_SETS[word]), count + 1
    elif word in WEEKDAYS or word in PLURAL_DAYS:
        found.freq = "WEEKLY"  # the days are taken with the others
    elif UNITS.get(word) in FREQ:
        found.freq, count = FREQ[UNITS[word]], count + 1
    else:
        return False
    found.take(at, count)
    return True


def _ratio(rest: Sequence[str], at: int) -> bool:
    """ "once a week": the token before "1 week"."""
    return rest[at] == "once" and rest[at + 1] == "1" and word_at(rest, at + 2) in UNITS


def _adverb(found: Found) -> bool:
    for at, word in enumerate(found.rest):
        if word == "bi" and word_at(found.rest, at + 1) == "weekly":
            found.freq, found.interval = "WEEKLY", 2
            found.take(at, 2)
            return True
        if word in _ADVERBS or (word in _SETS and word.endswith("s")):
            if word in _SETS:
                found.freq, found.days = "WEEKLY", set(_SETS[word])
            else:
                found.freq, found.interval = _ADVERBS[word]
            if word == "nightly":
                found.rest[at] = "night"
            else:
                found.take(at, 1)
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
