"""How long before or after something, or from now on; earlier and later."""

from __future__ import annotations

from vivavoce.language.en.times import lexicon as lex
from vivavoce.language.en.times.grammar.amounts import amount, amount_of
from vivavoce.language.en.times.grammar.days import day_at
from vivavoce.language.en.times.grammar.found import Found, Strength
from vivavoce.language.en.times.grammar.hours import hour_at, on_the_clock
from vivavoce.language.en.times.pieces import (
    Direction,
    FromNow,
    Hour,
    Now,
    Past,
    Shift,
    Sign,
    Span,
    Unknown,
)
from vivavoce.language.en.times.tokens import Tokens

_WEEK = 7
_ABOUT = lex.words("about around like roughly just the next another say approximately")
_BEING = lex.words("is are was were am isn't aren't wasn't been thats")
_SUBJECTS = lex.words("that this it he she they there")
_FORWARD = lex.words("bring brought bringing pull pulled come")


def span_at(t: Tokens, at: int) -> Found | None:
    """A length of time, with what says from when it counts."""
    begun = at
    word = t.word(at)
    coming = word in ("over", "during", "for") and t.word(at + 1) == "the"
    if coming and t.word(at + 2) in ("next", "coming") and (length := amount(t, at + 3)):
        return Found(FromNow(length[0]), at, length[1], "weak" if word == "for" else "firm")
    if word in ("in", "within", "after"):
        at += 1
        while t.word(at) in _ABOUT:
            at += 1
        named = word == "within" and t.word(at) in ("hour", "week", "month", "year")
        if named:
            return Found(FromNow(amount_of(1, t.word(at))), begun, at + 1)
    elif word == "the" or word == "that":
        return _day_beside(t, at)
    elif word == "day" and t.word(at - 1) not in lex.DETERMINERS:
        return _day_beside(t, at - 1, at)
    length = amount(t, at)
    if length is None:
        return None
    found, end = length
    if word not in ("in", "within", "after") and _military_hours(t, at, end):
        return None
    end += t.are(end, "or", "so") and 2
    if t.word(end) == "time" and word == "in":
        end += 1
    directed = t.word(end) in ("later", "earlier", "sooner", "early")
    if word in ("in", "within") and not directed:
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
        early = t.word(end) in ("early", "late") and at == begun
        strength: Strength = "weak" if early else "firm"
        than = t.word(end + 1) == "than" and t.word(end + 2) in ("that", "it", "planned", "this")
        return Found(Shift(found, sign), begun, end + 1 + 2 * than, strength)
    if word == "after":
        return Found(FromNow(found), begun, end, "fair")
    beside = _beside(t, end)
    if beside is not None:
        other, sign, after = beside
        return Found(Shift(found, sign, beside=other), begun, after)
    if found.days >= _WEEK and t.word(end) in lex.WEEKDAYS:  # "a week Wednesday"
        return Found(Shift(found, 1, beside=True), begun, end)
    if t.word(end) in ("on", "today", "tomorrow") and not found.minutes:
        ahead = end + (t.word(end) == "on")
        if day_at(t, ahead) is not None:  # "a week on Tuesday", "a week today"
            return Found(Shift(found, 1, beside=True), begun, ahead)
    if t.word(at) == "another" and not found.minutes:
        return None  # "another day": any but this one
    return Found(Span(found), begun, end, "weak")


def _military_hours(t: Tokens, at: int, end: int) -> bool:
    """ "1900 hours" is a time of day."""
    if t.word(end - 1) not in ("hours", "hrs") or t.word(end) in ("from", "later", "ago"):
        return False
    return on_the_clock(t, at, end - 1) or (
        hour_at(t, at) is not None and len(t.word(at)) in (3, 4)
    )


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


def _day_beside(t: Tokens, at: int, begun: int | None = None) -> Found | None:
    """ "the day before Easter", "the evening before", "the week after", "the following day"."""
    word, ahead = t.word(at + 1), t.word(at + 2)
    begun = at if begun is None else begun
    if word in ("following", "next", "previous") and ahead in ("day", "week", "month"):
        if t.word(at) != "the":
            return None
        sign: Sign = -1 if word == "previous" else 1
        return Found(Shift(amount_of(1, ahead), sign), at, at + 3, "fair")
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
    if part and (ahead == "before" or part == "morning") and not _noun_follows(t, end):
        return Found(Shift(amount_of(1, "day"), way, beside=other, part=part), begun, end)
    if part:
        return None
    return Found(Shift(amount_of(1, unit), way, beside=other), begun, end)


def _noun_follows(t: Tokens, at: int) -> bool:
    return t.word(at).partition("'")[0] in ("he", "she", "they", "i", "we", "you")


def _told(t: Tokens, at: int) -> bool:
    """Whether the clause so far only says how things are: "that's a goal now"."""
    begun = next((n + 1 for n in range(at - 1, -1, -1) if t.kind(n) == "mark"), 0)
    inside = t.words[begun:at]
    return bool(_BEING & set(inside)) or t.word(begun) in _SUBJECTS


def vague_at(t: Tokens, at: int) -> Found | None:
    word = t.word(at)
    if word == "now" and t.word(at - 1) not in ("for", "by", "just", "until", "till", "right"):
        ends = at + 1 >= t.count or t.kind(at + 1) == "mark"
        strength: Strength = "fair" if ends and not _told(t, at) else "weak"
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
    if word == "yesterday":
        return Found(Past(), at, at + 1)
    return None


def _onward(t: Tokens, at: int) -> int:
    """Where how far is said: "off for a week", "along by an hour", "out another day"."""
    at += 1 + (t.word(at + 1) in ("by", "for"))
    return at + (t.word(at) == "another" and t.word(at + 1) not in lex.UNITS)


def direction_at(t: Tokens, at: int) -> Found | None:
    match t.word(at):
        case "later" | "late":
            return Found(Direction(1, trailing=True), at, at + 1, "weak")
        case "earlier" | "sooner":
            return Found(Direction(-1, trailing=True), at, at + 1, "weak")
        case "prepone" | "preponed":
            return Found(Direction(-1), at, at + 1, "weak")
        case "back" | "delay" | "delayed" | "postpone" | "postponed":
            return Found(Direction(1), at, at + 1, "weak")
        case "forward" | "forwards":
            early = any(t.word(before) in _FORWARD for before in range(max(0, at - 5), at))
            return Found(Direction(-1 if early else 0), at, at + 1, "weak")
        case "up" if amount(t, at + 1) or amount(t, at + 2):
            return Found(Direction(-1), at, at + 1, "weak")
        case "off" | "out" | "along" | "over" if (length := amount(t, _onward(t, at))) is not None:
            return Found(Shift(length[0], 1), at, length[1], "weak")
        case "by" if (length := amount(t, at + 1)) is not None:
            if on_the_clock(t, at + 1, length[1] - 1):
                return None
            return Found(Shift(length[0], 1), at, length[1], "weak")
    return None
