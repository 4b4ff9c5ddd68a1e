"""How fast this machine reads, and how much somebody may be made to wait for. Pure, but for a file.

Reading is the slow part of a small model on few cores, so what a tool may
answer follows from it. Measured with every prompt, and kept for the next start.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

from vivavoce.brain.ports import Budget

_RESULT_SECONDS = 3.0
_MOST_RESULT, _LEAST_RESULT = 4_000, 300
_GUESS = 60.0
_CHARS = 4.0
_FEW = 24
"""Tokens; below it the time is mostly not that of reading."""
_OLD, _NEW = 0.8, 0.2


class Pace:
    """Tokens a second of reading, and letters a token, as measured."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.tokens_per_second, self.chars_per_token = _GUESS, _CHARS
        self._measured = False
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
            known = json.loads(file.read_text())
            self.tokens_per_second = min(max(float(known["tokens_per_second"]), 1.0), 1e6)
            self._measured = True

    def read(self, tokens: int, milliseconds: float) -> None:
        """A prompt of so many tokens was read."""
        if tokens < _FEW or milliseconds <= 0:
            return
        rate = tokens / milliseconds * 1000
        if self._measured:
            # A machine that is busy for a moment is not a slower machine.
            rate = self.tokens_per_second * _OLD + rate * _NEW
        self.tokens_per_second, self._measured = rate, True

    def weighed(self, chars: int, tokens: int) -> None:
        """A whole prompt was so many tokens."""
        if tokens >= _FEW:
            measured = min(max(chars / tokens, 1.0), 6.0)
            self.chars_per_token = self.chars_per_token * _OLD + measured * _NEW

    def count(self, text: str) -> int:
        """What is not Latin takes more tokens than letters tell."""
        dense = 0 if text.isascii() else sum(ord(letter) > 0x2FF for letter in text)
        return round((len(text) - dense) / self.chars_per_token + dense) + (1 if text else 0)

    def budget(self, context: int) -> Budget:
        chars = self.tokens_per_second * _RESULT_SECONDS * self.chars_per_token
        return Budget(context, int(min(max(chars, _LEAST_RESULT), _MOST_RESULT)))

    def keep(self) -> None:
        with contextlib.suppress(OSError):  # measured anew the next time
            self._file.write_text(json.dumps({"tokens_per_second": self.tokens_per_second}))
