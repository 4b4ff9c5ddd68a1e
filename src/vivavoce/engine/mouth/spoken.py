"""Written English as one would say it, so that the phonemes leave nothing out. Pure.

An ordered table of rules: marks go, then what has a shape of its own (dates,
times, money) becomes words, then bare numbers, then symbols. Afterwards no
digit is left.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from vivavoce.engine.mouth.markdown import plain
from vivavoce.engine.mouth.numbers import cardinal, one_by_one, ordinal, year
from vivavoce.engine.mouth.words import FRACTIONS, MONEY, MONTHS, PLURALS, UNITS

_NUMBER = r"(?<![\w.])\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
_UNIT = "|".join(sorted(map(re.escape, UNITS), key=len, reverse=True))
_MONTH = "|".join(MONTHS)
_SCALE = r"(?:\s(hundred|thousand|million|billion|trillion)\b)?"

Match = re.Match[str]


def spoken(text: str) -> str:
    """The words to say; nothing when there is nothing to say."""
    # Fold accents and typographic forms, which the pronouncing dictionary does not know.
    folded = unicodedata.normalize("NFKD", plain(text).translate(_TYPOGRAPHY))
    text = "".join(c for c in folded if not unicodedata.combining(c))
    for pattern, words in _RULES:
        text = pattern.sub(words, text)
    return " ".join(text.split()) if re.search(r"[A-Za-z]", text) else ""


_TYPOGRAPHY = str.maketrans(
    {"’": "'", "‘": "'", "−": "-", "½": "1/2", "¼": "1/4", "¾": "3/4", "×": " times "}
)


# --- What becomes of a match ----------------------------------------------------------


def _quantity(number: str) -> str:
    whole, _, part = number.replace(",", "").partition(".")
    return cardinal(whole) + (f" point {one_by_one(part)}" if part else "")


def _some(number: str, unit: str) -> str:
    """A quantity with its unit, one or many of it."""
    first, *rest = unit.split(" ")
    if first == "square":
        first, *rest = rest[0], *rest[1:]
        return f"{_quantity(number)} square {first if number == '1' else first + 's'}"
    uncounted = number == "1" or first.endswith(("hertz", "Celsius"))
    many = first if uncounted else PLURALS.get(first, f"{first}s")
    return " ".join([_quantity(number), many, *rest])


def _money(match: Match) -> str:
    sign, number, scale = match.groups()
    unit, small = MONEY[sign]
    whole, _, part = number.partition(".")
    if scale:
        return f"{_quantity(number)} {scale} {PLURALS.get(unit, unit + 's')}"
    if len(part) != 2:
        return _some(number, unit)
    cents = _some(str(int(part)), small)
    if int(part) == 0:
        return _some(whole, unit)
    return cents if whole == "0" else f"{_some(whole, unit)} and {cents}"


def _decade(match: Match) -> str:
    words = year(int(match[1])) if match[1] else cardinal(match[2])
    return words[:-1] + "ies" if words.endswith("y") else words + "s"


def _date(match: Match) -> str:
    number, month, day = (int(group) for group in match.groups())
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return " ".join(one_by_one(group) for group in match.groups())
    return f"{MONTHS[month - 1]} {ordinal(str(day))}, {year(number)} "


def _time(match: Match) -> str:
    hour, minute, second, half = match.groups()
    half = f" {half[0]} m".lower() if half else ""
    hour_words = cardinal(str(int(hour)))
    if second and second != "00":
        after = f" {_minutes(minute)} and {_some(str(int(second)), 'second')}"
    elif minute != "00":
        after = f" {_minutes(minute)}"
    else:
        after = "" if half else " o'clock" if 1 <= int(hour) <= 12 else " hundred"
    return hour_words + after + half


def _minutes(minute: str) -> str:
    return f"oh {one_by_one(minute[1])}" if minute[0] == "0" else cardinal(minute)


def _address(match: Match) -> str:
    """A URL or an e-mail address: what one would say of it."""
    text = re.sub(r"^https?://(?:www\.)?|/+$", "", match.group())
    for mark, word in ((".", "dot"), ("/", "slash"), ("@", "at"), ("_", "underscore")):
        text = text.replace(mark, f" {word} ")
    return re.sub(r"[?&=#%:~-]+", " ", text)


def _digits(match: Match) -> str:
    return ", ".join(one_by_one(group) for group in re.findall(r"\d+", match.group()))


Words = str | Callable[[Match], str]

_RULES: tuple[tuple[re.Pattern[str], Words], ...] = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (r"https?://[^\s,;)]*[^\s,;).!?]|\b[\w.+-]+@\w[\w-]*(?:\.\w+)+", _address),
        (r"(?i)\be\.g\.,?", "for example,"),
        (r"(?i)\bi\.e\.,?", "that is,"),
        (r"(?i)\betc\.?(?!\w)", "et cetera"),
        (r"(?i)\bvs\.?(?!\w)", "versus"),
        (r"(?i)\bapprox\.", "approximately"),
        (r"\b[Nn]o\. ?(?=\d)|#(?=\d)", "number "),
        (r"(?m)^\s*(\d{1,3})[.)]\s", lambda m: f"{cardinal(m[1])}: "),
        (r"\b(\d{4})-(\d\d)-(\d\d)(?:T(?=\d)|(?!\d))", _date),
        (r"\b([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?(?:Z|\s?([AaPp])\.?[Mm]\b\.?)?(?!\d)", _time),
        (r"\b(\d{1,2})\s?([AaPp])\.?[Mm]\b\.?", lambda m: f"{cardinal(m[1])} {m[2].lower()} m"),
        (r"\b((?:1[1-9]|20)\d0)s\b|(?:(?<=')|(?<=\bthe ))([2-9]0)s\b", _decade),
        # Before units swallow the number, but not between two: "5 -10" is a range.
        (r"(?<![\w)])(?<!\d )-(?=[$€£¥]?\.?\d)", "minus "),
        (rf"([$€£¥])\s?({_NUMBER}){_SCALE}", _money),
        (rf"({_NUMBER})\s?%", lambda m: f"{_quantity(m[1])} percent"),
        (rf"({_NUMBER})\s?({_UNIT})(?![\w/])", lambda m: _some(m[1], UNITS[m[2]])),
        (r"\b(\d+)(?:st|nd|rd|th)\b", lambda m: ordinal(m[1])),
        (r"(?:\+\d{1,3}[ -])?\(?\b\d{3}\)?[ -]\d{3}[ -]\d{4}\b|\b\d{3}-\d{4}\b", _digits),
        (r"\b\d+(?:\.\d+){2,}\b", lambda m: " point ".join(map(cardinal, m[0].split(".")))),
        (r"(?<![\d/])\d/\d(?![\d/])", lambda m: FRACTIONS.get(m[0], m[0])),
        (r"\b(\d+)\s?[-–]\s?(?=\d)", lambda m: f"{cardinal(m[1])} to "),
        (
            rf"\b({_MONTH}) (\d{{1,2}}),? (\d{{4}})\b",
            lambda m: f"{m[1]} {ordinal(m[2])}, {year(int(m[3]))}",
        ),
        (
            rf"(?i)\b(in|since|until|year|by|of|from|before|after|{_MONTH})"
            r"(,? )((?:1[1-9]|20)\d\d)\b(?![,.]\d)",
            lambda m: f"{m[1]}{m[2]}{year(int(m[3]))}",
        ),
        (rf"\b({_MONTH}) (\d{{1,2}})\b(?![:.]\d)", lambda m: f"{m[1]} {ordinal(m[2])}"),
        (r"(?<=\d) (?=000\b)", ""),
        (r"(?<![\w)])-(?=\d|\.\d)", "minus "),
        (r"(?<!\d)\.(?=\d)", " point "),
        (rf"({_NUMBER})", lambda m: f" {_quantity(m[1])} "),
        (r"(?<=\w)\.(?=\w\w)", " dot "),  # names of files and hosts
        (r"(?<=\w)/(?=\w)|_", " "),
        (r"(?<!\S)/(?=\w)", "slash "),
        (r"&", " and "),
        (r"\+", " plus "),
        (r"[=≈]", " equals "),
        (r"@", " at "),
        (r"~", " about "),
        (r"(?<=\s)\*(?=\s)", " times "),
        (r"(?<=\s)<(?=\s)", " less than "),
        (r"(?<=\s)>(?=\s)|->|=>|→", " to "),
        (r"[\\#*<>|^`{}\[\]]", " "),
        (r"(?<=[\w'\")])[ \t]*\n\s*(?=\S)", ", "),  # the lines of a list
        (r"\.{3,}", "…"),
        (r"\s+(?=[,.!?;:](?:\s|$))", ""),
    )
)
