"""Numbers in English, both ways: read as people say them, and put as one says them. Pure.

One lexicon for all of it. Reading goes by the grammar of spoken numbers: "twenty five" is
one number, "seven thirty" is two, and nothing is added up that nobody would add.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from vivavoce.redaction import FIRST_LOOK, first_look, is_card, marked, redact, redacted
from vivavoce.wire.values import Value

_SMALL = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen",
    "nineteen",
)  # fmt: skip
_TENS = (
    "", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety",
)  # fmt: skip
_GROUPS = ("thousand", "million", "billion", "trillion", "quadrillion", "quintillion")
_IRREGULAR = {
    "one": "first",
    "two": "second",
    "three": "third",
    "five": "fifth",
    "eight": "eighth",
    "nine": "ninth",
    "twelve": "twelfth",
}
_LONGEST = 3 * (len(_GROUPS) + 1)
_TEN = tuple(f"10{ten}" for ten in range(1, 10))


# --- As one says them -----------------------------------------------------------------


def cardinal(digits: str) -> str:
    """As a quantity, or digit by digit where it is none ("007") or too long for one."""
    if len(digits) > _LONGEST or (len(digits) > 1 and digits[0] == "0"):
        return one_by_one(digits)
    return _whole(int(digits))


def ordinal(digits: str) -> str:
    words = cardinal(digits)
    last = words.replace("-", " ").rsplit(" ", 1)[-1]
    regular = last[:-1] + "ieth" if last.endswith("y") else last + "th"
    return words.removesuffix(last) + _IRREGULAR.get(last, regular)


def nth(number: int) -> str:
    """ "15th"."""
    teen = 10 <= number % 100 <= 20
    return f"{number}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def year(number: int) -> str:
    """1999 as nineteen ninety-nine, 2005 as two thousand five, 2026 as twenty twenty-six."""
    century, rest = divmod(number, 100)
    if not 11 <= century <= 99 or (century % 10 == 0 and rest < 10):
        return _whole(number)
    if rest == 0:
        return f"{_whole(century)} hundred"
    return f"{_whole(century)} {'oh ' if rest < 10 else ''}{_whole(rest)}"


def one_by_one(digits: str) -> str:
    return " ".join(_SMALL[int(digit)] for digit in digits)


def quantity(number: str) -> str:
    """A number as it is written, with commas between thousands and a decimal point."""
    whole, _, part = number.replace(",", "").partition(".")
    return cardinal(whole or "0") + (f" point {one_by_one(part)}" if part else "")


def label(digits: str) -> str:
    """A number that is a name: 404 as four oh four, 8080 as eighty eighty."""
    if len(digits) == 3 and digits[0] != "0":
        rest = digits[1:]
        if rest == "00":
            return f"{one_by_one(digits[0])} hundred"
        return f"{one_by_one(digits[0])} {minutes(rest)}"
    if len(digits) == 4 and digits[0] != "0":
        return f"ten {cardinal(digits[2:])}" if digits[:3] in _TEN else year(int(digits))
    return cardinal(digits) if len(digits) < 5 else one_by_one(digits)


def minutes(digits: str) -> str:
    """Two digits after others: 05 as oh five."""
    return f"oh {one_by_one(digits[1])}" if digits[0] == "0" else cardinal(digits)


def in_groups(digits: str) -> str:
    """A long string of digits as one dictates it, in threes, the last of up to four."""
    cuts = range(0, max(1, len(digits) - 1), 3)
    groups = [digits[i : i + 3] if i + 4 < len(digits) else digits[i:] for i in cuts]
    return ", ".join(one_by_one(group) for group in groups if group)


def _whole(number: int) -> str:
    if number < 20:
        return _SMALL[number]
    if number < 100:
        ten, one = divmod(number, 10)
        return _TENS[ten] + (f"-{_SMALL[one]}" if one else "")
    if number < 1000:
        hundred, rest = divmod(number, 100)
        return f"{_SMALL[hundred]} hundred" + (f" {_whole(rest)}" if rest else "")
    group = (len(str(number)) - 1) // 3
    high, rest = divmod(number, 1000**group)
    return f"{_whole(high)} {_GROUPS[group - 1]}" + (f" {_whole(rest)}" if rest else "")


# --- As people say them ---------------------------------------------------------------

CARDINALS = {word: n for n, word in enumerate(_SMALL)} | {
    word: 10 * n for n, word in enumerate(_TENS) if word
}
"""The words that are numbers by themselves, up to ninety."""
ORDINALS = {ordinal(str(n)): n for n in (*range(1, 20), *range(20, 100, 10))}
_SCALES = {word: 1000 ** (n + 1) for n, word in enumerate(_GROUPS)} | {"dozen": 12}
_PARTS = {"half": 0.5, "quarter": 0.25}
_FIGURE = re.compile(r"(?<!\d)\d{1,12}(?!\d)(?:,\d{3})*(?:\.\d{1,6})?")
_WRITTEN = re.compile(rf"-?{_FIGURE.pattern}(?:st|nd|rd|th)?|[^\W\d_]+|[^\s\w$€£%'’-]")
_OPERATORS = {
    "plus": "+",
    "and": "+",
    "minus": "-",
    "less": "-",
    "times": "*",
    "multiplied by": "*",
    "x": "*",
    "×": "*",
    "divided by": "/",
    "over": "/",
    "÷": "/",
} | {sign: sign for sign in "+-*/"}


class Number(Value):
    """One among words, from `start` to before `end`."""

    start: int
    end: int
    value: int | float
    ordinal: bool = False


def found(words: Sequence[str], *, fractions: bool = True) -> Iterator[Number]:
    """The numbers among lower-case words or figures. Without `fractions` "two and a half" is 2,
    for a reader that knows what it is half of."""
    at = 0
    while at < len(words):
        one = _number(words, at, fractions)
        if one is not None:
            yield one
        at = one.end if one else at + 1


def figures(words: Sequence[str]) -> list[str]:
    """The words with whole numbers as figures: "twenty five" as 25, "the third" as the 3rd."""
    done: list[str] = []
    at = 0
    for one in found(words, fractions=False):
        word = words[one.start]
        done += words[at : one.start]
        at = one.end
        unit = word == "second" and bool(done) and done[-1].isdecimal()  # "30 second"
        if unit or (word[:1].isdecimal() and one.end == one.start + 1):
            done.append(word)
        else:
            done.append(nth(int(one.value)) if one.ordinal else f"{one.value}")
    return [*done, *words[at:]]


def numbers_in(text: str) -> list[int | float]:
    """All that a sentence names; "the third" is one only where there is no other."""
    words = _WRITTEN.findall(text.casefold())
    every = list(found(words))
    named = [one for one in every if one.ordinal and words[max(0, one.start - 1)] == "the"]
    return [one.value for one in every if not one.ordinal] or [one.value for one in named]


def number(text: str) -> int | float:
    """What the whole text is. Raises `ValueError` for what is no number, or more than one."""
    words = _WRITTEN.findall(text.casefold())
    one = _number(words, 0, True) if words else None
    if one is None or one.ordinal or one.end < len(words) or words == ["a"]:
        raise ValueError(f"'{text.strip()[:40]}' is no number")
    return one.value


def operator(words: str) -> str:
    """`times` is `*`. Raises `ValueError` for what is no operation."""
    said = " ".join(words.lower().split())
    if said not in _OPERATORS:
        raise ValueError(f"'{said[:40]}' is no operation")
    return _OPERATORS[said]


def counting(words: str) -> str:
    """From one to that number, at most to a hundred: "1, 2, 3"."""
    last = number(words)
    if not 1 <= last <= 100:
        raise ValueError("too far to count")
    return ", ".join(str(n) for n in range(1, int(last) + 1))


def _number(words: Sequence[str], at: int, fractions: bool) -> Number | None:
    start, sign = at, 1
    if fractions and words[at] in ("minus", "negative"):
        at, sign = at + 1, -1
    nth_ = _ordinal(words, at)
    if nth_ is not None and sign > 0:
        return Number(start, nth_[1], nth_[0], ordinal=True)
    if words[at : at + 2] in (["a", "couple"], ["the", "couple"]):
        return Number(start, at + 2, 2)
    half = 1.0
    if fractions and list(words[at : at + 2]) == ["half", "a"] and _word(words, at + 2) in _SCALES:
        half, at = 0.5, at + 1
    counted = _cardinal(words, at)
    if counted is None:
        return None
    value, at = counted
    if fractions:
        value, at = _fraction(words, at, value)
    value = sign * half * value
    return Number(start, at, int(value) if value == int(value) else value)


def ordinal_of(word: str) -> int | None:
    """The number that "15th" says."""
    digits = word[:-2]
    return int(digits) if word[-2:] in ("st", "nd", "rd", "th") and digits.isdecimal() else None


def _ordinal(words: Sequence[str], at: int) -> tuple[int, int] | None:
    word, ahead = _word(words, at), _word(words, at + 1)
    if (written := ordinal_of(word)) is not None:
        return written, at + 1
    if word in _TENS and 0 < ORDINALS.get(ahead, 10) < 10:
        return CARDINALS[word] + ORDINALS[ahead], at + 2
    return (ORDINALS[word], at + 1) if word in ORDINALS else None


def _cardinal(words: Sequence[str], at: int) -> tuple[int | float, int] | None:
    """ "two thousand three hundred and five"; a scale only below the one before it."""
    total: int | float = 0
    part: int | float | None = None
    least, begun, room = max(_SCALES.values()) * 1000, at, 0
    while word := _word(words, at):
        value = _value(word)
        if value is not None and (part is None or (0 < value < room and word in CARDINALS)):
            room = 10 if word in _TENS else 0
            part = (part or 0) + value
        elif word == "hundred" and (part is None or 0 < part < 100):
            part, room = (1 if part is None else part) * 100, 100
        elif word in _SCALES and _SCALES[word] < least and (part is None or part):
            if part is None and at > begun and words[at - 1] not in ("a", "an"):
                break
            least = _SCALES[word]
            total, part, room = total + (1 if part is None else part) * least, None, 0
        elif word in ("a", "an") and at == begun and _scaled(_word(words, at + 1)):
            pass
        elif word == "and" and at > begun and _scaled(words[at - 1]):
            if _value(_word(words, at + 1)) is None:
                break
        elif word == "point" and part is not None:
            part, end = _decimals(words, at + 1, part)
            if end == at + 1:
                break
            at = end - 1
        else:
            break
        at += 1
    if at == begun or (part is None and not total):
        return None
    return total + (part or 0), at


def _decimals(words: Sequence[str], at: int, whole: int | float) -> tuple[int | float, int]:
    digits = ""
    while (value := _value("zero" if _word(words, at) == "oh" else _word(words, at))) is not None:
        if not (isinstance(value, int) and value < 10):
            break
        digits, at = f"{digits}{value}", at + 1
    return (float(f"{int(whole)}.{digits}") if digits else whole), at


def _fraction(words: Sequence[str], at: int, value: int | float) -> tuple[int | float, int]:
    """ "two and a half"; and a year: "nineteen eighty-four"."""
    if words[at : at + 2] == ["and", "a"] and _word(words, at + 2) in _PARTS:
        return value + _PARTS[words[at + 2]], at + 3
    if value in (19, 20) and (rest := _cardinal(words, at)) and 10 <= rest[0] <= 99:
        return value * 100 + rest[0], rest[1]
    return value, at


def _value(word: str) -> int | float | None:
    if word in CARDINALS:
        return CARDINALS[word]
    if _FIGURE.fullmatch(word.removeprefix("-")):
        plain = word.replace(",", "")
        return float(plain) if "." in plain else int(plain)
    return None


def _scaled(word: str) -> bool:
    return word == "hundred" or word in _SCALES


def _word(words: Sequence[str], at: int) -> str:
    return words[at] if at < len(words) else ""


# --- Card numbers, said aloud -----------------------------------------------------------

_TIMES = {"double": 2, "triple": 3}
_SAID = {"oh": "0"} | {word: str(n) for n, word in enumerate(_SMALL)}
_TENTHS = {word: str(n) for n, word in enumerate(_TENS) if word}
_TOKEN = rf"(?:{'|'.join((*_SAID, *_TENTHS, *_TIMES))}|\d{{1,6}})"
_DICTATED = re.compile(
    rf"(?i)(?<![\w.\-+/#@]){_TOKEN}(?:(?:[\s,\-]|\.\s){{1,3}}{_TOKEN}){{3,}}(?![\w/@])"
)
# Four of those in a row. In JSON that is encoded already a space may be an escape, and what is
# before the first too.
_APART = r"(?:[\s\x1c-\x1f,\-]|\\(?:[nrt]|u[0-9a-f]{4}))"
_RUN = rf"(?:^|[^a-z0-9_.\-+/#@]|\\(?:[bfnrt]|u[0-9a-f]{{4}})){_TOKEN}"
_RUN += rf"(?:(?:{_APART}|\.\s){{1,3}}{_TOKEN}){{3}}"
_dictation = first_look(_RUN)
suspicious = first_look(f"{FIRST_LOOK}|{_RUN}")
"""Whether a text, encoded or not, is worth a closer look."""
_DICTATION = 4_000
"""Characters; longer texts are no speech."""
_PRINTED = ((4, 4, 4, 4), (4, 4, 4, 4, 3), (4, 6, 5), (4, 6, 4))


def redact_said(text: str) -> str:
    """What may be kept of what somebody said or wrote."""
    return redact_dictated(redact(text)) if suspicious(text) else text


def redact_encoded(text: str) -> str:
    """The same for JSON that is encoded already, where an escape could hide where a secret begins.
    What has none stays as it is, to the letter."""
    if not suspicious(text):
        return text
    try:
        value = json.loads(text)
    except ValueError:
        return redact_said(text)
    kept = redacted(value, redact_said)
    return text if kept == value else json.dumps(kept, ensure_ascii=False, separators=(",", ":"))


def redact_lines(text: str) -> str:
    """The same for lines of it, of which most have nothing in them: one look at all of them takes a
    third of the time of one at each."""
    return "\n".join(map(redact_encoded, text.split("\n"))) if suspicious(text) else text


def redact_dictated(text: str) -> str:
    """Card numbers as they are dictated: in words, "four double one one", or with pauses,
    "4111, 1111, 1111, 1111". Those in one piece are `redact`'s."""
    if len(text) > _DICTATION or not _dictation(text):
        return text
    return _DICTATED.sub(
        lambda found: marked("card number") if is_card(_dictated(found[0])) else found[0], text
    )


def _dictated(said: str) -> str:
    """The digits of it; none where numbers are in it as no card has them."""
    tokens = re.findall(r"[a-z]+|\d+", said.lower())
    lengths = tuple(len(token) for token in tokens if token.isdecimal())
    if lengths and lengths not in _PRINTED and set(lengths) != {1}:
        return ""
    digits, times, tens = "", 1, False
    for token in tokens:
        if token in _TIMES:
            times = _TIMES[token]
            continue
        value = _SAID.get(token) or (_TENTHS[token] + "0" if token in _TENTHS else token)
        if tens and len(value) == 1 and value != "0":  # "forty" and "two"
            digits = digits[:-1] + value
        else:
            digits += value * times
        times, tens = 1, token in _TENTHS
    return digits
