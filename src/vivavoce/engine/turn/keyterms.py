"""The words that a client expects to hear, out of the `prompt` of its transcription. Pure.

OpenAI's `prompt` is a list of keywords for one model and free text for others.
A list is one here too; free text has nothing that ears could use.
"""

from __future__ import annotations

import re

MOST = 200
LONGEST, WORDS = 40, 4
"""Of one keyword, in characters and in words: what is longer is a sentence."""

_LABEL = re.compile(r"\s*(?:key ?words?|key ?terms?|vocabulary)\s*:", re.IGNORECASE)
_BETWEEN = re.compile(r"[,;\n]")


def keyterms(prompt: str | None) -> tuple[str, ...]:
    """`Keywords: a, b, c`, or only `a, b, c`; each once, in order, at most `MOST`."""
    label = _LABEL.match(prompt or "")
    text = (prompt or "")[label.end() if label else 0 :]
    if label is None and not _BETWEEN.search(text):
        return ()
    terms = (" ".join(piece.split()).rstrip(".") for piece in _BETWEEN.split(text))
    return tuple(dict.fromkeys(term for term in terms if _usable(term)))[:MOST]


def _usable(term: str) -> bool:
    if not 2 <= len(term) <= LONGEST or len(term.split()) > WORDS:
        return False
    return term.isprintable() and any(letter.isalnum() for letter in term)
