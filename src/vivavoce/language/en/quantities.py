"""Amounts as people say them: prices, units, and what is to be worked out from many of them. Pure.

"four fifty" is 4.50 where prices have cents and 450 where they have none; "how many minutes are
there in a week" is a sum; "add up the hours" is one over a column.
"""

from __future__ import annotations

import re
from typing import Literal

from vivavoce.language.en.numbers import found, number
from vivavoce.wire.values import Value

_MONEY = r"(?:pounds?|dollars?|euros?|quid|bucks|francs?|crowns?|rupees?|shillings?|pence|cents?|p)"
_CENTS = re.compile(r"(?i)^(?P<amount>.+?) (?:pence|cents?|p)$")
_HUNDRED, _TENS = 100, 10
_FIGURE = re.compile(r"-?\d[\d,_]*(?:\.\d+)?")


def written_like(old: str, said: str) -> str:
    """The amount that is said, as the one that is there is written: "four fifty" for 3.50 is 4.50,
    for 350 it is 450. Empty where it is no amount, or the old one is none."""
    before = _FIGURE.search(old)
    if before is None or re.search(r"[A-Za-z]{4,}", old) or len(_FIGURE.findall(old)) > 1:
        return ""
    _, dot, decimals = before[0].partition(".")
    value = _amount(said, cents=bool(dot))
    if value is None:
        return ""
    whole = float(value).is_integer()
    plain = f"{value:.{len(decimals)}f}" if dot else f"{value:.0f}" if whole else f"{value:g}"
    if dot and abs(float(plain) - value) > 1e-9:
        plain = f"{value:g}"
    if "," in before[0]:
        plain = f"{float(plain):,.{len(decimals)}f}"
    return old[: before.start()] + plain + old[before.end() :]


def _amount(said: str, *, cents: bool) -> float | None:
    low = re.sub(r"[^\w.\s-]|(?<=[a-z])[.-]|[.-](?=[a-z])", " ", said.lower())
    low = re.sub(r"^(?:(?:just|only|exactly|about|to|at|be|now)\s+)+", "", " ".join(low.split()))
    low = re.sub(r"\s+(?:instead|please|now|each|apiece|percent|then)$", "", low)
    if small := _CENTS.fullmatch(low):
        part = _amount(small["amount"], cents=False) if " " in low else None
        has_whole = re.search(rf"\b(?!pence|cents?|p\b){_MONEY}\b", low)
        if part is not None and not has_whole:
            return part / _HUNDRED if cents else part
    try:
        return float(number(re.sub(rf"\s+{_MONEY}$", "", low)))
    except ValueError:
        pass
    low = re.sub(r"\boh\b", "zero", low)
    words = [w for w in low.split() if not re.fullmatch(rf"{_MONEY}|and|a|an", w) or w == "a"]
    words = [w for w in words if w != "a"] or words
    there = [one for one in found(words, fractions=True) if not one.ordinal]
    if not there or sum(one.end - one.start for one in there) != len(words):
        return None
    values = [float(one.value) for one in there]
    if len(values) == 1:
        return values[0]
    if len(values) == 2 and values[0].is_integer() and _TENS <= values[1] < _HUNDRED:
        return values[0] + values[1] / _HUNDRED if cents else values[0] * _HUNDRED + values[1]
    if len(values) == 3 and values[1] == 0 and values[2] < _TENS:
        return values[0] + values[2] / _HUNDRED if cents else values[0] * _HUNDRED + values[2]
    return None


# --- Units

_UNITS: dict[str, dict[str, float]] = {
    "time": {
        "millisecond": 0.001, "second": 1, "minute": 60, "hour": 3600, "day": 86400,
        "week": 604800, "fortnight": 1209600, "year": 31536000,
    },
    "length": {
        "millimetre": 0.001, "centimetre": 0.01, "metre": 1, "kilometre": 1000, "inch": 0.0254,
        "foot": 0.3048, "yard": 0.9144, "mile": 1609.344, "nautical mile": 1852,
    },
    "weight": {
        "milligram": 0.001, "gram": 1, "kilogram": 1000, "tonne": 1000000, "ounce": 28.349523125,
        "pound": 453.59237, "stone": 6350.29318,
    },
    "volume": {
        "millilitre": 0.001, "centilitre": 0.01, "litre": 1, "pint": 0.56826125,
        "gallon": 4.54609, "cup": 0.2365882365,
    },
    "data": {
        "byte": 1, "kilobyte": 1000, "megabyte": 1e6, "gigabyte": 1e9, "terabyte": 1e12,
        "bit": 0.125, "kibibyte": 1024, "mebibyte": 1048576, "gibibyte": 1073741824,
    },
}  # fmt: skip
_SHORT = {
    "ms": "millisecond", "sec": "second", "secs": "second", "min": "minute", "mins": "minute",
    "hr": "hour", "hrs": "hour", "mm": "millimetre", "cm": "centimetre", "km": "kilometre",
    "k": "kilometre", "ks": "kilometre", "kms": "kilometre", "meter": "metre", "inches": "inch",
    "kilometer": "kilometre", "centimeter": "centimetre", "millimeter": "millimetre",
    "feet": "foot", "kg": "kilogram", "kgs": "kilogram", "kilo": "kilogram", "g": "gram",
    "ton": "tonne", "oz": "ounce", "lb": "pound", "lbs": "pound", "ml": "millilitre",
    "liter": "litre", "milliliter": "millilitre", "kb": "kilobyte", "mb": "megabyte",
    "meg": "megabyte", "megs": "megabyte", "gb": "gigabyte", "gig": "gigabyte",
    "gigs": "gigabyte", "tb": "terabyte", "centuries": "century", "stone": "stone",
}  # fmt: skip
_MONTHS: dict[str, float] = {"month": 1, "year": 12, "decade": 120, "century": 1200}
_YEARS: dict[str, float] = {"year": 1, "decade": 10, "century": 100, "millennium": 1000}
_COUNTS = {"dozen": 12, "score": 20, "gross": 144}


def _unit(word: str) -> str:
    word = word.lower()
    if word in _SHORT:
        return _SHORT[word]
    return _SHORT.get(word.removesuffix("s"), word.removesuffix("s")) if len(word) > 1 else word


_KNOWN = sorted(
    {*_SHORT, *_MONTHS, *_YEARS, *(unit for table in _UNITS.values() for unit in table)},
    key=len,
    reverse=True,
)
_NAME = rf"(?P<{{}}>(?:{'|'.join(_KNOWN)})s?)"
_HOW_MANY = re.compile(
    rf"(?i)\bhow many {_NAME.format('to')}"
    r"(?: (?:are|is|have|has|do|does|would|will|that|there|it|they|you|we|be|get|got))*"
    r" (?:(?:in|to|make|makes|per|is) )+(?:all of )?"
    rf"(?P<amount>(?:[a-z\d.,-]+ ){{1,5}}?){_NAME.format('of')}(?=$|[?.!,]| )"
)
_INTO = re.compile(
    rf"(?i)\b(?P<amount>(?:[a-z\d.,-]+ ){{1,5}}?){_NAME.format('of')} "
    rf"(?:in|to|into|as|is how many|would be how many|"
    rf"in terms of) (?:how many )?{_NAME.format('to')}"
    r"(?=$|[?.!,]| )"
)
_WARM = re.compile(
    r"(?i)(?P<amount>(?:[a-z\d.-]+ ){1,4}?)(?:degrees )?(?P<of>celsius|centigrade|fahrenheit|c|f) "
    r"(?:in|to|into|as) (?:degrees )?(?P<to>celsius|centigrade|fahrenheit|c|f)\b"
)


_AND_PART = re.compile(r"(?i) and (a half|a quarter|three quarters|half|[a-z\d]+ [a-z]+)\b")
_PARTS = {"a half": 0.5, "half": 0.5, "a quarter": 0.25, "three quarters": 0.75}


def conversion(said: str) -> str:
    """The sum by which an amount becomes one in another unit; empty where none is asked for."""
    text = re.sub(r"(?<=\d)(?=[a-z])", " ", said.strip())
    if (warm := _WARM.search(text)) and (value := _last(warm["amount"])) is not None:
        pair = warm["of"][0].lower(), warm["to"][0].lower()
        if pair == ("c", "f"):
            return f"{value} * 9 / 5 + 32"
        if pair == ("f", "c"):
            return f"({value} - 32) * 5 / 9"
    for rule in (_HOW_MANY, _INTO):
        for asked in rule.finditer(text):
            value = _last(asked["amount"])
            rate = _rate(_unit(asked["of"]), _unit(asked["to"]))
            behind = _AND_PART.match(text, asked.end())
            if value is not None and rate is not None:
                if behind and behind[1].lower() not in _PARTS:
                    return ""  # an amount of two units
                if behind:
                    value = f"{float(value) + _PARTS[behind[1].lower()]:g}"
                up, down = rate
                return f"{value} * {up}" + (f" / {down}" if down != "1" else "")
    return ""


def _rate(of: str, to: str) -> tuple[str, str] | None:
    tables = (*_UNITS.values(), _MONTHS, _YEARS)
    table = next((one for one in tables if of in one and to in one), None)
    return (f"{table[of]:.12g}", f"{table[to]:.12g}") if table and of != to else None


def _last(words: str) -> str | None:
    """The number that these words end with; an article is one."""
    plain = [part for word in words.lower().split() for part in word.strip(",").split("-") if part]
    while plain and plain[-1] in ("single", "whole", "full", "normal", "regular", "of", "one"):
        plain = [*plain[:-1], *(["one"] if plain[-1] == "one" else [])]
        if plain and plain[-1] == "one":
            break
    plain = [w.replace(",", "") for w in plain]
    half = plain[-2:] == ["half", "a"] or plain[-2:] == ["half", "an"]
    if half:
        return "0.5"
    if plain[-1:] in (["a"], ["an"], ["one"], ["the"], ["per"]):
        return "1"
    if plain[-1:] and plain[-1] in _COUNTS:
        return f"{_COUNTS[plain[-1]]}"
    for start in range(len(plain)):
        try:
            return f"{number(' '.join(plain[start:])):.12g}"
        except ValueError:
            continue
    return None


# --- Over a column

Work = Literal["sum", "average", "largest", "smallest"]


class Column(Value):
    """What is to be worked out, and of what."""

    work: Work
    what: str


_WORKS: tuple[tuple[str, Work], ...] = (
    (r"\baverage\b|\bthe mean\b|\bmean (?:of|value|score|price|time)\b", "average"),
    (
        r"\b(?:largest|biggest|highest|most expensive|dearest|priciest|longest|maximum|the max|"
        r"the most(?! (?:recent|important|common|likely)))\b",
        "largest",
    ),
    (
        r"\b(?:smallest|lowest|cheapest|shortest|minimum|the min|least expensive|"
        r"the least(?! (?:recent|important|common|likely)))\b",
        "smallest",
    ),
    (
        r"\b(?:add(?:ed|ing)? up|adds? up to|tot(?:al)? up|sum up|sum of|sum (?:the|all)|"
        r"the sum|summed?|in total|"
        r"the total|total (?:of|for|up)?|grand total|altogether|all together|come[s]? to|"
        r"add (?:all )?(?:the|those|these)|what does it all come|tally)\b",
        "sum",
    ),
)
_TABLE = re.compile(
    r"(?i)\b(?:csv|c s v|tsv|spread ?sheet|time ?sheet|table|column|ledger|rows?)\b|"
    r"(?:\.| dot )(?:csv|tsv|txt|md|m d)\b"
)
_COUNTS_LINES = re.compile(
    r"(?i)\b(?:how many|number of|count|total)\s+(?:\w+\s+){0,2}"
    r"(?:lines?|files?|functions?|tests?|words?|characters|commits?|classes|todos?|rows|people)\b"
    r"|\b(?:lines|functions|tests) (?:are|of|do|in)\b"
)
_AMOUNTS = re.compile(
    r"(?i)\b(?:the|my|our|all) (?:\w+ )?(?:expenses|sales|invoices|receipts|orders|budget|"
    r"hours|costs|"
    r"prices|figures|amounts|scores|payments|donations|takings|bills)\b"
)
_ALIKE = tuple(
    (frozenset(said.split()), frozenset(called.split()))
    for said, called in (
        ("quantit man", "qty quantit"),
        ("stock left got", "qty stock quantit"),
        (
            "cost costing expensiv expensive cheap cheaper cheapest dear dearer pric price",
            "price cost",
        ),
        ("old older young younger ag aged", "age"),
        ("heavi heavier heavy light lighter weigh weight", "weight mas"),
        ("tall taller high higher", "height"),
        ("took tak last long longer short shorter", "length duration minut hour second tim"),
        ("earn earning paid", "salary wage pay"),
        ("scor point mark", "scor point mark"),
    )
)


def with_alike(stems: set[str]) -> set[str]:
    """Stems of words, with those that columns are called by instead."""
    return stems.union(*(called for said, called in _ALIKE if said & stems))


# --- A bound for a number

_MORE = (
    r"(?:more|great|bigg|larg|high|long|old|tall|heavi|lat|dear|prici|fast|better|deep|wid|strong)"
    r"(?:er)? than|over|above|upwards? of|north of|exceed(?:s|ing)?|in excess of|beyond|after|past"
)
_FEWER = (
    r"(?:less|few|small|low|short|young|light|earli|cheap|slow|narrow|worse|weak)(?:er)? than|"
    r"under|below|beneath|before"
)
_BOUND = re.compile(
    rf"(?i)\b(?:(?P<between>between|from)|(?P<least>at least|(?:no|not) (?:less|fewer) than|"
    rf"a minimum of|since)|(?P<most>at most|(?:no|not) more than|up to|a maximum of)|"
    rf"(?P<just>exactly|precisely|equal to|equals|at)|(?P<more>{_MORE})|(?P<less>{_FEWER}))\s+"
    r"(?:(?:the|about|around|age|year|a total of)\s+)*"
)
_OR_SO = re.compile(
    r"(?i)\b(?:or|and) (?:(?P<more>more|over|above|older|longer|higher|up(?:wards)?|bigger|taller|"
    r"heavier|later)|(?P<less>less|fewer|under|below|younger|shorter|lower|smaller|lighter|cheaper|"
    r"earlier))\b"
)
_JOINT = re.compile(r"(?i)\s+(?:and|to)\s+")
_SPECIAL = re.compile(r"(?i)\b(?!bigger|larger|higher|greater|lower|smaller|fewer)\w+er than\b")
_FIGURE_WORDS = 6


class Limit(Value):
    """What numbers are meant by a bound that was said: "over fifty", "between ten and twenty"."""

    low: str = ""
    high: str = ""
    strict: bool = False
    unit: str = ""
    """What is counted, in one word, where that was said behind it."""
    special: bool = False
    """It was said of one thing that numbers are of ("older than"), and not of any ("over")."""

    def holds(self, value: float, *, cents: bool, rate: float = 1.0) -> bool:
        """`cents`: "four fifty" is 4.50 there. `rate`: by how much what was said is multiplied."""
        for words, sign in ((self.low, 1), (self.high, -1)):
            bound = _amount(words, cents=cents) if words else None
            if bound is None:
                continue
            beyond = sign * (value - bound * rate)
            if beyond < 0 or (self.strict and beyond == 0):
                return False
        return True

    @property
    def bound(self) -> float:
        return _amount(self.low or self.high, cents=False) or 0.0


def limit(said: str) -> Limit | None:
    """The one bound for a number that a sentence has; None where there is none, or more than one,
    or where it is one of the clock's."""
    text = " ".join(re.sub(r"(?<=[a-z])-(?=[a-z])|[£$€]", " ", said).split())
    every = [made for one in _BOUND.finditer(text) if (made := _bounded(text, one))]
    every = every or [made for one in _OR_SO.finditer(text) if (made := _or_so(text, one))]
    return every[0] if len(every) == 1 else None


def _or_so(text: str, told: re.Match[str]) -> Limit | None:
    words = text[: told.start()].split()[-_FIGURE_WORDS:]
    for end in (len(words), len(words) - 1, len(words) - 2):  # "ten years old or more"
        for start in range(end):
            said = " ".join(words[start:end])
            if _amount(said, cents=False) is not None:
                unit = " ".join(words[end:])
                return Limit(low=said, unit=unit) if told["more"] else Limit(high=said, unit=unit)
    return None


def _bounded(text: str, told: re.Match[str]) -> Limit | None:
    rest, kind = text[told.end() :], told.lastgroup or ""
    if kind == "between":
        for joint in _JOINT.finditer(rest):
            first, _ = _leading(rest[: joint.start()])
            last, behind = _leading(rest[joint.end() :])
            if first and last:
                return Limit(low=first, high=last, unit=_next_word(behind))
        return None
    first, rest = _leading(rest)
    if not first or re.match(r"(?i)\W*(?:o['’]?clock|[ap]\.?m\b)", rest):
        return None
    unit, special = _next_word(rest), _SPECIAL.search(told[0]) is not None
    if kind in ("least", "more"):
        return Limit(low=first, strict=kind == "more", unit=unit, special=special)
    if kind in ("most", "less"):
        return Limit(high=first, strict=kind == "less", unit=unit, special=special)
    return Limit(low=first, high=first, unit=unit)


def _next_word(rest: str) -> str:
    word = re.match(r"\s*([A-Za-z]+)", rest)
    return word[1] if word else ""


def _leading(text: str) -> tuple[str, str]:
    """The number that these words begin with, and the rest."""
    words = [*re.finditer(r"\S+", text)][:_FIGURE_WORDS]
    for word in reversed(words):
        said = text[: word.end()].strip(" ,.;:!?")
        if not re.search(rf"(?i)\b{_MONEY}$", said) and _amount(said, cents=False) is not None:
            return said, text[word.end() :]
    return "", text


def rate_between(of: str, to: str) -> float | None:
    """By how much a number of the one unit is multiplied to be one of the other; None where these
    are no two units of one kind."""
    one, other = _unit(of), _unit(to)
    if one == other and any(one in table for table in (*_UNITS.values(), _MONTHS, _YEARS)):
        return 1.0
    rate = _rate(one, other)
    return float(rate[0]) / float(rate[1]) if rate else None


def over_column(said: str, *, table: bool = False) -> Column | None:
    """Whether something is to be worked out from all the numbers of a table. `table`: one is spoken
    of already."""
    spoken_of = table or _TABLE.search(said) or _AMOUNTS.search(said)
    if not spoken_of or _COUNTS_LINES.search(said):
        return None
    named = table or _TABLE.search(said)
    if len([one for one in found(re.findall(r"[a-z]+|\d+", said.lower())) if not one.ordinal]) > 1:
        return None
    for sounds, work in _WORKS:
        if (named or work == "sum") and (asked := re.search(sounds, said, re.IGNORECASE)):
            rest = said[: asked.start()] + " " + said[asked.end() :]
            return Column(work=work, what=" ".join(rest.split()))
    return None


# --- What kind of answer a question wants

_DAYS = r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
_MONTH = (
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december|"
    r"jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)"
)
_WHENEVER = (
    rf"\d|\b(?:{_DAYS}|{_MONTH}|today|tonight|tomorrow|yesterday|noon|midnight|midday|mornings?|"
    r"afternoons?|evenings?|nights?|weekdays?|weekends?|daily|weekly|monthly|yearly|every|after|"
    r"before|until|till|once|during|since|soon|now|never|always|spring|summer|autumn|winter|"
    r"christmas|easter|o['’]?clock)\b"
)
_ANY_NUMBER = (
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|twenty|thirty|"
    r"forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|million|once|twice|half|dozen|both|"
    r"none|no|nothing|free|never|all|several|few|single|an?)\b"
)
_KINDS_OF_ANSWER = (
    (
        "phone number",
        r"\b(?:tele)?phone(?: number)?\b|\b(?:mobile|cell) number\b|\bnumber (?:to|i|we|can) \w*"
        r"(?: ?\w+)? ?(?:ring|call|dial)\b",
        r"\+?\d(?:[\s()/.-]*\d){4,}",
    ),
    ("mail address", r"\be-?mail(?: address)?\b|\bmail address\b", r"\S@\S"),
    ("web address", r"\b(?:url|web ?site|web address)\b", r"https?:|www\.|\w\.[a-z]{2,}"),
    ("postcode", r"\b(?:post ?code|zip(?: code)?)\b", r"\d"),
    (
        "time",
        r"\b(?:what|which) (?:time|date|day)\b|\bwhen (?:is|are|does|do|did|will|was)\b",
        _WHENEVER,
    ),
    (
        "number",
        r"\bhow (?:much|many|old|far|tall|heavy)\b|\bwhat(?:['’]s| is| does) (?:the |it |that )?"
        r"(?:price|cost|amount|fee)\b",
        _ANY_NUMBER,
    ),
)


def lacks(said: str, answer: str) -> str:
    """What a question asks for (a phone number, a time), where nothing of that kind is in the
    answer; empty where it is there, or where any words may answer."""
    for kind, asks, there in _KINDS_OF_ANSWER:
        if re.search(asks, said, re.IGNORECASE):
            return "" if re.search(there, answer, re.IGNORECASE) else kind
    return ""
