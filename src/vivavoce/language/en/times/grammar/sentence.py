"""All productions together: the pieces of a sentence, in order."""

from __future__ import annotations

from collections.abc import Callable

from vivavoce.language.en.times import lexicon as lex
from vivavoce.language.en.times import zones
from vivavoce.language.en.times.grammar.days import day_at
from vivavoce.language.en.times.grammar.found import Found
from vivavoce.language.en.times.grammar.hours import half_at, hour_at, part_at, range_at, routine_at
from vivavoce.language.en.times.grammar.often import bounds_at, every_at
from vivavoce.language.en.times.grammar.spans import direction_at, span_at, vague_at
from vivavoce.language.en.times.pieces import Correction, Negation, Same, Weekday, Zone
from vivavoce.language.en.times.tokens import Tokens


def _same(t: Tokens, at: int) -> Found | None:
    begun = at
    if t.are(at, "this", "time") and (
        t.word(at + 2) in ("tomorrow", "on") or t.are(at + 2, "next", "week")
    ):
        return Found(Same("now"), at, at + 2)
    at += t.word(at) in ("the", "that")
    if t.word(at) in ("same", "usual"):
        if t.word(at + 1) in ("time", "hour", "timing"):
            return Found(Same("time"), begun, at + 2)
        if t.word(at + 1) == "day" and t.word(at) == "same":
            return Found(Same("day"), begun, at + 2)
        if t.word(at + 1) in lex.DAY_PARTS:
            return Found(Same("day"), begun, at + 1)
        if t.word(at) == "same" and t.word(at + 1) in lex.WEEKDAYS:
            return Found(Weekday(lex.WEEKDAYS[t.word(at + 1)]), begun, at + 2)
        return None
    if t.word(begun) == "that":
        if t.word(at) == "day":
            return Found(Same("day"), begun, at + 1, "fair")
        if t.word(at) in lex.DAY_PARTS:
            return Found(Same("day"), begun, at, "fair")
    return None


def _zone(t: Tokens, at: int) -> Found | None:
    word = t.word(at)
    two = f"{word} {t.word(at + 1)}"
    for name, end in ((two, at + 2), (word, at + 1)):
        if name in zones.REGIONS:
            timed = t.word(end) in ("time", "standard", "daylight")
            end += timed and (2 if t.word(end) != "time" else 1)
            return Found(Zone(zones.REGIONS[name]), at, end, "firm" if timed else "weak")
        if name in zones.PLACES and t.word(end) == "time":
            return Found(Zone(zones.PLACES[name]), at, end + 1)
        if name in zones.PLACES and t.word(at - 1) == "in":
            return Found(Zone(zones.PLACES[name], sure=False), at, end, "weak")
    if word in zones.ABBREVIATED:
        return Found(Zone(zones.ABBREVIATED[word]), at, at + 1 + (t.word(at + 1) == "time"), "weak")
    if t.word(at + 1) == "time" and t.word(at + 2) not in lex.UNITS:
        if word in zones.THEIRS or word in zones.MANY:
            return Found(Zone(None), at, at + 2, "weak")
        if word in zones.OURS:
            return Found(Zone("", sure=True), at, at + 2, "weak")
    return None


_CORRECTIONS = [
    tuple(phrase.split())
    for phrase in (
        "no wait", "no sorry", "no", "nope", "sorry", "wait", "hang on", "actually", "i mean",
        "i meant", "make it", "make that", "or rather", "scratch that", "correction", "let's say",
        "better", "oh no", "should be", "change that to", "change it to",
    )
]  # fmt: skip
_NEGATIONS = [
    tuple(p.split()) for p in ("not", "rather than", "instead of", "isn't", "no longer", "never")
]
_NOT_NEGATED = lex.words("before until till later earlier sooner after than too that at sure only")


def _taking_back(t: Tokens, at: int) -> Found | None:
    for phrase in _NEGATIONS:
        if t.word(at) == phrase[0] and (end := t.after(at, *phrase)) > 0:
            allowed = t.word(end) not in _NOT_NEGATED or (
                t.word(end) == "at" and phrase != ("never",)
            )
            return Found(Negation(), at, end, "weak") if allowed else None
    for phrase in _CORRECTIONS:
        if t.word(at) == phrase[0] and (end := t.after(at, *phrase)) > 0:
            if t.word(end) in ("later", "earlier", "sooner", "problem", "matter"):
                return None
            return Found(Correction(), at, end, "weak")
    return None


_PRODUCTIONS: tuple[Callable[[Tokens, int], Found | None], ...] = (
    _taking_back,
    every_at,
    bounds_at,
    _same,
    span_at,
    day_at,
    routine_at,
    part_at,
    range_at,
    hour_at,
    half_at,
    _zone,
    vague_at,
    direction_at,
)


def pieces_of(t: Tokens) -> list[Found]:
    """The longest piece at each place, in order, none over another."""
    found: list[Found] = []
    at = 0
    while at < t.count:
        best: Found | None = None
        if t.kinds[at] != "mark":
            for production in _PRODUCTIONS:
                one = production(t, at)
                if one is not None and one.end > at and (best is None or one.end > best.end):
                    best = one
        if best is None:
            at += 1
            continue
        found.append(best)
        at = max(best.end, at + 1)
    return found
