"""What has digits in it, as one says it: dates, times, money, units, versions. American. Pure.

Tables of rules, each a pattern and what is said instead of it; `text` applies them in order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from vivavoce.language.en.aloud.words import (
    MONEY,
    NUMBERED,
    PER,
    PLURALS,
    SCALES,
    SHORT_DAYS,
    SHORT_MONTHS,
    UNITS,
    VERSIONED,
)
from vivavoce.language.en.numbers import (
    cardinal,
    in_groups,
    label,
    minutes,
    one_by_one,
    ordinal,
    quantity,
    year,
)
from vivavoce.language.en.times.lexicon import MONTH_NAMES

Match = re.Match[str]
Words = str | Callable[[Match], str]
Rules = tuple[tuple[re.Pattern[str], Words], ...]


def rules(*table: tuple[str, Words]) -> Rules:
    return tuple((re.compile(pattern), words) for pattern, words in table)


def applied(table: Rules, text: str) -> str:
    for pattern, words in table:
        text = pattern.sub(words, text)
    return text


def one_of(keys: Iterable[str]) -> str:
    """A pattern for any of these, the longest first."""
    return "|".join(sorted(map(re.escape, keys), key=len, reverse=True))


# --- Dates and times ------------------------------------------------------------------

_LONG = "|".join(MONTH_NAMES)
_MONTH = rf"(?:{_LONG}|(?:{one_of(SHORT_MONTHS)})\b\.?)"
_DAY = r"(?:3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?(?![\d:%]|[.,]\d)\b"
_YEAR = r"(?:1[1-9]|20)\d\d(?![\d:%]|[.,]\d)\b"
_HALF = r"(?:[AaPp]\.[Mm]\b\.?|[AaPp][Mm]\b)"
_DASH = r"\s?[-–—]\s?"


def _month(name: str) -> str:
    name = name.rstrip(".")
    return SHORT_MONTHS.get(name, name)


def _day(number: str) -> str:
    return ordinal(str(int(number.rstrip("stndrh"))))


def _after(words: str, match: Match) -> str:
    """What follows a date goes on without a comma if it has a mark of its own."""
    follows = match.string[match.end() : match.end() + 1]
    return words + (" " if follows.isalnum() else "")


def _iso(match: Match) -> str:
    number, month, day = match.groups()
    if not (1 <= int(month) <= 12 and (day is None or 1 <= int(day) <= 31)):
        return " ".join(one_by_one(group) for group in match.groups() if group)
    if day is None:
        return _after(f"{MONTH_NAMES[int(month) - 1]} {year(int(number))}", match)
    return _after(f"{MONTH_NAMES[int(month) - 1]} {_day(day)}, {year(int(number))}", match)


def _slashed(match: Match) -> str:
    month, day, number = (int(group) for group in match.groups())
    if month > 12 >= day:  # not written by an American
        month, day = day, month
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return " slash ".join(cardinal(group) for group in match.groups())
    number += 2000 if number < 100 else 0
    return f"{MONTH_NAMES[month - 1]} {ordinal(str(day))}, {year(number)}"


def _month_first(match: Match) -> str:
    month, day, last, number = match.groups()
    said = f"{_month(month)} {_day(day)}" + (f" to {_day(last)}" if last else "")
    return f"{said}, {year(int(number))}" if number else said


def _day_first(match: Match) -> str:
    day, last, month, number = match.groups()
    days = _day(day) + (f" to {_day(last)}" if last else "")
    # "15 November" is November fifteenth here, but "the 15th of November" stays as it is.
    before = match.string[: match.start()].rstrip().lower()
    said = f"{days} of {_month(month)}" if before.endswith("the") else f"{_month(month)} {days}"
    return f"{said}, {year(int(number))}" if number else said


def _half(text: str, match: Match) -> str:
    """a.m. or p.m.; its last dot is the sentence's too, if that ends here."""
    ends = text.endswith(".") and not match.string[match.end() :].strip(" \n\"'”’)*_")
    return f" {text[0].upper()}-M" + ("." if ends else "")


def _time(match: Match) -> str:
    hour, minute, second, half = match.groups()
    said = cardinal(str(int(hour)))
    if second and second != "00":
        count = cardinal(str(int(second)))
        said += f" {minutes(minute)} and {count} second" + ("s" if int(second) != 1 else "")
    elif minute != "00":
        said += f" {minutes(minute)}"
    elif not half:
        said += " o'clock" if 1 <= int(hour) <= 12 else " hundred"
    return _after(said + (_half(half, match) if half else ""), match)


def _decade(match: Match) -> str:
    words = year(int(match[1])) if match[1] else cardinal(match[2])
    return words[:-1] + "ies" if words.endswith("y") else words + "s"


def _year(match: Match) -> str:
    """Four digits are a year after some words, and a quantity after others."""
    before = match.string[max(0, match.start() - 12) : match.start()]
    word = before.rstrip(", ").rpartition(" ")[2].lower()
    return year(int(match[0])) if word in _DATED else match[0]


_DATED = frozenset(month.lower() for month in MONTH_NAMES) | {
    *("in", "since", "until", "year", "by", "of", "from", "before", "after", "during"),
    *("q1", "q2", "q3", "q4", "spring", "summer", "fall", "autumn", "winter"),
}

DATES: Rules = rules(
    (
        rf"\b({one_of(SHORT_DAYS)})\b\.?(?=,? (?:{_MONTH} \d|\d\d?:\d\d|\d\d? (?:{_LONG})))",
        lambda m: SHORT_DAYS[m[1]],
    ),
    (r"(?<![\d.-])(\d{4})-(\d\d)(?:-(\d\d))?(?:T(?=\d)|(?![\d-]))", _iso),
    (r"(?<![\d/.])(\d{1,2})/(\d{1,2})/(\d{4}|\d\d)(?![\d/])", _slashed),
    (rf"\b({_MONTH}) ({_DAY})(?:{_DASH}({_DAY}))?(?:,? ({_YEAR}))?", _month_first),
    (rf"\b({_DAY})(?:{_DASH}({_DAY}))?(?: of)? ({_MONTH})\b(?:,? ({_YEAR}))?", _day_first),
    (rf"\b({one_of(SHORT_MONTHS)})\b\.?(?=,? {_YEAR})", lambda m: _month(m[1])),
    (
        rf"(?<![\w.,$€£-])({_YEAR}){_DASH}({_YEAR})",
        lambda m: f"{year(int(m[1]))} to {year(int(m[2]))}",
    ),
    (rf"(?<![\w.,$€£-]){_YEAR}(?! (?:files|lines|items|people|users))", _year),
    (rf"\(({_YEAR})\)", lambda m: f"({year(int(m[1]))})"),
    (r"\b((?:1[1-9]|20)\d0)'?s\b|(?:(?<=')|(?<=\bthe ))([2-9]0)s\b", _decade),
)

TIMES: Rules = rules(
    # From one to another, before each becomes words.
    (rf"(?<=\d){_DASH}(?=\d\d?:\d\d)|(?<=[ap]m){_DASH}(?=\d)|(?<=\.m\.){_DASH}(?=\d)", " to "),
    (rf"\b(\d\d?){_DASH}(?=\d\d?\s?{_HALF})", lambda m: f"{cardinal(m[1])} to "),
    (
        r"(?<![\d:.,$])([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:\.\d{1,9})?)?"
        rf"(?:Z\b|[+-]\d\d:\d\d|\s?({_HALF}))?(?![\d:]\d)",
        _time,
    ),
    (
        rf"(?<![\d.,$:])(\d{{1,2}})\s?({_HALF})",
        lambda m: _after(cardinal(m[1]) + _half(m[2], m), m),
    ),
)


# --- Quantities -----------------------------------------------------------------------

_NUMBER = r"(?:(?<![\w.])\d{1,3}(?:,\d{3})+(?![\d])(?:\.\d+)?|\d+(?:\.\d+)?)"
_SIGN = r"(?:US)?([$€£¥])"
_CODE = r"(USD|EUR|GBP|CHF|[€£])"
_SCALE = rf"(?:\s(hundred|thousand|million|billion|trillion)\b|({one_of(SCALES)})\b)?"
_PER = rf"(?:/({one_of(PER)})\b)?"


def _many(unit: str) -> str:
    """The plural of a unit: it is the first noun that has one."""
    first, *rest = unit.split(" ")
    if first in ("square", "cubic"):
        return f"{first} {_many(' '.join(rest))}"
    return " ".join([PLURALS.get(first, f"{first}s"), *rest])


def _some(number: str, unit: str) -> str:
    return f"{quantity(number)} {unit if number == '1' else _many(unit)}"


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
        said = f"{quantity(number)} {scale} {_many(unit)}"
    elif len(part) != 2:
        said = _some(number, unit)
    elif int(part) == 0:
        said = _some(whole, unit)
    else:
        cents = _some(str(int(part)), small)
        said = cents if not int(whole or 0) else f"{_some(whole, unit)} and {cents}"
    return (f"{quantity(low)} to " if low else "") + said + _per(per)


def _duration(match: Match) -> str:
    named = zip(match.groups(), ("hour", "minute", "second"), strict=True)
    return " ".join(_some(str(int(n)), unit) for n, unit in named if n)


_PARTS = (*range(2, 11), 16, 100)
"""Of these there are halves, sixteenths and so on; three over seventeen is out of."""


def _fraction(match: Match) -> str:
    whole, top, bottom = match.groups()
    irregular = {2: "half", 4: "quarter", 100: "hundredth"}
    part = irregular.get(int(bottom)) or ordinal(str(int(bottom)))
    parts = "halves" if part == "half" else f"{part}s"
    if int(bottom) not in _PARTS or int(top) == 0 or int(top) >= int(bottom):
        pair = f"{cardinal(top)} {cardinal(bottom)}"
        plain = pair if (top, bottom) in (("24", "7"), ("9", "11"), ("50", "50")) else ""
        out_of = plain or f"{cardinal(top)} out of {cardinal(bottom)}"
        return f"{cardinal(whole)} {out_of}" if whole else out_of
    if whole:
        one = "a" if top == "1" else cardinal(top)
        return f"{cardinal(whole)} and {one} {part if top == '1' else parts}"
    return f"{cardinal(top)} {part if top == '1' else parts}"


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
        rf"{_SIGN}\s?(?:({_NUMBER}){_DASH}[$€£¥]?)?({_NUMBER}(?:,\d\d\b)?|\.\d\d){_SCALE}{_PER}",
        _money,
    ),
    (
        rf"({_NUMBER}(?:,\d\d\b)?)\s?{_CODE}(?!\w)",
        lambda m: _some(re.sub(r",(?=\d\d$)", ".", m[1]), MONEY[m[2]][0]),
    ),
    (rf"({_NUMBER})\s?¢", lambda m: _some(m[1], "cent")),
    (r"(?<![\d/.])(?:(\d{1,3})[ -])?(\d{1,3})/(\d{1,3})(?![\d/.]\d|\w)", _fraction),
    (rf"({_NUMBER})(\s?%)?{_DASH}(?=\d)", lambda m: f"{quantity(m[1])} to "),
    # Before units swallow the number.
    (r"(?<![\w)])[-−](?=\.?\d)", "minus "),
    (r"\b(\d{1,3})h ?(\d{1,2})m(?:in)?(?: ?(\d{1,2})s)?\b", _duration),
    (r"()\b(\d{1,3})m ?(\d{1,2})s\b", _duration),
    (r"\b(\d)'\s?(\d\d?)(?:\"|'')", lambda m: f"{cardinal(m[1])} foot {cardinal(m[2])}"),
    (rf"({_NUMBER})\s?%", lambda m: f"{quantity(m[1])} percent"),
    (rf"({_NUMBER})x(?![\w])", lambda m: f"{quantity(m[1])} times"),
    (
        rf"({_NUMBER})[\s-]?({one_of(UNITS)}){_PER}(?![\w/])",
        lambda m: _some(m[1], UNITS[m[2]]) + _per(m[3]),
    ),
    (
        rf"({_NUMBER})([MB])(?!\w)",
        lambda m: f"{quantity(m[1])} {'million' if m[2] == 'M' else 'B'}",
    ),
    (r"\b(\d{1,3}(?:,\d{3})+|\d+)(?:st|nd|rd|th)\b", lambda m: ordinal(m[1].replace(",", ""))),
)

BARE: Rules = rules(
    (r"(?<![\w)])-(?=\d|\.\d)", "minus "),
    (r"(?<=[A-Za-z])-(?=\d)|(?<=\d)-(?=[A-Za-z])", " "),
    (r"(?<!\d)\.(?=\d)", " point "),
    (rf"({_NUMBER})", lambda m: f" {quantity(m[1])} "),
)

UNCOUNTED: Rules = rules(
    (
        rf"(?<![\w/])({one_of(u for u in UNITS if len(u) > 1)})/({one_of(PER)})\b",
        lambda m: _many(UNITS[m[1]]) + _per(m[2]),
    ),
    (r"(?<=\w)/(second|minute|hour|sec|min)\b", lambda m: f" per {PER[m[1]]}"),
)
"""Units without a number."""
