"""What a search looks for and how a find is shown: words, score, snippet. Pure.

Whatever people type is taken as words: there is no syntax to get wrong, or to
get through. The databases find candidates with an index; which of them is best
is decided here, so it is the same on each of them and in the fake.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from vivavoce.wire.records.plans import Hit

WORDS = 12  # of a query
LETTERS = 64  # of a word
CANDIDATES = 200  # the newest; among them the best
PREVIEW = 120
_BEFORE, _AFTER = 50, 110  # characters of a snippet around the first word found

# An accent may stand after its letter, as a character of its own.
_WORD = re.compile(r"(?:[^\W_][\u0300-\u036f]*)+")
_ACCENTED = re.compile(r"([A-Za-z])[\u0300-\u036f]+")


def fold(text: str) -> str:
    """As the indexes fold: no capitals, no accents on Latin letters, one form for one letter."""
    if text.isascii():
        return text.lower()
    plain = _ACCENTED.sub(r"\1", unicodedata.normalize("NFKD", text))
    return unicodedata.normalize("NFC", plain).lower()


def words(query: str) -> list[str]:
    """The last of them may be a beginning."""
    found = [match.group()[:LETTERS] for match in _WORD.finditer(fold(query[:2000]))]
    return found[:WORDS]


@dataclass(frozen=True, slots=True)
class Found:
    """A message with all the words."""

    message_id: str
    conversation_id: str
    role: str
    text: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class _Token:
    word: str
    start: int
    end: int


def _tokens(text: str) -> list[_Token]:
    return [_Token(fold(m.group()), m.start(), m.end()) for m in _WORD.finditer(text)]


def matches(text: str, wanted: Sequence[str]) -> bool:
    """Has the text all the words? What an index answers, the slow way."""
    there = {token.word for token in _tokens(text)}
    *whole, last = wanted
    return there.issuperset(whole) and any(word.startswith(last) for word in there)


def rank(found: Iterable[Found], wanted: Sequence[str], limit: int) -> list[Hit]:
    """Best first; of equal ones the newest."""
    score = _scorer(wanted)
    scored = [(score(each.text), each) for each in found]
    scored.sort(key=lambda pair: (pair[0], pair[1].created_at, pair[1].message_id), reverse=True)
    return [_hit(each, wanted, points) for points, each in scored[: max(0, limit)]]


def _hit(found: Found, wanted: Sequence[str], points: float) -> Hit:
    whole, last = set(wanted), wanted[-1]
    marked = [
        token for token in _tokens(found.text) if token.word in whole or token.word.startswith(last)
    ]
    return Hit(
        message_id=found.message_id,
        conversation_id=found.conversation_id,
        role=found.role,
        created_at=found.created_at,
        snippet=_snippet(found.text, marked),
        score=points,
    )


def _scorer(wanted: Sequence[str]) -> Callable[[str], float]:
    """Whole words before beginnings, together before apart, much of a text before little.

    With expressions made once: a common word has hundreds of candidates.
    """
    words = [re.escape(word) for word in wanted]
    some = re.compile(rf"(?<![^\W_])(?:{'|'.join(words)}|{words[-1]}[^\W_]*)(?![^\W_])")
    all_of_them = re.compile(r"(?<![^\W_])" + r"[\W_]+".join(words))
    asked = set(wanted)

    def score(text: str) -> float:
        folded = fold(text)
        there = some.findall(folded)
        exact = len(asked.intersection(there)) / len(asked)
        together = len(wanted) > 1 and all_of_them.search(folded) is not None
        return round(exact + together + sum(map(len, there)) / max(1, len(folded)), 4)

    return score


def _snippet(text: str, found: Sequence[_Token]) -> str:
    first = found[0].start if found else 0
    start = _word_start(text, max(0, first - _BEFORE))
    end = _word_end(text, min(len(text), first + _AFTER))
    out, at = [], start
    for token in found:
        if token.start >= at and token.end <= end:
            out += [text[at : token.start], "«", text[token.start : token.end], "»"]
            at = token.end
    out.append(text[at:end])
    middle = " ".join("".join(out).split())
    return f"{'…' if start else ''}{middle}{'…' if end < len(text) else ''}"


def _word_start(text: str, at: int) -> int:
    """The next beginning of a word, unless that is too far."""
    if at == 0:
        return 0
    space = text.find(" ", at, at + 20)
    return at if space < 0 else space + 1


def _word_end(text: str, at: int) -> int:
    if at == len(text):
        return at
    space = text.rfind(" ", max(0, at - 20), at)
    return at if space < 0 else space


def preview(text: str | None) -> str | None:
    """One line, cut at a word."""
    if text is None:
        return None
    line = " ".join(text.split())
    if len(line) <= PREVIEW:
        return line
    return line[: _word_end(line, PREVIEW - 1)] + "…"
