"""The user's words as a yes or no, a number or a choice. No I/O."""

from __future__ import annotations

import re
from collections.abc import Sequence


class Misheard(Exception):
    """The words do not fit; the text says why, and is read to the user."""


def _list(*lines: str) -> list[str]:
    return " ".join(lines).split()


_YES = {"yes", "yeah", "yep", "sure", "ok", "okay", "true", "correct", "right", "please", "do"}
_NO = {"no", "nope", "nah", "not", "false", "don't", "dont", "never", "wrong"}
_STOP = {
    "cancel",
    "cancel it",
    "cancel that",
    "stop",
    "never mind",
    "nevermind",
    "forget it",
    "abort",
}
_ONES = _list(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen",
    "fifteen sixteen seventeen eighteen nineteen",
)
_TENS = _list("twenty thirty forty fifty sixty seventy eighty ninety")
_SMALL = {w: n for n, w in enumerate(_ONES)} | {w: 20 + 10 * n for n, w in enumerate(_TENS)}
_FACTORS = {"hundred": 100, "thousand": 1000, "million": 1_000_000}
_ORDINALS = _list("first second third fourth fifth sixth seventh eighth ninth tenth")
_DIGITS = re.compile(r"-?\d[\d,]*(?:\.\d+)?")


def words_of(said: str) -> list[str]:
    return said.split()


def plain(said: str) -> str:
    """Lower case, without the punctuation that ears put in."""
    return " ".join(re.sub(r"[^\w\s'+#-]", " ", said.casefold().replace("’", "'")).split())


def stops(said: str) -> bool:
    """Does the user want out, rather than answer?"""
    return plain(said).removesuffix(" please") in _STOP


def yes_or_no(said: str) -> bool:
    words = set(plain(said).split())
    if words & _NO:  # "no, please don't" is a no
        return False
    if words & _YES:
        return True
    raise Misheard("I need a yes or a no")


def number(said: str, *, whole: bool) -> int | float:
    found = _DIGITS.findall(said)
    if len(found) == 1:
        value = float(found[0].replace(",", ""))
    elif found:
        raise Misheard("I heard more than one number")
    else:
        value = _in_words(plain(said).replace("-", " ").split())
    if not whole:
        return value
    if not value.is_integer():
        raise Misheard("it should be a whole number")
    return int(value)


def _in_words(words: Sequence[str]) -> float:
    total, part, heard = 0, 0, False
    for word in words:
        if word in _SMALL:
            part, heard = part + _SMALL[word], True
        elif word == "hundred":
            part, heard = (part or 1) * 100, True
        elif word in _FACTORS:
            total, part, heard = total + (part or 1) * _FACTORS[word], 0, True
    if not heard:
        raise Misheard("I need a number")
    return float(-(total + part) if "minus" in words else total + part)


def choose(labels: Sequence[str], said: str) -> int:
    """Which one is meant; by its words, or as "the second one"."""
    found = chosen(labels, said)
    if len(found) != 1:
        raise Misheard(f"it should be one of {', '.join(labels)}")
    return found[0]


def chosen(labels: Sequence[str], said: str) -> list[int]:
    """Which ones are meant, in the order of the labels."""
    heard = plain(said)
    names = [plain(label) for label in labels]
    if heard in names:
        return [names.index(heard)]
    found = {at: name for at, name in enumerate(names) if name and _within(name, heard)}
    # "dark blue" means that, and not also "blue".
    kept = [
        at
        for at, name in found.items()
        if not any(name != other and _within(name, other) for other in found.values())
    ]
    if kept:
        return kept
    if heard in ("all", "all of them", "everything"):
        return list(range(len(labels)))
    words = heard.split()
    nth = [at for at, word in enumerate(_ORDINALS[: len(labels)]) if word in words]
    if nth:
        return nth
    if heard.isdecimal() and 1 <= int(heard) <= len(labels):
        return [int(heard) - 1]
    raise Misheard(f"it should be one of {', '.join(labels)}")


def _within(name: str, words: str) -> bool:
    return f" {name} " in f" {words} "
