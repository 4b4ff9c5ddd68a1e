"""Sums that are told as a story: "fourteen trays of thirty-six, and nine are burnt". What is to be
done with the numbers a model says; here is how it is shown them, and whether its sum can be theirs.
Pure.
"""

from __future__ import annotations

import re

from vivavoce.language.en.numbers import found

_WORDS = re.compile(r"[A-Za-z]+(?:['’][a-z]+)?|\d[\d,]*(?:\.\d+)?%?|[^\sA-Za-z\d]")
_PRICE = re.compile(r"(?<![\d.])(?<!\d,)(\d{1,3}) (\d\d)(?!\d|[.,]\d| ?(?:per ?cent|%))")
_MONEY = re.compile(r"(?i)\b(\d+) (pounds?|euros?|dollars?|bucks|quid|francs?) (?:and )?(\d\d)\b")
_GLUED = re.compile(r" (?=[,.;:!?%)])")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_IMPLIED = (
    (r"\b(?:half|halve[ds]?|halves)\b", (0.5, 2)),
    (r"\b(?:twice|double[ds]?|pairs?|couple|both)\b", (2,)),
    (r"\b(?:thirds?)\b", (1, 2, 3)),
    (r"\b(?:quarters?)\b", (0.25, 0.75, 3, 4)),
    (r"\b(?:triple[ds]?)\b", (3,)),
    (r"\bdozens?\b", (12,)),
    (r"\b(?:years?|annual\w*|yearly|months?|monthly)\b", (12, 365)),
    (r"\b(?:years?|annual\w*|yearly|weeks?|weekly)\b", (52,)),
    (r"\b(?:weeks?|weekly|days?|daily)\b", (7, 5)),
    (r"\b(?:hours?|minutes?|seconds?)\b", (60, 3600)),
    (r"\b(?:days?)\b", (24,)),
    (r"\b(?:cent\w*|pence|milli\w*|kilo\w*|metres?|meters?|grams?|litres?|liters?)\b", (100, 1000)),
)
"""Numbers that nobody says and every such sum has."""
_SHARES = re.compile(r"(?i)(\d+(?:\.\d+)?) ?(?:%|per ?cent\b)")
_PARTS = re.compile(
    r"(?i)(\d+(?:\.\d+)?) ?(?:cents?|p|pence|pennies|cm|mm|ml|kg|km|grams?|"
    r"(?:centi|milli|kilo)\w+|minutes?|mins?|hours?|seconds?|days?|weeks?|months?)\b"
)
_MOST = 12
_OF_SUMS = frozenset(
    re.findall(
        r"\S+",
        "what what's whats how much many is are was the a an of and plus minus times multiplied "
        "divided by over less add added to together take away from percent per cent squared cubed "
        "square root sum makes make come comes please tell me can you could work out calculate "
        "quickly so then ok okay right total altogether that equals equal give us just quick do "
        "does for i hey er um need know divide multiply subtract half quarter third dozen x",
    )
)
"""Words of a sum that is said as one."""
_SIGNS = {"+": " plus ", "-": " minus ", "*": " times ", "/": " divided by "}


def shown(text: str) -> str:
    """The same with its numbers as figures: "four fifty" is 4.50, "a hundred and sixty" 160."""
    words = _WORDS.findall(text.replace("-", " "))
    low = [word.lower() for word in words]
    done, at = list[str](), 0
    for one in found(low, fractions=True):
        if not one.ordinal:
            done += [
                *words[at : one.start],
                f"{one.value:g}" if one.value < _BIG else f"{one.value}",
            ]
            at = one.end
    said = _GLUED.sub("", " ".join([*done, *words[at:]]))
    return _PRICE.sub(r"\1.\2", _MONEY.sub(r"\1.\3 \2", said))


_BIG = 100_000


def plain(text: str) -> bool:
    """Whether it is said as a sum, and no story: "what's seventeen times twenty-three"."""
    words = re.findall(r"[a-z]+(?:['’][a-z]+)?", shown(text).lower())
    return all(word.replace("’", "'") in _OF_SUMS for word in words)


def story(text: str) -> str:
    """What there is to be reckoned with, numbers as figures; nothing where it is not enough."""
    told = shown(text)
    numbers = len(_NUMBER.findall(told.replace(",", "")))
    implied = any(re.search(rule, told, re.I) for rule, _ in _IMPLIED)
    return told if numbers > 1 or (numbers and implied) else ""


def spoken(expression: str) -> str:
    """A sum for the ear: "(9 - 3) * 20" is 9 minus 3, times 20."""
    said = re.sub(r"\)\s*([-+*/])", r",\1", expression.replace(" ", "")).strip("()")
    said = re.sub(r"([-+*/])\(", r"\1 the result of ", said).replace("(", "").replace(")", "")
    made = "".join(_SIGNS.get(one, one) for one in said)
    return re.sub(r"\s+", " ", made.replace(",", ", ")).strip(" ,")


def holds(expression: str, text: str) -> bool:
    """Whether a sum has all the numbers of a story, and none that is not in it. `text` as `shown`
    gives it."""
    there = [float(one) for one in _NUMBER.findall(text.replace(",", ""))]
    made = [float(one) for one in _NUMBER.findall(expression)]
    if not there or not made or max(len(there), len(made)) > _MOST:
        return False
    by_share = {float(one): _forms(float(one)) for one in _SHARES.findall(text)}
    for one in _PARTS.findall(text):  # of a hundred, of a thousand, of sixty
        parts = tuple(float(one) / whole for whole in (100, 1000, 60, 12, 7, 24))
        by_share[float(one)] = (*by_share.get(float(one), ()), *parts)
    implied = {n for rule, numbers in _IMPLIED if re.search(rule, text, re.I) for n in numbers}
    own = {form for forms in by_share.values() for form in forms} | {1.0, *map(float, implied)}
    known = all(one in there or _among(one, own) for one in made)
    used = all(one in made or any(_among(f, made) for f in by_share.get(one, ())) for one in there)
    return known and used


def _forms(share: float) -> tuple[float, ...]:
    """Five percent is 0.05, and what is left 0.95, and with it 1.05."""
    part = share / 100
    return (share, part, 1 - part, 1 + part, 100 - share, 100 + share, 100.0)


def _among(number: float, others: object) -> bool:
    return any(abs(number - one) < 1e-9 for one in others)  # type: ignore[attr-defined]
