"""What an utterance means, from marks on its words: which stretches wish for something, and which
words in them are whose slot. Pure; who marks them, a trained model, is elsewhere.

Each piece of the text (a word or a part of one) has a score for each label of two lists: `O`,
`B-remind`, `I-remind`, … for the wishes, and the same for slots. The best sequence in which every
stretch has a beginning is what was marked.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from vivavoce.brain.dialogue import times
from vivavoce.brain.dialogue.commands import Begin, Command, Fill, Plain
from vivavoce.language.en import mentions, titles, utterances
from vivavoce.language.en.dictation import unspelt, whole_name
from vivavoce.language.en.numbers import number, numbers_in
from vivavoce.wire.values import Value

Scores = npt.NDArray[np.float32]
"""Log-probabilities: a row for each piece, a column for each label."""
SET = "set"
PLAIN = ("yes", "no", "undo", "drop", "thanks", "cannot", "chat", "unclear")
_NEVER = np.float32(-1e9)
_EDGES = " ,.;:!?…-–—"
_SMALL = re.compile(
    r"\s+(?:(?:of|in|for|from|on|at|with|and|about|to|by|into|under|over|the|a|an|my|our)\s+){0,2}"
)
_PARTED = re.compile(r"[,.;:!?…–—]")


class Span(Value):
    """Pieces `start` to before `end`, and what they are."""

    start: int
    end: int
    label: str


class Wish(Value):
    """A stretch that wishes for something; where its slots stand in the text, piece by piece."""

    kind: str
    start: int
    end: int
    slots: Mapping[str, tuple[tuple[int, int], ...]]


def best(scores: Scores, labels: tuple[str, ...]) -> list[Span]:
    """The stretches of the likeliest sequence of labels."""
    if not len(scores):
        return []
    follows, begins = _allowed(labels)
    score, back = scores[0] + begins, []
    for row in scores[1:]:
        through = score[:, None] + follows
        came = through.argmax(axis=0)
        back.append(came)
        score = through[came, np.arange(len(labels))] + row
    path = [int(score.argmax())]
    for came in reversed(back):
        path.append(int(came[path[-1]]))
    return _stretches([labels[at] for at in reversed(path)])


def words(said: str, places: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Which pieces make a word: from one to before another."""
    made: list[tuple[int, int]] = []
    for at, (start, _) in enumerate(places):
        goes_on = at > 0 and places[at - 1][1] == start and said[start - 1 : start + 1].isalnum()
        made.append((made.pop()[0] if goes_on else at, at + 1))
    return made


def by_word(scores: Scores, labels: tuple[str, ...], among: Sequence[tuple[int, int]]) -> Scores:
    """A row for each word: no mark begins or ends in the middle of one."""
    inside = np.array([labels.index(f"I-{one[2:]}") if one != "O" else 0 for one in labels])
    rows = [scores[start] + scores[start + 1 : end][:, inside].sum(axis=0) for start, end in among]
    made: Scores = np.array(rows, dtype=np.float32).reshape(len(among), len(labels))
    return made


@lru_cache(maxsize=8)
def _allowed(labels: tuple[str, ...]) -> tuple[Scores, Scores]:
    """What a label may follow, and what may be the first: nothing goes on that did not begin."""
    inside = np.array([label.startswith("I-") for label in labels])
    same = np.array([[one[2:] == two[2:] for two in labels] for one in labels])
    outside = np.array([label == "O" for label in labels])
    follows = np.where(inside[None, :] & (~same | outside[:, None]), _NEVER, 0)
    return follows.astype(np.float32), np.where(inside, _NEVER, 0).astype(np.float32)


def _stretches(labels: Sequence[str]) -> list[Span]:
    found: list[Span] = []
    for at, label in enumerate(labels):
        if label.startswith("B-"):
            found.append(Span(at, at + 1, label[2:]))
        elif label.startswith("I-"):
            last = found[-1]
            found[-1] = Span(last.start, at + 1, last.label)
    return found


def sure(scores: Scores, labels: tuple[str, ...], stretches: Sequence[Span]) -> float:
    """How likely the least certain of these stretches is of its kind."""
    likely = np.exp(scores)
    own = (
        likely[one.start : one.end, [at for at, name in enumerate(labels) if name[2:] == one.label]]
        for one in stretches
    )
    return min((float(part.sum(axis=1).mean()) for part in own), default=0.0)


def barred(labels: tuple[str, ...], without: Collection[str]) -> Scores:
    """What to add to the scores of wishes, so that none is of these kinds."""
    return np.array([_NEVER if one[2:] in without else 0 for one in labels], dtype=np.float32)


def allowed(
    kinds: Sequence[Span], labels: tuple[str, ...], known: Mapping[str, Collection[str]], long: int
) -> Scores:
    """What to add to the scores of slots, so that each stretch has only slots of its kind."""
    made = np.full((long, len(labels)), _NEVER, dtype=np.float32)
    made[:, 0] = 0
    for stretch in kinds:
        own = known.get(stretch.label, ())
        fitting = [at for at, label in enumerate(labels) if label[2:] in own]
        made[stretch.start : stretch.end, fitting] = 0
    return made


def wishes(
    said: str, places: Sequence[tuple[int, int]], kinds: Sequence[Span], slots: Sequence[Span]
) -> list[Wish]:
    """`places`: where in the text each piece stands."""
    made: list[Wish] = []
    for stretch in kinds:
        own: dict[str, tuple[tuple[int, int], ...]] = {}
        for slot in slots:
            if stretch.start <= slot.start < stretch.end:
                start, end = places[slot.start][0], places[min(slot.end, stretch.end) - 1][1]
                if said[start:end].strip(_EDGES):
                    own[slot.label] = (*own.get(slot.label, ()), (start, end))
        start, end = places[stretch.start][0], places[stretch.end - 1][1]
        made.append(Wish(stretch.label, start, end, own))
    return made


def commands(
    said: str,
    found: Sequence[Wish],
    able: Collection[str],
    answers: Sequence[str],
    kinds: Mapping[str, str],
) -> tuple[Command, ...]:
    """What was marked, as the manager takes it. A reader may know wishes that this talk has not:
    `able` are those that can be wished for here. An answer may be marked as what it is elsewhere
    (the time of a reminder, where that of a goal was asked for): `answers` are the slots that can
    be answered now, `kinds` says what each slot is."""
    made: list[Command] = []
    for wish in _with_what_follows(said, found, able, kinds):
        slots = {name: _words(said, wish, name, kinds) for name in wish.slots}
        slots = {n: words for n, words in slots.items() if not _empty(words, kinds.get(n, ""))}
        text = said[wish.start : wish.end].strip(_EDGES)
        points = _POINTS.search(text) if slots and _ABOUT in _slots(wish.kind, able) else None
        if points and _ABOUT not in slots:  # "tick them off in my list"
            slots[_ABOUT] = points[1]
        if wish.kind == SET:
            named = {_answered(one, answers, kinds): slots[one] for one in slots}
            made.append(Fill(named, sure=bool(named)))
        elif wish.kind in PLAIN:
            made.append(Plain(wish.kind))  # type: ignore[arg-type]
        elif wish.kind not in able:
            made.append(Plain("cannot"))
        elif (whole := _gone_on_with(wish.kind, slots, text, made, kinds)) is not None:
            made[-1] = replace(whole, said=f"{whole.said} {text}")
        else:
            made.append(Begin(wish.kind, slots, text, sure=bool(slots)))
    made = _without_told(made)
    if len(made) == 1 and isinstance(made[0], Begin):
        return (replace(made[0], said=""),)  # nobody else has anything of the utterance
    return tuple(made)


def _without_told(made: list[Command]) -> list[Command]:
    """Without what is only told beside a wish: "change the port, something else here has it"."""
    if not any(isinstance(one, Begin) and one.sure for one in made):
        return made
    return [
        one
        for one in made
        if not isinstance(one, Begin) or one.sure or any(says(one.said) for says in _WISHES)
    ]


_WISHES = (utterances.orders, utterances.questions, utterances.wants, utterances.intends)


def _empty(words: str, kind: str) -> bool:
    """An article that was marked alone names nothing, and "this" is no time."""
    small = {"file": ("the", "a", "an"), "time": ("the", "a", "an", "this", "that", "it")}
    return words.casefold() in small.get(kind, ())


def _with_what_follows(
    said: str, found: Sequence[Wish], able: Collection[str], kinds: Mapping[str, str]
) -> list[Wish]:
    """An asking has what it asks for after it: "remind me to" goes on with the stretch behind it,
    and names what stands there, whether it was marked or not."""
    made: list[Wish] = []
    for wish in found:
        last = made[-1] if made else None
        open_end = last is not None and titles.asked_for(said[last.start : last.end])
        told = last is not None and any(kinds.get(name) == "words" for name in last.slots)
        if last is not None and not told and open_end and open_end[0] == open_end[1]:
            own = {name: at for name, at in wish.slots.items() if name in _slots(last.kind, able)}
            made[-1] = replace(last, end=wish.end, slots={**own, **last.slots})
        else:
            made.append(wish)
    return [_lasting(said, _named(said, wish, able, kinds), kinds) for wish in made]


def _lasting(said: str, wish: Wish, kinds: Mapping[str, str]) -> Wish:
    """ "Sleep eight hours": how long is part of what is done, and no time for it."""
    for name, pieces in wish.slots.items():
        start, end = pieces[0]
        if kinds.get(name) != "time" or len(pieces) > 1 or not mentions.lasts(said[start:end]):
            continue
        for other, own in wish.slots.items():
            if kinds.get(other) == "words" and said[own[-1][1] : start].isspace():
                longer = {**wish.slots, other: (*own[:-1], (own[-1][0], end))}
                return replace(wish, slots={n: at for n, at in longer.items() if n != name})
    return wish


def _named(said: str, wish: Wish, able: Collection[str], kinds: Mapping[str, str]) -> Wish:
    named = [name for name in _slots(wish.kind, able) if kinds.get(name) == "words"]
    if len(named) != 1 or named[0] in wish.slots:
        return wish
    if (asked := titles.asked_for(said[wish.start : wish.end])) is None:
        return wish
    start = wish.start + asked[0]
    end = _next_slot(wish, start, wish.start + asked[1])
    if not titles.says_something(titles.stripped(said[start:end])):
        return wish
    return replace(wish, slots={named[0]: ((start, end),), **wish.slots})


def _slots(kind: str, able: Collection[str]) -> Collection[str]:
    return able.get(kind, ()) if isinstance(able, Mapping) else ()


def _next_slot(wish: Wish, start: int, end: int) -> int:
    begins = [first for pieces in wish.slots.values() for first, _ in pieces if first > start]
    return min((end, *begins))


def _words(said: str, wish: Wish, name: str, kinds: Mapping[str, str]) -> str:
    """The words of a slot, its pieces put together; of a time nothing is cut off."""
    pieces = wish.slots[name]
    pieces = tuple(one for one in pieces if not _ARTICLE.fullmatch(said[slice(*one)])) or pieces
    if kinds.get(name) == "time":
        pieces = tuple(one for one in pieces if not times.lasted(said, *one))
        if not pieces:
            return ""
        pieces = pieces[: utterances.first_sentences(said, pieces)]
        pieces = _merged(_whole(said, wish, *piece) for piece in pieces)
    elif all(_is_number(said[start:end]) for start, end in pieces):
        pieces = pieces[-1:]  # "from twenty to forty", "twenty-five, we agreed twenty-five"
    else:
        pieces = _run_on(said, _naming(said, [whole_name(said, *one) for one in pieces]))
        if kinds.get(name) == "words":
            pieces = _with_object(said, wish, pieces)
    each = dict.fromkeys(said[start:end].strip(_EDGES) for start, end in pieces)
    return " ".join(each) if kinds.get(name) == "time" else unspelt(" ".join(each))


_POINTS = re.compile(r"(?i)^(?:\W*(?:and|so|then|please|just)\b)*\W*\w+ (it|that|them|those)\b")
_POINTING = re.compile(r"(?i)it|that|this|them|those|these")
_STOP = re.compile(r"[.!?;]\s")
_ARTICLE = re.compile(r"(?i)\W*(?:the|an?)\W*")


def _naming(said: str, pieces: Sequence[tuple[int, int]]) -> Sequence[tuple[int, int]]:
    """Without what only points at what an earlier sentence named: "that function, fmt, is badly
    named. Call it …"."""
    kept = [pieces[0]]
    for start, end in pieces[1:]:
        points = _POINTING.fullmatch(said[start:end].strip(_EDGES))
        if not points or not _STOP.search(said[kept[-1][1] : start]):
            kept.append((start, end))
    return kept


def _merged(pieces: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Those that lie over one another are one."""
    made: list[tuple[int, int]] = []
    for start, end in sorted(pieces):
        if made and start < made[-1][1]:
            made[-1] = made[-1][0], max(end, made[-1][1])
        else:
            made.append((start, end))
    return tuple(made)


def _is_number(words: str) -> bool:
    try:
        number(words.strip(_EDGES))
    except ValueError:
        return False
    return True


def _run_on(said: str, pieces: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Pieces with nothing but a small word between them are one: "the first line", "of", "it"."""
    made = [pieces[0]]
    for start, end in pieces[1:]:
        if _SMALL.fullmatch(said[made[-1][1] : start]):
            made[-1] = (made[-1][0], end)
        else:
            made.append((start, end))
    return tuple(made)


def _with_object(
    said: str, wish: Wish, pieces: tuple[tuple[int, int], ...]
) -> tuple[tuple[int, int], ...]:
    """ "Call" of "call my mom" is all of that: a verb that something must follow has it."""
    if titles.says_something(" ".join(said[start:end] for start, end in pieces)):
        return pieces
    start, end = pieces[-1]
    whole = _next_slot(wish, start, min(wish.end, titles.clause_end(said, end)))
    if not titles.says_something(titles.stripped(said[start:whole])):
        return pieces
    return (*pieces[:-1], (start, whole))


def _whole(said: str, wish: Wish, start: int, end: int) -> tuple[int, int]:
    """ "Eight in the morning" of "at quarter to eight in the morning" is all of that. What a comma
    parts from it may have been taken back."""
    for span in times.find(said[wish.start : wish.end]):
        first, last = span.start + wish.start, span.end + wish.start
        if first < end and start < last:
            if not _PARTED.search(said[first:start]):
                start = min(first, start)
            if not _PARTED.search(said[end:last]):
                end = max(last, end)
    return start, end


_BACK = re.compile(
    r"\b(?:what|how (?:much|many|long))(?:'s|’s| is| are| does| do| would| will)? "
    r"(?:that|it|those|they|this)\b",
    re.IGNORECASE,
)


def _gone_on_with(
    kind: str, slots: dict[str, str], text: str, made: Sequence[Command], kinds: Mapping[str, str]
) -> Begin | None:
    """One with the wish before, where it says what that left open ("remind me when it starts",
    "the port there, make it eighty"), or how long before or after it ("give me a shout ten minutes
    before")."""
    before = made[-1] if made else None
    if not isinstance(before, Begin) or before.wish != kind:
        return None
    shared = set(slots) & set(before.slots)
    # "Baguettes go up, two thirty instead of two ten": it names nothing, and has the number.
    figures = _ABOUT not in slots and shared < set(slots)
    figures = figures and all(numbers_in(slots[n]) and not _figures(before, n) for n in shared)
    if not shared or figures:
        both = {**before.slots, **slots}
        return replace(before, slots=both, sure=bool(both))
    if _BACK.search(text) and all(_figures(before, n) and not numbers_in(slots[n]) for n in slots):
        return before  # "twelve boxes of nine. What's that in dozens?"
    timed = next((name for name in before.slots if kinds.get(name) == "time"), None)
    named = any(kinds.get(name) == "words" for name in before.slots)
    if timed is None or not named or set(slots) != {timed} or not times.leans(slots[timed]):
        return None
    return replace(before, slots={**before.slots, timed: f"{slots[timed]} {before.slots[timed]}"})


_ABOUT = "what"
"""The slot that says what a wish is about."""


def _figures(wish: Begin, name: str) -> bool:
    return bool(numbers_in(wish.slots.get(name, "")))


def answering(answers: Sequence[str], kinds: Mapping[str, str]) -> list[str]:
    """The slots that an answer can be marked as: those of a kind that can be answered now."""
    able = {kinds.get(one) for one in answers}
    return [name for name, kind in kinds.items() if kind in able or not answers]


def _answered(name: str, answers: Sequence[str], kinds: Mapping[str, str]) -> str:
    if name in answers:
        return name
    return next((one for one in answers if kinds.get(one) == kinds.get(name)), name)
