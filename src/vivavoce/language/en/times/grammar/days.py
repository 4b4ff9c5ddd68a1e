"""The day: near ones, weekdays, dates, holidays, weeks and seasons."""

from __future__ import annotations

from vivavoce.language.en.times import lexicon as lex
from vivavoce.language.en.times.grammar.amounts import amount_of
from vivavoce.language.en.times.grammar.found import Found, Strength
from vivavoce.language.en.times.pieces import (
    Date,
    Edge,
    Feast,
    FromNow,
    NthWeekday,
    Past,
    Period,
    Relative,
    Unit,
    Weekday,
    Which,
    Written,
)
from vivavoce.language.en.times.tokens import Tokens

_DEGREES: dict[str, Edge] = {"early": "start", "mid": "middle", "late": "end"}
_WHICH: dict[str, Which] = {
    "this": "this",
    "next": "next",
    "last": "last",
    "previous": "last",
    "coming": "this",
    "upcoming": "this",
    "following": "after",
}
_COMING = ("coming", "upcoming")
_UNITS: dict[str, Unit] = {unit: unit for unit in ("week", "month", "year", "weekend")}
_NEXT_ONES = [
    tuple(phrase.split())
    for phrase in (
        "the next one", "the one after that", "the one after", "the following one",
        "the week after", "the next", "next week", "next",
    )
]  # fmt: skip
_MONTHLY = lex.words("monthly month months quarterly year yearly annually")
_EDGES: dict[str, Edge] = {
    "end": "end",
    "start": "start",
    "beginning": "start",
    "middle": "middle",
}


def day_at(t: Tokens, at: int) -> Found | None:
    best: Found | None = None
    for production in (
        _near,
        _weekday,
        _several_on,
        _not_this,
        date_at,
        feast_at,
        period_at,
        _week_of,
        _slashed,
    ):
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
    """ "this coming Friday", "Thursday week", "the Thursday after next"."""
    begun, the = at, t.word(at) == "the"
    at += the
    which: Which = _WHICH.get(t.word(at), "")
    coming = t.word(at) in _COMING
    if which:
        both = t.word(at) == "this" and t.word(at + 1) in (*_COMING, "next")
        coming |= both and t.word(at + 1) in _COMING
        at += 1 + both
    word = t.word(at)
    if word not in lex.WEEKDAYS:
        return None
    end = at + 1
    end += t.word(end) == "." and word in lex.SHORT_DAYS and bool(t.kind(end + 1))
    also = word in lex.ALSO_WORDS and not which and t.word(at - 1) != "on"
    weeks = 0
    if which in ("", "this"):
        if t.word(end) in ("week", "fortnight"):
            weeks, end = (1 if t.word(end) == "week" else 2), end + 1
        elif t.are(end, "after", "next"):
            which, end = "after next", end + 2
        elif t.word(end) in (*_COMING, "next") and t.word(end + 1) not in ("week", "month"):
            coming |= t.word(end) in _COMING
            which, end = "this", end + 1  # "Saturday next" is the coming one
        elif the and t.word(end) in ("after", "before"):
            which = "after" if t.word(end) == "after" else "before"
            end += 1 + (t.word(end + 1) in ("that", "it"))
    if coming and which == "this":  # on a Thursday the coming one may be a week away
        which = ""
    strength: Strength = "weak" if also else "firm"
    return Found(Weekday(lex.WEEKDAYS[word], which, weeks), begun, end, strength)


def _several_on(t: Tokens, at: int) -> Found | None:
    """ "Two Fridays from now", "in three Saturdays": the second, the third."""
    begun = at
    at += t.word(at) == "in"
    small = t.small(at)
    if small is None or not 1 < small[0] < 9:
        return None
    count, end = small
    word = t.word(end)
    if word not in lex.PLURAL_DAYS:
        return None
    after = max(t.after(end + 1, "from", "now"), t.after(end + 1, "from", "today"))
    if after < 0 and at == begun:
        return None  # "two Fridays" may be any
    end = after if after > 0 else end + 1
    return Found(Weekday(lex.PLURAL_DAYS[word], "", count - 1), begun, end)


def _not_this(t: Tokens, at: int) -> Found | None:
    """ "not this Saturday but the next one"."""
    if t.word(at) != "not" or (found := _weekday(t, at + 1)) is None:
        return None
    end = found.end
    while t.word(end) in (",", "but", "no"):
        end += 1
    for tail in _NEXT_ONES:
        if isinstance(found.piece, Weekday) and (after := t.after(end, *tail)) > 0:
            return Found(Weekday(found.piece.day, "", 1), at, after)
    return None


def month_at(t: Tokens, at: int) -> tuple[int, int] | None:
    word = t.word(at)
    if word not in lex.MONTHS:
        return None
    return lex.MONTHS[word], at + 1 + (
        t.word(at + 1) == "."
        and word in lex.SHORT_MONTHS
        and t.kind(at + 2) in ("figure", "ordinal")
    )


def date_at(t: Tokens, at: int) -> Found | None:
    begun = at
    the = t.word(at) == "the"
    at += the
    if (month := month_at(t, at)) and not the:
        return _month_first(t, begun, *month)
    last = t.word(at) == "last" and the
    nth = (-1, at + 1) if last else t.nth(at)
    if nth is None and (figure := t.small(at)) and not the:
        month = month_at(t, figure[1] + (t.word(figure[1]) == "of"))
        if month and 1 <= figure[0] <= 31 and t.kind(at) == "figure":
            return _with_year(t, begun, month[1], figure[0], month[0])
        return None
    if nth is None:
        return None
    number, end = nth
    if t.word(end) in lex.WEEKDAYS and (found := _nth_weekday(t, begun, number, end)):
        return found
    end += t.word(end) in ("day", "date")
    ahead = end + (t.word(end) == "of")
    if (month := month_at(t, ahead)) and (
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
    if t.word(end + 1) not in ("of", "in"):
        monthly = any(word in _MONTHLY for word in t.words)  # "every month on the first Monday"
        return Found(NthWeekday(number, day), at, end + 1, "weak") if monthly else None
    ahead = end + 2
    if month := month_at(t, ahead):
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
    if (year := _year_after(t, end)) is not None:
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


def _year_after(t: Tokens, end: int) -> tuple[int, int] | None:
    """ "March 2030", "March of 2030", "the spring in 2030"."""
    return t.year(end + (t.word(end) in ("of", "in", "the", ",")))


def _with_year(t: Tokens, begun: int, end: int, day: int, month: int) -> Found:
    ahead = end + (t.word(end) in (",", "of", "in"))
    year = t.year(ahead)
    if t.kind(ahead) == "figure" and len(t.word(ahead)) == 4 and t.word(ahead + 1) != "hours":
        year = int(t.word(ahead)), ahead + 1
    if year is not None and t.word(ahead - 1) != "at":
        return Found(Date(day, month, year[0]), begun, year[1])
    return Found(Date(day, month), begun, end)


def feast_at(t: Tokens, at: int) -> Found | None:
    begun = at
    at += t.word(at) == "the"
    if t.word(at) == "fourth" and t.are(at + 1, "of", "july"):
        return None  # a date like others
    for length in (4, 3, 2, 1):
        words = [t.word(at + n) for n in range(length)]
        name = lex.FEAST_NAMES.get(lex.feast_key(words))
        if name is not None:
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


def period_at(t: Tokens, at: int) -> Found | None:
    """ "the end of next month", "next week", "the weekend", "in the spring of 2028", "by 2030"."""
    begun = at
    at += t.word(at) == "the"
    edge: Edge = ""
    word = t.word(at)
    if word in _DEGREES:
        edge = _DEGREES[word]
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
            and month_at(t, at) is None
            and t.word(at) not in ("this", "next")
        ):
            return None
    at += t.word(at) == "the"
    which = t.word(at) if t.word(at) in ("this", "next", "coming", "following") else ""
    at += bool(which)
    if t.are(begun, "this", "time", "next"):
        unit = t.word(begun + 3)
        if unit in ("week", "month", "year"):
            return Found(FromNow(amount_of(1, unit)), begun, begun + 4)
    ahead = 1 if which in ("next", "following") else 0
    return _period_named(t, begun, at, edge, which, ahead)


def _period_named(
    t: Tokens,
    begun: int,
    at: int,
    edge: Edge,
    which: str,
    ahead: int,
) -> Found | None:
    word = t.word(at)
    named: Which = "next" if ahead else "this" if which else ""
    unit = _UNITS.get(word)
    if unit is not None:
        if t.are(at + 1, "after", "next"):
            return Found(Period(unit, "next", edge, ahead=2), begun, at + 3)
        if word == "weekend" and t.word(begun - 1) not in ("every", "each"):
            edge = "after" if t.word(begun - 1) == "after" else edge
            return Found(Period("weekend", named, edge, ahead=ahead), begun, at + 1)
        if not edge and not which:
            return None
        return Found(Period(unit, named, edge, ahead=ahead), begun, at + 1)
    if word in lex.SEASONS:
        year = _year_after(t, at + 1)
        prepared = (
            bool(edge or which or year)
            or (t.word(begun) == "the" and t.word(begun - 1) in lex.PREPOSITIONS)
            or t.word(begun - 1) in ("in", "by", "until", "before", "since")
        )
        found = Period(
            "season", named, edge, year=year[0] if year else None, season=word, ahead=ahead
        )
        return Found(found, begun, year[1] if year else at + 1, "firm" if prepared else "weak")
    if edge or which:
        if month := month_at(t, at):
            year = _year_after(t, month[1])
            if edge:
                found = Period("month", named, edge, month[0], year[0] if year else None)
                return Found(found, begun, year[1] if year else month[1])
            if t.nth(month[1]) or t.kind(month[1]) in ("figure", "ordinal"):
                return None
            this = which in ("this", "coming")
            return Found(Date(None, month[0], ahead=ahead, this=this), begun, month[1])
        if edge and (year := t.year(at)):
            return Found(Period("year", "", edge, year=year[0]), begun, year[1])
        if edge and word == "today":
            return None
    if not edge and not which and (year := t.year(at)):
        before = t.word(begun - 1)
        if before in ("in", "by", "before", "until", "till", "during", "since"):
            edge = "end" if before in ("in", "during") else "start"
            return Found(Period("year", "", edge, year=year[0]), begun, year[1])
    return None


def _week_of(t: Tokens, at: int) -> Found | None:
    """ "the last week of November": a time, of which no day is said."""
    at_first = at + (t.word(at) == "the")
    nth = t.nth(at_first) or ((-1, at_first + 1) if t.word(at_first) == "last" else None)
    if nth is None or (end := t.after(nth[1], "week", "of")) < 0:
        return None
    if month := month_at(t, end):
        return Found(Period("week", edge="middle"), at, month[1])
    end += t.word(end) in ("the", "next", "this")
    return Found(Period("week", edge="middle"), at, end + 1) if t.word(end) == "month" else None


def _slashed(t: Tokens, at: int) -> Found | None:
    if t.kind(at) == "iso":
        return Found(Written(t.word(at)), at, at + 1)
    if t.kind(at) == "slashed":
        whole = t.word(at).count("/") == 2 or t.word(at - 1) in ("on", "by", "until", "before")
        return Found(Written(t.word(at)), at, at + 1, "firm" if whole else "weak")
    return None
