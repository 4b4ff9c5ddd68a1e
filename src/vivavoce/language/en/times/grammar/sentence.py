"""All productions together: the pieces of a sentence, in order; and those that are no day, hour or
span: how often, from when until when, zones, and what is taken back.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from vivavoce.language.en.times import lexicon as lex
from vivavoce.language.en.times import zones
from vivavoce.language.en.times.grammar.amounts import amount
from vivavoce.language.en.times.grammar.days import date_at, day_at, feast_at, month_at, period_at
from vivavoce.language.en.times.grammar.found import Found, Strength
from vivavoce.language.en.times.grammar.hours import (
    half_at,
    hour_at,
    moved,
    part_at,
    range_at,
    routine_at,
)
from vivavoce.language.en.times.grammar.spans import direction_at, span_at, vague_at
from vivavoce.language.en.times.pieces import (
    Correction,
    Date,
    Day,
    Every,
    Except,
    Feast,
    For,
    From,
    Negation,
    Same,
    Times,
    Until,
    Weekday,
    Zone,
)
from vivavoce.language.en.times.tokens import Tokens

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
_KINDS_OF_DAY = lex.words("school working work business week")
_EMPHASIS = lex.words(
    "blessed blasted bloody blooming bleeding damn damned darn darned flipping frigging freaking "
    "fricking fucking goddamn ruddy sodding stinking solitary wretched"
)
_THROUGH = lex.words("to through thru until till til - –")


def every_at(t: Tokens, at: int) -> Found | None:
    word = t.word(at)
    if word in ("every", "each"):
        return _each(t, at)
    if (end := max(t.after(at, "all", "days"), t.after(at, "all", "the", "days"))) > 0:
        return Found(Every(freq="DAILY"), at, end)
    if word in _ADVERBS:
        return Found(Every(freq=_ADVERBS[word][0], interval=_ADVERBS[word][1]), at, at + 1)
    if word == "bi" and t.word(t.skip(at + 1)) == "weekly":
        return Found(Every(freq="WEEKLY", interval=2), at, t.skip(at + 1) + 1)
    if word == "nightly":
        return Found(Every(freq="DAILY", part="night"), at, at + 1)
    if word == "hourly":
        return Found(Every(open_days=True), at, at + 1)
    if word in _KINDS_OF_DAY and t.word(t.skip(at + 1)) in ("days", "nights"):
        return Found(Every(freq="WEEKLY", days=_WEEKLY), at, t.skip(at + 1) + 1)
    if word in _SETS and word not in ("weekend", "weekday", "schoolday", "workday"):
        return Found(Every(freq="WEEKLY", days=_SETS[word]), at, at + 1)
    if word == "from" and (through := _through(t, at + 1)) is not None:
        return through._replace(start=at)
    if word == "alternate" and _day_of(t, at + 1) is not None:
        days, end = _weekdays(t, at + 1)
        return Found(Every(freq="WEEKLY", interval=2, days=days), at, end)
    if word in lex.WEEKDAYS or word in lex.PLURAL_DAYS or word in _SETS:
        return _range(t, at)
    if word in lex.PLURAL_PARTS and t.word(at - 1) in ("the", "most", "at", "on", ""):
        return Found(Every(freq="DAILY", part=lex.PLURAL_PARTS[word]), at, at + 1)
    return _so_often(t, at) or _monthly(t, at)


def _range(t: Tokens, at: int) -> Found | None:
    """ "Monday to Friday", "Saturday mornings", "Monday, Wednesday and Friday every week"."""
    first = _day_of(t, at)
    if first is None:
        days = _SETS.get(t.word(at), ())
        plural = t.word(at + 1) in lex.PLURAL_PARTS
        return Found(Every(freq="WEEKLY", days=days), at, at + 1) if days and plural else None
    if (through := _through(t, at)) is not None:
        return through
    if t.word(at) in lex.PLURAL_DAYS:
        days, end = _weekdays(t, at)
        return Found(Every(freq="WEEKLY", days=days), at, end)
    end = at + 1
    if t.word(end) in lex.PLURAL_PARTS:
        return Found(Every(freq="WEEKLY", days=(first,)), at, end)
    days, end = _weekdays(t, at)
    if len(days) > 2:
        return Found(Every(freq="WEEKLY", days=days), at, end)  # nobody does one thing on three
    if len(days) > 1 and (t.are(end, "every", "week") or t.word(end) in lex.PLURAL_PARTS):
        return Found(Every(freq="WEEKLY", days=days), at, end)
    if len(days) > 1 and any(t.word(n) in lex.PLURAL_DAYS for n in range(at, end)):
        return Found(Every(freq="WEEKLY", days=days), at, end)
    return None


def _through(t: Tokens, at: int) -> Found | None:
    """ "Monday to Friday", "Mondays till Thursdays": all of those days. What is moved goes from one
    day to another."""
    first = _day_of(t, at)
    if first is None or t.word(at + 1) not in _THROUGH:
        return None
    last = _day_of(t, at + 2)
    if last is None or (t.word(at + 1) == "to" and moved(t, at)):
        return None
    days = {(first + n) % 7 for n in range((last - first) % 7 + 1)}
    return Found(Every(freq="WEEKLY", days=tuple(sorted(days))), at, at + 3)


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
    at = _beyond_emphasis(t, at)
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
    if word == "quarter" and t.word(at + 1) not in ("past", "to", "of"):
        return Found(Every(freq="MONTHLY", interval=3 * interval), begun, at + 1)
    if unit in ("minute", "hour"):
        return Found(Every(open_days=True), begun, at + 1)
    if unit:
        interval *= 2 if unit == "fortnight" else 1
        return Found(Every(freq=_FREQ[unit], interval=interval), begun, at + 1)
    if word in _KINDS_OF_DAY and t.word(t.skip(at + 1)) == "day":
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
    if (feast := feast_at(t, at)) and isinstance(feast.piece, Feast):
        return Found(Every(freq="YEARLY", feast=feast.piece.name), begun, feast.end)
    if (date := date_at(t, at)) and isinstance(date.piece, Date):
        day, month = date.piece.day, date.piece.month
        if day and month:
            yearly = Every(freq="YEARLY", month=month, month_days=(day,))
            return Found(yearly, begun, date.end)
    if named := month_at(t, at):
        return Found(Every(freq="YEARLY", month=named[0]), begun, named[1])
    return None


def _beyond_emphasis(t: Tokens, at: int) -> int:
    """Past a word that only colours: "every blessed Tuesday". A "market day" is no day of the week,
    so before a plain "day" it must be one that is said for nothing else."""
    word, after = t.word(at), t.word(at + 1)
    known = word in lex.UNITS or word in _SETS or word in lex.FUNCTION or t.nth(at) is not None
    known = known or word in ("other", "alternate", "second", "last", *_KINDS_OF_DAY)
    if t.kind(at) != "word" or known or t.count_of(at) or _day_of(t, at) is not None:
        return at
    if word in lex.DAY_PARTS or month_at(t, at) or feast_at(t, at):
        return at
    coloured = _day_of(t, at + 1) is not None or lex.UNITS.get(after) in ("week", "month", "year")
    said = re.sub(r"in'?$", "ing", word)
    return at + (coloured or (after in (*lex.DAY_PARTS, "day") and said in _EMPHASIS))


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
    if word == "of" and month_at(t, end + 1):
        return None  # "every ninth of June"
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
        ("of", "all", "months"),
        ("of", "all", "the", "months"),
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
    working = end + (t.word(end) in ("working", "business", "work"))
    if t.word(working) in ("weekday", "workday") or (working > end and t.word(working) == "day"):
        after = _of_month(t, working + 1)
        found = Every(freq="MONTHLY", days=_WEEKLY, position=numbers[0])
        return Found(found, begun, after) if after and len(numbers) == 1 else None
    end += t.word(end) in ("day", "date")
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
    many = t.small(end) if word == "once" else None  # "once in two weeks"
    end = many[1] if many else end
    unit = lex.UNITS.get(t.word(end), "")
    if unit not in _FREQ:
        return None
    if count == 1:
        other = unit == "fortnight" or t.word(end - 1) == "other"
        interval = many[0] if many else 2 if other else 1
        return Found(Every(freq=_FREQ[unit], interval=interval), at, end + 1)
    if unit == "day":
        return Found(Every(freq="DAILY", open_hours=True), at, end + 1)
    return Found(Every(freq=_FREQ[unit], open_days=True), at, end + 1)


def bounds_at(t: Tokens, at: int) -> Found | None:
    """Where a repetition begins and ends: "until June", "for two weeks", "starting Monday"."""
    word = t.word(at)
    if word in ("until", "till", "til"):
        ahead = (
            at
            + 1
            + (
                t.word(at + 1) == "the"
                and period_at(t, at + 1) is None
                and date_at(t, at + 1) is None
            )
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


def _same(t: Tokens, at: int) -> Found | None:
    begun = at
    if t.are(at, "this", "time") and (
        t.word(at + 2) in ("tomorrow", "on") or t.are(at + 2, "next", "week")
    ):
        return Found(Same("now"), at, at + 2)
    at += t.word(at) in ("the", "that")
    if t.word(at) in ("same", "usual"):
        if t.word(at + 1) in ("time", "hour", "timing"):
            return Found(Same("time"), begun, at + 2)
        if t.word(at + 1) == "day" and t.word(at) == "same":
            return Found(Same("day"), begun, at + 2)
        if t.word(at + 1) in lex.DAY_PARTS:
            return Found(Same("day"), begun, at + 1)
        if t.word(at) == "same" and t.word(at + 1) in lex.WEEKDAYS:
            return Found(Weekday(lex.WEEKDAYS[t.word(at + 1)]), begun, at + 2)
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
    if word in zones.ABBREVIATED:
        return Found(Zone(zones.ABBREVIATED[word]), at, at + 1 + (t.word(at + 1) == "time"), "weak")
    if word == "on" and t.word(at + 2) == "clock":  # "on their clock"
        inner = _zone(t, at + 1)
        return inner._replace(start=at) if inner is not None else None
    if t.word(at + 1) in ("time", "clock", "end") and t.word(at + 2) not in lex.UNITS:
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
    every_at,
    bounds_at,
    _same,
    span_at,
    day_at,
    routine_at,
    part_at,
    range_at,
    hour_at,
    half_at,
    _zone,
    vague_at,
    direction_at,
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
