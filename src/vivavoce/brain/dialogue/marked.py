"""What an utterance means, from marks on its words: which stretches wish for something, and which
words in them are whose slot. Pure; who marks them, a trained model, is elsewhere.

Each piece of the text (a word or a part of one) has a score for each label of two lists: `O`,
`B-remind`, `I-remind`, … for the wishes, and the same for slots. The best sequence in which every
stretch has a beginning is what was marked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from vivavoce.brain.dialogue.commands import Begin, Command, Fill, Plain
from vivavoce.wire.values import Value

Scores = npt.NDArray[np.float32]
"""Log-probabilities: a row for each piece, a column for each label."""
SET = "set"
PLAIN = ("yes", "no", "undo", "drop", "thanks", "cannot", "chat", "unclear")
_NEVER = np.float32(-1e9)
_EDGES = " ,.;:!?…-–—"


class Span(Value):
    """Pieces `start` to before `end`, and what they are."""

    start: int
    end: int
    label: str


class Wish(Value):
    """A stretch that wishes for something, with its slots in the words that were said."""

    kind: str
    said: str
    slots: Mapping[str, str]


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


def wishes(
    said: str, places: Sequence[tuple[int, int]], kinds: Sequence[Span], slots: Sequence[Span]
) -> list[Wish]:
    """`places`: where in the text each piece stands. The pieces of one slot are put together."""
    made: list[Wish] = []
    for stretch in kinds:
        own: dict[str, list[str]] = {}
        for slot in slots:
            if stretch.start <= slot.start < stretch.end:
                words = _words(said, places, slot.start, min(slot.end, stretch.end))
                if words:
                    own.setdefault(slot.label, []).append(words)
        text = _words(said, places, stretch.start, stretch.end)
        made.append(Wish(stretch.label, text, {name: " ".join(w) for name, w in own.items()}))
    return made


def _words(said: str, places: Sequence[tuple[int, int]], start: int, end: int) -> str:
    return said[places[start][0] : places[end - 1][1]].strip(_EDGES)


def commands(
    found: Sequence[Wish], answers: Sequence[str], kinds: Mapping[str, str]
) -> tuple[Command, ...]:
    """What was marked, as the manager takes it. An answer may be marked as what it is elsewhere
    (the time of a reminder, where that of a goal was asked for): `answers` are the slots that can
    be answered now, `kinds` says what each slot is."""
    made: list[Command] = []
    for wish in found:
        if wish.kind == SET:
            named = {_answered(name, answers, kinds): words for name, words in wish.slots.items()}
            made.append(Fill(named))
        elif wish.kind in PLAIN:
            made.append(Plain(wish.kind))  # type: ignore[arg-type]
        else:
            stretch = wish.said if len(found) > 1 else ""
            made.append(Begin(wish.kind, wish.slots, stretch))
    return tuple(made)


def _answered(name: str, answers: Sequence[str], kinds: Mapping[str, str]) -> str:
    if name in answers:
        return name
    return next((one for one in answers if kinds.get(one) == kinds.get(name)), name)
