"""How often, as people say it or models write it: an RFC 5545 rule, or what to ask.

Rules come from models: every one is checked (`recurrence_rules`). Which instants
a rule has is `recurrence_days`. What the words say beside the rule has to be a
time: a word nobody understood may be the one that says when it ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from zoneinfo import ZoneInfo

from vivavoce.language.en.recurrence import words as recurrence_words
from vivavoce.language.en.recurrence.days import (
    at_clock,
    due_on,
    next_due,
    next_occurrence,
    occurs_on,
)
from vivavoce.language.en.recurrence.parts import joined, parts_of
from vivavoce.language.en.recurrence.spoken import rule_words
from vivavoce.language.en.times import clock
from vivavoce.language.en.times.dates import day
from vivavoce.language.en.times.tables import MONTHS, UNITS
from vivavoce.language.en.times.tokens import MOST_CHARS, tokens

__all__ = [
    "HOW_OFTEN",
    "Recurrence",
    "at_clock",
    "checked",
    "due_on",
    "next_due",
    "next_occurrence",
    "occurs_on",
    "recurrence",
    "rule_words",
    "split",
]

HOW_OFTEN = "How often should it repeat, and on which days?"
_ONCE = frozenset(
    {"once", "one time", "never", "none", "no", "null", "one-time", "does not repeat"}
)
# fmt: off
_EMPTY = frozenset([
    "at", "on", "by", "around", "about", "the", "of", "a", "an", "and", "to", "in-the", "please",
    "it", "i", "me", "my", "would", "like", "want", "do", "that", "repeat", "repeats", "repeating",
    "recurring", "remind", "again", "time", "every", "each", "only", "just", "after", "before",
    "with", "for",
])
# fmt: on
_STARTS = frozenset({"starting", "beginning", "start", "begin", "from"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Recurrence:
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
        return Recurrence(words=words[:MOST_CHARS], question=HOW_OFTEN)
    if "freq=" in plain:
        rule = checked(words, now=now, time_zone=time_zone)
        return Recurrence(words=words, rule=rule, question=None if rule else HOW_OFTEN)
    rule, _ = split(tokens(words), now=now, time_zone=time_zone)
    return Recurrence(words=words, rule=rule, question=None if rule else HOW_OFTEN)


def split(
    found: Sequence[str], *, now: datetime, time_zone: str
) -> tuple[str | None, Sequence[str]]:
    """The rule among the tokens, and the tokens that say something else. Where they recur, but it
    is not clear how, there is neither: what is left would be taken for one time."""
    kept, end = _end(list(found), now, time_zone)
    parts = recurrence_words.find(kept)
    if parts is None:
        return None, found
    today = now.astimezone(ZoneInfo(time_zone)).date()
    rule = checked(parts.rule() + end, now=now, time_zone=time_zone)
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
        if word == "for" and len(ahead) == 2 and ahead[0].isdecimal() and ahead[1] in UNITS:
            last = day(["in", *ahead], today)
            if last:
                return found[:at] + found[at + 3 :], f";UNTIL={last:%Y%m%d}T235959"
        if (
            word.isdecimal()
            and len(word) <= 3
            and ahead[:1] == ["times"]
            and ahead != ["times", "1"]
        ):
            before = found[: at - 1] if at and found[at - 1] == "for" else found[:at]
            return before + found[at + 2 :], f";COUNT={int(word)}"
    return found, ""


def checked(words: str, *, now: datetime, time_zone: str) -> str | None:
    """A rule in one form, or None where it is none: a key we do not keep, finer than daily, or one
    that never comes."""
    parts = parts_of(words, time_zone)
    rule = joined(parts) if parts else ""
    return rule if rule and next_occurrence(rule, now, now, time_zone) else None
