"""Spoken times as tokens: numbers as figures, fixed phrases in one form. No calendar.

The library behind `when_dates` reads written English. What people say and it does
not know ("half an hour", "quarter to nine", "the fifteenth") is put into its words
here, by the tables of `when_tables`.
"""

from __future__ import annotations

from vivavoce.language.en.times.tables import HOLIDAYS, NUMBERS, ORDINALS, SPOKEN, TENS, UNITS

MOST_CHARS = 160

_PHRASES = sorted(
    ((tuple(k.split()), v.split()) for k, v in (SPOKEN | HOLIDAYS).items()),
    key=lambda pair: -len(pair[0]),
)


def tokens(words: str) -> list[str]:
    """Lower case, without punctuation; numbers as figures, ordinals as "15th"."""
    plain = words.casefold().replace("’", "'").replace(",", " , ").replace(";", " , ")
    found: list[str] = []
    for raw in plain.split():
        word = (raw.strip('.!?"()') or raw).removesuffix("ish").rstrip("-")
        if any(c.isdigit() for c in word):
            found += _split_meridiem(word)
        else:
            found += [w for w in word.replace("-", " ").split() if w]
    return _figures(_phrases(_meridiems([w for w in found if w != ","])))


def _split_meridiem(word: str) -> list[str]:
    bare = word.replace(".", "") if word.endswith(("a.m", "p.m")) else word
    if bare.endswith(("am", "pm")) and bare[:-2].replace(":", "").isdecimal():
        return [bare[:-2], bare[-2:]]
    if bare.endswith("h") and bare[:-1].isdecimal():
        return [f"{bare[:-1]}:00"]
    return [bare]


def _meridiems(found: list[str]) -> list[str]:
    return [{"a.m": "am", "p.m": "pm"}.get(word, word) for word in found]


def _phrases(found: list[str]) -> list[str]:
    done: list[str] = []
    at = 0
    while at < len(found):
        for phrase, instead in _PHRASES:
            if tuple(found[at : at + len(phrase)]) == phrase:
                done += instead
                at += len(phrase)
                break
        else:
            done.append(found[at])
            at += 1
    return done


def _figures(found: list[str]) -> list[str]:
    """ "twenty five" is 25, "twenty first" 21st, "an hour" 1 hour, "2 and a half hours" 150
    minutes."""
    done: list[str] = []
    for at, word in enumerate(found):
        ahead = found[at + 1] if at + 1 < len(found) else ""
        tens = int(done[-1]) if done and at and found[at - 1] in TENS else 0
        if word in NUMBERS:
            number = NUMBERS[word]
            if tens and number < 10:
                done.pop()
                number += tens
            done.append(str(number))
        elif word in ORDINALS and not (word == "second" and done and done[-1].isdecimal()):
            number = ORDINALS[word]
            if tens and number < 10:
                done.pop()
                number += tens
            done.append(nth(number))
        elif word == "hundred" and done and done[-1].isdecimal() and len(done[-1]) <= 2:
            done.append(f"{done.pop():0>2}00")  # "nineteen hundred hours"
        elif word in ("a", "an") and ahead in UNITS:
            done.append("1")
        else:
            done.append(word)
    return _halves(done)


def _halves(found: list[str]) -> list[str]:
    for at in range(len(found) - 4):
        number, unit = found[at], found[at + 4]
        if found[at + 1 : at + 4] == ["and", "a", "half"] and number.isdecimal():
            sixths = {"hour": ("30", "minutes", 60), "year": ("6", "months", 12)}.get(
                UNITS.get(unit, "")
            )
            if sixths:
                half, smaller, times = sixths
                whole = str(int(number[:4]) * times + int(half))
                return [*found[:at], whole, smaller, *found[at + 5 :]]
    return found


def nth(number: int) -> str:
    ending = (
        "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    )
    return f"{number}{ending}"


def ordinal(word: str) -> int | None:
    """The day that "15th" says."""
    number = word[:-2]
    return int(number) if word[-2:] in ("st", "nd", "rd", "th") and number.isdecimal() else None
