"""How long: half an hour, two and a half weeks."""

from __future__ import annotations

from vivavoce.language.en.times import lexicon as lex
from vivavoce.language.en.times.pieces import Amount
from vivavoce.language.en.times.tokens import Tokens


def amount(t: Tokens, at: int) -> tuple[Amount, int] | None:
    """ "half an hour", "two and a half hours", "a week and two days", "a fortnight"."""
    one = _one_amount(t, at)
    if one is None:
        return None
    found, end = one
    ahead = end + 1 if t.word(end) in ("and", ",") else end
    if t.are(end, "and", "a", "half") and t.word(end + 3) not in lex.UNITS:
        unit = lex.UNITS.get(t.word(end - 1), "")  # "an hour and a half"
        return _plus(found, amount_of(0.5, unit)), end + 3
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
            return amount_of(0.5, unit), ahead + 1
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
            return amount_of(count + 0.5, lex.UNITS[t.word(ahead)]), ahead + 1
    end = t.skip(end)
    end += t.word(end) in ("more", "full", "whole", "solid", "good")
    unit = lex.UNITS.get(t.word(end), "")
    return (amount_of(count, unit), end + 1) if unit and count <= 9999 else None


def amount_of(count: float, unit: str) -> Amount:
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
