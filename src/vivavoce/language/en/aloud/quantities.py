"""Money, units, percentages, ranges, fractions and the like as one says them. Pure."""

from __future__ import annotations

import re

from vivavoce.language.en.aloud.numbers import (
    cardinal,
    in_groups,
    label,
    one_by_one,
    ordinal,
    quantity,
)
from vivavoce.language.en.aloud.rules import Match, Rules, one_of, rules
from vivavoce.language.en.aloud.words import (
    MONEY,
    NUMBERED,
    PARTS,
    PER,
    PLURALS,
    SCALES,
    UNITS,
    VERSIONED,
)

NUMBER = r"(?:(?<![\w.])\d{1,3}(?:,\d{3})+(?![\d])(?:\.\d+)?|\d+(?:\.\d+)?)"
_SIGN = r"(?:US)?([$€£¥])"
_CODE = r"(USD|EUR|GBP|CHF|[€£])"
_SCALE = rf"(?:\s(hundred|thousand|million|billion|trillion)\b|({one_of(SCALES)})\b)?"
_PER = rf"(?:/({one_of(PER)})\b)?"
_DASH = r"\s?[-–—]\s?"


def many(unit: str) -> str:
    """The plural of a unit: it is the first noun that has one."""
    first, *rest = unit.split(" ")
    if first in ("square", "cubic"):
        return f"{first} {many(' '.join(rest))}"
    return " ".join([PLURALS.get(first, f"{first}s"), *rest])


def _some(number: str, unit: str) -> str:
    return f"{quantity(number)} {unit if number == '1' else many(unit)}"


def _per(unit: str | None) -> str:
    return f" per {PER[unit]}" if unit else ""


def _money(match: Match) -> str:
    sign, low, number, word, letter, per = match.groups()
    # "€3,50" is written where the comma is the point.
    number = re.sub(r",(?=\d\d$)", ".", number)
    unit, small = MONEY[sign]
    scale = SCALES[letter] if letter else word
    whole, _, part = number.replace(",", "").partition(".")
    if scale:
        said = f"{quantity(number)} {scale} {many(unit)}"
    elif len(part) != 2:
        said = _some(number, unit)
    elif int(part) == 0:
        said = _some(whole, unit)
    else:
        cents = _some(str(int(part)), small)
        said = cents if not int(whole or 0) else f"{_some(whole, unit)} and {cents}"
    return (f"{quantity(low)} to " if low else "") + said + _per(per)


def _coded(match: Match) -> str:
    number, code = match.groups()
    return _some(re.sub(r",(?=\d\d$)", ".", number), MONEY[code][0])


def _measure(match: Match) -> str:
    number, unit, per = match.groups()
    return _some(number, UNITS[unit]) + _per(per)


def _duration(match: Match) -> str:
    named = zip(match.groups(), ("hour", "minute", "second"), strict=True)
    return " ".join(_some(str(int(n)), unit) for n, unit in named if n)


def _fraction(match: Match) -> str:
    whole, top, bottom = match.groups()
    said = PARTS.get(int(bottom))
    if said is None or int(top) == 0 or int(top) >= int(bottom):
        pair = f"{cardinal(top)} {cardinal(bottom)}"
        plain = pair if (top, bottom) in (("24", "7"), ("9", "11"), ("50", "50")) else ""
        out_of = plain or f"{cardinal(top)} out of {cardinal(bottom)}"
        return f"{cardinal(whole)} {out_of}" if whole else out_of
    if whole:
        one = "a" if top == "1" else cardinal(top)
        return f"{cardinal(whole)} and {one} {said[top != '1']}"
    return f"{cardinal(top)} {said[top != '1']}"


def _phone(match: Match) -> str:
    text = match.group()
    groups = re.findall(r"\d+", text)
    said = ", ".join(in_groups(group) for group in groups)
    return f"plus {said}" if text[0] == "+" else said


def _version(match: Match) -> str:
    before, number, stage = match[1] or "", match[2], match[3]
    v = "version " if before.strip().lower() == "v" else before
    # Ubuntu 22.04, but Python 3.10.
    parts = [
        f"oh {one_by_one(p[1])}" if len(p) == 2 and p[0] == "0" else cardinal(p)
        for p in number.split(".")
    ]
    said = v + " point ".join(parts)
    if not stage:
        return said
    words = [_stage(word) for word in re.findall(r"[A-Za-z]+|\d+", stage)]
    return " ".join([said, *words])


def _stage(word: str) -> str:
    if word.isdigit():
        return cardinal(word)
    return "-".join(word.upper()) if len(word) < 3 else word


def _long(match: Match) -> str:
    digits = match.group()
    return cardinal(digits) if digits.endswith("000000") else in_groups(digits)


_STAGE = r"((?:[-+.]?(?:rc|alpha|beta|dev|a|b|post|pre)[.-]?\d{0,9})(?:\.\d{1,9})?)?(?![\w])"

PHONES: Rules = rules(
    (r"\+\d{1,3}(?:[ .-]?\(?\d{2,4}\)?){2,5}(?!\d)|\+\d{8,15}(?!\d)", _phone),
    (r"(?<![\w.-])(?:1[ -])?\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4}(?![\w-])", _phone),
    (r"(?<![\w.-])\d{3}-\d{4}(?![\w-])", _phone),
    (r"(?<![\w.-])\d{1,9}(?:-\d{1,9}){2,9}(?![\w-])", _phone),  # ISBN and the like
    (r"(?<![\w.,])\d{10,99}(?![\w.,]\d|\w)", _long),
)

VERSIONS: Rules = rules(
    (rf"(\b[vV]\.?\s?)(\d{{1,6}}(?:\.\d{{1,6}}){{1,5}}){_STAGE}", _version),
    (r"(\b[vV])(\d{1,3})()(?![\w.])", _version),
    (rf"(?<![\w.])()(\d{{1,6}}(?:\.\d{{1,6}}){{2,5}}){_STAGE}", _version),
    (rf"(?<![\w.])()(\d{{1,6}}\.\d{{1,6}}(?=-?(?:rc|alpha|beta))){_STAGE}", _version),
    (rf"(\b(?:{VERSIONED}) )(\d{{1,6}}\.\d{{1,6}}){_STAGE}", _version),
    (rf"(?i)\b((?:{NUMBERED}) )(\d{{3,5}})(?![\d:%-]|[.,]\d)\b", lambda m: m[1] + label(m[2])),
    (r"\b(404|50[0-4]|40[0-9]|30[0-9])(?= (?:error|response|status|page))", lambda m: label(m[1])),
)

AMOUNTS: Rules = rules(
    # What is between two numbers, before the numbers are words.
    (r"(?<=\d) - (?=\d+(?:\.\d+)? ?=)", " minus "),
    (r"(?<!\d)(\d{1,5})x(\d{1,5})(?!\d)", lambda m: f"{label(m[1])} by {label(m[2])}"),
    (r"(?<![\w:.])(\d{1,4}):(\d{1,4})(?![\w:])", lambda m: f"{cardinal(m[1])} to {cardinal(m[2])}"),
    (
        rf"{_SIGN}\s?(?:({NUMBER}){_DASH}[$€£¥]?)?({NUMBER}(?:,\d\d\b)?|\.\d\d){_SCALE}{_PER}",
        _money,
    ),
    (rf"({NUMBER}(?:,\d\d\b)?)\s?{_CODE}(?!\w)", _coded),
    (rf"({NUMBER})\s?¢", lambda m: _some(m[1], "cent")),
    (r"(?<![\d/.])(?:(\d{1,3})[ -])?(\d{1,3})/(\d{1,3})(?![\d/.]\d|\w)", _fraction),
    (rf"({NUMBER})(\s?%)?{_DASH}(?=\d)", lambda m: f"{quantity(m[1])} to "),
    # Before units swallow the number.
    (r"(?<![\w)])[-−](?=\.?\d)", "minus "),
    (r"\b(\d{1,3})h ?(\d{1,2})m(?:in)?(?: ?(\d{1,2})s)?\b", _duration),
    (r"()\b(\d{1,3})m ?(\d{1,2})s\b", _duration),
    (r"\b(\d)'\s?(\d\d?)(?:\"|'')", lambda m: f"{cardinal(m[1])} foot {cardinal(m[2])}"),
    (rf"({NUMBER})\s?%", lambda m: f"{quantity(m[1])} percent"),
    (rf"({NUMBER})x(?![\w])", lambda m: f"{quantity(m[1])} times"),
    (rf"({NUMBER})[\s-]?({one_of(UNITS)}){_PER}(?![\w/])", _measure),
    (rf"({NUMBER})([MB])(?!\w)", lambda m: f"{quantity(m[1])} {'million' if m[2] == 'M' else 'B'}"),
    (r"\b(\d{1,3}(?:,\d{3})+|\d+)(?:st|nd|rd|th)\b", lambda m: ordinal(m[1].replace(",", ""))),
)

BARE: Rules = rules(
    (r"(?<![\w)])-(?=\d|\.\d)", "minus "),
    (r"(?<=[A-Za-z])-(?=\d)|(?<=\d)-(?=[A-Za-z])", " "),
    (r"(?<!\d)\.(?=\d)", " point "),
    (rf"({NUMBER})", lambda m: f" {quantity(m[1])} "),
)

UNCOUNTED: Rules = rules(
    (
        rf"(?<![\w/])({one_of(u for u in UNITS if len(u) > 1)})/({one_of(PER)})\b",
        lambda m: many(UNITS[m[1]]) + _per(m[2]),
    ),
    (r"(?<=\w)/(second|minute|hour|sec|min)\b", lambda m: f" per {PER[m[1]]}"),
)
"""Units without a number."""
