"""Which words of the written text have been said when. Pure.

What is said differs from what is written: marks go, "10:42" becomes two words,
"$3 million" changes its order. So the written pieces are laid beside the said
words, where they are alike they are tied, and what lies between two ties
belongs together.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from difflib import SequenceMatcher

from vivavoce.engine.ports import MOUTH_RATE
from vivavoce.language.en.aloud.text import spoken

_PIECE = re.compile(r"\s*\S+\s*")
_PLAIN = re.compile(r"[\"'“(]*[A-Za-z]+[.,;:!?)”\"']*")


def timed(
    text: str, said: Sequence[str], ends: Sequence[int], length: int
) -> tuple[tuple[str, int], ...]:
    """The pieces of the text, with the millisecond at which each has been said.

    `ends` tells for each word of `said` the sample at which it has; `length`
    is that of the whole sound.
    """
    written = pieces(text)
    found, now = [], 0
    for piece, count in zip(written, aligned(written, said), strict=True):
        if count:
            now = max(now, min(ends[count - 1], length))
        found.append((piece, _ms(now)))
    return (*found[:-1], (written[-1], _ms(length))) if written else ()


def pieces(text: str) -> list[str]:
    """Words with the spaces around them; put together they are the text."""
    return _PIECE.findall(text) or ([text] if text else [])


def aligned(written: Sequence[str], said: Sequence[str]) -> list[int]:
    """How many of the said words have been said by the end of each written piece."""
    alone = [(_key(word), place) for place, piece in enumerate(written) for word in _alone(piece)]
    match = SequenceMatcher(
        None, [key for key, _ in alone], [_key(word) for word in said], autojunk=False
    )
    reached = [0] * len(written)
    for _, i1, i2, j1, j2 in match.get_opcodes():
        if i1 == i2 and i1 > 0:  # said, and not written: it goes with the word before
            reached[alone[i1 - 1][1]] = j2
        for i in range(i1, i2):
            share = -(-(i - i1 + 1) * (j2 - j1) // (i2 - i1))
            reached[alone[i][1]] = j1 + share
    for place in range(1, len(reached)):
        reached[place] = max(reached[place - 1], reached[place])
    return reached


def _alone(piece: str) -> list[str]:
    """A written piece as it would be said by itself: nearly always as it is said among others."""
    piece = piece.strip()
    return [piece] if _PLAIN.fullmatch(piece) else spoken(piece).split()


def _key(word: str) -> str:
    folded = unicodedata.normalize("NFKD", word.lower())
    return "".join(letter for letter in folded if letter.isalnum())


def _ms(samples: int) -> int:
    return samples * 1000 // MOUTH_RATE
