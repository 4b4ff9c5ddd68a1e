"""From what the model writes to the pieces of an answer. Pure.

Words go on as they come, but for white space that nobody may need. A call is a
name and an object; where the object ends is found by reading it as JSON is
read, since the model's text comes in arbitrary pieces.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from vivavoce.brain.llama.grammar import ASKED, MARK
from vivavoce.brain.ports import CallArguments, CallBegun, CallEnded, Piece, Words

_SENTENCES = 3
# A space shows that it is no "3.5", two small letters in front that it is no "Dr." or "J.".
_SENTENCE = re.compile(r"(?:[a-z0-9)%]{2}|[!?…])(?<!Mrs)(?<!Prof)(?<!etc)[.!?…]*(?=\s)(?<=[.!?…])")
_LOOP = 3
_SHORTEST_LOOP = 12
_LONGEST_LOOP = 200


@dataclass
class Reading:
    """One answer being written. `new_call_id` names its calls."""

    new_call_id: Callable[[], str]
    calls: int = 0
    """How many are whole."""
    words: str = ""
    _held: str = ""
    _full: bool = False
    _call_id: str = ""
    _named: bool = False
    _object: _Object = field(default_factory=lambda: _Object())

    def feed(self, text: str) -> Iterator[Piece]:
        self._held += text
        while self._held:
            before = self._held
            yield from self._in_call() if self._call_id else self._in_words()
            if self._held == before:
                return

    @property
    def enough(self) -> bool:
        """Small models do not know when to stop: three sentences are an answer."""
        return not self._call_id and (self._full or self.looping)

    @property
    def looping(self) -> bool:
        """The same words three times over: it would go on for ever."""
        text = self.words
        for size in range(_SHORTEST_LOOP, min(_LONGEST_LOOP, len(text) // _LOOP) + 1):
            if text.endswith(text[-size:] * _LOOP) and text[-size:].strip():
                return True
        return False

    def _in_words(self) -> Iterator[Piece]:
        at = self._held.find(MARK)
        if at >= 0:
            yield from self._said(self._held[:at].rstrip())
            self._held = self._held[at + len(MARK) :]
            self._call_id, self._named, self._object = self.new_call_id(), False, _Object()
            return
        # White space waits: before a call, or at the end, nobody needs it.
        said = self._held.rstrip()
        self._held = self._held[len(said) :]
        yield from self._said(said)

    def _said(self, text: str) -> Iterator[Piece]:
        if text and not self.words:
            text = text.lstrip()
        if text and not self._full:
            text = self._within(text)
            self.words += text
            yield Words(text)

    def _within(self, text: str) -> str:
        """No more than an answer has sentences; what came with the last one is not said."""
        ends = [end.end() for end in _SENTENCE.finditer(self.words + text)]
        self._full = len(ends) >= _SENTENCES
        return text[: ends[_SENTENCES - 1] - len(self.words)] if self._full else text

    def _in_call(self) -> Iterator[Piece]:
        if not self._named:
            name, space, rest = self._held.partition(" ")
            if not space or not rest:
                return
            if not rest.startswith("{"):
                self._asking(rest)
                return
            self._held, self._named = rest, True
            yield CallBegun(self._call_id, name)
        if size := self._object.feed(self._held):
            yield CallArguments(self._call_id, self._held[:size])
            self._held = self._held[size:]
        if self._object.whole:
            yield CallEnded(self._call_id)
            self._call_id = ""
            self.calls += 1

    def _asking(self, rest: str) -> None:
        """No arguments but what is missing: the words after it are a question, and said."""
        _, mark, question = rest.partition(ASKED)
        if mark:
            self._call_id = ""
            self._held = f" {question}" if self.words else question


@dataclass
class _Object:
    """Finds the end of a JSON object."""

    whole: bool = False
    _depth: int = 0
    _quoted: bool = False
    _escaped: bool = False

    def feed(self, text: str) -> int:
        """How much of the text belongs to it."""
        for index, letter in enumerate(text):
            if self._escaped:
                self._escaped = False
            elif self._quoted:
                self._escaped = letter == "\\"
                self._quoted = letter != '"'
            elif letter == '"':
                self._quoted = True
            elif letter in "{[":
                self._depth += 1
            elif letter in "}]":
                self._depth -= 1
                if self._depth == 0:
                    self.whole = True
                    return index + 1
        return len(text)
