"""Text as it is written, cut into clauses ready to be spoken. Pure.

The first clause is short, so that the first sound comes soon; later ones are
whole sentences or long clauses, which sound better. All clauses together are
the text, to the last space. Never cut: words, numbers ("3.5", "10:42", "1
000"), abbreviations ("Dr. Who"), and code between fences, which is a clause of
its own that the mouth passes over.
"""

from __future__ import annotations

import re
from itertools import pairwise

# How many words a clause needs to end at a comma, and with how many it ends anywhere. Each a little
# longer than the one before: brain and mouth have as long as the last one sounds, and on two cores
# need three quarters of that. An opening such as "Sure," is ready made.
_SIZES = ((1, 4), (5, 7), (5, 9), (6, 12), (8, 18))
_PATIENCE = 3
_OPENED = re.compile(r"[^\W\d_][,;]\Z")
"""A comma behind a letter parts: the space behind it, which shows that it is no "1,000", comes only
with the next word, and the first clause does not wait for that."""

_BOUNDARY = re.compile(
    r"""(?P<end> [.!?…]{1,9} ["'”’)\]*_]{0,4} \s )  # the space shows that it is no "3.5"
      | (?P<wide> [。！？] )
      | (?P<line> \n )
      | (?P<comma> [,;:] ["'”’)\]*_]{0,4} \s | \s[–—-]{1,2}\s | — (?=\S) )""",
    re.VERBOSE,
)
_WORD = re.compile(r"\S*\w\S*")
_SPACE = re.compile(r"\s+(?=\S)")

_FENCE = re.compile(r"\s*(```|~~~)")

_ABBREVIATION = re.compile(
    r"""(?: \b (?: mr | mrs | ms | dr | prof | st | jr | sr | vs | etc | e\.g | i\.e | approx | ca
              | cf | fig | vol | inc | ltd | co | corp | dept | mt | gen | sen
              | rep | lt | col | sgt | capt | rev | hon )
          | (?: \b \w\. )+ \w              # U.S. and p.m.
          | \b (?-i: [A-HJ-Z] )            # J. Smith, but not "so do I."
          | ^ \s* \d+                      # 1. Open the door.
        ) \. \Z""",
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)
_NUMBERED = re.compile(r"\b(?:no|nos)\.$", re.IGNORECASE)  # "No. 5", and "No. I do not"

_LEADING = re.compile(
    "and|but|or|so|because|that|which|who|if|when|while|where|as|than|then|to|in|on|at|for|"
    "with|from|by|about|into|over|after|before|until|of|is|are|was|were|has|have|had|can|could|"
    "will|would|should|does|did"
)
"""A clause without punctuation is cut in front of one of these, if it can be, the first one as soon
as there are two words …"""
_LEANING = re.compile(
    "a|an|the|my|your|his|her|its|our|their|this|these|those|of|to|in|on|at|for|with|from|"
    "by|and|or|but|not|no|very|is|are|was|were|i|you|we|they|he|she|it"
)
"""… and not after one of these."""

_PAUSES = (
    (re.compile(r"""[.!?…。！？]["'”’)\]*_]*\s*$|\n\s*$"""), 240),
    (re.compile(r"""[,;:–—-]["'”’)\]*_]*\s*$"""), 100),
)


def pause_ms(clause: str) -> int:
    """The silence that belongs between this clause and the next."""
    return next((ms for pattern, ms in _PAUSES if pattern.search(clause)), 0)


class Clauses:
    """Feed it deltas; it gives back clauses as soon as they are certain."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._text = ""
        self._seen = 0
        """Boundaries before this place were looked at, and are none."""
        self._new_line = True
        """The text begins where a line does."""
        self._sizes = iter(_SIZES)
        self._size = next(self._sizes)

    def feed(self, delta: str) -> list[str]:
        self._text += delta
        clauses = []
        while cut := self._cut():
            clauses.append(self._text[:cut])
            self._text, self._seen = self._text[cut:], 0
            self._new_line = clauses[-1].endswith("\n")
            self._size = next(self._sizes, _SIZES[-1])
        return clauses

    def finish(self) -> list[str]:
        """What is left. The next text begins with a short clause again."""
        rest = [self._text] if self._text else []
        self._begin()
        return rest

    def _cut(self) -> int:
        """Where the next clause ends; 0 if that is not certain yet."""
        if (fence := _FENCE.match(self._text)) and (self._new_line or "\n" in fence.group()):
            head, line, _ = self._text[fence.end() :].partition("\n")
            if fence[1][0] not in head.lstrip(fence[1][0]):  # else it is code within the line
                return self._block(fence) if line else 0
        for match in _BOUNDARY.finditer(self._text, self._seen):
            place = match.end()
            if match.lastgroup == "end" and _NUMBERED.search(self._text[: place - 1]):
                after = self._text[place:].lstrip()
                if not after:
                    return self._anywhere(match.start())
                if after[0].isdigit():
                    continue
            if self._ends(match):
                return self._anywhere(match.start()) or place
            self._seen = match.start() + 1
        if self._size is _SIZES[0] and _OPENED.search(self._text):
            return self._anywhere(len(self._text) - 1) or len(self._text)
        return self._anywhere(len(self._text))

    def _block(self, fence: re.Match[str]) -> int:
        closing = re.compile(rf"\n[ \t]*{fence[1]}[`~]*[ \t]*\n")
        if match := closing.search(self._text, max(self._seen, fence.end())):
            return match.end()
        # The line under way may become the one that closes.
        self._seen = max(0, self._text.rfind("\n"))
        return 0

    def _ends(self, match: re.Match[str]) -> bool:
        before = self._text[: match.start()]
        words = len(_WORD.findall(before))
        match match.lastgroup:
            case "end":
                return words > 0 and not _ABBREVIATION.search(self._text[: match.end() - 1])
            case "comma":
                return words >= self._size[0]
            case _:
                return words > 0

    def _anywhere(self, end: int) -> int:
        """A cut between two words before `end`, if the clause is too long without one."""
        words = list(_WORD.finditer(self._text, 0, end))
        most = self._size[1]
        if self._size is _SIZES[0]:  # "The capital", before it is known of which country
            for left, right, place in self._cuts(words[1 : most + 1]):
                if _LEADING.fullmatch(right) and not _LEANING.fullmatch(left):
                    return place
        if len(words) <= most:
            return 0
        cuts = self._cuts(words[2 : most + 1])
        for left, right, place in reversed(cuts):
            if _LEADING.fullmatch(right) and not _LEANING.fullmatch(left):
                return place
        good = [place for left, _, place in cuts if not _LEANING.fullmatch(left)]
        if good:
            return good[-1]
        # A few words more may bring a better place; then any will do.
        late = self._cuts(words[most : most + _PATIENCE + 1])
        good = [place for left, _, place in late if not _LEANING.fullmatch(left)]
        if good:
            return good[0]
        return late[-1][2] if late and len(words) > most + _PATIENCE else 0

    def _cuts(self, words: list[re.Match[str]]) -> list[tuple[str, str, int]]:
        """Where two of these words may be parted: the words and the place."""
        return [
            (left.group().lower(), right.group().lower(), space.end())
            for left, right in pairwise(words)
            if (space := _SPACE.match(self._text, left.end()))
            and space.end() == right.start()
            and not left.group()[-1].isdigit()
            and not right.group()[0].isdigit()
            and not _ABBREVIATION.search(left.group())
        ]
