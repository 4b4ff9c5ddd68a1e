"""What a production of the grammar gives."""

from __future__ import annotations

from typing import Literal, NamedTuple

from vivavoce.language.en.times.pieces import Piece

Strength = Literal["firm", "fair", "weak"]
"""Firm: a time wherever it stands. Fair: unless a thing that is counted follows. Weak: only beside
another piece, after a preposition, or as the whole answer."""


class Found(NamedTuple):
    """A piece, and its tokens from `start` to before `end`."""

    piece: Piece
    start: int
    end: int
    strength: Strength = "firm"
