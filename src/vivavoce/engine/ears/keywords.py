"""Words that somebody is likely to say, as a tree of tokens, and how much that helps them. Pure.

Knows tokens and scores. What runs the model is `decoding`'s matter, who sends
the words the session's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from vivavoce.errors import ModelUnavailable
from vivavoce.wire.values import Value

Floats: TypeAlias = npt.NDArray[np.float32]

CLOSE = 0.05
"""What wins by less is not certain: in other company the same numbers are rounded otherwise."""
RATE, LONGEST = 1.0, 6
"""How far behind the best a keyword may be, in logarithms of probability for each character, as
long as it has no more than so many: a short word sounds like many others. Chosen on half of the
requests of `bench/tool_choice_spoken.py`."""

_LOOKS = 8
"""Runs of the model spent on keywords in one place: many may begin alike."""
_KEPT = 16
"""Lists whose trees are kept: agents have one each."""


@dataclass(slots=True)
class Tree:
    """Those that go on from here, and `worth` in all. `whole` is the worth of what ends here."""

    worth: float = 0.0
    whole: float = 0.0
    next: dict[int, Tree] = field(default_factory=dict)


class Keywords(Value):
    """A list of them in one vocabulary. `firsts` are the tokens that any form of the same word
    begins with; `inside` marks those that go on with a word."""

    root: Tree
    firsts: Mapping[tuple[int, ...], frozenset[int]]
    inside: npt.NDArray[np.bool_]


class Found(Value):
    """A keyword that fits, or by no tokens that none does; and how clear that is."""

    tokens: tuple[int, ...]
    margin: float


Look: TypeAlias = Callable[[tuple[int, ...]], Floats]
"""The scores behind some more tokens."""
_Candidate: TypeAlias = tuple[float, tuple[int, ...], float]
"""Its worth without what it lacks, its tokens, what it lacks."""


def worth(word: str) -> float:
    return RATE * min(len(word), LONGEST)


def plant(words: Mapping[str, list[tuple[int, ...]]], inside: npt.NDArray[np.bool_]) -> Keywords:
    """Words with the tokens of each of their forms."""
    root = Tree()
    firsts: dict[tuple[int, ...], frozenset[int]] = {}
    for word, every in words.items():
        for tokens in every:
            node = root
            for token in tokens:
                node = node.next.setdefault(token, Tree())
                node.worth = max(node.worth, worth(word))
            node.whole = worth(word)
            firsts[tokens] = frozenset(form[0] for form in every)
    return Keywords(root, firsts, inside)


def spot(keywords: Keywords, scores: Floats, look: Look) -> Found:
    """The keyword that fits best from here on."""
    whole, left = _candidates(keywords.root, scores, look)
    # Where some were not looked at, which ones they are may depend on the company too.
    margin = 0.0 if left else np.inf
    for place, (score, tokens, lacking) in enumerate(whole):
        margin = min(margin, abs(score))
        if score <= 0:
            break
        if place + 1 < len(whole):
            margin = min(margin, score - whole[place + 1][0])
        if lacking == 0.0:  # what would have been written anyway
            return Found(tokens, margin)
        fits, clear = _fits(keywords, tokens, scores, look)
        margin = min(margin, clear)
        if fits:
            return Found(tokens, margin)
    return Found((), margin)


def _candidates(root: Tree, scores: Floats, look: Look) -> tuple[list[_Candidate], bool]:
    """The best first, and whether there would have been more to look at.

    A keyword is measured by what each of its tokens lacks of the best there, all
    of it together, beside what it is worth.
    """
    whole: list[_Candidate] = []
    begun: list[tuple[float, tuple[int, ...], Tree]] = []

    def enter(node: Tree, before: tuple[int, ...], lacking: float, scores: Floats) -> None:
        best = float(scores.max())
        for token, child in node.next.items():
            now, tokens = lacking + best - float(scores[token]), (*before, token)
            if child.whole:
                whole.append((child.whole - now, tokens, now))
            if child.next and now <= child.worth + CLOSE:
                begun.append((now, tokens, child))

    enter(root, (), 0.0, scores)
    for _ in range(_LOOKS):
        if not begun:
            break
        likeliest = min(range(len(begun)), key=lambda at: begun[at][:2])
        lacking, tokens, node = begun.pop(likeliest)
        enter(node, tokens, lacking, look(tokens))
    return sorted(whole, reverse=True), bool(begun)


def _fits(
    keywords: Keywords, tokens: tuple[int, ...], scores: Floats, look: Look
) -> tuple[bool, float]:
    """Not as the beginning of a longer word, nor in place of the word in front of it; and how
    clear that is."""
    after, clear = _leader(look(tokens))
    if keywords.inside[after]:
        return False, clear
    behind, clear_too = _leader(look((int(scores.argmax()),)))
    return behind not in keywords.firsts[tokens], min(clear, clear_too)


def _leader(scores: Floats) -> tuple[int, float]:
    second, first = np.partition(scores, -2)[-2:]
    return int(scores.argmax()), float(first - second)


def vocabulary(folder: Path) -> Tokenizer:
    """The folder's tokenizer.json. Raises `ModelUnavailable`."""
    try:
        return Tokenizer.from_file(str(folder / "tokenizer.json"))
    except Exception as fault:  # tokenizers raises bare Exception
        raise ModelUnavailable(f"The vocabulary of {folder.name} cannot be read.") from fault


class Trees:
    """Of one vocabulary, made once for each list. Vocabularies differ in whether they put the
    space in front of a word by themselves."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        alone = tokenizer.encode("a", add_special_tokens=False).tokens
        self._space = "" if alone == ["▁a"] else " "
        self._inside = _inside(tokenizer)
        self.of = lru_cache(_KEPT)(self._of)

    def _of(self, keywords: tuple[str, ...]) -> Keywords | None:
        words = {word: [self._tokens(form) for form in forms(word)] for word in keywords}
        return plant(words, self._inside) if words else None

    def _tokens(self, word: str) -> tuple[int, ...]:
        return tuple(self._tokenizer.encode(self._space + word, add_special_tokens=False).ids)


def _inside(tokenizer: Tokenizer) -> npt.NDArray[np.bool_]:
    marks = np.zeros(1 << 16, dtype=np.bool_)
    for piece, token in tokenizer.get_vocab().items():
        marks[token] = piece[:1].isalnum() and piece[:1] != "Ġ"
    return marks


def forms(word: str) -> list[str]:
    """As written, in small letters, and as at the beginning of a sentence."""
    return list(dict.fromkeys((word, word.lower(), word[:1].upper() + word[1:].lower())))
