"""Words and numbers as they can be compared: "six" is 6, "meditating" is like "meditate".

Pure, small and forgiving. It judges English; what is clearly another language it
knows to be one, and nothing more.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from itertools import takewhile
from operator import eq

from vivavoce.language.en.mentions import times_in
from vivavoce.language.en.numbers import CARDINALS, figures
from vivavoce.language.en.times.lexicon import listed

_FEW = 4
_PIECES = re.compile(r"\d+(?:st|nd|rd|th)\b|\d+|[^\W\d_]+")


_FORMS = {"once": "1", "twice": "2", "noon": "12", "midday": "12", "midnight": "12"}
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)")

STOP = frozenset(
    listed(
        "a an and any are as at be by can could do for from get go got had has have he her him "
        "his i if in into is it its let like ll m me my need of off on onto or our out please s "
        "she should so some t than that the their them then there these they thing this those "
        "to too up us ve want was we were what when which will with would you your re d am pm o "
        "oh um uh remind reminder set task goal just about"
    )
)
_COMMON = STOP | frozenset(
    listed(
        "after again all also always answer appointment ask back bank because before being book "
        "bring but buy call can't car check clean come cook did dinner doctor dog don't down "
        "drink drop eat email even every everything feed find finish first fix fly food forget "
        "give good help here hi hello home house how i'd i'll i'm it's jog keep know last later "
        "learn let's letter light list listen long look lunch mail make many meet meeting milk "
        "mom mother more morning move music never new next no nothing now old one only open order "
        "other over paint pay phone pick plan plant play practice put read remember run save say "
        "school see sell send shop show sign sleep soon start still stop stretch take talk tell "
        "thank thanks think through time today tomorrow tonight turn use very visit wait walk "
        "wash watch water week who why work write yes yesterday"
    )
)
"""Words that show that it is English."""
_ALIEN = frozenset(
    listed(
        "ich und nicht mich mir ist ein eine auf fur wann bitte morgen je et une moi que una por "
        "quiero yo che gli mio sono voglio uma nao eu meu het een niet ik mij naar jag och att "
        "det inte mig jeg og ikke demain manana domani"
    )
)
_ARTICLES = frozenset(listed("der das die des les el los las lo il la le zu pas est para mi"))
"""Of other languages, and in many an English name."""
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


def pieces(text: str) -> list[str]:
    """Words and numbers, lower case, without accents."""
    plain = unicodedata.normalize("NFKD", text.replace("’", "'"))
    bare = "".join(c for c in plain if not unicodedata.combining(c))
    return _PIECES.findall(bare.casefold())


def content(text: str) -> frozenset[str]:
    """What carries the meaning, each in one form. Nothing but small words: those."""
    found = pieces(text)
    kept = [p for p in found if p not in STOP] or found
    return frozenset(_form(piece) for piece in figures(kept))


def _form(piece: str) -> str:
    piece = _ORDINAL.sub(r"\1", _FORMS.get(piece, piece))
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
    shared = len(list(takewhile(bool, map(eq, a, b))))
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


def foreign(text: str) -> bool:
    """Clearly not English: then words cannot be compared with what a model made of them."""
    letters = [c for c in text if c.isalpha()]
    if sum(ord(c) > 0x24F for c in letters) * 2 > len(letters):
        return True
    said = re.findall(r"[^\W\d_]+(?:['’][^\W\d_]+)?", text.casefold())
    bare = [" ".join(pieces(word)) for word in said]
    english = sum(w in _COMMON or w in CARDINALS or bool(times_in(w)) for w in said)
    accented = sum(not word.isascii() for word in said)  # also in a name, or a crème brûlée
    alien = sum(word in _ALIEN for word in bare)
    if alien or accented:
        alien += sum(word in _ARTICLES for word in bare)
    return 3 * alien + accented > 2 * english or (len(said) >= _FEW and not english)
