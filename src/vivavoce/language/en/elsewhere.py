"""Whose clock an hour was said by: "at three, that's their time", "nine in the evening by his clock
over there", of somebody in Karachi. Pure.

An hour of another place's clock that is taken for the speaker's own is wrong, and nobody notices
before it is too late. So whoever says that the clock is not theirs gets that clock, if the place is
known, and is asked for it if not.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from vivavoce.language.en.times.pieces import Zone
from vivavoce.language.en.times.reading import Mention, find
from vivavoce.language.en.times.zones import PLACES, WORDS

THEIRS = "their time"
"""Read by the clock as an hour of a place that is not known."""
_WHO = r"(?:their|his|her|its|theirs|hers|[A-Z][\w-]+['’]s|the other (?:side|end)['’]s)"
_CLOCK = r"(?:time ?zone|time|clocks?|watch|wristwatch|reckoning|zone|end|side)"
_BY_THEIRS = re.compile(
    rf"(?:\b(?i:by|on|in|at|per|going by|according to|according)\s+)?"
    rf"\b{_WHO}\s+(?:(?i:own|local|wall)\s+)?(?i:{_CLOCK})\b(?!\s+(?i:off|table|of day))"
)
_THEIR_PART = re.compile(
    r"(?i)\b(?:that['’]?s|that is|it['’]?s|in|on) (?:his|her|their) "
    r"(?:morning|afternoon|evening|night|day)(?=\W*(?:$|[.,;!?]))"
)
_TAKES = re.compile(r"(?i)\b(?:take|takes|took|taking|spend|spends|waste|have|need)\s*$")
"""Who takes their time has all of it."""
_THERE = re.compile(
    r"(?i)\b(?:time|clocks?|o['’]?clock)\s+(?:over\s+|out\s+|down\s+|up\s+|back\s+)?there\b|"
    r"\blocal time\b(?!\s+here)|"
    r"\b(?:the )?(?:time|clock) where (?:he|she|they|it)(?:['’]s|['’]re|\s+\w+)|"
    r"\bwhere (?:he|she|they)(?:['’]s|['’]re| is| are| lives?| sits?| works?| stays?)"
    r"(?=\W*(?:$|[.,;!?]))"
)
_AFTER = re.compile(
    r"(?i)^\W{0,3}(?:(?:but |and )?(?:that['’]?s|that is|it['’]?s|i mean|as in)\s+)?"
    r"(?P<sure>(?:by|according to) (?:him|her|them|hers|theirs|his)|on (?:hers|theirs|his)|"
    r"(?P<maybe>for (?:him|her|them)|at (?:hers|theirs|his)|(?:over |out |down |up |back )?there))"
    r"(?=\W*(?:$|[.,;!?]|\b(?:in|over|out|there|so|and|but|which|not|when|if)\b))"
)
_TELLS = re.compile(
    r"(?i)\b(?:(?:that|it|which)(?:['’]?s| is| would be|['’]?d be)|but|only|i mean|meaning|as in)"
    r"\s+(?:at\s+)?"
    r"(?:half|quarter|noon|midnight|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|"
    r"\d)[\w:.']*"
    r"(?:\s+(?:past|to|o['’]clock|in the \w+|\w+teen|\w+ty|[ap]\.?m\.?|one|two|three|four|five|"
    r"six|seven|eight|nine|ten|eleven|twelve|thirty))*\s+"
    r"(?:(?:over |out |down |up |back )?there|(?:by|for) (?:him|her|them|hers|theirs))\b"
    r"(?!\s+(?:to|birthday|and back)\b)"
)
_OURS = re.compile(
    r"(?i)\b(?:my|our)\s+(?:own\s+|local\s+)?(?:time ?zone|time|clocks?|watch|end|side)\b|"
    r"\b(?:time|clock) here\b|\bwhere (?:i am|i['’]m|we are|we['’]re)(?=\W*(?:$|[.,;!?]))"
)
_OURS_AFTER = re.compile(r"(?i)^\W{0,3}(?:here|for (?:me|us)|by (?:me|us|mine))\b(?! in [A-Z])")
_MY_PLACE = re.compile(
    r"(?i)\b(?:i(?:['’]m| am| live| sit| work| stay| moved)|we(?:['’]re| are| live)|here|me|us)"
    r"(?:\s+(?:here|over|now|living|based|back|sitting|still|only|just|home))*"
    r"\s+(?:in|at|from|to)\s+$"
)
_NAMED = re.compile(
    r"(?i)\b(?P<name>{names})(?:['’]s)?\s+(?:time|clock|side|end)\b".replace(
        "{names}", "|".join(sorted(map(re.escape, PLACES), key=len, reverse=True))
    )
)


_TOLD_SO = re.compile(
    r"(?i)\b(?:that|it|this|which|those)(?: one)?(?:['’]s| is| are| was| will be) (?:in |by |on )?"
    + _NAMED.pattern.removeprefix("(?i)")
)
"""Whose clock it is by, in a clause of its own: "ten in the morning, but that's Japan time"."""


def by_their_clock(said: str) -> bool:
    """Whether it says of an hour in it that it is by the clock of somebody else."""
    mentions = find(said)
    return bool(mentions) and _theirs(said, mentions, places=bool(places_in(said)))


def by_our_clock(said: str) -> bool:
    mentions = find(said)
    return _OURS.search(said) is not None or any(
        _OURS_AFTER.match(said[one.end :]) for one in mentions
    )


def places_in(said: str) -> list[str]:
    """The places with a clock that are named, but for the one where the speaker is."""
    found: list[tuple[int, str]] = []
    bare_ = unicodedata.normalize("NFKD", said)
    said = "".join(c for c in bare_ if not unicodedata.combining(c))
    low = said.casefold()
    for name in PLACES:
        at = low.find(name)
        while at >= 0:
            whole = (
                not low[max(at - 1, 0) : at].isalpha() and not low[at + len(name) :][:1].isalpha()
            )
            there = said[at].isupper() or name not in WORDS
            if whole and there and not _MY_PLACE.search(said[:at]):
                found.append((at, name))
                break
            at = low.find(name, at + 1)
    return [name for _, name in sorted(found)]


def elsewhere(words: str, said: str, context: Iterable[str] = ()) -> str:
    """A time with the place whose clock is meant. `context`: what else was said of it, or what it
    is called, if the place is not named beside it. Where nobody knows it, it is `THEIRS`."""
    if _known_zone(words):
        return words
    named = {PLACES[m["name"].casefold()]: m["name"] for m in _NAMED.finditer(said)}
    beside = len(named) == 1 and (_NAMED.search(words) or _TOLD_SO.search(said)) is not None
    if len(named) == 1 and (beside or not by_our_clock(said)):
        return at_place(words, next(iter(named.values())))
    near = places_in(said)
    mentions = find(said)
    theirs = _theirs(said, mentions, places=bool(near) or any(map(places_in, context)))
    if not theirs or (by_our_clock(said) and _by_ours(words, said, mentions)):
        return words
    for told in (said, *context):
        zones = {PLACES[name]: name for name in reversed(places_in(told))}
        if len(zones) == 1:
            return at_place(words, next(iter(zones.values())))
        if zones:
            break
    return f"{bare(words)} {THEIRS}"


def at_place(words: str, place: str) -> str:
    """The time, by the clock of that place."""
    # "Five Buenos Aires" could be five of something.
    joint = ", " if place.split(maxsplit=1)[0].endswith("s") else " "
    return f"{bare(words)}{joint}{place.title()} time"


def bare(words: str) -> str:
    """Without what says whose clock it is by."""
    words = _BY_THEIRS.sub(" ", words)
    words = _THERE.sub(" ", words)
    words = re.sub(
        rf"(?i)[\s,]*\b(?:by |on |in )?(?:{_NAMED.pattern.removeprefix('(?i)')})", "", words
    )
    words = re.sub(r"(?i)[\s,]*\b(?:by|for|at|on) (?:him|her|them|hers|theirs|his)\b", "", words)
    words = re.sub(
        r"(?i)\s*\b(?:over |out |down |up |back )?there\b|[\s,]+(?:his|her|their)$", "", words
    )
    return re.sub(r"\s+([,.])", r"\1", " ".join(words.split())).strip(" ,.;")


def without_clock(title: str, said: str) -> str:
    """Without what says by whose clock it is: "call her for her side" is to call her."""
    if not by_their_clock(said):
        return title
    short = re.sub(rf"(?i:\s+(?:for|by|on|at|in)\s+){_BY_THEIRS.pattern}\s*$", "", title)
    short = re.sub(rf"[\s,]+{_BY_THEIRS.pattern}\s*$", "", short).strip(" ,.;")
    return short if len(short.split()) > 1 else title


def _theirs(said: str, mentions: Sequence[Mention], *, places: bool) -> bool:
    for match in _BY_THEIRS.finditer(said):
        if not _TAKES.search(said[: match.start()]):
            return True
    if _THERE.search(said) or _TELLS.search(said) or _THEIR_PART.search(said):
        return True
    after = [_AFTER.match(said[one.end :]) for one in mentions if {"hour", "part"} & one.says]
    inside = [
        re.search(r"(?i)\bby (?:him|her|them|hers|theirs)\W*$", one.words) for one in mentions
    ]
    there = [re.search(r"(?i)\bthere\b", one.words) for one in mentions]
    if places and any(there):
        return True
    return any(inside) or any(m is not None and (places or not m["maybe"]) for m in after)


def _by_ours(words: str, said: str, mentions: Sequence[Mention]) -> bool:
    """Of "nine their time, so six here" whether this is the six."""
    at = said.casefold().find(words.casefold())
    if at < 0:
        return False
    end = at + len(words)
    rest = said[end:]
    ours, theirs = _OURS.search(rest), _BY_THEIRS.search(rest)
    if _OURS_AFTER.match(rest):
        return True
    return ours is not None and (theirs is None or ours.start() < theirs.start())


def _known_zone(words: str) -> bool:
    pieces = [found.piece for one in find(words) for found in one.found]
    return any(isinstance(piece, Zone) and piece.name is not None for piece in pieces)
