"""Which of the user's things are meant: by the words of their title, by time, by place in a list,
by "that" and "everything". Whoever finds two asks; nobody guesses."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from vivavoce.brain.dialogue import times
from vivavoce.language.en import mentions
from vivavoce.language.en.ending import VERBS
from vivavoce.language.en.numbers import CARDINALS, ORDINALS
from vivavoce.language.en.pointing import (
    ALL,
    CLAUSE,
    GENERIC,
    HANDLING,
    NOBODY,
    POINTING,
    QUANTIFIED,
    STAYING,
    THATS_ALL,
    UNITS,
    WORD,
    excepting,
    initials,
    near,
    plain_words,
    stays,
)
from vivavoce.language.en.words import STOP
from vivavoce.wire.hints import Thing
from vivavoce.wire.values import Record

_REACH = 5
"""Words between "everything" and what it is about."""
_TO = 3
"""Letters: a "to" that a time begins with is its own."""


class Found(Record):
    """`ids` are meant. Where none are: one of `left` is, or, if that is empty too, nothing fits."""

    ids: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    """Of those that are not there any more: what the words name better than anything that is."""


class Known(NamedTuple):
    """What the resolver looks at."""

    things: Sequence[Thing]
    """Candidates."""
    view: Sequence[str]
    listed: Sequence[str]
    """Ids of the last list that was told, in its order."""
    last: Sequence[str]
    """Ids of what was done last."""
    now: datetime
    zone: str


def resolve(
    words: str, known: Known, *, many: bool = False, said: str = "", loose: bool = False
) -> Found:
    """`said` is the whole utterance: it helps where the words themselves leave several. `loose`:
    the words are an utterance in which nobody marked the thing; only what is plain counts."""
    there = {thing.id: thing for thing in known.things}
    wanted, kept = _apart(THATS_ALL.sub("", words), said)
    if kept:
        spared = _spared(kept, known, there)
        if len(spared) < len(there):
            there = {id_: thing for id_, thing in there.items() if id_ not in spared}
            if spared and words.casefold() in kept.casefold() and not ALL & set(plain_words(said)):
                return _one(list(there))  # what stays is not meant: one of the rest is
        elif spared and many and ALL & set(plain_words(wanted)):
            return Found()  # everything but the only one there is
    tokens = plain_words(wanted)
    rest = _rest(excepting(said), kept) if kept else ""
    if many and there and words.casefold() in kept.casefold() and ALL & set(plain_words(rest)):
        return _set((), times.find(rest), known, there)  # of "all but the vet" only the vet
    if not there or not tokens:
        return Found(left=tuple(there)) if there else Found()
    if (position := _position(tokens, known, there)) is not None:
        return Found(ids=position)
    wanted = NOBODY.sub("", wanted)
    # "Everything I had that day" is of the day that was named before.
    before = said[: max(said.casefold().find(words.casefold()), 0)]
    that_day = times.find(before)[-1:] if mentions.same_day(wanted) else []
    spans = that_day or times.find(wanted)
    content = _content(wanted, known)
    if many and (ALL & set(tokens) or _all_of(wanted, said)):
        return _set(content, spans or times.find(_sentence_before(words, said)), known, there)
    if not content and not spans and POINTING & set(tokens) | GENERIC & set(tokens):
        pointed = _pointed(tokens, known, there)
        if pointed:
            return pointed
    titled = _by_title(content, list(there.values())) if content else []
    if content and not titled:
        titled = _by_title(content, [_at_its_place(one) for one in there.values() if one.place])
    if loose and len(titled) == 1:
        titled = _beside(titled[0], content, list(there.values()))
    if loose and not titled and POINTING & set(tokens):
        return _pointed(tokens, known, there) or Found()
    left = titled or list(there)
    if (len(left) > 1 or not titled) and spans:
        when = " ".join(span.text for span in spans)
        timed = [id_ for id_ in left if _fits(there[id_], when, known)]
        if timed:
            return _one(timed)
        if not titled:
            pointing = not content and bool(POINTING & set(tokens))
            return (_pointed(tokens, known, there) if pointing else None) or Found()
    if titled or not content:
        if len(left) > 1 and said:
            more = _by_title(
                _content(_rest(excepting(said), kept), known), [there[id_] for id_ in left]
            )
            left = more or left
        return _one(left)
    return Found()


def _one(left: Sequence[str]) -> Found:
    return Found(ids=tuple(left)) if len(left) == 1 else Found(left=tuple(left))


def _apart(words: str, said: str) -> tuple[str, str]:
    """What is meant, and what is said to stay as it is."""
    words, said = excepting(words), excepting(said)
    kept = " ".join(part for part in CLAUSE.split(said or words) if stays(part))
    mine = " ".join(part for part in CLAUSE.split(words) if not stays(part))
    return mine or words, kept if mine else ""


def _spared(kept: str, known: Known, there: Mapping[str, Thing]) -> list[str]:
    """What is said to stay, by its title or, if it has no other name, by its time."""
    titled = _by_title(_content(kept, known), list(there.values()))
    spans = times.find(STAYING.sub(" ", kept)) if not titled else []
    return titled or [
        id_ for id_, one in there.items() if any(_fits(one, span.text, known) for span in spans)
    ]


def _all_of(words: str, said: str) -> bool:
    """ "Everything that's about the fair", of which only "the fair" was copied."""
    return bool(QUANTIFIED & set(plain_words(_sentence_before(words, said))[-_REACH:]))


def _sentence_before(words: str, said: str) -> str:
    """ "On Saturday" of "On Saturday, clear the lot."."""
    at = said.casefold().rfind(words.casefold().strip())
    return re.split(r"[.!?;]", said[:at])[-1] if at > 0 else ""


def sets_in(text: str) -> list[str]:
    """Where a text names all there is at a time: "anything tomorrow", "all of Friday's"."""
    found = []
    for span in times.find(text):
        first = re.split(r"[.!?;,]", text[: span.start])[-1]
        every = [m for m in WORD.finditer(first) if m.group().casefold() in ALL][-1:]
        between = plain_words(first[every[0].end() :]) if every else []
        if every:  # "everything Ines has tomorrow"
            names = [w for w in WORD.findall(first[every[0].end() :]) if w[:1].isupper()]
            between = [w for w in between if w not in {t for n in names for t in plain_words(n)}]
        if every and len(between) < _REACH and not set(between) - STOP - GENERIC:
            # Only as far as its day: what it is moved to may be told in the same breath.
            onward = re.search(r"(?i)\W*\b(?:to|until|till|onto)\b", span.text[_TO:])
            end = span.start + _TO + onward.start() if onward else span.end
            found.append(text[span.start - len(first) + every[0].start() : end])
    return found


def _rest(said: str, kept: str) -> str:
    return " ".join(part for part in CLAUSE.split(said) if part not in kept)


def named(text: str, things: Sequence[Thing], *, loose: bool = False) -> dict[str, tuple[int, int]]:
    """Ids of those that a text plainly speaks of, with where it does: by the first of what their
    title says or by half of it, beside what is to be done with them. `loose`: by any word of it."""
    spoken = [(m.start(), m.end(), plain_words(m.group())) for m in WORD.finditer(text)]
    found: dict[str, tuple[int, int]] = {}
    for thing in things:
        title = [t for t in plain_words(thing.title) if t not in STOP | GENERIC]
        nouns = [t for t in title if t not in VERBS] or title
        at = {
            noun: (start, end)
            for noun in nouns
            for start, end, tokens in spoken
            if any(near(token, noun) for token in tokens if token not in STOP | HANDLING)
        }
        if nouns and at and (loose or 2 * len(at) >= len(nouns) or nouns[0] in at):
            found[thing.id] = min(at.values())[0], max(end for _, end in at.values())
    return found


# --- By position, by pointing, in sets ------------------------------------------------


def _position(
    tokens: Sequence[str], known: Known, there: Mapping[str, Thing]
) -> tuple[str, ...] | None:
    """ "The second one", "the last", "number two", "the first two", in what was last told."""
    order = [id_ for id_ in known.view if id_ in there]
    if len(order) < 2:  # the talk went on to one of them
        order = [id_ for id_ in known.listed if id_ in there]
    if len(order) < 2:
        return None
    plain = [t for t in tokens if t not in STOP or t in ("one",)]
    places: list[int] = []
    for at, word in enumerate(plain):
        after = plain[at + 1 : at + 2]
        count = CARDINALS.get(after[0]) if after else None
        if word == "first" and count and count > 1:
            return tuple(order[:count])
        if word == "last" and count and count > 1:
            return tuple(order[-count:])
        if word in ORDINALS and (not after or after[0] in GENERIC | HANDLING | set(ORDINALS)):
            places.append(ORDINALS[word] - 1)
        elif word in ("last", "bottom") and (not after or after[0] in GENERIC):
            places.append(len(order) - 1)
        elif word in ("top", "former"):
            places.append(0)
        elif word == "latter":
            places.append(len(order) - 1)
        elif word == "middle" and len(order) % 2:
            places.append(len(order) // 2)
        elif word == "number" and after and (n := _number(after[0])):
            places.append(n - 1)
    inside = list(dict.fromkeys(order[place] for place in places if 0 <= place < len(order)))
    return tuple(inside) or None


def _number(token: str) -> int | None:
    return int(token) if token.isdecimal() else CARDINALS.get(token)


def _pointed(tokens: Sequence[str], known: Known, there: Mapping[str, Thing]) -> Found | None:
    """ "It", "that", "my appointment": what the talk is about, or the only one there is."""
    view = [id_ for id_ in known.view if id_ in there]
    last = [id_ for id_ in known.last if id_ in there]
    several = {"them", "those", "these"} & set(tokens)
    if several and (view or last):
        return Found(ids=tuple(view or last))
    for about in (view, last):
        if len(about) == 1:
            return Found(ids=tuple(about))
    if len(there) == 1 and GENERIC & set(tokens):  # "my appointment", and there is one
        return Found(ids=tuple(there))
    return Found(left=tuple(view or last or there))


def _set(
    content: Sequence[str], spans: Sequence[times.Span], known: Known, there: Mapping[str, Thing]
) -> Found:
    """ "Everything tomorrow", "both", "all my calls"."""
    meant = list(there)
    if spans:
        words = [span.text for span in spans]
        meant = [i for i in meant if any(_fits(there[i], one, known) for one in words)]
    if content:
        titled = _by_title(content, [there[id_] for id_ in meant], every=True)
        meant = titled or ([] if not spans else meant)
    elif not spans:
        meant = [id_ for id_ in known.view if id_ in there] or meant
    return Found(ids=tuple(meant))


# --- By title and time ----------------------------------------------------------------


def _content(words: str, known: Known) -> list[str]:
    """The words that can be of a title."""
    bare = words
    for span in reversed(times.find(words)):
        bare = bare[: span.start] + " " + bare[span.end :]
    skipped = STOP | GENERIC | POINTING | ALL | set(ORDINALS) | set(CARDINALS) | UNITS
    kept = [t for t in plain_words(bare) if t not in skipped and (len(t) > 1 or t.isdecimal())]
    titles = {t for thing in known.things for t in plain_words(thing.title)}
    # What is to be done with it is not its name, unless nothing else is.
    named = [t for t in kept if t not in HANDLING]
    return named or [t for t in kept if any(near(t, title) for title in titles)]


def _by_title(content: Sequence[str], things: Sequence[Thing], *, every: bool = False) -> list[str]:
    """Those that the words fit best, or at all."""
    tokens = {thing.id: plain_words(thing.title) for thing in things}
    weight = {
        word: 1 / (1 + sum(any(near(word, t) for t in title) for title in tokens.values()))
        for word in content
    }
    scores: dict[str, float] = {}
    for thing in things:
        title = tokens[thing.id]
        score = sum(
            weight[word] * max((near(word, t) for t in title), default=0.0)
            for word in dict.fromkeys(content)
        )
        if not score:
            score = 0.5 * sum(initials(word, thing.title) for word in content)
        if score:
            scores[thing.id] = score
    best = max(scores.values(), default=0.0)
    return [id_ for id_, score in scores.items() if every or score > best - 0.01]


def _at_its_place(thing: Thing) -> Thing:
    """Called by where it is to be done: "what I must get at the chemist's"."""
    return thing.model_copy(update={"title": thing.place})


_ONLY = re.compile(r"(?i)\b(?:just|only|solely|nothing but|but not|except|apart from|other than)\b")


_NOT = re.compile(r"(?i)\s+(?=(?:not|without|minus|skip|and not|but not)\b)")
_SPARES = re.compile(
    r"(?i)\W*(?:(?:no|yes|yeah|ok|okay|and|but|just|please|actually)\b\W*)*"
    r"(?:not|without|minus|skip|leave|keep|spare|don['’]?t|do not|never)\b"
)
"""What follows stays."""


def spares(text: str) -> bool:
    """Whether it says of something that it stays."""
    text = excepting(text)
    parts = [piece for part in CLAUSE.split(text) for piece in _NOT.split(part)]
    return any(stays(part) or _SPARES.match(part) for part in parts)


def only_some(text: str) -> bool:
    """ "Just the hurling": some, and not the others."""
    return _ONLY.search(text) is not None


def some_of(text: str, things: Sequence[Thing]) -> tuple[str, ...] | None:
    """Of things that were asked about, those that an answer names, or all but those of which it
    says that they stay; None where it names none, or all."""
    text = excepting(text)
    parts = [piece for part in CLAUSE.split(text) for piece in _NOT.split(part) if piece.strip()]
    kept = [part for part in parts if stays(part) or _SPARES.match(part)]
    spared = {id_ for part in kept for id_ in named(part, things, loose=True)}
    wanted = " ".join(part for part in parts if part not in kept)
    if spared and len(spared) < len(things):
        return tuple(thing.id for thing in things if thing.id not in spared)
    meant = named(wanted, things, loose=True)
    every = ALL & set(plain_words(wanted)) and not only_some(wanted)
    if every or not meant or len(meant) == len(things):
        return None
    return tuple(thing.id for thing in things if thing.id in meant)


def closer(words: str, there: Sequence[Thing], gone: Sequence[Thing], known: Known) -> list[str]:
    """Those of the gone that the words name better than any that is there."""
    content = _content(words, known._replace(things=[*there, *gone]))
    best = _by_title(content, [*there, *gone]) if content and gone else []
    ids = {thing.id for thing in gone}
    return best if set(best) <= ids else []


def of_whom(
    ids: Sequence[str], words: str, before: str, things: Sequence[Thing]
) -> tuple[str, ...]:
    """ "Ines is ill, take off whatever she has tomorrow": of these only what has the name of who
    was spoken of last. All of them where nobody was, or nothing has the name."""
    if not _SOMEBODYS.search(words):
        return tuple(ids)
    titles = {thing.id: plain_words(thing.title) for thing in things if thing.id in ids}
    for name in reversed(WORD.findall(before)):
        said = plain_words(name)
        if not name[:1].isupper() or not said or said[0] in STOP:
            continue
        theirs = [id_ for id_, title in titles.items() if any(near(said[0], t) for t in title)]
        if theirs:
            return tuple(theirs)
    return tuple(ids)


_SOMEBODYS = re.compile(r"(?i)\b(?:he|she|they|his|her|hers|their|theirs)(?:['’]\w+)?\b")


def _beside(best: str, content: Sequence[str], things: Sequence[Thing]) -> list[str]:
    """It, with those that are named by words of their own: then two are spoken of."""
    named = {
        thing.id: {w for w in content if any(near(w, t) for t in plain_words(thing.title))}
        for thing in things
    }
    return [best, *(id_ for id_, words in named.items() if words - named[best])]


def _fits(thing: Thing, words: str, known: Known) -> bool:
    """Whether the time in the words can be the thing's."""
    at = thing.at
    return at is not None and times.covers(words, at, now=known.now, zone=known.zone)
