"""How often, as people say it or models write it: an RFC 5545 rule, or what to ask.

No maintained library makes rules of English, so this much is ours: tokens to the parts
of a rule, by tables. It takes the tokens that say how often out of the others, which say
at what time. What the words say beside the rule has to be a time: a word nobody
understood may be the one that says when it ends. Every rule is checked (`rules`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from zoneinfo import ZoneInfo

from vivavoce.language.en.numbers import ordinal_of
from vivavoce.language.en.recurrence.rules import DAYS, joined, next_occurrence, parts_of
from vivavoce.language.en.times import clock
from vivavoce.language.en.times.dates import EMPTY, day
from vivavoce.language.en.times.lexicon import (
    DAY_PARTS,
    MONTHS,
    MOST_CHARS,
    PLURAL_DAYS,
    UNITS,
    WEEKDAYS,
    listed,
    tokens,
)
from vivavoce.wire.values import Record

_HOW_OFTEN = "How often should it repeat, and on which days?"
_ONCE = frozenset(
    {"once", "one time", "never", "none", "no", "null", "one-time", "does not repeat"}
)
_STARTS = frozenset({"starting", "beginning", "start", "begin", "from"})
_EMPTY = (EMPTY - _STARTS - {"until", "till", "no"}) | frozenset(
    listed(
        "a an i me my would like want do that repeat repeats repeating recurring remind every "
        "each only just after with"
    )
)
_FREQ = {"day": "DAILY", "week": "WEEKLY", "month": "MONTHLY", "year": "YEARLY"}
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
_THROUGH = frozenset({"through", "thru", "to", "until", "till"})
_JOINS = frozenset({"and", "or", "on", "&", "the", "every", "each", "only"})


class Recurrence(Record):
    """A rule; None for once; or what to ask."""

    words: str
    rule: str | None = None
    question: str | None = None


def recurrence(words: str, *, now: datetime, time_zone: str) -> Recurrence:
    """What the words say about how often; at what hour they say it does not matter here."""
    plain = words.strip().casefold().rstrip(".!")
    if not plain or plain in _ONCE:
        return Recurrence(words=words)
    if len(words) > MOST_CHARS:
        return Recurrence(words=words[:MOST_CHARS], question=_HOW_OFTEN)
    if "freq=" in plain:
        rule = _checked(words, now=now, time_zone=time_zone)
    else:
        rule, _ = split(tokens(words), now=now, time_zone=time_zone)
    return Recurrence(words=words, rule=rule, question=None if rule else _HOW_OFTEN)


def split(
    found: Sequence[str], *, now: datetime, time_zone: str
) -> tuple[str | None, Sequence[str]]:
    """The rule among the tokens, and the tokens that say something else. Where they recur, but it
    is not clear how, there is neither: what is left would be taken for one time."""
    kept, end = _end(list(found), now, time_zone)
    parts = _find(kept)
    if parts is None:
        return None, found
    today = now.astimezone(ZoneInfo(time_zone)).date()
    rule = _checked(parts.rule() + end, now=now, time_zone=time_zone)
    if rule is None or not _told(parts.rest, today):
        return None, ()
    return rule, [word for word in parts.rest if word not in ("on", "of", "only")]


def _told(rest: Sequence[str], today: date) -> bool:
    """Is what is left an hour, and at most a day to begin with? "This week" and "in December" say
    when it ends, and nobody would be told that we missed that."""
    left = [word for word in clock.read(rest).rest if word != "same-time"]
    said = [word for word in left if word not in _EMPTY]
    if not said:
        return True
    start = next((at for at, word in enumerate(said) if word in _STARTS), None)
    if start is not None:
        return start == 0 and day([w for w in left if w not in _STARTS], today) is not None
    spans = any(word in UNITS for word in said) or ("in" in said and MONTHS.keys() & set(said))
    return not spans and day(left, today) is not None


def _end(found: list[str], now: datetime, time_zone: str) -> tuple[list[str], str]:
    """ "until june", "for 3 weeks", "5 times": taken out, as UNTIL or COUNT."""
    today = now.astimezone(ZoneInfo(time_zone)).date()
    for at, word in enumerate(found):
        ahead = found[at + 1 : at + 3]
        if word in ("until", "till") and (last := day(found[at + 1 :], today)):
            return found[:at], f";UNTIL={last:%Y%m%d}T235959"
        span = word == "for" and len(ahead) == 2 and ahead[0].isdecimal() and ahead[1] in UNITS
        if span and (last := day(["in", *ahead], today)):
            return found[:at] + found[at + 3 :], f";UNTIL={last:%Y%m%d}T235959"
        times = ahead[:1] == ["times"] and ahead != ["times", "1"]
        if word.isdecimal() and len(word) <= 3 and times:
            before = found[: at - 1] if at and found[at - 1] == "for" else found[:at]
            return before + found[at + 2 :], f";COUNT={int(word)}"
    return found, ""


def _checked(words: str, *, now: datetime, time_zone: str) -> str | None:
    """A rule in one form, or None where it is none: a key we do not keep, finer than daily, or one
    that never comes."""
    parts = parts_of(words, time_zone)
    rule = joined(parts) if parts else ""
    return rule if rule and next_occurrence(rule, now, now, time_zone) else None


# --- Which days, among the tokens -----------------------------------------------------


@dataclass(slots=True)
class _Found:
    """The parts of a rule so far, and the tokens left."""

    rest: list[str]
    freq: str = ""
    interval: int = 1
    days: set[int] = field(default_factory=set)
    nth: list[int] = field(default_factory=list)
    """Which of the month's: 1 the first, -1 the last."""
    month_days: list[int] = field(default_factory=list)
    month: int = 0

    def word(self, at: int) -> str:
        return self.rest[at] if 0 <= at < len(self.rest) else ""

    def take(self, at: int, count: int) -> None:
        """These tokens are understood."""
        del self.rest[at : at + count]

    def drop(self, *words: str) -> None:
        """These say nothing more."""
        self.rest = [word for word in self.rest if word not in words]

    def rule(self) -> str:
        parts = [f"FREQ={self.freq}"]
        if self.interval != 1:
            parts.append(f"INTERVAL={self.interval}")
        if self.month:
            parts.append(f"BYMONTH={self.month}")
        if self.month_days:
            parts.append("BYMONTHDAY=" + ",".join(map(str, self.month_days)))
        if self.days:
            which = [str(number) for number in self.nth] or [""]
            days = [number + DAYS[day] for number in which for day in sorted(self.days)]
            parts.append("BYDAY=" + ",".join(days))
        return ";".join(parts)


def _find(tokens: Sequence[str]) -> _Found | None:
    """None: nothing here says that it recurs."""
    start = next(
        (at for at, word in enumerate(tokens) if word in ("starting", "beginning")), len(tokens)
    )
    if start < len(tokens) and (found := _find(tokens[:start])):
        found.rest += tokens[start:]  # a day to begin with is none of its days
        return found
    found = _Found(list(tokens))
    if not (_range(found) or _every(found) or _adverb(found)):
        if PLURAL_DAYS.keys().isdisjoint(found.rest):
            return None
        found.freq = "WEEKLY"
    _except(found)
    if found.freq == "WEEKLY":
        _more_days(found)
    elif found.freq in ("MONTHLY", "YEARLY"):
        _day_of_month(found)
    return found


def _range(found: _Found) -> bool:
    """ "monday through friday", "mondays to thursdays"."""
    days = WEEKDAYS | PLURAL_DAYS
    for at in range(len(found.rest) - 2):
        first, word, last = found.rest[at : at + 3]
        if first in days and last in days and word in _THROUGH:
            count = (days[last] - days[first]) % 7 + 1
            found.days = {(days[first] + n) % 7 for n in range(count)}
            found.freq = "WEEKLY"
            found.take(at, 3)
            found.drop("every", "each", "from", "only")
            return True
    return False


def _every(found: _Found) -> bool:
    at = next((n for n, w in enumerate(found.rest) if w in ("every", "each")), None)
    if at is None:  # "once a week" is "once 1 week"
        ratios = (n for n, w in enumerate(found.rest) if w == "once" and found.word(n + 1) == "1")
        at = next((n for n in ratios if found.word(n + 2) in UNITS), None)
    if at is None:
        return False
    count = 1
    word = found.word(at + count)
    if word == "single":
        count += 1
    elif word == "other":
        found.interval, count = 2, count + 1
    elif word.isdecimal() and len(word) <= 3 and int(word):
        found.interval, count = int(word), count + 1
    elif numbers := _ordinals(found, at + count):
        return _every_nth(found, at, *numbers)
    word = found.word(at + count)
    if word in DAY_PARTS:
        found.freq = "DAILY"  # "every morning": the hour stays to be read
    elif word in _SETS:
        found.freq, found.days, count = "WEEKLY", set(_SETS[word]), count + 1
    elif word in WEEKDAYS or word in PLURAL_DAYS:
        found.freq = "WEEKLY"  # the days are taken with the others
    elif UNITS.get(word) in _FREQ:
        found.freq, count = _FREQ[UNITS[word]], count + 1
    else:
        return False
    found.take(at, count)
    return True


def _adverb(found: _Found) -> bool:
    for at, word in enumerate(found.rest):
        if word == "bi" and found.word(at + 1) == "weekly":
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


def _except(found: _Found) -> None:
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


def _more_days(found: _Found) -> None:
    days = {d for w in found.rest for d in _days_of(w)}
    found.days |= days
    if days:
        found.rest = [w for w in found.rest if not _days_of(w) and w not in _JOINS]
    found.drop("only", "every", "each")


def _ordinals(found: _Found, at: int) -> tuple[list[int], int] | None:
    """ "1st and 3rd", "last": the numbers, and how many tokens they take."""

    def nth(at: int) -> int:
        return -1 if found.word(at) == "last" else ordinal_of(found.word(at)) or 0

    numbers: list[int] = []
    end = ahead = at
    while number := nth(ahead):
        numbers.append(number)
        end = ahead = ahead + 1
        while found.word(ahead) in ("and", "or", "the"):
            ahead += 1
    return (numbers, end - at) if numbers else None


def _every_nth(found: _Found, at: int, numbers: list[int], count: int) -> bool:
    """ "every second week", "every first and third monday", "every 15th"."""
    word = found.word(at + 1 + count)
    taken = count + 2
    if word in WEEKDAYS:
        if "month" in found.rest[at:] or numbers != [2]:
            found.freq, found.nth, found.days = "MONTHLY", numbers, {WEEKDAYS[word]}
        else:
            found.freq, found.interval, found.days = "WEEKLY", 2, {WEEKDAYS[word]}
    elif UNITS.get(word) in _FREQ and len(numbers) == 1 and numbers[0] > 0:
        found.freq, found.interval = _FREQ[UNITS[word]], numbers[0]
        found.take(at, taken)
        return True
    else:
        found.freq, found.month_days = "MONTHLY", numbers
        taken -= word != "day"
    found.take(at, taken)
    found.drop("of", "the", "month", "in-the")
    return True


def _day_of_month(found: _Found) -> None:
    """ "on the 1st of every month", "monthly on the last friday", "every year on december 25"."""
    for at, word in enumerate(found.rest):
        if found.month_days or found.nth:
            break
        numbers, count = _ordinals(found, at) or ([], 0)
        beside = found.word(at - 1) in MONTHS or found.word(at + 1) in MONTHS
        dated = beside and word.isdecimal() and len(word) <= 2
        if not numbers and found.freq == "YEARLY" and dated:
            numbers, count = [int(word)], 1
        if not numbers:
            continue
        following = found.word(at + count)
        if following in WEEKDAYS:
            found.nth, found.days = numbers, {WEEKDAYS[following]}
            found.take(at, count + 1)
        else:
            found.month_days = numbers
            found.take(at, count + (following == "day"))
        break
    if found.freq == "YEARLY":
        month = next((w for w in found.rest if w in MONTHS), None)
        if month and (found.month_days or found.nth):
            found.month = MONTHS[month]
            found.rest.remove(month)
    found.drop("on", "the", "of", "every", "each")
