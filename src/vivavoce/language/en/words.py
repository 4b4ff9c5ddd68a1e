"""Words and numbers as they can be compared: "six" is 6, "meditating" is like "meditate".

Pure, small and forgiving. It judges English; what is clearly another language it
knows to be one, and nothing more.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

_PIECES = re.compile(r"\d+|[^\W\d_]+")


def _listed(words: str) -> list[str]:
    return words.split()


_ONES = _listed(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen twenty"
)
_ORDINALS = _listed(
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth "
    "thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
)
_NUMBERS = (
    {word: str(value) for value, word in enumerate(_ONES)}
    | {word: str(value) for value, word in enumerate(_ORDINALS, 1)}
    | {"thirty": "30", "forty": "40", "fifty": "50", "sixty": "60", "seventy": "70"}
    | {"eighty": "80", "ninety": "90", "hundred": "100", "thirtieth": "30", "couple": "2"}
    | {"dozen": "12", "once": "1", "twice": "2", "noon": "12", "midday": "12", "midnight": "12"}
)

STOP = frozenset(
    _listed(
        "a an and any are as at be by can could do for from get go got had has have he her him "
        "his i if in into is it its let like ll m me my need of off on onto or our out please s "
        "she should so some t than that the their them then there these they thing this those "
        "to too up us ve want was we were what when which will with would you your re d am pm o "
        "oh um uh remind reminder set task goal just about"
    )
)
_FOREIGN = frozenset(
    _listed(
        "ich und der das nicht mich mir ist ein eine zu auf fur wann bitte morgen je et les des "
        "une pas moi pour est que el los las una por para quiero mi yo che il lo gli per mio "
        "sono voglio uma nao eu meu het een niet ik mij naar jag och att det inte mig jeg og "
        "ikke"
    )
)
_GROUPS = (
    "home house flat apartment",
    "work office workplace job",
    "shop store supermarket market grocery groceries",
    "gym workout exercise training fitness fit",
    "mom mum mother mama",
    "dad father papa",
    "tonight evening night",
    "leave leaving away exit depart",
    "arrive arriving reach arrival",
)
_SAME = {word: group.split()[0] for group in _GROUPS for word in group.split()}

TIMES = frozenset(
    _listed(
        "monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur "
        "thurs fri january february march april june july august september october november "
        "december jan feb mar apr jun jul aug sep sept oct nov dec today tomorrow tonight "
        "yesterday morning afternoon evening night noon midday midnight lunch lunchtime "
        "breakfast dinner dinnertime bedtime sunrise sunset dawn dusk week weeks weekly weekend "
        "weekends weekday weekdays day days daily month months monthly year years yearly "
        "annually hour hours hourly minute minutes seconds pm oclock clock now soon later next "
        "every each once twice same spring summer autumn winter christmas easter birthday "
        "holiday holidays vacation fortnight quarter half after before until till deadline "
        "semester immediately anytime always forever someday freq byday whenever"
    )
)
_NORMAL_FORM = re.compile(
    r"\bFREQ=|\bRRULE\b|\b\d{4}-\d{2}(?:-\d{2})?\b|\b\d{1,2}:\d{2}\b|\d\s*[ap]\.?m\b", re.IGNORECASE
)


def pieces(text: str) -> list[str]:
    """Words and numbers, lower case, without accents."""
    plain = unicodedata.normalize("NFKD", text.replace("’", "'"))
    bare = "".join(c for c in plain if not unicodedata.combining(c))
    return _PIECES.findall(bare.casefold())


def content(text: str) -> frozenset[str]:
    """What carries the meaning, each in one form. Nothing but small words: those."""
    found = pieces(text)
    kept = [p for p in found if p not in STOP] or found
    return frozenset(_form(piece) for piece in kept)


def _form(piece: str) -> str:
    piece = _NUMBERS.get(piece, piece)
    if piece.isdecimal():
        return str(int(piece[:9]))
    return _SAME.get(piece, piece)


def alike(one: str, other: str) -> bool:
    """The same word, whatever its ending."""
    if one == other:
        return True
    if one.isdecimal() and other.isdecimal():
        return _hour(one) == _hour(other)
    a, b = _stem(one), _stem(other)
    if a == b:
        return True
    shared = 0
    for left, right in zip(a, b, strict=False):
        if left != right:
            break
        shared += 1
    return shared >= 4 and shared >= 0.6 * max(len(a), len(b))


def _hour(number: str) -> str:
    """19 is 7 in the evening."""
    return str(int(number) - 12) if 13 <= int(number) <= 23 else number


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "es", "er", "ly", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            bare = word[: -len(ending)]
            doubled = ending in ("ing", "ed", "er") and len(bare) > 3 and bare[-1] == bare[-2]
            return bare[:-1] if doubled else bare.removesuffix("e") if len(bare) > 3 else bare
    return word[:-1] if word.endswith("e") and len(word) > 3 else word


def shares(ones: Iterable[str], others: frozenset[str]) -> bool:
    return any(one in others or any(alike(one, other) for other in others) for one in ones)


def speaks_of_time(text: str) -> bool:
    """Is there any word or number that could say when?"""
    return any(p in TIMES or p in _NUMBERS or p.isdecimal() for p in pieces(text))


def is_time(text: str) -> bool:
    """Does this name a time or a recurrence, in words or normalised?"""
    return _NORMAL_FORM.search(text) is not None or any(p in TIMES for p in pieces(text))


def foreign(text: str) -> bool:
    """Clearly not English: then words cannot be compared with what a model made of them."""
    if any(ord(c) > 0x24F and c.isalpha() for c in text):
        return True
    found = set(pieces(text))
    return len(found & _FOREIGN) > len(found & STOP)
