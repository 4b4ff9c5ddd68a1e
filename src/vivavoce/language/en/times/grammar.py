"""What each stretch of words says about time: productions of a small grammar, one a piece.

A production looks at the tokens from one place on and gives the piece that begins there, where it
ends, and how sure it is: some words say a time wherever they stand ("tomorrow"), some only beside
others ("nine", "the third", "May"). Which of those count is decided in `reading`, where the
neighbours are known. The longest piece at a place is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

from vivavoce.language.en.times import lexicon as lex
from vivavoce.language.en.times import zones
from vivavoce.language.en.times.pieces import (
    Amount,
    Correction,
    Date,
    Day,
    Degree,
    Direction,
    Every,
    Except,
    Feast,
    For,
    From,
    FromNow,
    Hour,
    Negation,
    Now,
    NthWeekday,
    Part,
    Past,
    Period,
    Piece,
    Relative,
    Routine,
    Same,
    Shift,
    Sign,
    Span,
    Times,
    Unknown,
    Until,
    Weekday,
    Written,
    Zone,
)
from vivavoce.language.en.times.tokens import Tokens

Strength = Literal["firm", "fair", "weak"]
"""Firm: a time wherever it stands. Fair: unless a thing that is counted follows. Weak: only beside
another piece, after a preposition, or as the whole answer."""


class Found(NamedTuple):
    """A piece, and its tokens from `start` to before `end`."""

    piece: Piece
    start: int
    end: int
    strength: Strength = "firm"


_HALVES = lex.words("past after to till til of")
_MINUTES = lex.words("minutes minute mins min")
_WEEKLY = (0, 1, 2, 3, 4)
_SETS = {
    "weekday": _WEEKLY,
    "weekdays": _WEEKLY,
    "workday": _WEEKLY,
    "workdays": _WEEKLY,
    "schoolday": _WEEKLY,
    "schooldays": _WEEKLY,
    "weekend": (5, 6),
    "weekends": (5, 6),
}
_FREQ = {"day": "DAILY", "week": "WEEKLY", "fortnight": "WEEKLY", "month": "MONTHLY"}
_FREQ |= {"year": "YEARLY"}
_ADVERBS = {
    "daily": ("DAILY", 1),
    "weekly": ("WEEKLY", 1),
    "biweekly": ("WEEKLY", 2),
    "fortnightly": ("WEEKLY", 2),
    "monthly": ("MONTHLY", 1),
    "quarterly": ("MONTHLY", 3),
    "yearly": ("YEARLY", 1),
    "annually": ("YEARLY", 1),
}
_THROUGH = lex.words("to through thru until till til")
_EDGES: dict[str, Literal["start", "middle", "end"]] = {
    "end": "end",
    "start": "start",
    "beginning": "start",
    "middle": "middle",
}
_FORWARD = lex.words("bring brought bringing pull pulled come")


# --- Lengths of time ----------------------------------------------------------------------


def amount(t: Tokens, at: int) -> tuple[Amount, int] | None:
    """ "half an hour", "two and a half hours", "a week and two days", "a fortnight"."""
    one = _one_amount(t, at)
    if one is None:
        return None
    found, end = one
    ahead = end + 1 if t.word(end) in ("and", ",") else end
    if t.are(end, "and", "a", "half") and t.word(end + 3) not in lex.UNITS:
        unit = lex.UNITS.get(t.word(end - 1), "")  # "an hour and a half"
        return _plus(found, _of(0.5, unit)), end + 3
    if t.are(end, "and", "a", "quarter") and found.minutes:
        return _plus(found, Amount(15)), end + 3
    more = _one_amount(t, ahead)
    if more and t.small(ahead) and _size(more[0]) < _size(found):
        return _plus(found, more[0]), more[1]
    return found, end


def _one_amount(t: Tokens, at: int) -> tuple[Amount, int] | None:
    word = t.word(at)
    if word == "half" or (word == "a" and t.word(at + 1) == "half"):
        ahead = at + 1 + (word == "a")
        ahead = t.skip(ahead)
        ahead += t.word(ahead) in ("a", "an")
        if (unit := lex.UNITS.get(t.word(ahead))) and unit != "minute":
            return _of(0.5, unit), ahead + 1
        return None
    quarters = t.small(at) if t.word(at + 1) == "quarters" else None
    ahead = at + (word == "a")
    if quarters is not None or t.word(ahead) == "quarter":
        end = at + 1 if quarters else ahead
        for tail in (("of", "an", "hour"), ("of", "hour"), ("hour",), ("an", "hour")):
            if (after := t.after(end + 1, *tail)) > 0:
                return Amount(15 * (quarters[0] if quarters else 1)), after
        return None
    counted = t.count_of(at)
    if counted is None:
        return None
    count, end = counted
    if t.are(end, "and", "a", "half") or t.are(end, "and", "half"):
        ahead = end + 2 + (t.word(end + 1) == "a")
        if t.word(ahead) in lex.UNITS:
            return _of(count + 0.5, lex.UNITS[t.word(ahead)]), ahead + 1
    end = t.skip(end)
    end += t.word(end) in ("more", "full", "whole", "solid", "good")
    unit = lex.UNITS.get(t.word(end), "")
    return (_of(count, unit), end + 1) if unit and count <= 9999 else None


def _of(count: float, unit: str) -> Amount:
    match unit:
        case "minute":
            return Amount(minutes=round(count))
        case "hour":
            return Amount(minutes=round(60 * count))
        case "day":
            whole = int(count)
            return Amount(days=whole, minutes=round(1440 * (count - whole)))
        case "week":
            return Amount(days=round(7 * count))
        case "fortnight":
            return Amount(days=round(14 * count))
        case "month" if count != int(count):
            return Amount(months=int(count), days=15)
        case "month":
            return Amount(months=int(count))
        case _:
            return Amount(months=round(12 * count))


def _plus(one: Amount, other: Amount) -> Amount:
    return Amount(one.minutes + other.minutes, one.days + other.days, one.months + other.months)


def _size(one: Amount) -> int:
    return one.minutes + 1440 * (one.days + 30 * one.months)


def _span(t: Tokens, at: int) -> Found | None:
    """A length of time, with what says from when it counts."""
    begun = at
    word = t.word(at)
    if word in ("in", "within", "after"):
        at += 1
        while t.word(at) in (
            "about",
            "around",
            "like",
            "roughly",
            "just",
            "the",
            "next",
            "another",
            "say",
            "approximately",
        ):
            at += 1
        named = word == "within" and t.word(at) in ("hour", "week", "month", "year")
        if named:
            return Found(FromNow(_of(1, t.word(at))), begun, at + 1)
    elif word == "the" or word == "that":
        return _day_beside(t, at)
    length = amount(t, at)
    if length is None:
        return None
    found, end = length
    if word not in ("in", "within", "after") and _military_hours(t, at, end):
        return None
    end += t.are(end, "or", "so") and 2
    if t.word(end) == "time" and word == "in":
        end += 1
    if word in ("in", "within"):
        if (rest := _beside(t, end)) and word == "in" and rest[0]:
            return None  # "in an hour before …" is nothing anybody says
        return Found(FromNow(found), begun, end)
    for tail in (("from", "now"), ("from", "today"), ("hence",), ("from", "right", "now")):
        if (after := t.after(end, *tail)) > 0:
            return Found(FromNow(found), begun, after)
    if t.word(end) == "ago":
        return Found(Past(), begun, end + 1)
    if t.word(end) in ("later", "earlier", "sooner", "early", "late"):
        sign: Sign = 1 if t.word(end) in ("later", "late") else -1
        strength: Strength = "weak" if t.word(end) in ("early", "late") else "firm"
        return Found(Shift(found, sign), begun, end + 1, strength)
    if word == "after":
        return Found(FromNow(found), begun, end, "fair")
    beside = _beside(t, end)
    if beside is not None:
        other, sign, after = beside
        return Found(Shift(found, sign, beside=other), begun, after)
    if t.word(end) in ("on", "today", "tomorrow") and not found.minutes:
        ahead = end + (t.word(end) == "on")
        if day_at(t, ahead) is not None:  # "a week on Tuesday", "a week today"
            return Found(Shift(found, 1, beside=True), begun, ahead)
    return Found(Span(found), begun, end, "weak")


def _military_hours(t: Tokens, at: int, end: int) -> bool:
    """ "1900 hours" is a time of day."""
    if t.word(end - 1) not in ("hours", "hrs") or t.word(end) in ("from", "later", "ago"):
        return False
    return hour_at(t, at) is not None and len(t.word(at)) in (3, 4)


def _beside(t: Tokens, end: int) -> tuple[bool, Sign, int] | None:
    """ "before that", "after lunch", "from Friday": whether another time is named, which way, and
    where what was read ends."""
    word = t.word(end)
    if word not in ("before", "after", "from", "past", "prior", "until", "till", "beforehand"):
        return None
    if word == "beforehand":
        return False, -1, end + 1
    ahead = end + 1 + (word == "prior" and t.word(end + 1) == "to")
    sign: Sign = 1 if word in ("after", "from", "past") else -1
    start = ahead + (t.word(ahead) in ("the", "my", "our"))
    named = day_at(t, ahead) or hour_at(t, ahead) or day_at(t, start)
    if named is None and t.word(start) in (lex.MEALS.keys() | lex.AT_TIMES.keys()):
        return True, sign, ahead
    if named is not None and not (isinstance(named.piece, Hour) and named.piece.hour is None):
        return True, sign, ahead
    if word in ("from", "past", "until", "till"):
        return None
    if t.word(ahead) in ("that", "it", "this", "then"):
        return False, sign, ahead + 1
    return False, sign, ahead


def _day_beside(t: Tokens, at: int) -> Found | None:
    """ "the day before Easter", "the evening before", "the week after", "the following day"."""
    word, ahead = t.word(at + 1), t.word(at + 2)
    if word in ("following", "next", "previous") and ahead in ("day", "week", "month"):
        if t.word(at) != "the":
            return None
        sign: Sign = -1 if word == "previous" else 1
        return Found(Shift(_of(1, ahead), sign), at, at + 3, "fair")
    part = word if word in lex.DAY_PARTS else ""
    if (word not in ("day", "week", "month", "year") and not part) or ahead not in (
        "before",
        "after",
    ):
        return None
    beside = _beside(t, at + 2)
    if beside is None:
        return None
    other, way, end = beside
    if t.are(at + 3, "next"):
        return None  # "the week after next"
    if not other and not part and t.kind(end) == "word" and _noun_follows(t, end):
        return None  # "the day after he came": some other day
    unit = "day" if part else word
    if part and ahead == "before":
        return Found(Shift(_of(1, "day"), way, beside=other, part=part), at, end)
    if part:
        return None
    return Found(Shift(_of(1, unit), way, beside=other), at, end)


def _noun_follows(t: Tokens, at: int) -> bool:
    return t.word(at) in ("he", "she", "they", "i", "we", "you")


def _vague(t: Tokens, at: int) -> Found | None:
    word = t.word(at)
    if word == "now":
        strength: Strength = "fair" if at + 1 >= t.count or t.kind(at + 1) == "mark" else "weak"
        return Found(Now(), at, at + 1, strength)
    for phrase in (("right", "now"), ("right", "away"), ("straight", "away"), ("at", "once")):
        if (end := t.after(at, *phrase)) > 0:
            return Found(Now(), at, end)
    if word in ("immediately", "asap"):
        return Found(Now(), at, at + 1)
    if word in ("sunset", "sunrise", "dawn", "dusk", "sundown"):
        return Found(Unknown(word), at, at + 1)
    if word == "birthday" and t.word(at + 1) not in ("present", "gift", "card", "cake", "party"):
        return Found(Unknown(word), at, at + 1, "weak")
    if word in ("ago", "yesterday"):
        return Found(Past(), at, at + 1)
    return None


def _direction(t: Tokens, at: int) -> Found | None:
    match t.word(at):
        case "later" | "late":
            return Found(Direction(1, trailing=True), at, at + 1, "weak")
        case "earlier" | "sooner":
            return Found(Direction(-1, trailing=True), at, at + 1, "weak")
        case "back" | "delay" | "delayed" | "postpone" | "postponed":
            return Found(Direction(1), at, at + 1, "weak")
        case "forward" | "forwards":
            early = any(t.word(before) in _FORWARD for before in range(max(0, at - 5), at))
            return Found(Direction(-1 if early else 0), at, at + 1, "weak")
        case "up" if amount(t, at + 1) or amount(t, at + 2):
            return Found(Direction(-1), at, at + 1, "weak")
        case "by" if (length := amount(t, at + 1)) is not None:
            return Found(Shift(length[0], 1), at, length[1], "weak")
    return None


# --- Hours --------------------------------------------------------------------------------


def hour_at(t: Tokens, at: int) -> Found | None:
    for production in (_written_clock, _past_or_to, _military, _fixed, _plain):
        if (found := production(t, at)) is not None:
            return found
    return None


def _closed(
    t: Tokens, at: int, end: int, hour: int, minute: int, strength: Strength
) -> Found | None:
    """With "o'clock", "a.m." and the like after it."""
    certain, midnight = hour == 0 or hour > 12, False
    while True:
        ahead = t.skip(end)
        if t.word(ahead) in ("oclock", "ish", "sharp") or t.are(ahead, "o", "clock"):
            strength = "firm" if t.word(ahead) != "ish" else strength
            end = ahead + 1 + (t.word(ahead) == "o")
        elif (after := t.after(ahead, "on", "the", "dot")) > 0:
            end, strength = after, "firm"
        else:
            break
    half, ahead = "", t.skip(end)
    if t.kind(ahead) == "half":
        half, end = t.word(ahead), ahead + 1
    elif t.word(ahead) in ("a", "p") and t.word(ahead + 1) == "m":
        half, end = t.word(ahead) + "m", ahead + 2
    elif hour == 12 and t.word(ahead) in ("noon", "midday", "midnight"):
        half, midnight = ("am", True) if t.word(ahead) == "midnight" else ("pm", False)
        end = ahead + 1
    if half:
        strength, certain = "firm", True
        if 1 <= hour <= 12:
            hour = hour % 12 + (12 if half == "pm" else 0)
    if t.word(t.skip(end)) in ("ish", "sharp") or t.are(end, "on", "the", "dot"):
        end = t.skip(end) + (3 if t.word(end) == "on" else 1)
    if hour > 23 or minute > 59:
        return None
    return Found(Hour(hour, minute, certain, midnight), at, end, strength)


def _written_clock(t: Tokens, at: int) -> Found | None:
    word = t.word(at)
    if t.kind(at) == "clock":
        hour, minute = int(word[:-3] if word.count(":") < 2 else word[:-6]), word
        digits = minute.replace("h", ":").replace(".", ":").split(":")
        strength: Strength = "weak" if "." in word else "firm"
        found = _closed(t, at, at + 1, int(digits[0]), int(digits[1]), strength)
        if found is None or not word.startswith("0") or not isinstance(found.piece, Hour):
            return found if hour < 24 else None
        return found._replace(piece=Hour(found.piece.hour, found.piece.minute, certain=True))
    if t.kind(at) != "figure" or not word.isdecimal() or len(word) not in (3, 4):
        return None
    hour, minutes = int(word[:-2]), int(word[-2:])
    if hour > 23 or minutes > 59:
        return None
    hours = t.word(at + 1) in ("hours", "hrs", "hour")
    if hours and t.word(at - 1) in ("in", "within", "for", "every"):
        return None
    if hours and t.word(at + 2) in ("from", "later", "ago"):
        return None
    found = _closed(t, at, at + 1 + hours, hour, minutes, "firm" if hours else "weak")
    if found is None or not isinstance(found.piece, Hour) or found.piece.certain:
        return found
    sure = hours or word.startswith("0")
    return found._replace(piece=Hour(found.piece.hour, minutes, certain=sure))


def _past_or_to(t: Tokens, at: int) -> Found | None:
    """ "half past seven", "quarter to eight", "twenty past ten", "half seven"."""
    begun = at
    at += t.word(at) == "a" and t.word(at + 1) in ("quarter", "half")
    word, certain = t.word(at), False
    if word in ("half", "quarter"):
        minutes, end = 30 if word == "half" else 15, at + 1
    else:
        small = t.small(at)
        if small is None or not 0 < small[0] < 60 or t.word(at) == "oh":
            return None
        minutes, end = small
        if minutes == 5 and (tens := t.after(end, "and", "twenty")) > 0:
            minutes, end = 25, tens
        certain = t.word(end) in _MINUTES
        end += certain
    ahead = t.skip(end)
    link = t.word(ahead)
    if link not in _HALVES:
        if word == "half" and (hour := _hour_number(t, ahead)) and 1 <= hour[0] <= 12:
            if t.word(hour[1]) in lex.UNITS or t.word(hour[1]) in lex.COUNTED:
                return None
            return _closed(t, begun, hour[1], hour[0], 30, "fair")
        return None
    if minutes % 5 and not certain:
        return None  # "9 to 5" is no time of day
    if link == "of" and word != "quarter" and not certain:
        return None
    hour = _hour_number(t, t.skip(ahead + 1))
    if hour is None:
        bare = word in ("half", "quarter") and link in ("past", "to") and not t.word(ahead + 1)
        return (
            Found(Hour(None, minutes if link == "past" else -minutes), begun, ahead + 1, "weak")
            if bare
            else None
        )
    value, end = hour
    fixed = t.word(end - 1) in ("noon", "midday", "midnight")
    if link in ("to", "till", "til", "of"):
        minutes, value = 60 - minutes, value - 1
        value = (
            value + (24 if fixed else 12) if value <= 0 and (fixed or value < 0) else value or 12
        )
    found = _closed(t, begun, end, value % 24, minutes, "firm")
    if found and fixed and isinstance(found.piece, Hour):
        return found._replace(piece=Hour(found.piece.hour, found.piece.minute, certain=True))
    return found


def _hour_number(t: Tokens, at: int) -> tuple[int, int] | None:
    word = t.word(at)
    if word in ("noon", "midday"):
        return 12, at + 1
    if word == "midnight":
        return 0, at + 1
    small = t.small(at)
    return small if small and small[0] <= 23 else None


def _military(t: Tokens, at: int) -> Found | None:
    """ "oh nine hundred", "nineteen hundred hours", "zero six thirty"."""
    begun, zero = at, t.word(at) in ("oh", "o", "zero")
    small = t.small(t.skip(at + 1)) if zero else t.small(at)
    if small is None or small[0] > 23 or (zero and small[0] > 9):
        return None
    hour, end = small
    ahead = t.skip(end)
    if t.word(ahead) == "hundred":
        end = ahead + 1
        hours = t.word(end) in ("hours", "hrs", "hour")
        if not hours and not zero and (hour < 13 or t.word(end) not in lex.FUNCTION | {""}):
            return None
        if hours and t.word(at - 1) in ("in", "within", "for", "every"):
            return None
        return Found(
            Hour(hour, 0, certain=True), begun, end + hours, "firm" if zero or hours else "weak"
        )
    if zero and (minutes := t.small(ahead)) and 10 <= minutes[0] < 60:
        return Found(Hour(hour, minutes[0], certain=True), begun, minutes[1], "fair")
    return None


def _fixed(t: Tokens, at: int) -> Found | None:
    word = t.word(at)
    if word in ("noon", "midday"):
        return Found(Hour(12, 0, certain=True), at, at + 1)
    if word == "midnight":
        return Found(Hour(0, 0, certain=True, midnight=True), at, at + 1)
    return None


def _plain(t: Tokens, at: int) -> Found | None:
    """ "seven", "seven thirty", "nine oh five", "7 30 pm", "20 o'clock"."""
    small = t.small(at)
    if small is None or small[0] > 23 or t.word(at) in ("zero", "0"):
        return None
    hour, end = small
    if t.word(end) == "h" and t.kind(at) == "figure":
        return Found(Hour(hour, 0, certain=True), at, end + 1)
    minute, strength = 0, "weak"
    ahead = t.skip(end)
    if t.word(ahead) in ("oh", "o") and (one := t.small(t.skip(ahead + 1))) and 0 < one[0] < 10:
        minute, end, strength = one[0], one[1], "fair"
    elif (two := t.small(ahead)) and 10 <= two[0] < 60 and t.word(two[1]) not in lex.UNITS:
        both = t.kind(at) == t.kind(ahead)
        if both and (t.kind(ahead) == "word" or len(t.word(ahead)) == 2):
            minute, end = two
            strength = "fair" if minute % 5 == 0 and hour <= 23 else "weak"
    after = t.word(t.skip(end))
    if after in lex.UNITS or after in lex.COUNTED or (after in lex.MONTHS and after != "may"):
        return None
    if after in ("quarters", "and") and t.word(end + 1) in ("a", "half"):
        return None
    return _closed(t, at, end, hour, minute, strength)  # type: ignore[arg-type]


# --- Parts of the day, and things that have their hour -------------------------------------


def _part(t: Tokens, at: int) -> Found | None:
    word = t.word(at)
    if word == "tonight":
        return Found(Part("night", today=True), at, at + 1)
    begun, degree = at, ""
    today = word == "this"
    at += today
    if t.word(at) == "mid" or (end := t.after(at, "middle", "of", "the")) > 0:
        degree, at = "mid", t.skip(at + 1) if t.word(at) == "mid" else end
    elif t.word(at) in ("early", "late", "mid"):
        degree, at = t.word(at), t.skip(at + 1)
        at += 2 if t.are(at, "in", "the") else 0
    name = t.word(at)
    if name in lex.PLURAL_PARTS and t.word(begun - 1) in lex.WEEKDAYS.keys() | _SETS.keys():
        name = lex.PLURAL_PARTS[name]
    if name not in lex.DAY_PARTS:
        if degree in ("early", "late") and not today:
            return Found(Degree(degree), begun, begun + 1, "weak")
        return None
    if t.word(begun - 1) == "good" or t.word(at + 1) in (
        "shift",
        "gown",
        "stand",
        "club",
        "sky",
        "school",
        "bus",
    ):
        return None
    if f"{degree} {name}" in lex.PARTS:
        name = f"{degree} {name}"
    end = at + 1 + (t.word(at + 1) == "time")
    return Found(Part(name, today), begun, end)


def _routine(t: Tokens, at: int) -> Found | None:
    word = t.word(at)
    for phrase, name in _ROUTINES:
        if word == phrase[0] and (end := t.after(at, *phrase)) > 0:
            return Found(Routine(name), at, end)
    if word in lex.AT_TIMES:
        before = t.word(at - 1)
        side = f"{before} " if before in ("before", "after") else ""
        return Found(Routine(side + lex.AT_TIMES[word]), at, at + 1)
    if word in lex.MEALS and t.word(at - 1) in ("before", "after"):
        return Found(Routine(lex.MEALS[word]), at, at + 1)  # "an hour before dinner"
    if word in lex.MEALS and t.word(at + 1) in ("time", "hour", "break"):
        return Found(Routine(lex.MEALS[word]), at, at + 2, "fair")
    if word in ("before", "after", "at", "over", "during", "around", "by", "until"):
        ahead = at + 1 + (t.word(at + 1) in ("my", "the", "our"))
        name = t.word(ahead)
        end = ahead + 1
        if name in lex.AT_TIMES:
            return (
                Found(Routine(f"{word} {lex.AT_TIMES[name]}"), at, end)
                if word in ("before", "after")
                else None
            )
        if (
            name == "i"
            and word == "before"
            and t.word(ahead + 1) == "go"
            and t.are(ahead + 2, "to", "bed")
        ):
            return Found(Routine("before bed"), at, ahead + 4)
        if name == "going" and t.are(ahead + 1, "to", "bed"):
            return Found(Routine("before bed"), at, ahead + 3)
        if name not in lex.MEALS or (name == "work" and word not in ("before", "after")):
            return None
        if name in ("school", "bed", "tea") and word not in ("before", "after"):
            return None
        after = t.word(end)
        if after and t.kind(end) == "word" and after in ("with", "at", "party", "order"):
            pass
        side = f"{word} " if word in ("before", "after") else ""
        return Found(Routine(side + lex.MEALS[name]), at, end, "fair")
    return None


_ROUTINES = [
    (tuple(phrase.split()), name)
    for phrase, name in {
        "first thing in the morning": "first thing",
        "first thing": "first thing",
        "last thing at night": "last thing",
        "last thing": "last thing",
        "end of the day": "end of work",
        "end of day": "end of work",
        "end of play": "end of work",
        "close of play": "end of work",
        "close of business": "end of work",
        "end of business": "end of work",
        "cob": "end of work",
        "eod": "end of work",
        "when i wake up": "wake",
        "when i get up": "wake",
        "after i wake up": "wake",
        "when i go to bed": "before bed",
        "when i finish work": "after work",
        "after i finish work": "after work",
    }.items()
]


# --- Days ---------------------------------------------------------------------------------


def day_at(t: Tokens, at: int) -> Found | None:
    best: Found | None = None
    for production in (_near, _weekday, _date, _feast, _period, _slashed):
        found = production(t, at)
        if found is not None and (best is None or found.end > best.end):
            best = found
    return best


def _near(t: Tokens, at: int) -> Found | None:
    word = t.word(at)
    if word == "the" or word == "day":
        start = at + (word == "the")
        if (end := t.after(start, "day", "after", "tomorrow")) > 0:
            return Found(Relative(2), at, end)
        if (end := t.after(start, "day", "before", "yesterday")) > 0:
            return Found(Past(), at, end)
        return None
    days = {"today": 0, "tomorrow": 1, "overmorrow": 2}.get(word)
    if days is None:
        return None
    end, weeks = at + 1, 0
    if t.word(end) in ("week", "fortnight"):
        weeks, end = (1 if t.word(end) == "week" else 2), end + 1
    return Found(Relative(days + 7 * weeks), at, end)


def _weekday(t: Tokens, at: int) -> Found | None:
    """ "this coming Friday", "Thursday week", "the Thursday after next", "Friday of next week"."""
    begun, which = at, ""
    the = t.word(at) == "the"
    at += the
    if t.word(at) in ("this", "next", "last", "coming", "following", "upcoming", "previous"):
        which = t.word(at)
        at += 1
        if which == "this" and t.word(at) in ("coming", "next"):
            at += 1
    word = t.word(at)
    if word not in lex.WEEKDAYS:
        return None
    day, end = lex.WEEKDAYS[word], at + 1
    end += t.word(end) == "." and t.kind(end + 1) != "" and word in lex.SHORT_DAYS
    strength: Strength = "firm"
    if word in lex.ALSO_WORDS and not which and t.word(at - 1) != "on":
        strength = "weak"
    which = {"coming": "this", "upcoming": "this", "following": "after", "previous": "last"}.get(
        which, which
    )
    weeks = 0
    if not which or which == "this":
        if (
            t.word(end) in ("week", "fortnight")
            and t.word(end + 1) not in ("at", "in")
            or t.word(end) == "week"
        ):
            weeks, end = (1 if t.word(end) == "week" else 2), end + 1
            if weeks == 1 and t.word(end) == "after" and t.word(end + 1) == "next":
                end += 2
        elif the and t.are(end, "after", "next"):
            which, end = "after next", end + 2
        elif t.are(end, "after", "next"):
            which, end = "after next", end + 2
        elif t.word(end) in ("coming", "next") and t.word(end + 1) not in ("week", "month"):
            end += 1  # "Saturday next" is the coming one
            which = "this"
        elif the and t.word(end) == "after" and day_at(t, end + 1) is None:
            which, end = "after", end + 1
            end += t.word(end) in ("that", "it")
    return Found(Weekday(day, which, weeks), begun, end, strength)  # type: ignore[arg-type]


def _month(t: Tokens, at: int) -> tuple[int, int] | None:
    word = t.word(at)
    if word not in lex.MONTHS:
        return None
    return lex.MONTHS[word], at + 1 + (
        t.word(at + 1) == "."
        and word in lex.SHORT_MONTHS
        and t.kind(at + 2) in ("figure", "ordinal")
    )


def _date(t: Tokens, at: int) -> Found | None:
    begun = at
    the = t.word(at) == "the"
    at += the
    if (month := _month(t, at)) and not the:
        return _month_first(t, begun, *month)
    last = t.word(at) == "last" and the
    nth = (-1, at + 1) if last else t.nth(at)
    if nth is None and (figure := t.small(at)) and not the:
        month = _month(t, figure[1] + (t.word(figure[1]) == "of"))
        if month and 1 <= figure[0] <= 31 and t.kind(at) == "figure":
            return _with_year(t, begun, month[1], figure[0], month[0])
        return None
    if nth is None:
        return None
    number, end = nth
    if t.word(end) in lex.WEEKDAYS and (found := _nth_weekday(t, begun, number, end)):
        return found
    end += t.word(end) == "day"
    ahead = end + (t.word(end) == "of")
    if (month := _month(t, ahead)) and (
        t.word(end) == "of" or month[0] != 5 or t.word(month[1]) not in lex.FUNCTION - lex.BRIDGES
    ):
        return _with_year(t, begun, month[1], number, month[0])
    if t.word(end) == "of":
        months = 1 if t.word(ahead) == "next" else 0
        ahead += t.word(ahead) in ("the", "this", "next")
        if t.word(ahead) == "month":
            return Found(
                Date(number, ahead=months, this=t.word(ahead - 1) == "this"), begun, ahead + 1
            )
        return None
    if last or (number == 2 and not the and t.kind(nth[1] - 1) == "word"):
        return None
    return Found(Date(number), begun, nth[1], "weak")


def _nth_weekday(t: Tokens, at: int, number: int, end: int) -> Found | None:
    day = lex.WEEKDAYS[t.word(end)]
    if not t.word(end + 1) in ("of", "in"):
        return None
    ahead = end + 2
    if month := _month(t, ahead):
        return Found(NthWeekday(number, day, month[0]), at, month[1])
    if t.are(ahead, "next", "month"):
        return Found(NthWeekday(number, day, ahead=1), at, ahead + 2)
    if t.are(ahead, "this", "month"):
        return Found(NthWeekday(number, day), at, ahead + 2)
    return None


def _month_first(t: Tokens, begun: int, month: int, end: int) -> Found:
    """ "May third", "December 4th", "January the twelfth 2027", "March 2028", "May"."""
    ahead = end + (t.word(end) == "the")
    nth = t.nth(ahead) or (t.small(ahead) if t.kind(ahead) == "figure" else None)
    if nth is None and (small := t.small(ahead)) and 1 <= small[0] <= 31:
        nth = small if t.year(ahead) is None else None
    if nth and 1 <= nth[0] <= 31 and t.kind(nth[1]) != "half":
        return _with_year(t, begun, nth[1], nth[0], month)
    if (year := t.year(ahead)) is not None:
        return Found(Date(None, month, year[0]), begun, year[1])
    which = t.word(begun - 1)
    strength: Strength = "firm"
    if t.word(begun) in lex.ALSO_WORDS and which not in (
        "in",
        "by",
        "of",
        "next",
        "this",
        "until",
        "till",
        "since",
        "before",
        "during",
        "mid",
        "early",
        "late",
    ):
        strength = "weak"
    return Found(Date(None, month), begun, end, strength)


def _with_year(t: Tokens, begun: int, end: int, day: int, month: int) -> Found:
    ahead = end + (t.word(end) in (",", "of", "in"))
    year = t.year(ahead)
    if t.kind(ahead) == "figure" and len(t.word(ahead)) == 4 and t.word(ahead + 1) != "hours":
        year = int(t.word(ahead)), ahead + 1
    if year is not None and t.word(ahead - 1) != "at":
        return Found(Date(day, month, year[0]), begun, year[1])
    return Found(Date(day, month), begun, end)


def _feast(t: Tokens, at: int) -> Found | None:
    begun = at
    at += t.word(at) == "the"
    if t.word(at) == "fourth" and t.are(at + 1, "of", "july"):
        return None  # a date like others
    for length in (4, 3, 2, 1):
        words = [t.word(at + n) for n in range(length)]
        name = " ".join(words)
        if name in lex.FEASTS or name in lex.FROM_EASTER or name in lex.NTH_FEASTS:
            end = at + length
            follows = t.kind(end) == "word" and t.word(end) not in lex.FUNCTION
            return Found(
                Feast(name), begun, end, "weak" if follows and not day_part(t, end) else "firm"
            )
        if length == 2 and words[0] in lex.MOTHERS and words[1] == "day":
            return Found(Feast("mothers day"), begun, at + 2)
    return None


def day_part(t: Tokens, at: int) -> bool:
    """Does a word of time stand here that goes with a day?"""
    word = t.word(at)
    return (
        word in lex.DAY_PARTS
        or word in lex.AT_TIMES
        or t.small(at) is not None
        or word in ("noon", "midnight", "half", "quarter", "early", "late", "tomorrow", "weekend")
    )


def _period(t: Tokens, at: int) -> Found | None:
    """ "the end of next month", "next week", "the weekend", "in the spring of 2028", "by 2030"."""
    begun = at
    at += t.word(at) == "the"
    edge: Literal["", "start", "middle", "end"] = ""
    word = t.word(at)
    if word in ("early", "mid", "late"):
        edge = {"early": "start", "mid": "middle", "late": "end"}[word]  # type: ignore[assignment]
        at = t.skip(at + 1)
        at += 2 if t.are(at, "in", "the") else 0
    elif word in ("very",) and t.word(at + 1) == "end":
        edge, at = "end", at + 2 + (t.word(at + 2) == "of")
    elif word in _EDGES:
        edge, at = _EDGES[word], at + 1
        of = t.word(at) == "of"
        at += of
        if (
            not of
            and t.year(at) is None
            and _month(t, at) is None
            and t.word(at) not in ("this", "next")
        ):
            return None
    at += t.word(at) == "the"
    which = t.word(at) if t.word(at) in ("this", "next", "coming", "following") else ""
    at += bool(which)
    if t.are(begun, "this", "time", "next"):
        unit = t.word(begun + 3)
        if unit in ("week", "month", "year"):
            return Found(FromNow(_of(1, unit)), begun, begun + 4)
    ahead = 1 if which in ("next", "following") else 0
    return _period_named(t, begun, at, edge, which, ahead)


def _period_named(
    t: Tokens,
    begun: int,
    at: int,
    edge: Literal["", "start", "middle", "end"],
    which: str,
    ahead: int,
) -> Found | None:
    word = t.word(at)
    named = "next" if ahead else "this" if which else ""
    if word in ("week", "month", "year", "weekend"):
        if t.are(at + 1, "after", "next"):
            return Found(Period(word, "next", edge, ahead=2), begun, at + 3)  # type: ignore[arg-type]
        if word == "weekend" and t.word(begun - 1) not in ("every", "each"):
            return Found(Period("weekend", named, edge, ahead=ahead), begun, at + 1)  # type: ignore[arg-type]
        if not edge and not which:
            return None
        return Found(Period(word, named, edge, ahead=ahead), begun, at + 1)  # type: ignore[arg-type]
    if word in lex.SEASONS:
        year = t.year(at + 1 + (t.word(at + 1) in ("of", "in")))
        prepared = (
            bool(edge or which or year)
            or (t.word(begun) == "the" and t.word(begun - 1) in lex.PREPOSITIONS)
            or t.word(begun - 1) in ("in", "by", "until", "before", "since")
        )
        found = Period(
            "season", named, edge, year=year[0] if year else None, season=word, ahead=ahead
        )  # type: ignore[arg-type]
        return Found(found, begun, year[1] if year else at + 1, "firm" if prepared else "weak")
    if edge or which:
        if month := _month(t, at):
            year = t.year(month[1])
            if edge:
                found = Period("month", named, edge, month[0], year[0] if year else None)  # type: ignore[arg-type]
                return Found(found, begun, year[1] if year else month[1])
            if t.nth(month[1]) or t.kind(month[1]) in ("figure", "ordinal"):
                return None
            return Found(Date(None, month[0], this=which == "this"), begun, month[1])
        if edge and (year := t.year(at)):
            return Found(Period("year", "", edge, year=year[0]), begun, year[1])
        if edge and word == "today":
            return None
    if not edge and not which and (year := t.year(at)):
        before = t.word(begun - 1)
        if before in ("in", "by", "before", "until", "till", "during", "of", "since"):
            edge = "end" if before in ("in", "during") else "start"
            return Found(Period("year", "", edge, year=year[0]), begun, year[1])
    return None


def _slashed(t: Tokens, at: int) -> Found | None:
    if t.kind(at) == "iso":
        return Found(Written(t.word(at)), at, at + 1)
    if t.kind(at) == "slashed":
        whole = t.word(at).count("/") == 2 or t.word(at - 1) in ("on", "by", "until", "before")
        return Found(Written(t.word(at)), at, at + 1, "firm" if whole else "weak")
    return None


# --- How often ----------------------------------------------------------------------------


def _every(t: Tokens, at: int) -> Found | None:
    word = t.word(at)
    if word in ("every", "each"):
        return _each(t, at)
    if word in _ADVERBS:
        return Found(Every(freq=_ADVERBS[word][0], interval=_ADVERBS[word][1]), at, at + 1)
    if word == "bi" and t.word(t.skip(at + 1)) == "weekly":
        return Found(Every(freq="WEEKLY", interval=2), at, t.skip(at + 1) + 1)
    if word == "nightly":
        return Found(Every(freq="DAILY", part="night"), at, at + 1)
    if word == "hourly":
        return Found(Every(open_days=True), at, at + 1)
    if word in ("school", "working", "work", "business", "week") and t.word(t.skip(at + 1)) in (
        "days",
        "nights",
    ):
        return Found(Every(freq="WEEKLY", days=_WEEKLY), at, t.skip(at + 1) + 1)
    if word in _SETS and word not in ("weekend", "weekday", "schoolday", "workday"):
        return Found(Every(freq="WEEKLY", days=_SETS[word]), at, at + 1)
    if word in lex.PLURAL_DAYS:
        days, end = _weekdays(t, at)
        return Found(Every(freq="WEEKLY", days=days), at, end)
    if word in lex.WEEKDAYS or word in _SETS:
        return _range(t, at)
    if word in lex.PLURAL_PARTS and t.word(at - 1) in ("the", "most", "at", "on", ""):
        return Found(Every(freq="DAILY", part=lex.PLURAL_PARTS[word]), at, at + 1)
    return _so_often(t, at) or _monthly(t, at)


def _range(t: Tokens, at: int) -> Found | None:
    """ "Monday to Friday", "Saturday mornings", "Monday, Wednesday and Friday every week"."""
    first = lex.WEEKDAYS.get(t.word(at))
    if first is None:
        return None
    end = at + 1
    if t.word(end) in _THROUGH and (last := _day_of(t, end + 1)) is not None:
        days = tuple((first + n) % 7 for n in range((last - first) % 7 + 1))
        if (
            t.word(at - 1) in ("from", "move", "moved")
            and t.word(end) == "to"
            and t.word(at - 2) not in ("", ",", "days")
        ):
            return None  # "move it from Monday to Friday"
        return Found(Every(freq="WEEKLY", days=tuple(sorted(days))), at, end + 2)
    if t.word(end) in lex.PLURAL_PARTS:
        return Found(Every(freq="WEEKLY", days=(first,)), at, end)
    days, end = _weekdays(t, at)
    if len(days) > 1 and (t.are(end, "every", "week") or t.word(end) in lex.PLURAL_PARTS):
        return Found(Every(freq="WEEKLY", days=days), at, end)
    if len(days) > 1 and any(t.word(n) in lex.PLURAL_DAYS for n in range(at, end)):
        return Found(Every(freq="WEEKLY", days=days), at, end)
    return None


def _day_of(t: Tokens, at: int) -> int | None:
    return lex.WEEKDAYS.get(t.word(at), lex.PLURAL_DAYS.get(t.word(at)))


def _weekdays(t: Tokens, at: int) -> tuple[tuple[int, ...], int]:
    """ "Mondays, Wednesdays and Fridays": which, and where they end."""
    days: list[int] = []
    end = ahead = at
    while True:
        day = _day_of(t, ahead)
        if day is not None:
            days.append(day)
        elif t.word(ahead) in _SETS and days:
            days += _SETS[t.word(ahead)]
        else:
            break
        end = ahead = ahead + 1
        while t.word(ahead) in ("and", "or", ",", "&", "on", "every", "-", "plus"):
            ahead += 1
    return tuple(sorted(set(days))), end


def _each(t: Tokens, at: int) -> Found | None:
    """What "every" is followed by."""
    begun, at = at, at + 1
    at += t.word(at) in ("single", "and")
    at += t.word(at) == "every"
    at += t.word(at) == "single"
    interval = 1
    if t.word(at) in ("other", "alternate", "second"):
        if t.word(at) == "second" and (found := _every_nth(t, begun, at)):
            return found
        interval, at = 2, at + 1
    elif (
        (number := t.count_of(at)) and t.word(at) not in ("a", "an") and number[0] == int(number[0])
    ):
        if t.word(number[1]) in lex.UNITS or t.word(number[1]) in ("weekends",):
            interval, at = int(number[0]), number[1]
    elif found := _every_nth(t, begun, at):
        return found
    at = t.skip(at)
    word = t.word(at)
    unit = lex.UNITS.get(word, "")
    if unit in ("minute", "hour"):
        return Found(Every(open_days=True), begun, at + 1)
    if unit:
        interval *= 2 if unit == "fortnight" else 1
        return Found(Every(freq=_FREQ[unit], interval=interval), begun, at + 1)
    if (
        word in ("school", "working", "work", "business", "week")
        and t.word(t.skip(at + 1)) == "day"
    ):
        return Found(
            Every(freq="WEEKLY", interval=interval, days=_WEEKLY), begun, t.skip(at + 1) + 1
        )
    if word in _SETS:
        return Found(Every(freq="WEEKLY", interval=interval, days=_SETS[word]), begun, at + 1)
    if (span := _range(t, at)) and isinstance(span.piece, Every) and t.word(at + 1) in _THROUGH:
        return span._replace(start=begun)
    if _day_of(t, at) is not None:
        days, end = _weekdays(t, at)
        return Found(Every(freq="WEEKLY", interval=interval, days=days), begun, end)
    if word in lex.DAY_PARTS or word in ("tonight", "lunchtime", "bedtime"):
        return Found(Every(freq="DAILY", interval=interval), begun, at)
    if (feast := _feast(t, at)) and isinstance(feast.piece, Feast):
        return Found(Every(freq="YEARLY", feast=feast.piece.name), begun, feast.end)
    if (date := _date(t, at)) and isinstance(date.piece, Date) and date.piece.day:
        if date.piece.month:
            return Found(
                Every(freq="YEARLY", month=date.piece.month, month_days=(date.piece.day,)),
                begun,
                date.end,
            )
    if month := _month(t, at):
        return Found(Every(freq="YEARLY", month=month[0]), begun, month[1])
    return None


def _every_nth(t: Tokens, begun: int, at: int) -> Found | None:
    """ "every third day", "every first and third Monday", "every 15th"."""
    numbers, end = _numbers(t, at)
    if not numbers:
        return None
    word = t.word(end)
    unit = lex.UNITS.get(word, "")
    if unit == "day" and (after := _of_month(t, end + 1)):
        return Found(Every(freq="MONTHLY", month_days=numbers), begun, after)
    if unit in _FREQ and len(numbers) == 1 and numbers[0] > 0:
        times = 2 if unit == "fortnight" else 1
        return Found(Every(freq=_FREQ[unit], interval=numbers[0] * times), begun, end + 1)
    day = _day_of(t, end)
    if day is not None:
        after = _of_month(t, end + 1)
        if numbers == (2,) and not after:
            days, end = _weekdays(t, end)
            return Found(Every(freq="WEEKLY", interval=2, days=days), begun, end)
        return Found(Every(freq="MONTHLY", nth=numbers, days=(day,)), begun, after or end + 1)
    if unit or word in _SETS or numbers == (2,) or -1 in numbers:
        return None
    after = _of_month(t, end)
    if after or t.kind(end) != "word" or word in lex.FUNCTION:
        return Found(Every(freq="MONTHLY", month_days=numbers), begun, after or end)
    return None


def _numbers(t: Tokens, at: int) -> tuple[tuple[int, ...], int]:
    """ "1st and 15th", "first and the last"."""
    numbers: list[int] = []
    end = ahead = at
    while True:
        nth = (-1, ahead + 1) if t.word(ahead) == "last" else t.nth(ahead)
        if nth is None:
            return tuple(numbers), end
        numbers.append(nth[0])
        end = ahead = nth[1]
        while t.word(ahead) in ("and", "or", "the", ",", "&"):
            ahead += 1


def _of_month(t: Tokens, at: int) -> int:
    """The place after "of the month", "of every month"; 0 where they are not here."""
    for tail in (
        ("of", "the", "month"),
        ("of", "every", "month"),
        ("of", "each", "month"),
        ("in", "the", "month"),
        ("every", "month"),
        ("each", "month"),
        ("in", "every", "month"),
        ("of", "a", "month"),
    ):
        if (end := t.after(at, *tail)) > 0:
            return end
    return 0


def _monthly(t: Tokens, at: int) -> Found | None:
    """ "the first Monday of the month", "on the 1st of every month"."""
    begun = at
    at += t.word(at) == "the"
    numbers, end = _numbers(t, at)
    if not numbers:
        return None
    day = _day_of(t, end)
    if day is not None and all(-5 <= n <= 5 for n in numbers):
        after = _of_month(t, end + 1)
        return (
            Found(Every(freq="MONTHLY", nth=numbers, days=(day,)), begun, after) if after else None
        )
    end += t.word(end) == "day"
    after = _of_month(t, end)
    if not after or t.word(after - 2) not in ("every", "each"):
        return None  # "the first of the month" is one day
    return Found(Every(freq="MONTHLY", month_days=numbers), begun, after)


def _so_often(t: Tokens, at: int) -> Found | None:
    """ "twice a week", "once a year", "three times a day"."""
    word = t.word(at)
    if word in ("once", "twice"):
        count, end = (1 if word == "once" else 2), at + 1
    elif (small := t.small(at)) and t.word(small[1]) == "times":
        count, end = small[0], small[1] + 1
    elif t.are(at, "a", "few", "times") or t.are(at, "a", "couple", "of", "times"):
        count, end = 3, t.after(at, "a", "few", "times") if t.word(at + 1) == "few" else at + 4
    else:
        return None
    if t.word(end) not in ("a", "per", "every", "each", "an", "in"):
        return Found(Times(count), at, end, "weak") if word not in ("once", "twice") else None
    end += 1 + (t.word(end + 1) in ("a", "other"))
    unit = lex.UNITS.get(t.word(end), "")
    if unit not in _FREQ:
        return None
    if count == 1:
        interval = 2 if unit == "fortnight" or t.word(end - 1) == "other" else 1
        return Found(Every(freq=_FREQ[unit], interval=interval), at, end + 1)
    if unit == "day":
        return Found(Every(freq="DAILY", open_hours=True), at, end + 1)
    return Found(Every(freq=_FREQ[unit], open_days=True), at, end + 1)


def _bounds(t: Tokens, at: int) -> Found | None:
    """Where a repetition begins and ends: "until June", "for two weeks", "starting Monday"."""
    word = t.word(at)
    if word in ("until", "till", "til", "through"):
        ahead = (
            at
            + 1
            + (t.word(at + 1) == "the" and _period(t, at + 1) is None and _date(t, at + 1) is None)
        )
        found = day_at(t, ahead)
        if found and isinstance(found.piece, Day) and found.strength == "firm":
            return Found(Until(found.piece), at, found.end)
        return None
    if word in ("starting", "beginning", "from", "start", "begin", "commencing"):
        ahead = at + 1 + (t.word(at + 1) in ("on", "from", "in"))
        found = day_at(t, ahead)
        if found and isinstance(found.piece, Day) and found.strength == "firm":
            strength: Strength = "weak" if word == "from" else "firm"
            return Found(From(found.piece), at, found.end, strength)
        return None
    if word == "for":
        ahead = at + 1 + (t.word(at + 1) in ("the", "next")) + t.are(at + 1, "the", "next")
        length = amount(t, ahead)
        if length and length[0].whole_days:
            return Found(For(length[0]), at, length[1], "weak")
        return None
    if word in ("except", "but", "excluding"):
        ahead = at + 1 + (t.word(at + 1) in ("on", "for", "not"))
        ahead += t.word(ahead) in ("on", "for")
        if t.word(ahead) in _SETS:
            return Found(Except(_SETS[t.word(ahead)]), at, ahead + 1, "weak")
        days, end = _weekdays(t, ahead)
        return Found(Except(days), at, end, "weak") if days else None
    return None


# --- The same, other clocks, and what is taken back -----------------------------------------


def _same(t: Tokens, at: int) -> Found | None:
    begun = at
    at += t.word(at) in ("the", "that")
    if t.word(at) in ("same", "usual"):
        if t.word(at + 1) in ("time", "hour"):
            return Found(Same("time"), begun, at + 2)
        if t.word(at + 1) == "day" and t.word(at) == "same":
            return Found(Same("day"), begun, at + 2)
        if t.word(at + 1) in lex.DAY_PARTS:
            return Found(Same("day"), begun, at + 1)
        if t.word(at) == "same" and t.word(at + 1) in lex.WEEKDAYS:
            return Found(Same("day"), begun, at + 2)
        return None
    if t.word(begun) == "that":
        if t.word(at) == "day":
            return Found(Same("day"), begun, at + 1, "fair")
        if t.word(at) in lex.DAY_PARTS:
            return Found(Same("day"), begun, at, "fair")
    return None


def _zone(t: Tokens, at: int) -> Found | None:
    word = t.word(at)
    two = f"{word} {t.word(at + 1)}"
    for name, end in ((two, at + 2), (word, at + 1)):
        if name in zones.REGIONS:
            timed = t.word(end) in ("time", "standard", "daylight")
            end += timed and (2 if t.word(end) != "time" else 1)
            return Found(Zone(zones.REGIONS[name]), at, end, "firm" if timed else "weak")
        if name in zones.PLACES and t.word(end) == "time":
            return Found(Zone(zones.PLACES[name]), at, end + 1)
        if name in zones.PLACES and t.word(at - 1) == "in":
            return Found(Zone(zones.PLACES[name], sure=False), at, end, "weak")
    if word in zones.ABBREVIATED and word != "cat":
        return Found(Zone(zones.ABBREVIATED[word]), at, at + 1 + (t.word(at + 1) == "time"), "weak")
    if t.word(at + 1) == "time" and t.word(at + 2) not in lex.UNITS:
        if word in zones.THEIRS or word in zones.MANY:
            return Found(Zone(None), at, at + 2, "weak")
        if word in zones.OURS:
            return Found(Zone("", sure=True), at, at + 2, "weak")
    return None


_CORRECTIONS = [
    tuple(phrase.split())
    for phrase in (
        "no wait", "no sorry", "no", "nope", "sorry", "wait", "hang on", "actually", "i mean",
        "i meant", "make it", "make that", "or rather", "scratch that", "correction", "let's say",
        "better", "oh no", "should be", "change that to", "change it to",
    )
]  # fmt: skip
_NEGATIONS = [
    tuple(p.split()) for p in ("not", "rather than", "instead of", "isn't", "no longer", "never")
]
_NOT_NEGATED = lex.words("before until till later earlier sooner after than too that at sure only")


def _taking_back(t: Tokens, at: int) -> Found | None:
    for phrase in _NEGATIONS:
        if t.word(at) == phrase[0] and (end := t.after(at, *phrase)) > 0:
            allowed = t.word(end) not in _NOT_NEGATED or (
                t.word(end) == "at" and phrase != ("never",)
            )
            return Found(Negation(), at, end, "weak") if allowed else None
    for phrase in _CORRECTIONS:
        if t.word(at) == phrase[0] and (end := t.after(at, *phrase)) > 0:
            if t.word(end) in ("later", "earlier", "sooner", "problem", "matter"):
                return None
            return Found(Correction(), at, end, "weak")
    return None


_PRODUCTIONS: tuple[Callable[[Tokens, int], Found | None], ...] = (
    _taking_back,
    _every,
    _bounds,
    _same,
    _span,
    day_at,
    _routine,
    _part,
    hour_at,
    _zone,
    _vague,
    _direction,
)


def pieces_of(t: Tokens) -> list[Found]:
    """The longest piece at each place, in order, none over another."""
    found: list[Found] = []
    at = 0
    while at < t.count:
        best: Found | None = None
        if t.kinds[at] != "mark":
            for production in _PRODUCTIONS:
                one = production(t, at)
                if one is not None and one.end > at and (best is None or one.end > best.end):
                    best = one
        if best is None:
            at += 1
            continue
        found.append(best)
        at = max(best.end, at + 1)
    return found
