"""The hour in a spoken time: found among the tokens and taken out of them.

An hour may be certain ("7 pm", "19:30", "noon") or one of two ("at 7"); which of
the two is decided with the part of the day, or by who is awake.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from vivavoce.language.en.times.lexicon import (
    DAY_PARTS,
    FIXED,
    MONTHS,
    PARTS,
    PLURAL_DAYS,
    UNITS,
    WEEKDAYS,
)
from vivavoce.wire.values import Value

_AT = frozenset({"at", "around", "about", "by", "before", "approximately", "roughly", "to", "from"})
_BEFORE_CLOCK = frozenset({*WEEKDAYS, *PLURAL_DAYS, "today", "tomorrow", "oclock", "night"})
_DEGREES = frozenset({"early", "late"})
_FILLERS = frozenset({"in-the", "in", "this"})


class Clock(Value):
    """What the words say about the hour."""

    rest: tuple[str, ...]
    """The tokens that say something else."""
    hour: int | None = None
    minute: int = 0
    certain: bool = False
    """Not one of two hours, twelve apart."""
    part: str | None = None
    same: bool = False
    """The same time as before."""

    @property
    def said(self) -> bool:
        return self.hour is not None


def read(found: Sequence[str]) -> Clock:
    """Take the hour and the part of the day out of the tokens."""
    if "same-time" in found:
        return Clock(tuple(w for w in found if w != "same-time"), same=True)
    part, rest = _part(list(found))
    clock = _hour(rest, part is not None)
    if clock.hour is None or clock.certain or part is None:
        return replace(clock, part=part)
    return replace(clock, hour=_with_part(clock.hour, part), certain=True, part=part)


def _part(found: list[str]) -> tuple[str | None, list[str]]:
    for at, word in enumerate(found):
        if word not in DAY_PARTS:
            continue
        start, part = at, word
        if at and found[at - 1] in _DEGREES and f"{found[at - 1]} {word}" in PARTS:
            start, part = at - 1, f"{found[at - 1]} {word}"
        elif "early" in found[:at] and f"early {word}" in PARTS:
            found = [w if w != "early" else "in-the" for w in found]
            part = f"early {word}"
        before = found[:start]
        today = bool(before) and before[-1] == "this"
        while before and before[-1] in _FILLERS:
            before.pop()
        return part, [*before, *(["today"] if today else []), *found[at + 1 :]]
    return None, found


def _with_part(hour: int, part: str) -> int:
    """Seven in the evening is 19; twelve at night and after are the small hours."""
    hour %= 12
    if part.endswith("morning"):
        return hour
    if part.endswith("night") and hour < 6:
        return hour
    return hour + 12


def _hour(found: list[str], has_part: bool) -> Clock:
    for at, word in enumerate(found):
        if (before := _past(found, at)) is not None:
            return before
        if word in FIXED:
            fixed = FIXED[word]
            return Clock(_without(found, at, 1), fixed.hour, fixed.minute, certain=True)
        if (plain := _plain(found, at, has_part)) is not None:
            return plain
    return Clock(tuple(found))


def _past(found: list[str], at: int) -> Clock | None:
    """ "30 past 8", "15 to 9", "10 minutes to 9"."""
    minutes = _number(found[at], 59)
    step = at + 2 if found[at + 1 : at + 2] in (["minutes"], ["minute"]) else at + 1
    word = found[step] if step < len(found) else ""
    named = found[step + 1] if step + 1 < len(found) else ""
    hour = FIXED[named].hour or 24 if named in FIXED else _number(named, 23)
    if step == at + 1 and minutes is not None and minutes % 5:
        return None  # "9 to 5" is no time of day
    if minutes is None or hour is None or word not in ("past", "to", "after"):
        return None
    if word == "to":
        minutes, hour = 60 - minutes, hour - 1 or 12
    return _with_meridiem(found, at, step + 2, hour, minutes)


def _plain(found: list[str], at: int, has_part: bool) -> Clock | None:
    word = found[at]
    ahead = found[at + 1] if at + 1 < len(found) else ""
    if ":" in word:
        hour, minute = _written(word)
        if hour is None:
            return None
        clock = _with_meridiem(found, at, at + 1, hour, minute)
        return replace(clock, certain=clock.certain or word.startswith("0"))
    behind = found[at - 1] if at else ""
    if word.isdecimal() and len(word) in (3, 4) and (behind in _AT or military(found, at)):
        hour, minute = _written(f"{word[:-2]}:{word[-2:]}")  # "at 0900", and "at 930" as ears write
        if hour is not None:
            end = at + 2 if military(found, at) else at + 1
            clock = _with_meridiem(found, at, end, hour, minute)
            return replace(clock, certain=clock.certain or len(word) == 4 or not minute)
    number = _number(word, 23)
    if number is None or ahead in UNITS or ahead in MONTHS or ahead == "of":
        return None
    if ahead not in ("am", "pm", "oclock") and (behind in MONTHS or behind == "in"):
        return None
    minute_ahead = _number(ahead, 59) if len(ahead) == 2 else None
    spoken = ahead in ("am", "pm", "oclock") or behind in _AT or behind in _BEFORE_CLOCK
    if not (spoken or has_part or len(found) == 1 or (minute_ahead and at == 0)):
        return None
    if minute_ahead is not None:
        return _with_meridiem(found, at, at + 2, number, minute_ahead)
    return _with_meridiem(found, at, at + 1, number, 0)


def military(found: Sequence[str], at: int) -> bool:
    """ "1900 hours" is a time of day, "in 1900 hours" is none."""
    word, ahead = found[at], found[at + 1] if at + 1 < len(found) else ""
    if len(word) not in (3, 4) or not word.isdecimal() or ahead not in ("hours", "hrs"):
        return False
    behind = found[at - 1] if at else ""
    if behind in ("in", "within", "for", "every") or {"from", "later"} & set(found[at:]):
        return False
    return _written(f"{word[:-2]}:{word[-2:]}")[0] is not None


def _with_meridiem(found: list[str], at: int, end: int, hour: int, minute: int) -> Clock:
    while end < len(found) and found[end] in ("oclock", "sharp"):
        end += 1
    certain = hour == 0 or hour > 12
    if end < len(found) and found[end] in ("am", "pm") and 1 <= hour <= 12:
        hour = hour % 12 + (12 if found[end] == "pm" else 0)
        certain, end = True, end + 1
    elif end < len(found) and found[end] in ("am", "pm"):
        end += 1  # "19:00 PM" is what models write
    return Clock(_without(found, at, end - at), hour, minute, certain)


def _without(found: list[str], at: int, count: int) -> tuple[str, ...]:
    before = found[:at]
    while before and before[-1] in (*_AT, "on", "for"):
        before.pop()
    return (*before, *found[at + count :])


def _written(word: str) -> tuple[int | None, int]:
    hour, _, rest = word.partition(":")
    minute = _number(rest[:2], 59)
    return (None, 0) if minute is None else (_number(hour, 23), minute)


def _number(word: str, most: int) -> int | None:
    if not (word.isdecimal() and word.isascii() and len(word) <= 2):
        return None
    return int(word) if int(word) <= most else None
